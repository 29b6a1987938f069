import { z } from 'zod';
import { NameOf, orDefault, PageFields, Uuid } from './common.ts';
import { RecordTime } from './time.ts';

export const userRoles = ['admin', 'manager', 'user', 'read_only'] as const;
/** From most to least: a role may do all that the ones after it may. */
export const projectRoles = ['owner', 'editor', 'annotator', 'viewer'] as const;
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
] as const;
/**
 * Programs refuse whole answers for an action that they do not know, so lists of permissions hold these only where they are asked for: those that the
 * interface has got later, and that nothing here needs, and one of ours.
 */
const addedProjectActions = ['update_control_bindings', 'use_control_runtime', 'use_playground'] as const;
export const allProjectActions = [...projectActions, ...addedProjectActions] as const;
export const userActions = [
  'update',
  'delete',
  'read_api_keys',
  'change_role_to_admin',
  'change_role_to_manager',
  'change_role_to_user',
  'change_role_to_read_only',
] as const;

export const groupVisibilities = ['public', 'private', 'hidden', 'protected'] as const;
export const groupRoles = ['member', 'maintainer', 'pending'] as const;

const UserRole = z.enum(userRoles);
export const ProjectRole = z.enum(projectRoles).meta({ id: 'CollaboratorRole' });

/** A `permissions` array: what the caller may do with the thing it stands on. */
export const permissionsOf = <const A extends readonly string[]>(actions: A) =>
  z.array(z.object({ action: z.enum(actions), allowed: z.boolean() }));

export const HealthcheckResponse = z.object({ api_version: z.string(), message: z.string(), version: z.string() });

/** Existing clients send further fields, which are ignored. */
export const LoginForm = z.object({
  grant_type: z.literal('password').nullish(),
  username: z.string().min(1),
  password: z.string().min(1),
});
export const ApiKeyLoginRequest = z.object({ api_key: z.string().min(1) });
export const SocialLoginRequest = z.object({
  id_token: z.string(),
  provider: z.enum(['okta', 'google', 'github', 'azure-ad', 'custom']),
});
export const Token = z.object({ access_token: z.string(), token_type: z.literal('bearer') });

export const UserInfo = z
  .object({ id: Uuid, email: z.string(), first_name: z.string().nullable(), last_name: z.string().nullable() })
  .meta({ id: 'UserInfo' });

export const User = z
  .object({
    id: Uuid,
    permissions: permissionsOf(userActions),
    email: z.string(),
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
    auth_method: z.literal('email'),
    role: UserRole,
    organization_id: Uuid,
    organization_name: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'UserDB' });

export const UsersPage = z.object({ users: z.array(User), ...PageFields });

const symbolPattern = /[^A-Za-z0-9\s]/;
const Password = z
  .string()
  .min(8, 'must have at least 8 characters')
  .max(1_000)
  .regex(/[A-Z]/, 'must contain an upper-case letter')
  .regex(/[a-z]/, 'must contain a lower-case letter')
  .regex(symbolPattern, 'must contain a special character');

export const CreateUserRequest = z.object({
  email: z.email().max(320),
  auth_method: z.literal('email').nullish(),
  password: Password,
  // One client knows the two system roles: the nearest of ours are given.
  role: z
    .enum([...userRoles, 'system_admin', 'system_user'])
    .nullish()
    .transform((role) => (role === 'system_admin' ? 'admin' : role === 'system_user' ? 'user' : (role ?? 'read_only'))),
});
/** The email of who may sign up. */
export const SignupLinkQuery = z.object({ user_email: z.email().max(320) });
export const SignupLink = z.object({ signup_url: z.string() }).meta({ id: 'SignupLink' });
export const CreateUserQuery = z.object({
  signup_token: z.string().min(1).max(1_000).optional().describe('Of an invitation of this email, which is used up.'),
});
export const Signup = z.strictObject({ signup_token: z.string().min(1).max(1_000), password: Password });
export const SignedUp = z.object({ email: z.string() }).meta({ id: 'SignedUp' });
export const InviteUsersRequest = z.object({
  auth_method: orDefault(z.enum(['email', 'google', 'github', 'okta', 'azure-ad', 'custom', 'saml', 'invite']), 'email'),
  emails: orDefault(z.array(z.email().max(320)).max(1_000), []),
  role: orDefault(UserRole, 'user'),
  group_ids: orDefault(z.array(Uuid).max(1_000), []),
});
export const InvitedUsers = z
  .object({ invitations: z.array(z.object({ email: z.string(), signup_url: z.string(), expires_at: z.iso.datetime() })) })
  .meta({ id: 'InvitedUsers' });
