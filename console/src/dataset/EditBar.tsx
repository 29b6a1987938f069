import { useMemo } from 'react';
import type { DatasetRow } from '../data/datasetRows.ts';
import type { Dataset } from '../data/datasets.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import { NewNamed } from '../parts/NewNamed.tsx';
import { useKeys } from '../parts/useKeys.ts';
import styles from './DatasetPage.module.css';
import { TryRow } from './TryRow.tsx';
import { useEditKeys } from './useEditKeys.ts';
import type { RowDraft } from './useRowDraft.ts';

interface Props {
  dataset: Dataset;
  draft: RowDraft;
  columns: readonly string[];
  isEditable: boolean;
  chosen: ReadonlySet<string>;
  /** Those that are loaded, by their places. */
  rows: ReadonlyMap<number, DatasetRow>;
  /** Called when the chosen rows are dealt with. */
  onChosen(): void;
}

/** Adds and removes rows and columns, takes changes back, and saves all of them as one version. */
export function EditBar({ dataset, draft, columns, isEditable, chosen, rows, onChosen }: Props) {
  const { result, draft: kept } = draft;
  const canSave = isEditable && result.count > 0 && !draft.isSaving && !draft.isBehind;
  const addRow = () => {
    const names = columns.length > 0 ? [] : [['input', { text: '', isJson: false }] as const];
    draft.take(...names.map(([name]) => ({ does: 'column' as const, name })), {
      does: 'add',
      rowId: crypto.randomUUID(),
      cells: Object.fromEntries(names),
    });
  };
  const removeChosen = () => {
    draft.take({ does: 'remove', rowIds: [...chosen] });
    onChosen();
  };
  useEditKeys(isEditable ? { undo: draft.undo, redo: draft.redo, save: () => canSave && draft.save() } : undefined);
  useKeys({ Escape: onChosen });
  const status = useMemo(() => statusOf(result), [result]);
  return (
    <>
      <div className={styles.bar}>
        <span role="status" className={styles.count}>
          {result.count > 0 ? status : `${countText(dataset.num_rows)} rows`}
        </span>
        {draft.bringBack && (
          <button type="button" className="plain" onClick={draft.bringBack}>
            Bring the changes back
          </button>
        )}
        {isEditable && (
          <>
            <TryRow {...{ dataset, chosen, rows }} version={kept.base} />
            {chosen.size > 0 && (
              <button type="button" className="bad" onClick={removeChosen}>
                Delete {countText(chosen.size)} {chosen.size === 1 ? 'row' : 'rows'}
              </button>
            )}
            <button type="button" onClick={addRow}>
              Add a row
            </button>
            <NewNamed
              title="Add a column"
              action="Add it"
              className=""
              onName={async (name) => addColumn(draft, columns, name)}
            />
            {(kept.steps.length > 0 || kept.undone.length > 0) && (
              <>
                <button type="button" className="plain" title="Ctrl-Z" disabled={kept.steps.length === 0} onClick={draft.undo}>
                  Undo
                </button>
                <button
                  type="button"
                  className="plain"
                  title="Ctrl-Shift-Z"
                  disabled={kept.undone.length === 0}
                  onClick={draft.redo}
                >
                  Redo
                </button>
                <button type="button" className="plain" onClick={draft.discard}>
                  Discard
                </button>
                <button type="button" className="primary" title="Ctrl-S" disabled={!canSave} onClick={draft.save}>
                  {draft.isSaving ? 'Saving …' : `Save as version ${kept.base + 1}`}
                </button>
              </>
            )}
          </>
        )}
      </div>
      {draft.error && <ErrorNote error={draft.error} onRetry={draft.save} />}
    </>
  );
}

function addColumn(draft: RowDraft, columns: readonly string[], name: string): void {
  if (columns.includes(name)) throw new Error(`there is a column “${name}” already`);
  draft.take({ does: 'column', name });
}

/** `3 rows changed, 1 new, 2 removed: not saved yet` */
function statusOf({ cells, added, removed }: RowDraft['result']): string {
  const isNew = new Set(added);
  const changed = [...cells.keys()].filter((rowId) => !isNew.has(rowId) && !removed.has(rowId)).length;
  const parts = [
    changed > 0 ? `${countText(changed)} changed` : '',
    added.length > 0 ? `${countText(added.length)} new` : '',
    removed.size > 0 ? `${countText(removed.size)} removed` : '',
  ];
  return `${parts.filter((part) => part !== '').join(', ')}: not saved yet`;
}
