import { type Caller, seesAllProjects } from '../accounts/permissions.ts';
import { ServiceError } from '../errors/errors.ts';
import type { ProjectAccess } from './access.ts';
import { type DeletionDeps, deleteWithRecords } from './deletions.ts';
import type { Project, ProjectStore, ProjectType, Viewer } from './projectStore.ts';

/** What this caller sees of the projects. */
export const viewerOf = (caller: Caller): Viewer => ({
  userId: caller.userId,
  seesAll: seesAllProjects(caller),
  onlyProjectId: caller.projectKey?.projectId,
});

/** Creates a project; its creator owns it. @throws ServiceError `Conflict` when a project that the caller sees has the name. */
export const createProject = (
  { projects, newId }: { projects: ProjectStore; newId: () => string },
  caller: Caller,
  input: { name: string; type: ProjectType },
): Promise<Project> => projects.insert({ id: newId(), name: input.name, type: input.type }, viewerOf(caller));

/** Changes what is given of a project. @throws ServiceError `Conflict` when another project that the caller sees has the name. */
export async function updateProject(
  { projects, access }: { projects: ProjectStore; access: Pick<ProjectAccess, 'forget'> },
  caller: Caller,
  projectId: string,
  change: Partial<Pick<Project, 'name' | 'labels' | 'description'>>,
): Promise<Project> {
  const updated = await projects.update(projectId, change, viewerOf(caller));
  access.forget();
  if (!updated) throw new ServiceError('NotFound', 'no such project');
  return updated;
}

/** Deletes a project with everything in it. */
export async function deleteProject(deps: DeletionDeps, projectId: string): Promise<void> {
  if (!(await deleteWithRecords(deps, projectId))) throw new ServiceError('NotFound', 'no such project');
}
