import { z } from 'zod';
import { namedRun } from '../../shared/projects/runs.ts';
import {
  LogTracesIngestRequest,
  LogTracesIngestResponse,
  LogTraceUpdateRequest,
  LogTraceUpdateResponse,
  TraceUpdateParams,
} from '../../shared/recordSchemas/ingest.ts';
import { StoredTrace, StubTraceRecord } from '../../shared/recordSchemas/storedRecords.ts';
import { ingestTraces, recordIdOf } from '../../shared/records/ingest.ts';
import { readAlone, readTrace } from '../../shared/records/read.ts';
import { traceOutline } from '../../shared/records/traceOutline.ts';
import { updateRecord } from '../../shared/records/update.ts';
import { NoQuery, Uuid } from '../../shared/wire/common.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { TraceOutlineResponse } from '../../shared/wire/traceOutline.ts';
import { type Endpoint, endpoint, Reply } from '../http/route.ts';
import { deleteRoute } from '../records/deleteRoute.ts';
import { answerFor, logsRecords, ReadInTraceQuery, type RecordDeps, refusedIn, sameAsInPath } from '../records/loggedRecords.ts';

const ingestRoute = (deps: RecordDeps, path: string): Endpoint =>
  endpoint({
    method: 'post',
    path,
    summary: 'Log traces with their spans',
    description:
      'Spans nest in `spans` of a trace or span. A trace or span that is logged again under its id is the same record, with what the repeat adds. Odd values are made to fit; a record of which nothing can be stored is named in `refused`. The answer comes when everything else can be read.',
    ...logsRecords,
    params: ProjectParams,
    body: LogTracesIngestRequest,
    response: LogTracesIngestResponse,
    async handle({ project, body, caller }) {
      const run = await deps.ingestRun(project.id, body, caller.userId);
      const { traceIds, spansCount, sessionId, left, refused } = await ingestTraces(deps.writer, run, {
        traces: body.traces,
        isComplete: body.is_complete,
        sessionId: body.session_id,
        sessionExternalId: body.session_external_id,
      });
      if (left.length > 0) await deps.emptySessions.left(run, left);
      return {
        ...answerFor(project, body, sessionId, traceIds.length + spansCount),
        traces_count: traceIds.length,
        spans_count: spansCount,
        trace_ids: body.include_trace_ids ? traceIds : null,
        ...refusedIn(refused),
      };
    },
  });

/** Ingest, update, read and deletion of traces. */
export const traceRoutes = (deps: RecordDeps): Endpoint[] => [
  ingestRoute(deps, '/projects/{project_id}/traces'),
  ingestRoute(deps, '/ingest/traces/{project_id}'),
  endpoint({
    method: 'patch',
    path: '/projects/{project_id}/traces/{trace_id}',
    summary: 'Change a trace',
    description:
      'Null and absent fields keep what is stored, tags and metrics are added, `is_complete: true` closes the trace. For a trace that has not come the change is kept for a day and `records_count` is 0.',
    ...logsRecords,
    params: TraceUpdateParams,
    body: LogTraceUpdateRequest,
    response: LogTraceUpdateResponse,
    async handle({ params, project, body }) {
      sameAsInPath('trace_id', params.trace_id, body.trace_id);
      const run = namedRun(project.id, body);
      const id = recordIdOf(run, params.trace_id);
      const { sessionId, records } = await updateRecord(deps.writer, run, 'trace', id, body);
      return { ...answerFor(project, body, sessionId, records), trace_id: id };
    },
  }),
  endpoint({
    method: 'get',
    path: '/projects/{project_id}/traces/{trace_id}',
    summary: 'A trace with the whole tree of its spans',
    description: 'A trace of which only spans have come is answered as `stub_trace`.',
    tag: 'Records',
    access: { project: 'read' },
    params: ProjectParams.extend({ trace_id: Uuid }),
    query: ReadInTraceQuery,
    response: z.union([StoredTrace, StubTraceRecord]),
    handle: async ({ params, project, query }) =>
      new Reply({
        body: query.include_children
          ? await readTrace(deps.reading, project.id, params.trace_id)
          : await readAlone(deps.reading, project.id, 'trace', params.trace_id),
      }),
  }),
  endpoint({
    method: 'get',
    path: '/projects/{project_id}/traces/{trace_id}/outline',
    summary: 'The tree of a trace in columns, without inputs and outputs',
    description:
      'What a tree and a timeline show of the trace and its spans, one array a column: of 10,000 spans some hundred times less than the whole trace. Spans are read by themselves with `GET …/spans/{span_id}`.',
    tag: 'Records',
    access: { project: 'read' },
    params: ProjectParams.extend({ trace_id: Uuid }),
    query: NoQuery,
    response: TraceOutlineResponse,
    handle: ({ params, project }) => traceOutline(deps.reading, project.id, params.trace_id),
  }),
  deleteRoute(
    deps,
    'traces',
    ['trace'],
    'Traces go with all their spans; without a filter sessions and spans of traces that never came go, too.',
  ),
];
