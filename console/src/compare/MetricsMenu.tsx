import { useQuery } from '@tanstack/react-query';
import { type Comparison, type ComparisonQuestion, comparisonQuery } from '../data/comparison.ts';
import styles from './ComparePage.module.css';
import { useCompareAddress } from './useCompareAddress.ts';
import { nameOf } from './verdict.ts';

/** Lets the reader choose the metrics that decide. The fewer are compared, the smaller a difference is found: all of them are corrected for. */
export function MetricsMenu({ question, shown }: { question: ComparisonQuestion; shown: readonly Comparison[] }) {
  const [{ only }, change] = useCompareAddress();
  const { data } = useQuery({ ...comparisonQuery({ ...question, metrics: undefined }), enabled: only !== undefined });
  const comparisons = only === undefined ? shown : (data?.reply?.comparisons ?? shown);
  const metrics = [...new Map(comparisons.map((one) => [one.metric_id, nameOf(one)]))];
  const all = metrics.map(([id]) => id);
  const chosen = only ?? all;
  const toggle = (id: string) => {
    const next = chosen.includes(id)
      ? chosen.filter((one) => one !== id)
      : all.filter((one) => one === id || chosen.includes(one));
    if (next.length > 0) change({ only: next.length === all.length ? undefined : next });
  };
  return (
    <>
      <button type="button" popoverTarget="compared-metrics">
        Metrics{' '}
        <span className="quiet">{only === undefined ? 'all' : `${only.length} of ${Math.max(all.length, only.length)}`}</span>
      </button>
      <div popover="auto" id="compared-metrics" className={`menu ${styles.menu}`}>
        <p className="quiet">Choose those that decide: verdicts are corrected for the number of metrics and experiments.</p>
        {metrics.map(([id, name]) => (
          <label key={id} className={styles.check}>
            <input
              type="checkbox"
              checked={chosen.includes(id)}
              disabled={chosen.length === 1 && chosen.includes(id)}
              onChange={() => toggle(id)}
            />
            <span className="one-line">{name}</span>
          </label>
        ))}
        <button type="button" disabled={only === undefined} onClick={() => change({ only: undefined })}>
          All of them
        </button>
      </div>
    </>
  );
}
