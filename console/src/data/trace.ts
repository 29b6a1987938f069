import { queryOptions } from '@tanstack/react-query';
import type { TraceOutline } from '../../../shared/wire/traceOutline.ts';
import { logStreamsQuery } from './projects.ts';
import { type RecordKind, type RunOf, recordQuery } from './records.ts';
import { runSelector } from './selection.ts';
import { queryClient, search, send } from './service.ts';

/** The tree of a trace with times and figures. Inputs and outputs are those of {@link recordQuery}, of one record at a time. */
export const outlineQuery = (projectId: string, traceId: string) =>
  queryOptions({
    queryKey: ['outline', projectId, traceId],
    queryFn: ({ signal }) => send<TraceOutline>(`/projects/${projectId}/traces/${traceId}/outline`, { signal }),
    // Compared value by value with the one before it, an outline of 10,000 spans would take longer than to show it.
    structuralSharing: false,
  });

export const kindOf = (type: string): RecordKind => (type === 'trace' ? 'traces' : type === 'session' ? 'sessions' : 'spans');

/** Reads records that are likely to be opened next, where they are not there yet. */
export function readAhead(projectId: string, records: Iterable<{ id: string; type: string }>): void {
  for (const { id, type } of records) void queryClient.prefetchQuery(recordQuery(projectId, kindOf(type), id));
}

/** Most ids that one search answers. */
const MOST = 10_000;
const searched = ['name', 'input', 'output', 'error_message'];

/** Ids of the records of a trace that have the text in what they hold. */
export const textInTraceQuery = (projectId: string, { trace_id: traceId, run_id: runId }: TraceOutline, text: string) =>
  queryOptions({
    queryKey: ['text in trace', projectId, traceId, text],
    queryFn: async ({ signal }): Promise<ReadonlySet<string>> => {
      const run = await runOf(projectId, runId);
      const holds = searched.map((column) => ({
        filter: { type: 'text', column_id: column, operator: 'contains', value: text, case_sensitive: false },
      }));
      const idsOf = async (kind: RecordKind, column: string): Promise<string[]> => {
        const inTrace = { filter: { type: 'id', column_id: column, operator: 'eq', value: traceId } };
        const page = await search<{ records: { id: string }[] }>(
          `/projects/${projectId}/${kind}/partial_search`,
          {
            ...runSelector(run),
            filter_tree: { and: [inTrace, { or: holds }] },
            limit: MOST,
            select_columns: { column_ids: ['id'], include_all_metrics: false, include_all_feedback: false },
          },
          signal,
        );
        return page.records.map(({ id }) => id);
      };
      return new Set((await Promise.all([idsOf('traces', 'id'), idsOf('spans', 'trace_id')])).flat());
    },
    staleTime: 60_000,
  });

/** The run of that id, which a search names by its kind. */
async function runOf(projectId: string, runId: string): Promise<RunOf> {
  const streams = await queryClient.ensureQueryData(logStreamsQuery(projectId));
  return { projectId, runId, isExperiment: !streams.some(({ id }) => id === runId) };
}
