import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { useDeletions } from '../data/deletions.ts';
import { PAGE, recordsQuery } from '../data/records.ts';
import { useFarRecords } from './useFarRecords.ts';
import type { RecordsView } from './useRecordsView.ts';

/** So many records are kept from the first on; of those behind them, the ones in sight. */
const MOST_FIRST = 2_000;

/** The records of the view as far as they are loaded, without those that are being deleted, and how many there are in all. */
export function useFoundRecords({ question, run, kind }: RecordsView) {
  const asked = question ?? { run: run as NonNullable<typeof run>, kind, filter: undefined, sort: undefined, columns: [] };
  const found = useInfiniteQuery({ ...recordsQuery(asked), enabled: question !== undefined });
  const client = useQueryClient();
  const deletions = useDeletions();
  const { data, error, isPlaceholderData, refetch, fetchNextPage, hasNextPage, isFetching } = found;
  const going = useMemo(() => deletions.filter(({ state }) => state !== 'failed'), [deletions]);
  const first = useMemo(() => {
    const hidden = new Set(going.flatMap((one) => one.hidden));
    const all = data?.pages.flatMap((page) => page.records) ?? [];
    return hidden.size === 0 ? all : all.filter(({ id }) => !hidden.has(id));
  }, [data, going]);
  const gone = going.reduce((sum, one) => (one.records?.runId === run?.runId ? sum + (one.records?.count ?? 0) : sum), 0);
  const counted = data?.pages[0]?.num_rows;
  const total = counted === undefined ? undefined : Math.max(first.length, counted - gone);
  const { rows: records, show, error: farError } = useFarRecords(question, first, total ?? 0);
  // The next page would call off a first one that is loaded anew.
  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetching && first.length < MOST_FIRST) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage, first.length]);
  const onSight = useCallback(
    (from: number, to: number) => {
      show(from, to);
      if (to >= first.length - 20 && from < first.length + PAGE) loadMore();
    },
    [show, loadMore, first.length],
  );
  return {
    ...{ records, total, onSight },
    error: error ?? farError,
    isOld: isPlaceholderData,
    isLoading: data === undefined && !error,
    retry: () => void refetch(),
    /** All that fitted when they were loaded; undefined where that is not known. */
    counted: isPlaceholderData ? undefined : counted,
    /** Loads the first page anew, and what is shown around it. */
    async loadNew() {
      client.setQueryData(recordsQuery(asked).queryKey, (known) => known && firstPageOf(known));
      await client.invalidateQueries({ queryKey: ['records'] });
    },
  };
}

const firstPageOf = <P, T>({ pages, pageParams }: InfiniteData<P, T>): InfiniteData<P, T> => ({
  pages: pages.slice(0, 1),
  pageParams: pageParams.slice(0, 1),
});
