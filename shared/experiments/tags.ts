import { ServiceError } from '../errors/errors.ts';
import type { RunTagCreateRequest } from '../wire/runTags.ts';
import type { ExperimentStore, RunTag, RunTagStore } from './experimentStore.ts';

export interface TagDeps {
  experiments: Pick<ExperimentStore, 'find'>;
  tags: RunTagStore;
  newId: () => string;
}

/** @throws ServiceError `NotFound` for an unknown experiment, as all of these do. */
export async function listTags(deps: TagDeps, projectId: string, experimentId: string): Promise<RunTag[]> {
  await mustExist(deps, projectId, experimentId);
  return deps.tags.list(experimentId);
}

export async function findTag(deps: TagDeps, projectId: string, experimentId: string, tagId: string): Promise<RunTag> {
  await mustExist(deps, projectId, experimentId);
  return (await deps.tags.find(experimentId, tagId)) ?? unknownTag(tagId);
}

/** Adds a tag; one with this key is changed instead, since one client always posts. */
export async function putTag(
  deps: TagDeps,
  projectId: string,
  experimentId: string,
  createdBy: string,
  { key, value, tag_type }: RunTagCreateRequest,
): Promise<RunTag> {
  await mustExist(deps, projectId, experimentId);
  return deps.tags.put({ id: deps.newId(), projectId, runId: experimentId, key, value, tagType: tag_type, createdBy });
}

export async function updateTag(
  deps: TagDeps,
  projectId: string,
  experimentId: string,
  tagId: string,
  { key, value, tag_type }: RunTagCreateRequest,
): Promise<RunTag> {
  await mustExist(deps, projectId, experimentId);
  return (await deps.tags.update(experimentId, tagId, { key, value, tagType: tag_type })) ?? unknownTag(tagId);
}

export async function removeTag(deps: TagDeps, projectId: string, experimentId: string, tagId: string): Promise<void> {
  await mustExist(deps, projectId, experimentId);
  if (!(await deps.tags.remove(experimentId, tagId))) unknownTag(tagId);
}

async function mustExist(deps: TagDeps, projectId: string, experimentId: string): Promise<void> {
  if (!(await deps.experiments.find(projectId, experimentId)))
    throw new ServiceError('NotFound', `no experiment ${experimentId} in this project`);
}

function unknownTag(tagId: string): never {
  throw new ServiceError('NotFound', `the experiment has no tag ${tagId}`);
}
