import { onAbort } from '../concurrency/onAbort.ts';
import { abortAfterGrace } from './abortAfterGrace.ts';
import type { ExperimentRow, ExperimentRun } from './experiment.ts';
import { FailureStreak } from './failureStreak.ts';
import { recordRows } from './recordRows.ts';
import { RowFeed } from './rowFeed.ts';
import type { RowLog, RunRowReader } from './rowLog.ts';
import type { RowMemory, RowShare } from './rowMemory.ts';
import { RowRecorder } from './rowRecorder.ts';
import type { RowResult } from './rowTrace.ts';
import { type RowLimit, withRowDeadline } from './withRowDeadline.ts';
import type { ChunkOutcome, OrdinalRange } from './workflow.ts';

/** One line per attempt of a row: written when it starts and again when it ends. */
export interface AttemptLog {
  note(run: ExperimentRun, attempt: RowAttempt): void;
  flush(): Promise<void>;
}

export interface RowAttempt {
  rowId: string;
  ordinal: number;
  attempt: number;
  startedAt: Date;
  endedAt: Date | null;
  outcome: 'started' | 'succeeded' | 'failed' | 'abandoned';
}

/** Runs one row. It never rejects for a row's own fault: that is a result with an `error`. */
export interface RowRunner {
  run(row: ExperimentRow, context: RowContext): Promise<RowResult>;
  close(): Promise<void>;
}

export interface RowContext extends RowLimit {
  attempt: number;
  /** Aborts when nothing new is to begin: a row that only waits then rejects with its reason, and is left to a resume. */
  stopping: AbortSignal;
  /** Resolves when the chunk is still this worker's: asked before each call that costs something. @throws the reason of `stopping` when it is not */
  confirm(): Promise<void>;
  /** For what the row holds of a large answer, until it is recorded. */
  memory: RowShare;
}

export interface ChunkProgress {
  /** Rows in flight; 1 at least where one that was begun is not recorded. */
  running: number;
  /** Every row of the chunk below this ordinal is recorded. */
  recordedTo: number;
}

export interface RunRowsDeps {
  rows: RunRowReader;
  log: RowLog;
  attempts: AttemptLog;
  runner: RowRunner;
  /** The memory that all rows of this process share. */
  memory: RowMemory;
  /**
   * Waits for one of the run's slots, which all its chunks share in every process, and takes it until it is released.
   * @throws the signal's reason
   */
  takeSlot(signal: AbortSignal): Promise<() => void>;
  /** How many slots the run has at present. */
  lanes(): number;
  /** As in {@link RowContext}. */
  confirm: RowContext['confirm'];
  /** Says that the chunk takes no row from this ordinal on, its end or a place before it, while rows below are still in flight. Resolves when that is known. */
  handOver(to: number): Promise<void>;
  /** Runs a store operation again until it succeeds: a store that is away stops the run, it fails no row. */
  untilStored<T>(operation: () => Promise<T>, signal: AbortSignal): Promise<T>;
  onProgress(progress: ChunkProgress): void;
  /** Gets a row whose runner did not end it in time, with the milliseconds that it worked. */
  onLate(row: ExperimentRow, workedMs: number): void;
}

/** Milliseconds in which a chunk takes new rows; then it finishes those it has and gives the rest back. */
export const TIME_BOX_MS = 600_000;
/** Milliseconds that the last rows of a chunk get to end before its place is given to the next one. */
const SOON_MS = 500;

/**
 * Runs the rows of a chunk that are not recorded yet, each in a slot of the run and recorded within moments of its end. Safe to run twice: a second run
 * finds the first one's rows. A chunk that takes no further row hands over the rest at once, so that nothing waits for its slowest row.
 * @param attempt counts this chunk's executions over all workflows of the experiment; the higher one's records win.
 * @param stopping aborts when no new row may start
 * @param abandon says, from that time on, whether rows in flight are to be given up as well: after so many milliseconds, or (undefined) not. Those that
 * are given up are not recorded, and left to a resume
 */
