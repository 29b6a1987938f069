import { ServiceError } from '../errors/errors.ts';
import { FailureStreak } from '../experiments/failureStreak.ts';
import type { JudgeUsage, Score, ScoreContext } from '../metrics/metric.ts';
import { scoreRecord, totalUsage } from '../metrics/scoreRecord.ts';
import type { RunRef } from '../projects/runs.ts';
import type { MetricValue } from '../records/recordStore.ts';
import { isScored } from '../scorers/isScored.ts';
import { asksJudges, type EnabledMetric } from '../scorers/resolveMetrics.ts';
import { toMetricValue } from './metricValue.ts';
import { type RecordSize, type RecordToScore, type SpansRead, scoringTarget } from './recordToScore.ts';
import { RequiredScores, requiredScores } from './requiredScores.ts';
import { type RowValueDeps, withRowValues } from './rowValues.ts';
import { type MarkedValue, versionNow } from './scoring.ts';
import { type FoundMetric, type SpansOfTrace, spansRead, spansToScore } from './spansOfRows.ts';
import { type Scoring, ValueWriter, type WriterDeps } from './valueWriter.ts';

export interface ScoreValuesDeps extends WriterDeps, Pick<RowValueDeps, 'rowValues'> {
  records(run: RunRef, ids: readonly string[], spans: SpansRead): Promise<RecordToScore[]>;
  /** Bytes that `records` reads for each of these: of the record itself, or of the whole trace or session that it belongs to. */
  recordSizes(run: RunRef, ids: readonly string[], spans: SpansRead): Promise<Map<string, RecordSize>>;
  metricOf(value: MarkedValue): FoundMetric;
  /**
   * Hands a judged metric its model.
   * @param stopping aborts when no further value is to begin; what only waits ends then
   * @param confirm asked before each call of a model
   */
  contextFor(metric: EnabledMetric, signal: AbortSignal, stopping: AbortSignal, confirm: () => Promise<void>): ScoreContext;
}

export interface ScoreValuesOptions {
  /** Values computed at once. */
  lanes: number;
  /** True when there are judges among the metrics. */
  judged: boolean;
  /** The time of `performance.now()` after which no further value starts. */
  until: number;
  /** Aborts when no further value may start; those in flight end and are stored. */
  stopping: AbortSignal;
  /** Aborts when those in flight are given up as well. */
  givenUp: AbortSignal;
  /** Resolves when these values are still this worker's to compute. @throws the reason of `stopping` when they are not */
  confirm(): Promise<void>;
  /** True when the values of judges are stored as `computing` before the calls. */
  showsComputing: boolean;
  /** Values in a row whose judge could not be asked, by its provider's fault, after which no further one begins; absent or 0: never. */
  maxProviderFailures?: number;
}

/** Values whose records are read together: many where a value takes no time, else no more than are soon begun. */
const PART_VALUES = 1_000;
const partValues = (lanes: number, judged: boolean): number =>
  judged ? Math.min(Math.max(5 * lanes, 100), PART_VALUES) : PART_VALUES;
/** The bytes of these records: one may have megabytes, and a trace thousands of spans. Two such parts are in memory at a time. */
const PART_BYTES = 16 * 1024 ** 2;
/** Reads of one record that is too much for the store. */
const MAX_EXPENSIVE_READS = 3;

/**
 * Computes values in lanes and stores each as it comes. A failing metric fails only its own value. Safe to run twice: a value is kept under
 * (metric, record), and the newest one counts.
 * @returns how many were stored, whether it ended before all were computed, and why, where a provider fails value after value
 */
