import type { ColumnDef } from '../columns/columnDef.ts';
import { RequestInvalid } from '../errors/errors.ts';
import type { ComparedMetric } from './comparedMetrics.ts';
import { comparedRuns } from './comparedRuns.ts';
import {
  comparedSides,
  isRunning,
  type Side,
  type SidesDeps,
  valuelessMetrics,
  warningsOfGaps,
  warningsOfSides,
} from './comparedSides.ts';
import { type CompareRunsDeps, compareRuns } from './compareRuns.ts';
import type { ComparedExperiment, ComparisonAnswer, ComparisonRequest } from './comparison.ts';
import type { ComparisonReads } from './comparisonReads.ts';
import { judged, type Unjudged } from './judged.ts';
import { type MetricsDeps, metricsOfSides, metricsToCompare } from './metricsToCompare.ts';
import { selfJudgedWarnings } from './selfJudged.ts';
import { mustHaveSlices, sliceColumn } from './sliceColumn.ts';

/** Comparisons that are computed at a time: the engine reads for one while the statistics of another are computed. Of large runs one takes all the memory. */
const SEVERAL = 4;
const MOST_ROWS_OF_SEVERAL = 10_000;

export interface CompareDeps extends SidesDeps, MetricsDeps, CompareRunsDeps {
  /** @throws ServiceError `ColumnUnknown` */
  findColumn(id: string): ColumnDef;
  reads: ComparisonReads;
}

/**
 * Compares experiments with a baseline, metric by metric.
 * @throws ServiceError `NotFound`; RequestInvalid for what cannot be compared, of which nothing is computed then
 */
export async function compareExperiments(
  deps: CompareDeps,
  projectId: string,
  request: ComparisonRequest,
  signal?: AbortSignal,
): Promise<ComparisonAnswer> {
  const { baseline, others } = await comparedSides(deps, projectId, request);
  const metrics = await metricsToCompare(deps, projectId, request, baseline, others);
  const slices = request.slices.map((id, index) => sliceColumn(deps.findColumn, id, ['body', 'slices', index]));
  const pairs = await Promise.all(
    others.map(async (other) => {
      const runs = comparedRuns(baseline, other);
      return { other, runs, rows: await deps.reads.rows(runs) };
    }),
  );
  for (const [index, { other, rows, runs }] of pairs.entries())
    if (rows.matched + rows.changed === 0 && !isRunning(baseline) && !isRunning(other))
      throw new RequestInvalid([
        {
          loc: ['body', 'experiment_ids', index],
          msg: `${other.experiment.name} and ${baseline.experiment.name} have no row in common: ${other.outline.rows} and ${baseline.outline.rows} rows were matched by their ${runs.matchedBy.replace('_', ' ')}`,
          type: 'no_common_rows',
        },
      ]);
  const described = (side: Side, matching: ComparedExperiment['matching']): ComparedExperiment => ({
    ...{ id: side.experiment.id, name: side.experiment.name, state: side.experiment.state, matching },
    ...{ isRunning: isRunning(side), rows: side.outline.rows, failedRows: side.outline.failed },
  });
  const comparisons: Unjudged[] = [];
  const parts = pairs.flatMap(({ other, runs }) =>
    [undefined, ...slices].map((slice) => ({ request, baseline, other, runs, metrics, slice })),
  );
  const mostRows = Math.max(...[baseline, ...others].map(({ outline }) => outline.rows));
  const atATime = mostRows > MOST_ROWS_OF_SEVERAL ? 1 : SEVERAL;
  for (let from = 0; from < parts.length; from += atATime)
    comparisons.push(
      ...(await Promise.all(parts.slice(from, from + atATime).map((part) => compareRuns(deps, part, signal)))).flat(),
    );
  mustHaveSlices(
    request,
    comparisons.map(({ comparison }) => comparison),
  );
  return {
    baseline: described(baseline, null),
    experiments: pairs.map(({ other, runs, rows }) => described(other, { by: runs.matchedBy, ...rows })),
    comparisons: judged(comparisons, request),
    warnings: [
      ...warningsOfSides(baseline, others),
      ...(await gaps(deps, projectId, [baseline, ...others], request.metrics && metrics)),
      ...(await selfJudgedWarnings(deps, projectId, [baseline, ...others], metrics)),
    ],
  };
}

/** Why metrics that were asked for have no value; without names, of all that were to be computed. */
async function gaps(
  deps: CompareDeps,
  projectId: string,
  sides: readonly Side[],
  named: readonly ComparedMetric[] | undefined,
): Promise<string[]> {
  if (sides.every((side) => valuelessMetrics(side).size === 0)) return [];
  return warningsOfGaps(sides, named ?? (await metricsOfSides(deps, projectId, sides, true)));
}
