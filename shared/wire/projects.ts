import { z } from 'zod';
import { allProjectActions, ProjectRole, permissionsOf, type projectActions, User, UserInfo } from './accounts.ts';
import { BodyFlag, NameOf, PageBody, PageFields, PageQuery, QueryFlag, Timestamp, Uuid } from './common.ts';
import { ChoiceFilter, IdFilter, NameFilter, NumberFilter, TimeFilter } from './listFilters.ts';

export const projectTypes = ['prompt_evaluation', 'llm_monitor', 'protect', 'gen_ai'] as const;
const ProjectType = z.enum(projectTypes).meta({ id: 'ProjectType' });
const labels = ['sample'] as const;

export const ProjectParams = z.object({ project_id: Uuid });

const SortBy = <const N extends string>(name: N) =>
  z.object({
    name: z.literal(name),
    ascending: BodyFlag(true),
  });

export const ProjectFilter = z.discriminatedUnion('name', [
  IdFilter('id'),
  NameFilter('name'),
  ChoiceFilter('type'),
  IdFilter('creator'),
  TimeFilter('created_at'),
  TimeFilter('updated_at'),
  NumberFilter('runs'),
  z.object({ name: z.literal('bookmark'), value: z.boolean() }),
]);
export const ProjectSort = z.discriminatedUnion('name', [
  SortBy('name'),
  SortBy('type'),
  SortBy('created_at'),
  SortBy('updated_at'),
  SortBy('runs'),
  SortBy('bookmark'),
]);
const filterList = <T extends z.ZodType>(filter: T) =>
  z
    .array(filter)
    .max(100)
    .nullish()
    .transform((filters) => filters ?? []);

export const ProjectCollectionParams = z
  .object({ filters: filterList(ProjectFilter), sort: ProjectSort.nullish() })
  .nullish()
  .transform((params) => params ?? { filters: [], sort: null });

const ProjectActionList = z.union([
  z.enum(allProjectActions).transform((action) => [action]),
  z.array(z.enum(allProjectActions)),
]);
export const ProjectsPageQuery = PageQuery.extend({ actions: ProjectActionList.optional(), include_counts: QueryFlag(false) });
export const ProjectQuery = z.object({ actions: ProjectActionList.optional() });
/** One client calls the type `project_type`. */
export const AllProjectsQuery = z.object({ type: ProjectType.optional(), project_type: ProjectType.optional() });
export const ProjectsQuery = z.object({ project_name: z.string().trim().optional(), type: ProjectType.optional() });

const forLog = BodyFlag(false).meta({
  description: 'Asked for by a client because a log names it: refused where the service lets logs make none.',
});
export const ProjectCreate = z.object({
  name: NameOf(1_000),
  type: ProjectType.nullish().transform((type) => type ?? 'gen_ai'),
  created_by: Uuid.nullish().describe('Whose project it becomes; for administrators. Absent: the caller.'),
  create_example_templates: BodyFlag(false),
  for_log: forLog,
});
export const ProjectUpdate = z.object({
  name: NameOf(1_000).nullish(),
  // The interface takes any text and answers with these alone.
  labels: z
    .array(z.string())
    .nullish()
    .transform((given) => given && labels.filter((label) => given.includes(label))),
  description: z.string().max(100_000).nullish(),
});

export const Run = z
  .object({
    id: Uuid,
    name: z.string().min(1),
    project_id: Uuid,
    created_by: Uuid,
    last_updated_by: Uuid,
    creator: User,
    num_samples: z.int(),
    winner: z.boolean(),
    task_type: z.literal([7, 9, 12, 13, 15, 16, 17, 18]).nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    logged_splits: z.array(z.string()).describe('Always empty; older clients require it.'),
    logged_inference_names: z.array(z.string()).describe('Always empty; older clients require it.'),
  })
  .meta({ id: 'RunDB' });

