import type { RecordNode } from '../data/records.ts';
import { lineText, numberText, UNKNOWN } from '../parts/format.ts';
import { LongText } from '../payload/LongText.tsx';
import styles from './Scores.module.css';

/** The parts of a record's metric that the page shows, as the interface answers them. */
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
  const scores = scoresOf((record.metric_info ?? {}) as Record<string, MetricInfo>);
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

/** A metric that is answered both by the id of its scorer and by its name is one. */
function scoresOf(metrics: Record<string, MetricInfo>): [string, MetricInfo][] {
  const named = new Set(Object.values(metrics).map((info) => info.metric_key_alias));
  return Object.entries(metrics).filter(([id, { metric_key_alias: name }]) => name || !named.has(id));
}

const valueText = (value: unknown): string =>
  typeof value === 'number' || typeof value === 'bigint' ? numberText(value) : lineText(value, 2_000);
