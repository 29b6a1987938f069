import { memo, useDeferredValue, useState } from 'react';
import type { Metric } from '../data/metrics.ts';
import type { Estimate } from '../data/start.ts';
import { countText } from '../parts/format.ts';
import { useSteady } from '../parts/useSteady.ts';
import { Problems } from './Field.tsx';
import styles from './StartPage.module.css';
import { useStartForm } from './startForm.ts';

/** Columns that hold the answer which a row should get. */
const REFERENCES = ['output', 'ground_truth'];
const ROWS_HAVE: readonly string[] = ['trace', 'llm', 'chat'];

/** The metrics that score the rows, and what each of them lacks. */
export function MetricFields({ estimate }: { estimate: Estimate | undefined }) {
  const { draft, change, chosen, problemsAt } = useStartForm();
  const [search, setSearch] = useState('');
  const wanted = useDeferredValue(search).trim().toLowerCase();
  const columns = chosen.dataset?.column_names;
  const hasReference = columns === undefined || columns === null || columns.some((name) => REFERENCES.includes(name));
  const offered = chosen.scorers.filter(
    ({ scoreable_node_types: kinds }) => !kinds || kinds.some((one) => ROWS_HAVE.includes(one)),
  );
  const shown = offered.filter(
    ({ id, name, label }) => draft.metrics.includes(id) || wanted === '' || `${name} ${label}`.toLowerCase().includes(wanted),
  );
  const isChosen = ({ id }: Metric) => draft.metrics.includes(id);
  // What is chosen meanwhile stays where it is.
  const [atFirst] = useState(draft.metrics);
  const wasChosen = ({ id }: Metric) => atFirst.includes(id);
  const toggle = useSteady(({ id }: Metric) => {
    // One that is gone goes with the next choice.
    const others = draft.metrics.filter((one) => one !== id && chosen.scorers.some((known) => known.id === one));
    change({ metrics: draft.metrics.includes(id) ? others : [...others, id] });
  });
  const chosenNames = offered.filter(isChosen).map(({ label }) => label);
  const lackOf = ({ id, ground_truth }: Metric): string | undefined => {
    const lacking = estimate?.metrics.find(({ scorer_id }) => scorer_id === id)?.lacking;
    if (lacking && isChosenId(draft.metrics, id))
      return `${countText(lacking.rows)} of ${countText(estimate?.sampled_rows)} sampled rows get no value: ${lacking.message}`;
    return ground_truth && !hasReference ? 'needs a reference: the dataset has no column output or ground_truth' : undefined;
  };
  return (
    <fieldset className={styles.section}>
      <legend>Metrics</legend>
      <input
        type="search"
        aria-label="Find a metric"
        placeholder={`Find one of ${countText(offered.length)}`}
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      {chosenNames.length > 0 && (
        <p>
          <span className="quiet">{countText(chosenNames.length)} chosen:</span> {chosenNames.join(', ')}
        </p>
      )}
      <Problems problems={problemsAt('metrics')} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys */}
      <section className={styles.metrics} tabIndex={0} aria-label="Metrics to choose from">
        {[...shown.filter(wasChosen), ...shown.filter((one) => !wasChosen(one))].map((one) => (
          <Choice key={one.id} metric={one} isChosen={isChosen(one)} lack={lackOf(one)} onToggle={toggle} />
        ))}
        {shown.length === 0 && <p className="quiet">No metric has this in its name.</p>}
      </section>
    </fieldset>
  );
}

interface ChoiceProps {
  metric: Metric;
  isChosen: boolean;
  /** What the metric lacks here. */
  lack: string | undefined;
  onToggle(metric: Metric): void;
}

/** One metric with its box. A letter in another field of the form leaves it as it is. */
const Choice = memo(function Choice({ metric, isChosen, lack, onToggle }: ChoiceProps) {
  return (
    <label className={styles.metric}>
      <input type="checkbox" checked={isChosen} onChange={() => onToggle(metric)} />
      <span>
        {metric.label}
        <span className="quiet"> {metric.needs.includes('judge_model') ? 'judged by a model' : 'computed'}</span>
        {lack && <span className={styles.lack}>{lack}</span>}
      </span>
    </label>
  );
});

const isChosenId = (metrics: readonly string[], id: string): boolean => metrics.includes(id);
