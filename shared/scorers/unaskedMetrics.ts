import type { RunRef } from '../projects/runs.ts';
import type { StoredReads } from '../records/searchRecords.ts';
import { builtinById } from './presets.ts';
import type { ScorerStore } from './scorer.ts';

type MetricResults = StoredReads['metricResults'];

/**
 * The stored results of records, and `not_computed` for every metric that the run has switched on for records of such a kind and that nobody computed
 * for this one: it was stored before the metric was switched on, or the run's settings leave it out.
 */
export function withUnaskedMetrics(stored: MetricResults, settings: Pick<ScorerStore, 'runSettings'>): MetricResults {
  return async (run, keys, metrics) => {
    const [results, enabled] = await Promise.all([stored(run, keys, metrics), enabledIn(settings, run)]);
    const wanted = enabled.filter(({ metric }) => metrics?.includes(metric) ?? true);
    if (wanted.length === 0) return results;
    const all = new Map(results);
    for (const { id, type } of keys) {
      const known = results.get(id) ?? [];
      const unasked = wanted.filter(({ metric, kinds }) => kinds.includes(type) && !known.some((one) => one.metric === metric));
      if (unasked.length > 0) all.set(id, [...known, ...unasked.map(({ metric, alias }) => notComputed(metric, alias))]);
    }
    return all;
  };
}

/** Without a look at the scorers themselves, which every page of records would pay for: the settings say what is needed here. */
async function enabledIn(settings: Pick<ScorerStore, 'runSettings'>, { projectId, runId }: RunRef) {
  const { scorers = [] } = (await settings.runSettings(projectId, runId)) ?? {};
  return scorers.map(({ id, name, scoreable_node_types }) => {
    const builtin = builtinById(id);
    const kinds: readonly string[] = scoreable_node_types ?? builtin?.kinds ?? [];
    return { metric: builtin?.name ?? id, alias: builtin ? undefined : (name ?? undefined), kinds };
  });
}

const notComputed = (metric: string, alias: string | undefined) => ({
  metric,
  result: {
    status_type: 'not_computed' as const,
    ...(alias === undefined ? {} : { metric_key_alias: alias }),
    message: 'no score was asked for',
  },
  metadata: null,
});
