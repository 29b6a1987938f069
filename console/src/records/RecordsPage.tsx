import { useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo } from 'react';
import { recordsQuery } from '../data/records.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import { LoadingNote } from '../parts/notes.tsx';
import { useKeys } from '../parts/useKeys.ts';
import { ColumnsMenu } from './ColumnsMenu.tsx';
import { withCondition } from './cellFilter.ts';
import { FilterBar } from './FilterBar.tsx';
import { NoRecords } from './NoRecords.tsx';
import { RecordPanel } from './RecordPanel.tsx';
import styles from './RecordsPage.module.css';
import { RecordTable } from './RecordTable.tsx';
import { RunPicker } from './RunPicker.tsx';
import { useChoice } from './useChoice.ts';
import { type RecordsView, useRecordsAddress, useRecordsView } from './useRecordsView.ts';

/** The records of a run in a table under a filter, with one of them at its side. All that is chosen is in the address. */
export function RecordsPage() {
  const view = useRecordsView();
  return (
    <div className={styles.page}>
      <h1 className="only-read">Records</h1>
      <RunPicker view={view} />
      {view.error && <ErrorNote error={view.error} />}
      {view.streams?.length === 0 && !view.run && <NoRecords view={view} />}
      {view.run && <Records view={view} />}
    </div>
  );
}

function Records({ view }: { view: RecordsView }) {
  const [address, change] = useRecordsAddress();
  const { question, shown, catalog } = view;
  const found = useInfiniteQuery({
    ...recordsQuery(
      question ?? {
        run: view.run as NonNullable<RecordsView['run']>,
        kind: view.kind,
        filter: undefined,
        sort: undefined,
        columns: [],
      },
    ),
    enabled: question !== undefined,
  });
  const records = useMemo(() => found.data?.pages.flatMap((page) => page.records) ?? [], [found.data]);
  const total = found.data?.pages[0]?.num_rows;
  const at = records.findIndex(({ id }) => id === address.open);
  const { fetchNextPage, hasNextPage, isFetchingNextPage } = found;
  const move = (step: number) => {
    const next = records[at < 0 ? 0 : at + step];
    if (next) change({ open: next.id }, { replace: at >= 0 });
  };
  const choice = useChoice(JSON.stringify([view.run, view.kind, address.q, address.from, address.to]));
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
        records.map((one) => one.id),
      ),
    [choice, records],
  );
  useKeys({ j: () => move(1), k: () => move(-1), Escape: () => address.open && change({ open: undefined }) });
  useEffect(() => {
    if (at >= records.length - 10 && at >= 0 && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [at, records.length, hasNextPage, isFetchingNextPage, fetchNextPage]);

  const isEmptyRun = total === 0 && !view.filter;
  return (
    <>
      <div className={styles.tools}>
        <FilterBar view={view} />
        <span role="status" className={styles.total}>
          {total === undefined ? ' ' : `${countText(total)} ${total === 1 ? view.kind.slice(0, -1) : view.kind}`}
        </span>
        {catalog && shown && <ColumnsMenu catalog={catalog} shown={shown} />}
      </div>
      {found.error && <ErrorNote error={found.error} onRetry={() => void found.refetch()} />}
      {!found.data && !found.error && !view.problem && <LoadingNote what={view.kind} />}
      {isEmptyRun && <NoRecords view={view} />}
      {total === 0 && view.filter && (
        <p className={styles.nothing}>
          No {view.kind} fit this filter.{' '}
          <button type="button" onClick={() => change({ q: undefined, from: undefined, to: undefined })}>
            Show all
          </button>
        </p>
      )}
      <div className={styles.split}>
        {shown && records.length > 0 && total !== undefined && (
          <RecordTable
            {...{ records, total, columns: shown, kind: view.kind, choice, onOpen, onChoose, onFilter }}
            isOld={found.isPlaceholderData}
            onEnd={() => hasNextPage && !isFetchingNextPage && void fetchNextPage()}
          />
        )}
        {address.open !== undefined && (
          <RecordPanel
            {...{ projectId: view.projectId, kind: view.kind, id: address.open, record: records[at] }}
            place={at < 0 || total === undefined ? undefined : `${countText(at + 1)} of ${countText(total)}`}
            onMove={move}
          />
        )}
      </div>
    </>
  );
}
