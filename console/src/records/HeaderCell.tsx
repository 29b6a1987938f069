import type { DragEvent, KeyboardEvent, PointerEvent } from 'react';
import type { RecordsQuestion } from '../data/records.ts';
import { setWidth } from '../parts/preferences.ts';
import { leftOf } from './Cell.tsx';
import { fittingWidth, type PlacedColumn } from './columnLayout.ts';
import styles from './RecordTable.module.css';

interface Props {
  column: PlacedColumn;
  sort: RecordsQuestion['sort'];
  /** A column with a minus before it where the largest come first. */
  onSort(sort: string | undefined): void;
  /** Puts a column in the place of another. */
  onDropped(id: string, target: string): void;
}

const DRAGGED = 'application/x-assay-column';

/** Sorts by its column, the largest first; is dragged to another place; its edge makes it wider. */
export function HeaderCell({ column, sort, onSort, onDropped }: Props) {
  const { id, label, isNumber, isSortable, left } = column;
  const isChosen = sort?.column === id;
  const next = !isChosen ? `-${id}` : sort.ascending ? undefined : id;
  const sorted = !isChosen ? 'none' : sort.ascending ? 'ascending' : 'descending';
  const dragged = (event: DragEvent) => event.dataTransfer.setData(DRAGGED, id);
  const over = (event: DragEvent) => event.dataTransfer.types.includes(DRAGGED) && event.preventDefault();
  return (
    <div
      role="columnheader"
      aria-sort={sorted}
      className={isNumber ? styles.numberHead : undefined}
      data-pinned={left === undefined ? undefined : true}
      style={leftOf(column)}
      title={id}
      draggable
      onDragStart={dragged}
      onDragOver={over}
      onDrop={(event) => onDropped(event.dataTransfer.getData(DRAGGED), id)}
    >
      <span className={styles.headLabel}>
        {isSortable ? (
          <button type="button" onClick={() => onSort(next)}>
            {label}
            <span aria-hidden="true">{isChosen ? (sort.ascending ? ' ↑' : ' ↓') : ''}</span>
          </button>
        ) : (
          label
        )}
      </span>
      <Edge column={column} />
    </div>
  );
}

/** The edge of a column: dragged, or moved by the arrows. While it moves, the grid's own style has the width, so no row is built anew. */
function Edge({ column: { id, label, width } }: { column: PlacedColumn }) {
  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    event.preventDefault();
    const edge = event.currentTarget;
    const grid = edge.closest<HTMLElement>('[role=grid]');
    const place = [...(edge.parentElement?.parentElement?.children ?? [])].indexOf(edge.parentElement as Element);
    const tracks = grid?.style.getPropertyValue('--columns').match(/minmax\([^)]*\)|\S+/g) ?? [];
    const began = event.clientX;
    const shown = edge.parentElement?.getBoundingClientRect().width ?? width;
    let reached = fittingWidth(shown);
    const onMove = ({ clientX }: globalThis.PointerEvent) => {
      reached = fittingWidth(shown + clientX - began);
      grid?.style.setProperty('--columns', tracks.map((track, at) => (at === place ? `${reached}px` : track)).join(' '));
    };
    const onEnd = () => {
      edge.removeEventListener('pointermove', onMove);
      setWidth(id, reached);
    };
    edge.setPointerCapture(event.pointerId);
    edge.addEventListener('pointermove', onMove);
    edge.addEventListener('lostpointercapture', onEnd, { once: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 16 : event.key === 'ArrowLeft' ? -16 : 0;
    if (step === 0) return;
    event.preventDefault();
    event.stopPropagation();
    setWidth(id, fittingWidth(width + step));
  };
  return (
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${label}`}
      aria-valuenow={width}
      tabIndex={0}
      className={styles.edge}
      draggable // of itself, so that the column is not dragged with it
      onDragStart={(event) => event.preventDefault()}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
    />
  );
}
