import type { ComparedMetric } from '../comparison/comparedMetrics.ts';
import type { Comparison } from '../comparison/comparison.ts';
import { comparedFigure } from '../figures/comparedFigure.ts';
import type { GateStatus } from '../wire/experimentGate.ts';
import type { Scored } from './gateDecision.ts';

const rowsOf = (count: number): string => `${count} ${count === 1 ? 'row' : 'rows'}`;

export function reasonOfDrop(
  { name }: ComparedMetric,
  limit: number,
  compared: Comparison,
  { status, rowsToDecide }: { status: GateStatus; rowsToDecide: number | null },
  gaps: readonly string[],
): string {
  const { baseline, other, difference, interval, pairs, missing, warnings } = compared;
  const show = comparedFigure(compared);
  if (difference === null || interval === null || baseline.mean === null || other.mean === null) {
    const why = missing > 0 ? `${rowsOf(missing)} have one on one side only` : 'no row has one';
    if (gaps.length > 0) return `${name} cannot be compared: ${gaps.join('; ')}`;
    return `${name} cannot be compared: ${warnings[0] ?? `no row has a value of it on both sides, ${why}`}`;
  }
  const allowed = show.difference(limit).replace('+', '');
  const figures = `${show.value(other.mean)} against ${show.value(baseline.mean)}, a difference of ${show.difference(difference)} (interval ${show.difference(interval.low)} to ${show.difference(interval.high)}, ${rowsOf(pairs)})`;
  switch (status) {
    case 'passed':
      return `${name} is not worse by more than ${allowed}: ${figures}`;
    case 'failed':
      return `${name} is worse by more than ${allowed}: ${figures}`;
    case 'undecided': {
      const reach =
        rowsToDecide === null
          ? 'no number of rows can be named that would tell'
          : `about ${rowsToDecide} rows would tell if the difference stays as it is`;
      return `${rowsOf(pairs)} do not tell whether ${name} is worse by more than ${allowed}: ${figures}; ${reach}`;
    }
  }
}

export function reasonOfLimit(
  { name, unit }: ComparedMetric,
  found: { rule: 'min' | 'max'; limit: number; value: number | null; rows: number; isYesOrNo: boolean; why: string | undefined },
): string {
  const { rule, limit, value, rows, isYesOrNo, why } = found;
  const show = comparedFigure({ type: isYesOrNo ? 'boolean' : 'number', unit });
  const wanted = rule === 'min' ? `at least ${show.value(limit)}` : `at most ${show.value(limit)}`;
  return value === null
    ? `${name} has no value, and must be ${wanted}${why === undefined ? '' : `; ${why}`}`
    : `${name} is ${show.value(value)} over ${rowsOf(rows)}, and must be ${wanted}`;
}

export const tooFewScored = ({ values, rows }: Scored): string =>
  `only ${values} of ${rowsOf(rows)} have a value, fewer than half, which decides nothing`;

export function reasonOfFailedRows(failed: number, rows: number, limit: number | undefined): string {
  const share = (value: number): string => `${Number((100 * value).toFixed(1))} %`;
  if (failed === rows) return `all ${rowsOf(rows)} failed`;
  return `${failed} of ${rowsOf(rows)} failed (${share(failed / rows)})${limit === undefined ? '' : `, at most ${share(limit)} may`}`;
}
