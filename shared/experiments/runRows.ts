import type { ExperimentRow, ExperimentRun } from './experiment.ts';
import { type EndedRow, RowRecorder } from './rowRecorder.ts';
import { type RowResult, rowTrace, rowTraceId } from './rowTrace.ts';
import { isRefusal } from './untilStored.ts';
import type { Chunk, ChunkOutcome } from './workflow.ts';

/** Rows of an experiment by ordinal, whatever they come from. */
export interface RowSourceReader {
  range(run: ExperimentRun, from: number, to: number): Promise<ExperimentRow[]>;
}

/** How a recorded row stands. */
export interface RecordedRow {
  failed: boolean;
  attempt: number;
}

/** The record store, as the rows of an experiment use it. */
export interface RowLog {
  /** Of these trace ids, those that are recorded. */
  recorded(run: ExperimentRun, traceIds: string[]): Promise<Map<string, RecordedRow>>;
  /** Resolves when the traces can be found and survive a crash. */
  write(run: ExperimentRun, traces: ReturnType<typeof rowTrace>[], attempt: number): Promise<void>;
}

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

/** Rows read ahead at a time: one look at the record store per page tells which of them are recorded already. */
const PAGE_ROWS = 1_000;

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

  const store = (rows: readonly EndedRow[]) =>
    deps.untilStored(
      () =>
        deps.log.write(
          run,
          rows.map(({ row, result }) => rowTrace(run.experimentId, row, result)),
          attempt,
        ),
      aborted.signal,
    );
  // Of rows that are refused together one is to blame: each is then tried alone, and that one recorded without what the store refuses.
  const write = async (rows: readonly EndedRow[]): Promise<void> => {
    try {
      await store(rows);
    } catch (err) {
      if (aborted.signal.aborted || !isRefusal(err)) throw err;
      const [only] = rows;
      if (rows.length > 1 || !only) for (const one of rows) await write([one]);
      else await store([{ row: only.row, result: withoutContent(only.result, err) }]);
    }
  };
  const recorder = new RowRecorder({
    write,
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

/** Every row ends in a record, also one whose spans or metrics cannot be stored. */
const withoutContent = (result: RowResult, err: unknown): RowResult => ({
  output: null,
  error: `the result cannot be stored: ${err instanceof Error ? err.message : String(err)}`.slice(0, 10_000),
  spans: [],
  startedAt: result.startedAt,
  durationNs: result.durationNs,
});

/** The chunk's rows in order, without those that are recorded already. The next page is read while the lanes work on this one. */
class RowFeed {
  /** Every row below this ordinal was handed out or is recorded. */
  private takenTo: number;
  /** Rows that were handed out and are not recorded, in order. */
  private readonly open = new Set<number>();
  private readonly signal: AbortSignal;
  private readonly deps: RunRowsDeps;
  private readonly run: ExperimentRun;
  private readonly chunk: Chunk;
  private readonly ready: ExperimentRow[] = [];
  private nextPage: number;
  private reading: Promise<void> | undefined;
  private readTo: number;

  constructor(deps: RunRowsDeps, run: ExperimentRun, chunk: Chunk, signal: AbortSignal) {
    this.signal = signal;
    this.deps = deps;
    this.run = run;
    this.chunk = chunk;
    this.takenTo = chunk.from;
    this.nextPage = chunk.from;
    this.readTo = chunk.from;
  }

  /** Every row below this ordinal is recorded. */
  get recordedTo(): number {
    for (const lowest of this.open) return lowest;
    return this.takenTo;
  }

  /** Rows that were handed out and are not recorded. */
  get unrecorded(): number {
    return this.open.size;
  }

  noteRecorded(ordinal: number): void {
    this.open.delete(ordinal);
  }

  async next(): Promise<ExperimentRow | undefined> {
    for (;;) {
      if (this.ready.length < PAGE_ROWS / 2 && this.nextPage < this.chunk.to && !this.reading) {
        this.reading = this.readPage();
        // Nobody may be waiting for the page when its reading fails: then the next lane that needs it reads it again.
        this.reading.catch(() => undefined);
      }
      const row = this.ready.shift();
      if (row) {
        this.takenTo = row.ordinal + 1;
        this.open.add(row.ordinal);
        return row;
      }
      if (!this.reading) {
        this.takenTo = this.readTo;
        return undefined;
      }
      await this.reading;
    }
  }

  private async readPage(): Promise<void> {
    try {
      const from = this.nextPage;
      const to = Math.min(from + PAGE_ROWS, this.chunk.to);
      const rows = await this.deps.untilStored(() => this.deps.rows.range(this.run, from, to), this.signal);
      const traceIds = rows.map((row) => rowTraceId(this.run.experimentId, row.rowId));
      const recorded = await this.deps.untilStored(() => this.deps.log.recorded(this.run, traceIds), this.signal);
      this.ready.push(...rows.filter((_, index) => mustRun(this.run, recorded.get(traceIds[index] ?? ''))));
      this.nextPage = to;
      this.readTo = to;
    } finally {
      this.reading = undefined;
    }
  }
}

/**
 * Attempts per workflow and per round of its chunks: a later workflow's records always outrank an earlier one's, a later round's an earlier
 * round's, a retried chunk's those of the worker it lost. The store keeps 32 bits: some 4,000 workflows of one experiment.
 */
const ATTEMPTS_PER_WORKFLOW = 1_000_000;
const ATTEMPTS_PER_ROUND = 1_000;

export const attemptNumber = (workflow: number, round: number, attempt: number): number =>
  workflow * ATTEMPTS_PER_WORKFLOW +
  Math.min(round, ATTEMPTS_PER_WORKFLOW / ATTEMPTS_PER_ROUND - 1) * ATTEMPTS_PER_ROUND +
  Math.min(attempt, ATTEMPTS_PER_ROUND - 1);

/** The lowest attempt number of a workflow. */
export const firstAttemptOf = (workflow: number): number => attemptNumber(workflow, 0, 0);

/** A row runs when it is not recorded; and, when failed rows are run again, where it failed in an earlier workflow. */
export function mustRun(run: ExperimentRun, recorded: RecordedRow | undefined): boolean {
  if (!recorded) return true;
  return run.rowsToRun === 'failed' && recorded.failed && recorded.attempt < firstAttemptOf(run.workflowNumber);
}
