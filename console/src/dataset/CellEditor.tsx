import { type KeyboardEvent, useEffect, useRef } from 'react';
import { type GridRow, textOf } from './gridRows.ts';
import styles from './RowGrid.module.css';
import { type RowDraft, stepOf } from './useRowDraft.ts';

interface Props {
  /** Undefined while it is not loaded. */
  row: GridRow | undefined;
  column: string;
  draft: RowDraft;
  isReadOnly: boolean;
  /** Pixels in the grid. */
  place: { top: number; left: number; width: number; most: number };
  /** Closed; the next cell is so far down and to the right. */
  onEnd(down: number, right: number): void;
}

/** Pixels of a character, for an estimate of lines. */
const CHARACTER = 8;

/** The whole text of a cell over its place. Enter and Tab take it, Escape leaves the cell as it was. */
export function CellEditor({ row, column, draft, isReadOnly, place, onEnd }: Props) {
  const field = useRef<HTMLTextAreaElement>(null);
  const isDone = useRef(false);
  useEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length);
  }, []);
  const before = row && textOf(row, column);
  const { typing } = draft.draft;
  const text = isReadOnly ? (before?.text ?? '') : (typing?.text ?? '');
  const take = () => {
    if (isReadOnly || isDone.current || !typing || !before) return;
    isDone.current = true;
    const step = stepOf(typing.rowId, column, text, before);
    if (step) draft.take(step);
    else draft.stopTyping();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === 'Escape') {
      isDone.current = true;
      draft.stopTyping();
      onEnd(0, 0);
    } else if (event.key === 'Tab' || (event.key === 'Enter' && !event.shiftKey)) {
      take();
      onEnd(event.key === 'Enter' ? (isReadOnly ? 0 : 1) : 0, event.key === 'Tab' ? (event.shiftKey ? -1 : 1) : 0);
    } else return;
    event.preventDefault();
  };
  const width = Math.min(place.width, Math.max(place.most, 200));
  return (
    // A grid holds rows with cells, and nothing else.
    <div role="row">
      <div role="gridcell" className={styles.editor} style={{ top: place.top, left: place.left, width }}>
        <textarea
          ref={field}
          aria-label={`${column} of row ${(row?.index ?? typing?.index ?? 0) + 1}`}
          value={text}
          readOnly={isReadOnly}
          rows={Math.min(
            14,
            Math.max(2, text.slice(0, 5_000).split('\n').length + Math.floor((text.length * CHARACTER) / width)),
          )}
          spellCheck={false}
          onChange={(event) => typing && draft.type({ ...typing, text: event.target.value })}
          onBlur={() => {
            take();
            if (isReadOnly) onEnd(0, 0);
          }}
          onKeyDown={onKeyDown}
        />
        <p className="quiet">{isReadOnly ? 'Esc closes' : 'Enter takes it, Shift-Enter is a new line, Esc leaves it'}</p>
      </div>
    </div>
  );
}
