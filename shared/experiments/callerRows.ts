import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../errors/errors.ts';
import { type ExperimentRow, type ExperimentRun, hasEnded } from './experiment.ts';
import { FailureStreak } from './failureStreak.ts';
import type { LeasedRow, OfferedRows } from './offeredRows.ts';
import { type GivenResult, recordableResult } from './recordableResult.ts';
import { recordRows } from './recordRows.ts';
import { resultBytes, rowBytes } from './rowBytes.ts';
import { firstAttemptOf, isAmong, mustRun, type RowLog, type RunRowReader } from './rowLog.ts';
import type { EndedRow } from './rowRecorder.ts';
import { type ChunkProgress, TIME_BOX_MS } from './runRows.ts';
import { isKnown } from './untilStored.ts';
import { type Chunk, type ChunkOutcome, callerSignal, type WorkflowProgress } from './workflow.ts';

/** Rows on offer at a time: enough that a caller with many lanes never waits for the next page. */
const WINDOW_ROWS = 2_000;
/** Seconds without a request from the caller's process after which the chunk gives its place back and the workflow waits. */
const CALLER_GONE_SECONDS = 60;
/** Bytes of rows in one answer, but for a single row that is larger. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Bytes of rows and results that are written together. */
const MAX_WRITE_BYTES = 8 * 1024 * 1024;
/** Rows that are read along between two that are wanted. */
const MAX_GAP = 64;
const UNKNOWN_PAUSE_MS = 100;
/** A chunk looks at least this often, in milliseconds, should a notice get lost. */
const LOOK_MS = 500;

/** Notices between the process that records results and the one that waits for them. */
export interface Notices {
  notify(experimentId: string): void;
  /** Resolves at the next notice, after `ms`, or when the signal aborts. */
  wait(experimentId: string, ms: number, signal: AbortSignal): Promise<void>;
}

export interface OfferDeps {
  rows: RunRowReader;
  log: RowLog;
  offered: OfferedRows;
  notices: Notices;
  untilStored<T>(operation: () => Promise<T>, signal: AbortSignal): Promise<T>;
  onProgress(progress: ChunkProgress): void;
  now(): number;
  /** Asked again and again once the chunk is cancelled: after how many milliseconds rows in the caller's hands are given up as well; undefined: they stay there. */
  mustGiveUp(): Promise<number | undefined>;
  /** Returns whether the workflow of this chunk is gone: terminated, or reset, and then a chunk of its next execution may offer the same rows. */
  isGone(): boolean;
}

/**
 * Offers the rows of a chunk that are not recorded yet to the caller's process, and waits until they are. Safe to run twice: a row that the process
 * holds stays with it, and its result is taken whether a chunk waits for it or not.
 */
