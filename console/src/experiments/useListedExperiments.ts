import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { useDeletions } from '../data/deletions.ts';
import {
  type Experiment,
  type ExperimentsQuestion,
  experimentCountQuery,
  experimentPagesQuery,
  goingOnQuery,
  isChanging,
} from '../data/experiments.ts';

const nothing: ExperimentsQuestion = { projectId: '', filter: undefined, sort: undefined };
/** Experiments that are watched. */
const MOST_GOING_ON = 50;

/** The experiments that answer a question. Those that change are followed where they stand; what is new is counted, and shown when it is asked for. */
export function useListedExperiments(question: ExperimentsQuestion | undefined) {
  const enabled = question !== undefined;
  const pages = useInfiniteQuery({ ...experimentPagesQuery(question ?? nothing), enabled });
  const count = useQuery({ ...experimentCountQuery(question ?? nothing), enabled: enabled && pages.data !== undefined });
  const listed = useMemo(() => withoutDoubles(pages.data?.pages.flatMap(({ experiments }) => experiments) ?? []), [pages.data]);
  const goingOn = useMemo(
    () =>
      listed
        .filter(isChanging)
        .slice(0, MOST_GOING_ON)
        .map(({ id }) => id),
    [listed],
  );
  const { data: now, isPlaceholderData: isOfOthers } = useQuery(goingOnQuery(question?.projectId ?? '', goingOn));
  const gone = useGone();
  const experiments = useMemo(() => {
    const newest = new Map(now?.map((one) => [one.id, one]));
    const isDeleted = (id: string) => now !== undefined && !isOfOthers && goingOn.includes(id) && !newest.has(id);
    return listed.filter(({ id }) => !gone.has(id) && !isDeleted(id)).map((one) => newest.get(one.id) ?? one);
  }, [listed, now, isOfOthers, goingOn, gone]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = pages;
  const onNearEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const shown = pages.data?.pages.at(-1)?.total;
  const total = shown === undefined ? undefined : Math.max(0, Math.min(shown, count.data ?? shown) - gone.size);
  return {
    ...{ experiments, total, onNearEnd },
    /** How many have come since. */
    fresh: shown === undefined || count.data === undefined ? 0 : Math.max(0, count.data - shown),
    loadFresh: useCallback(() => void refetch(), [refetch]),
    error: pages.error,
    isLoading: pages.isPending && enabled,
    isOld: pages.isPlaceholderData,
  };
}

/** Ids of the experiments that are being deleted. */
function useGone(): ReadonlySet<string> {
  const deletions = useDeletions();
  return useMemo(
    () =>
      new Set(deletions.flatMap(({ changes, state, hidden }) => (changes === 'experiments' && state !== 'failed' ? hidden : []))),
    [deletions],
  );
}

/** Keeps the first of an experiment that moved to the next page while pages were read. */
function withoutDoubles(experiments: readonly Experiment[]): Experiment[] {
  return [...new Map(experiments.toReversed().map((one) => [one.id, one])).values()].reverse();
}
