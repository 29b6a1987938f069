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
  /** Repetition of the row, from 0. */
  trial: number;
  id: string;
  /** Aborts when the row's time is over or the experiment is stopped: hand it to what can be cut short. */
  signal: AbortSignal;
}

type ScoreValue = number | string | boolean | null;

/** A score with what explains it, under the names that evaluation libraries have for it. */
export interface ExplainedScore {
  /** The column; absent: the metric's name, or the key of the map that holds the score. `key` is the same. */
  name?: string | undefined;
  key?: string | undefined;
  /** Null: the metric does not apply to this row. */
  score?: ScoreValue | undefined;
  /** In place of a score, or beside it in its metadata. */
  value?: ScoreValue | undefined;
  label?: string | null | undefined;
  /** Why it is this score; `comment`, `reason`, `reasoning`, `rationale` and `justification` are the same. */
  explanation?: string | null | undefined;
  comment?: string | null | undefined;
  reason?: string | null | undefined;
  reasoning?: string | null | undefined;
  rationale?: string | null | undefined;
  justification?: string | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
  /** Why there is no score: the metric failed on this row. */
  error?: string | null | undefined;
}

/** Scores by name, each of which is a column of its own. */
export interface ScoreMap {
  [name: string]: ScoreValue | ExplainedScore;
}

/**
 * The result of a metric computed in this process: it becomes a searchable column with its explanation. A map gives one column for each key, a list of
 * scores one for each name, a pair the score and its metadata. Null is no score and no error.
 */
export type LocalScore =
  | ScoreValue
  | ScoreValue[]
  | ExplainedScore
  | ScoreMap
  | [score: ScoreValue, metadata: Record<string, unknown>]
  | (ExplainedScore | ScoreMap)[]
  | { results: (ExplainedScore | ScoreMap)[] };

/** The meaning of the numbers of a metric. */
export interface LocalScale {
  /** The direction in which numbers are better; without it no number is. */
  direction?: 'higher' | 'lower' | undefined;
  /** Between which numbers the values lie, both included. A number outside of them is an error of the metric. */
  range?: { min: number; max: number } | undefined;
}

/**
 * A metric computed in this process, after the row's function has ended. What it throws, and what it gives that is no score, is a failed score of the
 * row with the reason.
 */
export interface LocalMetric<Input = unknown, Output = unknown> extends LocalScale {
  name: string;
  /** The meaning of the numbers under the names that a result gives beside the metric's own. */
  scales?: Record<string, LocalScale> | undefined;
  score(row: HostedRow<Input>, output: Output): LocalScore | undefined | Promise<LocalScore | undefined>;
}
