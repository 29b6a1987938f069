import { jsonWithBigInts } from '../../../shared/wire/longNumbers.ts';
import type { Cell, DatasetRow } from '../data/datasetRows.ts';
import { lineText, UNKNOWN } from '../parts/format.ts';
import { type Typed, typedOf } from './draft.ts';
import type { RowDraft } from './useRowDraft.ts';

/** A row as the grid shows it: of the version, or new. */
export interface GridRow {
  rowId: string;
  index: number;
  /** As it is in the version; undefined of a new one. */
  stored: DatasetRow | undefined;
  /** The values that were typed over it, by column. */
  typed: Readonly<Record<string, Typed>>;
  isRemoved: boolean;
}

const noCells = {};

/** The row at an index of the grid: those of the version, then the new ones. Undefined where it is not loaded. */
export function rowAt(
  index: number,
  { rows, total, result }: { rows: ReadonlyMap<number, DatasetRow>; total: number; result: RowDraft['result'] },
): GridRow | undefined {
  const stored = index < total ? rows.get(index) : undefined;
  const rowId = stored?.row_id ?? (index < total ? undefined : result.added[index - total]);
  if (rowId === undefined) return undefined;
  return { rowId, index, stored, typed: result.cells.get(rowId) ?? noCells, isRemoved: result.removed.has(rowId) };
}

/** JSON of a cell as it is changed by hand. */
export const jsonOfCell = (cell: Cell): string => jsonWithBigInts(cell ?? null);

/** The text of a cell for somebody to read whole or to change. */
export const textOf = (row: GridRow, column: string): Typed =>
  row.typed[column] ?? typedOf(row.stored?.values_dict[column], jsonOfCell);

/** The text of a cell on one line. */
export function lineOf(row: GridRow, column: string): string {
  const typed = row.typed[column];
  return typed ? lineText(typed.text === '' ? null : typed.text) : lineText(row.stored?.values_dict[column]);
}

export const isEmptyLine = (line: string): boolean => line === UNKNOWN;

/** Pixels of the columns that are always in sight. */
export const MARGIN = 96;
const NARROWEST = 160;
const weights: Record<string, number> = { input: 3, output: 2, generated_output: 2 };

/** Widths of the columns in pixels: the known ones get more, and all fill the grid where they can. */
export function widthsOf(columns: readonly string[], available: number): number[] {
  const weighed = columns.map((name) => weights[name] ?? 1.25);
  const sum = weighed.reduce((a, b) => a + b, 0);
  const fits = (available - MARGIN) / sum;
  return weighed.map((weight) => Math.max(NARROWEST, Math.floor(weight * fits)));
}
