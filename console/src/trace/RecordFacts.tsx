import type { ReactNode } from 'react';
import { isFailure } from '../../../shared/records/failed.ts';
import type { RecordNode, RunOf } from '../data/records.ts';
import { costText, countText, durationText, lineText, tokensText, UNKNOWN } from '../parts/format.ts';
import { Time } from '../parts/Time.tsx';
import styles from './RecordDetail.module.css';

/** The figures of a record and where it belongs, side by side. What the record does not have is left out, but time, latency and status. */
export function RecordFacts({ record, run }: { record: RecordNode; run?: RunOf }) {
  const metrics = (record.metrics ?? {}) as Record<string, unknown>;
  const isKnown = (value: unknown) => value !== undefined && value !== null;
  const code = record.status_code;
  const facts: [string, ReactNode][] = [
    ['Time', <Time key="time" at={String(record.created_at)} />],
    ['Latency', durationText(metrics.duration_ns)],
    [
      'Status',
      isKnown(code) ? (
        <span key="status" className={isFailure({ status_code: code as number }) ? 'bad' : undefined}>
          {String(code)}
        </span>
      ) : (
        UNKNOWN
      ),
    ],
  ];
  if (run?.isExperiment && record.type === 'trace') facts.push(['Attempts', countText(record.attempts as number | null)]);
  if (record.model) facts.push(['Model', lineText(record.model, 200)]);
  const tokens = tokensText(metrics);
  if (tokens !== UNKNOWN) facts.push(['Tokens', tokens]);
  if (isKnown(metrics.cost)) facts.push(['Cost', costText(metrics.cost)]);
  if (record.counted_usage === 'none') facts.push(['Usage', 'not counted: a call above it has it']);
  if (Array.isArray(record.tags) && record.tags.length > 0) facts.push(['Tags', lineText(record.tags.join(', '), 2_000)]);
  if (record.external_id) facts.push(['External id', lineText(record.external_id, 500)]);
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
