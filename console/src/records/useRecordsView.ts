import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { FilterTextError } from '../../../shared/filterText/filterSyntax.ts';
import { type FilterColumn, type FilterTree, parseFilterText, timeOf } from '../../../shared/filterText/parseFilterText.ts';
import type { RecordsAddress } from '../address/recordsAddress.ts';
import { experimentsQuery, logStreamsQuery } from '../data/projects.ts';
import { type Column, columnsQuery, type RecordKind, type RecordsQuestion, type RunOf } from '../data/records.ts';
import { shownColumns, usualColumns, withFigures } from './recordColumns.ts';

export type ChangeAddress = (change: Partial<RecordsAddress>, how?: { replace: boolean }) => void;

const from = '/signed in/p/$projectId/records';

/** The address of the records page, and how to change it. Choosing is a step of the history, typing replaces it. */
export function useRecordsAddress(): [RecordsAddress, ChangeAddress] {
  const address = useSearch({ from });
  const navigate = useNavigate({ from: '/p/$projectId/records' });
  const change = useCallback<ChangeAddress>(
    (changed, { replace } = { replace: false }) =>
      void navigate({ search: (before) => withoutEmpty({ ...before, ...changed }), replace, resetScroll: false }),
    [navigate],
  );
  return [address, change];
}

const withoutEmpty = (address: RecordsAddress): RecordsAddress =>
  Object.fromEntries(Object.entries(address).filter(([, value]) => value !== undefined && value.length > 0));

/** What the address of the page means, with the catalog of its run. */
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
  const kind: RecordKind = address.kind ?? 'traces';
  const columns = useQuery({ ...columnsQuery(run ?? { projectId, runId: '', isExperiment }, kind), enabled: run !== undefined });
  const catalog = useMemo(() => columns.data && withFigures(columns.data), [columns.data]);
  const ids = address.cols ?? usualColumns(kind);
  const shown = useMemo(() => catalog && shownColumns(ids, catalog), [catalog, ids]);

  const { filter, problem } = useMemo(() => filterOf(address, catalog), [address, catalog]);
  const question: RecordsQuestion | undefined =
    run && catalog && !problem ? { run, kind, filter, sort: sortOf(address.sort), columns: ids } : undefined;
  return {
    ...{ projectId, run, kind, catalog, shown, filter, problem, question },
    streams: streams.data,
    experiments: experiments.data ?? [],
    error: streams.error ?? columns.error,
  };
}

export type RecordsView = ReturnType<typeof useRecordsView>;

/** The filter of the bar and that of the times, joined. */
export function filterOf(
  { q = '', from, to }: RecordsAddress,
  columns: readonly Column[] | undefined,
): { filter: FilterTree | undefined; problem: FilterTextError | undefined } {
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
