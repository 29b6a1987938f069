import { useNavigate } from '@tanstack/react-router';
import type { DetailTab } from '../address/traceAddress.ts';
import type { LogRecord, RunOf } from '../data/records.ts';
import { countText } from '../parts/format.ts';
import { useKeys } from '../parts/useKeys.ts';
import { useSteady } from '../parts/useSteady.ts';
import { withCondition } from './cellFilter.ts';
import { RecordPanel } from './RecordPanel.tsx';
import styles from './RecordsPage.module.css';
import { RecordTable } from './RecordTable.tsx';
import { type FromList, recordPage } from './recordPage.ts';
import { SelectionBar } from './SelectionBar.tsx';
import { useChoice } from './useChoice.ts';
import type { useFoundRecords } from './useFoundRecords.ts';
import { type RunView, useRecordsAddress } from './useRecordsView.ts';

interface Props {
  view: RunView;
  run: RunOf;
  found: ReturnType<typeof useFoundRecords>;
  /** The table begins anew, at its top, with another number. */
  loads: number;
  tab: DetailTab | undefined;
  onTab(tab: DetailTab | undefined): void;
}

/** The table of records, the one that is open at its side, and what is done with those that are chosen. */
export function RecordBrowser({ view, run, found, loads, tab, onTab }: Props) {
  const [address, change] = useRecordsAddress();
  const navigate = useNavigate();
  const { shown, kind, filter } = view;
  const { rows, total, asOf, isOld, onSight } = found;
  const choice = useChoice(JSON.stringify([run, kind, address.q, address.from, address.to]));
  const at = rows.placeOf(address.open);
  const isOpen = address.open !== undefined;
  const onOpen = useSteady((id: string) => change({ open: id }, { replace: isOpen }));
  const onFilter = useSteady((condition: string) => change({ q: withCondition(address.q ?? '', condition), open: undefined }));
  const onChoose = useSteady((id: string, toHere: boolean) =>
    choice.toggle(
      id,
      toHere,
      rows.loaded.map((one) => one.id),
    ),
  );
  const listAt = (place: number): FromList => ({
    ...(run.isExperiment ? { experiment: run.runId } : { run: run.runId }),
    ...{ q: address.q, from: address.from, to: address.to, sort: address.sort, asOf },
    kind: kind === 'spans' ? kind : undefined,
    at: place < 0 ? undefined : place,
  });
  const move = (step: number) => {
    const next = rows.at(at < 0 ? 0 : at + step);
    if (next) onOpen(next.id);
  };
  const onEnter = (record: LogRecord) => {
    const page = recordPage(run.projectId, kind, record.id, record, listAt(rows.placeOf(record.id)));
    if (page) void navigate(page);
  };
  /** The table shows the record that came after those that go. */
  const onDelete = (gone: readonly string[]) => {
    if (address.open === undefined || !gone.includes(address.open)) return;
    const open = rows.loaded.findIndex(({ id }) => id === address.open);
    const stays = ({ id }: LogRecord) => !gone.includes(id);
    const next = rows.loaded.slice(open + 1).find(stays) ?? rows.loaded.slice(0, Math.max(0, open)).findLast(stays);
    change({ open: next?.id }, { replace: true });
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
      <div className={styles.split}>
        {shown && rows.length > 0 && total !== undefined && (
          <RecordTable
            key={loads}
            {...{ rows, total, columns: shown, kind, choice, onOpen, onChoose, onFilter, onEnter, isOld }}
            onSight={onSight}
          />
        )}
        {address.open !== undefined && (
          <RecordPanel
            {...{ run, kind, id: address.open, record: rows.at(at), list: listAt(at), tab, onTab }}
            likelyNext={at < 0 ? [] : [rows.at(at + 1), rows.at(at - 1)].flatMap((one) => one ?? [])}
            hasKeys={count === 0}
            place={at < 0 || total === undefined ? undefined : `${countText(at + 1)} of ${countText(total)}`}
            onMove={move}
            onClose={() => change({ open: undefined })}
          />
        )}
      </div>
      {count > 0 && (
        <SelectionBar
          selection={selection}
          total={total ?? count}
          loaded={rows.loaded}
          onAll={choice.setAll}
          onClear={choice.clear}
          onDelete={onDelete}
        />
      )}
    </>
  );
}
