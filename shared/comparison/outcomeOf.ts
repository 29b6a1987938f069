import type { PairedResult } from '../statistics/pairedTest.ts';
import { stuartMaxwell } from '../statistics/stuartMaxwell.ts';
import type { ComparedMetric } from './comparedMetrics.ts';
import type { Comparison, MetricType } from './comparison.ts';
import type { LabelPairs, PairedMetric } from './comparisonReads.ts';
import { comparedType, typeOf } from './valueTypes.ts';

const MAX_CATEGORIES = 50;
const SMALL_SLICE = 30;

/** The result of one metric: what its values show. */
type Outcome = Pick<
  Comparison,
  | 'type'
  | 'pairs'
  | 'difference'
  | 'interval'
  | 'deviation'
  | 'test'
  | 'method'
  | 'pValue'
  | 'better'
  | 'worse'
  | 'same'
  | 'detectable'
  | 'table'
  | 'warnings'
>;

const nothing: Omit<Outcome, 'type' | 'warnings'> = {
  ...{ pairs: 0, difference: null, interval: null, deviation: null, test: null, method: null, pValue: null },
  ...{ better: null, worse: null, same: 0, detectable: null, table: null },
};

/** The figures of one metric on two sides, before the verdict. */
interface Compared {
  paired: PairedMetric;
  result: PairedResult | undefined;
  /** Labels of the metric. */
  labels: readonly LabelPairs[];
  direction: ComparedMetric['direction'];
  level: number;
}

export function outcomeOf({ paired, result, labels, direction, level }: Compared): Outcome {
  const type = comparedType(paired);
  const found = type === 'category' ? ofCategories(labels) : type === null ? nothing : ofNumbers(result, direction, level);
  return { type, ...found, warnings: [...warningsAbout(paired, type), ...smallSample(type, found, paired.slice !== null)] };
}

function ofNumbers(result: PairedResult | undefined, direction: ComparedMetric['direction'], level: number): typeof nothing {
  if (!result) return nothing;
  const { pairs, below, above, deviation } = result.moments;
  const [better, worse] = direction === 'lower' ? [below, above] : [above, below];
  return {
    ...{ pairs, difference: result.difference, test: result.test, method: result.method, pValue: result.pValue },
    interval: { ...result.interval, level },
    deviation: Number.isNaN(deviation) ? null : deviation,
    better: direction === null ? null : better,
    worse: direction === null ? null : worse,
    same: pairs - below - above,
    detectable: result.detectable,
    table: null,
  };
}

function ofCategories(labels: readonly LabelPairs[]): typeof nothing {
  const rows = (of: readonly LabelPairs[]): number => of.reduce((sum, one) => sum + one.rows, 0);
  const counted = {
    ...nothing,
    pairs: rows(labels),
    same: rows(labels.filter(({ baseline, other }) => baseline === other)),
  };
  const categories = [...new Set(labels.flatMap(({ baseline, other }) => [baseline, other]))].sort();
  if (counted.pairs === 0 || categories.length > MAX_CATEGORIES) return counted;
  const counts = categories.map((one) =>
    categories.map((two) => labels.find(({ baseline, other }) => baseline === one && other === two)?.rows ?? 0),
  );
  const { pValue, statistic, degrees } = stuartMaxwell(counts);
  const method = `Stuart-Maxwell test, chi-squared ${Number(statistic.toPrecision(4))} with ${degrees} degrees of freedom`;
  return { ...counted, test: 'stuart_maxwell', method, pValue, table: { categories, counts } };
}

function warningsAbout({ baseline, other }: PairedMetric, type: MetricType | null): string[] {
  const infinite = baseline.infinite + other.infinite;
  const [one, two] = [typeOf(baseline), typeOf(other)];
  return [
    ...(type === null && one !== null && two !== null
      ? [`its values are of type ${two} in the experiment and of type ${one} in the baseline`]
      : []),
    ...(infinite > 0 ? [`${infinite} values that are no finite numbers were left out`] : []),
  ];
}

function smallSample(type: MetricType | null, { pairs, test }: Pick<Outcome, 'pairs' | 'test'>, isSlice: boolean): string[] {
  if (type === 'category' && pairs > 0 && test === null)
    return [`it has more than ${MAX_CATEGORIES} different values, which is no list of categories`];
  if (pairs === 1) return ['one row shows nothing but itself'];
  return isSlice && pairs > 0 && pairs < SMALL_SLICE ? [`only ${pairs} rows: a small slice differs easily by chance`] : [];
}