export async function scoreValues(
  deps: ScoreValuesDeps,
  run: RunRef,
  values: AsyncIterable<MarkedValue>,
  options: ScoreValuesOptions,
): Promise<{ scored: number; more: boolean; failing?: string }> {
  const { lanes, until, stopping, givenUp } = options;
  const streak = new FailureStreak({ pauseAfterFailures: 0, pauseAfterProviderFailures: options.maxProviderFailures ?? 0 });
  let failing: string | undefined;
  // A pass whose time is over goes on while values of it are in flight: no lane idles because one judge is slow.
  let inTime = 0;
  const mayBegin = () => !stopping.aborted && !broken && failing === undefined && (performance.now() < until || inTime > 0);
  let broken: { reason: unknown } | undefined;
  const stop = (reason: unknown) => {
    broken ??= { reason };
  };
  const writer = new ValueWriter(deps, run, givenUp, stop);
  const required = new RequiredScores(deps, run);
  const work = scorings(deps, run, values, writer, required, options);
  let isDone = false;
  let isCut = false;
  /** Undefined where the value is left to be computed later: the provider's quota is used up, and the run pauses for it. */
  const scored = async (work: Scoring): Promise<Score | undefined> => {
    const { target, metric } = work;
    const ofRequired = (one: EnabledMetric): Promise<Score> =>
      required.required(work, one, () => scoreOf(target, one, deps, options, ofRequired), writer);
    const score = await required.own(target, metric, () => scoreOf(target, metric, deps, options, ofRequired));
    if ('gaveUp' in score) {
      const reason = streak.note({ ...score, error: score.gaveUp });
      failing ??= reason;
      if (score.isExhausted && reason !== undefined) return undefined;
    } else if ('value' in score) streak.note({});
    return score;
  };
  const compute = async (work: Scoring): Promise<void> => {
    const score = await scored(work);
    if (score === undefined) {
      isCut = true;
      return;
    }
    await writer.add(work, score);
    if (work.of && --work.of.left === 0) await writer.close(work.of.trace);
  };
  const lane = async () => {
    while (mayBegin()) {
      const next = await work.next();
      if (next.done) {
        isDone = true;
        return;
      }
      if (stopping.aborted) {
        isCut = true;
        return;
      }
      const isInTime = performance.now() < until;
      if (isInTime) inTime++;
      try {
        await compute(next.value);
      } finally {
        if (isInTime) inTime--;
      }
    }
  };
  // A lane that breaks stops the others at their next value; none is left behind to go on beside a repeat.
  await Promise.all(Array.from({ length: lanes }, () => lane().catch(stop)));
  await work.return(undefined).catch(stop);
  await writer.end();
  // A call that is given up, or a read that is not made any more, is no fault.
  if (broken && !stopping.aborted) throw broken.reason;
  const more = !isDone || isCut || broken !== undefined;
  return { scored: writer.written, more, ...(failing === undefined ? {} : { failing }) };
}

/** Reads the records of the values part by part, the next part while one is computed. */
async function* scorings(
  deps: ScoreValuesDeps,
  run: RunRef,
  values: AsyncIterable<MarkedValue>,
  writer: ValueWriter,
  required: RequiredScores,
  options: ScoreValuesOptions,
): AsyncGenerator<Scoring, void, undefined> {
  const { stopping, showsComputing } = options;
  const load = async (part: readonly MarkedValue[]): Promise<Scoring[]> => {
    const work: Scoring[] = [];
    const gone: MetricValue[] = [];
    const readAt = versionNow();
    const metrics = part.map((value) => deps.metricOf(value));
    const { records: stored, tooLarge } = await readRecords(deps, run, part, metrics, stopping);
    const wanted = part.map(({ recordId }, index) => ({ recordId, metric: metrics[index] as FoundMetric }));
    const records = await withRowValues(deps, run, wanted, stored, stopping);
    const spansOf = await spansToScore(deps, run, part, metrics, records, stopping);
    for (const [index, value] of part.entries()) {
      const metric = metrics[index] as FoundMetric;
      const target = records.get(value.recordId);
      // Above the mark and the record, whose clocks may be another machine's; two above, as `computing` comes between.
      const version = Math.max(readAt, value.version, target?.version ?? 0) + 2;
      if (!target || 'problem' in metric) {
        gone.push(failedMark(value, 'problem' in metric ? metric.problem : missing(value.recordId, tooLarge), version));
        continue;
      }
      const scoring = { target, metric: { ...metric, name: value.metric }, version };
      const spans = spansOf(value);
      if (spans) work.push(...(await scoringsOfSpans(scoring, spans, writer)));
      else work.push(scoring);
    }
    const asked = showsComputing
      ? new Set(work.filter(({ metric }) => asksJudges(metric)).map((one) => one.of?.trace ?? one))
      : [];
    await writer.write([...gone, ...Array.from(asked, computing)], stopping);
    await required.look(work, stopping);
    return work;
  };
  let ahead: Promise<Scoring[]> | undefined;
  try {
    for await (const part of partsOf(deps, run, values, options)) {
      const ready = ahead;
      ahead = load(part);
      ahead.catch(() => undefined); // thrown where it is awaited
      if (ready) yield* await ready;
    }
    if (ahead) yield* await ahead;
  } finally {
    await ahead?.catch(() => undefined);
  }
}

