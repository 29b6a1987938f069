import type { RecordKind } from '../columns/columnDef.ts';
import type { Score, ScoreContext, ScoredRecord } from '../metrics/metric.ts';
import { scoreRecord } from '../metrics/scoreRecord.ts';
import type { MetricValue } from '../records/recordStore.ts';
import { isScored } from '../scorers/isScored.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import { toMetricValue } from './metricValue.ts';

/** A stored record with what metrics look at. */
export interface RecordToScore {
  id: string;
  createdAt: string;
  /** Microseconds; rises with every write of the record. */
  version: number;
  kind: RecordKind;
  traceId: string | null;
  sessionId: string;
  failed: boolean;
  name: string;
  /** `text`, `image`, `audio` … of its content. */
  modalities: readonly string[];
  record: ScoredRecord;
}

/** One value to be computed. */
export interface Scoring {
  target: RecordToScore;
  metric: EnabledMetric;
}

export interface ScoreValuesDeps {
  /** Hands a judged metric its model. */
  contextFor(metric: EnabledMetric, signal: AbortSignal): ScoreContext;
  write(values: readonly MetricValue[]): Promise<void>;
  untilStored<T>(operation: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

export const valueKey = (recordId: string, metric: string): string => `${recordId}/${metric}`;

/** Values per write, and the milliseconds after which fewer are written: what a crash can make a judge compute again. */
const VALUES_PER_WRITE = 1_000;
const WRITE_EVERY_MS = 500;

/**
 * Computes and stores values, in lanes. A failing metric fails only its own value. Safe to run twice: a value is kept under (metric, record), and
 * the newest one counts.
 * @returns how many were stored
 */
export async function scoreValues(
  deps: ScoreValuesDeps,
  work: readonly Scoring[],
  lanes: number,
  signal: AbortSignal,
): Promise<number> {
  let buffer: MetricValue[] = [];
  let written = 0;
  let writtenAt = performance.now();
  const flush = async () => {
    const values = buffer;
    buffer = [];
    writtenAt = performance.now();
    if (values.length === 0) return;
    await deps.untilStored(() => deps.write(values), signal);
    written += values.length;
  };
  const queue = work.values();
  let broken: { reason: unknown } | undefined;
  const lane = async () => {
    for (const { target, metric } of queue) {
      signal.throwIfAborted();
      if (broken) return;
      const score = await scoreOf(target, metric, deps, signal);
      buffer.push(toMetricValue(target, metric, score)); // another lane may have begun a new buffer while this one waited
      if (buffer.length >= VALUES_PER_WRITE || performance.now() - writtenAt > WRITE_EVERY_MS) await flush();
    }
  };
  // A lane that breaks stops the others at their next value; none is left behind to go on beside a repeat.
  const stop = (reason: unknown) => {
    broken ??= { reason };
  };
  await Promise.all(Array.from({ length: lanes }, () => lane().catch(stop)));
  if (broken) throw broken.reason;
  await flush();
  return written;
}

async function scoreOf(target: RecordToScore, metric: EnabledMetric, deps: ScoreValuesDeps, signal: AbortSignal): Promise<Score> {
  if (target.failed) return { notApplicable: `the ${target.kind} failed, so there is no answer to score` };
  const { kind, name, modalities, record } = target;
  if (!isScored(metric, { kind, name, modalities, metadata: record.metadata }))
    return { notComputed: "the run's settings leave this record out" };
  return scoreRecord(metric, record, deps.contextFor(metric, signal));
}
