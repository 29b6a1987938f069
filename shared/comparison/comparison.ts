import type { RunState } from '../experiments/experiment.ts';
import type { ComparedUnit } from '../figures/comparedFigure.ts';
import type { FailedRows } from '../metrics/metricFigures.ts';
import type { MetricScale } from '../wire/metricScale.ts';
import type { MatchedBy, MatchedRows } from './comparisonReads.ts';

export interface ComparisonRequest {
  baselineId: string;
  experimentIds: readonly string[];
  /** Names, ids of scorers or columns; absent: all that any of the experiments has values of, and what is measured. */
  metrics?: readonly string[] | undefined;
  /** Columns. */
  slices: readonly string[];
  /** Absent: as each experiment that is compared says, on both sides. */
  failedRows?: FailedRows | undefined;
  seed: number;
  level: number;
}

export type MetricType = 'boolean' | 'number' | 'category';

/** Null: they differ, and nothing says which is better: of categories, and of metrics without a direction. */
export type Verdict = 'better' | 'worse' | 'no difference shown' | null;

/** One side of a comparison, over the complete pairs. */
export interface SideFigures {
  mean: number | null;
  p50: number | null;
  p95: number | null;
  /** The figure that lists of experiments show for the metric, over all rows of the experiment. */
  aggregate: number | null;
}

/** One metric of one experiment against the baseline. */
export interface Comparison {
  experimentId: string;
  /** As people call it; `metricId` is its key in aggregates and columns. */
  metric: string;
  metricId: string;
  slice: { column: string; value: string } | null;
  /** Null where there are no values, or of different types on the two sides. */
  type: MetricType | null;
  /** Unit of the means, the difference and its interval. */
  unit: ComparedUnit;
  /** Duration, tokens or cost, which every row has. */
  isMeasured: boolean;
  direction: MetricScale['direction'];
  /** True when no one has described the metric: the higher number is taken for better. */
  isDirectionAssumed: boolean;
  failedRows: FailedRows;
  pairs: number;
  baseline: SideFigures;
  other: SideFigures;
  difference: number | null;
  interval: { low: number; high: number; level: number } | null;
  /** Standard deviation of the differences; null for fewer than two pairs. */
  deviation: number | null;
  test: 'mcnemar' | 'sign_flip' | 'stuart_maxwell' | null;
  method: string | null;
  pValue: number | null;
  /** By Holm over the experiments and metrics of the request; null for slices. */
  pAdjusted: number | null;
  /** Null without a direction. */
  better: number | null;
  worse: number | null;
  same: number;
  missing: number;
  detectable: number | null;
  /** About how many rows would show a difference, if it and its spread stayed as they are; null where one is shown, and where nothing can be said. */
  rowsToDecide: number | null;
  /** Counts of categories: `counts[i][j]` rows have category i on the baseline's side and j on the other's. */
  table: { categories: string[]; counts: number[][] } | null;
  /** True when the difference is more than chance: `verdict` is then `better` or `worse`, or null without a direction. */
  differs: boolean;
  verdict: Verdict;
  sentence: string;
  warnings: string[];
}

export interface ComparedExperiment {
  id: string;
  name: string;
  state: RunState;
  /** Its run goes on: the figures are those so far. */
  isRunning: boolean;
  rows: number;
  failedRows: number;
  /** How its rows were matched with the baseline's; null for the baseline itself. */
  matching: (MatchedRows & { by: MatchedBy }) | null;
}

export interface ComparisonAnswer {
  baseline: ComparedExperiment;
  experiments: ComparedExperiment[];
  comparisons: Comparison[];
  warnings: string[];
}