export async function offerRows(
  deps: OfferDeps,
  run: ExperimentRun,
  chunk: Chunk,
  attempt: number,
  stopping: AbortSignal,
): Promise<ChunkOutcome> {
  const stored = <T>(operation: () => Promise<T>) => deps.untilStored(operation, never);
  const open = new Set<number>();
  let read = chunk.from;
  let recorded = 0;
  // Rows come in order, so the first one that is open is the lowest.
  const recordedTo = () => open.values().next().value ?? read;
  const outcome = (extra: Partial<ChunkOutcome> = {}): ChunkOutcome => ({ takenTo: recordedTo(), recorded, ...extra });
  const streak = new FailureStreak(run.settings);
  let failing: string | undefined;
  const noteFailures = async (ordinals: readonly number[]) => {
    const traceIds = await stored(() => recordedTraces(deps, run, ordinals));
    const rows = await stored(() => deps.log.recorded(run, traceIds));
    for (const id of traceIds) {
      const error = rows.get(id)?.error;
      failing ??= streak.note(error === undefined ? {} : { error });
    }
  };
  let leased = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  const show = async () => {
    if (deps.now() - lookedAt >= LOOK_MS) {
      lookedAt = deps.now();
      leased = await stored(() => deps.offered.running(run.experimentId));
    }
    deps.onProgress({ running: Math.min(open.size, leased), recordedTo: recordedTo() });
  };
  const collect = async () => {
    const done = await stored(() => deps.offered.takeFinished(run.experimentId, chunk.from, chunk.to));
    for (const ordinal of done) open.delete(ordinal);
    recorded += done.length;
    if (run.settings.pauseAfterFailures > 0) await noteFailures(done);
    await show();
    return done.length;
  };
  // Rows that the process holds stay with it; the next round takes note of their end. The workflow can so go on with a new history in between.
  const giveBack = async () => {
    await stored(() => deps.offered.withdrawUnheld(run.experimentId, chunk.from, chunk.to));
    return outcome(failing === undefined ? {} : { failing });
  };
  const deadline = deps.now() + TIME_BOX_MS;
  let givenUpAt = Number.POSITIVE_INFINITY;
  for (;;) {
    while (!stopping.aborted && open.size < WINDOW_ROWS / 2 && read < chunk.to) {
      const to = Math.min(read + WINDOW_ROWS / 2, chunk.to);
      const ordinals = await stored(() => missingRows(deps, run, read, to));
      const since = firstAttemptOf(run.workflowNumber);
      await stored(() => deps.offered.offer(run.experimentId, { from: read, to, ordinals, attempt, since }));
      for (const ordinal of ordinals) open.add(ordinal);
      read = to;
      deps.notices.notify(run.experimentId);
    }
    if (open.size === 0 && (read >= chunk.to || stopping.aborted)) return outcome();
    const moved = await collect();
    if (!stopping.aborted && (failing !== undefined || deps.now() >= deadline)) return giveBack();
    if (open.size === 0) continue;
    if (stopping.aborted) {
      if (deps.isGone()) return outcome();
      const graceMs = await stored(deps.mustGiveUp);
      if (graceMs === undefined) return giveBack();
      givenUpAt = Math.min(givenUpAt, deps.now() + graceMs);
      if (deps.now() >= givenUpAt || (await stored(() => deps.offered.running(run.experimentId))) === 0) {
        await stored(() => deps.offered.withdraw(run.experimentId, chunk.from, chunk.to));
        return outcome();
      }
    }
    if (moved === 0 && (await stored(() => deps.offered.secondsSinceCaller(run.experimentId))) > CALLER_GONE_SECONDS) {
      if ((await stored(() => deps.offered.running(run.experimentId))) === 0) {
        await stored(() => deps.offered.withdraw(run.experimentId, chunk.from, chunk.to));
        return outcome({ callerGone: true });
      }
    }
    await deps.notices.wait(run.experimentId, LOOK_MS, stopping.aborted ? never : stopping);
  }
}

async function missingRows(deps: OfferDeps, run: ExperimentRun, from: number, to: number): Promise<number[]> {
  const chosen = run.rowsToRun === 'chosen' ? await deps.rows.chosen(run, from, to) : undefined;
  if (chosen?.length === 0) return [];
  const traceIds = await deps.rows.traceIds(run, from, to);
  const recorded = await deps.log.recorded(run, traceIds);
  return traceIds.flatMap((id, index) => {
    const ordinal = from + index;
    return mustRun(run, recorded.get(id), chosen !== undefined && isAmong(chosen, ordinal)) ? [ordinal] : [];
  });
}

/** The traces of rows of a chunk, in the order of the rows. */
async function recordedTraces(deps: OfferDeps, run: ExperimentRun, ordinals: readonly number[]): Promise<string[]> {
  if (ordinals.length === 0) return [];
  const sorted = ordinals.toSorted((a, b) => a - b);
  const from = sorted[0] as number;
  const ids = await deps.rows.traceIds(run, from, (sorted.at(-1) as number) + 1);
  return sorted.map((ordinal) => ids[ordinal - from] as string);
}

