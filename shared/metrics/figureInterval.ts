import { normalQuantile } from '../statistics/normal.ts';
import { studentQuantile } from '../statistics/studentQuantile.ts';
import type { MetricScale } from '../wire/metricScale.ts';
import type { RollUpMethod } from '../wire/scorers.ts';
import type { MetricAggregates, TrialFigures } from './aggregate.ts';

/** Share of such intervals that hold what the figure would come to over any number of rows like these. */
export const FIGURE_LEVEL = 0.95;

export interface FigureInterval {
  low: number;
  high: number;
}

interface MadeOf {
  aggregates: MetricAggregates;
  rollUp: RollUpMethod | undefined;
  /** Rows that were recorded: with more values than these, values of one row belong together. */
  rows: number;
  /** How the trials of a row differ, of a run of several. */
  trials: TrialFigures | undefined;
  range: MetricScale['range'];
}

/**
 * Between which numbers the figure of a metric lies: by Wilson for shares, by Student for other means, over the rows' means where each is run several
 * times, and within the metric's range. Null of fewer than two values, of figures that are no mean, and where nothing says how far rows differ.
 */
export function figureInterval({ aggregates, rollUp, rows, trials, range }: MadeOf): FigureInterval | null {
  const isFalse = rollUp === 'percentage_false' && aggregates.pct !== null;
  const { avg } = aggregates;
  if (avg === null || !isMean(rollUp)) return null;
  const found = trials ? ofMean(avg, trials.deviation, trials.rows) : ofRows(avg, aggregates, rows);
  if (!found) return null;
  const [least, most] = aggregates.pct === null ? [range?.min, range?.max] : [0, 1];
  const low = Math.min(avg, Math.max(found.low, least ?? Number.NEGATIVE_INFINITY));
  const high = Math.max(avg, Math.min(found.high, most ?? Number.POSITIVE_INFINITY));
  return isFalse ? { low: 1 - high, high: 1 - low } : { low, high };
}

const isMean = (rollUp: RollUpMethod | undefined): boolean =>
  rollUp === undefined || rollUp === 'average' || rollUp === 'percentage_true' || rollUp === 'percentage_false';

function ofRows(mean: number, { count, pct, min, max, deviation }: MetricAggregates, rows: number): FigureInterval | null {
  if (count < 2 || count > rows) return null;
  if (pct !== null || isOfShares(mean, count, min, max, deviation)) return ofShare(mean, count);
  return ofMean(mean, deviation, count);
}

/** Says that all values are 0 or 1: no other values between these two differ as much from their mean. */
function isOfShares(mean: number, count: number, min: number | null, max: number | null, deviation: number | null | undefined) {
  if (min !== null && min === max) return min === 0 || min === 1;
  if (min !== 0 || max !== 1 || deviation === null || deviation === undefined) return false;
  return Math.abs(deviation ** 2 - (mean * (1 - mean) * count) / (count - 1)) < 1e-9;
}

function ofShare(share: number, count: number): FigureInterval {
  const z2 = normalQuantile((1 + FIGURE_LEVEL) / 2) ** 2;
  const centre = (share + z2 / (2 * count)) / (1 + z2 / count);
  const half = Math.sqrt(z2 * ((share * (1 - share)) / count + z2 / (4 * count ** 2))) / (1 + z2 / count);
  return { low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

function ofMean(mean: number, deviation: number | null | undefined, count: number): FigureInterval | null {
  if (deviation === null || deviation === undefined || count < 2) return null;
  const half = (studentQuantile((1 + FIGURE_LEVEL) / 2, count - 1) * deviation) / Math.sqrt(count);
  return { low: mean - half, high: mean + half };
}
