import { useState } from 'react';
import { jsonWithBigInts } from '../../../shared/wire/longNumbers.ts';
import { home } from '../address/home.ts';
import type { RecordNode } from '../data/records.ts';
import { CopyButton } from '../parts/CopyButton.tsx';
import { costText, countText, durationText } from '../parts/format.ts';
import { KindMark } from '../parts/KindMark.tsx';
import { Time } from '../parts/Time.tsx';
import { JsonTree } from '../payload/JsonTree.tsx';
import { Payload } from '../payload/Payload.tsx';
import { Scores } from './Scores.tsx';
import styles from './TracePage.module.css';

/** One record with all that it has: what went in and out, its figures, scores, metadata. */
export function RecordDetail({ record, projectId }: { record: RecordNode; projectId: string }) {
  const [isJson, setJson] = useState(false);
  const { spans: _spans, traces: _traces, ...own } = record;
  const failure = typeof record.error_message === 'string' && record.error_message !== '' ? record.error_message : undefined;
  return (
    <article className={styles.detail} aria-label={`${record.type} ${String(record.name ?? '')}`}>
      <div className={styles.detailHead}>
        <KindMark kind={record.type} />
        <h2>{String(record.name ?? record.type)}</h2>
        <button type="button" aria-pressed={isJson} onClick={() => setJson(!isJson)}>
          JSON
        </button>
        <CopyButton label="Copy as curl" text={() => curlOf(record, projectId)} />
        <CopyButton label="Copy JSON" text={() => jsonWithBigInts(own, undefined, 2)} />
      </div>
      {failure !== undefined && <pre className={styles.problem}>{failure}</pre>}
      {isJson ? (
        <JsonTree value={own} />
      ) : (
        <>
          <Facts record={record} />
          <Scores record={record} />
          <section aria-label="Input">
            <h2>Input</h2>
            <Payload value={record.input} />
          </section>
          <section aria-label="Output">
            <h2>Output</h2>
            <Payload value={record.output} />
          </section>
          {record.dataset_output !== null && record.dataset_output !== undefined && (
            <section aria-label="Reference">
              <h2>Reference</h2>
              <Payload value={record.dataset_output} />
            </section>
          )}
          <MapSection title="Metadata" value={record.user_metadata} />
          <MapSection title="Dataset metadata" value={record.dataset_metadata} />
        </>
      )}
    </article>
  );
}

function Facts({ record }: { record: RecordNode }) {
  const metrics = (record.metrics ?? {}) as Record<string, unknown>;
  const tokens = [metrics.num_input_tokens, metrics.num_output_tokens].some((one) => one !== undefined && one !== null);
  const facts: [string, React.ReactNode][] = [
    ['Time', <Time key="time" at={String(record.created_at)} />],
    ['Latency', durationText(metrics.duration_ns)],
    ...(record.model ? ([['Model', String(record.model)]] as [string, string][]) : []),
    ...(tokens
      ? ([['Tokens', `${countText(metrics.num_input_tokens)} in, ${countText(metrics.num_output_tokens)} out`]] as [
          string,
          string,
        ][])
      : []),
    ...(metrics.cost === undefined ? [] : ([['Cost', costText(metrics.cost)]] as [string, string][])),
    ...(record.counted_usage === 'none' ? ([['Usage', 'not counted: a call above it has it']] as [string, string][]) : []),
    ['Status', record.status_code === null || record.status_code === undefined ? '–' : String(record.status_code)],
    ...(Array.isArray(record.tags) && record.tags.length > 0 ? ([['Tags', record.tags.join(', ')]] as [string, string][]) : []),
    ['Id', <code key="id">{record.id}</code>],
    ...(record.external_id ? ([['External id', String(record.external_id)]] as [string, string][]) : []),
  ];
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) => (
        <div key={name} style={{ display: 'contents' }}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function MapSection({ title, value }: { title: string; value: unknown }) {
  const entries = Object.entries((value ?? {}) as Record<string, unknown>);
  if (entries.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <dl className={styles.facts}>
        {entries.map(([key, one]) => (
          <div key={key} style={{ display: 'contents' }}>
            <dt>{key}</dt>
            <dd>{typeof one === 'string' ? one : jsonWithBigInts(one)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

const curlOf = ({ type, id }: RecordNode, projectId: string): string => {
  const kind = type === 'trace' || type === 'session' ? `${type}s` : 'spans';
  return `curl -sS ${home.api}/v2/projects/${projectId}/${kind}/${id} -H "Service-API-Key: $SERVICE_API_KEY"`;
};
