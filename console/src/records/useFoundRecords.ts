import { type InfiniteData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { useDeletions } from '../data/deletions.ts';
import { askAhead, isNewestFirst, newestTimeQuery, PAGE, recordsQuery } from '../data/records.ts';
import { useFarRecords } from './useFarRecords.ts';
import type { RunView } from './useRecordsView.ts';

/** So many records are kept from the first on; of those behind them, the ones in sight. */
const MOST_FIRST = 2_000;

/** The records of the view as far as they are loaded, without those that are being deleted, and how many there are in all. */
export function useFoundRecords({ question, run, kind }: Pick<RunView, 'question' | 'run' | 'kind'>) {
  const asked = question ?? { run: run as NonNullable<typeof run>, kind, filter: undefined, sort: undefined, columns: [] };
  const client = useQueryClient();
  const query = recordsQuery(asked);
  // An observer asks once the page is painted: on a slow machine the answer would come that much later.
  if (question) askAhead(client, question);
  const found = useInfiniteQuery({ ...query, enabled: question !== undefined });
  const newest = useQuery({ ...newestTimeQuery(asked), enabled: question !== undefined && !isNewestFirst(asked) });
  const deletions = useDeletions();
  const { data, error, isPlaceholderData, refetch, fetchNextPage, hasNextPage, isFetching } = found;
  const going = useMemo(() => deletions.filter(({ state }) => state !== 'failed'), [deletions]);
  const loaded = useMemo(() => data?.pages.flatMap((page) => page.records) ?? [], [data]);
  const first = useMemo(() => {
    const hidden = new Set(going.flatMap((one) => one.hidden));
    return hidden.size === 0 ? loaded : loaded.filter(({ id }) => !hidden.has(id));
  }, [loaded, going]);
  const gone = going.reduce((sum, one) => (one.records?.runId === run?.runId ? sum + (one.records?.count ?? 0) : sum), 0);
  const { num_rows: counted, asOf = newest.data ?? undefined } = data?.pages[0] ?? {};
  const total = counted === undefined ? undefined : Math.max(first.length, counted - gone);
  const {
    rows,
    show,
    error: farError,
  } = useFarRecords(isPlaceholderData ? undefined : question, {
    ...{ records: first, hidden: loaded.length - first.length, asOf, total: total ?? 0 },
  });
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
    ...{ rows, total, onSight, asOf },
    error: error ?? farError,
    isOld: isPlaceholderData,
    isLoading: data === undefined && !error,
    retry: () => void refetch(),
    /** All that fitted when they were loaded; undefined where that is not known. */
    counted: isPlaceholderData ? undefined : counted,
    /** Loads the first page anew, what is shown around it, and the columns: new records may be the first with a metric or a key of metadata. */
    async loadNew() {
      client.setQueryData(query.queryKey, (known) => known && firstPageOf(known));
      await Promise.all(['records', 'columns'].map((kind) => client.invalidateQueries({ queryKey: [kind] })));
    },
  };
}

const firstPageOf = <P, T>({ pages, pageParams }: InfiniteData<P, T>): InfiniteData<P, T> => ({
  pages: pages.slice(0, 1),
  pageParams: pageParams.slice(0, 1),
});
