import { z } from 'zod';
import { type Caller, mayInOrganization, mayInProject, mayOnAsset } from '../../shared/accounts/permissions.ts';
import type { AssetAccess, AssetKind } from '../../shared/assets/assetAccess.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import type { ProjectAccess } from '../../shared/projects/access.ts';
import type * as stored from '../../shared/projects/projectStore.ts';
import { PageQuery, type PageRequest, pageFields, Uuid } from '../../shared/wire/common.ts';
import {
  CollaboratorRoleInfo,
  CollaboratorUpdate,
  GroupCollaborator,
  GroupCollaboratorsCreate,
  GroupCollaboratorsPage,
  UserCollaborator,
  UserCollaboratorsCreate,
  UserCollaboratorsPage,
} from '../../shared/wire/projects.ts';
import { type Access, assetParameter, type Endpoint, endpoint } from '../http/route.ts';

export interface CollaboratorDeps {
  projects: stored.ProjectStore;
  access: ProjectAccess;
  assets: AssetAccess;
  assetCollaborators: Record<SharedKind, stored.CollaboratorStore>;
}

/** The interface has such routes for these; scorers are shared by their projects. */
type SharedKind = Exclude<AssetKind, 'scorer'>;

/** A kind of thing that can be shared, and the rules for it. */
interface Shared {
  what: 'project' | SharedKind;
  /** Its path, whose parameter `idName` holds its id. */
  path: string;
  idName: string;
  read: Access;
  share: Access;
  store: stored.CollaboratorStore;
  mayShare(caller: Caller, id: string): Promise<boolean>;
  /** Call after a change, so that it holds at once. */
  changed(): void;
}

const roles: readonly z.input<typeof CollaboratorRoleInfo>[] = [
  { name: 'owner', display_name: 'Owner', description: 'May do everything in it, share and delete it included.' },
  {
    name: 'editor',
    display_name: 'Editor',
    description: 'May log, run and change everything, but not share it or delete the project.',
  },
  { name: 'annotator', display_name: 'Annotator', description: 'May read, export and give feedback.' },
  { name: 'viewer', display_name: 'Viewer', description: 'May read and export.' },
];
const tag = 'Collaborators';

/** Manage the users and groups that work on a project, a dataset, a prompt or an integration, each with a role. */
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
  ...[sharedProject(deps), ...sharedPaths.map((one) => sharedAsset(deps, one))].flatMap((shared) => [
    ...userRoutes(shared),
    ...groupRoutes(shared),
  ]),
];

const sharedProject = ({ projects, access }: CollaboratorDeps): Shared => ({
  what: 'project',
  path: '/projects/{project_id}',
  idName: 'project_id',
  read: { project: 'read' },
  share: { project: 'share' },
  store: projects,
  async mayShare(caller, id) {
    const role = (await access.visible(caller, id))?.role;
    return role !== undefined && mayInProject(role, 'share');
  },
  changed: () => access.forget(),
});

const sharedPaths = [
  { kind: 'dataset', path: '/datasets/{dataset_id}' },
  { kind: 'prompt', path: '/templates/{template_id}' },
  { kind: 'integration', path: '/integrations/{integration_id}' },
] as const satisfies readonly { kind: SharedKind; path: string }[];

const sharedAsset = ({ assets, assetCollaborators }: CollaboratorDeps, { kind, path }: (typeof sharedPaths)[number]): Shared => ({
  what: kind,
  path,
  idName: assetParameter[kind],
  read: { asset: kind, action: 'read' },
  share: { asset: kind, action: 'share' },
  store: assetCollaborators[kind],
  async mayShare(caller, id) {
    const role = (await assets.roles(caller, kind, [id])).get(id);
    return role !== undefined && mayOnAsset(role, 'share');
  },
  changed() {},
});

const paramsOf = <K extends string>({ idName }: Shared, collaborator?: K) =>
  z
    .object({ [idName]: Uuid, ...(collaborator ? { [collaborator]: Uuid } : {}) })
    .transform((params) => params as Record<string, string>);

