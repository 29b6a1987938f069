import { systemMetricNames } from '../columns/systemMetrics.ts';
import { loggedScores, type ReadScore } from '../wire/readScores.ts';
import type { MetricValue } from './recordStore.ts';

export type ScoreResult = Pick<MetricValue, 'status' | 'value' | 'explanation' | 'metadata' | 'details'>;

/** The scores that were logged under a name in `metrics`, by the metrics that they are of: a list may hold several. */
export function scoresIn(metric: string, value: unknown): [metric: string, result: ScoreResult][] {
  if (value === undefined || value === null) return [];
  const scores = loggedScores(metric, value)?.filter(({ name }) => !systemMetricNames.has(name));
  if (!scores) return [[metric, { status: 'success', value }]];
  return scores.map(({ name, ...score }) => [name, resultOf(score)]);
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
