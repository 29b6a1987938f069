import { useQueries } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import { farPageQuery, type LogRecord, PAGE, type RecordsQuestion } from '../data/records.ts';
import { useDebounced } from '../parts/useDebounced.ts';

/** Milliseconds that rows are in sight before they are asked for: who drags the scroll bar passes most of them. */
const PAUSE_MS = 60;

/**
 * All rows of a table: the first records, and behind them those of the pages in sight, undefined where none is loaded.
 * `show` says which rows are in sight, by their numbers.
 */
export function useFarRecords(question: RecordsQuestion | undefined, first: readonly LogRecord[], total: number) {
  const [sight, setSight] = useState({ from: 0, to: 0 });
  const { from, to } = useDebounced(sight, PAUSE_MS);
  const show = useCallback(
    (from: number, to: number) => setSight((now) => (now.from === from && now.to === to ? now : { from, to })),
    [],
  );
  const offsets: number[] = [];
  // The page that follows the first ones is theirs to load.
  for (let page = Math.floor(from / PAGE); page * PAGE <= Math.min(to, total - 1); page++)
    if ((page + 1) * PAGE > first.length && from >= PAGE) offsets.push(page * PAGE);
  const pages = useQueries({
    queries: question ? offsets.map((offset) => farPageQuery(question, offset)) : [],
    combine: useCallback(
      (results: { data: { records: LogRecord[] } | undefined; error: Error | null }[]) => ({
        data: results.map(({ data }) => data?.records),
        error: results.find(({ error }) => error)?.error ?? null,
      }),
      [],
    ),
  });
  const at = offsets.join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: `at` holds the offsets
  const rows = useMemo(() => {
    const all: (LogRecord | undefined)[] = [...first];
    for (let index = first.length; index < total; index++) all.push(undefined);
    for (const [page, offset] of offsets.entries())
      for (const [place, record] of (pages.data[page] ?? []).entries())
        if (offset + place >= first.length && offset + place < total) all[offset + place] = record;
    return all;
  }, [first, total, at, pages]);
  return { rows, show, error: pages.error };
}

/** The number of the row that has the record of this id; -1 when it is not loaded, and without an id. */
export const placeOf = (records: readonly (LogRecord | undefined)[], id: string | undefined): number =>
  id === undefined ? -1 : records.findIndex((one) => one?.id === id);
