import { holm } from '../statistics/holm.ts';
import type { ComparedMetric } from './comparedMetrics.ts';
import type { Comparison, ComparisonRequest, Verdict } from './comparison.ts';
import { inWords } from './inWords.ts';

/** A comparison before its verdict, which takes all the others into account. */
export interface Unjudged {
  comparison: Omit<Comparison, 'verdict' | 'sentence' | 'pAdjusted'>;
  metric: ComparedMetric;
  names: { baseline: string; other: string };
}

/** Verdicts, with p-values corrected over all experiments and metrics of the request; slices are exploratory and stand apart. */
export function judged(all: readonly Unjudged[], { level }: ComparisonRequest): Comparison[] {
  const family = all.filter(({ comparison: { slice, pValue } }) => slice === null && pValue !== null);
  const corrected = holm(family.map(({ comparison }) => comparison.pValue as number));
  const adjusted = new Map(family.map((one, index) => [one, corrected[index] as number]));
  return all.map((one) => {
    const pAdjusted = adjusted.get(one) ?? null;
    const { comparison, metric, names } = one;
    const verdict = verdictOf(comparison, pAdjusted ?? comparison.pValue, 1 - level);
    const told = { ...comparison, pAdjusted, verdict };
    return { ...told, sentence: inWords(told, metric, names, family.length) };
  });
}

function verdictOf({ type, direction, difference }: Unjudged['comparison'], p: number | null, alpha: number): Verdict {
  if (p === null || p >= alpha) return 'no difference shown';
  if (type === 'category' || direction === null || difference === null || difference === 0) return 'different';
  return difference > 0 === (direction === 'higher') ? 'better' : 'worse';
}
