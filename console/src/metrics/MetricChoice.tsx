import { memo, type ReactNode, useDeferredValue, useState } from 'react';
import type { Metric } from '../data/metrics.ts';
import { countText } from '../parts/format.ts';
import { useSteady } from '../parts/useSteady.ts';
import styles from './MetricChoice.module.css';

interface Props {
  /** The metrics to choose from. */
  metrics: readonly Metric[];
  /** Keys of those that are chosen. */
  chosen: readonly string[];
  keyOf(metric: Metric): string;
  onToggle(metric: Metric): void;
  /** Says what is missing for a value of the metric. */
  lackOf(metric: Metric): string | undefined;
  /** The problem of the choice. */
  children?: ReactNode;
}

/** Several of many metrics, found by their names. */
export function MetricChoice({ metrics, chosen, keyOf, onToggle, lackOf, children }: Props) {
  const [search, setSearch] = useState('');
  const wanted = useDeferredValue(search).trim().toLowerCase();
  const isChosen = (metric: Metric) => chosen.includes(keyOf(metric));
  const shown = metrics.filter(
    (metric) => isChosen(metric) || wanted === '' || `${metric.name} ${metric.label}`.toLowerCase().includes(wanted),
  );
  // A metric that the user chooses meanwhile stays in its place.
  const [atFirst] = useState(chosen);
  const wasChosen = (metric: Metric) => atFirst.includes(keyOf(metric));
  const toggle = useSteady(onToggle);
  const chosenNames = metrics.filter(isChosen).map(({ label }) => label);
  return (
    <>
      <input
        type="search"
        aria-label="Find a metric"
        placeholder={`Find one of ${countText(metrics.length)}`}
        value={search}
        onChange={(event) => setSearch(event.target.value)}
        onKeyDown={(event) => {
          // It would send the form that the choice is a part of.
          if (event.key === 'Enter') event.preventDefault();
        }}
      />
      {chosenNames.length > 0 && (
        <p>
          <span className="quiet">{countText(chosenNames.length)} chosen:</span> {chosenNames.join(', ')}
        </p>
      )}
      {children}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys */}
      <section className={styles.metrics} tabIndex={0} aria-label="Metrics to choose from">
        {[...shown.filter(wasChosen), ...shown.filter((one) => !wasChosen(one))].map((one) => (
          <Choice key={one.id} metric={one} isChosen={isChosen(one)} lack={lackOf(one)} onToggle={toggle} />
        ))}
        {shown.length === 0 && <p className="quiet">No metric has this in its name.</p>}
      </section>
    </>
  );
}

interface ChoiceProps {
  metric: Metric;
  isChosen: boolean;
  /** Names the thing that the metric needs and this dataset lacks. */
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
