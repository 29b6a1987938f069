import { comparedFigure, pText } from '../../../shared/figures/comparedFigure.ts';
import type { Comparison } from '../data/comparison.ts';
import { UNKNOWN } from '../parts/format.ts';

/** How a verdict looks: its word, and what its colour says. */
export function verdictOf({ verdict, differs, test }: Comparison): { word: string; tone: 'good' | 'bad' | 'plain' | 'none' } {
  if (test === null) return { word: 'not comparable', tone: 'none' };
  if (verdict === 'better') return { word: 'better', tone: 'good' };
  if (verdict === 'worse') return { word: 'worse', tone: 'bad' };
  return differs ? { word: 'differs', tone: 'plain' } : { word: 'no difference shown', tone: 'none' };
}

/** Returns whether a metric is of cost or speed, and not of quality. */
export const isExpense = ({ measured, unit }: Comparison): boolean =>
  measured || unit === 'dollars' || unit === 'nano_seconds' || unit === 'milli_seconds';

/** The metric that is shown first: quality before cost, and one that differs before others. */
export function firstMetric(comparisons: readonly Comparison[]): string | undefined {
  const found =
    comparisons.find((one) => !isExpense(one) && one.differs) ??
    comparisons.find((one) => !isExpense(one) && one.test !== null) ??
    comparisons[0];
  return found?.metric_id;
}

/** Names a metric; those that the service measures are named in words. */
export const nameOf = ({ metric, measured }: Comparison): string =>
  measured ? metric.replace(/_ns$/, '').replace(/^num_/, '').replaceAll('_', ' ') : metric;

/** `B is worse in exact_match, better in cost than A; no difference shown in 3 others` */
export function verdictInWords(comparisons: readonly Comparison[], name: string, baseline: string): string {
  const named = (word: string) => comparisons.filter((one) => verdictOf(one).word === word).map(nameOf);
  const [better, worse, other, same] = ['better', 'worse', 'differs', 'no difference shown'].map(named) as [
    string[],
    string[],
    string[],
    string[],
  ];
  const parts = [
    ...(worse.length > 0 ? [`worse in ${list(worse)}`] : []),
    ...(better.length > 0 ? [`better in ${list(better)}`] : []),
    ...(other.length > 0 ? [`different in ${list(other)}`] : []),
  ];
  if (parts.length === 0 && same.length === 0) return `Nothing of ${name} and ${baseline} can be compared`;
  if (parts.length === 0) return `No difference shown between ${name} and ${baseline} in ${list(same)}`;
  const others = same.length > 2 ? `${same.length} others` : list(same);
  return `${name} is ${parts.join(', ')} than ${baseline}${same.length > 0 ? `; no difference shown in ${others}` : ''}`;
}

/** `4 experiments against A in exact_match: 2 better, 1 worse, of 1 no difference is shown` */
export function verdictsInWords(comparisons: readonly Comparison[], baseline: string): string {
  const [first] = comparisons;
  if (!first) return 'Nothing can be compared';
  const counted = (['better', 'worse', 'differs', 'no difference shown'] as const).flatMap((word) => {
    const count = comparisons.filter((one) => verdictOf(one).word === word).length;
    return count === 0
      ? []
      : [
          word === 'no difference shown'
            ? `of ${count} no difference is shown`
            : `${count} ${word === 'differs' ? 'differ' : word}`,
        ];
  });
  return `${comparisons.length} experiments against ${baseline} in ${nameOf(first)}: ${counted.join(', ') || 'not comparable'}`;
}

const list = (names: readonly string[]): string => {
  const shown = names.length > 4 ? [...names.slice(0, 3), `${names.length - 3} others`] : names;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
};

export const pOf = ({ p_adjusted, p_value }: Comparison): string => {
  const p = p_adjusted ?? p_value;
  if (p === null) return UNKNOWN;
  const text = pText(p);
  return text.startsWith('<') ? `p ${text}` : `p = ${text}`;
};

export function differenceTexts(one: Comparison): { difference: string; interval: string; means: string } {
  const show = comparedFigure(one);
  const value = (figure: number | null) => (figure === null ? UNKNOWN : show.value(figure));
  const { difference, interval } = one;
  return {
    difference: difference === null ? UNKNOWN : show.difference(difference),
    interval: interval ? `${show.difference(interval.low)} to ${show.difference(interval.high)}` : '',
    means: one.baseline_mean === null && one.mean === null ? '' : `${value(one.baseline_mean)} → ${value(one.mean)}`,
  };
}

/** The numbers of a picture, in shares of its half width: the right half is better, where the metric has a direction. */
export interface Shape {
  at: number;
  low: number;
  high: number;
  /** Smaller differences are mostly not found; undefined where that is unknown. */
  detectable: number | undefined;
}

/** @param limit the largest number of the picture, in units of the metric */
export function shapeOf({ direction, difference, interval, detectable }: Comparison, limit: number): Shape | undefined {
  if (difference === null || interval === null) return undefined;
  const sign = direction === 'lower' ? -1 : 1;
  const place = (value: number) => (limit === 0 ? 0 : Math.max(-1, Math.min(1, (sign * value) / limit)));
  const [low, high] = [place(interval.low), place(interval.high)].sort((one, two) => one - two) as [number, number];
  return {
    at: place(difference),
    low,
    high,
    detectable: detectable === null ? undefined : Math.min(1, detectable / (limit || 1)),
  };
}

/** The largest number that pictures of these must show, with some room. */
export function limitOf(comparisons: readonly Comparison[]): number {
  const numbers = comparisons.flatMap(({ difference, interval, detectable }) => [
    difference,
    interval?.low,
    interval?.high,
    detectable,
  ]);
  return 1.1 * Math.max(0, ...numbers.map((number) => Math.abs(number ?? 0)));
}
