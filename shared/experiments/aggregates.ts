import type { MetricAggregates, TrialFigures } from '../metrics/aggregate.ts';
import type { FailedRowsCount, GapReason, MetricCounts } from '../metrics/metricFigures.ts';
import type { RunUsage } from './runUsage.ts';

/** What every row has beside its metrics, as the aggregates name it. */
export const measuredMetrics = ['duration_ns', 'num_input_tokens', 'num_output_tokens', 'num_total_tokens', 'cost'] as const;

/** What the figures of a metric are made of, and what rows that failed count as in them. */
interface MadeOf extends FailedRowsCount {
  counts: MetricCounts;
  /** Why values are not there; absent where none is missing, and in what earlier releases have stored. */
  gaps?: readonly GapReason[];
  /** The model that judges, where one does. */
  judgeModel?: string | null;
  /** It is the model whose answers it judges. */
  isJudgedByModelUnderTest?: boolean;
}

export interface SummedMetric extends MadeOf {
  aggregates: MetricAggregates;
}

/** What the end of a run leaves on the experiment. */
export interface ExperimentAggregates {
  /** By metric name: a scorer's id for one that a user defined, the wire name of a built-in. It is the id of the metric's column without `metrics/`. */
  metrics: Record<string, MetricAggregates>;
  /** The one number that stands for a metric by its roll-up, under the same names; those that roll up to counts of categories are not among them. */
  rolledUp: Record<string, number>;
  /** Rows that were recorded, and those of them that failed. Releases before this one stored none of what follows. */
  rows?: number;
  rowsFailed?: number;
  /** By which it is ranked among the experiments of its group. */
  rankingScore?: number | null;
  /** Under the same names. */
  counts?: Record<string, MadeOf>;
  usage?: RunUsage;
  /** Of a run of several trials, under the same names. */
  overTrials?: Record<string, TrialFigures>;
}
