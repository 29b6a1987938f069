import { z } from 'zod';
import { type RecordKind, recordKinds } from '../../shared/columns/columnDef.ts';
import { RequestInvalid } from '../../shared/errors.ts';
import type { IngestLookup } from '../../shared/projects/openRun.ts';
import type { RunIds } from '../../shared/projects/runs.ts';
import { type DeleteDeps, deleteRecords } from '../../shared/records/delete.ts';
import { ingestTraces } from '../../shared/records/ingest.ts';
import { type ReadDeps, readTrace } from '../../shared/records/read.ts';
import type { RecordWriter } from '../../shared/records/recordWriter.ts';
import { refuseMisspeltFilter } from '../../shared/records/refuseMisspeltFilter.ts';
import { updateRecord } from '../../shared/records/update.ts';
import { Message, QueryFlag, Uuid } from '../../shared/wire/common.ts';
import {
  LogTracesIngestRequest,
  LogTracesIngestResponse,
  LogTraceUpdateRequest,
  LogTraceUpdateResponse,
  type RefusedList,
} from '../../shared/wire/ingest.ts';
import { LogRecordsDeleteRequest } from '../../shared/wire/recordSearch.ts';
import { StoredTrace, StubTraceRecord } from '../../shared/wire/storedRecords.ts';
import { type Endpoint, endpoint, type ProjectInPath, Reply } from '../route.ts';
import { type RecordSearchDeps, recordQuery } from './recordSearch.ts';

export interface RecordDeps extends RecordSearchDeps {
  /** The run of what is logged anew; updates, reads and deletions go by `findRun`. */
  ingestRun: IngestLookup;
  writer: RecordWriter;
  reading: ReadDeps;
  deletion: DeleteDeps;
}

export const ProjectParams = z.object({ project_id: Uuid });
/** Files are not stored with the records, so there are no addresses of theirs to sign: the flag is taken and changes nothing. */
export const ReadQuery = z.object({ include_presigned_urls: QueryFlag(false) });
/** A flush of a client's experiment logger is 128 rows or some 10 MB; one trace of 10,000 spans is 30 MB. */
export const INGEST_BODY_LIMIT = 64 * 1024 * 1024;
const tag = 'Records';

/** The keys that every answer to logged records begins with. */
export const answerFor = (project: ProjectInPath, body: RunIds, sessionId: string | null, records: number) => ({
  log_stream_id: body.log_stream_id ?? null,
  experiment_id: body.experiment_id ?? null,
  metrics_testing_id: body.metrics_testing_id ?? null,
  project_id: project.id,
  project_name: project.name,
  session_id: sessionId,
  records_count: records,
});

/** The keys of an answer that say what of the request could not be stored. */
export const refusedIn = ({ some, count }: RefusedList) => (count === 0 ? {} : { refused: some, refused_count: count });

const ingestRoute = (deps: RecordDeps, path: string): Endpoint =>
  endpoint({
    method: 'post',
    path,
    summary: 'Log traces with their spans',
    description:
      'Spans nest in `spans` of a trace or span. A trace or span that is logged again under its id is the same record, with what the repeat adds. Odd values are made to fit; a record of which nothing can be stored is named in `refused`. The answer comes when everything else can be read.',
    tag,
    access: { project: 'log_data' },
    params: ProjectParams,
    body: LogTracesIngestRequest,
    bodyKind: 'records',
    bodyLimit: INGEST_BODY_LIMIT,
    isIngest: true,
    response: LogTracesIngestResponse,
    async handle({ project, body, caller }) {
      const run = await deps.ingestRun(project.id, body, caller.userId);
      const { traceIds, spansCount, sessionId, refused } = await ingestTraces(deps.writer, run, {
        traces: body.traces,
        isComplete: body.is_complete,
        sessionId: body.session_id,
        sessionExternalId: body.session_external_id,
      });
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
    tag,
    access: { project: 'log_data' },
    params: ProjectParams.extend({ trace_id: Uuid }),
    body: LogTraceUpdateRequest,
    bodyKind: 'records',
    bodyLimit: INGEST_BODY_LIMIT,
    isIngest: true,
    response: LogTraceUpdateResponse,
    async handle({ params, project, body }) {
      sameAsInPath('trace_id', params.trace_id, body.trace_id);
      const run = await deps.findRun(project.id, body);
      const { sessionId, records } = await updateRecord(deps.writer, run, 'trace', params.trace_id, body);
      return { ...answerFor(project, body, sessionId, records), trace_id: params.trace_id };
    },
  }),
  endpoint({
    method: 'get',
    path: '/projects/{project_id}/traces/{trace_id}',
    summary: 'A trace with the whole tree of its spans',
    description: 'A trace of which only spans have come is answered as `stub_trace`.',
    tag,
    access: { project: 'read' },
    params: ProjectParams.extend({ trace_id: Uuid }),
    query: ReadQuery,
    response: z.union([StoredTrace, StubTraceRecord]),
    handle: async ({ params, project }) => new Reply({ body: await readTrace(deps.reading, project.id, params.trace_id) }),
  }),
  deleteRoute(
    deps,
    'traces',
    ['trace'],
    'Traces go with all their spans; without a filter sessions and spans of traces that never came go, too.',
  ),
];

/** The body of an update repeats the id of its path. @throws RequestInvalid when it names another record. */
export function sameAsInPath(key: 'trace_id' | 'span_id', inPath: string, inBody: string): void {
  if (inPath === inBody) return;
  throw new RequestInvalid([{ loc: ['body', key], msg: `must be the id of the path, ${inPath}`, type: 'id_mismatch' }]);
}

/** Deletion of what a filter finds among the traces, spans or sessions of a run. */
export function deleteRoute(deps: RecordDeps, what: string, kinds: readonly RecordKind[], also: string): Endpoint {
  return endpoint({
    method: 'post',
    path: `/projects/{project_id}/${what}/delete`,
    summary: `Delete ${what} of a run`,
    description: `Deletes the ${what} that match; without a filter, all of the run. ${also}`,
    tag,
    access: { project: 'delete_data' },
    params: ProjectParams,
    body: LogRecordsDeleteRequest,
    response: Message,
    async handle({ project, body }) {
      refuseMisspeltFilter(body);
      // Of a whole run also the sessions, and the spans whose trace never came.
      const isWholeRun = kinds.includes('trace') && !body.filters?.length && !body.filter_tree;
      const query = await recordQuery(deps, project.id, isWholeRun ? recordKinds : kinds, body);
      return { message: `${await deleteRecords(deps.deletion, query)} records deleted` };
    },
  });
}
