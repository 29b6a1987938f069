import { namedRun } from '../../shared/projects/runs.ts';
import {
  LogSpansIngestRequest,
  LogSpansIngestResponse,
  LogSpanUpdateRequest,
  LogSpanUpdateResponse,
  SpanUpdateParams,
} from '../../shared/recordSchemas/ingest.ts';
import { StoredSpan } from '../../shared/recordSchemas/storedRecords.ts';
import { ingestSpans, recordIdOf } from '../../shared/records/ingest.ts';
import { readAlone, readSpan } from '../../shared/records/read.ts';
import { updateRecord } from '../../shared/records/update.ts';
import { Uuid } from '../../shared/wire/common.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { spanKinds } from '../../shared/wire/recordKinds.ts';
import { type Endpoint, endpoint, Reply } from '../http/route.ts';
import { deleteRoute } from '../records/deleteRoute.ts';
import { answerFor, logsRecords, ReadInTraceQuery, type RecordDeps, refusedIn, sameAsInPath } from '../records/loggedRecords.ts';

const ingestRoute = (deps: RecordDeps, path: string): Endpoint =>
  endpoint({
    method: 'post',
    path,
    summary: 'Log spans below a trace or span',
    description:
      'They are stored at once, whether the trace and the parent have come yet or not. Odd values are made to fit; a span of which nothing can be stored is named in `refused`.',
    ...logsRecords,
    params: ProjectParams,
    body: LogSpansIngestRequest,
    response: LogSpansIngestResponse,
    async handle({ project, body, caller }) {
      const run = await deps.ingestRun(project.id, body, caller.userId);
      const traceId = recordIdOf(run, body.trace_id);
      const parentId = body.parent_id === body.trace_id ? traceId : recordIdOf(run, body.parent_id, traceId);
      const { count, sessionId, refused } = await ingestSpans(deps.writer, run, { spans: body.spans, traceId, parentId });
      return { ...answerFor(project, body, sessionId, count), trace_id: traceId, parent_id: parentId, ...refusedIn(refused) };
    },
  });

/** Ingest, update, read and deletion of spans. */
export const spanRoutes = (deps: RecordDeps): Endpoint[] => [
  ingestRoute(deps, '/projects/{project_id}/spans'),
  ingestRoute(deps, '/ingest/spans/{project_id}'),
  endpoint({
    method: 'patch',
    path: '/projects/{project_id}/spans/{span_id}',
    summary: 'Change a span',
    description:
      'Null and absent fields keep what is stored, tags and metrics are added. `output` has the shape of the kind of the span. For a span that has not come the change is kept for a day and `records_count` is 0.',
    ...logsRecords,
    params: SpanUpdateParams,
    body: LogSpanUpdateRequest,
    response: LogSpanUpdateResponse,
    async handle({ params, project, body }) {
      sameAsInPath('span_id', params.span_id, body.span_id);
      const run = namedRun(project.id, body);
      const id = recordIdOf(run, params.span_id);
      const { sessionId, records } = await updateRecord(deps.writer, run, 'span', id, body);
      return { ...answerFor(project, body, sessionId, records), span_id: id };
    },
  }),
  endpoint({
    method: 'get',
    path: '/projects/{project_id}/spans/{span_id}',
    summary: 'A span with the spans below it',
    tag: 'Records',
    access: { project: 'read' },
    params: ProjectParams.extend({ span_id: Uuid }),
    query: ReadInTraceQuery,
    response: StoredSpan,
    handle: async ({ params, project, query }) =>
      new Reply({
        body: query.include_children
          ? await readSpan(deps.reading, project.id, params.span_id)
          : await readAlone(deps.reading, project.id, 'span', params.span_id),
      }),
  }),
  deleteRoute(deps, 'spans', spanKinds, 'A span goes with the spans below it.'),
];
