import type { ReactNode } from 'react';
import type { Experiment } from '../data/experiments.ts';
import styles from './ExperimentTable.module.css';
import { rowsOf } from './experimentColumns.ts';

/** Returns how the run is; while it goes on, how far. */
export function stateOf(experiment: Experiment): ReactNode {
  const { state, status } = experiment;
  const share = status.log_generation.progress_percent;
  const percent = `${Math.floor(100 * share)} %`;
  if (state !== 'running' && state !== 'paused' && state !== 'requested')
    return (
      <span className={styles.state} data-state={state}>
        {state === 'idle' && rowsOf(experiment).rows ? <span title="idle: its rows are logged">logged</span> : state}
      </span>
    );
  return (
    <span className={styles.state} data-state={state}>
      <span className={styles.progress} aria-hidden="true">
        <span style={{ width: `${100 * share}%` }} />
      </span>
      {state === 'running' ? percent : `${state} ${percent}`}
      {state === 'running' && <span className="only-read">running</span>}
    </span>
  );
}
