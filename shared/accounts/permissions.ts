import { type allProjectActions, projectActions, projectRoles, userActions, type userRoles } from '../wire/accounts.ts';
import { queueActions } from '../wire/annotations.ts';
import { runActions } from '../wire/projects.ts';

/**
 * Decides which caller may do what, in one place. A user has one role in the organization, and may have a role in each project; an API key limited to a project
 * has that role and nothing else.
 */
export type UserRole = (typeof userRoles)[number];

export type ProjectRole = (typeof projectRoles)[number];

/** The role of an API key that only logs. People never have it, and no answer names it: programs know the interface's four. */
export const LOGGER = 'logger' as const;
export type KeyRole = ProjectRole | typeof LOGGER;
/** From most to least: a role may do all that the ones after it may, but that a logger logs and reads nothing. */
export const keyRoles = [...projectRoles, LOGGER] as const;

/** The caller of one request, however it proved who it is. */
export interface Caller {
  userId: string;
  email: string;
  role: UserRole;
  /** Present for a token of a login by password. */
  sessionId?: string;
  /** Present for an API key limited to one project. */
  projectKey?: { projectId: string; role: KeyRole };
}

export type ProjectAction = (typeof allProjectActions)[number];

const annotatorActions: readonly ProjectAction[] = ['record_human_feedback', 'export_data'];
const ownerOnly: readonly ProjectAction[] = ['delete', 'share'];

/** The project role that a user's organization role gives in projects where they have none of their own. */
const impliedProjectRole: Record<UserRole, ProjectRole | undefined> = {
  admin: 'owner',
  manager: 'owner',
  user: undefined,
  read_only: undefined,
};

const weaker = (one: ProjectRole, other: ProjectRole): ProjectRole =>
  projectRoles[Math.max(projectRoles.indexOf(one), projectRoles.indexOf(other))] as ProjectRole;

/** The role of a key in the project where its owner has `own`. One that only logs does nothing where its owner may not log. */
function roleOfKey(own: ProjectRole, key: KeyRole): KeyRole | undefined {
  if (key !== LOGGER) return weaker(own, key);
  return mayInProject(own, 'log_data') ? LOGGER : undefined;
}

/** True when `one` may give a key the role `other`: it may do all that this one may. */
export const mayGive = (one: KeyRole, other: KeyRole): boolean => one !== LOGGER && roleOfKey(one, other) === other;

/**
 * The caller's role in a project, or undefined when they may not see it. A key limited to a project never exceeds its owner's own role there.
 * @param membership the role the project gives this user by name (creators are owners) or through a group, if any.
 */
export function roleInProject(caller: Caller, projectId: string, membership: ProjectRole | undefined): KeyRole | undefined {
  const own = ownRole(caller.role, membership);
  if (!caller.projectKey || own === undefined) return own;
  return caller.projectKey.projectId === projectId ? roleOfKey(own, caller.projectKey.role) : undefined;
}

function ownRole(role: UserRole, membership: ProjectRole | undefined): ProjectRole | undefined {
  const implied = impliedProjectRole[role];
  if (implied === 'owner') return 'owner';
  if (role === 'read_only' && membership !== undefined) return 'viewer';
  return membership ?? implied;
}

/** True for a caller who sees every project; the others see those they are members of. */
export const seesAllProjects = (caller: Caller): boolean => impliedProjectRole[caller.role] !== undefined;

/** `read` is held by every person who sees the project, `find`, which is to read names of it and its log streams, by keys that only log as well. */
export function mayInProject(role: KeyRole, action: ProjectAction | 'read' | 'find'): boolean {
  if (role === LOGGER) return action === 'log_data' || action === 'find';
  if (action === 'read' || action === 'find' || role === 'owner') return true;
  if (role === 'editor') return !ownerOnly.includes(action);
  if (role === 'annotator') return annotatorActions.includes(action);
  return action === 'export_data';
}

export type QueueAction = (typeof queueActions)[number];

/**
 * The caller's role in an annotation queue, or undefined when they may not see it. A queue holds records of any project, so a key limited to one
 * has no part in it.
 * @param membership the role that the queue gives this user, if any
 */
export const roleInQueue = (caller: Caller, membership: ProjectRole | undefined): ProjectRole | undefined =>
  caller.projectKey ? undefined : ownRole(caller.role, membership);

/** `read` is held by everyone who sees the queue: its records are shown to them, whatever project they are of. */
export function mayInQueue(role: ProjectRole, action: QueueAction | 'read'): boolean {
  if (action === 'read' || role === 'owner') return true;
  if (role === 'editor') return action === 'update' || action === 'record_annotation';
  return role === 'annotator' && action === 'record_annotation';
}