export const PasswordChange = z.strictObject({ old_password: z.string().min(1).max(1_000), new_password: Password });
export const PasswordReset = z.strictObject({ reset_token: z.string().min(1).max(1_000), new_password: Password });
export const PasswordResetCreated = z
  .object({ user_id: Uuid, email: z.string(), reset_token: z.string(), expires_at: z.iso.datetime() })
  .meta({ id: 'PasswordResetCreated' });

export const LoginSession = z
  .object({
    id: Uuid,
    created_at: z.iso.datetime(),
    last_used: z.iso.datetime(),
    expires_at: z.iso.datetime(),
    address: z.string().nullable(),
    user_agent: z.string().nullable(),
    /** The one that this request was made with. */
    is_current: z.boolean(),
  })
  .meta({ id: 'LoginSession' });
export const LoginSessionsPage = z.object({ sessions: z.array(LoginSession), ...PageFields });

export const UserUpdate = z.object({ role: UserRole });

export const CreateApiKeyRequest = z
  .object({
    description: z.string().max(1_000),
    expires_at: RecordTime.nullish(),
    project_id: Uuid.nullish(),
    project_role: ProjectRole.nullish(),
    ingest_only: orDefault(z.boolean(), false).describe(
      'The key logs to the project, and finds or makes its log streams; it reads no record and starts nothing.',
    ),
  })
  .refine((request) => !request.project_role || request.project_id, {
    path: ['project_role'],
    error: 'needs a project_id: it is the role inside that project',
  })
  .refine((request) => !request.ingest_only || request.project_id, {
    path: ['ingest_only'],
    error: 'needs a project_id: the key logs to that project',
  })
  .refine((request) => !request.ingest_only || !request.project_role, {
    path: ['project_role'],
    error: 'leave it out: a key with ingest_only has no role',
  });

export const ApiKey = z
  .object({
    id: Uuid,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    last_used: z.iso.datetime().nullable(),
    truncated: z.string(),
    description: z.string(),
    expires_at: z.iso.datetime().nullable(),
    project_id: Uuid.nullable(),
    project_role: ProjectRole.nullable().describe('Null for a key with `ingest_only`, too.'),
    ingest_only: z.boolean(),
  })
  .meta({ id: 'ApiKey' });
export const CreatedApiKey = ApiKey.extend({ api_key: z.string() }).meta({ id: 'CreatedApiKey' });
export const ApiKeysPage = z.object({ api_keys: z.array(ApiKey), ...PageFields });

export const GroupCreate = z.object({
  name: NameOf(1_000),
  description: z.string().nullish(),
  visibility: z.enum(groupVisibilities).nullish(),
});
export const UserGroup = z
  .object({
    id: Uuid,
    name: z.string(),
    description: z.string().nullable(),
    visibility: z.enum(groupVisibilities),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'UserGroup' });
export const UserGroupsPage = z.object({ groups: z.array(UserGroup), ...PageFields });
export const GroupMembersCreate = z.array(z.object({ user_id: Uuid, role: z.enum(groupRoles).nullish() })).max(1_000);
const GroupMember = z.object({ user_id: Uuid, group_role: z.enum(groupRoles) });
export const GroupMembers = z.array(GroupMember);
export const GroupMembersPage = z.object({ members: z.array(GroupMember.extend({ email: z.string() })), ...PageFields });
export type ListedMember = z.output<typeof GroupMembersPage>['members'][number];
