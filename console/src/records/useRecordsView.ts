import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useRouter, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo } from 'react';
import { FilterTextError } from '../../../shared/filterText/filterSyntax.ts';
import { type FilterColumn, type FilterTree, parseFilterText, timeOf } from '../../../shared/filterText/parseFilterText.ts';
import { withoutEmpty } from '../address/parameters.ts';
import { type RecordsAddress, recordsAddress } from '../address/recordsAddress.ts';
import { experimentsQuery, logStreamsQuery } from '../data/projects.ts';
import { askAhead, type Column, columnsQuery, type RecordKind, type RecordsQuestion, type RunOf } from '../data/records.ts';
import { useSteady } from '../parts/useSteady.ts';
import { shownColumns, usualColumns, withFigures } from './recordColumns.ts';

export type ChangeAddress = (change: Partial<RecordsAddress>, how?: { replace: boolean }) => void;

const from = '/signed in/p/$projectId/records';

/**
 * The address of a page with a table of records, and how to change it. Choosing is a step of the history, typing replaces it. Pages with such a table
 * name what it shows alike.
 */
export function useRecordsAddress(): [RecordsAddress, ChangeAddress] {
  const address: RecordsAddress = useSearch({ strict: false });
  return [address, useChangeAddress()];
}

/** One value of the address: what shows it is not built anew when another one changes, as when the next record is opened. */
export function useInAddress<K extends keyof RecordsAddress>(key: K): RecordsAddress[K] {
  const value: unknown = useSearch({ strict: false, select: (address): unknown => (address as RecordsAddress)[key] });
  return value as RecordsAddress[K];
}

/** Changes the address as {@link useRecordsAddress} does; it is the same function each time. */
export function useChangeAddress(): ChangeAddress {
  const navigate = useNavigate();
  return useCallback<ChangeAddress>(
    (changed, { replace } = { replace: false }) =>
      void navigate({
        to: '.',
        search: (before: object) => withoutEmpty({ ...before, ...changed }),
        ...{ replace, resetScroll: false },
      }),
    [navigate],
  );
}

const none: readonly never[] = [];

/** Reads the address of the page with the catalog of its run. */
export function useRecordsView() {
  const { projectId } = useParams({ from });
  const [address] = useRecordsAddress();
  const streams = useQuery(logStreamsQuery(projectId));
  const experiments = useQuery(experimentsQuery(projectId));
  const newest = streams.data?.[0]?.id;
  const runId = address.experiment ?? address.run ?? newest;
  const isExperiment = address.experiment !== undefined;
  const run = useMemo<RunOf | undefined>(
    () => (runId === undefined ? undefined : { projectId, runId, isExperiment }),
    [projectId, runId, isExperiment],
  );
  const view = useRunView(projectId, run, address.kind ?? 'traces', usualColumns);
  return {
    ...view,
    streams: streams.data,
    experiments: experiments.data ?? none,
    error: (streams.data === undefined ? streams.error : null) ?? view.error,
    retry(): void {
      if (streams.data === undefined) void streams.refetch();
      else view.retry();
    },
  };
}

export type RecordsView = ReturnType<typeof useRecordsView>;

type UsualColumns = (kind: RecordKind, catalog: readonly Column[]) => readonly string[];

/** As {@link useAddressedRun}, of the address of the page. */
export function useRunView(projectId: string, run: RunOf | undefined, kind: RecordKind, usual: UsualColumns) {
  const [address] = useRecordsAddress();
  const view = useAddressedRun(address, projectId, run, kind, usual);
  useAskedAhead(view, usual);
  return view;
}

/** Asks what a changed address asks at once: the page shows that address only after it has built anew all that it changes. */
function useAskedAhead({ run, kind, catalog }: AddressedRun, usual: UsualColumns): void {
  const client = useQueryClient();
  const router = useRouter();
  const askOf = useSteady((search: object) => {
    const { kind: wanted = 'traces', cols, sort, ...times } = recordsAddress(search as Record<string, unknown>);
    if (wanted !== kind) return;
    const question = questionOf({ run, kind, catalog }, filterOf(times, catalog), sort, cols ?? usual(kind, catalog ?? []));
    if (question) askAhead(client, question);
  });
  useEffect(
    () => router.subscribe('onBeforeNavigate', ({ toLocation, pathChanged }) => pathChanged || askOf(toLocation.search)),
    [router, askOf],
  );
}

