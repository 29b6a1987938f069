import { duration } from '../../../shared/figures/figureText.ts';
import type { LiveProgress } from '../data/experiment.ts';
import { costText, countText, numberText, UNKNOWN } from '../parts/format.ts';
import styles from './ExperimentPage.module.css';
import { hasEnded, isUnderWay } from './runState.ts';

/** How far the run is, and why it does not get on where it does not. */
export function RunProgress({ progress }: { progress: LiveProgress }) {
  const { state, rows_done: done, rows_total: total, scores_done, scores_total } = progress;
  const problem = progress.error ?? progress.message;
  const steps = total + scores_total;
  return (
    <>
      {isUnderWay(state) && (
        <progress
          className={styles.bar}
          aria-label="Rows and scores that are done"
          max={Math.max(1, steps)}
          value={Math.min(steps, done + scores_done)}
        />
      )}
      <p className={styles.figures}>
        {figuresOf(progress).map(([text, title]) => (
          <span key={title} title={title}>
            {text}
          </span>
        ))}
      </p>
      {problem !== null && (
        <p className={hasEnded(state) ? styles.problem : styles.waits} role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

/** Each with what it means. */
function figuresOf(progress: LiveProgress): [string, string][] {
  const { state, rows_done: done, rows_total: total, rows_failed: failed, scores_done, scores_total, usage } = progress;
  const rate = progress.recent_rows_per_second ?? progress.rows_per_second;
  const left = progress.seconds_left;
  const rows = state === 'idle' ? `${countText(done)} rows` : `${countText(done)} of ${countText(total)} rows`;
  const costs = [usage.run.cost, usage.judges.cost].filter((cost) => cost !== null);
  const cost = costs.length > 0 ? costs.reduce((sum, one) => sum + one, 0) : null;
  return [
    [rows, 'Rows that are recorded, each trial counted'],
    [`${countText(failed)} failed`, 'Rows that failed'],
    ...(isUnderWay(state)
      ? ([
          [`${countText(progress.rows_running)} running`, 'Rows in flight'],
          [
            rate === null ? `${UNKNOWN} rows/s` : `${numberText(Number(rate.toPrecision(2)))} rows/s`,
            'Rows per second, of the last half minute',
          ],
          [left === null ? `${UNKNOWN} left` : `${duration(left * 1_000)} left`, 'Time until it ends at this rate'],
        ] as [string, string][])
      : []),
    ...(scores_total > 0
      ? [
          [`${countText(scores_done)} of ${countText(scores_total)} scores`, 'Values of metrics that are there'] as [
            string,
            string,
          ],
        ]
      : []),
    ...(hasEnded(state) && progress.started_at && progress.ended_at
      ? [[duration(Date.parse(progress.ended_at) - Date.parse(progress.started_at)), 'How long the run took'] as [string, string]]
      : []),
    [cost === null ? `cost ${UNKNOWN}` : costText(cost), costTitle(usage)],
    ...(progress.trials > 1 ? [[`${progress.trials} trials`, 'Times that each row is run'] as [string, string]] : []),
  ];
}

function costTitle({ run, judges }: LiveProgress['usage']): string {
  const unknown = run.num_spans_without_cost + judges.num_scores_without_cost;
  const lacks = unknown > 0 ? `; the cost of ${countText(unknown)} calls is not known` : '';
  return `Model calls ${costText(run.cost)}, judges ${costText(judges.cost)}${lacks}`;
}
