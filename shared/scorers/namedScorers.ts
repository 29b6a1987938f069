import { RequestInvalid } from '../errors/errors.ts';
import { metricColumn } from '../metrics/metricColumn.ts';
import type { NamedScorer } from '../records/metricsTestingColumns.ts';
import { type EnabledMetric, resolveMetrics, type ScorerLookup } from './resolveMetrics.ts';

/** Scorers by name, label or id. One that is not known (yet) is nothing but its name. */
export const namedScorers = (store: ScorerLookup, names: readonly string[]): Promise<NamedScorer[]> =>
  Promise.all(
    [...new Set(names)].map(async (name) => {
      const metric = await knownMetric(store, name);
      return {
        name,
        judged: metric?.needs === 'judge',
        column: metric && { ...metricColumn(metric), scorerId: metric.scorerId },
      };
    }),
  );

async function knownMetric(store: ScorerLookup, name: string): Promise<EnabledMetric | undefined> {
  try {
    return (await resolveMetrics(store, [name]))[0];
  } catch (err) {
    if (err instanceof RequestInvalid) return undefined;
    throw err;
  }
}