/**
 * Returns what an address says of the records of a run, with the catalog of that run.
 * @param usual gives the ids of the columns where the address names none; the same function each time
 */
export function useAddressedRun(
  address: Pick<RecordsAddress, 'cols' | 'q' | 'from' | 'to' | 'sort'>,
  projectId: string,
  run: RunOf | undefined,
  kind: RecordKind,
  usual: UsualColumns,
) {
  const columns = useQuery({
    ...columnsQuery(run ?? { projectId, runId: '', isExperiment: false }, kind),
    enabled: run !== undefined,
  });
  const catalog = useMemo(() => columns.data && withFigures(columns.data), [columns.data]);
  const ids = useMemo(() => address.cols ?? usual(kind, catalog ?? []), [address.cols, usual, kind, catalog]);
  const shown = useMemo(() => catalog && shownColumns(ids, catalog), [catalog, ids]);

  const { q, from, to, sort } = address;
  const { filter, problem } = useMemo(() => filterOf({ q, from, to }, catalog), [q, from, to, catalog]);
  const question = useMemo(
    () => questionOf({ run, kind, catalog }, { filter, problem }, sort, ids),
    [run, catalog, problem, kind, filter, sort, ids],
  );
  return {
    ...{ projectId, run, kind, catalog, shown, filter, problem, question },
    /** Why the page has nothing to ask for: a failed question whose answer is there from before does no harm. */
    error: columns.data === undefined ? (columns.error ?? undefined) : undefined,
    retry(): void {
      void columns.refetch();
    },
  };
}

type AddressedRun = ReturnType<typeof useAddressedRun>;
export type RunView = ReturnType<typeof useRunView>;

/** Reads the question that an address asks of a run; undefined until its columns are known, and where the filter cannot be read. */
const questionOf = (
  { run, kind, catalog }: { run: RunOf | undefined; kind: RecordKind; catalog: readonly Column[] | undefined },
  { filter, problem }: ReadFilter,
  sort: string | undefined,
  columns: readonly string[],
): RecordsQuestion | undefined => (run && catalog && !problem ? { run, kind, filter, sort: sortOf(sort), columns } : undefined);

interface ReadFilter {
  filter: FilterTree | undefined;
  problem: FilterTextError | undefined;
}

/** The filter of the bar and that of the times, joined. */
export function filterOf({ q = '', from, to }: RecordsAddress, columns: readonly Column[] | undefined): ReadFilter {
  if (!columns) return { filter: undefined, problem: undefined };
  try {
    const parts = [
      parseFilterText(q, { columns: columns.map(asFilterColumn) }),
      timeLeaf('gte', from),
      timeLeaf('lt', to),
    ].filter((part) => part !== undefined);
    const filter: FilterTree | undefined = parts.length > 1 ? { and: parts } : parts[0];
    return { filter, problem: undefined };
  } catch (err) {
    if (err instanceof FilterTextError) return { filter: undefined, problem: err };
    throw err;
  }
}

export const asFilterColumn = ({ allowed_values, ...column }: Column): FilterColumn => ({
  ...column,
  ...(allowed_values ? { allowed_values: allowed_values.map(String) } : {}),
});

/** The moment in UTC that a time of the address means. To the minute, so that the same question is asked for as long. */
export function momentOf(text: string | undefined): string | undefined {
  const now = new Date(Math.floor(Date.now() / 60_000) * 60_000);
  return text === undefined ? undefined : timeOf(text, now);
}

/** A time that somebody mistyped in the address filters nothing. */
function timeLeaf(operator: 'gte' | 'lt', text: string | undefined): FilterTree | undefined {
  const value = momentOf(text);
  return value === undefined ? undefined : { filter: { type: 'date', column_id: 'created_at', operator, value } };
}

export const sortOf = (sort: string | undefined): RecordsQuestion['sort'] =>
  sort === undefined ? undefined : { column: sort.replace(/^-/, ''), ascending: !sort.startsWith('-') };
