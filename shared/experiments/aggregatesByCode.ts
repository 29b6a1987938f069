import type { AggregatedByCode, CodeSandbox } from '../codeMetrics/codeSandbox.ts';
import type { RunRef } from '../projects/runs.ts';
import type { MetricValueStore } from '../records/metricValues.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';

export interface ByCodeDeps {
  sandbox: Pick<CodeSandbox, 'aggregate'>;
  values: Pick<MetricValueStore, 'scores'>;
}

/** Values that an `aggregator_fn` is given: as JSON some MB, which an interpreter reads in a second. */
const MAX_SCORES = 100_000;
/** Milliseconds, the turns of other projects included. */
const MAX_WAIT_MS = 60_000;

/** Returns the results of the `aggregator_fn` of code metrics over their values in a run, by metric; a result that failed says why. */
export async function aggregatesByCode(
  { sandbox, values }: ByCodeDeps,
  run: RunRef,
  metrics: Iterable<EnabledMetric>,
): Promise<Record<string, AggregatedByCode>> {
  const summed: [string, AggregatedByCode][] = [];
  for (const { name, definedBy } of metrics) {
    const definition = definedBy?.version?.definition;
    if (!definition || !('code' in definition) || !definition.aggregates) continue;
    const scores = await values.scores(run, name, MAX_SCORES + 1);
    if (scores.length === 0) continue;
    summed.push([
      name,
      scores.length > MAX_SCORES
        ? { error: `aggregator_fn is given at most ${MAX_SCORES} values, and the run has more` }
        : await inTime((signal) => sandbox.aggregate(run.projectId, definition.code, scores, signal)),
    ]);
  }
  return Object.fromEntries(summed);
}

/** A run ends also where the interpreters are busy with others. */
async function inTime(aggregate: (signal: AbortSignal) => Promise<AggregatedByCode>): Promise<AggregatedByCode> {
  const signal = AbortSignal.timeout(MAX_WAIT_MS);
  try {
    return await aggregate(signal);
  } catch (err) {
    if (signal.aborted) return { error: `aggregator_fn had no turn within ${MAX_WAIT_MS / 1_000} s` };
    throw err;
  }
}
