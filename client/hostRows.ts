import type { z } from 'zod';
import type { HeartbeatReply, LeaseReply, ProgressReply, ResultsReply } from '../shared/wire/experimentRuns.ts';
import { jsonWithBigInts } from '../shared/wire/longNumbers.ts';
import { ConnectionError, HttpStatusError, TakenOverError } from './errors.ts';
import type { LeasedRow, RowReport } from './hostedRow.ts';
import { backoffMs, pause, type ServiceClient } from './http.ts';
import { watchStrayRejections } from './strayRejections.ts';
import { thrownText } from './texts.ts';

type RunState = z.output<typeof LeaseReply>['state'];

/** Rows that wait in this process beyond those that run: doubled each time the lanes ran dry, up to what one lease may ask for. */
const MAX_WAITING_ROWS = 1_000;
/** Milliseconds for which results are gathered before they are posted; while all posts are under way they gather longer by themselves. */
const GATHER_MS = 5;
const MAX_POSTS_AT_ONCE = 4;
/** Results that are not acknowledged: with so many no row starts. A crash of this process repeats at most these and the rows that run. */
const MAX_UNACKNOWLEDGED = 500;
/** Half of them are recorded while the other half gathers. */
const MAX_RESULTS_PER_POST = MAX_UNACKNOWLEDGED / 2;
/** Characters of one post: well under what the service takes, so that a row with a long output does not hold many others. */
const MAX_POST_CHARACTERS = 8 * 1024 * 1024;
/** Milliseconds between two words of this process while it holds rows; also how soon a pause or an end is noticed. */
const HEARTBEAT_MS = 2_000;
const LONG_POLL_MS = 20_000;
/** Milliseconds for the last results when the process is asked to stop. */
const HAND_IN_MS = 5_000;
/** Milliseconds without any answer of the service after which the process gives up. Running the script again goes on from there. */
const PATIENCE_MS = 600_000;

export interface HostedRun {
  client: ServiceClient;
  projectId: string;
  experimentId: string;
  /** Rows to run at a time to begin with; the service says when that changes. */
  concurrency: number;
  /** This process, under which it holds rows. */
  process: string;
  /** @param limit is aborted when everything is to stop; the row aborts it when its time is over */
  run(row: LeasedRow, timeLimitMs: number, limit: AbortController): Promise<RowReport>;
  /** A look at each batch of rows before any of them runs; what it throws ends the hosting. */
  inspect?: ((rows: LeasedRow[]) => void) | undefined;
  /** Gets what went wrong when results were posted; the run goes on. */
  onError(error: unknown): void;
  warn(message: string): void;
  /** Return when the run has ended, or already when every row is recorded and scores are still being computed. */
  until: 'ended' | 'recorded';
  signal: AbortSignal | undefined;
}

/**
 * Runs the rows of an experiment in this process until the run ends: takes rows from the service ahead of time, keeps as many running as the run
 * allows, gives results back in batches.
 * @throws TakenOverError when another process runs this experiment now; ConnectionError after ten minutes without an answer.
 */
export const hostRows = (hosted: HostedRun): Promise<void> => new Host(hosted).host();

interface Waiting {
  ordinal: number;
  json: string;
}

/** A service of an earlier release says no concurrency. */
type BeatReply = Omit<z.output<typeof HeartbeatReply>, 'concurrency'> & { concurrency?: number };

class Host {
  private readonly hosted: HostedRun;
  private readonly path: string;
  /** Ends the rows and the asking for rows. */
  private readonly stop = new AbortController();
  /** The time limits of the rows that run. One signal for all of them would have more listeners than Node.js takes without a warning. */
  private readonly limits = new Set<AbortController>();
  /** Ends the posting of results, which may go on a little longer. */
  private readonly leave = new AbortController();
  private readonly ended: Promise<void>;
  private resolve: () => void = () => undefined;
  private reject: (error: unknown) => void = () => undefined;

