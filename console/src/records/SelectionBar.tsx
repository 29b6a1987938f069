import { Link } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { CollectButtons } from '../collect/CollectButtons.tsx';
import { deleteRecordsLater } from '../data/deletions.ts';
import { exportFormats, saveAs } from '../data/exports.ts';
import { useMay } from '../data/permissions.ts';
import { countOf, type Selection } from '../data/selection.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import { Icon } from '../parts/Icon.tsx';
import { say } from '../parts/notice.ts';
import styles from './RecordsPage.module.css';

interface Props {
  selection: Selection;
  /** Number of records that fit the filter. */
  total: number;
  loaded: readonly { id: string }[];
  onAll(): void;
  onClear(): void;
  onDelete(ids: readonly string[]): void;
}

/** Samples that one try-out of a judge takes. */
const MOST_TO_JUDGE = 100;
/** As many ids as a browser sends when its page goes. */
const MOST_TO_DELETE = 1_000;

/** Actions on the records that are chosen. */
export function SelectionBar({ selection, total, loaded, onAll, onClear, onDelete }: Props) {
  const { run } = selection;
  const { projectId } = run;
  const mayExport = useMay(projectId, 'export_data');
  const mayJudge = useMay(projectId, 'set_metric');
  const mayDelete = useMay(projectId, 'delete_data');
  const formats = useRef<HTMLDivElement>(null);
  const [error, setError] = useState<unknown>();
  const save = async (format: (typeof exportFormats)[number][0]) => {
    formats.current?.hidePopover();
    setError(undefined);
    try {
      await saveAs(format, selection);
      say(`${countOf(selection)} saved`);
    } catch (err) {
      setError(err);
    }
  };
  const { records } = selection;
  const isAll = 'filter' in records;
  const isTooMany = !isAll && records.ids.length > MOST_TO_DELETE;
  const remove = () => {
    const gone = isAll ? loaded.map(({ id }) => id) : records.ids;
    deleteRecordsLater(selection, gone);
    onDelete(gone);
    onClear();
  };
  return (
    <section className={styles.chosen} aria-label="Chosen records">
      <span className={styles.total}>{countOf(selection)} chosen</span>
      {!isAll && total > selection.count && (
        <button type="button" className="plain" onClick={onAll}>
          All {countText(total)}
        </button>
      )}
      <CollectButtons selection={selection} hasKeys />
      {mayJudge && (
        <Link
          to="/p/$projectId/metrics/new"
          params={{ projectId }}
          search={{
            ...(run.isExperiment ? { experiment: run.runId } : { run: run.runId }),
            ids: (isAll ? loaded.map(({ id }) => id) : records.ids).slice(0, MOST_TO_JUDGE),
          }}
          title={selection.count > MOST_TO_JUDGE ? `On the first ${MOST_TO_JUDGE} of them` : undefined}
        >
          Try a judge
        </Link>
      )}
      {mayExport && (
        <>
          <button type="button" popoverTarget="formats">
            Export
          </button>
          <div ref={formats} popover="auto" id="formats" className="menu">
            {exportFormats.map(([format, label]) => (
              <button key={format} type="button" className="plain item" onClick={() => void save(format)}>
                {label}
              </button>
            ))}
          </div>
        </>
      )}
      {mayDelete && (
        <button
          type="button"
          className="bad"
          disabled={isTooMany}
          title={isTooMany ? `At most ${countText(MOST_TO_DELETE)} one by one, or all of a filter` : undefined}
          onClick={remove}
        >
          Delete
        </button>
      )}
      <button type="button" className="plain iconed" aria-label="Choose none" onClick={onClear}>
        <Icon name="close" />
      </button>
      {error !== undefined && <ErrorNote error={error} />}
    </section>
  );
}
