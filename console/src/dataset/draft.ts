import { parseExactly } from '../../../shared/datasetFiles/parseExactly.ts';
import type { Cell, DatasetChanges, DatasetEdits } from '../data/datasetRows.ts';

/** One thing that somebody did to the rows. A cell is kept as the text that was typed. */
export type Step =
  | { does: 'set'; rowId: string; column: string; text: string; isJson: boolean }
  | { does: 'add'; rowId: string; cells: Record<string, Typed> }
  | { does: 'remove'; rowIds: string[] }
  | { does: 'column'; name: string };

/** A cell as it was typed. */
export interface Typed {
  text: string;
  /** The text is JSON: a number or an object is meant, not a text. */
  isJson: boolean;
}

/** Edits of the rows of a version that are not saved. */
export interface Draft {
  base: number;
  steps: readonly Step[];
  /** Steps that were taken back, the last one first. */
  undone: readonly Step[];
  /** The cell in which somebody is typing. */
  typing?: Typing | undefined;
}

export interface Typing {
  rowId: string;
  /** Index of the row in the grid. */
  index: number;
  column: string;
  text: string;
}

/** The changes that the steps come to. */
export interface Folded {
  cells: ReadonlyMap<string, Readonly<Record<string, Typed>>>;
  /** New rows, in their order, without those that were removed again. */
  added: readonly string[];
  removed: ReadonlySet<string>;
  columns: readonly string[];
  /** Rows that are new, changed or removed. */
  count: number;
}

export function folded(steps: readonly Step[]): Folded {
  const cells = new Map<string, Record<string, Typed>>();
  const added = new Set<string>();
  const removed = new Set<string>();
  const columns = new Set<string>();
  for (const step of steps) {
    if (step.does === 'column') columns.add(step.name);
    else if (step.does === 'set')
      cells.set(step.rowId, { ...cells.get(step.rowId), [step.column]: { text: step.text, isJson: step.isJson } });
    else if (step.does === 'add') {
      added.add(step.rowId);
      cells.set(step.rowId, step.cells);
    } else
      for (const rowId of step.rowIds)
        if (!added.delete(rowId)) removed.add(rowId);
        else cells.delete(rowId);
  }
  const changed = [...cells.keys()].filter((rowId) => !added.has(rowId) && !removed.has(rowId)).length;
  return { cells, added: [...added], removed, columns: [...columns], count: added.size + removed.size + changed };
}

/** The text of a cell for somebody to change. */
export function typedOf(cell: Cell, jsonOf: (cell: Cell) => string): Typed {
  if (cell === null || cell === undefined) return { text: '', isJson: false };
  return typeof cell === 'string' ? { text: cell, isJson: false } : { text: jsonOf(cell), isJson: true };
}

/** A cell that held JSON, or the metadata, takes JSON; other cells take the text as it is. */
export function typedBy(text: string, column: string, before: Typed): Typed {
  const takesJson = before.isJson || column === 'metadata';
  return { text, isJson: takesJson && text.trim() !== '' && isCellJson(text) };
}

function isCellJson(text: string): boolean {
  const value = valueIn(text);
  return (
    typeof value === 'number' ||
    typeof value === 'bigint' ||
    (typeof value === 'object' && value !== null && !Array.isArray(value))
  );
}

function valueIn(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
}

/** The cell that is meant; an empty text is no value. */
const cellOf = ({ text, isJson }: Typed): unknown => (text === '' ? null : isJson ? valueIn(text) : text);

const cellsOf = (typed: Readonly<Record<string, Typed>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(typed).map(([column, one]) => [column, cellOf(one)]));

/** The edits of the API that the steps come to. */
export function editsOf({ cells, added, removed }: Folded): DatasetEdits {
  const isNew = new Set(added);
  return [
    ...[...cells]
      .filter(([rowId]) => !isNew.has(rowId) && !removed.has(rowId))
      .map(([rowId, typed]) => ({ edit_type: 'update_row' as const, row_id: rowId, values: cellsOf(typed) })),
    ...[...removed].map((rowId) => ({ edit_type: 'delete_row' as const, row_id: rowId })),
    ...added.map((rowId) => ({ edit_type: 'append_row' as const, row_id: rowId, values: cellsOf(cells.get(rowId) ?? {}) })),
  ];
}

/** A cell that two people have changed. */
export interface Clash {
  rowId: string;
  column: string;
  mine: string;
  theirs: Cell;
}

/** A draft on top of other people's changes, and what they did to it. */
export interface Rebased {
  draft: Draft;
  clashes: readonly Clash[];
  /** Rows that others removed and the draft changes: they become new rows. */
  revived: number;
}

/** The draft on top of what other people have saved meanwhile: nothing that was typed is lost. */
export function rebased(draft: Draft, changes: DatasetChanges, jsonOf: (cell: Cell) => string): Rebased {
  const { cells, added, removed } = folded(draft.steps);
  const renamed = new Map(changes.columns_renamed.map(({ from, to }) => [from, to]));
  const nameOf = (column: string) => renamed.get(column) ?? column;
  const theirs = new Map(changes.changes.map((one) => [one.row_id, one]));
  const isNew = new Set(added);
  const steps: Step[] = draft.steps.filter(({ does }) => does === 'column');
  const clashes: Clash[] = [];
  let revived = 0;
  for (const [rowId, typed] of cells) {
    if (isNew.has(rowId) || removed.has(rowId)) continue;
    const change = theirs.get(rowId);
    const mine = Object.fromEntries(Object.entries(typed).map(([column, one]) => [nameOf(column), one]));
    if (change?.change === 'removed') {
      revived += 1;
      const before = Object.entries(change.values_before ?? {}).map(([column, cell]) => [nameOf(column), typedOf(cell, jsonOf)]);
      steps.push({ does: 'add', rowId: crypto.randomUUID(), cells: { ...Object.fromEntries(before), ...mine } });
      continue;
    }
    for (const [column, one] of Object.entries(typed)) {
      const name = nameOf(column);
      const now = change?.values?.[name];
      if (change?.change === 'edited' && jsonOf(now) !== jsonOf(change.values_before?.[column]))
        clashes.push({ rowId, column: name, mine: one.text, theirs: now });
      steps.push({ does: 'set', rowId, column: name, ...one });
    }
  }
  const left = [...removed].filter((rowId) => theirs.get(rowId)?.change !== 'removed');
  if (left.length > 0) steps.push({ does: 'remove', rowIds: left });
  for (const rowId of added) {
    const typed = Object.entries(cells.get(rowId) ?? {}).map(([column, one]) => [nameOf(column), one]);
    steps.push({ does: 'add', rowId, cells: Object.fromEntries(typed) });
  }
  return { draft: { ...draft, base: changes.version_index, steps, undone: [] }, clashes, revived };
}
