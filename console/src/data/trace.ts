import { queryOptions } from '@tanstack/react-query';
import type { TraceOutline } from '../../../shared/wire/traceOutline.ts';
import { logStreamsQuery } from './projects.ts';
import { allIds, type RecordKind, type RecordNode, type RunOf, recordQuery } from './records.ts';
import { queryClient, send, sendSmall } from './service.ts';

/** The tree of a trace with times and figures. Inputs and outputs are those of {@link recordQuery}, of one record at a time. */
export const outlineQuery = (projectId: string, traceId: string) =>
  queryOptions({
    queryKey: ['outline', projectId, traceId],
    queryFn: ({ signal }) => send<TraceOutline>(`/projects/${projectId}/traces/${traceId}/outline`, { signal }),
    // Compared value by value with the one before it, an outline of 10,000 spans would take longer than to show it.
    structuralSharing: false,
  });

export const kindOf = (type: string): RecordKind => (type === 'trace' ? 'traces' : type === 'session' ? 'sessions' : 'spans');

/** A larger record takes longer to read than somebody waits for it: it is read when it is opened. */
const MOST_BYTES_AHEAD = 512 * 1024;

/** Reads records that are likely to be opened next, each alone, where they are not there yet and not large. */
export function readAhead(projectId: string, records: Iterable<{ id: string; type: string }>): void {
  for (const { id, type } of records) {
    const { queryKey } = recordQuery(projectId, kindOf(type), id);
    void queryClient.prefetchQuery({
      queryKey: ['read ahead', projectId, id],
      async queryFn({ signal }): Promise<{ isSmall: boolean }> {
        if (queryClient.getQueryData(queryKey) !== undefined) return { isSmall: true };
        const path = `/projects/${projectId}/${kindOf(type)}/${id}`;
        const record = await sendSmall<RecordNode>(path, MOST_BYTES_AHEAD, { signal, query: { include_children: false } });
        if (record) queryClient.setQueryData(queryKey, record);
        return { isSmall: record !== undefined };
      },
      ...{ staleTime: 60_000, gcTime: 60_000, retry: false },
    });
  }
}

const searched = ['name', 'input', 'output', 'error_message'];

/** Ids of the records of a trace that have the text in what they hold. */
export const textInTraceQuery = (projectId: string, { trace_id: traceId, run_id: runId }: TraceOutline, text: string) =>
  queryOptions({
    queryKey: ['text in trace', projectId, traceId, text],
    queryFn: async ({ signal }): Promise<ReadonlySet<string>> => {
      const run = await runOf(projectId, runId);
      const holds = searched.map((column) => ({
        filter: { type: 'text', column_id: column, operator: 'contains', value: text, case_sensitive: false } as const,
      }));
      const idsOf = (kind: RecordKind, column: string): Promise<string[]> => {
        const inTrace = { filter: { type: 'id', column_id: column, operator: 'eq', value: traceId } };
        return allIds({ run, kind, filter: { and: [inTrace, { or: holds }] }, sort: undefined }, signal);
      };
      return new Set((await Promise.all([idsOf('traces', 'id'), idsOf('spans', 'trace_id')])).flat());
    },
    staleTime: 60_000,
  });

/** The run of that id, which a search names by its kind. */
export async function runOf(projectId: string, runId: string): Promise<RunOf> {
  const streams = await queryClient.ensureQueryData(logStreamsQuery(projectId));
  return { projectId, runId, isExperiment: !streams.some(({ id }) => id === runId) };
}
