import { useMemo } from 'react';
import { jsonWithBigInts } from '../../../shared/wire/longNumbers.ts';
import type { DetailTab } from '../address/traceAddress.ts';
import { CollectButtons } from '../collect/CollectButtons.tsx';
import type { RecordNode, RunOf } from '../data/records.ts';
import { kindOf } from '../data/trace.ts';
import { lineText } from '../parts/format.ts';
import { KindMark } from '../parts/KindMark.tsx';
import { Tabs } from '../parts/Tabs.tsx';
import { JsonTree } from '../payload/JsonTree.tsx';
import { LongText } from '../payload/LongText.tsx';
import { plainText } from '../payload/messages.ts';
import { Payload } from '../payload/Payload.tsx';
import { useSteps } from '../payload/useSteps.tsx';
import { Annotations } from './Annotations.tsx';
import { CopyMenu } from './CopyMenu.tsx';
import styles from './RecordDetail.module.css';
import { RecordFacts } from './RecordFacts.tsx';
import { Scores } from './Scores.tsx';
import { useTabKeys } from './useTabKeys.ts';

interface Props {
  record: RecordNode;
  run: RunOf;
  /** Keys add it to queues and datasets. */
  hasKeys: boolean;
  tab: DetailTab | undefined;
  onTab(tab: DetailTab | undefined): void;
}

const tabs = [
  ['talk', 'Conversation'],
  ['text', 'Text'],
  ['json', 'JSON'],
] as const;

/** One record with all that it has: what went in and out, its figures, scores, metadata. */
export function RecordDetail({ record, run, hasKeys, tab = 'talk', onTab }: Props) {
  const { spans: _spans, traces: _traces, ...own } = record;
  const choose = useTabKeys(onTab);
  const failure = typeof record.error_message === 'string' && record.error_message !== '' ? record.error_message : undefined;
  return (
    <article className={styles.detail} aria-label={`${record.type} ${lineText(record.name || record.type, 120)}`}>
      <div className={styles.detailHead}>
        <KindMark kind={record.type} />
        <h2>{lineText(record.name || record.type, 500)}</h2>
        <CollectButtons
          selection={{ run, kind: kindOf(record.type), count: 1, records: { ids: [record.id] } }}
          hasKeys={hasKeys}
        />
        <CopyMenu record={record} projectId={run.projectId} />
      </div>
      <RecordFacts record={record} />
      {failure !== undefined && (
        <div className={styles.problem}>
          <LongText text={failure} />
        </div>
      )}
      <Tabs label="How it is shown" tabs={tabs} chosen={tab} onChoose={choose}>
        {tab === 'json' ? (
          <JsonTree value={own} />
        ) : (
          <>
            <Annotations record={record} projectId={run.projectId} />
            <Scores record={record} />
            <Side title="Input" value={record.input} isText={tab === 'text'} />
            <Side title="Output" value={record.output} isText={tab === 'text'} />
            {record.dataset_output !== null && record.dataset_output !== undefined && (
              <Side title="Reference" value={record.dataset_output} isText={tab === 'text'} />
            )}
            <MapSection title="Metadata" value={record.user_metadata} />
            <MapSection title="Dataset metadata" value={record.dataset_metadata} />
          </>
        )}
      </Tabs>
    </article>
  );
}

function Side({ title, value, isText }: { title: string; value: unknown; isText: boolean }) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {isText ? <PlainText value={value} /> : <Payload value={value} />}
    </section>
  );
}

function PlainText({ value }: { value: unknown }) {
  const text = useMemo(() => plainText(value), [value]);
  return <LongText text={text} />;
}

function MapSection({ title, value }: { title: string; value: unknown }) {
  const entries = Object.entries((value ?? {}) as Record<string, unknown>);
  const [shown, more] = useSteps(entries.length, { first: 100, more: 400 });
  if (entries.length === 0) return null;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <dl className={styles.map}>
        {entries.slice(0, shown).map(([key, one]) => (
          <div key={key}>
            <dt>{lineText(key, 500)}</dt>
            <dd>
              <LongText text={typeof one === 'string' ? one : jsonWithBigInts(one)} />
            </dd>
          </div>
        ))}
      </dl>
      {more}
    </section>
  );
}
