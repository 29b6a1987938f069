import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo } from 'react';
import { NotFoundError } from '../../../client/errors.ts';
import { type ComparedExperiment, type Comparison, comparedRowsQuery } from '../data/comparison.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import { LoadingNote } from '../parts/notes.tsx';
import { useKeys } from '../parts/useKeys.ts';
import styles from './ComparedRows.module.css';
import { hasTrace, idOf } from './comparedRow.ts';
import { RowDetail } from './RowDetail.tsx';
import { RowFilters } from './RowFilters.tsx';
import { RowList } from './RowList.tsx';
import { useCompareAddress } from './useCompareAddress.ts';
import { nameOf } from './verdict.ts';

interface Props {
  projectId: string;
  baseline: ComparedExperiment;
  experiment: ComparedExperiment;
  /** By whose loss rows are ordered. */
  comparison: Comparison;
}

/** Rows that are read to find the one that a link opens. */
const MOST_SOUGHT = 5_000;

/** The rows of an experiment beside those of the baseline, the largest loss first. The first one is open at once; keys go through them. */
export function ComparedRows({ projectId, baseline, experiment, comparison }: Props) {
  const [{ rows: filter, slice, value, open }, change] = useCompareAddress();
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(
    comparedRowsQuery({
      ...{ projectId, base: baseline.id, of: experiment.id, metric: comparison.metric_id, rows: filter },
      slice: slice !== undefined && value !== undefined ? { column: slice, value } : undefined,
    }),
  );
  const rows = useMemo(() => data?.pages.flatMap((page) => page.rows) ?? [], [data]);
  const found = useMemo(() => (open === undefined ? 0 : rows.findIndex((row) => hasTrace(row, open))), [rows, open]);
  const isSought = open !== undefined && found < 0 && hasNextPage && rows.length < MOST_SOUGHT;
  const more = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [isFetchingNextPage, fetchNextPage]);
  useEffect(() => {
    if (isSought) more();
  }, [isSought, more]);
  const total = data?.pages[0]?.total ?? 0;
  const row = rows[found];
  const onOpen = useCallback((id: string) => change({ open: id }, { replace: open !== undefined }), [change, open]);
  const move = (step: number) => {
    const next = rows[found + step];
    const id = next && idOf(next);
    if (id !== undefined) change({ open: id }, { replace: true });
    else if (step > 0 && hasNextPage) more();
  };
  useKeys({ n: () => move(1), j: () => move(1), p: () => move(-1), k: () => move(-1) });
  return (
    <section className={styles.rows} aria-label="Rows">
      <div className={styles.bar}>
        <h2>Rows</h2>
        <RowFilters comparison={comparison} experiment={experiment} />
        <span className="quiet">
          by the largest loss in {nameOf(comparison)}
          {value !== undefined && `, where ${slice} is ${value}`}
        </span>
      </div>
      {error && (error instanceof NotFoundError ? <Deleted /> : <ErrorNote error={error} onRetry={() => void refetch()} />)}
      {!data && !error && <LoadingNote what="the rows" />}
      {data && rows.length === 0 && <p className={styles.nothing}>No row is like that.</p>}
      {isSought && <LoadingNote what="the row of this link" />}
      {data && rows.length > 0 && found < 0 && !isSought && (
        <p role="status" className={styles.nothing}>
          The row of this link is not among these.{' '}
          <button type="button" onClick={() => change({ open: undefined, rows: undefined, value: undefined })}>
            Show all rows
          </button>
        </p>
      )}
      {rows.length > 0 && (
        <div className={styles.split}>
          <RowList {...{ rows, comparison, at: found, hasMore: hasNextPage, onMore: more, onOpen }} />
          {row && (
            <RowDetail
              {...{ projectId, baseline, experiment, comparison, row }}
              place={`${countText(found + 1)} of ${countText(total)}`}
              onMove={move}
            />
          )}
        </div>
      )}
    </section>
  );
}

/** One of the two went while their rows were read. */
function Deleted() {
  const client = useQueryClient();
  return (
    <p role="alert" className={styles.nothing}>
      One of the two experiments was deleted meanwhile.{' '}
      <button type="button" onClick={() => void client.invalidateQueries({ queryKey: ['comparison'] })}>
        Compare what is left
      </button>
    </p>
  );
}
