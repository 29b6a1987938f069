import { z } from 'zod';
import { type AssetAction, type Caller, mayOnAsset } from '../../shared/accounts/permissions.ts';
import { type AssetAccess, homeProject } from '../../shared/assets/assetAccess.ts';
import { mustNameOne } from '../../shared/assets/onlyOne.ts';
import { freeTurn } from '../../shared/concurrency/freeTurn.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import {
  addPromptVersion,
  createPrompt,
  findPromptVersionByName,
  foundPrompt,
  freePromptName,
  type Prompt,
  type PromptStore,
  versionOf,
} from '../../shared/prompts/prompts.ts';
import { Message, PageQuery, pageFields, Uuid } from '../../shared/wire/common.ts';
import {
  BulkDeleteTemplatesRequest,
  BulkDeleteTemplatesResponse,
  CreateTemplateRequest,
  CreateVersionRequest,
  ListTemplateParams,
  ListTemplateResponse,
  ListTemplateVersionResponse,
  ListVersionParams,
  TemplateResponse,
  TemplateVersionResponse,
  UpdateTemplateRequest,
} from '../../shared/wire/prompts.ts';
import { type Endpoint, endpoint, type Gate } from '../http/route.ts';
import { toTemplate, toTemplateVersion } from '../views/promptTemplates.ts';

export interface PromptRouteDeps {
  prompts: PromptStore;
  gate: Pick<Gate, 'authorize'>;
  assets: AssetAccess;
}

const tag = 'Prompts';
const read = { organization: 'read_assets' } as const;
const write = { organization: 'write_assets' } as const;
const needs = (action: AssetAction) => ({ asset: 'prompt', action }) as const;
const inProject = { project: 'read' } as const;

const versionNumber = z.coerce.number().int().min(0).max(2_147_483_647);
const OneTemplate = z.object({ template_id: Uuid });
const OneVersion = z.object({ template_id: Uuid, version: versionNumber });
const OneProject = z.object({ project_id: Uuid });

