import type { ExperimentRow, ExperimentRun } from './experiment.ts';
import { recordRows } from './recordRows.ts';
import { RowFeed } from './rowFeed.ts';
import type { RowLog, RowSourceReader } from './rowLog.ts';
import { RowRecorder } from './rowRecorder.ts';
import type { RowResult } from './rowTrace.ts';
import type { Chunk, ChunkOutcome } from './workflow.ts';

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

export interface RowContext {
  attempt: number;
  signal: AbortSignal;
}

export interface ChunkProgress {
  /** Rows that were begun and are not recorded, at most as many as there are lanes: 0 only where all that was begun is recorded. */
  running: number;
  /** Every row of the chunk below this ordinal is recorded. */
  recordedTo: number;
}

export interface RunRowsDeps {
  rows: RowSourceReader;
  log: RowLog;
  attempts: AttemptLog;
  runner: RowRunner;
  /** Runs a store operation again until it succeeds: a store that is away stops the run, it fails no row. */
  untilStored<T>(operation: () => Promise<T>, signal: AbortSignal): Promise<T>;
  onProgress(progress: ChunkProgress): void;
  now(): number;
}

/** Milliseconds in which a chunk takes new rows; then it finishes those it has and gives the rest back. */
export const TIME_BOX_MS = 600_000;

const ABANDON_LOOK_MS = 500;

/**
 * Runs the rows of a chunk that are not recorded yet, `chunk.lanes` at a time, each recorded within moments of its end. Safe to run twice: a
 * second run finds the first one's rows.
 * @param attempt counts this chunk's executions over all workflows of the experiment; the higher one's records win.
 * @param stopping aborts when no new row may start
 * @param abandon says, from that time on, whether rows in flight are to be given up as well: after so many milliseconds, or (undefined) not. Those that
 * are given up are not recorded, and left to a resume
 */
export async function runRows(
  deps: RunRowsDeps,
  run: ExperimentRun,
  chunk: Chunk,
  attempt: number,
  stopping: AbortSignal,
  abandon: () => Promise<number | undefined>,
): Promise<ChunkOutcome> {
  const deadline = deps.now() + TIME_BOX_MS;
  const aborted = new AbortController();
  const tell = () => deps.onProgress({ running: Math.min(feed.unrecorded, chunk.lanes), recordedTo: feed.recordedTo });
  const feed = new RowFeed(deps, run, chunk, aborted.signal);
  let lost: unknown;
  let recorded = 0;
  let failuresInARow = 0;
  let failing: string | undefined;

  // Asked again and again: a pause that waits for rows in flight may turn into a cancel.
  let looking: NodeJS.Timeout | undefined;
  let ended = false;
  let givenUpAt: number | undefined;
  const look = async () => {
    const graceMs = await abandon().catch(() => undefined);
    if (graceMs !== undefined) givenUpAt = Math.min(givenUpAt ?? Number.POSITIVE_INFINITY, deps.now() + graceMs);
    if (ended) return;
    if (givenUpAt !== undefined && deps.now() >= givenUpAt) aborted.abort(new Error('the row was given up'));
    else looking = setTimeout(look, ABANDON_LOOK_MS);
  };
  const onStopping = () => void look();
  stopping.addEventListener('abort', onStopping, { once: true });
  if (stopping.aborted) onStopping();

  const recorder = new RowRecorder({
    write: recordRows(deps, run, attempt, aborted.signal),
    onRecorded: ({ row }) => {
      feed.noteRecorded(row.ordinal);
      recorded++;
      tell();
    },
    onLost: (err) => {
      lost ??= err;
    },
  });

  const lane = async () => {
    while (!stopping.aborted && lost === undefined && failing === undefined && deps.now() < deadline) {
      if (recorder.isFull) {
        await recorder.progress();
        continue;
      }
      const row = await feed.next();
      if (!row) return;
      const startedAt = new Date();
      tell(); // the first rows may take long to end
      deps.attempts.note(run, { rowId: row.rowId, ordinal: row.ordinal, attempt, startedAt, endedAt: null, outcome: 'started' });
      const result = await deps.runner.run(row, { attempt, signal: aborted.signal }).catch((err: unknown) => {
        if (!aborted.signal.aborted) throw err;
        return undefined;
      });
      const outcome = result === undefined ? 'abandoned' : result.error === undefined ? 'succeeded' : 'failed';
      deps.attempts.note(run, { rowId: row.rowId, ordinal: row.ordinal, attempt, startedAt, endedAt: new Date(), outcome });
      if (result === undefined) return;
      recorder.add({ row, result });
      failuresInARow = result.error === undefined ? 0 : failuresInARow + 1;
      if (run.settings.pauseAfterFailures > 0 && failuresInARow >= run.settings.pauseAfterFailures)
        failing = `${failuresInARow} rows in a row failed, the last with: ${result.error}`;
    }
  };

  try {
    // A lane that breaks stops the others at their next row; the rows they have end and are recorded before the chunk fails.
    const broken = (err: unknown) => {
      lost ??= err;
    };
    await Promise.all(Array.from({ length: chunk.lanes }, () => lane().catch(broken)));
    await Promise.all([recorder.flush(), deps.attempts.flush()]);
  } finally {
    ended = true;
    clearTimeout(looking);
    stopping.removeEventListener('abort', onStopping);
  }
  if (lost !== undefined && !stopping.aborted) throw lost;
  return { takenTo: feed.recordedTo, recorded, ...(failing === undefined ? {} : { failing }) };
}