export async function runRows(
  deps: RunRowsDeps,
  run: ExperimentRun,
  chunk: OrdinalRange,
  attempt: number,
  stopping: AbortSignal,
  abandon: () => Promise<number | undefined>,
): Promise<ChunkOutcome> {
  const givenUp = abortAfterGrace(stopping, abandon);
  /** Aborts when this chunk takes no further row, for whatever reason. */
  const noFurther = new AbortController();
  const feed = new RowFeed(deps, run, chunk, givenUp.signal);
  const inFlight = new Set<Promise<void>>();
  const show = () =>
    deps.onProgress({ running: Math.max(inFlight.size, Math.min(feed.unrecorded, 1)), recordedTo: feed.recordedTo });
  let lost: unknown;
  let recorded = 0;
  const streak = new FailureStreak(run.settings);
  let failing: string | undefined;
  const fail = (err: unknown) => {
    lost ??= err;
    noFurther.abort();
  };

  const stopListening = onAbort(stopping, () => noFurther.abort());
  const box = setTimeout(() => noFurther.abort(), TIME_BOX_MS);

  const shares = new Map<number, RowShare>();
  const release = ({ ordinal }: ExperimentRow) => {
    shares.get(ordinal)?.release();
    shares.delete(ordinal);
  };
  const recorder = new RowRecorder({
    write: recordRows(deps, run, attempt, givenUp.signal),
    onRecorded: ({ row }) => {
      release(row);
      feed.noteRecorded(row.ordinal);
      recorded++;
      show();
    },
    onLost: fail,
    lanes: deps.lanes,
  });

  const runRow = async (row: ExperimentRow) => {
    const startedAt = new Date();
    deps.attempts.note(run, { rowId: row.rowId, ordinal: row.ordinal, attempt, startedAt, endedAt: null, outcome: 'started' });
    const memory = deps.memory.open();
    shares.set(row.ordinal, memory);
    const result = await withRowDeadline(
      (limit) => deps.runner.run(row, { attempt, stopping, confirm: deps.confirm, memory, ...limit }),
      {
        limitMs: run.settings.rowTimeLimitMs,
        signal: givenUp.signal,
        onLate: (workedMs) => deps.onLate(row, workedMs),
      },
    ).catch((err: unknown) => {
      if (!givenUp.signal.aborted && !(stopping.aborted && err === stopping.reason)) throw err;
      return undefined;
    });
    const outcome = result === undefined ? 'abandoned' : result.error === undefined ? 'succeeded' : 'failed';
    deps.attempts.note(run, { rowId: row.rowId, ordinal: row.ordinal, attempt, startedAt, endedAt: new Date(), outcome });
    if (result === undefined) {
      release(row);
      return;
    }
    const reason = streak.note(result);
    failing ??= reason;
    if (failing !== undefined) noFurther.abort();
    // A resume runs it again: the row is not to blame.
    if (result.isExhausted && reason !== undefined) release(row);
    else recorder.add({ row, result });
  };

  /** Starts rows as slots come free, until there is no row left or none may start. */
  const startRows = async () => {
    while (!noFurther.signal.aborted) {
      if (recorder.isFull) {
        await recorder.progress();
        continue;
      }
      const releaseSlot = await deps.takeSlot(noFurther.signal).catch((err: unknown) => {
        if (!noFurther.signal.aborted) throw err;
        return undefined;
      });
      if (!releaseSlot) return;
      await deps.confirm().catch(released(releaseSlot));
      const row = noFurther.signal.aborted ? undefined : await feed.next().catch(released(releaseSlot));
      if (!row) {
        releaseSlot();
        return;
      }
      const running = runRow(row)
        .catch(fail)
        .finally(() => {
          inFlight.delete(running);
          show();
          releaseSlot();
        });
      inFlight.add(running);
      show();
    }
  };

  try {
    // An error stops the chunk at its next row; its rows in flight end and are recorded before the chunk fails.
    await startRows().catch(fail);
    // A chunk that failed, or finds its rows failing, keeps the rest: no other is to begin it before that is known.
    const isWell = lost === undefined && failing === undefined;
    const hasRest = feed.takenTo < chunk.to;
    if (isWell && (hasRest ? inFlight.size > 0 : !(await endSoon(inFlight)))) await deps.handOver(feed.takenTo);
    await Promise.all(inFlight);
    await Promise.all([recorder.flush(), deps.attempts.flush()]);
  } finally {
    givenUp.end();
    for (const share of shares.values()) share.release();
    clearTimeout(box);
    stopListening();
  }
  if (lost !== undefined && !stopping.aborted) throw lost;
  return { takenTo: feed.recordedTo, recorded, ...(failing === undefined ? {} : { failing }) };
}

/** Returns whether all rows end within moments. Their chunk then ends by itself, and its rest need not be handed over. */
async function endSoon(inFlight: ReadonlySet<Promise<void>>): Promise<boolean> {
  const { promise: later, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), SOON_MS);
  return Promise.race([Promise.all(inFlight).then(() => true), later]).finally(() => clearTimeout(timer));
}

/** Gives the slot back before the error goes on. */
const released =
  (release: () => void) =>
  (err: unknown): never => {
    release();
    throw err;
  };
