import { z } from 'zod';
import type { AccountStore, User } from '../../shared/accounts/accountStore.ts';
import { runPermissions } from '../../shared/accounts/permissions.ts';
import { inPieces } from '../../shared/concurrency/inPieces.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { type DeletionDeps, deleteWithRecords } from '../../shared/projects/deletions.ts';
import type { FirstLog } from '../../shared/projects/firstLog.ts';
import type * as stored from '../../shared/projects/projectStore.ts';
import { noRecords, type RunCounts } from '../../shared/projects/runs.ts';
import { type PageRequest, pageFields } from '../../shared/wire/common.ts';
import {
  LogStream,
  LogStreamCreate,
  LogStreamNameRequest,
  LogStreamParams,
  LogStreamSearchRequest,
  LogStreamsPage,
  LogStreamsPageQuery,
  LogStreamsQuery,
  ProjectParams,
} from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint, type ProjectInPath, Reply } from '../http/route.ts';
import { madeHeaders, mustMakeForLogs } from '../views/made.ts';
import { toUserInfo } from '../views/users.ts';

export type LogStreamDeps = DeletionDeps & {
  logStreams: stored.LogStreamStore;
  accounts: Pick<AccountStore, 'usersById'>;
  runCounts: RunCounts;
  firstLog: FirstLog;
};

const tag = 'Log streams';

export const logStreamRoutes = (deps: LogStreamDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/projects/{project_id}/log_streams',
    errors: ['Conflict'],
    summary: 'Create a log stream',
    tag,
    access: { project: 'log_data' },
    params: ProjectParams,
    body: LogStreamCreate,
    response: LogStream,
    async handle({ project, body, caller }) {
      const { name, for_log } = body;
      if (!for_log)
        return describeOne(
          deps,
          project,
          await deps.logStreams.insert({ id: deps.newId(), projectId: project.id, name, createdBy: caller.userId }),
        );
      mustMakeForLogs(deps.firstLog, caller, 'log_stream');
      const { logStream, made } = await deps.firstLog.makeLogStream(caller, project.id, name);
      return new Reply({ body: await describeOne(deps, project, logStream), headers: madeHeaders([made]) });
    },
  }),
  endpoint({
    method: 'get',
    path: '/projects/{project_id}/log_streams',
    summary: "All of a project's log streams, newest first",
    tag,
    access: { project: 'find' },
    params: ProjectParams,
    query: LogStreamsQuery,
    response: z.array(LogStream),
    async handle({ project, query }) {
      const { items } = await deps.logStreams.find(project.id, { filters: [] });
      return inPieces(items, (piece) => describe(deps, project, piece, query.include_counts));
    },
  }),
  endpoint({
    method: 'get',
    path: '/projects/{project_id}/log_streams/paginated',
    summary: "A project's log streams, newest first, a page at a time",
    tag,
    access: { project: 'find' },
    params: ProjectParams,
    query: LogStreamsPageQuery,
    response: LogStreamsPage,
    handle: async ({ project, query }) => pageOf(deps, project, { filters: [] }, query, query.include_counts),
  }),
  endpoint({
    method: 'post',
    path: '/projects/{project_id}/log_streams/search',
    summary: 'Log streams that match filters, a page at a time',
    tag,
    access: { project: 'find' },
    params: ProjectParams,
    body: LogStreamSearchRequest,
    response: LogStreamsPage,
    handle: async ({ project, body }) => pageOf(deps, project, body, body, body.include_counts),
  }),
  endpoint({
    method: 'get',
    path: '/projects/{project_id}/log_streams/{log_stream_id}',
    summary: 'One log stream',
    tag,
    access: { project: 'find' },
    params: LogStreamParams,
    response: LogStream,
    handle: async ({ project, params }) =>
      describeOne(deps, project, orNotFound(await deps.logStreams.get(project.id, params.log_stream_id))),
  }),
  endpoint({
    method: 'put',
    path: '/projects/{project_id}/log_streams/{log_stream_id}',
    errors: ['Conflict'],
    summary: 'Rename a log stream',
    tag,
    access: { project: 'rename_run' },
    params: LogStreamParams,
    body: LogStreamNameRequest,
    response: LogStream,
    handle: async ({ project, params, body }) =>
      describeOne(deps, project, orNotFound(await deps.logStreams.rename(project.id, params.log_stream_id, body.name))),
  }),
  endpoint({
    method: 'delete',
    path: '/projects/{project_id}/log_streams/{log_stream_id}',
    summary: 'Delete a log stream with its records',
    tag,
    access: { project: 'delete_run' },
    params: LogStreamParams,
    status: 204,
    async handle({ project, params }) {
      const { id } = orNotFound(await deps.logStreams.get(project.id, params.log_stream_id));
      await deleteWithRecords(deps, project.id, id);
    },
  }),
];

function orNotFound(stream: stored.LogStream | undefined): stored.LogStream {
  if (!stream) throw new ServiceError('NotFound', 'no such log stream in this project');
  return stream;
}

async function pageOf(
  deps: LogStreamDeps,
  project: ProjectInPath,
  query: stored.LogStreamQuery,
  page: PageRequest,
  withCounts: boolean,
) {
  const { items, hasMore } = await deps.logStreams.find(project.id, query, { offset: page.starting_token, limit: page.limit });
  return {
    log_streams: await inPieces(items, (piece) => describe(deps, project, piece, withCounts)),
    ...pageFields(page, items.length, hasMore),
  };
}

const describeOne = async (deps: LogStreamDeps, project: ProjectInPath, stream: stored.LogStream) =>
  (await describe(deps, project, [stream], false))[0] as z.input<typeof LogStream>;

/** Log streams with the people who made them and, where asked for, how many records they hold. */
async function describe(deps: LogStreamDeps, project: ProjectInPath, streams: readonly stored.LogStream[], withCounts: boolean) {
  const users = await deps.accounts.usersById(streams.map((stream) => stream.createdBy));
  const ids = streams.map((stream) => stream.id);
  const counts = withCounts && ids.length > 0 ? await deps.runCounts(project.id, ids) : undefined;
  const permissions = runPermissions(project.role);
  return streams.map((stream): z.input<typeof LogStream> => {
    const creator = users.get(stream.createdBy) as User;
    const count = counts && (counts.get(stream.id) ?? noRecords);
    return {
      id: stream.id,
      name: stream.name,
      project_id: stream.projectId,
      created_by: stream.createdBy,
      created_by_user: toUserInfo(creator),
      created_at: stream.createdAt.toISOString(),
      updated_at: stream.updatedAt.toISOString(),
      num_spans: count?.spans ?? null,
      num_traces: count?.traces ?? null,
      has_user_created_sessions: (count?.sessions ?? 0) > 0,
      newest_record_at: count?.newestAt ?? null,
      permissions,
    };
  });
}
