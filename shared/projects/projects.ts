import type { AccountStore } from '../accounts/accountStore.ts';
import { type Caller, mayInOrganization, seesAllProjects } from '../accounts/permissions.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import type { ProjectAccess } from './access.ts';
import { type DeletionDeps, deleteWithRecords } from './deletions.ts';
import type { Project, ProjectStore, ProjectType, Viewer } from './projectStore.ts';

/** Returns the view that this caller has of the projects. */
export const viewerOf = (caller: Caller): Viewer => ({
  userId: caller.userId,
  seesAll: seesAllProjects(caller),
  onlyProjectId: caller.projectKey?.projectId,
});

/**
 * Returns who is to own a new project: the caller, or the user whom an administrator names.
 * @throws ServiceError `Forbidden` for others than administrators; RequestInvalid for a user who is not there or may not make projects
 */
export async function ownerOf(
  accounts: Pick<AccountStore, 'user'>,
  caller: Caller,
  createdBy: string | null | undefined,
): Promise<Caller> {
  if (!createdBy || createdBy === caller.userId) return caller;
  if (!mayInOrganization(caller, 'manage_users'))
    throw new ServiceError('Forbidden', 'only administrators make projects for others: leave created_by out');
  const user = await accounts.user(createdBy);
  const owner: Caller | undefined = user && { userId: user.id, email: user.email, role: user.role };
  if (owner && mayInOrganization(owner, 'create_project')) return owner;
  const msg = owner ? `a user with the role ${owner.role} may not own a new project` : 'no user has this id';
  throw new RequestInvalid([{ loc: ['body', 'created_by'], msg, type: 'value_error' }]);
}

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
