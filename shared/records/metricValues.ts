import type { RunRef } from '../projects/runs.ts';
import type { MetricValue } from './recordStore.ts';

export interface StoredMetricValue extends MetricValue {
  /** Canonical time at which the value was stored. */
  computedAt: string;
}

/** All values of one metric in one run, in figures. Those of numbers (booleans count as 0 and 1) are null where there are none. */
export interface MetricAggregate {
  /** Records with a value or a state. */
  total: number;
  succeeded: number;
  failed: number;
  avg: number | null;
  sum: number | null;
  min: number | null;
  max: number | null;
  /** Fraction of true among the booleans. */
  shareTrue: number | null;
  p50: number | null;
  p90: number | null;
  p95: number | null;
  p99: number | null;
  /** How often each category, text or boolean (`true`, `false`) came; a list counts once for each of its members. */
  valueDistribution: Record<string, number>;
}

/** Values and states of metrics, apart from the records: scoring rewrites no record, and the newest value of a record counts. */
export interface MetricValueStore {
  write(run: RunRef, values: readonly MetricValue[]): Promise<void>;
  of(run: RunRef, recordIds: readonly string[]): Promise<StoredMetricValue[]>;
  /** Every value of one metric, oldest record first. */
  byMetric(run: RunRef, metric: string): Promise<StoredMetricValue[]>;
  aggregate(run: RunRef, metric: string): Promise<MetricAggregate>;
  names(run: RunRef): Promise<string[]>;
}
