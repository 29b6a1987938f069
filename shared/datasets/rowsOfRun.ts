import type { SourceRow } from './experimentRow.ts';
import type { SelectedRows } from './rowSelection.ts';

/** Where a run's rows come from: a version of a dataset, or a list of records stored for this run only. */
export type RowSource = { kind: 'dataset'; datasetId: string; versionIndex: number } | { kind: 'run' };

/** A run, as far as its rows depend on it. */
export interface RowsOfRun {
  experimentId: string;
  source: RowSource;
  /** The rows of its source that it is over; null: all of them. */
  selectedRows: SelectedRows | null;
  /** Times that each row is run. */
  trials: number;
  /** Executions of rows, each row as often as there are trials. Frozen when the run is requested. */
  rowCount: number;
}

/** The rows that a run is over, whatever they come from. */
export interface RowReader {
  /** The rows [from, to), in order: as many of them as a page holds, which is bounded by bytes, and at least the first. None where they end. */
  page(run: RowsOfRun, from: number, to: number): Promise<SourceRow[]>;
  /** Ids of the rows [from, to), in order, all of them. */
  ids(run: RowsOfRun, from: number, to: number): Promise<string[]>;
}

/** The rows a run would have: how many, and what a template can name. */
export interface RowShape {
  rowCount: number;
  columnNames: string[];
  /** Keys of the JSON objects in the `input` column. */
  inputFields: string[];
  /** Cells of the rows from this position on, by their columns: `count` of them, or as many as a page holds; none where the rows end. */
  values(from: number, count: number): Promise<Readonly<Record<string, unknown>>[]>;
}
