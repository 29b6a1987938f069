import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { isRatedBy, type Queue, queueRecordsQuery } from '../data/annotations.ts';
import { currentUserQuery } from '../data/projects.ts';

/** Records before the last loaded one at which the next page is asked for. */
const AHEAD = 20;

/** The records of a queue that a person goes through, and where in them the person is. The address holds the record. */
export function useQueueRecords(queue: Queue) {
  const { record, show } = useSearch({ from: '/signed in/queues/$queueId' });
  const navigate = useNavigate({ from: '/queues/$queueId' });
  const { data: user } = useQuery(currentUserQuery);
  const isAll = show === 'all';
  const { data, error, hasNextPage, isFetching, fetchNextPage, refetch } = useInfiniteQuery({
    ...queueRecordsQuery(queue.id, isAll ? undefined : user?.id),
    enabled: isAll || user !== undefined,
  });
  // A record may wait for an answer in another queue alone.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list stays as it was when it was read
  const ids = useMemo(
    () =>
      data?.pages.flatMap((page) =>
        page.records.filter((one) => isAll || !user || !isRatedBy(one, queue, user.id)).map(({ id }) => id),
      ),
    [data],
  );
  const found = ids && record !== undefined ? ids.indexOf(record) : 0;
  const at = Math.max(0, found);
  const isLinked = record !== undefined && record !== END && found < 0;
  const current = isLinked ? record : record === END ? undefined : ids?.[at];
  useEffect(() => {
    if (hasNextPage && !isFetching && ids && at > ids.length - AHEAD) void fetchNextPage();
  }, [hasNextPage, isFetching, ids, at, fetchNextPage]);
  const open = (id: string) => void navigate({ search: (now) => ({ ...now, record: id }), replace: true });
  return {
    current,
    /** The number of the record among those that are gone through, from 1. */
    place: record === END ? undefined : isLinked ? undefined : at + 1,
    total: ids === undefined || hasNextPage ? undefined : ids.length,
    isLoading: ids === undefined,
    isAll,
    error,
    showAll: (all: boolean) => void navigate({ search: (now) => ({ ...now, show: all ? 'all' : undefined, record: undefined }) }),
    next: () => open(isLinked ? (ids?.[0] ?? END) : (ids?.[at + 1] ?? END)),
    previous: () => {
      const before = record === END ? ids?.at(-1) : ids?.[at - 1];
      if (before !== undefined) open(before);
    },
    again: async () => {
      await refetch();
      void navigate({ search: (now) => ({ ...now, record: undefined }), replace: true });
    },
  };
}

/** In the address: behind the last record. */
const END = 'end';
