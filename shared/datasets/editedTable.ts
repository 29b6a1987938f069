import { RequestInvalid } from '../errors/errors.ts';
import { newId } from '../identifiers/ids.ts';
import type { DatasetEdit } from '../wire/datasets.ts';
import { toCell } from './cells.ts';
import { someNames } from './columnMapping.ts';
import { type DatasetDeps, noChanges } from './createDataset.ts';
import type { Cell, Column, DatasetVersion, KeyRange, StoredRow, VersionChanges } from './dataset.ts';
import { cutAt, keptOf, membership } from './keyRanges.ts';
import { madeBy, pagesOf } from './rowStore.ts';

/** The parts of a trace or span that become a dataset row. */
export interface CopiedRecord {
  id: string;
  input: unknown;
  output: unknown;
  metadata: Record<string, unknown>;
}
/** The records with these ids in a project that the caller may read; those that do not exist are missing. */
export type ReadRecords = (projectId: string, ids: readonly string[]) => Promise<CopiedRecord[]>;

interface Draft {
  rowId: string;
  cells: StoredRow['cells'];
  /** The stored row that this one replaces. */
  replaces?: StoredRow;
}

/** The table while edits are applied. A row that was only moved is its key; one that is new or changed is a draft. */
export class EditedTable {
  readonly changes: VersionChanges = { ...noChanges };
  readonly #version: DatasetVersion;
  readonly #ranges: KeyRange[];
  /** Stored rows of this version that edits name, by row id. */
  readonly #named: Map<string, StoredRow>;
  readonly #removed = new Set<number>();
  readonly #changed = new Map<number, Draft>();
  /** Rows that are new, by row id: what the lists below hold beside them was deleted again. */
  readonly #drafts = new Map<string, Draft>();
  /** The last one comes first. */
  readonly #before: Draft[] = [];
  readonly #after: Draft[] = [];
  /** When set, only these stored rows are left. */
  #kept: Set<number> | undefined;
  /** New columns have negative keys until real ones are taken. */
  #columns: Map<string, Column>;
  #newColumns = 0;

  private constructor(version: DatasetVersion, ranges: KeyRange[], named: Map<string, StoredRow>) {
    this.#version = version;
    this.#ranges = ranges;
    this.#named = named;
    this.#columns = byName(version.columns);
  }

  static async open(deps: DatasetDeps, version: DatasetVersion, edits: readonly DatasetEdit[]): Promise<EditedTable> {
    const ranges = await deps.rows.ranges(version.datasetId, version.contentId);
    const ids = edits.flatMap((edit) =>
      'row_ids' in edit ? edit.row_ids : 'row_id' in edit && edit.row_id ? [edit.row_id] : [],
    );
    const isCurrent = membership(ranges);
    const named = new Map<string, StoredRow>();
    for (let start = 0; start < ids.length; start += MAX_IDS_PER_READ) {
      const keys = await deps.rows.keysOf(version.datasetId, ids.slice(start, start + MAX_IDS_PER_READ));
      const current = keys.filter(({ rowKey }) => isCurrent(rowKey)).map(({ rowKey }) => ({ rowKey, count: 1 }));
      for await (const page of pagesOf(deps.rows, version.datasetId, current)) for (const row of page) named.set(row.rowId, row);
    }
    return new EditedTable(version, ranges, named);
  }

  get draftCount(): number {
    return this.#drafts.size + this.#changed.size;
  }

  get columnCount(): number {
    return this.#columns.size;
  }

  get newColumnCount(): number {
    return this.#newColumns;
  }

  async apply(edit: DatasetEdit, loc: (string | number)[], readRecords: ReadRecords): Promise<void> {
    switch (edit.edit_type) {
      case 'prepend_row':
        this.#before.push(this.#newRow(edit.values, edit.row_id, loc));
        return;
      case 'append_row':
        this.#after.push(this.#newRow(edit.values, edit.row_id, loc));
        return;
      case 'update_row':
        this.#updateRow(edit.row_id, edit.values, loc);
        return;
      case 'delete_row':
        this.#deleteRow(edit.row_id, loc);
        return;
      case 'filter_rows':
        this.#filterRows(edit.row_ids, loc);
        return;
      case 'copy_record_data':
        await this.#copyRecords(edit, loc, readRecords);
        return;
      case 'remove_column': {
        this.#columns.delete(this.#column(edit.column_name, [...loc, 'column_name']).name);
        this.changes.columnsRemoved += 1;
        return;
      }
      case 'rename_column':
        this.#renameColumn(edit.column_name, edit.new_column_name, loc);
        return;
      default:
        edit satisfies never;
    }
  }

