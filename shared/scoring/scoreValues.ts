import { isSpanKind, type RecordKind } from '../columns/columnDef.ts';
import { ServiceError } from '../errors/errors.ts';
import { FailureStreak } from '../experiments/failureStreak.ts';
import type { Score, ScoreContext, ScoredRecord } from '../metrics/metric.ts';
import { scoreRecord } from '../metrics/scoreRecord.ts';
import type { RunRef } from '../projects/runs.ts';
import type { MetricValue } from '../records/recordStore.ts';
import { isScored } from '../scorers/isScored.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import type { MetricStatus } from '../wire/metricResults.ts';
import { toMetricValue } from './metricValue.ts';
import { type RollUpReads, rollUps } from './rollUps.ts';
import { type MarkedValue, versionNow } from './scoring.ts';

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
  /**
   * The spans of these kinds below it, in order of their start; there where it was read with its spans.
   * @param withSpans each with what is below it, and as new as the newest of that
   */
  spansOf?: (kinds: readonly RecordKind[], withSpans: boolean) => RecordToScore[];
}

/** What has to be read to score a record. */
export interface RecordSize {
  /** Id of the record, trace or session: what is read for several records of one is read once. */
  readId: string;
  bytes: number;
}

export interface ScoreValuesDeps {
  records(run: RunRef, ids: readonly string[], withSpans: boolean): Promise<RecordToScore[]>;
  /** Bytes that `records` reads for each of these: of the record itself, or of the whole trace or session that it belongs to. */
  recordSizes(run: RunRef, ids: readonly string[], withSpans: boolean): Promise<Map<string, RecordSize>>;
  /** What computes a value, or why nothing can. */
  metricOf(value: MarkedValue): EnabledMetric | { problem: string };
  /** Hands a judged metric its model. */
  /** @param stopping aborts when no further value is to begin; what only waits ends then */
  contextFor(metric: EnabledMetric, signal: AbortSignal, stopping: AbortSignal): ScoreContext;
  /** Stores values. Of a record that is gone none stays, its marks neither. */
  write(run: RunRef, values: readonly MetricValue[]): Promise<void>;
  untilStored<T>(operation: () => Promise<T>, signal: AbortSignal): Promise<T>;
  rollUpReads: RollUpReads;
  onProgress(scored: number): void;
  /** Hears of values that were computed and stored. */
  onStored?: ((by: EnabledMetric['needs'], status: MetricStatus) => void) | undefined;
}

export interface ScoreValuesOptions {
  /** Values computed at once. */
  lanes: number;
  /** Whether there are judges among the metrics. */
  judged: boolean;
  /** The time of `performance.now()` after which no further value starts. */
  until: number;
  /** Aborts when no further value may start; those in flight end and are stored. */
  stopping: AbortSignal;
  /** Aborts when those in flight are given up as well. */
  givenUp: AbortSignal;
  /** Whether the values of judges are stored as `computing` before they are asked. */
  showsComputing: boolean;
  /** Values in a row whose judge could not be asked, by its provider's fault, after which no further one begins; absent or 0: never. */
  maxProviderFailures?: number;
}

export const valueKey = (recordId: string, metric: string): string => `${recordId}/${metric}`;

/** Values whose records are read together: many where a value takes no time, else no more than are soon begun. */
const PART_VALUES = 1_000;
const partValues = (lanes: number, judged: boolean): number =>
  judged ? Math.min(Math.max(5 * lanes, 100), PART_VALUES) : PART_VALUES;
/** The bytes of these records: one may have megabytes, and a trace thousands of spans. Two such parts are in memory at a time. */
const PART_BYTES = 16 * 1024 ** 2;
/** Values per write, and the milliseconds after which fewer are written: what a crash can make a judge compute again. */
const VALUES_PER_WRITE = 1_000;
const WRITE_EVERY_MS = 500;
/** Reads of one record that is too much for the store. */
const MAX_EXPENSIVE_READS = 3;
/** Milliseconds that the last write gets after the values in flight were given up. */
const LAST_WRITE_MS = 3_000;

/** A value, its record and the version that it is stored with. */
interface Scoring {
  target: RecordToScore;
  metric: EnabledMetric;
  version: number;
  /** Of a trace whose value is made of its spans: those that are to be scored, and whether there are others that were. */
  spans?: { lacking: readonly RecordToScore[]; areScored: boolean };
}

/**
 * True of a metric that looks at spans and not at traces. Where rows are scored, their traces are marked all the same, since the spans of a row are not
 * known before: the spans of the trace are scored, and the trace gets their roll-up.
 */
