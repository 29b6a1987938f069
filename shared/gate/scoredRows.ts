import type { ExperimentAggregates } from '../experiments/aggregates.ts';
import { gapsText } from '../figures/gapsText.ts';
import type { Scored } from './gateDecision.ts';

type MadeOf = NonNullable<ExperimentAggregates['counts']>[string];

/** How much of an experiment a figure of it is made of. Rows that the metric does not apply to are no gap in it. */
export function scoredRows(made: MadeOf | undefined): Scored {
  if (!made) return { values: 0, rows: 0 };
  const { values, missing, failed, failedRowsWithoutValue } = made.counts;
  return {
    values: values + (made.worst === null ? 0 : failedRowsWithoutValue),
    rows: values + missing + failed + failedRowsWithoutValue,
  };
}

/** Warns of rows without a value that did not fail: a judge that breaks makes no failed rows. */
export function warningOfScores(metric: string, made: MadeOf | undefined): string[] {
  if (!made) return [];
  // A metric needs no values of rows that it does not apply to; where these are most, the figure is of few.
  const few = made.counts.values > 0 && made.counts.missing + made.counts.failed === 0 ? whyValuesLack(metric, made) : undefined;
  if (made.counts.missing + made.counts.failed === 0) return few === undefined ? [] : [few];
  const { missing, failed } = made.counts;
  const { values, rows } = scoredRows(made);
  const gaps = [...(failed > 0 ? [`${failed} could not be scored`] : []), ...(missing > 0 ? [`${missing} have no value`] : [])];
  return [`${metric}: scored ${values} of ${rows} rows, ${gaps.join(', ')}`];
}

/** Why an experiment has no value of a metric, or lacks most; undefined where that is not known, and where most are there. */
export function whyValuesLack(metric: string, made: MadeOf | undefined): string | undefined {
  if (!made) return undefined;
  const { values, missing, failed, notApplicable } = made.counts;
  const lacking = missing + failed + notApplicable;
  return lacking <= values ? undefined : gapsText(metric, { values, lacking, reasons: made.gaps ?? [] });
}
