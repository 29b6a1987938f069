import type { MetricValue } from '../records/recordStore.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import { type RecordToScore, type ScoreValuesDeps, type Scoring, scoreValues, valueKey } from '../scoring/scoreValues.ts';
import type { ExperimentRun } from './experiment.ts';
import type { RowSourceReader } from './rowLog.ts';
import { rowTraceId } from './rowTrace.ts';
import type { Chunk, ChunkOutcome, OrdinalRange } from './workflow.ts';

export interface ScoreLog {
  /** The recorded traces of these ids with what metrics look at; `withSpans` where a metric needs the spans below. */
  traces(run: ExperimentRun, traceIds: string[], withSpans: boolean): Promise<RecordToScore[]>;
  /** By `<record id>/<metric>` the versions of the values that these traces have. */
  valueVersions(run: ExperimentRun, traceIds: string[], metrics: string[]): Promise<Map<string, number>>;
  write(run: ExperimentRun, values: readonly MetricValue[]): Promise<void>;
}

export interface ScoreRowsDeps extends Omit<ScoreValuesDeps, 'write'> {
  rows: RowSourceReader;
  log: ScoreLog;
  metrics: readonly EnabledMetric[];
  onProgress(done: number): void;
}

const PAGE_ROWS = 1_000;

/** Scores the rows of a chunk with every metric that has no value yet. Safe to run twice. */
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
      const write = (values: readonly MetricValue[]) => deps.log.write(run, values);
      recorded += await scoreValues({ ...deps, write }, work, chunk.lanes, stopping);
    } catch (err) {
      if (stopping.aborted) return { takenTo: from, recorded };
      throw err;
    }
    deps.onProgress(to - chunk.from);
  }
  return { takenTo: chunk.to, recorded };
}

/** What is to be scored of the rows [from, to). */
async function readPage(deps: ScoreRowsDeps, run: ExperimentRun, page: OrdinalRange, signal: AbortSignal): Promise<Scoring[]> {
  const rowIds = await deps.untilStored(() => deps.rows.ids(run, page.from, page.to), signal);
  const traceIds = rowIds.map((rowId) => rowTraceId(run.experimentId, rowId));
  const withSpans = deps.metrics.some((metric) => metric.readsSpans);
  const names = deps.metrics.map((metric) => metric.name);
  const [traces, known] = await Promise.all([
    deps.untilStored(() => deps.log.traces(run, traceIds, withSpans), signal),
    // Scores alone are asked for: every one of them anew.
    run.rowsToRun === 'none'
      ? new Map<string, number>()
      : deps.untilStored(() => deps.log.valueVersions(run, traceIds, names), signal),
  ]);
  // A value that is as new as the trace was computed for it as it stands.
  const isScored = (trace: RecordToScore, metric: EnabledMetric) =>
    (known.get(valueKey(trace.id, metric.name)) ?? 0) >= trace.version;
  return traces.flatMap((trace) =>
    deps.metrics.filter((metric) => !isScored(trace, metric)).map((metric) => ({ target: trace, metric })),
  );
}
