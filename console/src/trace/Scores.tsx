import type { RecordNode } from '../data/records.ts';
import { lineText, numberText, UNKNOWN } from '../parts/format.ts';
import { LongText } from '../payload/LongText.tsx';
import styles from './Scores.module.css';

/** What the interface answers of a metric of a record, as far as it is shown. */
interface MetricInfo {
  status_type?: string;
  value?: unknown;
  explanation?: string | null;
  message?: string | null;
  model_alias?: string | null;
  judged_by_model_under_test?: boolean | null;
  metric_key_alias?: string | null;
}

/** The scores of a record with their explanations and who judged; one without a value has its reason. */
export function Scores({ record }: { record: RecordNode }) {
  const scores = Object.entries((record.metric_info ?? {}) as Record<string, MetricInfo>);
  if (scores.length === 0) return null;
  return (
    <section aria-label="Scores">
      <h2>Scores</h2>
      <table className={styles.scores}>
        <thead>
          <tr>
            <th scope="col">Metric</th>
            <th scope="col">Value</th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {scores.map(([id, info]) => (
            <tr key={id}>
              <td>{lineText(info.metric_key_alias ?? id, 200)}</td>
              <td>
                {info.status_type === 'success' ? valueText(info.value) : (info.status_type ?? UNKNOWN).replaceAll('_', ' ')}
              </td>
              <td>
                <LongText text={info.explanation ?? info.message ?? ''} />
                {info.model_alias && <span className="quiet"> {info.model_alias}</span>}
                {info.judged_by_model_under_test === true && <span className="bad"> judged its own answer</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const valueText = (value: unknown): string =>
  typeof value === 'number' || typeof value === 'bigint' ? numberText(value) : lineText(value, 2_000);
