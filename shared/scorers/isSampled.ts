import { derivedId } from '../identifiers/ids.ts';
import type { SegmentFilter } from '../wire/scorers.ts';
import { isScored, type ScoringTarget } from './isScored.ts';
import { asksJudges, type EnabledMetric } from './resolveMetrics.ts';

/**
 * True when the run's segments have this metric computed for a record. The first segment that is about the metric and takes the record decides,
 * by its share; a record that no segment takes is scored. The same share of traces is taken whatever the metric, and a trace is taken whole.
 */
export function isSampled(
  metric: Pick<EnabledMetric, 'needs' | 'requires' | 'config'>,
  target: ScoringTarget & { traceId: string },
  segments: readonly SegmentFilter[],
): boolean {
  const segment = segments.find(
    ({ filter, llm_scorers, multimodal_scorers }) =>
      (!llm_scorers || asksJudges(metric)) &&
      (!multimodal_scorers || (metric.config.multimodal_capabilities ?? []).length > 0) &&
      isScored({ kinds: [target.kind as EnabledMetric['kinds'][number]], filters: filter ? [filter] : [] }, target),
  );
  return segment === undefined || shareOf(target.traceId) < segment.sample_rate;
}

/** A number in [0, 1) that the trace's id alone decides. Ids that callers choose need not be random, hence the hash. */
const shareOf = (traceId: string): number => Number.parseInt(derivedId('sample', traceId).slice(0, 8), 16) / 2 ** 32;