function userRoutes(shared: Shared): Endpoint[] {
  const { what, path, idName, read, share, store } = shared;
  const one = paramsOf(shared);
  const user = paramsOf(shared, 'user_id');
  const idIn = (params: Record<string, string>) => params[idName] as string;
  return [
    endpoint({
      method: 'post',
      path: `${path}/users`,
      summary: `Add users to a ${what}, or change their role; answers in the order given`,
      tag,
      access: share,
      params: one,
      body: UserCollaboratorsCreate,
      response: z.array(UserCollaborator),
      async handle({ params, body, caller }) {
        const given = body.map(({ user_id, user_email, role }) => ({
          userId: user_id ?? undefined,
          email: user_email ?? undefined,
          role,
        }));
        const added = await store.setUserCollaborators(idIn(params), given);
        shared.changed();
        const permissions = await permissionsOn(shared, caller, idIn(params));
        return added.map((collaborator) => toUserCollaborator(collaborator, permissions));
      },
    }),
    endpoint({
      method: 'get',
      path: `${path}/users`,
      summary: `The users of a ${what}`,
      tag,
      access: read,
      params: one,
      query: PageQuery,
      response: UserCollaboratorsPage,
      async handle({ params, query, caller }) {
        const { items, hasMore } = await store.userCollaborators(idIn(params), toPage(query));
        const permissions = await permissionsOn(shared, caller, idIn(params));
        return {
          collaborators: items.map((collaborator) => toUserCollaborator(collaborator, permissions)),
          ...pageFields(query, items.length, hasMore),
        };
      },
    }),
    endpoint({
      method: 'patch',
      path: `${path}/users/{user_id}`,
      summary: `Change a user's role in a ${what}`,
      tag,
      access: share,
      params: user,
      body: CollaboratorUpdate,
      response: UserCollaborator,
      async handle({ params, body, caller }) {
        const updated = orNotFound(shared, await store.updateUserCollaborator(idIn(params), params.user_id as string, body.role));
        shared.changed();
        return toUserCollaborator(updated, await permissionsOn(shared, caller, idIn(params)));
      },
    }),
    endpoint({
      method: 'delete',
      path: `${path}/users/{user_id}`,
      summary: `Remove a user from a ${what}`,
      tag,
      access: share,
      params: user,
      async handle({ params }) {
        orNotFound(shared, (await store.removeUserCollaborator(idIn(params), params.user_id as string)) || undefined);
        shared.changed();
      },
    }),
  ];
}

function groupRoutes(shared: Shared): Endpoint[] {
  const { what, path, idName, read, share, store } = shared;
  const one = paramsOf(shared);
  const group = paramsOf(shared, 'group_id');
  const idIn = (params: Record<string, string>) => params[idName] as string;
  return [
    endpoint({
      method: 'post',
      path: `${path}/groups`,
      summary: `Add groups of users to a ${what}, or change their role; answers in the order given`,
      tag,
      access: share,
      params: one,
      body: GroupCollaboratorsCreate,
      response: z.array(GroupCollaborator),
      async handle({ params, body, caller }) {
        const given = body.map(({ group_id, role }) => ({ groupId: group_id, role }));
        const added = await store.setGroupCollaborators(idIn(params), given, groupViewer(caller));
        shared.changed();
        const permissions = await permissionsOn(shared, caller, idIn(params));
        return added.map((collaborator) => toGroupCollaborator(collaborator, permissions));
      },
    }),
    endpoint({
      method: 'get',
      path: `${path}/groups`,
      summary: `The groups of users of a ${what}`,
      tag,
      access: read,
      params: one,
      query: PageQuery,
      response: GroupCollaboratorsPage,
      async handle({ params, query, caller }) {
        // A caller who may share the thing sees every group that it is shared with.
        const viewer = groupViewer(caller);
        const by = { ...viewer, seesHidden: viewer.seesHidden || (await shared.mayShare(caller, idIn(params))) };
        const { items, hasMore } = await store.groupCollaborators(idIn(params), toPage(query), by);
        const permissions = await permissionsOn(shared, caller, idIn(params));
        return {
          collaborators: items.map((collaborator) => toGroupCollaborator(collaborator, permissions)),
          ...pageFields(query, items.length, hasMore),
        };
      },
    }),
    endpoint({
      method: 'patch',
      path: `${path}/groups/{group_id}`,
      summary: `Change a group's role in a ${what}`,
      tag,
      access: share,
      params: group,
      body: CollaboratorUpdate,
      response: GroupCollaborator,
      async handle({ params, body, caller }) {
        const updated = orNotFound(
          shared,
          await store.updateGroupCollaborator(idIn(params), params.group_id as string, body.role),
        );
        shared.changed();
        return toGroupCollaborator(updated, await permissionsOn(shared, caller, idIn(params)));
      },
    }),
    endpoint({
      method: 'delete',
      path: `${path}/groups/{group_id}`,
      summary: `Remove a group of users from a ${what}`,
      tag,
      access: share,
      params: group,
      async handle({ params }) {
        orNotFound(shared, (await store.removeGroupCollaborator(idIn(params), params.group_id as string)) || undefined);
        shared.changed();
      },
    }),
  ];
}

const groupViewer = (caller: Caller): stored.GroupViewer => ({
  userId: caller.userId,
  seesHidden: mayInOrganization(caller, 'manage_users'),
});

const toPage = ({ starting_token, limit }: PageRequest) => ({ offset: starting_token, limit });

function orNotFound<T>({ what }: Shared, value: T | undefined): T {
  if (value === undefined) throw new ServiceError('NotFound', `no such collaborator in this ${what}`);
  return value;
}

type Permissions = z.input<typeof UserCollaborator>['permissions'];

/** Returns what the caller may do with the collaborators: callers who may share the thing change and remove them. */
async function permissionsOn(shared: Shared, caller: Caller, id: string): Promise<Permissions> {
  const allowed = await shared.mayShare(caller, id);
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
