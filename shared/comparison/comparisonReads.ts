import type { ColumnDef } from '../columns/columnDef.ts';
import type { RunRef } from '../projects/runs.ts';
import type { RecordKey } from '../records/searchRecords.ts';
import type { Moments } from '../statistics/differences.ts';

/** The key by which the rows of two experiments are matched: the best one that both have. */
export type MatchedBy = 'dataset_row' | 'dataset_input' | 'input';

/** Counts of what the traces of an experiment say about their rows. */
export interface RowOutline {
  rows: number;
  failed: number;
  /** Traces among them that ran a row of a dataset, and traces that have a dataset input. */
  withDatasetRow: number;
  withDatasetInput: number;
  /** Other traces with the same row. */
  repeats: boolean;
}

/** Two experiments, and how their rows are matched. */
export interface ComparedRuns {
  baseline: RunRef;
  other: RunRef;
  matchedBy: MatchedBy;
  /** True when all traces of both have the id of a dataset row. */
  allHaveRowIds: boolean;
  /** True when either side has trials. */
  hasTrials: boolean;
  /** Two versions of one dataset: a row with the same id may have another content. */
  versions: { datasetId: string; earlier: number; later: number } | undefined;
}

/** Rows of two experiments. Of trials there is one row. */
export interface MatchedRows {
  matched: number;
  onlyInBaseline: number;
  onlyInOther: number;
  /** Rows with the same id in both and another content: they are compared with nothing. */
  changed: number;
}

/** One side of a metric. */
export interface MetricSide {
  /** Values on all its rows, by what they are. */
  booleans: number;
  numbers: number;
  labels: number;
  /** Values that are no finite number. */
  infinite: number;
  /** Over the complete pairs; null without any. */
  mean: number | null;
  p50: number | null;
  p95: number | null;
}

/** A metric over the rows of two experiments. Values of trials are averaged per row first. */
export interface PairedMetric {
  metric: string;
  /** Value of the slice's column; null where the rows are not sliced, or have none. */
  slice: string | null;
  baseline: MetricSide;
  other: MetricSide;
  moments: Moments;
  /** Each difference, or each distinct one with its count; undefined where there are many, and of a metric of yes and no, whose moments give them. */
  differences: { values: number[]; counts?: number[] } | undefined;
  /** Rows with a value on one side only. */
  missing: number;
}

/** How often a row has one label on the baseline's side and another on the other's; of trials the most frequent label. */
export interface LabelPairs {
  metric: string;
  slice: string | null;
  baseline: string;
  other: string;
  rows: number;
}

export interface PairsQuery extends ComparedRuns {
  /** Metrics of scorers and of clients. */
  metrics: readonly string[];
  /** Beside them duration, tokens and cost of each row. */
  withMeasured: boolean;
  /** The value that a failed row without one counts as, by metric; under a metric that is missing here, the row has no value. */
  worst: ReadonlyMap<string, number>;
  /** Rows are grouped by their value of this column, on the baseline where both have the row. */
  slice?: ColumnDef;
}

/** A condition on a row of two experiments: on its values of a metric, or on the row itself. */
export type RowCondition =
  | { is: 'better' | 'worse' | 'changed' | 'missing'; metric: string }
  | { is: 'failed' | 'content_changed' };

export interface RowPageQuery extends ComparedRuns {
  metrics: readonly { id: string; direction: 'higher' | 'lower' | null }[];
  worst: ReadonlyMap<string, number>;
  conditions: readonly RowCondition[];
  /** Only rows with this value of the column, on the baseline where both have the row. */
  slice: { column: ColumnDef; value: string } | undefined;
  /** Metric by whose loss rows are ordered, the largest first, or the smallest. Of one without a direction any change counts as a loss. */
  sort: { metric: string; ascending: boolean };
  offset: number;
  limit: number;
}

/** A row of two experiments: its traces on each side, several where there are trials. */
export interface RowOfPair {
  baseline: RecordKey[];
  other: RecordKey[];
  contentChanged: boolean;
}

/** Returns whether all of a side's values are true or false. */
export const isYesOrNo = ({ booleans, numbers }: MetricSide): boolean => booleans > 0 && numbers === 0;

/** The reads of the record store that a comparison needs. */
export interface ComparisonReads {
  /** Changes whenever something is written to, or deleted from, one of these runs. */
  version(runs: readonly RunRef[]): Promise<string>;
  /** One for each run. */
  outlines(runs: readonly RunRef[]): Promise<RowOutline[]>;
  /** Names of the metrics that rows of each run have values of, in any order. */
  metrics(runs: readonly RunRef[]): Promise<string[][]>;
  rows(runs: ComparedRuns): Promise<MatchedRows>;
  pairs(query: PairsQuery): Promise<PairedMetric[]>;
  /** Rows of both, whether they are complete pairs or not. */
  page(query: RowPageQuery): Promise<{ rows: RowOfPair[]; total: number }>;
  labels(query: Omit<PairsQuery, 'withMeasured' | 'worst'>): Promise<LabelPairs[]>;
}
