import { RequestInvalid } from '../errors/errors.ts';
import { measuredMetrics } from '../experiments/aggregates.ts';
import type { Metric } from '../metrics/metric.ts';
import { type ComparedMetric, metricDescriber, namedMetrics } from './comparedMetrics.ts';
import { type Side, valuelessMetrics } from './comparedSides.ts';
import type { ComparisonRequest } from './comparison.ts';
import { mustHaveWorst } from './worstValues.ts';

/** More are no page that somebody reads, and minutes of computing. */
const MAX_COMPARISONS = 2_000;

export interface MetricsDeps {
  /** Metrics that the service computes for the experiment. */
  metricsOf(run: {
    projectId: string;
    experimentId: string;
  }): Promise<(Metric & { judgeModel?: string | null; isJudgedByModelUnderTest?: boolean })[]>;
}

/**
 * All metrics that any of the experiments has values of, and what is measured.
 * @param withValueless also those that were to be computed and have no value, in the words of `valuelessMetrics`
 */
export async function metricsOfSides(
  deps: MetricsDeps,
  projectId: string,
  sides: readonly Side[],
  withValueless: boolean,
): Promise<ComparedMetric[]> {
  const computed = await Promise.all(sides.map(({ experiment }) => deps.metricsOf({ projectId, experimentId: experiment.id })));
  const describe = metricDescriber(
    computed.flat(),
    sides.map(({ experiment }) => experiment),
  );
  const keys = sides.flatMap((side) => [...side.metrics, ...(withValueless ? valuelessMetrics(side).keys() : [])]);
  return [...new Set([...keys.sort(), ...measuredMetrics])].map(describe);
}

/** The metrics of a request. @throws RequestInvalid for unknown ones, for more comparisons than are made, and for those that lack the worst value that was asked for */
export async function metricsToCompare(
  deps: MetricsDeps,
  projectId: string,
  request: ComparisonRequest,
  baseline: Side,
  others: readonly Side[],
): Promise<ComparedMetric[]> {
  const all = await metricsOfSides(deps, projectId, [baseline, ...others], request.metrics !== undefined);
  const metrics = namedMetrics(all, request.metrics);
  const comparisons = metrics.length * others.length;
  if (comparisons > MAX_COMPARISONS)
    throw new RequestInvalid([
      {
        loc: ['body', 'metrics'],
        msg: `${metrics.length} metrics of ${others.length} experiments are ${comparisons} comparisons, and at most ${MAX_COMPARISONS} are made: name fewer`,
        type: 'too_many_comparisons',
      },
    ]);
  if (request.failedRows === 'worst' && request.metrics)
    for (const [index, metric] of metrics.entries()) mustHaveWorst(metric, ['body', 'metrics', index]);
  return metrics;
}
