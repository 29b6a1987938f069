import type { ColumnDef } from '../columns/columnDef.ts';
import type { ComparedMetric } from './comparedMetrics.ts';
import type { Side } from './comparedSides.ts';
import type { ComparisonRequest, SideFigures } from './comparison.ts';
import {
  type ComparedRuns,
  type ComparisonReads,
  isYesOrNo,
  type LabelPairs,
  type MetricSide,
  type PairedMetric,
} from './comparisonReads.ts';
import type { Unjudged } from './judged.ts';
import { metricPairs } from './metricPairs.ts';
import { outcomeOf } from './outcomeOf.ts';
import type { GivenSample } from './sampleOf.ts';
import type { StatisticsThread } from './statisticsThread.ts';
import { typeOf } from './valueTypes.ts';
import { worstValues } from './worstValues.ts';

export interface CompareRunsDeps {
  reads: Pick<ComparisonReads, 'pairs' | 'labels'>;
  statistics: Pick<StatisticsThread, 'pairedTests'>;
}

interface PairOfRuns {
  request: ComparisonRequest;
  baseline: Side;
  other: Side;
  runs: ComparedRuns;
  metrics: readonly ComparedMetric[];
  slice: ColumnDef | undefined;
}

/** One experiment against the baseline, in each metric. */
export async function compareRuns(
  deps: CompareRunsDeps,
  { request, baseline, other, runs, metrics, slice }: PairOfRuns,
  signal: AbortSignal | undefined,
): Promise<Unjudged[]> {
  const worst = worstValues(metrics, request.failedRows ?? other.experiment.failedRows);
  const rows = Math.max(baseline.outline.rows, other.outline.rows);
  const paired = await metricPairs(deps.reads, { runs, metrics, slice, rows, worst }, signal);
  const labels = await labelsOf(deps, paired, runs, slice);
  const samples = paired.map(
    (one): GivenSample => ({
      ...{ moments: one.moments, differences: one.differences },
      isYesOrNo: !runs.hasTrials && isYesOrNo(one.baseline) && isYesOrNo(one.other),
    }),
  );
  const tests = await deps.statistics.pairedTests(samples, { seed: request.seed, level: request.level }, signal);
  const byId = new Map(metrics.map((metric) => [metric.id, metric]));
  const names = { baseline: baseline.experiment.name, other: other.experiment.name };
  const unjudged = paired.map((one, index): Unjudged => {
    const metric = byId.get(one.metric) as ComparedMetric;
    const figures = (side: MetricSide, { experiment }: Side): SideFigures => ({
      ...{ mean: side.mean, p50: side.p50, p95: side.p95 },
      aggregate: slice ? null : (experiment.aggregates?.rolledUp[one.metric] ?? null),
    });
    const comparison = {
      experimentId: other.experiment.id,
      ...{ metric: metric.name, metricId: metric.id, unit: metric.unit, isMeasured: metric.isMeasured },
      ...{ direction: metric.direction, isDirectionAssumed: metric.isDirectionAssumed },
      slice: slice && one.slice !== null ? { column: slice.id, value: one.slice } : null,
      failedRows: worst.has(metric.id) ? ('worst' as const) : ('omit' as const),
      baseline: figures(one.baseline, baseline),
      other: figures(one.other, other),
      missing: one.missing,
      ...outcomeOf({
        ...{ paired: one, result: tests[index], level: request.level },
        labels: labels.filter((found) => found.metric === one.metric && found.slice === one.slice),
        direction: metric.direction,
      }),
    };
    return { comparison, names };
  });
  return unjudged.filter((_, index) => slice === undefined || hasRows(paired[index] as PairedMetric));
}

const hasRows = ({ slice, moments }: PairedMetric): boolean => slice !== null && moments.pairs > 0;

/** How often the labels of those metrics come together whose values are labels on both sides. */
async function labelsOf(
  { reads }: CompareRunsDeps,
  paired: readonly PairedMetric[],
  runs: ComparedRuns,
  slice: ColumnDef | undefined,
): Promise<LabelPairs[]> {
  const isCategory = ({ baseline, other }: PairedMetric): boolean =>
    typeOf(baseline) === 'category' && typeOf(other) === 'category';
  const metrics = [...new Set(paired.filter(isCategory).map(({ metric }) => metric))];
  return metrics.length > 0 ? reads.labels({ ...runs, metrics, ...(slice ? { slice } : {}) }) : [];
}
