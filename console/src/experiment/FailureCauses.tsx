import { Link } from '@tanstack/react-router';
import type { ExperimentRef, LiveProgress } from '../data/experiment.ts';
import { countText, lineText } from '../parts/format.ts';
import styles from './ExperimentPage.module.css';
import { conditionOfCause } from './failureCondition.ts';
import { hasEnded } from './runState.ts';
import { useExperimentAddress } from './useExperimentAddress.ts';

/** Causes that are shown at once. */
const FIRST = 3;

/** Lists the causes of failed rows, the most frequent first, each with rows to look at. */
export function FailureCauses({ of, progress }: { of: ExperimentRef; progress: LiveProgress }) {
  const [, change] = useExperimentAddress();
  const { failures, rows_failed: failed, state, runner } = progress;
  if (failures.length === 0) return null;
  const shown = failures.slice(0, FIRST);
  const more = failures.slice(FIRST);
  const list = (causes: LiveProgress['failures']) => (
    <ul>
      {causes.map((cause) => (
        <li key={`${cause.status_code} ${cause.message}`}>
          <span className={styles.times}>{countText(cause.rows)} ×</span>
          <span className={styles.cause} title={cause.message ?? undefined}>
            {lineText(cause.message ?? `status ${cause.status_code}`, 300)}
            {!cause.is_same && <span className="quiet"> and alike</span>}
          </span>
          <span className={styles.examples}>
            {cause.examples.map(({ trace_id: traceId, dataset_row_ordinal: ordinal, trial }) => (
              <Link key={traceId} to="/p/$projectId/traces/$traceId" params={{ projectId: of.projectId, traceId }} search={{}}>
                row {ordinal ?? '–'}
                {(trial ?? 0) > 0 && `, trial ${trial}`}
              </Link>
            ))}
            <button
              type="button"
              className="plain"
              onClick={() => change({ q: conditionOfCause(cause), open: undefined, tab: undefined })}
            >
              Show these rows
            </button>
          </span>
        </li>
      ))}
    </ul>
  );
  return (
    <section aria-label="Failures" className={styles.failures}>
      <h2>
        {countText(failed)} failed {failed === 1 ? 'row' : 'rows'}
      </h2>
      {list(shown)}
      {more.length > 0 && (
        <details>
          <summary>
            {countText(more.length)} more {more.length === 1 ? 'cause' : 'causes'}
          </summary>
          {list(more)}
        </details>
      )}
      {hasEnded(state) && runner === 'caller_function' && (
        <p className="quiet">
          A function in a process of yours runs these rows. There, <code>rerunExperiment</code> with{' '}
          <code>experimentId: '{of.experimentId}'</code> and <code>function</code> runs them again.
        </p>
      )}
    </section>
  );
}
