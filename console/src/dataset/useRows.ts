import { useQueries } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import { type DatasetRow, ROWS, rowsQuery } from '../data/datasetRows.ts';
import { useDebounced } from '../parts/useDebounced.ts';

/** Milliseconds that rows are in sight before they are asked for: who drags the scroll bar passes most of them. */
const PAUSE_MS = 60;

/** The rows of a version around those in sight, by their index. */
export function useRows(datasetId: string, version: number, total: number) {
  const [sight, setSight] = useState({ from: 0, to: ROWS - 1 });
  const { from, to } = useDebounced(sight, PAUSE_MS);
  const onSight = useCallback(
    (from: number, to: number) => setSight((now) => (now.from === from && now.to === to ? now : { from, to })),
    [],
  );
  const first = Math.floor(from / ROWS);
  const last = Math.floor(Math.min(to, Math.max(total - 1, 0)) / ROWS);
  const pages = Array.from({ length: total === 0 ? 0 : Math.max(0, last - first + 1) }, (_, step) => first + step);
  const found = useQueries({
    queries: pages.map((page) => rowsQuery(datasetId, version, page)),
    combine: useCallback(
      (results: { data: { rows: DatasetRow[] } | undefined; error: Error | null; refetch(): unknown }[]) => ({
        data: results.map(({ data }) => data?.rows),
        error: results.find(({ error }) => error)?.error ?? null,
        retry: () => {
          for (const result of results) if (result.error) void result.refetch();
        },
      }),
      [],
    ),
  });
  const rows = useMemo(() => new Map(found.data.flatMap((some) => some ?? []).map((row) => [row.index, row])), [found]);
  return { rows, onSight, error: found.error, retry: found.retry };
}
