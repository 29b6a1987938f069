import type { ComparedMetric } from '../comparison/comparedMetrics.ts';
import type { Comparison } from '../comparison/comparison.ts';
import { RequestInvalid } from '../errors/errors.ts';
import type { ExperimentAggregates } from '../experiments/aggregates.ts';
import type { GateCheck, GatedMetric, GateRequest, GateRule } from './gate.ts';
import { type ComparedChange, decideDrop, decideLimit, decideScored, type Scored } from './gateDecision.ts';
import { reasonOfDrop, reasonOfFailedRows, reasonOfLimit, tooFewScored } from './gateReasons.ts';
import { whyValuesLack } from './scoredRows.ts';

const noNumber = (index: number, msg: string): RequestInvalid =>
  new RequestInvalid([{ loc: ['body', 'metrics', index, 'metric'], msg, type: 'no_number' }]);

const noFigures = { value: null, baselineValue: null, difference: null, interval: null, rowsToDecide: null };

export function checkOfFailedRows({ maxFailed }: GateRequest, rows: number, failed: number): GateCheck | undefined {
  if (maxFailed === undefined) return undefined;
  const status = failed === rows ? 'failed' : decideLimit(failed / rows, { max: maxFailed });
  const common = { ...noFigures, rule: 'max_failed' as const, metric: null, limit: maxFailed, status };
  return { ...common, value: failed / rows, rows, reason: reasonOfFailedRows(failed, rows, maxFailed) };
}

export const allFailed =
  (rows: number) =>
  ({ metric, maxDrop, min, max }: GatedMetric): GateCheck[] =>
    (
      [
        ['max_drop', maxDrop],
        ['min', min],
        ['max', max],
      ] as const satisfies [GateRule, unknown][]
    ).flatMap(([rule, limit]) => {
      const reason = `${metric} has no value that counts: all ${rows} rows failed`;
      return limit === undefined ? [] : [{ ...noFigures, rule, metric, limit, status: 'failed', rows: 0, reason }];
    });

/** @param gaps why there are no values on a side, where that is known */
export function checkOfDrop(
  metric: ComparedMetric,
  limit: number,
  compared: Comparison,
  { index, gaps }: { index: number; gaps: readonly string[] },
): GateCheck {
  const { pairs, missing, difference, interval, deviation, type } = compared;
  const common = {
    ...{ rule: 'max_drop' as const, metric: metric.name, limit, rows: pairs, difference, interval },
    ...{ value: compared.other.mean, baselineValue: compared.baseline.mean },
  };
  if (type === 'category') throw noNumber(index, `${metric.name} has categories for values, which cannot drop`);
  const decided =
    interval === null || difference === null
      ? { status: 'failed' as const, rowsToDecide: null }
      : decideDrop({ direction: metric.direction as ComparedChange['direction'], pairs, difference, interval, deviation }, limit);
  const check = { ...common, ...decided, reason: reasonOfDrop(metric, limit, compared, decided, gaps) };
  return unlessTooFewScored(check, { values: pairs, rows: pairs + missing });
}

export function checkOfLimit(
  metric: ComparedMetric,
  limit: { min: number } | { max: number },
  aggregates: ExperimentAggregates | undefined,
  index: number,
): GateCheck {
  const value = aggregates?.rolledUp[metric.id] ?? null;
  const figures = aggregates?.metrics[metric.id];
  if (value === null && figures && figures.count > 0)
    throw noNumber(index, `${metric.name} has no number that could be held against a limit`);
  const [rule, number] = 'min' in limit ? (['min', limit.min] as const) : (['max', limit.max] as const);
  const status = value === null ? 'failed' : decideLimit(value, limit);
  const rows = figures?.count ?? 0;
  const isYesOrNo = (figures?.pct ?? null) !== null;
  const why = value === null ? whyValuesLack(metric.name, aggregates?.counts?.[metric.id]) : undefined;
  const reason = reasonOfLimit(metric, { rule, limit: number, value, rows, isYesOrNo, why });
  return { ...noFigures, rule, metric: metric.name, limit: number, status, value, rows, reason };
}

/** A check that would pass does not where too few rows say so. @param why the others do not, where that is known */
export function unlessTooFewScored(check: GateCheck, scored: Scored, why?: string): GateCheck {
  const status = decideScored(check.status, scored);
  if (status === check.status) return check;
  return { ...check, status, reason: `${check.reason}; ${tooFewScored(scored)}${why === undefined ? '' : `: ${why}`}` };
}