export const isOfSpansAlone = ({ kinds }: Pick<EnabledMetric, 'kinds'>): boolean =>
  !kinds.includes('trace') && kinds.some(isSpanKind);

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
  const work = scorings(deps, run, values, writer, options);
  let isDone = false;
  let isCut = false;
  const scored = async (target: RecordToScore, metric: EnabledMetric): Promise<Score> => {
    const score = await scoreOf(target, metric, deps, givenUp, stopping);
    if ('gaveUp' in score) failing ??= streak.note({ ...score, error: score.gaveUp });
    else if ('value' in score) streak.note({});
    return score;
  };
  /** @returns false where no further value may begin before all of it is there: its mark stays */
  const compute = async (work: Scoring): Promise<boolean> => {
    const { target, metric, spans } = work;
    if (!spans) {
      await writer.add(work, await scored(target, metric));
      return true;
    }
    for (const [index, span] of spans.lacking.entries()) {
      if (stopping.aborted || failing !== undefined || (index > 0 && performance.now() >= until)) return false;
      const version = Math.max(work.version, span.version + 2);
      await writer.add({ ...work, target: span, version }, await scored(span, metric));
    }
    if (spans.lacking.length > 0 || spans.areScored) await writer.close(work);
    else await writer.add(work, { notApplicable: `the trace has no span that the metric takes: ${metric.kinds.join(', ')}` });
    return true;
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
        if (!(await compute(next.value))) {
          isCut = true;
          return;
        }
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
  options: ScoreValuesOptions,
): AsyncGenerator<Scoring, void, undefined> {
  const { stopping, showsComputing } = options;
  const load = async (part: readonly MarkedValue[]): Promise<Scoring[]> => {
    const work: Scoring[] = [];
    const gone: MetricValue[] = [];
    const readAt = versionNow();
    const metrics = part.map((value) => deps.metricOf(value));
    const { records, tooLarge } = await readRecords(deps, run, part, metrics, stopping);
    const spansOf = await spansToScore(deps, run, part, metrics, records, stopping);
    for (const [index, value] of part.entries()) {
      const metric = metrics[index] as ReturnType<ScoreValuesDeps['metricOf']>;
      const target = records.get(value.recordId);
      // Above the mark and the record, whose clocks may be another machine's; two above, as `computing` comes between.
      const version = Math.max(readAt, value.version, target?.version ?? 0) + 2;
      const spans = spansOf(value);
      if (target && !('problem' in metric))
        work.push({ target, metric: { ...metric, name: value.metric }, version, ...(spans ? { spans } : {}) });
      else gone.push(failedMark(value, 'problem' in metric ? metric.problem : missing(value.recordId, tooLarge), version));
    }
    const asked = showsComputing ? work.filter(({ metric }) => metric.needs === 'judge') : [];
    await writer.write([...gone, ...asked.map(computing)], stopping);
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

/** The values in parts whose records may be held in memory together. */
async function* partsOf(
  deps: ScoreValuesDeps,
  run: RunRef,
  values: AsyncIterable<MarkedValue>,
  { lanes, judged, stopping: signal }: ScoreValuesOptions,
): AsyncGenerator<MarkedValue[], void, undefined> {
  const cut = async function* (page: readonly MarkedValue[]) {
    const ids = [...new Set(page.map(({ recordId }) => recordId))];
    const withSpans = readsSpans(
      page,
      page.map((value) => deps.metricOf(value)),
    );
    const sizes = await deps.untilStored(() => deps.recordSizes(run, ids, withSpans), signal);
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

type FoundMetric = ReturnType<ScoreValuesDeps['metricOf']>;

/** Whether the value is that of a trace which is made of its spans. */
const isMadeOfSpans = (value: MarkedValue, metric: FoundMetric): metric is EnabledMetric =>
  value.kind === 'trace' && !('problem' in metric) && isOfSpansAlone(metric);

const readsSpans = (values: readonly MarkedValue[], metrics: readonly FoundMetric[]): boolean =>
  values.some((value, index) => {
    const metric = metrics[index] as FoundMetric;
    return !('problem' in metric) && (metric.readsSpans === true || isMadeOfSpans(value, metric));
  });

/**
 * The spans to score of the traces whose values are made of their spans. One that was not written since keeps a value of this version of the metric, a
 * value that its caller computed, and what it got since the trace was marked, be it a failure.
 */
async function spansToScore(
  deps: ScoreValuesDeps,
  run: RunRef,
  part: readonly MarkedValue[],
  metrics: readonly FoundMetric[],
  records: ReadonlyMap<string, RecordToScore>,
  signal: AbortSignal,
): Promise<(value: MarkedValue) => Scoring['spans']> {
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

const scoringTarget = ({ kind, name, modalities, record }: RecordToScore) => ({
  kind,
  name,
  modalities,
  metadata: record.metadata,
});

/**
 * The records of these values; where they are too large to be read together, half of them after the other. One that is too large even alone is named:
 * the store would never give it.
 */
async function readRecords(
  deps: ScoreValuesDeps,
  run: RunRef,
  part: readonly MarkedValue[],
  metrics: readonly ReturnType<ScoreValuesDeps['metricOf']>[],
  signal: AbortSignal,
): Promise<{ records: Map<string, RecordToScore>; tooLarge: Set<string> }> {
  const withSpans = readsSpans(part, metrics);
  const tooLarge = new Set<string>();
  const read = async (ids: readonly string[]): Promise<RecordToScore[]> => {
    let tries = 0;
    const records = await deps.untilStored(
      () =>
        deps.records(run, ids, withSpans).catch((err: unknown) => {
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

async function scoreOf(
  target: RecordToScore,
  metric: EnabledMetric,
  deps: Pick<ScoreValuesDeps, 'contextFor'>,
  signal: AbortSignal,
  stopping: AbortSignal,
): Promise<Score> {
  if (target.failed) return { notApplicable: `the ${target.kind} failed, so there is no answer to score` };
  if (!isScored(metric, scoringTarget(target))) return { notComputed: "the run's settings leave this record out" };
  return scoreRecord(metric, target.record, deps.contextFor(metric, signal, stopping));
}

const missing = (recordId: string, tooLarge: ReadonlySet<string>): string =>
  tooLarge.has(recordId) ? 'the record is too large to be scored' : 'the record was deleted';

/** Gathers values into writes, one after the other: what is rolled up must see the values that were written before. */
class ValueWriter {
  written = 0;
  readonly #deps: ScoreValuesDeps;
  readonly #run: RunRef;
  readonly #onLost: (err: unknown) => void;
  readonly #expired = new AbortController();
  readonly #givenUp: AbortSignal;
  #buffer: { work: Scoring; value: MetricValue }[] = [];
  /** Traces whose spans all have their value, or will have it with the next write. */
  #closing: Scoring[] = [];
  /** Values of the traces that are to be closed may be missing. */
  #isLost = false;
  #timer: NodeJS.Timeout | undefined;
  #expiry: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  /** @param onLost gets why values could not be stored */
  constructor(deps: ScoreValuesDeps, run: RunRef, givenUp: AbortSignal, onLost: (err: unknown) => void) {
    this.#deps = deps;
    this.#run = run;
    this.#onLost = onLost;
    this.#givenUp = givenUp;
    if (givenUp.aborted) this.#expire();
    else givenUp.addEventListener('abort', this.#expire, { once: true });
  }

  /** Resolves when the values behind it may come: at once, or when a full write is stored. */
  async add(work: Scoring, score: Score): Promise<void> {
    this.#buffer.push({ work, value: { ...toMetricValue(work.target, work.metric, score), version: work.version } });
    if (this.#buffer.length >= VALUES_PER_WRITE) await this.#flush();
    else this.#timer ??= setTimeout(() => void this.#flush(), WRITE_EVERY_MS);
  }

  /** Has a trace get what its spans come to. They were added before. */
  async close(work: Scoring): Promise<void> {
    this.#closing.push(work);
    if (this.#closing.length >= VALUES_PER_WRITE) await this.#flush();
    else this.#timer ??= setTimeout(() => void this.#flush(), WRITE_EVERY_MS);
  }

  /** Stores states at once. */
  async write(values: readonly MetricValue[], signal: AbortSignal): Promise<void> {
    if (values.length > 0) await this.#deps.untilStored(() => this.#deps.write(this.#run, values), signal);
  }

  async end(): Promise<void> {
    await this.#flush();
    this.#givenUp.removeEventListener('abort', this.#expire);
    clearTimeout(this.#expiry);
  }

  readonly #expire = (): void => {
    this.#expiry = setTimeout(() => this.#expired.abort(new Error('the values were given up')), LAST_WRITE_MS);
  };

  #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#buffer;
    const closing = this.#closing;
    this.#buffer = [];
    this.#closing = [];
    if (batch.length > 0 || closing.length > 0)
      this.#writing = this.#writing
        .then(() => this.#store(batch, this.#isLost ? [] : closing))
        .catch((err: unknown) => {
          this.#isLost = true;
          this.#onLost(err);
        });
    return this.#writing;
  }

  async #store(batch: readonly { work: Scoring; value: MetricValue }[], closing: readonly Scoring[]): Promise<void> {
    const values = batch.map(({ value }) => value);
    const works = [...batch.map(({ work }) => work), ...closing];
    if (works.length === 0) return;
    const metrics = new Map(works.map(({ metric }) => [metric.name, metric]));
    const sessions = new Map(works.map(({ target }) => [target.id, target.sessionId]));
    const version = Math.max(...works.map((work) => work.version));
    const closed = closing.map(({ target, metric }) => ({ containerId: target.id, metric: metric.name }));
    // What some spans of a trace come to is no value of it: its mark stays until it is closed.
    const isClosed = new Set(closed.map(({ containerId, metric }) => valueKey(containerId, metric)));
    const done = batch.flatMap(({ work, value }) =>
      work.spans && value.recordType !== 'trace' && !isClosed.has(valueKey(value.traceId ?? '', value.metric)) ? [] : [value],
    );
    // Both are one block, so that no crash comes between.
    await this.#deps.untilStored(async () => {
      const rolledUp = await rollUps(this.#deps.rollUpReads, this.#run, done, metrics, (id) => sessions.get(id), closed);
      await this.#deps.write(this.#run, [...values, ...rolledUp.map((value) => ({ ...value, version }))]);
    }, this.#expired.signal);
    this.written += values.length;
    for (const { work, value } of batch) this.#deps.onStored?.(work.metric.needs, value.status);
    this.#deps.onProgress(this.written);
  }
}

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
