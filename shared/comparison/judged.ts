import { isScorerId } from '../experiments/metricNames.ts';
import { holm } from '../statistics/holm.ts';
import { levelOfEach } from '../statistics/levelOfEach.ts';
import { rowsToDecide } from '../statistics/rowsToDecide.ts';
import type { Comparison, ComparisonRequest, Verdict } from './comparison.ts';
import { inWords } from './inWords.ts';

/** A comparison before its verdict, which takes all the others into account. */
export interface Unjudged {
  comparison: Omit<Comparison, 'differs' | 'verdict' | 'sentence' | 'pAdjusted' | 'rowsToDecide'>;
  names: { baseline: string; other: string };
}

/** Verdicts, with p-values corrected over all experiments and metrics of the request; slices are exploratory and stand apart. */
export function judged(all: readonly Unjudged[], { level }: ComparisonRequest): Comparison[] {
  const family = all.filter(({ comparison: { slice, pValue } }) => slice === null && pValue !== null);
  const corrected = holm(family.map(({ comparison }) => comparison.pValue as number));
  const adjusted = new Map(family.map((one, index) => [one, corrected[index] as number]));
  return all.map((one) => {
    const pAdjusted = adjusted.get(one) ?? null;
    const { comparison, names } = one;
    const p = pAdjusted ?? comparison.pValue;
    const differs = p !== null && p < 1 - level;
    const withVerdict = {
      ...comparison,
      pAdjusted,
      differs,
      verdict: differs ? directed(comparison) : 'no difference shown',
      rowsToDecide: differs
        ? null
        : rowsThatWouldDecide(comparison, comparison.slice ? level : levelOfEach(level, family.length)),
    } as const;
    const sentence = inWords(withVerdict, names, family.length);
    const undirected = noVerdict(comparison);
    if (undirected === undefined) return { ...withVerdict, sentence };
    return { ...withVerdict, sentence: `${sentence} ${undirected}.`, warnings: [...comparison.warnings, undirected] };
  });
}

/** @param level at which one of the comparisons shows a difference: Holm's correction asks for no more of any */
function rowsThatWouldDecide({ deviation, difference, pairs }: Unjudged['comparison'], level: number): number | null {
  if (deviation === null || deviation === 0 || difference === null || pairs < 2) return null;
  return rowsToDecide({ deviation, distance: Math.abs(difference), pairs, level });
}

function directed({ type, direction, difference }: Unjudged['comparison']): Verdict {
  if (type === 'category' || direction === null || difference === null) return null;
  return difference > 0 === (direction === 'higher') ? 'better' : 'worse';
}

/** Why a difference of numbers or booleans gets no verdict. */
function noVerdict({ direction, type, metricId, metric }: Unjudged['comparison']): string | undefined {
  if (direction !== null || (type !== 'boolean' && type !== 'number')) return undefined;
  const remedy = isScorerId(metricId) ? ': set the direction of its scorer' : '';
  return `${metric} has no direction, so nothing says which values are better and there is no verdict${remedy}`;
}