  /** Rows to store and the order of the new version, with real keys for what is new. */
  finish(
    taken: { rowKey: number; columnKey: number },
    { userId, at, versionIndex }: { userId: string; at: string; versionIndex: number },
  ): { rows: StoredRow[]; ranges: KeyRange[]; columns: Column[] } {
    const realKey = (key: number) => (key < 0 ? taken.columnKey - key - 1 : key);
    const rows: StoredRow[] = [];
    const order: KeyRange[] = [];
    const append = (rowKey: number, count: number) => {
      const last = order.at(-1);
      if (last && last.rowKey + last.count === rowKey) last.count += count;
      else order.push({ rowKey, count });
    };
    const store = ({ rowId, cells, replaces }: Draft) => {
      const row: StoredRow = {
        ...madeBy(userId, at, versionIndex),
        ...(replaces && {
          createdBy: replaces.createdBy,
          createdAt: replaces.createdAt,
          createdInVersion: replaces.createdInVersion,
        }),
        rowKey: taken.rowKey + rows.length,
        rowId,
        cells: Object.fromEntries(Object.entries(cells).map(([key, cell]) => [realKey(Number(key)), cell])),
      };
      rows.push(row);
      append(row.rowKey, 1);
    };
    const storeNew = (draft: Draft) => {
      if (this.#drafts.get(draft.rowId) === draft) store(draft);
    };
    this.#before.toReversed().forEach(storeNew);
    const touched = this.#kept ? undefined : [...this.#removed, ...this.#changed.keys()].sort((a, b) => a - b);
    for (const range of this.#ranges) {
      for (const { rowKey, count } of this.#kept ? keptOf(range, this.#kept) : cutAt(range, touched ?? [])) {
        const changed = count === 1 ? this.#changed.get(rowKey) : undefined;
        if (changed) store(changed);
        else if (!this.#removed.has(rowKey) || count > 1) append(rowKey, count);
      }
    }
    this.#after.forEach(storeNew);
    const columns = [...this.#columns.values()].map(({ key, name }) => ({ key: realKey(key), name }));
    return { rows, ranges: order, columns };
  }

  #newRow(values: Record<string, unknown>, rowId: string | null | undefined, loc: (string | number)[]): Draft {
    if (rowId && this.#exists(rowId))
      throw invalid([...loc, 'row_id'], 'row_exists', `row ${rowId} exists already in this dataset`);
    this.changes.rowsAdded += 1;
    const draft = { rowId: rowId ?? newId(), cells: this.#cells(values) };
    this.#drafts.set(draft.rowId, draft);
    return draft;
  }

  #updateRow(rowId: string, values: Record<string, unknown>, loc: (string | number)[]): void {
    const draft = this.#drafts.get(rowId);
    if (draft) {
      draft.cells = { ...draft.cells, ...this.#cells(values) };
      return;
    }
    const stored = this.#stored(rowId, loc);
    const cells = this.#cells(values);
    if (!this.#changed.has(stored.rowKey)) this.changes.rowsEdited += 1;
    const before = this.#changed.get(stored.rowKey)?.cells ?? stored.cells;
    this.#changed.set(stored.rowKey, { rowId, cells: { ...before, ...cells }, replaces: stored });
  }

  #deleteRow(rowId: string, loc: (string | number)[]): void {
    if (this.#drafts.delete(rowId)) {
      this.changes.rowsAdded -= 1;
      return;
    }
    const stored = this.#stored(rowId, loc);
    if (this.#changed.delete(stored.rowKey)) this.changes.rowsEdited -= 1;
    this.#removed.add(stored.rowKey);
    this.changes.rowsRemoved += 1;
  }

  #filterRows(rowIds: readonly string[], loc: (string | number)[]): void {
    const kept = new Set(rowIds);
    const drafts = this.draftCount;
    const storedBefore = this.#kept?.size ?? this.#version.numRows;
    this.#kept = new Set(
      [...kept].filter((rowId) => !this.#drafts.has(rowId)).map((rowId) => this.#stored(rowId, loc, 'row_ids').rowKey),
    );
    for (const rowId of this.#drafts.keys()) if (!kept.has(rowId)) this.#drafts.delete(rowId);
    this.changes.rowsAdded -= drafts - this.draftCount;
    this.changes.rowsRemoved += storedBefore - this.#kept.size;
  }

  async #copyRecords(
    edit: Extract<DatasetEdit, { edit_type: 'copy_record_data' }>,
    loc: (string | number)[],
    readRecords: ReadRecords,
  ): Promise<void> {
    if (!edit.project_id) throw invalid([...loc, 'project_id'], 'missing', 'copying records needs the project they are in');
    const found = new Map((await readRecords(edit.project_id, edit.ids)).map((record) => [record.id, record]));
    const rows = edit.ids.map((id, index) => {
      const record = found.get(id);
      if (!record)
        throw invalid([...loc, 'ids', index], 'record_unknown', `there is no trace or span ${id} in project ${edit.project_id}`);
      const output = edit.use_generated_output_column ? 'generated_output' : 'output';
      const values = { input: asText(record.input), [output]: asText(record.output), metadata: record.metadata };
      return this.#newRow(values, undefined, loc);
    });
    if (edit.prepend) this.#before.push(...rows.reverse());
    else this.#after.push(...rows);
  }

  #renameColumn(from: string, to: string, loc: (string | number)[]): void {
    const column = this.#column(from, [...loc, 'column_name']);
    if (from === to) return;
    if (this.#columns.has(to)) throw invalid([...loc, 'new_column_name'], 'column_exists', `there is a column "${to}" already`);
    // It keeps its position.
    this.#columns = byName([...this.#columns.values()].map((one) => (one === column ? { key: one.key, name: to } : one)));
    this.changes.columnsRenamed += 1;
  }

  #column(name: string, loc: (string | number)[]): Column {
    const column = this.#columns.get(name);
    if (column) return column;
    throw invalid(loc, 'column_unknown', `there is no column "${name}"; columns: ${someNames([...this.#columns.keys()])}`);
  }

  /** Cells by column key; a name that is no column becomes one. */
  #cells(values: Record<string, unknown>): StoredRow['cells'] {
    return Object.fromEntries(
      Object.entries(values).map(([name, value]): [number, Cell] => {
        let column = this.#columns.get(name);
        if (!column) {
          this.#newColumns += 1;
          column = { key: -this.#newColumns, name };
          this.#columns.set(name, column);
          this.changes.columnsAdded += 1;
        }
        return [column.key, toCell(value)];
      }),
    );
  }

  #exists(rowId: string): boolean {
    const stored = this.#named.get(rowId);
    return (stored !== undefined && this.#isLeft(stored)) || this.#drafts.has(rowId);
  }

  #isLeft(row: StoredRow): boolean {
    return !this.#removed.has(row.rowKey) && (!this.#kept || this.#kept.has(row.rowKey));
  }

  #stored(rowId: string, loc: (string | number)[], field = 'row_id'): StoredRow {
    const row = this.#named.get(rowId);
    if (row && this.#isLeft(row)) return row;
    throw invalid([...loc, field], 'row_unknown', `there is no row ${rowId} in the dataset's current version`);
  }
}

const byName = (columns: readonly Column[]): Map<string, Column> => new Map(columns.map((column) => [column.name, column]));

const MAX_IDS_PER_READ = 1000;

const invalid = (loc: (string | number)[], type: string, msg: string) => new RequestInvalid([{ loc, type, msg }]);

const asText = (value: unknown): string | null =>
  value === null || value === undefined ? null : typeof value === 'string' ? value : JSON.stringify(value);
