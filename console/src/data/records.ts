import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { FilterTree } from '../../../shared/filterText/parseFilterText.ts';
import type { LogRecordsColumnInfo } from '../../../shared/wire/recordSearch.ts';
import { runSelector } from './selection.ts';
import { search, send } from './service.ts';

export type RecordKind = 'traces' | 'spans' | 'sessions';
export type Column = LogRecordsColumnInfo;

/** A record as it is answered: a trace, span or session with the columns that were asked for. Whole numbers beyond 2^53 are bigints. */
export type LogRecord = Record<string, unknown> & { id: string; type: string };

/** A record with those below it. */
export type RecordNode = LogRecord & { spans?: RecordNode[]; traces?: RecordNode[] };

/** The run that records are in: a log stream or an experiment. */
export interface RunOf {
  projectId: string;
  runId: string;
  isExperiment: boolean;
}

export const columnsQuery = (run: RunOf, kind: RecordKind) =>
  queryOptions({
    queryKey: ['columns', run, kind],
    queryFn: async ({ signal }) =>
      (await search<{ columns: Column[] }>(`/projects/${run.projectId}/${kind}/available_columns`, runSelector(run), signal))
        .columns,
    staleTime: 60_000,
  });

export interface RecordsQuestion {
  run: RunOf;
  kind: RecordKind;
  filter: FilterTree | undefined;
  sort: { column: string; ascending: boolean } | undefined;
  /** Ids of the columns that are shown. */
  columns: readonly string[];
}

export interface RecordsPage {
  records: LogRecord[];
  /** Of all that the filter fits, exactly. */
  num_rows: number;
  next_starting_token: number | null;
  last_row_id: string | null;
}

/** Records of a page. */
export const PAGE = 100;
/** Asked for whatever is shown: what a row is marked by, and opened with. */
const ALWAYS = ['id', 'type', 'trace_id', 'session_id', 'name', 'created_at', 'status_code', 'error_message'];

const searchPage = (
  { run, kind, filter, sort, columns }: RecordsQuestion,
  from: { starting_token: number; previous_last_row_id?: string },
  signal: AbortSignal,
) =>
  search<RecordsPage>(
    `/projects/${run.projectId}/${kind}/partial_search`,
    {
      ...runSelector(run),
      ...(filter ? { filter_tree: filter } : {}),
      ...(sort ? { sort: { column_id: sort.column, ascending: sort.ascending } } : {}),
      limit: PAGE,
      ...from,
      truncate_fields: true,
      select_columns: {
        column_ids: [...new Set([...ALWAYS, ...columns])],
        include_all_metrics: false,
        include_all_feedback: false,
      },
    },
    signal,
  );

const keyOf = ({ run, kind, filter, sort, columns }: RecordsQuestion) => [
  ...[run, kind, filter ?? null, sort ?? null],
  [...columns].sort(),
];

/** The first records and those behind them, one page after the other. */
export const recordsQuery = (question: RecordsQuestion) =>
  infiniteQueryOptions({
    queryKey: ['records', ...keyOf(question)],
    initialPageParam: undefined as RecordsPage | undefined,
    queryFn: ({ pageParam, signal }) =>
      searchPage(
        question,
        {
          starting_token: pageParam?.next_starting_token ?? 0,
          ...(pageParam?.last_row_id ? { previous_last_row_id: pageParam.last_row_id } : {}),
        },
        signal,
      ),
    getNextPageParam: (last) => (last.next_starting_token === null ? undefined : last),
    placeholderData: keepPreviousData,
    // What somebody reads stays where it is when a lost connection is back.
    refetchOnReconnect: false,
  });

/** How many records fit, when a run holds `held` of the kind. */
export const countQuery = ({ run, kind, filter }: RecordsQuestion, held: number | undefined) =>
  queryOptions({
    queryKey: ['count', run, kind, filter ?? null, held ?? null],
    queryFn: async ({ signal }) => {
      const body = { ...runSelector(run), ...(filter ? { filter_tree: filter } : {}) };
      return (await search<{ total_count: number }>(`/projects/${run.projectId}/${kind}/count`, body, signal)).total_count;
    },
    enabled: held !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
    placeholderData: keepPreviousData,
  });

/** A page far behind the first, by the number of records before it. Forgotten soon, as people scroll through many. */
export const farPageQuery = (question: RecordsQuestion, before: number) =>
  queryOptions({
    queryKey: ['records', 'far', ...keyOf(question), before],
    queryFn: ({ signal }) => searchPage(question, { starting_token: before }, signal),
    gcTime: 10_000,
  });

/** One record with all its fields; traces and spans without those below them. Large ones are not kept for long. */
export const recordQuery = (projectId: string, kind: RecordKind, id: string) =>
  queryOptions({
    queryKey: ['record', projectId, kind, id],
    queryFn: ({ signal }) =>
      send<RecordNode>(`/projects/${projectId}/${kind}/${id}`, {
        ...{ signal, query: kind === 'sessions' ? {} : { include_children: false } },
      }),
    gcTime: 60_000,
  });

/** A session with its traces. */
export const sessionQuery = (projectId: string, sessionId: string) =>
  queryOptions({
    queryKey: ['session', projectId, sessionId],
    queryFn: ({ signal }) => send<RecordNode>(`/projects/${projectId}/sessions/${sessionId}`, { signal }),
  });