/** Returns what is to be computed for a trace whose value is made of its spans; where that is nothing, the trace gets its value at once. */
async function scoringsOfSpans(trace: Scoring, { lacking, areScored }: SpansOfTrace, writer: ValueWriter): Promise<Scoring[]> {
  const { metric, version } = trace;
  const of = { trace, left: lacking.length };
  if (lacking.length > 0)
    return lacking.map((span) => ({ target: span, metric, version: Math.max(version, span.version + 2), of }));
  if (areScored) await writer.close(trace);
  else await writer.add(trace, { notApplicable: `the trace has no span that the metric takes: ${metric.kinds.join(', ')}` });
  return [];
}

/** The values in parts whose records may be held in memory together. */
async function* partsOf(
  deps: ScoreValuesDeps,
  run: RunRef,
  values: AsyncIterable<MarkedValue>,
  { lanes, judged, stopping: signal }: ScoreValuesOptions,
): AsyncGenerator<MarkedValue[], void, undefined> {
  const cut = async function* (page: readonly MarkedValue[]) {
    const ids = [...new Set(page.map(({ recordId }) => recordId))];
    const spans = spansRead(
      page,
      page.map((value) => deps.metricOf(value)),
    );
    const sizes = await deps.untilStored(() => deps.recordSizes(run, ids, spans), signal);
    let part: MarkedValue[] = [];
    let read = new Set<string>();
    let bytes = 0;
    for (const value of page) {
      const size = sizes.get(value.recordId) ?? { readId: value.recordId, bytes: 0 };
      if (part.length > 0 && !read.has(size.readId) && bytes + size.bytes > PART_BYTES) {
        yield part;
        part = [];
        read = new Set();
        bytes = 0;
      }
      part.push(value);
      if (!read.has(size.readId)) bytes += size.bytes;
      read.add(size.readId);
    }
    yield part;
  };
  let page: MarkedValue[] = [];
  for await (const value of values) {
    page.push(value);
    if (page.length < partValues(lanes, judged)) continue;
    yield* cut(page);
    page = [];
  }
  if (page.length > 0) yield* cut(page);
}

/**
 * The records of these values; where they are too large to be read together, half of them after the other. One that is too large even alone is named:
 * the store would never give it.
 */
