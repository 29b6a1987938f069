import type { MetricAggregates, TrialFigures } from '../metrics/aggregate.ts';
import type { GapReason, MetricCounts } from '../metrics/metricFigures.ts';
import type { RunRef } from '../projects/runs.ts';
import type { MetricValue } from './recordStore.ts';

export interface StoredMetricValue extends MetricValue {
  /** Canonical time at which the value was stored. */
  computedAt: string;
}

export interface RunMetricCounts {
  /** Traces, and those of them that failed. */
  rows: number;
  rowsFailed: number;
  /** By name of the metric. */
  metrics: ReadonlyMap<string, MetricCounts>;
  /** By metric, how many of the missing values are still to be computed; metrics without any are left out. */
  waiting: ReadonlyMap<string, number>;
  /** Why rows that did not fail have no value, by metrics of which some have none: the most frequent reasons first, and not all of many. */
  gaps: ReadonlyMap<string, readonly GapReason[]>;
}

/** Values and states of metrics, apart from the records: scoring rewrites no record, and the newest value of a record counts. */
export interface MetricValueStore {
  write(run: RunRef, values: readonly MetricValue[]): Promise<void>;
  of(run: RunRef, recordIds: readonly string[]): Promise<StoredMetricValue[]>;
  /** Every value of one metric, oldest record first. */
  byMetric(run: RunRef, metric: string): Promise<StoredMetricValue[]>;
  /**
   * Aggregates all values of one metric in one run. Rolled-up values are left out, since they are made of the others.
   * @param filled values in place of missing ones
   */
  aggregate(run: RunRef, metric: string, filled?: { value: number | boolean; times: number }): Promise<MetricAggregates>;
  /** The values that an aggregate is made of, oldest record first, and no more than `limit` of them. */
  scores(run: RunRef, metric: string, limit: number): Promise<(number | boolean | string)[]>;
  /** Counts, for each metric of which the run has a value or a state, the rows that have a value and those that lack one. */
  counts(run: RunRef): Promise<RunMetricCounts>;
  /** By metric, how the trials of the rows of a run differ. */
  trials(run: RunRef): Promise<ReadonlyMap<string, TrialFigures>>;
}
