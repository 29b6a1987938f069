import { useMemo } from 'react';
import { jsonWithBigInts } from '../../../shared/wire/longNumbers.ts';
import type { RecordNode } from '../data/records.ts';
import { lineText } from '../parts/format.ts';
import { LongText } from '../payload/LongText.tsx';
import { plainText } from '../payload/messages.ts';
import { Payload } from '../payload/Payload.tsx';
import { useSteps } from '../payload/useSteps.tsx';
import styles from './RecordDetail.module.css';

/** Why a record failed; nothing where it did not. */
export function Failure({ record: { error_message: text } }: { record: RecordNode }) {
  if (typeof text !== 'string' || text === '') return null;
  return (
    <div className={styles.problem}>
      <LongText text={text} />
    </div>
  );
}

/** Shows a record's input, output and metadata, as text or by their kind. */
export function RecordContent({ record, isText }: { record: RecordNode; isText: boolean }) {
  return (
    <>
      <Side title="Input" value={record.input} isText={isText} />
      <Side title="Output" value={record.output} isText={isText} />
      {record.dataset_output !== null && record.dataset_output !== undefined && (
        <Side title="Reference" value={record.dataset_output} isText={isText} />
      )}
      <MapSection title="Metadata" value={record.user_metadata} />
      <MapSection title="Dataset metadata" value={record.dataset_metadata} />
    </>
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