async function readRecords(
  deps: ScoreValuesDeps,
  run: RunRef,
  part: readonly MarkedValue[],
  metrics: readonly FoundMetric[],
  signal: AbortSignal,
): Promise<{ records: Map<string, RecordToScore>; tooLarge: Set<string> }> {
  const spans = spansRead(part, metrics);
  const tooLarge = new Set<string>();
  const read = async (ids: readonly string[]): Promise<RecordToScore[]> => {
    let tries = 0;
    const records = await deps.untilStored(
      () =>
        deps.records(run, ids, spans).catch((err: unknown) => {
          // Others use the store too: what is too much for one record is so for good when it stays so.
          if (isTooLarge(err) && (ids.length > 1 || ++tries >= MAX_EXPENSIVE_READS)) return undefined;
          throw err;
        }),
      signal,
    );
    if (records) return records;
    const [only] = ids;
    if (ids.length === 1 && only !== undefined) {
      tooLarge.add(only);
      return [];
    }
    const half = Math.ceil(ids.length / 2);
    return [...(await read(ids.slice(0, half))), ...(await read(ids.slice(half)))];
  };
  const records = await read([...new Set(part.map(({ recordId }) => recordId))]);
  return { records: new Map(records.map((record) => [record.id, record])), tooLarge };
}

/** More than the store may read at once, or than one text may hold. */
const isTooLarge = (err: unknown): boolean =>
  (err instanceof ServiceError && err.code === 'QueryTooExpensive') ||
  (err instanceof RangeError && /Invalid string length/.test(err.message)) ||
  (err as { code?: unknown } | null)?.code === 'ERR_STRING_TOO_LONG';

/**
 * The score of one record; why there is none where the record failed, or the metric does not take it.
 * @param ofRequired the score of a metric that this one requires; without it that is computed, and its cost is a part of this score's
 * @throws NotNow
 */
export async function scoreOf(
  target: RecordToScore,
  metric: EnabledMetric,
  deps: Pick<ScoreValuesDeps, 'contextFor'>,
  options: Pick<ScoreValuesOptions, 'givenUp' | 'stopping' | 'confirm'>,
  ofRequired?: (metric: EnabledMetric) => Promise<Score>,
): Promise<Score> {
  const { givenUp, stopping, confirm } = options;
  if (target.failed) return { notApplicable: `the ${target.kind} failed, so there is no answer to score` };
  if (!(metric.kinds as readonly string[]).includes(target.kind))
    return { notComputed: `the metric takes records of other kinds than ${target.kind}: ${metric.kinds.join(', ')}` };
  if (!isScored(metric, scoringTarget(target))) return { notComputed: "the run's settings leave this record out" };
  const context = deps.contextFor(metric, givenUp, stopping, confirm);
  if (!metric.requires) return scoreRecord(metric, target.record, context);
  const usages: JudgeUsage[] = [];
  const computed = async (one: EnabledMetric): Promise<Score> => {
    const score = await scoreOf(target, one, deps, options);
    if ('usage' in score && score.usage) usages.push(score.usage);
    return score;
  };
  const required = await requiredScores(metric.requires, ofRequired ?? computed);
  const score =
    'lacking' in required
      ? required.lacking
      : await scoreRecord(metric, { ...target.record, requiredScores: required.scores }, context);
  if (usages.length > 0 && 'usage' in score && score.usage) usages.push(score.usage);
  const usage = totalUsage(usages);
  return usage && ('value' in score || 'error' in score || 'gaveUp' in score) ? { ...score, usage } : score;
}

const missing = (recordId: string, tooLarge: ReadonlySet<string>): string =>
  tooLarge.has(recordId) ? 'the record is too large to be scored' : 'the record was deleted';

const failedMark = (mark: MarkedValue, reason: string, version: number): MetricValue => ({
  ...toMetricValue(
    { id: mark.recordId, createdAt: mark.createdAt, kind: mark.kind, traceId: mark.traceId },
    { name: mark.metric, scorerId: mark.scorerId, version: mark.scorerVersion },
    { gaveUp: reason },
  ),
  version,
});

/** The state of a value while its judge is asked. */
const computing = ({ target, metric, version }: Scoring): MetricValue => ({
  ...toMetricValue(target, metric, { gaveUp: '' }),
  status: 'computing',
  details: { ...(metric.alias === undefined ? {} : { metric_key_alias: metric.alias }), message: 'a judge is asked' },
  version: version - 1,
});