  private readonly rows: LeasedRow[] = [];
  /** Rows that wait, run, or whose results are not acknowledged yet: one that is offered again is not run twice. */
  private readonly held = new Set<number>();
  private running = 0;
  /** A row has begun in this turn of the event loop. */
  private isStarting = false;
  private concurrency: number;
  /** Rows to hold beyond those that run. */
  private aim = 0;
  private timeLimitMs = 0;
  private paused = false;
  /** Rows that were leased to this process are not in its hands: the next lease names those that are, and the service frees the others. */
  private mustName = false;
  /** Ends the asking for rows that is under way. */
  private asking = new AbortController();
  private wantRows: () => void = () => undefined;

  private results: Waiting[] = [];
  private posts = 0;
  private gathering: ReturnType<typeof setTimeout> | undefined;
  private lastAnswer = Date.now();
  private beating = false;
  private allPosted: () => void = () => undefined;

  constructor(hosted: HostedRun) {
    this.hosted = hosted;
    this.concurrency = hosted.concurrency;
    this.path = `/projects/${hosted.projectId}/experiments/${hosted.experimentId}`;
    this.ended = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  async host(): Promise<void> {
    const { signal } = this.hosted;
    const onAbort = () => void this.handIn().finally(() => this.reject(signal?.reason));
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    const fail = (error: unknown) => this.reject(error);
    const heart = setInterval(() => void this.beat(), HEARTBEAT_MS);
    this.leaseRows().catch(fail);
    const stopWatching = watchStrayRejections();
    try {
      await this.ended;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      clearInterval(heart);
      clearTimeout(this.gathering);
      stopWatching();
      this.stopAll(new Error('the experiment has ended or was stopped'));
      this.leave.abort();
    }
  }

  private stopAll(reason: unknown): void {
    this.stop.abort(reason);
    for (const limit of this.limits) limit.abort(reason);
  }

  /** Stops the rows that run and waits a little for the results of those that have ended. */
  private async handIn(): Promise<void> {
    this.stopAll(this.hosted.signal?.reason);
    const posted = new Promise<void>((resolve) => (this.allPosted = resolve));
    this.post();
    if (this.results.length > 0 || this.posts > 0)
      await Promise.race([posted, pause(HAND_IN_MS, this.leave.signal).catch(() => undefined)]);
  }

  private async leaseRows(): Promise<void> {
    for (let failures = 0; !this.stop.signal.aborted; ) {
      const limit = Math.max(1, Math.min(MAX_WAITING_ROWS, Math.max(this.aim, 2 * this.concurrency)) - this.rows.length);
      const naming = this.mustName;
      const asking = new AbortController();
      this.asking = asking;
      this.mustName = false;
      let reply: z.output<typeof LeaseReply>;
      try {
        reply = await this.send<z.output<typeof LeaseReply>>(
          'rows/lease',
          {
            process: this.hosted.process,
            limit,
            wait_ms: naming || this.hosted.until === 'recorded' ? 1_000 : LONG_POLL_MS,
            ...(naming ? { holding: [...this.held] } : {}),
          },
          AbortSignal.any([this.stop.signal, asking.signal]),
        );
      } catch (err) {
        // Rows may have been given in the answer that never came.
        this.mustName = true;
        if (asking.signal.aborted) continue;
        this.mustPass(err);
        await pause(Math.min(backoffMs(failures++), 5_000), this.stop.signal).catch(() => undefined);
        continue;
      }
      failures = 0;
      this.concurrency = reply.concurrency;
      this.timeLimitMs = reply.row_time_limit_ms;
      // The lanes ran dry while the answer was on its way.
      if (this.rows.length === 0 && reply.rows.length === limit) this.aim = Math.min(MAX_WAITING_ROWS, 2 * limit);
      const taken = this.take(reply.rows);
      this.notice(reply.state);
      if (this.hosted.until === 'recorded' && this.held.size === 0 && (await this.allRecorded())) this.resolve();
      // Nothing but rows whose lease was over while they are still in hand: asking on would turn in circles.
      if (reply.rows.length > 0 && taken === 0) await pause(100, this.stop.signal).catch(() => undefined);
      if (!this.wantsRows()) await new Promise<void>((resolve) => (this.wantRows = resolve));
    }
  }

  /** Results that wait, and those on their way: what is held and neither waits to run nor runs. */
  private get unacknowledged(): number {
    return this.held.size - this.rows.length - this.running;
  }

  /** Few rows wait. */
  private wantsRows = (): boolean => this.rows.length <= Math.max(this.aim, this.concurrency) / 2;

  /** @returns how many of the rows are new to this process */
  private take(rows: LeasedRow[]): number {
    const fresh = rows.filter((row) => !this.held.has(row.ordinal));
    if (fresh.length > 0) this.hosted.inspect?.(fresh);
    for (const row of fresh) {
      this.held.add(row.ordinal);
      this.rows.push(row);
    }
    this.fillLanes();
    return fresh.length;
  }

  private fillLanes(): void {
    const mayStart = () =>
      !this.isStarting &&
      !this.paused &&
      !this.stop.signal.aborted &&
      this.running < this.concurrency &&
      this.unacknowledged < MAX_UNACKNOWLEDGED;
    const row = mayStart() ? this.rows.shift() : undefined;
    if (row) {
      this.running++;
      this.runRow(row).catch((error: unknown) => this.reject(error));
      // One after the other: a function that holds the event loop is seen to end before the next one begins.
      this.isStarting = true;
      queueMicrotask(() => {
        this.isStarting = false;
        this.fillLanes();
      });
    }
    if (this.wantsRows()) this.wantRows();
  }

  private async runRow(row: LeasedRow): Promise<void> {
    const limit = new AbortController();
    this.limits.add(limit);
    const report = await this.hosted.run(row, this.timeLimitMs, limit);
    this.limits.delete(limit);
    this.running--;
    if (this.stop.signal.aborted) return;
    this.results.push({ ordinal: row.ordinal, json: jsonOf(report) });
    this.gathering ??= setTimeout(() => this.post(), GATHER_MS);
    this.fillLanes();
  }

  private post(): void {
    this.gathering = undefined;
    while (!this.leave.signal.aborted && this.results.length > 0 && this.posts < MAX_POSTS_AT_ONCE) {
      this.posts++;
      this.record(this.nextBatch())
        .catch((error: unknown) => this.reject(error))
        .finally(() => {
          this.posts--;
          if (this.results.length > 0) this.gathering ??= setTimeout(() => this.post(), GATHER_MS);
          else if (this.posts === 0) this.allPosted();
          this.fillLanes();
        });
    }
  }

  private nextBatch(): Waiting[] {
    let characters = 0;
    let count = 0;
    for (const { json } of this.results) {
      characters += json.length;
      if (count > 0 && (count >= MAX_RESULTS_PER_POST || characters > MAX_POST_CHARACTERS)) break;
      count++;
    }
    return this.results.splice(0, count);
  }

  /**
   * Posts results until they are recorded. What the service refuses is sent again row by row; a row whose result it cannot take is recorded as
   * failed, so that every row ends in a result.
   */
  private async record(batch: Waiting[], alreadyReplaced = false): Promise<void> {
    for (;;) {
      try {
        const json = `{"process":${JSON.stringify(this.hosted.process)},"results":[${batch.map((one) => one.json).join(',')}]}`;
        await this.hosted.client.send<z.output<typeof ResultsReply>>(`${this.path}/rows/results`, {
          json,
          repeatable: true,
          signal: this.leave.signal,
        });
        this.lastAnswer = Date.now();
        // Rows that were not recorded no longer belong to this process: the service offers them again.
        for (const { ordinal } of batch) this.held.delete(ordinal);
        return;
      } catch (err) {
        // Leaving: the client's own repeats were enough.
        if (this.stop.signal.aborted) return;
        if (!isRefused(err)) {
          this.mustPass(err);
          this.hosted.onError(err);
          continue;
        }
        if (batch.length > 1) {
          const half = batch.length >> 1;
          await this.record(batch.slice(0, half), alreadyReplaced);
          batch = batch.slice(half);
          continue;
        }
        if (alreadyReplaced) throw err;
        this.hosted.onError(err);
        return this.record(
          batch.map((one) => ({ ...one, json: withoutContent(one.json, thrownText(err)) })),
          true,
        );
      }
    }
  }

  private async beat(): Promise<void> {
    if (this.held.size === 0 || this.beating) return;
    this.beating = true;
    try {
      const { state, concurrency } = await this.send<BeatReply>('rows/heartbeat', {
        process: this.hosted.process,
        holding: [...this.held],
      });
      // Rows that wait here may be all that are left, so that no further lease says it.
      this.concurrency = concurrency ?? this.concurrency;
      this.notice(state);
    } catch (err) {
      // A beat that is missed is made good by the next one; only what lasts ends the hosting.
      try {
        this.mustPass(err);
      } catch (lasting) {
        this.reject(lasting);
      }
    } finally {
      this.beating = false;
    }
  }

  private notice(state: RunState): void {
    if (state === 'completed' || state === 'failed' || state === 'cancelled') this.resolve();
    const paused = state === 'paused';
    if (paused && !this.paused) {
      // Rows that have not started go back; those that run end and are recorded.
      const dropped = this.rows.splice(0);
      for (const row of dropped) this.held.delete(row.ordinal);
      if (dropped.length > 0) {
        this.mustName = true;
        this.asking.abort();
      }
      this.hosted.warn('the run is paused: no new row starts until it is resumed');
      this.wantRows();
    }
    this.paused = paused;
    if (!paused) this.fillLanes();
  }

  private async allRecorded(): Promise<boolean> {
    try {
      const progress = await this.hosted.client.send<z.output<typeof ProgressReply>>(`${this.path}/progress`, {
        signal: this.stop.signal,
      });
      return progress.rows_done >= progress.rows_total;
    } catch (err) {
      this.mustPass(err);
      return false;
    }
  }

  private async send<T>(what: string, body: unknown, signal = this.stop.signal): Promise<T> {
    const reply = await this.hosted.client.send<T>(`${this.path}/${what}`, { body, repeatable: false, signal });
    this.lastAnswer = Date.now();
    return reply;
  }

  /** @throws what cannot pass by itself, or has lasted too long. */
  private mustPass(err: unknown): void {
    if (this.stop.signal.aborted) return;
    if (err instanceof HttpStatusError && err.status === 409)
      throw new TakenOverError(`another process runs the experiment ${this.hosted.experimentId} now; this one stops`, {
        cause: err,
      });
    const passing =
      err instanceof ConnectionError ||
      (err instanceof HttpStatusError && (err.status === 408 || err.status === 429 || err.status >= 500));
    if (!passing || Date.now() - this.lastAnswer > PATIENCE_MS) throw err;
  }
}

/** The service looked at the results and cannot take them. */
const isRefused = (err: unknown): boolean =>
  err instanceof HttpStatusError && (err.status === 400 || err.status === 413 || err.status === 422);

function jsonOf(report: RowReport): string {
  try {
    return jsonWithBigInts(report);
  } catch (err) {
    const { spans: _spans, metrics: _metrics, ...rest } = report;
    return jsonWithBigInts({ ...rest, error: `what was logged of this row is no JSON: ${thrownText(err)}` });
  }
}

function withoutContent(json: string, reason: string): string {
  const { ordinal, started_at, duration_ns } = JSON.parse(json) as RowReport;
  return JSON.stringify({
    ordinal,
    output: null,
    error: `the result was refused: ${reason}`.slice(0, 10_000),
    started_at,
    duration_ns,
  } satisfies RowReport);
}
