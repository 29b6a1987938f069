import type { CompareAddress, RowFilter } from '../address/compareAddress.ts';
import type { ComparedExperiment, Comparison } from '../data/comparison.ts';
import { countText } from '../parts/format.ts';
import styles from './ComparedRows.module.css';
import { useCompareAddress } from './useCompareAddress.ts';

interface Props {
  comparison: Comparison;
  experiment: ComparedExperiment;
}

type Filter = [filter: RowFilter | undefined, label: string, count: number | undefined];

/** Lets the reader choose the listed rows. Each choice shows its number of rows where the comparison says it. */
export function RowFilters({ comparison, experiment }: Props) {
  const [{ rows: chosen, value }, change] = useCompareAddress();
  const { better, worse, same, rows, changed_rows } = comparison;
  // Counts are of all rows: in one slice there are fewer.
  const count = (number: number | null) => (value === undefined && number !== null ? number : undefined);
  const filters: Filter[] = [[undefined, 'All', undefined]];
  if (better !== null && worse !== null) filters.push(['worse', 'Worse', count(worse)], ['better', 'Better', count(better)]);
  filters.push(['changed', 'Changed', count(rows - same)], ['failed', 'Failed', undefined], ['missing', 'Missing', undefined]);
  if (changed_rows > 0 || chosen === 'content_changed')
    filters.push(['content_changed', 'Another question', count(experiment.changed_rows)]);
  const choose = (filter: CompareAddress['rows']) => change({ rows: filter, open: undefined });
  return (
    <fieldset className={styles.filters} aria-label="Rows">
      {filters.map(([filter, label, number]) => (
        <button key={label} type="button" aria-pressed={filter === chosen} onClick={() => choose(filter)}>
          {label}
          {number !== undefined && <span className="quiet"> {countText(number)}</span>}
        </button>
      ))}
    </fieldset>
  );
}
