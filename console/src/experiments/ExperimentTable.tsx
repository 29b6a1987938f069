import { useQueries } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, type KeyboardEvent, useEffect, useMemo, useRef } from 'react';
import { type Experiment, figuresOf, isGoingOn, type Progress, progressQuery } from '../data/experiments.ts';
import { type Domain, domainOf } from '../figures/metricFigure.ts';
import { usePreferences } from '../parts/preferences.ts';
import { REST_MS, useRowSlots } from '../parts/useRowSlots.ts';
import { ExperimentRow, type RowActions, rowId } from './ExperimentRow.tsx';
import styles from './ExperimentTable.module.css';
import type { CatalogColumn } from './experimentColumns.ts';
import { sortOf, useExperimentsAddress } from './useExperimentsView.ts';

interface Props extends RowActions {
  experiments: readonly Experiment[];
  /** The number of all experiments that fit the filter. */
  total: number;
  columns: readonly CatalogColumn[];
  /** The rows shown still answer the question before. */
  isOld: boolean;
  onNearEnd(): void;
  /** Moves by so many rows. */
  onMove(step: number): void;
  onOpen(): void;
}

const HEIGHTS = { comfortable: 32, dense: 24 };
/** Pixels of the column that chooses rows. */
const CHOICE = 40;
/** Rows before the last that is loaded at which more are asked for. */
const AHEAD = 15;
const PAGE_ROWS = 10;
const steps: Readonly<Record<string, number>> = {
  ...{ ArrowDown: 1, ArrowUp: -1, PageDown: PAGE_ROWS, PageUp: -PAGE_ROWS },
  ...{ Home: Number.NEGATIVE_INFINITY, End: Number.POSITIVE_INFINITY },
};

/** A grid of which only the rows in sight are on the page. */
export function ExperimentTable({ experiments, total, columns, isOld, onNearEnd, onMove, onOpen, ...actions }: Props) {
  const [{ at, pick = [] }] = useExperimentsAddress();
  const { rows: size, zone } = usePreferences();
  const scroller = useRef<HTMLDivElement>(null);
  const height = HEIGHTS[size];
  const rows = useVirtualizer({
    count: experiments.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    scrollPaddingStart: height,
    overscan: 5,
    isScrollingResetDelay: REST_MS,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another height is measured anew
  useEffect(() => rows.measure(), [height, rows]);
  const inSight = rows.getVirtualItems();
  const slots = useRowSlots(rows, height);
  const last = inSight.at(-1)?.index ?? 0;
  const progress = useProgress(inSight.flatMap(({ index }) => experiments[index] ?? []));
  useEffect(() => {
    if (last >= experiments.length - AHEAD) onNearEnd();
  }, [last, experiments.length, onNearEnd]);
  const atIndex = useMemo(() => experiments.findIndex(({ id }) => id === at), [experiments, at]);
  useEffect(() => {
    if (atIndex >= 0) rows.scrollToIndex(atIndex, { align: 'auto' });
  }, [atIndex, rows]);
  const domains = useMemo(() => domainsOf(columns, experiments), [columns, experiments]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== scroller.current) return;
    const step = steps[event.key];
    if (step !== undefined) onMove(step);
    else if (event.key === 'Enter') onOpen();
    else return;
    event.preventDefault();
  };
  const template = `${CHOICE}px ${columns.map(({ id, width }) => (id === 'name' ? `minmax(${width}px, 1fr)` : `${width}px`)).join(' ')}`;
  return (
    <div
      ref={scroller}
      role="grid"
      aria-label="Experiments"
      aria-rowcount={total + 1}
      aria-colcount={columns.length + 1}
      aria-busy={isOld}
      aria-activedescendant={inSight.some(({ index }) => index === atIndex) ? rowId(atIndex) : undefined}
      tabIndex={0}
      className={styles.grid}
      style={{ '--columns': template } as CSSProperties}
      onKeyDown={onKeyDown}
    >
      <div
        className={styles.inner}
        style={{ minWidth: columns.reduce((sum, { width }) => sum + width, CHOICE), height: rows.getTotalSize() + height }}
      >
        <div role="row" aria-rowindex={1} className={styles.head} style={{ height }}>
          <div role="columnheader" className={styles.choice}>
            <span className="only-read">Chosen</span>
          </div>
          {columns.map((column) => (
            <Head key={column.id} column={column} />
          ))}
        </div>
        {slots.map(({ index, start, slot }) => {
          const experiment = experiments[index];
          return (
            experiment && (
              <ExperimentRow
                key={slot}
                progress={progress.get(experiment.id)}
                {...{ experiment, index, columns, zone, domains, height, start }}
                {...actions}
                isAt={index === atIndex}
                isPicked={pick.includes(experiment.id)}
              />
            )
          );
        })}
      </div>
    </div>
  );
}

/** Polls the progress and the figures so far of the runs among these experiments that go on, by their ids. */
function useProgress(experiments: readonly Experiment[]): ReadonlyMap<string, Progress> {
  return useQueries({
    queries: experiments.filter(isGoingOn).map(({ project_id, id }) => ({
      ...progressQuery(project_id, id),
      select: (progress: Progress) => [id, progress] as const,
    })),
    combine,
  });
}

const combine = (all: readonly { data: readonly [string, Progress] | undefined }[]): ReadonlyMap<string, Progress> =>
  new Map(all.flatMap(({ data }) => (data ? [data] : [])));

/** Sorts by its column, the largest first. */
function Head({ column: { id, label, sortable, isNumber, figure } }: { column: CatalogColumn }) {
  const [address, change] = useExperimentsAddress();
  const sort = sortOf(address.sort);
  const isChosen = sort?.name === id;
  const next = !isChosen ? `-${id}` : sort.ascending ? undefined : id;
  return (
    <div
      role="columnheader"
      aria-sort={!isChosen ? 'none' : sort.ascending ? 'ascending' : 'descending'}
      className={isNumber && !figure ? styles.numberHead : undefined}
      title={figure?.direction ? `${label}: ${figure.direction} is better` : label}
    >
      <span className="one-line">
        {sortable ? (
          <button type="button" onClick={() => change({ sort: next, at: undefined })}>
            {label}
            <span aria-hidden="true">{isChosen ? (sort.ascending ? ' ↑' : ' ↓') : ''}</span>
          </button>
        ) : (
          label
        )}
      </span>
    </div>
  );
}

/** Where the bars of each metric begin and end, the same in all rows. */
function domainsOf(columns: readonly CatalogColumn[], experiments: readonly Experiment[]): Map<string, Domain> {
  return new Map(
    columns.flatMap(({ id, figure }) => {
      if (!figure) return [];
      const domain = domainOf(
        experiments.map((one) => figuresOf(one, figure.metric)),
        figure,
      );
      return domain ? [[id, domain] as const] : [];
    }),
  );
}
