/** A row as a function and a local metric see it. */
export interface HostedRow<Input = unknown> {
  /** The `input` cell, parsed where it is JSON; all cells by column name where the dataset has no column `input`. */
  input: Input;
  /** The reference answer: the cell `output`, else `ground_truth`. */
  expected: string | null;
  metadata: Record<string, string>;
  /** Every cell by column name. */
  values: Record<string, unknown>;
  /** Position in the dataset, from 0. */
  ordinal: number;
  /** Which repetition of the row this is, from 0. */
  trial: number;
  id: string;
  /** Aborts when the row's time is over or the experiment is stopped: hand it to what can be cut short. */
  signal: AbortSignal;
}

/** What a metric computed in this process gives: it becomes a searchable column. A map gives one column for each key. */
export type LocalScore =
  | number
  | string
  | boolean
  | null
  | (number | string | boolean | null)[]
  | { [key: string]: number | string | boolean | null };

/** A metric computed in this process, after the row's function has ended. What it throws leaves the row without this metric. */
export interface LocalMetric<Input = unknown, Output = unknown> {
  name: string;
  /** Which of two numbers is better; without it neither is. */
  direction?: 'higher' | 'lower' | undefined;
  /** Between which numbers the values lie, both included. A number outside of them is an error of the metric. */
  range?: { min: number; max: number } | undefined;
  score(row: HostedRow<Input>, output: Output): LocalScore | undefined | Promise<LocalScore | undefined>;
}
