import { z } from 'zod';
import { type Caller, mayInProject, type ProjectRole } from '../../shared/accounts/permissions.ts';
import { ServiceError } from '../../shared/errors.ts';
import type { ProjectAccess } from '../../shared/projects/access.ts';
import type * as stored from '../../shared/projects/projectStore.ts';
import { PageQuery, type PageRequest, pageFields } from '../../shared/wire/common.ts';
import {
  CollaboratorRoleInfo,
  CollaboratorUpdate,
  GroupCollaborator,
  GroupCollaboratorParams,
  GroupCollaboratorsCreate,
  GroupCollaboratorsPage,
  ProjectParams,
  UserCollaborator,
  UserCollaboratorParams,
  UserCollaboratorsCreate,
  UserCollaboratorsPage,
} from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint } from '../route.ts';

export interface CollaboratorDeps {
  projects: stored.ProjectStore;
  access: ProjectAccess;
}

const roles: readonly z.input<typeof CollaboratorRoleInfo>[] = [
  { name: 'owner', display_name: 'Owner', description: 'May do everything in the project, share and delete it included.' },
  {
    name: 'editor',
    display_name: 'Editor',
    description: 'May log, run and change everything, but not share or delete the project.',
  },
  { name: 'annotator', display_name: 'Annotator', description: 'May read, export and give feedback.' },
  { name: 'viewer', display_name: 'Viewer', description: 'May read and export.' },
];
const tag = 'Collaborators';

/** Who works on a project: users and groups of users, each with a role. */
export const collaboratorRoutes = (deps: CollaboratorDeps): Endpoint[] => [
  endpoint({
    method: 'get',
    path: '/collaborator_roles',
    summary: 'The roles that a collaborator may have',
    tag,
    access: 'signedIn',
    response: z.array(CollaboratorRoleInfo),
    handle: async () => [...roles],
  }),
  ...userRoutes(deps),
  ...groupRoutes(deps),
];

const userRoutes = ({ projects, access }: CollaboratorDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/projects/{project_id}/users',
    summary: 'Add users to a project, or change their role; answers in the order given',
    tag,
    access: { project: 'share' },
    params: ProjectParams,
    body: UserCollaboratorsCreate,
    response: z.array(UserCollaborator),
    async handle({ project, body, caller }) {
      const given = body.map(({ user_id, user_email, role }) => ({
        userId: user_id ?? undefined,
        email: user_email ?? undefined,
        role,
      }));
      const added = await projects.setUserCollaborators(project.id, given);
      access.forget();
      const permissions = await permissionsIn(access, caller, project.id);
      return added.map((one) => toUserCollaborator(one, permissions));
    },
  }),
  endpoint({
    method: 'get',
    path: '/projects/{project_id}/users',
    summary: "A project's users",
    tag,
    access: { project: 'read' },
    params: ProjectParams,
    query: PageQuery,
    response: UserCollaboratorsPage,
    async handle({ project, query, caller }) {
      const { items, total } = await projects.userCollaborators(project.id, toPage(query));
      const permissions = await permissionsIn(access, caller, project.id);
      return {
        collaborators: items.map((one) => toUserCollaborator(one, permissions)),
        ...pageFields(query, items.length, total),
      };
    },
  }),
  endpoint({
    method: 'patch',
    path: '/projects/{project_id}/users/{user_id}',
    summary: "Change a user's role in a project",
    tag,
    access: { project: 'share' },
    params: UserCollaboratorParams,
    body: CollaboratorUpdate,
    response: UserCollaborator,
    async handle({ project, params, body, caller }) {
      const updated = found(await projects.updateUserCollaborator(project.id, params.user_id, body.role));
      access.forget();
      return toUserCollaborator(updated, await permissionsIn(access, caller, project.id));
    },
  }),
  endpoint({
    method: 'delete',
    path: '/projects/{project_id}/users/{user_id}',
    summary: 'Remove a user from a project',
    tag,
    access: { project: 'share' },
    params: UserCollaboratorParams,
    async handle({ project, params }) {
      found((await projects.removeUserCollaborator(project.id, params.user_id)) || undefined);
      access.forget();
    },
  }),
];

const groupRoutes = ({ projects, access }: CollaboratorDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/projects/{project_id}/groups',
    summary: 'Add groups of users to a project, or change their role; answers in the order given',
    tag,
    access: { project: 'share' },
    params: ProjectParams,
    body: GroupCollaboratorsCreate,
    response: z.array(GroupCollaborator),
    async handle({ project, body, caller }) {
      const given = body.map(({ group_id, role }) => ({ groupId: group_id, role }));
      const added = await projects.setGroupCollaborators(project.id, given);
      access.forget();
      const permissions = await permissionsIn(access, caller, project.id);
      return added.map((one) => toGroupCollaborator(one, permissions));
    },
  }),
  endpoint({
    method: 'get',
    path: '/projects/{project_id}/groups',
    summary: "A project's groups of users",
    tag,
    access: { project: 'read' },
    params: ProjectParams,
    query: PageQuery,
    response: GroupCollaboratorsPage,
    async handle({ project, query, caller }) {
      const { items, total } = await projects.groupCollaborators(project.id, toPage(query));
      const permissions = await permissionsIn(access, caller, project.id);
      return {
        collaborators: items.map((one) => toGroupCollaborator(one, permissions)),
        ...pageFields(query, items.length, total),
      };
    },
  }),
  endpoint({
    method: 'patch',
    path: '/projects/{project_id}/groups/{group_id}',
    summary: "Change a group's role in a project",
    tag,
    access: { project: 'share' },
    params: GroupCollaboratorParams,
    body: CollaboratorUpdate,
    response: GroupCollaborator,
    async handle({ project, params, body, caller }) {
      const updated = found(await projects.updateGroupCollaborator(project.id, params.group_id, body.role));
      access.forget();
      return toGroupCollaborator(updated, await permissionsIn(access, caller, project.id));
    },
  }),
  endpoint({
    method: 'delete',
    path: '/projects/{project_id}/groups/{group_id}',
    summary: 'Remove a group of users from a project',
    tag,
    access: { project: 'share' },
    params: GroupCollaboratorParams,
    async handle({ project, params }) {
      found((await projects.removeGroupCollaborator(project.id, params.group_id)) || undefined);
      access.forget();
    },
  }),
];

const toPage = ({ starting_token, limit }: PageRequest) => ({ offset: starting_token, limit });

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new ServiceError('NotFound', 'no such collaborator in this project');
  return value;
}

type Permissions = z.input<typeof UserCollaborator>['permissions'];

/** What the caller may do with the collaborators of a project: those who may share it change and remove them. */
async function permissionsIn(access: ProjectAccess, caller: Caller, projectId: string): Promise<Permissions> {
  const role: ProjectRole | undefined = (await access.visible(caller, projectId))?.role;
  const allowed = role !== undefined && mayInProject(role, 'share');
  return [
    { action: 'update', allowed },
    { action: 'delete', allowed },
  ];
}

const toUserCollaborator = (one: stored.UserCollaborator, permissions: Permissions): z.input<typeof UserCollaborator> => ({
  id: one.id,
  permissions,
  role: one.role,
  created_at: one.createdAt.toISOString(),
  user_id: one.userId,
  first_name: one.firstName,
  last_name: one.lastName,
  email: one.email,
});

const toGroupCollaborator = (one: stored.GroupCollaborator, permissions: Permissions): z.input<typeof GroupCollaborator> => ({
  id: one.id,
  permissions,
  role: one.role,
  created_at: one.createdAt.toISOString(),
  group_id: one.groupId,
  group_name: one.groupName,
});
