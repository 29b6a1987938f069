import { isScorerId } from '../experiments/metricNames.ts';
import { holm } from '../statistics/holm.ts';
import type { ComparedMetric } from './comparedMetrics.ts';
import type { Comparison, ComparisonRequest, Verdict } from './comparison.ts';
import { inWords } from './inWords.ts';

/** A comparison before its verdict, which takes all the others into account. */
export interface Unjudged {
  comparison: Omit<Comparison, 'differs' | 'verdict' | 'sentence' | 'pAdjusted'>;
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
    const p = pAdjusted ?? comparison.pValue;
    const differs = p !== null && p < 1 - level;
    const withVerdict = {
      ...comparison,
      pAdjusted,
      differs,
      verdict: differs ? directed(comparison) : 'no difference shown',
    } as const;
    const sentence = inWords(withVerdict, metric, names, family.length);
    const undirected = noVerdict(comparison, metric.name);
    if (undirected === undefined) return { ...withVerdict, sentence };
    return { ...withVerdict, sentence: `${sentence} ${undirected}.`, warnings: [...comparison.warnings, undirected] };
  });
}

function directed({ type, direction, difference }: Unjudged['comparison']): Verdict {
  if (type === 'category' || direction === null || difference === null) return null;
  return difference > 0 === (direction === 'higher') ? 'better' : 'worse';
}

/** Why a difference of numbers or booleans gets no verdict. */
function noVerdict({ direction, type, metricId }: Unjudged['comparison'], name: string): string | undefined {
  if (direction !== null || (type !== 'boolean' && type !== 'number')) return undefined;
  const remedy = isScorerId(metricId) ? ': set the direction of its scorer' : '';
  return `${name} has no direction, so nothing says which values are better and there is no verdict${remedy}`;
}
