import type { Score } from '../metrics/metric.ts';
import type { RunRef } from '../projects/runs.ts';
import type { MetricValue } from '../records/recordStore.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import type { MetricStatus } from '../wire/metricResults.ts';
import { toMetricValue, valueKey } from './metricValue.ts';
import type { RecordToScore } from './recordToScore.ts';
import { type RollUpReads, rollUps } from './rollUps.ts';

export interface WriterDeps {
  /** Stores values. Of a record that is gone none stays, its marks neither. */
  write(run: RunRef, values: readonly MetricValue[]): Promise<void>;
  untilStored<T>(operation: () => Promise<T>, signal: AbortSignal): Promise<T>;
  rollUpReads: RollUpReads;
  onProgress(scored: number): void;
  /** Hears of values that were computed and stored. */
  onStored?: ((by: EnabledMetric['needs'], status: MetricStatus) => void) | undefined;
}

/** Values per write, and the milliseconds after which fewer are written: what a crash can make a judge compute again. */
const VALUES_PER_WRITE = 1_000;
const WRITE_EVERY_MS = 500;
/** Milliseconds that the last write gets after the values in flight were given up. */
const LAST_WRITE_MS = 3_000;

/** A value, its record and the version that it is stored with. */
export interface Scoring {
  target: RecordToScore;
  metric: EnabledMetric;
  version: number;
  /** The trace of a span whose value is a part of its trace's. */
  of?: OpenTrace;
}

/** A trace whose value is made of those of its spans: it is closed when all of these were added. */
export interface OpenTrace {
  trace: Scoring;
  /** Values of spans that are still to come. */
  left: number;
}

/** Gathers values into writes, one after the other: what is rolled up must see the values that were written before. */
export class ValueWriter {
  written = 0;
  readonly #deps: WriterDeps;
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
  constructor(deps: WriterDeps, run: RunRef, givenUp: AbortSignal, onLost: (err: unknown) => void) {
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
    // A roll-up over some spans of a trace is not final: the trace's mark stays until it is closed.
    const isClosed = new Set(closed.map(({ containerId, metric }) => valueKey(containerId, metric)));
    const done = batch.flatMap(({ work, value }) =>
      work.of && !isClosed.has(valueKey(value.traceId ?? '', value.metric)) ? [] : [value],
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
