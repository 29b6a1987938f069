import { linkOptions } from '@tanstack/react-router';
import { type MouseEvent, memo, useMemo } from 'react';
import type { Experiment, Progress } from '../data/experiments.ts';
import type { Domain } from '../figures/metricFigure.ts';
import type { Preferences } from '../parts/preferences.ts';
import { RowLink } from '../parts/RowLink.tsx';
import { useRowElement } from '../parts/useRowElement.ts';
import { cellOf } from './cellOf.tsx';
import styles from './ExperimentTable.module.css';
import type { CatalogColumn } from './experimentColumns.ts';

export interface RowActions {
  onAt(id: string): void;
  onPick(id: string): void;
  onSeries(name: string): void;
}

interface Props extends RowActions {
  experiment: Experiment;
  /** How far its run is, and what its metrics come to so far; undefined where none goes on. */
  progress: Progress | undefined;
  index: number;
  columns: readonly CatalogColumn[];
  zone: Preferences['zone'];
  domains: ReadonlyMap<string, Domain>;
  height: number;
  start: number;
  isAt: boolean;
  isPicked: boolean;
}

export const rowId = (index: number): string => `experiment-${index}`;

/** One experiment. */
export const ExperimentRow = memo(function ExperimentRow(props: Props) {
  const { experiment, progress, index, columns, zone, domains, height, start, isAt, isPicked, onAt, onPick, onSeries } = props;
  const row = useRowElement(experiment.id);
  const onClick = (event: MouseEvent) => {
    if (!(event.target as Element).closest('a, button, input')) onAt(experiment.id);
  };
  return (
    <div
      ref={row}
      role="row"
      id={rowId(index)}
      aria-rowindex={index + 2}
      aria-selected={isAt}
      data-picked={isPicked || undefined}
      className={styles.row}
      style={{ height, transform: `translateY(${start}px)` }}
      onClick={onClick}
    >
      <div role="gridcell" className={styles.choice}>
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Choose ${experiment.name}`}
          checked={isPicked}
          onChange={() => onPick(experiment.id)}
        />
      </div>
      {columns.map((column) =>
        column.id === 'name' ? (
          <NameCell key="name" experiment={experiment} />
        ) : (
          <div key={column.id} role="gridcell" className={`${styles.cell} ${column.isNumber && !column.figure ? 'number' : ''}`}>
            {column.id === 'series' ? (
              <button type="button" className={styles.series} onClick={() => onSeries(experiment.series)}>
                {experiment.series}
              </button>
            ) : (
              cellOf({ experiment, column, progress, zone, domain: domains.get(column.id) })
            )}
          </div>
        ),
      )}
    </div>
  );
});

function NameCell({ experiment: { id, project_id, name, approved_at, gate } }: { experiment: Experiment }) {
  const page = useMemo(
    () =>
      linkOptions({
        to: '/p/$projectId/experiments/$experimentId',
        params: { projectId: project_id, experimentId: id },
        search: {},
      }),
    [project_id, id],
  );
  return (
    <div role="rowheader" className={`${styles.cell} ${styles.name}`} title={name}>
      <RowLink page={page} className="one-line">
        {name}
      </RowLink>
      {approved_at !== null && <span className={styles.baseline}>baseline</span>}
      {gate?.status === 'failed' && <span className={styles.gateFailed}>gate failed</span>}
    </div>
  );
}
