import type { Interval } from '../statistics/bootstrap.ts';
import { rowsToDecide } from '../statistics/rowsToDecide.ts';
import type { MetricScale } from '../wire/metricScale.ts';

export const gateStatuses = ['passed', 'failed', 'undecided'] as const;
export type GateStatus = (typeof gateStatuses)[number];

/** What a comparison found out about a metric. */
export interface ComparedChange {
  direction: NonNullable<MetricScale['direction']>;
  pairs: number;
  difference: number;
  /** At the level of one check: see {@link levelOfEach}. */
  interval: Interval & { level: number };
  /** Of the differences. */
  deviation: number | null;
}

/** Shares of the larger number within which two numbers are one: 0.9 less 0.1 and 0.8 are. */
const ROUNDING = 1e-9;

const isBelow = (value: number, limit: number): boolean => limit - value > ROUNDING * Math.max(Math.abs(value), Math.abs(limit));

/**
 * The level of each of several intervals that hold together with the given one (Bonferroni): whoever looks at ten metrics finds a drop by chance in one of
 * them ten times as often.
 */
export const levelOfEach = (level: number, checks: number): number => (checks > 1 ? 1 - (1 - level) / checks : level);

/**
 * Whether a metric is worse by more than is allowed. It is where all differences that fit the rows are beyond the allowed one, and it is not where
 * none of them is; else the rows do not tell.
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

/** Whether a figure keeps a limit. It is taken as it is, without an interval, as thresholds of tests are understood. */
export function decideLimit(value: number, limit: { min: number } | { max: number }): GateStatus {
  const breaks = 'min' in limit ? isBelow(value, limit.min) : isBelow(limit.max, value);
  return breaks ? 'failed' : 'passed';
}

/** Values that a figure is made of, and how many there could be: one of each row that the metric applies to. */
export interface Scored {
  values: number;
  rows: number;
}

/** What fewer than half of the rows say is no verdict on all of them: it may fail, but not pass. */
export const decideScored = (status: GateStatus, { values, rows }: Scored): GateStatus =>
  status === 'passed' && 2 * values < rows ? 'undecided' : status;

/** A gate is as good as the worst of its checks. */
export const worstStatus = (statuses: readonly GateStatus[]): GateStatus =>
  (['failed', 'undecided'] as const).find((status) => statuses.includes(status)) ?? 'passed';
