import type { RunRef } from '../projects/runs.ts';
import { isScored } from '../scorers/isScored.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import { isSpanKind } from '../wire/recordKinds.ts';
import { valueKey } from './metricValue.ts';
import { type RecordToScore, type SpansRead, scoringTarget } from './recordToScore.ts';
import type { MarkedValue } from './scoring.ts';
import type { WriterDeps } from './valueWriter.ts';

/** The metric that computes a value, or the reason why none can. */
export type FoundMetric = EnabledMetric | { problem: string };

/** The spans of a trace whose value is made of them: those that are to be scored, and whether others were. */
export interface SpansOfTrace {
  lacking: readonly RecordToScore[];
  areScored: boolean;
}

/**
 * True of a metric that looks at spans and not at traces. Where rows are scored, their traces are marked all the same, since the spans of a row are not
 * known before: the spans of the trace are scored, and the trace gets their roll-up.
 */
export const isOfSpansAlone = ({ kinds }: Pick<EnabledMetric, 'kinds'>): boolean =>
  !kinds.includes('trace') && kinds.some(isSpanKind);

/** Returns whether the value is that of a trace which is made of its spans. */
const isMadeOfSpans = (value: MarkedValue, metric: FoundMetric): metric is EnabledMetric =>
  value.kind === 'trace' && !('problem' in metric) && isOfSpansAlone(metric);

/** Returns which spans are read with the records of these values. */
export function spansRead(values: readonly MarkedValue[], metrics: readonly FoundMetric[]): SpansRead {
  const known = values.flatMap((value, index) => {
    const metric = metrics[index] as FoundMetric;
    return 'problem' in metric ? [] : [{ value, metric }];
  });
  if (known.some(({ value, metric }) => isMadeOfSpans(value, metric))) return 'whole';
  return known.some(({ metric }) => metric.readsSpans) ? 'beginnings' : 'none';
}

/**
 * The spans to score of the traces whose values are made of their spans. One that was not written since keeps a value of this version of the metric, a
 * value that its caller computed, and what it got since the trace was marked, be it a failure.
 */
export async function spansToScore(
  deps: Pick<WriterDeps, 'rollUpReads' | 'untilStored'>,
  run: RunRef,
  part: readonly MarkedValue[],
  metrics: readonly FoundMetric[],
  records: ReadonlyMap<string, RecordToScore>,
  signal: AbortSignal,
): Promise<(value: MarkedValue) => SpansOfTrace | undefined> {
  const ofTraces = part.flatMap((value, index) => {
    const metric = metrics[index] as FoundMetric;
    const spansOf = records.get(value.recordId)?.spansOf;
    if (!isMadeOfSpans(value, metric) || !spansOf) return [];
    const spans = spansOf(metric.kinds, metric.readsSpans === true).filter((span) => isScored(metric, scoringTarget(span)));
    return [{ value, metric, spans }];
  });
  if (ofTraces.length === 0) return () => undefined;
  const traceIds = [...new Set(ofTraces.map(({ value }) => value.recordId))];
  const names = [...new Set(ofTraces.map(({ value }) => value.metric))];
  const held = await deps.untilStored(() => deps.rollUpReads.heldValues(run, 'trace', traceIds, names), signal);
  const heldByKey = new Map(held.map((one) => [valueKey(one.recordId, one.metric), one]));
  const found = new Map(
    ofTraces.map(({ value, metric, spans }) => {
      const lacking = spans.filter(({ id, version }) => {
        const one = heldByKey.get(valueKey(id, value.metric));
        if (one === undefined || one.version < version) return true;
        return !(one.isCallers || one.version >= value.version || (one.value !== null && one.scorerVersion === metric.version));
      });
      return [valueKey(value.recordId, value.metric), { lacking, areScored: lacking.length < spans.length }];
    }),
  );
  return (value) => found.get(valueKey(value.recordId, value.metric));
}
