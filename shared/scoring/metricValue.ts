import type { Score } from '../metrics/metric.ts';
import type { MetricValue } from '../records/recordStore.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import type { MetricStatus } from '../wire/metricResults.ts';
import type { RecordToScore } from './recordToScore.ts';

/** A value of a record, in maps. */
export const valueKey = (recordId: string, metric: string): string => `${recordId}/${metric}`;

/** A score as the record store keeps it. A judge's cost and tokens stand beside the value. */
export function toMetricValue(
  { id, createdAt, kind, traceId }: Pick<RecordToScore, 'id' | 'createdAt' | 'kind' | 'traceId'>,
  metric: Pick<EnabledMetric, 'name' | 'alias' | 'scorerId' | 'version' | 'isJudgedByModelUnderTest'>,
  score: Score,
): MetricValue {
  const base = {
    metric: metric.name,
    recordId: id,
    recordCreatedAt: createdAt,
    recordType: kind,
    traceId,
    scorerId: metric.scorerId,
    ...(metric.version === undefined ? {} : { scorerVersion: metric.version }),
  };
  const usage =
    'usage' in score && score.usage
      ? {
          cost: score.usage.costUsd,
          model_alias: score.usage.model,
          input_tokens: score.usage.inputTokens,
          output_tokens: score.usage.outputTokens,
          ...(score.usage.adjustments ? { sent_otherwise: score.usage.adjustments } : {}),
          ...(metric.isJudgedByModelUnderTest ? { judged_by_model_under_test: true } : {}),
        }
      : {};
  const alias = metric.alias === undefined ? {} : { metric_key_alias: metric.alias };
  const none = (status: MetricStatus, message: string): MetricValue => ({
    ...base,
    status,
    details: { ...alias, ...usage, message },
  });
  if ('notApplicable' in score) return none('not_applicable', score.notApplicable);
  if ('notComputed' in score) return none('not_computed', score.notComputed);
  if ('error' in score) return none('error', score.error);
  if ('gaveUp' in score) return none('failed', score.gaveUp);
  return {
    ...base,
    status: 'success',
    value: score.value,
    explanation: score.explanation ?? null,
    metadata: score.metadata ?? null,
    details: { ...alias, ...usage },
  };
}
