import { z } from 'zod';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import { type DatasetDeps, foundVersion } from '../../shared/datasets/createDataset.ts';
import { datasetRowStore } from '../../shared/datasets/rowStore.ts';
import { promptVariables } from '../../shared/prompts/render.ts';
import { renderForInputs, renderForRows } from '../../shared/prompts/renderData.ts';
import { PageQuery, pageFields } from '../../shared/wire/common.ts';
import { RenderTemplateRequest, RenderTemplateResponse, TemplateStubRequest } from '../../shared/wire/prompts.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

export interface PromptRenderingDeps extends DatasetDeps {
  assets: AssetAccess;
}

const tag = 'Prompts';
const read = { organization: 'read_assets' } as const;

/** Texts with variables that are filled in without a stored prompt. */
export function promptRenderingRoutes(deps: PromptRenderingDeps): Endpoint[] {
  const { assets, datasets } = deps;
  const rowStore = datasetRowStore(deps);
  return [
    endpoint({
      method: 'post',
      path: '/render_template',
      errors: ['NotFound'],
      summary: 'Render a template for rows of a dataset or for texts',
      tag,
      access: read,
      query: PageQuery,
      body: RenderTemplateRequest,
      response: RenderTemplateResponse,
      handle: async ({ query, body, caller }) => {
        if ('input_strings' in body.data) {
          const inputs = body.data.input_strings;
          const asked = inputs.slice(query.starting_token, query.starting_token + query.limit);
          const rendered = await renderForInputs(body.template, asked);
          return {
            ...pageFields(query, rendered.length, query.starting_token + rendered.length < inputs.length),
            rendered_templates: rendered,
          };
        }
        await assets.require(caller, 'dataset', body.data.dataset_id, 'read');
        const version = await foundVersion(datasets, body.data.dataset_id, body.data.dataset_version_index ?? undefined);
        const rendered = await renderForRows(body.template, rowStore, version, query);
        return {
          ...pageFields(query, rendered.length, query.starting_token + rendered.length < version.numRows),
          rendered_templates: rendered,
        };
      },
    }),
    endpoint({
      method: 'post',
      path: '/input_stub',
      summary: 'The variables of templates, as an object to fill in',
      tag,
      access: read,
      body: TemplateStubRequest,
      response: z.record(z.string(), z.string()),
      handle: async ({ body }) => Object.fromEntries(body.templates.flatMap(promptVariables).map((name) => [name, ''])),
    }),
  ];
}
