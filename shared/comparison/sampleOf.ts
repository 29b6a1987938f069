import { countDifferences, momentsOf } from '../statistics/differences.ts';
import { isLarge, type Sample } from '../statistics/pairedTest.ts';
import { isYesOrNo, type PairedMetric } from './comparisonReads.ts';

const isYesOrNoPair = ({ baseline, other }: PairedMetric): boolean => isYesOrNo(baseline) && isYesOrNo(other);

/** The differences of a metric as the tests take them: of yes and no they are -1, 0 and 1. */
export function sampleOf(paired: PairedMetric, hasTrials: boolean): Sample {
  const { moments, differences } = paired;
  if (isYesOrNoPair(paired) && !hasTrials) {
    const { pairs, below, above } = moments;
    const found = (
      [
        [-1, below],
        [0, pairs - below - above],
        [1, above],
      ] as const
    ).filter(([, rows]) => rows > 0);
    const kept = countDifferences(
      found.map(([difference]) => difference),
      found.map(([, rows]) => rows),
    );
    return { moments: momentsOf(kept), differences: kept, isYesOrNo: true };
  }
  const counted = differences && countDifferences(differences.values, differences.counts);
  if (!counted || isLarge(counted.pairs, counted.values.length))
    return { moments: counted ? momentsOf(counted) : moments, differences: undefined, isYesOrNo: false };
  return { moments: momentsOf(counted), differences: counted, isYesOrNo: false };
}
