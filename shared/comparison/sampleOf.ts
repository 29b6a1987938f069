import { countDifferences, momentsOf } from '../statistics/differences.ts';
import { isLarge, type Sample } from '../statistics/pairedTest.ts';
import type { PairedMetric } from './comparisonReads.ts';

/** A metric's differences as the engine counts them. */
export interface GivenSample extends Pick<PairedMetric, 'moments' | 'differences'> {
  /** Each side said yes or no, once for each row. */
  isYesOrNo: boolean;
}

/** The differences of a metric as the tests take them: of yes and no they are -1, 0 and 1. */
export function sampleOf({ moments, differences, isYesOrNo }: GivenSample): Sample {
  if (isYesOrNo) {
    const counted = yesOrNo(moments);
    return { moments: momentsOf(counted), differences: counted, isYesOrNo };
  }
  const counted = differences && countDifferences(differences.values, differences.counts);
  if (!counted || isLarge(counted.pairs, counted.values.length))
    return { moments: counted ? momentsOf(counted) : moments, differences: undefined, isYesOrNo };
  return { moments: momentsOf(counted), differences: counted, isYesOrNo };
}

function yesOrNo({ pairs, below, above }: GivenSample['moments']) {
  const counts = new Map([
    [-1, below],
    [0, pairs - below - above],
    [1, above],
  ]);
  const found = [...counts.keys()].filter((difference) => counts.get(difference) !== 0);
  return countDifferences(
    found,
    found.map((difference) => counts.get(difference) ?? 0),
  );
}
