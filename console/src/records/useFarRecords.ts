import { useQueries } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { type FarPage, farPageQuery, type LogRecord, PAGE, type RecordsQuestion } from '../data/records.ts';
import { loadedRows } from './loadedRows.ts';

/** Milliseconds that rows are in sight before they are asked for: who drags the scroll bar passes most of them. */
const PAUSE_MS = 60;

interface FirstRecords {
  records: readonly LogRecord[];
  /** How many of those that were loaded with them are not shown. */
  hidden: number;
  /** No record of the table is newer; undefined where none is loaded. */
  asOf: string | undefined;
  /** The number of all rows. */
  total: number;
}

/**
 * All rows of a table: the first records, and behind them those of the pages in sight. `show` says which rows are in sight, by their numbers.
 */
export function useFarRecords(question: RecordsQuestion | undefined, { records: first, hidden, asOf, total }: FirstRecords) {
  const [{ from, to }, setSight] = useState({ from: 0, to: 0 });
  // Rows that are passed change nothing on the page.
  const pause = useRef<ReturnType<typeof setTimeout>>(undefined);
  const show = useCallback((from: number, to: number) => {
    clearTimeout(pause.current);
    pause.current = setTimeout(() => setSight((now) => (now.from === from && now.to === to ? now : { from, to })), PAUSE_MS);
  }, []);
  useEffect(() => () => clearTimeout(pause.current), []);
  const offsets: number[] = [];
  const last = Math.min(to, total - 1) + hidden;
  // The page that follows the first ones is theirs to load.
  for (let page = Math.floor((from + hidden) / PAGE); page * PAGE <= last; page++)
    if ((page + 1) * PAGE > first.length + hidden && from >= PAGE) offsets.push(page * PAGE);
  const pages = useQueries({
    queries: question && asOf !== undefined ? offsets.map((offset) => farPageQuery(question, offset, asOf)) : [],
    combine: useCallback(
      (results: { data: FarPage | undefined; error: Error | null }[]) => ({
        loaded: results.flatMap(({ data }) => data ?? []),
        error: results.find(({ error }) => error)?.error ?? null,
      }),
      [],
    ),
  });
  const rows = useMemo(() => loadedRows({ first, hidden, pages: pages.loaded }, total), [first, hidden, pages.loaded, total]);
  return { rows, show, error: pages.error };
}
