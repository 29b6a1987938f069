import { isExact } from '../wire/exactNumber.ts';
import { isObject } from '../wire/isObject.ts';
import { loggedScores, type ReadScore } from '../wire/readScores.ts';
import { systemMetricNames } from '../wire/systemCounts.ts';
import type { MetricValue } from './recordStore.ts';

export type ScoreResult = Pick<MetricValue, 'status' | 'value' | 'explanation' | 'metadata' | 'details'>;

/** The scores that were logged under a name in `metrics`, by the metrics that they are of: a list may hold several. */
export function scoresIn(metric: string, value: unknown): [metric: string, result: ScoreResult][] {
  if (value === undefined || value === null) return [];
  const scores = loggedScores(metric, value)?.filter(({ name }) => !systemMetricNames.has(name));
  if (!scores) return [[metric, { status: 'success', value }]];
  return scores.map(({ name, ...score }) => [name, resultOf(score)]);
}

const METADATA = '_metadata';

/**
 * The metric whose metadata is logged under a name: a client in Python logs the map that a scorer gives beside its value as `<name>_metadata`.
 * @returns undefined for a metric of its own
 */
export function metadataOwner(name: string, metrics: Readonly<Record<string, unknown>>): string | undefined {
  const owner = name.endsWith(METADATA) ? name.slice(0, -METADATA.length) : '';
  const isBeside = owner !== '' && metrics[owner] != null && !systemMetricNames.has(owner);
  return isBeside && isObject(metrics[name]) && !isExact(metrics[name]) ? owner : undefined;
}

/** The same scores where the metadata of the metric may stand beside its value. */
export function scoresBeside(
  metric: string,
  metrics: Readonly<Record<string, unknown>>,
): [metric: string, result: ScoreResult][] {
  const beside = `${metric}${METADATA}`;
  const metadata = metadataOwner(beside, metrics) === metric ? metrics[beside] : undefined;
  return scoresIn(metric, metrics[metric]).map(([name, result]) => [
    name,
    isObject(metadata) && name === metric && result.metadata == null ? { ...result, metadata } : result,
  ]);
}

function resultOf({ value, explanation, metadata, error }: ReadScore): ScoreResult {
  if (error !== undefined) return { status: 'error', metadata: metadata ?? null, details: { message: error } };
  if (value === null)
    return {
      status: 'not_applicable',
      metadata: metadata ?? null,
      details: { message: explanation ?? 'the client gave no score' },
    };
  return { status: 'success', value, explanation: explanation ?? null, metadata: metadata ?? null };
}

/** The logged metrics of a record as it is shown: the values of scores in their place. */
export function shownMetrics(metrics: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const scores = new Map(
    Object.entries(metrics).flatMap(([metric, value]) => {
      const held = typeof value === 'object' ? loggedScores(metric, value) : undefined;
      return held ? [[metric, held] as const] : [];
    }),
  );
  if (scores.size === 0) return metrics;
  return Object.fromEntries([
    ...Object.entries(metrics).filter(([metric]) => !scores.has(metric)),
    ...[...scores.values()]
      .flat()
      .flatMap(({ name, value }) => (value === null || systemMetricNames.has(name) ? [] : [[name, value] as const])),
  ]);
}