export interface CallerDeps {
  rows: RunRowReader;
  log: RowLog;
  offered: OfferedRows;
  notices: Notices;
  find(experimentId: string): Promise<ExperimentRun | undefined>;
  /** Signals the workflow that a caller is there again. */
  signal(run: ExperimentRun, name: string): Promise<void>;
  /** Returns what the workflow itself knows. */
  workflowProgress(run: ExperimentRun): Promise<WorkflowProgress | undefined>;
}

/** Rows for the caller's process, or why there are none: nothing to do right now (ask again), or the run has ended. */
export interface Lease {
  /** The run as it was when the rows were leased, or when the wait was over. */
  run: ExperimentRun;
  attempt: number;
  rows: ExperimentRow[];
}

/** A request of a caller's process for rows. */
export interface LeaseRequest {
  process: string;
  limit: number;
  waitMs: number;
  /** Rows that the process knows to hold, where it may have missed an answer: all others of its leases are freed first. */
  holding?: number[] | undefined;
}

/**
 * Leases up to `limit` rows to the process, waiting up to `waitMs` for the first. Asking keeps the process's other leases alive.
 * @param found the run, as the request has just found it
 * @throws ServiceError `Conflict` when another process has taken over the experiment.
 */
export async function leaseRows(
  deps: CallerDeps,
  found: ExperimentRun,
  { process, limit, waitMs, holding }: LeaseRequest,
  signal: AbortSignal,
): Promise<Lease> {
  const { experimentId } = found;
  const until = Date.now() + waitMs;
  const silence = await deps.offered.secondsSinceCaller(experimentId);
  let before: ExperimentRun['state'] | undefined;
  for (let first = true; ; first = false) {
    const run = first ? found : await deps.find(experimentId);
    if (!run) throw new ServiceError('NotFound', `no experiment ${experimentId}`);
    if (!(await deps.offered.seen(experimentId, process))) throw takenOver(experimentId);
    if (first && holding) await deps.offered.freeAllBut(experimentId, process, holding);
    if (first && silence > CALLER_GONE_SECONDS / 2) await wake(deps, run);
    const leased =
      run.state === 'running' || run.state === 'requested'
        ? await deps.offered.lease(experimentId, process, limit, run.settings.rowTimeLimitMs)
        : [];
    if (leased.length > 0) return { run, attempt: leased[0]?.attempt ?? 0, rows: await leasedRows(deps, run, process, leased) };
    // A pause that begins is reported at once: the process may hold rows that it has not started.
    const pauses = run.state === 'paused' && before !== undefined && before !== 'paused';
    before = run.state;
    if (hasEnded(run.state) || pauses || signal.aborted) return { run, attempt: 0, rows: [] };
    if (Date.now() >= until) {
      // The workflow may have gone to wait for a caller while another call (a start, a heartbeat) made the silence look short. It is asked
      // first: a question leaves nothing in its history, a signal stays there.
      const workflow = run.state === 'running' ? await deps.workflowProgress(run).catch(() => undefined) : undefined;
      if (workflow?.awaitsCaller) await wake(deps, run);
      return { run, attempt: 0, rows: [] };
    }
    await deps.notices.wait(experimentId, Math.min(LOOK_MS, until - Date.now()), signal);
  }
}

/** The rows that one answer holds; those that it does not are on offer again. */
async function leasedRows(deps: CallerDeps, run: ExperimentRun, process: string, leased: LeasedRow[]): Promise<ExperimentRow[]> {
  const ordinals = leased.map(({ ordinal }) => ordinal);
  const rows: ExperimentRow[] = [];
  let bytes = 0;
  for await (const row of rowsOf(deps, run, ordinals)) {
    bytes += rowBytes(row);
    if (rows.length > 0 && bytes > MAX_ANSWER_BYTES) break;
    rows.push(row);
  }
  const left = ordinals.slice(rows.length);
  if (left.length > 0) await deps.offered.free(run.experimentId, process, left);
  return rows;
}

