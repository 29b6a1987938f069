import type { MetricFigures } from '../../../client/experimentAggregates.ts';
import { type FigureUnit, figureText } from '../../../shared/figures/figureText.ts';
import { gapsText } from '../../../shared/figures/gapsText.ts';
import type { ExperimentColumn } from '../../../shared/wire/experiments.ts';
import { costText, countText, durationText, UNKNOWN } from '../parts/format.ts';

/** A metric of experiments as its figures are shown. */
export interface FigureColumn {
  /** The name of the metric, or the id of the scorer that computes it: the key of its figures. */
  metric: string;
  label: string;
  unit: FigureUnit;
  direction: ExperimentColumn['direction'];
  range: ExperimentColumn['range'];
}

/** Two numbers between which bars are drawn. */
export interface Domain {
  min: number;
  max: number;
}

const PREFIX = 'metrics/';

/** How the metric of a column of experiments is shown. Booleans are shares. */
export const figureColumn = (column: ExperimentColumn): FigureColumn => ({
  metric: column.id.slice(PREFIX.length),
  label: column.metric_key_alias ?? column.label,
  unit: column.data_unit ?? (column.data_type === 'boolean' ? 'percentage' : null),
  direction: column.direction,
  range: column.range,
});

/** A figure in its unit, a dash for what is unknown. */
export function unitText(value: number | null | undefined, unit: FigureUnit): string {
  if (value === null || value === undefined) return UNKNOWN;
  if (unit === 'nano_seconds') return durationText(value);
  if (unit === 'milli_seconds') return durationText(value * 1e6);
  if (unit === 'percentage') return shareText(value);
  return unit === 'dollars' ? costText(value) : figureText(value, unit);
}

/** With one digit behind the point, so that figures stand below each other; with more where these would say that all or none have it. */
function shareText(value: number): string {
  const text = (100 * value).toFixed(1);
  const isRoundedAway = (text === '100.0' && value !== 1) || (text === '0.0' && value !== 0);
  return isRoundedAway ? figureText(value, 'percentage') : `${text} %`;
}

/** Rows and spans of which the metric could have a value: all but those that it does not apply to. Undefined where nothing counted them. */
export function expectedValues({ counts }: Pick<MetricFigures, 'counts'>): number | undefined {
  return counts ? counts.values + counts.missing + counts.failed + counts.failed_rows_without_value : undefined;
}

/** `1,317 of 1,319 values, 2 failed`: what a figure is made of. */
export function madeOfText(figures: Pick<MetricFigures, 'counts' | 'figures'>): string {
  const { counts } = figures;
  const expected = expectedValues(figures);
  if (!counts || expected === undefined) return `${countText(figures.figures?.count)} values`;
  const left = counts.worst === null ? 'left out' : `counted as ${figureText(counts.worst, null)}`;
  return [
    counts.values === expected ? `${countText(expected)} values` : `${countText(counts.values)} of ${countText(expected)} values`,
    counts.failed > 0 && `${countText(counts.failed)} failed to be computed`,
    counts.missing > 0 && `${countText(counts.missing)} missing`,
    counts.not_applicable > 0 && `${countText(counts.not_applicable)} not applicable`,
    counts.failed_rows_without_value > 0 && `${countText(counts.failed_rows_without_value)} of rows that failed (${left})`,
  ]
    .filter((part) => part !== false)
    .join(', ');
}

/** All that is known of a figure, in sentences: the figure, its interval, what it is made of, why values are not there, who judged. */
export function figureSentences(figures: MetricFigures, { label, unit }: FigureColumn): string {
  const { figure, interval, counts } = figures;
  const gaps =
    counts &&
    gapsText(label, {
      values: counts.values,
      lacking: counts.missing + counts.failed + counts.not_applicable,
      reasons: counts.reasons,
    });
  const share = interval && `${Math.round(100 * interval.level)} %`;
  return [
    `${label} ${unitText(figure, unit)}`,
    interval && `${share} interval ${unitText(interval.low, unit)} to ${unitText(interval.high, unit)}`,
    `made of ${madeOfText(figures)}`,
    gaps,
    counts?.judged_by_model_under_test && `judged by ${counts.judge_model ?? 'the model'}, which gave the answers itself`,
  ]
    .filter((part) => part !== null && part !== undefined && part !== false)
    .join('. ');
}

/** The range of the metric, else what the figures and intervals span. Undefined where there are none. */
export function domainOf(all: readonly (MetricFigures | undefined)[], { range, unit }: FigureColumn): Domain | undefined {
  if (range) return range;
  if (unit === 'percentage') return { min: 0, max: 1 };
  const numbers = all.flatMap((one) =>
    one?.figure === null || one?.figure === undefined
      ? []
      : [one.figure, ...(one.interval ? [one.interval.low, one.interval.high] : [])],
  );
  if (numbers.length === 0) return undefined;
  const [min, max] = [Math.min(0, ...numbers), Math.max(...numbers)];
  return min === max ? { min, max: min + 1 } : { min, max };
}
