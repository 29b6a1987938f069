import type { ColumnDef } from '../columns/columnDef.ts';
import { countDifferences, momentsOf } from '../statistics/differences.ts';
import { LIMIT_PAIRS } from '../statistics/pairedTest.ts';
import type { ComparedMetric } from './comparedMetrics.ts';
import type { ComparedRuns, ComparisonReads, MetricSide, PairedMetric } from './comparisonReads.ts';

/** Values of one side that one statement pairs: a million groups take 0.2 GB. */
const VALUES_AT_ONCE = 1_500_000;
/** Fewer where the differences themselves are sent: 4 MB of text, which the event loop reads in 50 ms. */
const SENT_AT_ONCE = 200_000;

interface MetricPairsQuery {
  runs: ComparedRuns;
  metrics: readonly ComparedMetric[];
  slice: ColumnDef | undefined;
  /** Rows of the larger side. */
  rows: number;
  /** The value that a failed row without one counts as, by metric. */
  worst: ReadonlyMap<string, number>;
}

/** The values of both sides by metric, the measured ones included. Metrics without any value are there, too: the answer says so. */
export async function metricPairs(
  reads: Pick<ComparisonReads, 'pairs'>,
  { runs, metrics, slice, rows, worst }: MetricPairsQuery,
  signal: AbortSignal | undefined,
): Promise<PairedMetric[]> {
  const scored = metrics.filter(({ isMeasured }) => !isMeasured).map(({ id }) => id);
  const atOnce = Math.max(1, Math.floor((rows > LIMIT_PAIRS && !slice ? VALUES_AT_ONCE : SENT_AT_ONCE) / Math.max(1, rows)));
  const found: PairedMetric[] = [];
  const pairs = async (some: readonly string[], withMeasured: boolean) => {
    signal?.throwIfAborted();
    const worstOfSome = new Map([...worst].filter(([metric]) => some.includes(metric)));
    found.push(...(await reads.pairs({ ...runs, ...(slice && { slice }), metrics: some, withMeasured, worst: worstOfSome })));
  };
  // Planning a statement takes as long as reading thousands of rows: of few rows one pairs them all.
  const measured = metrics.length - scored.length;
  const isOne = measured > 0 && metrics.length <= atOnce;
  if (isOne) await pairs(scored, true);
  else {
    for (let from = 0; from < scored.length; from += atOnce) await pairs(scored.slice(from, from + atOnce), false);
    if (measured > 0) await pairs([], true);
  }
  const byMetric = Map.groupBy(found, ({ metric }) => metric);
  return metrics.flatMap(({ id, isMeasured }) => byMetric.get(id) ?? (slice || isMeasured ? [] : [withoutValues(id)]));
}

const noSide: MetricSide = { booleans: 0, numbers: 0, labels: 0, infinite: 0, mean: null, p50: null, p95: null };
const withoutValues = (metric: string): PairedMetric => ({
  ...{ metric, slice: null, baseline: noSide, other: noSide, missing: 0 },
  moments: momentsOf(countDifferences([])),
  differences: undefined,
});
