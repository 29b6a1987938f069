import type { Score, ScoreContext, ScoredRecord } from '../metrics/metric.ts';
import { scoreRecord } from '../metrics/scoreRecord.ts';
import { isScored } from '../scorers/isScored.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import type { ExperimentRun } from './experiment.ts';
import { rowTraceId } from './rowTrace.ts';
import type { RowSourceReader } from './runRows.ts';
import type { Chunk, ChunkOutcome, OrdinalRange } from './workflow.ts';

/** A row's trace, as it is scored. */
export interface RecordedTrace {
  id: string;
  createdAt: string;
  failed: boolean;
  attempt: number;
  name: string;
  record: ScoredRecord;
}

/** One metric's outcome on one record. */
export interface ScoredValue {
  recordId: string;
  recordCreatedAt: string;
  metric: EnabledMetric;
  score: Score;
}

export interface ScoreLog {
  /** The recorded traces of these ids with what metrics look at; `withSpans` where a metric needs the spans below. */
  traces(run: ExperimentRun, traceIds: string[], withSpans: boolean): Promise<RecordedTrace[]>;
  /** `<record id>/<metric>` of the values that were computed for the trace as it stands now. */
  computed(run: ExperimentRun, traceIds: string[], metrics: string[]): Promise<Set<string>>;
  write(run: ExperimentRun, values: ScoredValue[]): Promise<void>;
}

export interface ScoreRowsDeps {
  rows: RowSourceReader;
  log: ScoreLog;
  metrics: readonly EnabledMetric[];
  /** Hands a judged metric its model. */
  contextFor(metric: EnabledMetric, signal: AbortSignal): ScoreContext;
  untilStored<T>(operation: () => Promise<T>, signal: AbortSignal): Promise<T>;
  onProgress(done: number): void;
}

const PAGE_ROWS = 1_000;
/** Values per write, and the milliseconds after which fewer are written: what a crash can make a judge compute again. */
const VALUES_PER_WRITE = 1_000;
const WRITE_EVERY_MS = 500;

export const valueKey = (recordId: string, metric: string): string => `${recordId}/${metric}`;

/**
 * Scores the rows of a chunk with every metric that has no value yet. A failing metric fails only its own value. Safe to run twice: a value is
 * kept under (metric, record), and the newest one counts.
 */
export async function scoreRows(
  deps: ScoreRowsDeps,
  run: ExperimentRun,
  chunk: Chunk,
  stopping: AbortSignal,
): Promise<ChunkOutcome> {
  let recorded = 0;
  // The next page is read while this one is scored. Nobody waits for a page whose predecessor failed, so its own failure is nobody's.
  const read = (from: number) => {
    const page = readPage(deps, run, { from, to: Math.min(from + PAGE_ROWS, chunk.to) }, stopping);
    page.catch(() => undefined);
    return page;
  };
  let next = read(chunk.from);
  for (let from = chunk.from; from < chunk.to; from += PAGE_ROWS) {
    if (stopping.aborted) return { takenTo: from, recorded };
    const to = Math.min(from + PAGE_ROWS, chunk.to);
    try {
      const work = await next;
      if (to < chunk.to) next = read(to);
      recorded += await scorePage(deps, run, work, chunk.lanes, stopping);
    } catch (err) {
      if (stopping.aborted) return { takenTo: from, recorded };
      throw err;
    }
    deps.onProgress(to - chunk.from);
  }
  return { takenTo: chunk.to, recorded };
}

interface Scoring {
  trace: RecordedTrace;
  metric: EnabledMetric;
}

/** What is to be scored of the rows [from, to). */
async function readPage(deps: ScoreRowsDeps, run: ExperimentRun, page: OrdinalRange, signal: AbortSignal): Promise<Scoring[]> {
  const rows = await deps.untilStored(() => deps.rows.range(run, page.from, page.to), signal);
  const traceIds = rows.map((row) => rowTraceId(run.experimentId, row.rowId));
  const withSpans = deps.metrics.some((metric) => metric.readsSpans);
  const names = deps.metrics.map((metric) => metric.name);
  const [traces, known] = await Promise.all([
    deps.untilStored(() => deps.log.traces(run, traceIds, withSpans), signal),
    // Scores alone are asked for: every one of them anew.
    run.rowsToRun === 'none' ? new Set<string>() : deps.untilStored(() => deps.log.computed(run, traceIds, names), signal),
  ]);
  return traces.flatMap((trace) =>
    deps.metrics.filter((metric) => !known.has(valueKey(trace.id, metric.name))).map((metric) => ({ trace, metric })),
  );
}

async function scorePage(
  deps: ScoreRowsDeps,
  run: ExperimentRun,
  work: readonly Scoring[],
  lanes: number,
  signal: AbortSignal,
): Promise<number> {
  let buffer: ScoredValue[] = [];
  let written = 0;
  let writtenAt = performance.now();
  const flush = async () => {
    const values = buffer;
    buffer = [];
    writtenAt = performance.now();
    if (values.length === 0) return;
    await deps.untilStored(() => deps.log.write(run, values), signal);
    written += values.length;
  };
  const queue = work.values();
  let broken: { reason: unknown } | undefined;
  const lane = async () => {
    for (const { trace, metric } of queue) {
      signal.throwIfAborted();
      if (broken) return;
      const score = await scoreOf(trace, metric, deps, signal);
      buffer.push({ recordId: trace.id, recordCreatedAt: trace.createdAt, metric, score });
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

async function scoreOf(trace: RecordedTrace, metric: EnabledMetric, deps: ScoreRowsDeps, signal: AbortSignal): Promise<Score> {
  if (trace.failed) return { notApplicable: 'the row failed, so there is no answer to score' };
  if (!isScored(metric, { kind: 'trace', name: trace.name, metadata: trace.record.metadata, modalities: ['text'] }))
    return { notApplicable: "the run's settings leave this record out" };
  return scoreRecord(metric, trace.record, deps.contextFor(metric, signal));
}
