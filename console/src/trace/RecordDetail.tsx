import { memo, useDeferredValue } from 'react';
import type { DetailTab } from '../address/traceAddress.ts';
import { CollectButtons } from '../collect/CollectButtons.tsx';
import type { RecordNode, RunOf } from '../data/records.ts';
import { kindOf } from '../data/trace.ts';
import { lineText } from '../parts/format.ts';
import { KindMark } from '../parts/KindMark.tsx';
import { Tabs } from '../parts/Tabs.tsx';
import { JsonTree } from '../payload/JsonTree.tsx';
import { Annotations } from './Annotations.tsx';
import { CopyMenu } from './CopyMenu.tsx';
import { Failure, RecordContent } from './RecordContent.tsx';
import styles from './RecordDetail.module.css';
import { RecordFacts } from './RecordFacts.tsx';
import { Scores } from './Scores.tsx';
import { TryLink } from './TryLink.tsx';
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
export const RecordDetail = memo(function RecordDetail({ record, run, hasKeys, tab = 'talk', onTab }: Props) {
  // The tab that is chosen is marked before what it shows is laid out.
  const shown = useDeferredValue(tab);
  const choose = useTabKeys(onTab);
  return (
    <article className={styles.detail} aria-label={`${record.type} ${lineText(record.name || record.type, 120)}`}>
      <div className={styles.detailHead}>
        <KindMark kind={record.type} />
        <h2>{lineText(record.name || record.type, 500)}</h2>
        <CollectButtons
          selection={{ run, kind: kindOf(record.type), count: 1, records: { ids: [record.id] } }}
          hasKeys={hasKeys}
        />
        <TryLink record={record} run={run} />
        <CopyMenu record={record} projectId={run.projectId} />
      </div>
      <RecordFacts record={record} run={run} />
      <Failure record={record} />
      <Tabs label="How it is shown" tabs={tabs} chosen={tab} onChoose={choose}>
        <Content record={record} projectId={run.projectId} tab={shown} />
      </Tabs>
    </article>
  );
});

const Content = memo(function Content({ record, projectId, tab }: { record: RecordNode; projectId: string; tab: DetailTab }) {
  const { spans: _spans, traces: _traces, ...own } = record;
  if (tab === 'json') return <JsonTree value={own} />;
  return (
    <>
      <Annotations record={record} projectId={projectId} />
      <Scores record={record} />
      <RecordContent record={record} isText={tab === 'text'} />
    </>
  );
});