export function promptRoutes(deps: PromptRouteDeps): Endpoint[] {
  const { prompts, assets } = deps;

  const listed = async (caller: Caller, found: readonly Prompt[]) => {
    const roles = await assets.roles(
      caller,
      'prompt',
      found.map(({ id }) => id),
    );
    return found.map((prompt) => toTemplate(prompt, roles.get(prompt.id)));
  };
  const described = async (caller: Caller, prompt: Prompt) =>
    toTemplate(prompt, (await assets.roles(caller, 'prompt', [prompt.id])).get(prompt.id));

  const create = async (caller: Caller, body: z.output<typeof CreateTemplateRequest>, projectId: string | undefined) => {
    const { name, hidden, ...version } = body;
    const prompt = await createPrompt(prompts, {
      name: name.value,
      appendSuffix: name.appendSuffix,
      hidden,
      projectId,
      userId: caller.userId,
      viewer: await assets.viewer(caller),
      version,
    });
    return described(caller, prompt);
  };

  const remove = async (id: string) => {
    if (!(await prompts.remove(id))) throw new ServiceError('NotFound', `there is no prompt template ${id}`);
    return { message: `prompt template ${id} deleted` };
  };

  const select = async (id: string, version: number, caller: Caller) => {
    versionOf(await foundPrompt(prompts, id), version);
    await prompts.select(id, version);
    return described(caller, await foundPrompt(prompts, id));
  };

  /** A template that is linked to the project, or 404. */
  const ofProject = async (caller: Caller, projectId: string, id: string, action: AssetAction): Promise<Prompt> => {
    if (await prompts.isInProject(id, projectId)) {
      await assets.require(caller, 'prompt', id, action);
      return foundPrompt(prompts, id);
    }
    throw new ServiceError('NotFound', `there is no prompt template ${id} in this project`);
  };

  return [
    endpoint({
      method: 'post',
      path: '/templates/query',
      errors: ['Conflict'],
      summary: 'Find prompt templates',
      tag,
      access: read,
      query: PageQuery,
      body: ListTemplateParams,
      response: ListTemplateResponse,
      handle: async ({ query, body, caller }) => {
        const viewer = await assets.viewer(caller);
        const found = await prompts.query({ ...body, viewer, page: query });
        await mustNameOne('prompt template', body.filters, { ...query, ...found }, async () => {
          const page = { starting_token: 0, limit: await prompts.count({ ...body, viewer }) };
          return (await prompts.query({ ...body, viewer, page })).items;
        });
        return {
          ...pageFields(query, found.items.length, found.hasMore),
          templates: await listed(caller, found.items),
        };
      },
    }),
    endpoint({
      method: 'post',
      path: '/templates/{template_id}/versions/query',
      summary: 'List versions of a template, newest first',
      tag,
      access: needs('read'),
      params: OneTemplate,
      query: PageQuery,
      body: ListVersionParams,
      response: ListTemplateVersionResponse,
      handle: async ({ params, query, body }) => {
        await foundPrompt(prompts, params.template_id);
        const { items: versions, hasMore } = await prompts.versions(params.template_id, body.sort, query);
        return { ...pageFields(query, versions.length, hasMore), versions: versions.map(toTemplateVersion) };
      },
    }),
    endpoint({
      method: 'post',
      path: '/templates',
      errors: ['NotFound', 'Conflict'],
      summary: 'Create a prompt template with its first version',
      tag,
      access: write,
      query: z.object({ project_id: Uuid.optional() }),
      body: CreateTemplateRequest,
      response: TemplateResponse,
      handle: async ({ query, body, caller }) => {
        const projectId = homeProject(caller, query.project_id);
        if (projectId !== undefined) await deps.gate.authorize(caller, { project: 'update' }, projectId);
        return create(caller, body, projectId);
      },
    }),
    endpoint({
      method: 'delete',
      path: '/templates/bulk_delete',
      summary: 'Delete several prompt templates',
      tag,
      access: write,
      body: BulkDeleteTemplatesRequest,
      response: BulkDeleteTemplatesResponse,
      handle: async ({ body, caller }) => {
        const ids = [...new Set(body.template_ids)];
        const roles = await assets.roles(caller, 'prompt', ids);
        const outcomes = await Promise.all(
          ids.map(async (id) => {
            const role = roles.get(id);
            if (role && !mayOnAsset(role, 'delete')) return { id, reason: 'you may not delete this prompt template' };
            return { id, reason: role && (await prompts.remove(id)) ? undefined : 'there is no such prompt template' };
          }),
        );
        const failed = outcomes.flatMap(({ id, reason }) => (reason ? [{ template_id: id, reason }] : []));
        const deleted = ids.length - failed.length;
        return {
          deleted_count: deleted,
          failed_deletions: failed,
          message: `${deleted} of ${ids.length} prompt templates deleted`,
        };
      },
    }),
    endpoint({
      method: 'get',
      path: '/templates/{template_id}',
      summary: 'Get a prompt template',
      tag,
      access: needs('read'),
      params: OneTemplate,
      response: TemplateResponse,
      handle: async ({ params, caller }) => described(caller, await foundPrompt(prompts, params.template_id)),
    }),
    endpoint({
      method: 'patch',
      path: '/templates/{template_id}',
      errors: ['Conflict'],
      summary: 'Rename a prompt template',
      tag,
      access: needs('rename'),
      params: OneTemplate,
      body: UpdateTemplateRequest,
      response: TemplateResponse,
      handle: async ({ params, body, caller }) => {
        const prompt = await foundPrompt(prompts, params.template_id);
        if (body.name) {
          const name = await freePromptName(
            prompts,
            await assets.viewer(caller),
            body.name.value,
            body.name.appendSuffix,
            prompt.name,
          );
          await prompts.rename(prompt.id, name);
        }
        return described(caller, await foundPrompt(prompts, prompt.id));
      },
    }),
    endpoint({
      method: 'delete',
      path: '/templates/{template_id}',
      summary: 'Delete a prompt template',
      description: 'Experiments that use one of its versions keep it.',
      tag,
      access: needs('delete'),
      params: OneTemplate,
      response: Message,
      handle: ({ params }) => remove(params.template_id),
    }),
    endpoint({
      method: 'post',
      path: '/templates/{template_id}/versions',
      errors: ['Conflict'],
      summary: 'Add a version; it is not selected by this',
      tag,
      access: needs('update'),
      params: OneTemplate,
      body: CreateVersionRequest,
      response: TemplateVersionResponse,
      handle: async ({ params, body, caller }) =>
        toTemplateVersion(await addPromptVersion(prompts, params.template_id, body, caller.userId)),
    }),
    endpoint({
      method: 'get',
      path: '/templates/{template_id}/versions/{version}',
      summary: 'Get a version of a template',
      tag,
      access: needs('read'),
      params: OneVersion,
      response: TemplateVersionResponse,
      handle: async ({ params }) => toTemplateVersion(versionOf(await foundPrompt(prompts, params.template_id), params.version)),
    }),
    endpoint({
      method: 'put',
      path: '/templates/{template_id}/versions/{version}',
      summary: 'Select a version',
      tag,
      access: needs('update'),
      params: OneVersion,
      response: TemplateResponse,
      handle: ({ params, caller }) => select(params.template_id, params.version, caller),
    }),

    // The older form: templates of one project.
    endpoint({
      method: 'post',
      path: '/projects/{project_id}/templates',
      errors: ['Conflict'],
      summary: 'Create a prompt template in a project',
      tag,
      access: { project: 'update' },
      params: OneProject,
      body: CreateTemplateRequest,
      response: TemplateResponse,
      handle: ({ params, body, caller }) => create(caller, body, params.project_id),
    }),
    endpoint({
      method: 'get',
      path: '/projects/{project_id}/templates',
      summary: 'List the prompt templates of a project',
      tag,
      access: inProject,
      params: OneProject,
      response: z.array(TemplateResponse),
      handle: async ({ params, caller }) => {
        const filters = [{ name: 'used_in_project' as const, value: params.project_id }];
        const viewer = await assets.viewer(caller);
        // This form of the list has no pages.
        const all: Prompt[] = [];
        for (let more = true; more; ) {
          const page = { starting_token: all.length, limit: LISTED_AT_ONCE };
          const found = await prompts.query({ viewer, filters, sort: null, page });
          all.push(...found.items);
          more = found.hasMore;
          await freeTurn();
        }
        return listed(caller, all);
      },
    }),
    endpoint({
      method: 'get',
      path: '/projects/{project_id}/templates/versions',
      summary: "Get a version by its template's name",
      tag,
      access: inProject,
      params: OneProject,
      query: z.object({ template_name: z.string().trim(), version: versionNumber.optional() }),
      response: TemplateVersionResponse,
      handle: async ({ params, query }) =>
        toTemplateVersion(
          await findPromptVersionByName(prompts, {
            name: query.template_name,
            version: query.version,
            projectId: params.project_id,
          }),
        ),
    }),
    endpoint({
      method: 'get',
      path: '/projects/{project_id}/templates/{template_id}',
      summary: 'Get a prompt template of a project',
      tag,
      access: inProject,
      params: OneProject.extend(OneTemplate.shape),
      response: TemplateResponse,
      handle: async ({ params, caller }) =>
        described(caller, await ofProject(caller, params.project_id, params.template_id, 'read')),
    }),
    endpoint({
      method: 'delete',
      path: '/projects/{project_id}/templates/{template_id}',
      summary: 'Delete a prompt template of a project',
      tag,
      access: { project: 'update' },
      params: OneProject.extend(OneTemplate.shape),
      response: Message,
      handle: async ({ params, caller }) => remove((await ofProject(caller, params.project_id, params.template_id, 'delete')).id),
    }),
    endpoint({
      method: 'post',
      path: '/projects/{project_id}/templates/{template_id}/versions',
      errors: ['Conflict'],
      summary: 'Add a version to a prompt template of a project',
      tag,
      access: { project: 'update' },
      params: OneProject.extend(OneTemplate.shape),
      body: CreateVersionRequest,
      response: TemplateVersionResponse,
      handle: async ({ params, body, caller }) => {
        const prompt = await ofProject(caller, params.project_id, params.template_id, 'update');
        return toTemplateVersion(await addPromptVersion(prompts, prompt.id, body, caller.userId));
      },
    }),
    endpoint({
      method: 'get',
      path: '/projects/{project_id}/templates/{template_id}/versions/{version}',
      summary: 'Get a version of a prompt template of a project',
      tag,
      access: inProject,
      params: OneProject.extend(OneVersion.shape),
      response: TemplateVersionResponse,
      handle: async ({ params, caller }) =>
        toTemplateVersion(versionOf(await ofProject(caller, params.project_id, params.template_id, 'read'), params.version)),
    }),
    endpoint({
      method: 'put',
      path: '/projects/{project_id}/templates/{template_id}/versions/{version}',
      summary: 'Select a version of a prompt template of a project',
      tag,
      access: { project: 'update' },
      params: OneProject.extend(OneVersion.shape),
      response: TemplateResponse,
      handle: async ({ params, caller }) =>
        select((await ofProject(caller, params.project_id, params.template_id, 'update')).id, params.version, caller),
    }),
  ];
}

const LISTED_AT_ONCE = 1_000;
