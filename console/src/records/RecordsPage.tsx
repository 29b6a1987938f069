import { useCallback, useState } from 'react';
import type { DetailTab } from '../address/traceAddress.ts';
import { useProjectName } from '../data/projectName.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import { LoadingNote } from '../parts/notes.tsx';
import { useTitle } from '../parts/useTitle.ts';
import { Histogram } from './Histogram.tsx';
import { LiveTail } from './LiveTail.tsx';
import { NoRecords } from './NoRecords.tsx';
import { NothingFits } from './NothingFits.tsx';
import { RecordBrowser } from './RecordBrowser.tsx';
import { RecordColumns } from './RecordColumns.tsx';
import { RecordFilter } from './RecordFilter.tsx';
import styles from './RecordsPage.module.css';
import { RunPicker } from './RunPicker.tsx';
import { useFoundRecords } from './useFoundRecords.ts';
import { type RecordsView, useRecordsAddress, useRecordsView } from './useRecordsView.ts';
import { ViewsMenu } from './ViewsMenu.tsx';

const titles = { traces: 'Traces', spans: 'Spans', sessions: 'Sessions' };

/** The records of a run in a table under a filter, with one of them at its side. All that is chosen is in the address. */
export function RecordsPage() {
  const view = useRecordsView();
  const { projectId, run, kind, streams, experiments } = view;
  useTitle(titles[kind], useProjectName(projectId));
  return (
    <div className={styles.page}>
      <h1 className="only-read">Records</h1>
      <RunPicker {...{ projectId, run, kind, streams, experiments }} />
      {view.error && <ErrorNote error={view.error} onRetry={view.retry} />}
      {streams?.length === 0 && !run && <NoRecords view={view} />}
      {run && !view.error && <Records view={view} run={run} />}
    </div>
  );
}

function Records({ view, run }: { view: RecordsView; run: NonNullable<RecordsView['run']> }) {
  const [address, change] = useRecordsAddress();
  const { projectId, shown, catalog, kind, filter, problem } = view;
  const found = useFoundRecords(view);
  const { total, error, isLoading, isOld, retry, counted, loadNew } = found;
  const [loads, setLoads] = useState(0);
  const onTab = useCallback((tab: DetailTab | undefined) => change({ tab }, { replace: true }), [change]);
  return (
    <>
      <div className={styles.tools}>
        <RecordFilter
          {...{ projectId, run, kind, catalog, problem }}
          placeholder="Filter, as in status_code >= 400 and (name = answer or tags in prod)"
        />
        <span role="status" className={styles.total}>
          {total === undefined ? ' ' : `${countText(total)} ${total === 1 ? kind.slice(0, -1) : kind}`}
        </span>
        {view.question && (
          <LiveTail
            question={view.question}
            counted={counted}
            onLoad={() => {
              setLoads(loads + 1);
              void loadNew();
            }}
          />
        )}
        {catalog && <ViewsMenu projectId={run.projectId} catalog={catalog} />}
        <RecordColumns {...{ catalog, shown }} />
      </div>
      {view.question && <Histogram question={view.question} waits={isLoading || isOld} />}
      {error && <ErrorNote error={error} onRetry={retry} />}
      {isLoading && !problem && <LoadingNote what={kind} />}
      {total === 0 && !filter && <NoRecords view={view} />}
      {total === 0 && filter && <NothingFits kind={kind} />}
      <RecordBrowser {...{ view, run, found, loads }} tab={address.tab} onTab={onTab} />
    </>
  );
}
