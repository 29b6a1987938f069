import type { Metric } from '../data/metrics.ts';
import type { Estimate } from '../data/start.ts';
import { MetricChoice } from '../metrics/MetricChoice.tsx';
import { countText } from '../parts/format.ts';
import { Problems } from './Field.tsx';
import styles from './StartPage.module.css';
import { useStartForm } from './startForm.ts';

/** Columns that hold the answer which a row should get. */
const REFERENCES = ['output', 'ground_truth'];
const ROWS_HAVE: readonly string[] = ['trace', 'llm', 'chat'];

/** The metrics that score the rows, and what each of them lacks. */
export function MetricFields({ estimate }: { estimate: Estimate | undefined }) {
  const { draft, change, chosen, problemsAt } = useStartForm();
  const columns = chosen.dataset?.column_names;
  const hasReference = columns === undefined || columns === null || columns.some((name) => REFERENCES.includes(name));
  const offered = chosen.scorers.filter(
    ({ scoreable_node_types: kinds }) => !kinds || kinds.some((one) => ROWS_HAVE.includes(one)),
  );
  const toggle = ({ id }: Metric) => {
    // One that is gone goes with the next choice.
    const others = draft.metrics.filter((one) => one !== id && chosen.scorers.some((known) => known.id === one));
    change({ metrics: draft.metrics.includes(id) ? others : [...others, id] });
  };
  const lackOf = ({ id, ground_truth, needs }: Metric): string | undefined => {
    const lacking = estimate?.metrics.find(({ scorer_id }) => scorer_id === id)?.lacking;
    if (lacking && draft.metrics.includes(id))
      return `${countText(lacking.rows)} of ${countText(estimate?.sampled_rows)} sampled rows get no value: ${lacking.message}`;
    const needsReference = ground_truth || needs.includes('reference_output');
    return needsReference && !hasReference ? 'needs a reference: the dataset has no column output or ground_truth' : undefined;
  };
  return (
    <fieldset className={styles.section}>
      <legend>Metrics</legend>
      <MetricChoice metrics={offered} chosen={draft.metrics} keyOf={({ id }) => id} onToggle={toggle} lackOf={lackOf}>
        <Problems problems={problemsAt('metrics')} />
      </MetricChoice>
    </fieldset>
  );
}
