/**
 * Who may do what, in one place. A user has one role in the organization, and may have a role in each project; an API key limited to a project
 * has that role and nothing else.
 */
export const userRoles = ['admin', 'manager', 'user', 'read_only'] as const;
export type UserRole = (typeof userRoles)[number];

export const projectRoles = ['owner', 'editor', 'annotator', 'viewer'] as const;
export type ProjectRole = (typeof projectRoles)[number];

/** The caller of one request, however it proved who it is. */
export interface Caller {
  userId: string;
  email: string;
  role: UserRole;
  /** Present for an API key limited to one project. */
  projectKey?: { projectId: string; role: ProjectRole };
}

export const projectActions = [
  'update',
  'delete',
  'rename',
  'share',
  'create_run',
  'delete_run',
  'rename_run',
  'move_run',
  'export_data',
  'configure_human_feedback',
  'record_human_feedback',
  'log_data',
  'toggle_metric',
  'edit_alert',
  'create_stage',
  'edit_stage',
  'configure_crown_logic',
  'delete_data',
  'set_metric',
  'edit_run_tags',
  'dismiss_alert',
  'edit_slice',
  'edit_edit',
  'update_control_bindings',
  'use_control_runtime',
] as const;
export type ProjectAction = (typeof projectActions)[number];

const annotatorActions: readonly ProjectAction[] = ['record_human_feedback', 'export_data'];
const ownerOnly: readonly ProjectAction[] = ['delete', 'share'];

/** The project role that a user's organization role gives in projects where they have none of their own. */
const impliedProjectRole: Record<UserRole, ProjectRole | undefined> = {
  admin: 'owner',
  manager: 'owner',
  user: undefined,
  read_only: undefined,
};

/**
 * The caller's role in a project, or undefined when they may not see it.
 * @param membership the role the project gives this user by name (creators are owners), if any.
 */
export function roleInProject(caller: Caller, projectId: string, membership: ProjectRole | undefined): ProjectRole | undefined {
  if (caller.projectKey) return caller.projectKey.projectId === projectId ? caller.projectKey.role : undefined;
  const implied = impliedProjectRole[caller.role];
  if (implied === 'owner') return 'owner';
  if (caller.role === 'read_only' && membership !== undefined) return 'viewer';
  return membership ?? implied;
}

/** `read` is held by everyone who sees the project. */
export function mayInProject(role: ProjectRole, action: ProjectAction | 'read'): boolean {
  if (action === 'read' || role === 'owner') return true;
  if (role === 'editor') return !ownerOnly.includes(action);
  if (role === 'annotator') return annotatorActions.includes(action);
  return action === 'export_data';
}

/** What a route may need outside projects. */
export type OrganizationNeed =
  | 'manage_users'
  | 'manage_integrations'
  | 'read_integrations'
  | 'create_project'
  | 'write_assets'
  | 'read_assets';

const organizationNeeds: Record<OrganizationNeed, readonly UserRole[]> = {
  manage_users: ['admin'],
  manage_integrations: ['admin', 'manager'],
  read_integrations: ['admin', 'manager', 'user', 'read_only'],
  create_project: ['admin', 'manager', 'user'],
  // Datasets, prompts and scorers: shared by the organization.
  write_assets: ['admin', 'manager', 'user'],
  read_assets: ['admin', 'manager', 'user', 'read_only'],
};

export function mayInOrganization(caller: Caller, need: OrganizationNeed): boolean {
  if (caller.projectKey)
    return caller.projectKey.role === 'viewer' || caller.projectKey.role === 'annotator'
      ? need === 'read_assets'
      : need === 'read_assets' || need === 'write_assets' || need === 'read_integrations';
  return organizationNeeds[need].includes(caller.role);
}
