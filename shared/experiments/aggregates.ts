import type { AggregatedByCode } from '../codeMetrics/codeSandbox.ts';
import type { MetricAggregates, TrialFigures } from '../metrics/aggregate.ts';
import type { FigureInterval } from '../metrics/figureInterval.ts';
import type { FailedRowsCount, GapReason, MetricCounts } from '../metrics/metricFigures.ts';
import type { RunUsage } from './runUsage.ts';

/** Figures that every row has beside its metrics, by their names in the aggregates. */
export const measuredMetrics = ['duration_ns', 'num_input_tokens', 'num_output_tokens', 'num_total_tokens', 'cost'] as const;

/** The counts behind the figures of a metric, and what failed rows count as in them. */
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

/** The figures that the end of a run leaves on the experiment. */
export interface ExperimentAggregates {
  /** By metric name: a scorer's id for one that a user defined, the wire name of a built-in. It is the id of the metric's column without `metrics/`. */
  metrics: Record<string, MetricAggregates>;
  /** The one figure of a metric by its roll-up, under the same names; those that roll up to counts of categories are not among them. */
  rolledUp: Record<string, number>;
  /** Rows that were recorded, and those of them that failed. Releases before this one stored none of what follows. */
  rows?: number;
  rowsFailed?: number;
  /** By which it is ranked among the experiments of its group. */
  rankingScore?: number | null;
  /** Between which numbers the figures of means lie, under the same names; of the others nothing says it. */
  intervals?: Record<string, FigureInterval>;
  /** Under the same names. */
  counts?: Record<string, MadeOf>;
  usage?: RunUsage;
  /** Results of the `aggregator_fn` of code metrics, under the same names; only of metrics that have one. */
  byCode?: Record<string, AggregatedByCode>;
  /** Figures of a run of several trials, under the same names. */
  overTrials?: Record<string, TrialFigures>;
}
