import { useCallback, useMemo, useState } from 'react';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import { LoadingNote } from '../parts/notes.tsx';
import { useKeys } from '../parts/useKeys.ts';
import { ColumnsMenu } from './ColumnsMenu.tsx';
import { withCondition } from './cellFilter.ts';
import { FilterBar } from './FilterBar.tsx';
import { Histogram } from './Histogram.tsx';
import { LiveTail } from './LiveTail.tsx';
import { NoRecords } from './NoRecords.tsx';
import { RecordPanel } from './RecordPanel.tsx';
import styles from './RecordsPage.module.css';
import { RecordTable } from './RecordTable.tsx';
import { RunPicker } from './RunPicker.tsx';
import { SelectionBar } from './SelectionBar.tsx';
import { useChoice } from './useChoice.ts';
import { placeOf } from './useFarRecords.ts';
import { useFoundRecords } from './useFoundRecords.ts';
import { type RecordsView, useRecordsAddress, useRecordsView } from './useRecordsView.ts';
import { ViewsMenu } from './ViewsMenu.tsx';

/** The records of a run in a table under a filter, with one of them at its side. All that is chosen is in the address. */
export function RecordsPage() {
  const view = useRecordsView();
  return (
    <div className={styles.page}>
      <h1 className="only-read">Records</h1>
      <RunPicker view={view} />
      {view.error && <ErrorNote error={view.error} />}
      {view.streams?.length === 0 && !view.run && <NoRecords view={view} />}
      {view.run && <Records view={view} run={view.run} />}
    </div>
  );
}

function Records({ view, run }: { view: RecordsView; run: NonNullable<RecordsView['run']> }) {
  const [address, change] = useRecordsAddress();
  const { shown, catalog, kind, filter } = view;
  const { records, total, error, isOld, isLoading, onSight, retry, counted, loadNew } = useFoundRecords(view);
  const [loads, setLoads] = useState(0);
  const choice = useChoice(JSON.stringify([run, kind, address.q, address.from, address.to]));
  const at = useMemo(() => placeOf(records, address.open), [records, address.open]);
  const isOpen = address.open !== undefined;
  const onOpen = useCallback((id: string) => change({ open: id }, { replace: isOpen }), [change, isOpen]);
  const onFilter = useCallback(
    (condition: string) => change({ q: withCondition(address.q ?? '', condition), open: undefined }),
    [change, address.q],
  );
  const onChoose = useCallback(
    (id: string, toHere: boolean) =>
      choice.toggle(
        id,
        toHere,
        records.flatMap((one) => one?.id ?? []),
      ),
    [choice, records],
  );
  const move = (step: number) => {
    const next = records[at < 0 ? 0 : at + step];
    if (next) onOpen(next.id);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => address.open !== undefined && onChoose(address.open, false),
    Escape: () => (isOpen ? change({ open: undefined }) : choice.clear()),
  });
  const count = choice.isAll ? (total ?? 0) : choice.ids.length;
  const selection = { run, kind, count, records: choice.isAll ? { filter } : { ids: choice.ids } };
  return (
    <>
      <div className={styles.tools}>
        <FilterBar view={view} />
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
        {catalog && shown && <ColumnsMenu catalog={catalog} shown={shown} />}
      </div>
      {view.question && <Histogram question={view.question} />}
      {error && <ErrorNote error={error} onRetry={retry} />}
      {isLoading && !view.problem && <LoadingNote what={kind} />}
      {total === 0 && !filter && <NoRecords view={view} />}
      {total === 0 && filter && <NothingFits kind={kind} />}
      <div className={styles.split}>
        {shown && records.length > 0 && total !== undefined && (
          <RecordTable
            key={loads}
            {...{ records, total, columns: shown, kind, choice, onOpen, onChoose, onFilter, isOld }}
            onSight={onSight}
          />
        )}
        {address.open !== undefined && (
          <RecordPanel
            {...{ run, kind, id: address.open, record: records[at] }}
            hasKeys={count === 0}
            place={at < 0 || total === undefined ? undefined : `${countText(at + 1)} of ${countText(total)}`}
            onMove={move}
          />
        )}
      </div>
      {count > 0 && (
        <SelectionBar
          selection={selection}
          total={total ?? count}
          loaded={records.flatMap((one) => one ?? [])}
          onAll={choice.setAll}
          onClear={choice.clear}
        />
      )}
    </>
  );
}

function NothingFits({ kind }: { kind: string }) {
  const [, change] = useRecordsAddress();
  return (
    <p className={styles.nothing}>
      No {kind} fit this filter.{' '}
      <button type="button" onClick={() => change({ q: undefined, from: undefined, to: undefined })}>
        Show all
      </button>
    </p>
  );
}
