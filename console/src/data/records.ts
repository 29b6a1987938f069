import { infiniteQueryOptions, keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query';
import type { FilterTree } from '../../../shared/filterText/parseFilterText.ts';
import type { LogRecordIds, LogRecordsColumnInfo } from '../../../shared/wire/recordSearch.ts';
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
  /** The exact number of all that fit the filter. */
  num_rows: number;
  next_starting_token: number | null;
  last_row_id: string | null;
}

/** Records of a page. */
export const PAGE = 100;
/** Asked for whatever is shown: what a row is marked by, and opened with. */
const ALWAYS = ['id', 'type', 'trace_id', 'session_id', 'name', 'created_at', 'status_code', 'error_message'];

const asSort = (sort: RecordsQuestion['sort']) => sort && { column_id: sort.column, ascending: sort.ascending };

const searchPage = (
  { run, kind, filter, sort, columns }: RecordsQuestion,
  from: { starting_token: number; previous_last_row_id?: string; limit?: number },
  signal: AbortSignal,
) =>
  search<RecordsPage>(
    `/projects/${run.projectId}/${kind}/partial_search`,
    {
      ...runSelector(run),
      filter_tree: filter,
      sort: asSort(sort),
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

/** Says whether new records come before those that are there, as long as they are also newer by time. */
export const isNewestFirst = ({ sort }: RecordsQuestion): boolean =>
  sort === undefined || (sort.column === 'created_at' && !sort.ascending);

/**
 * The question without the records that are newer. A page is asked for by its number of records before, so those that are logged while somebody reads would
 * move all behind them; left out, they do not. One that is logged with an earlier time, or deleted, still moves them: the service keeps no list of what
 * was there.
 */
const notNewer = (question: RecordsQuestion, asOf: string): RecordsQuestion => {
  const time = { filter: { type: 'date', column_id: 'created_at', operator: 'lte', value: asOf } };
  return { ...question, filter: question.filter ? { and: [question.filter, time] } : time };
};

const timeOfFirst = ({ records: [first] }: RecordsPage): string | null => (first ? String(first.created_at) : null);

/**
 * When the newest record that fits was made; null where none does. For lists in another order, whose first page does not say it: that page asks for it and
 * is shown without it, as only the pages behind need it.
 */
export const newestTimeQuery = ({ run, kind, filter, sort }: RecordsQuestion) =>
  queryOptions({
    queryKey: ['records', 'newest', run, kind, filter ?? null, sort ?? null],
    queryFn: async ({ signal }) => {
      const newest = { run, kind, filter, sort: undefined, columns: [] };
      return timeOfFirst(await searchPage(newest, { starting_token: 0, limit: 1 }, signal));
    },
    staleTime: Number.POSITIVE_INFINITY, // it is that of the first page
  });

interface PinnedPage extends RecordsPage {
  /** When the newest record that fitted was made, where the page says it. */
  asOf: string | undefined;
}

/** The first records and those behind them, one page after the other. All are as of the first page. */
export const recordsQuery = (question: RecordsQuestion) =>
  infiniteQueryOptions({
    queryKey: ['records', ...keyOf(question)],
    initialPageParam: undefined as PinnedPage | undefined,
    queryFn: async ({ pageParam: before, signal, client }): Promise<PinnedPage> => {
      const newest = newestTimeQuery(question);
      if (before === undefined) {
        const page = searchPage(question, { starting_token: 0 }, signal);
        if (!isNewestFirst(question)) void client.prefetchQuery({ ...newest, staleTime: 0 });
        return { ...(await page), asOf: isNewestFirst(question) ? (timeOfFirst(await page) ?? undefined) : undefined };
      }
      const { next_starting_token, last_row_id } = before;
      const asOf = before.asOf ?? (await client.ensureQueryData(newest)) ?? undefined;
      const place = { starting_token: next_starting_token ?? 0, ...(last_row_id ? { previous_last_row_id: last_row_id } : {}) };
      const asked = asOf === undefined ? question : notNewer(question, asOf);
      return { ...(await searchPage(asked, place, signal)), asOf };
    },
    getNextPageParam: (last) => (last.next_starting_token === null ? undefined : last),
    // Rows of another run or kind would be opened as what they are not.
    placeholderData: (before, query) => {
      const [, run, kind] = query?.queryKey ?? [];
      return (run as RunOf | undefined)?.runId === question.run.runId && kind === question.kind ? before : undefined;
    },
    // A list that somebody reads must not move when a lost connection is back.
    refetchOnReconnect: false,
  });

/** A list of records, whatever is shown of them. */
export type RecordList = Omit<RecordsQuestion, 'columns'>;

const searchIds = ({ run, kind, filter, sort }: RecordList, from: number, signal: AbortSignal) => {
  const body = { ...runSelector(run), filter_tree: filter, sort: asSort(sort), starting_token: from };
  return search<LogRecordIds>(`/projects/${run.projectId}/${kind}/ids`, body, signal);
};

/** Asks for the first records, unless they were asked for. What shows them finds the answer, or waits for it. */
export function askAhead(client: QueryClient, question: RecordsQuestion): void {
  const query = recordsQuery(question);
  if (!client.getQueryState(query.queryKey)) void client.prefetchInfiniteQuery(query);
}

/** The ids of all records that fit, in the order of the list. */
export async function allIds(list: RecordList, signal: AbortSignal): Promise<string[]> {
  const ids: string[] = [];
  for (let from: number | null = 0; from !== null; ) {
    const page: LogRecordIds = await searchIds(list, from, signal);
    ids.push(...page.ids);
    from = page.next_starting_token;
  }
  return ids;
}

/** Some records of a list that follow each other. */
export interface ListWindow {
  /** Number of records before them. */
  offset: number;
  records: readonly LogRecord[];
  /** The number of all. */
  total: number;
}

const asOfTime = (list: RecordList, asOf: string | undefined): RecordsQuestion =>
  asOf === undefined ? { ...list, columns: [] } : notNewer({ ...list, columns: [] }, asOf);

const searchWindow = async (list: RecordList, place: number, signal: AbortSignal): Promise<ListWindow> => {
  const offset = Math.max(0, place - (place % PAGE) - 1);
  const page = await searchPage({ ...list, columns: [] }, { starting_token: offset, limit: PAGE + 2 }, signal);
  return { offset, records: page.records, total: page.num_rows };
};

/** The page of a list that holds a place, with the record before it and the one behind it. */
export const windowQuery = (list: RecordList, asOf: string | undefined, place: number) =>
  queryOptions({
    queryKey: ['list window', ...keyOf({ ...list, columns: [] }), asOf ?? null, Math.floor(place / PAGE)],
    queryFn: ({ signal }) => searchWindow(asOfTime(list, asOf), place, signal),
    staleTime: 60_000,
  });

/** The same around a record whose place is not known, as far as it is among the first 10,000; none of its records elsewhere. */
export const recordPlaceQuery = (list: RecordList, asOf: string | undefined, id: string) =>
  queryOptions({
    queryKey: ['list place', ...keyOf({ ...list, columns: [] }), asOf ?? null, id],
    queryFn: async ({ signal }): Promise<ListWindow> => {
      const known = asOfTime(list, asOf);
      const { ids, num_rows } = await searchIds(known, 0, signal);
      const place = ids.indexOf(id);
      return place < 0 ? { offset: 0, records: [], total: num_rows } : searchWindow(known, place, signal);
    },
    staleTime: 60_000,
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

export interface FarPage {
  /** Number of records before it. */
  offset: number;
  records: readonly LogRecord[];
}

/** A page far behind the first, by the number of records before it, as of the first page. Forgotten soon, as people scroll through many. */
export const farPageQuery = (question: RecordsQuestion, offset: number, asOf: string) =>
  queryOptions({
    queryKey: ['records', 'far', ...keyOf(question), asOf, offset],
    queryFn: async ({ signal }): Promise<FarPage> => {
      const { records } = await searchPage(notNewer(question, asOf), { starting_token: offset }, signal);
      return { offset, records };
    },
    gcTime: 10_000,
  });

/** One record with all its fields, without those below it. Large ones are not kept for long. */
export const recordQuery = (projectId: string, kind: RecordKind, id: string) =>
  queryOptions({
    queryKey: ['record', projectId, kind, id],
    queryFn: ({ signal }) =>
      send<RecordNode>(`/projects/${projectId}/${kind}/${id}`, { signal, query: { include_children: false } }),
    gcTime: 60_000,
  });
