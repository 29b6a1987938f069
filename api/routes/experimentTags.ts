import { findTag, listTags, putTag, removeTag, type TagDeps, updateTag } from '../../shared/experiments/tags.ts';
import { Message } from '../../shared/wire/common.ts';
import { ExperimentParams, ExperimentTagParams } from '../../shared/wire/experiments.ts';
import { RunTagCreateRequest, RunTag as RunTagResponse, RunTags } from '../../shared/wire/runTags.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { tagToWire } from '../views/experimentTags.ts';

const tag = 'Experiment tags';
const read = { project: 'read' } as const;
const write = { project: 'edit_run_tags' } as const;

export function experimentTagRoutes(deps: TagDeps): Endpoint[] {
  const path = '/projects/{project_id}/experiments/{experiment_id}/tags';
  return [
    endpoint({
      method: 'get',
      path,
      summary: 'Tags of an experiment',
      tag,
      access: read,
      params: ExperimentParams,
      response: RunTags,
      handle: async ({ project, params }) => (await listTags(deps, project.id, params.experiment_id)).map(tagToWire),
    }),
    endpoint({
      method: 'post',
      path,
      errors: ['Conflict'],
      summary: 'Tag an experiment',
      description: 'A tag with the same key is changed.',
      tag,
      access: write,
      params: ExperimentParams,
      body: RunTagCreateRequest,
      response: RunTagResponse,
      handle: async ({ project, params, body, caller }) =>
        tagToWire(await putTag(deps, project.id, params.experiment_id, caller.userId, body)),
    }),
    endpoint({
      method: 'get',
      path: `${path}/{tag_id}`,
      summary: 'A tag of an experiment',
      tag,
      access: read,
      params: ExperimentTagParams,
      response: RunTagResponse,
      handle: async ({ project, params }) => tagToWire(await findTag(deps, project.id, params.experiment_id, params.tag_id)),
    }),
    endpoint({
      method: 'put',
      path: `${path}/{tag_id}`,
      errors: ['Conflict'],
      summary: 'Change a tag of an experiment',
      tag,
      access: write,
      params: ExperimentTagParams,
      body: RunTagCreateRequest,
      response: RunTagResponse,
      handle: async ({ project, params, body }) =>
        tagToWire(await updateTag(deps, project.id, params.experiment_id, params.tag_id, body)),
    }),
    endpoint({
      method: 'delete',
      path: `${path}/{tag_id}`,
      summary: 'Remove a tag from an experiment',
      tag,
      access: write,
      params: ExperimentTagParams,
      response: Message,
      handle: async ({ project, params }) => {
        await removeTag(deps, project.id, params.experiment_id, params.tag_id);
        return { message: 'The tag was removed.' };
      },
    }),
  ];
}
