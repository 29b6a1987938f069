import { z } from 'zod';
import type { AccountStore, User } from '../../shared/accounts/accountStore.ts';
import { type Caller, type ProjectAction, projectPermissions, roleInProject } from '../../shared/accounts/permissions.ts';
import { inPieces } from '../../shared/concurrency/inPieces.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import type { ProjectAccess } from '../../shared/projects/access.ts';
import type { DeletionDeps } from '../../shared/projects/deletions.ts';
import type { FirstLog } from '../../shared/projects/firstLog.ts';
import type * as stored from '../../shared/projects/projectStore.ts';
import { createProject, deleteProject, ownerOf, updateProject, viewerOf } from '../../shared/projects/projects.ts';
import type * as runs from '../../shared/projects/runs.ts';
import { Message, pageFields } from '../../shared/wire/common.ts';
import {
  AllProjectsQuery,
  Project,
  ProjectCollectionParams,
  ProjectCreate,
  ProjectCreateResponse,
  ProjectParams,
  ProjectQuery,
  ProjectsPage,
  ProjectsPageQuery,
  ProjectsQuery,
  ProjectThin,
  ProjectUpdate,
  ProjectUpdateResponse,
  type Run,
} from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint, Reply } from '../http/route.ts';
import { madeHeaders, mustMakeForLogs } from '../views/made.ts';
import { toUser, toUserInfo } from '../views/users.ts';

export type ProjectRouteDeps = DeletionDeps & {
  projects: stored.ProjectStore;
  accounts: Pick<AccountStore, 'usersById' | 'user'>;
  /** Makes prompts to begin with. */
  makeExamples(owner: Caller, projectId: string): Promise<void>;
  access: ProjectAccess;
  newestRecords: runs.NewestRecords;
  firstLog: FirstLog;
};

// A project's answer lists its newest runs only: clients look a project up before nearly every operation, and it may hold thousands.
const RUNS_SHOWN = 25;
const tag = 'Projects';

export const projectRoutes = (deps: ProjectRouteDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/projects/paginated',
    summary: 'Projects that match filters, a page at a time',
    description: `\`actions\` limits the permissions that are shown. \`runs\` holds the newest ${RUNS_SHOWN} runs of each project. With \`include_counts\`, \`newest_record_at\` is when its newest record was made.`,
    tag,
    access: 'signedIn',
    query: ProjectsPageQuery,
    body: ProjectCollectionParams,
    response: ProjectsPage,
    async handle({ query, body, caller }) {
      const page = { offset: query.starting_token, limit: query.limit };
      const { items, hasMore } = await deps.projects.find(viewerOf(caller), body, page);
      const projects = await inPieces(items, (piece) =>
        describe(deps, caller, piece, { actions: query.actions, withCounts: query.include_counts }),
      );
      return { projects, ...pageFields(query, items.length, hasMore) };
    },
  }),
  endpoint({
    method: 'post',
    path: '/projects/count',
    summary: 'How many projects match filters',
    tag,
    access: 'signedIn',
    body: ProjectCollectionParams,
    response: z.int(),
    handle: async ({ body, caller }) => deps.projects.count(viewerOf(caller), body),
  }),
  endpoint({
    method: 'get',
    path: '/projects/all',
    summary: 'All projects that the caller can read',
    tag,
    access: 'signedIn',
    query: AllProjectsQuery,
    response: z.array(ProjectThin),
    async handle({ query, caller }) {
      const { items } = await deps.projects.find(viewerOf(caller), { filters: ofType(query.type ?? query.project_type) });
      return inPieces(items, (piece) => describe(deps, caller, piece));
    },
  }),
  endpoint({
    method: 'get',
    path: '/projects',
    summary: 'Projects by exact name; an empty list when there is none',
    description:
      'Names are unique among the projects that their creator sees, so others may share projects of one name with you: the one that you have seen longest is the first.',
    tag,
    access: 'signedIn',
    query: ProjectsQuery,
    response: z.array(Project),
    async handle({ query, caller }) {
      const { items } = await deps.projects.find(viewerOf(caller), {
        filters: [...ofType(query.type), ...nameFilter(query.project_name)],
      });
      return inPieces(items, (piece) => describe(deps, caller, piece));
    },
  }),
  endpoint({
    method: 'post',
    path: '/projects',
    errors: ['Conflict'],
    summary: 'Create a project; the caller becomes its owner',
    description: '`create_example_templates` adds a few prompt templates to begin with.',
    tag,
    access: { organization: 'create_project' },
    body: ProjectCreate,
    response: ProjectCreateResponse,
    async handle({ body: { for_log, created_by, create_example_templates: withExamples, ...input }, caller }) {
      const owner = await ownerOf(deps.accounts, caller, created_by);
      if (!for_log) {
        const project = await createProject(deps, owner, input);
        if (withExamples) await deps.makeExamples(owner, project.id);
        return toCreated(project);
      }
      mustMakeForLogs(deps.firstLog, caller, 'project');
      const { project, made } = await deps.firstLog.makeProject(owner, input);
      return new Reply({ body: toCreated(project), headers: madeHeaders([made]) });
    },
  }),
  endpoint({
    method: 'get',
    path: '/projects/{project_id}',
    summary: 'One project',
    description: '`actions` limits the permissions that are shown, to one that is shown only so (`use_playground`) as well.',
    tag,
    access: { project: 'find' },
    params: ProjectParams,
    query: ProjectQuery,
    response: Project,
    async handle({ project, query: { actions }, caller }) {
      const query = { filters: [{ name: 'id', operator: 'eq', value: project.id }] } as const;
      const { items } = await deps.projects.find(viewerOf(caller), query);
      const [described] = await describe(deps, caller, items, { actions });
      // Deleted between the check of access and here.
      if (!described) throw new ServiceError('NotFound', 'no such project');
      return described;
    },
  }),
  endpoint({
    method: 'put',
    path: '/projects/{project_id}',
    errors: ['Conflict'],
    summary: 'Change name, labels or description of a project',
    tag,
    access: { project: 'update' },
    params: ProjectParams,
    body: ProjectUpdate,
    response: ProjectUpdateResponse,
    async handle({ project, body, caller }) {
      const updated = await updateProject(deps, caller, project.id, toChange(body));
      return { ...toCreated(updated), labels: toLabels(updated), description: updated.description };
    },
  }),
  endpoint({
    method: 'delete',
    path: '/projects/{project_id}',
    summary: 'Delete a project with all its runs and records',
    tag,
    access: { project: 'delete' },
    params: ProjectParams,
    response: Message,
    async handle({ project }) {
      await deleteProject(deps, project.id);
      return { message: `deleted project ${project.name}` };
    },
  }),
];