async function wake(deps: Pick<CallerDeps, 'signal'>, run: ExperimentRun): Promise<void> {
  if (run.state !== 'running') return;
  await deps.signal(run, callerSignal).catch((err: unknown) => {
    // The workflow ended just now: the next call finds the run's new state.
    if (!(err instanceof ServiceError && err.code === 'Conflict')) throw err;
  });
}

/** The result of one row, as the caller's process sends it. */
export interface CallerResult extends GivenResult {
  ordinal: number;
}

/**
 * Records results of rows that the process holds. Rows that it no longer holds are refused, so that a process that was taken for dead cannot
 * overwrite what its successor did. An odd result costs its own row at most. @returns the ordinals that were recorded
 * @throws ServiceError `Conflict` when another process has taken over the experiment.
 */
export async function recordResults(
  deps: CallerDeps,
  run: ExperimentRun,
  process: string,
  results: CallerResult[],
): Promise<number[]> {
  const { experimentId } = run;
  if (!(await deps.offered.seen(experimentId, process))) throw takenOver(experimentId);
  const held = await deps.offered.held(
    experimentId,
    process,
    results.map((result) => result.ordinal),
  );
  const attempts = new Map(held.map((row) => [row.ordinal, row.attempt]));
  const accepted = new Map(
    results.flatMap((result) => (attempts.has(result.ordinal) ? [[result.ordinal, result] as const] : [])),
  );
  const write = recordRows({ log: deps.log, untilStored: whileUnknown }, run, Math.max(0, ...attempts.values()), never);
  let gathered: EndedRow[] = [];
  let bytes = 0;
  const record = async () => {
    await write(gathered);
    await deps.offered.finish(
      experimentId,
      gathered.map(({ row }) => row.ordinal),
    );
    gathered = [];
    bytes = 0;
  };
  for await (const row of rowsOf(deps, run, [...accepted.keys()])) {
    const result = { ...recordableResult(accepted.get(row.ordinal) as CallerResult), attempts: 1 };
    gathered.push({ row, result });
    bytes += rowBytes(row) + resultBytes(result);
    if (bytes >= MAX_WRITE_BYTES) await record();
  }
  if (gathered.length > 0) await record();
  deps.notices.notify(experimentId);
  return [...accepted.keys()];
}

const never = new AbortController().signal;

/** The caller comes again when the store is away; an error that says nothing of itself is tried some times. */
async function whileUnknown<T>(operation: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await operation();
    } catch (err) {
      if (isKnown(err)) throw err;
    }
    await delay(UNKNOWN_PAUSE_MS);
  }
}

/** Rows by ordinal, in order, read in runs of neighbours. */
async function* rowsOf(
  deps: Pick<CallerDeps, 'rows'>,
  run: ExperimentRun,
  ordinals: readonly number[],
): AsyncGenerator<ExperimentRow, void> {
  const sorted = ordinals.toSorted((a, b) => a - b);
  while (sorted.length > 0) {
    const from = sorted[0] as number;
    const gap = sorted.findIndex((ordinal, index) => ordinal - (sorted[index - 1] ?? from) > MAX_GAP);
    const to = (sorted[gap === -1 ? sorted.length - 1 : gap - 1] as number) + 1;
    const page = await deps.rows.page(run, from, to);
    if (page.length === 0) throw new ServiceError('NotFound', `row ${from} of experiment ${run.experimentId} is gone`);
    for (const row of page) {
      if (row.ordinal !== sorted[0]) continue;
      sorted.shift();
      yield row;
    }
  }
}

const takenOver = (experimentId: string) =>
  new ServiceError('Conflict', `another process runs experiment ${experimentId} now; this one must stop`, {
    context: { experimentId },
  });