/** The caller's allowance for each action on a queue where they have `role`. */
export const queuePermissions = (role: ProjectRole): Permission<QueueAction>[] =>
  queueActions.map((action) => ({ action, allowed: mayInQueue(role, action) }));

export type AssetAction = 'read' | 'update' | 'rename' | 'delete' | 'share' | 'export' | 'read_secrets';

const readingAssets: readonly AssetAction[] = ['read', 'export'];
const ownersOfAssets: readonly AssetAction[] = ['share', 'read_secrets'];

/**
 * The caller's role on a dataset, prompt, scorer or integration; undefined for a key that only logs. A key limited to a project never exceeds its own role.
 * @param grant the strongest role that the thing gives this caller: by name, through a group, with a project, or as one of the organization
 */
export function roleOnAsset(caller: Caller, grant: ProjectRole): ProjectRole | undefined {
  const { projectKey } = caller;
  if (projectKey?.role === LOGGER) return undefined;
  if (projectKey) return weaker(caller.role === 'read_only' ? 'viewer' : grant, projectKey.role);
  return ownRole(caller.role, grant) ?? grant;
}

/** Owners may do everything, editors all but share it and read its secrets, the others read and export it. */
export function mayOnAsset(role: ProjectRole, action: AssetAction): boolean {
  if (readingAssets.includes(action) || role === 'owner') return true;
  return role === 'editor' && !ownersOfAssets.includes(action);
}

/** The permissions that a route may need outside projects. */
export type OrganizationNeed =
  | 'manage_users'
  | 'read_users'
  | 'manage_integrations'
  | 'read_integrations'
  | 'choose_integrations'
  | 'create_project'
  | 'write_assets'
  | 'read_assets'
  | 'create_queue'
  | 'use_queues';

const organizationNeeds: Record<OrganizationNeed, readonly UserRole[]> = {
  manage_users: ['admin'],
  read_users: ['admin', 'manager', 'user', 'read_only'],
  manage_integrations: ['admin', 'manager'],
  read_integrations: ['admin', 'manager', 'user', 'read_only'],
  // For one's own calls.
  choose_integrations: ['admin', 'manager', 'user', 'read_only'],
  create_project: ['admin', 'manager', 'user'],
  // Making datasets, prompts and scorers, and listing them. What they may do with one is their role there.
  write_assets: ['admin', 'manager', 'user'],
  read_assets: ['admin', 'manager', 'user', 'read_only'],
  create_queue: ['admin', 'manager', 'user'],
  // The queue's own role decides what a user may do in it.
  use_queues: ['admin', 'manager', 'user', 'read_only'],
};

export function mayInOrganization(caller: Caller, need: OrganizationNeed): boolean {
  if (!organizationNeeds[need].includes(caller.role)) return false;
  if (!caller.projectKey) return true;
  if (caller.projectKey.role === LOGGER) return false;
  if (caller.projectKey.role === 'viewer' || caller.projectKey.role === 'annotator') return need === 'read_assets';
  return need === 'read_assets' || need === 'write_assets' || need === 'read_integrations';
}

/** One line of a `permissions` array: what this caller may do with the thing it stands on. */
export interface Permission<A extends string = string> {
  action: A;
  allowed: boolean;
}

/** The caller's allowance for each of `actions` (all of the interface when absent) in a project where they have `role`. */
export const projectPermissions = (
  role: KeyRole,
  actions: readonly ProjectAction[] = projectActions,
): Permission<ProjectAction>[] => actions.map((action) => ({ action, allowed: mayInProject(role, action) }));

/** The caller's allowance on the log streams and experiments of a project where they have `role`. */
export const runPermissions = (role: KeyRole) => runActions.map((action) => ({ action, allowed: mayInProject(role, action) }));

export type UserAction = (typeof userActions)[number];

/** The caller's allowance on another user, or on themselves. */
export const userPermissions = (caller: Caller, userId: string): Permission<UserAction>[] =>
  userActions.map((action) => ({ action, allowed: mayOnUser(caller, userId, action) }));

/** Administrators change users; a user reads their own keys. A key limited to a project has no part in accounts. */
export function mayOnUser(caller: Caller, userId: string, action: UserAction): boolean {
  if (caller.projectKey) return false;
  if (action === 'delete') return caller.role === 'admin' && caller.userId !== userId;
  return caller.role === 'admin' || (action === 'read_api_keys' && caller.userId === userId);
}