const ofType = (type: stored.ProjectType | undefined): stored.ProjectQuery['filters'] =>
  type ? [{ name: 'type', operator: 'eq', value: type }] : [];
const nameFilter = (name: string | undefined): stored.ProjectQuery['filters'] =>
  name === undefined ? [] : [{ name: 'name', operator: 'eq', value: name, case_sensitive: true }];

type Described = z.input<typeof Project>;

/** Projects as this caller sees them, with their newest runs and the people behind both. */
async function describe(
  deps: ProjectRouteDeps,
  caller: Caller,
  projects: Readonly<Awaited<ReturnType<stored.ProjectStore['find']>>['items']>,
  { actions, withCounts = false }: { actions?: readonly ProjectAction[] | undefined; withCounts?: boolean } = {},
): Promise<Described[]> {
  const newest = await deps.projects.newestRuns(
    projects.map((project) => project.id),
    RUNS_SHOWN,
  );
  const newestRecords = withCounts ? await deps.newestRecords(projects.map((project) => project.id)) : undefined;
  const users = await deps.accounts.usersById([...projects, ...newest].map((made) => made.createdBy));
  const userOf = (id: string) => users.get(id) as User;
  const runsOf = Map.groupBy(newest, (run) => run.projectId);
  return projects.flatMap((project) => {
    const role = roleInProject(caller, project.id, project.membership);
    if (!role) return [];
    const creator = userOf(project.createdBy);
    return [
      {
        ...toCreated(project),
        permissions: projectPermissions(role, actions),
        created_by_user: toUserInfo(creator),
        runs: (runsOf.get(project.id) ?? []).map((run) => toRun(caller, run, userOf(run.createdBy))),
        bookmark: false,
        newest_record_at: newestRecords?.get(project.id) ?? null,
        description: project.description,
        labels: toLabels(project),
      },
    ];
  });
}

const taskTypes = { log_stream: 15, experiment: 16, metrics_testing: null } as const satisfies Record<
  runs.RunKind,
  number | null
>;

function toRun(caller: Caller, run: runs.Run, creator: User): z.input<typeof Run> {
  return {
    id: run.id,
    name: run.name,
    project_id: run.projectId,
    created_by: run.createdBy,
    last_updated_by: run.createdBy,
    // Older clients refuse the whole project for a permission that they do not know.
    creator: { ...toUser(caller, creator), permissions: [] },
    // Samples, winners, splits and inferences belong to project types older than gen_ai; a run of ours holds records instead.
    ...{ num_samples: 0, winner: false, logged_splits: [], logged_inference_names: [] },
    task_type: taskTypes[run.kind],
    created_at: run.createdAt.toISOString(),
    updated_at: run.updatedAt.toISOString(),
  };
}

const toCreated = (project: stored.Project) => ({
  id: project.id,
  name: project.name,
  created_by: project.createdBy,
  type: project.type,
  created_at: project.createdAt.toISOString(),
  updated_at: project.updatedAt.toISOString(),
});

const toLabels = (project: stored.Project) => project.labels as Described['labels'];

const toChange = ({ name, labels, description }: z.output<typeof ProjectUpdate>) => ({
  ...(name ? { name } : {}),
  ...(labels ? { labels } : {}),
  ...(description == null ? {} : { description }),
});
