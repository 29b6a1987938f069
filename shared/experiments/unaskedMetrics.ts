import type { RunRef } from '../projects/runs.ts';
import type { StoredMetric, StoredReads } from '../records/searchRecords.ts';
import { builtinById } from '../scorers/presets.ts';
import type { ScorerStore } from '../scorers/scorer.ts';
import { isUnderWay } from './experiment.ts';
import type { RunLedger } from './runLedger.ts';

type MetricResults = StoredReads['metricResults'];

/**
 * The stored results of records, and a state for every metric that the run has switched on for records of such a kind and that this one has nothing
 * of. While an experiment runs that is `pending`; else `not_computed`: it was stored before the metric was switched on, its trace is not complete, or
 * the run's settings leave it out.
 */
export function withUnaskedMetrics(
  stored: MetricResults,
  settings: Pick<ScorerStore, 'runSettings'>,
  ledger: Pick<RunLedger, 'find'>,
): MetricResults {
  return async (run, keys, metrics) => {
    const [results, enabled] = await Promise.all([stored(run, keys, metrics), enabledIn(settings, run)]);
    const wanted = enabled.filter(({ metric }) => metrics?.includes(metric) ?? true);
    if (wanted.length === 0) return results;
    const experiment = await ledger.find(run.runId);
    const isPending = experiment !== undefined && isUnderWay(experiment.state);
    const states = wanted.map((one) => ({ ...one, state: stateOf(one, isPending) }));
    const all = new Map(results);
    for (const { id, type } of keys) {
      const known = results.get(id) ?? [];
      const missing = states.filter(({ metric, kinds }) => kinds.includes(type) && !known.some((one) => one.metric === metric));
      if (missing.length > 0) all.set(id, [...known, ...missing.map(({ state }) => state)]);
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
    return { metric: builtin?.name ?? id, scorerId: id, alias: builtin ? undefined : (name ?? undefined), kinds };
  });
}

function stateOf(
  { metric, scorerId, alias }: { metric: string; scorerId: string; alias: string | undefined },
  isPending: boolean,
): StoredMetric {
  const named = alias === undefined ? {} : { metric_key_alias: alias };
  return {
    ...{ metric, scorerId },
    result: isPending
      ? { status_type: 'pending', ...named }
      : { status_type: 'not_computed', ...named, message: 'no score was asked for' },
    metadata: null,
  };
}
