import type { Interval } from '../statistics/bootstrap.ts';
import { rowsToDecide } from '../statistics/rowsToDecide.ts';
import type { GateStatus } from '../wire/experimentGate.ts';
import type { MetricScale } from '../wire/metricScale.ts';

/** The change of a metric that a comparison found. */
export interface ComparedChange {
  direction: NonNullable<MetricScale['direction']>;
  pairs: number;
  difference: number;
  /** At the level of one check: see `levelOfEach`. */
  interval: Interval & { level: number };
  /** Standard deviation of the differences. */
  deviation: number | null;
}

/** Shares of the larger number within which two numbers are one: 0.9 less 0.1 and 0.8 are. */
const ROUNDING = 1e-9;

const isBelow = (value: number, limit: number): boolean => limit - value > ROUNDING * Math.max(Math.abs(value), Math.abs(limit));

/**
 * Returns whether a metric is worse by more than is allowed. It is where all differences that fit the rows are beyond the allowed one, and it is not where
 * none of them is; else the rows do not decide.
 * @param maxDrop largest allowed change for the worse, 0 or more
 */
export function decideDrop(
  { direction, pairs, difference, interval, deviation }: ComparedChange,
  maxDrop: number,
): { status: GateStatus; rowsToDecide: number | null } {
  const sign = direction === 'higher' ? 1 : -1;
  const [worst, best] = direction === 'higher' ? [interval.low, interval.high] : [-interval.high, -interval.low];
  // One row has an interval without width, and shows nothing but itself.
  if (pairs < 2) return { status: 'undecided', rowsToDecide: null };
  if (isBelow(best, -maxDrop)) return { status: 'failed', rowsToDecide: null };
  if (!isBelow(worst, -maxDrop)) return { status: 'passed', rowsToDecide: null };
  const distance = Math.abs(sign * difference + maxDrop);
  const rows = deviation === null ? null : rowsToDecide({ deviation, distance, pairs, level: interval.level });
  return { status: 'undecided', rowsToDecide: rows };
}

/** Returns whether a figure keeps a limit. It is taken as it is, without an interval, as thresholds of tests are understood. */
export function decideLimit(value: number, limit: { min: number } | { max: number }): GateStatus {
  const breaks = 'min' in limit ? isBelow(value, limit.min) : isBelow(limit.max, value);
  return breaks ? 'failed' : 'passed';
}

/** Values that a figure is made of, and how many there could be: one of each row that the metric applies to. */
export interface Scored {
  values: number;
  rows: number;
}

/** Decides by the rows with a value. Fewer than half of the rows may fail a gate, but cannot pass it. */
export const decideScored = (status: GateStatus, { values, rows }: Scored): GateStatus =>
  status === 'passed' && 2 * values < rows ? 'undecided' : status;

/** A gate is as good as the worst of its checks. */
export const worstStatus = (statuses: readonly GateStatus[]): GateStatus =>
  (['failed', 'undecided'] as const).find((status) => statuses.includes(status)) ?? 'passed';