export const ProjectCreateResponse = z.object({
  id: Uuid,
  name: z.string(),
  created_by: Uuid,
  type: ProjectType,
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});
export const ProjectUpdateResponse = ProjectCreateResponse.extend({
  labels: z.array(z.enum(labels)),
  description: z.string().nullable(),
});
export const ProjectThin = ProjectCreateResponse.extend({
  permissions: permissionsOf(allProjectActions),
  runs: z.array(Run),
  bookmark: z.boolean(),
}).meta({ id: 'ProjectDBThin' });
export const Project = ProjectThin.extend({
  created_by_user: UserInfo,
  description: z.string().nullable(),
  labels: z.array(z.enum(labels)),
  newest_record_at: Timestamp.nullable().describe(
    'The latest `created_at` of its records; null without any, and where counts were not asked for.',
  ),
}).meta({ id: 'ProjectDB' });
export const ProjectsPage = z.object({ projects: z.array(Project), ...PageFields });

export const CollaboratorRoleInfo = z.object({ name: ProjectRole, display_name: z.string(), description: z.string() });
const collaboratorActions = ['update', 'delete'] as const;
const Role = ProjectRole.nullish().transform((role) => role ?? 'viewer');

export const UserCollaboratorsCreate = z
  .array(
    z
      .object({ role: Role, user_id: Uuid.nullish(), user_email: z.email().nullish() })
      .refine(({ user_id, user_email }) => user_id || user_email, {
        path: ['user_id'],
        error: 'name the user: user_id or user_email',
      }),
  )
  .max(1_000);
export const GroupCollaboratorsCreate = z.array(z.object({ role: Role, group_id: Uuid })).max(1_000);
export const CollaboratorUpdate = z.object({ role: ProjectRole });

const Collaborator = z.object({
  id: Uuid,
  permissions: permissionsOf(collaboratorActions),
  role: ProjectRole,
  created_at: z.iso.datetime(),
});
export const UserCollaborator = Collaborator.extend({
  user_id: Uuid,
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  email: z.string(),
}).meta({ id: 'UserCollaborator' });
export const GroupCollaborator = Collaborator.extend({ group_id: Uuid, group_name: z.string() }).meta({
  id: 'GroupCollaborator',
});
export const UserCollaboratorsPage = z.object({ collaborators: z.array(UserCollaborator), ...PageFields });
export const GroupCollaboratorsPage = z.object({ collaborators: z.array(GroupCollaborator), ...PageFields });

export const LogStreamParams = z.object({ project_id: Uuid, log_stream_id: Uuid });
export const LogStreamNameRequest = z.object({ name: NameOf(1_000) });
export const LogStreamCreate = LogStreamNameRequest.extend({ for_log: forLog });
export const LogStreamsQuery = z.object({ include_counts: QueryFlag(false) });
export const LogStreamsPageQuery = PageQuery.extend({ include_counts: QueryFlag(false) });

export const LogStreamFilter = z.discriminatedUnion('name', [
  IdFilter('id'),
  NameFilter('name'),
  IdFilter('created_by'),
  TimeFilter('created_at'),
  TimeFilter('updated_at'),
]);
export const LogStreamSort = z.discriminatedUnion('name', [SortBy('name'), SortBy('created_at'), SortBy('updated_at')]);
export const LogStreamSearchRequest = PageBody.extend({
  filters: filterList(LogStreamFilter),
  sort: LogStreamSort.nullish(),
  include_counts: z
    .boolean()
    .nullish()
    .transform((counts) => counts ?? false),
});

/** The actions in a project that people and programs do to a log stream or experiment. */
export const runActions = [
  'rename_run',
  'delete_run',
  'log_data',
  'delete_data',
  'export_data',
  'record_human_feedback',
  'set_metric',
] as const satisfies readonly (typeof projectActions)[number][];

/** The keys that lists of log streams and of experiments share. */
export const runActivity = {
  newest_record_at: Timestamp.nullable().describe(
    'The latest `created_at` of its records; null without any, and where counts were not asked for.',
  ),
  permissions: permissionsOf(runActions).describe('What the caller may do with it.'),
};

export const LogStream = z
  .object({
    id: Uuid,
    name: z.string(),
    project_id: Uuid,
    created_by: Uuid,
    created_by_user: UserInfo.nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    num_spans: z.int().nullable(),
    num_traces: z.int().nullable(),
    has_user_created_sessions: z.boolean(),
    ...runActivity,
  })
  .meta({ id: 'LogStreamResponse' });
export const LogStreamsPage = z.object({ log_streams: z.array(LogStream), ...PageFields });
