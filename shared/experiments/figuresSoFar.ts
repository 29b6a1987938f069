import { systemMetricNames } from '../wire/systemCounts.ts';
import type { ExperimentRun } from './experiment.ts';
import { type SumDeps, sumUp } from './sumUp.ts';

/** The one figure of a metric, and how many values it is made of. */
export interface FigureSoFar {
  metric: string;
  figure: number;
  values: number;
}

/** Returns what the metrics of a run come to now, the figures that every record has left out; none of a metric that has no value yet, or that has no number. */
export async function figuresSoFar(deps: SumDeps, run: ExperimentRun): Promise<FigureSoFar[]> {
  const [{ metrics, rolledUp }, computed] = await Promise.all([sumUp(deps, run), deps.metricsOf(run)]);
  const aliases = new Map(computed.map(({ name, alias }) => [name, alias]));
  return Object.entries(rolledUp).flatMap(([key, figure]) => {
    const values = metrics[key]?.count ?? 0;
    return values === 0 || systemMetricNames.has(key) ? [] : [{ metric: aliases.get(key) ?? key, figure, values }];
  });
}
