import type { ExperimentRow, ExperimentRun } from './experiment.ts';
import { type RowResult, rowTrace, rowTraceId } from './rowTrace.ts';
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
  done: number;
  failed: number;
  running: number;
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

/**
 * Rows that have ended and wait for their write to be acknowledged: one write group. A crash repeats at most these and the rows in lanes. An
 * insert costs the store about the same for 1 row as for 500, so this bounds how fast rows that take no time can go: some 10,000 a second.
 */
const MAX_UNACKNOWLEDGED = 500;

/** Milliseconds in which a chunk takes new rows; then it finishes those it has and gives the rest back. */
const TIME_BOX_MS = 600_000;

/** Milliseconds that rows in flight get to end after a cancel; then they are given up, not recorded, and left to a resume. */
const CANCEL_GRACE_MS = 10_000;

/**
 * Runs the rows of a chunk that are not recorded yet, `chunk.lanes` at a time, each recorded within moments of its end. Safe to run twice: a
 * second run finds the first one's rows.
 * @param attempt counts this chunk's executions over all workflows of the experiment; the higher one's records win.
 * @param stopping aborts when no new row may start; `abandon` says, at that time, whether rows in flight are to be given up as well.
 */
export async function runRows(
  deps: RunRowsDeps,
  run: ExperimentRun,
  chunk: Chunk,
  attempt: number,
  stopping: AbortSignal,
  abandon: () => Promise<boolean>,
): Promise<ChunkOutcome> {
  const deadline = deps.now() + TIME_BOX_MS;
  const aborted = new AbortController();
  const progress: ChunkProgress = { done: 0, failed: 0, running: 0 };
  const feed = new RowFeed(deps, run, chunk, aborted.signal);
  const unacknowledged = new Set<Promise<void>>();
  let lost: unknown;
  let lowestUnrecorded = Number.POSITIVE_INFINITY;
  let recorded = 0;
  let failuresInARow = 0;
  let failing: string | undefined;

  const giveUp = async () => {
    if (!(await abandon())) return;
    const timer = setTimeout(() => aborted.abort(new Error('the run was cancelled')), CANCEL_GRACE_MS);
    aborted.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
    graceTimer = timer;
  };
  let graceTimer: NodeJS.Timeout | undefined;
  const onStopping = () => void giveUp().catch((err) => aborted.abort(err));
  stopping.addEventListener('abort', onStopping, { once: true });
  if (stopping.aborted) onStopping();

  const record = (row: ExperimentRow, result: RowResult) => {
    const write = deps
      .untilStored(() => deps.log.write(run, [rowTrace(run.experimentId, row, result)], attempt), aborted.signal)
      .then(
        () => {
          recorded++;
          progress.done++;
          if (result.error !== undefined) progress.failed++;
          deps.onProgress(progress);
        },
        (err) => {
          lowestUnrecorded = Math.min(lowestUnrecorded, row.ordinal);
          lost ??= err;
        },
      )
      .finally(() => unacknowledged.delete(write));
    unacknowledged.add(write);
  };

  const lane = async () => {
    while (!stopping.aborted && lost === undefined && failing === undefined && deps.now() < deadline) {
      if (unacknowledged.size >= MAX_UNACKNOWLEDGED) {
        await Promise.race(unacknowledged);
        continue;
      }
      const row = await feed.next();
      if (!row) return;
      const startedAt = new Date();
      progress.running++;
      deps.attempts.note(run, { rowId: row.rowId, ordinal: row.ordinal, attempt, startedAt, endedAt: null, outcome: 'started' });
      const result = await deps.runner.run(row, { attempt, signal: aborted.signal }).catch((err: unknown) => {
        if (!aborted.signal.aborted) throw err;
        return undefined;
      });
      progress.running--;
      const outcome = result === undefined ? 'abandoned' : result.error === undefined ? 'succeeded' : 'failed';
      deps.attempts.note(run, { rowId: row.rowId, ordinal: row.ordinal, attempt, startedAt, endedAt: new Date(), outcome });
      if (result === undefined) {
        lowestUnrecorded = Math.min(lowestUnrecorded, row.ordinal);
        return;
      }
      record(row, result);
      failuresInARow = result.error === undefined ? 0 : failuresInARow + 1;
      if (run.settings.pauseAfterFailures > 0 && failuresInARow >= run.settings.pauseAfterFailures)
        failing = `${failuresInARow} rows in a row failed, the last with: ${result.error}`;
    }
  };

  try {
    // A lane that breaks stops the others at their next row; all of them are awaited before the chunk fails.
    const broken = (err: unknown) => {
      lost ??= err;
      if (progress.running === 0) return;
      aborted.abort(err);
    };
    await Promise.all(Array.from({ length: chunk.lanes }, () => lane().catch(broken)));
    await Promise.all(unacknowledged);
    await deps.attempts.flush();
  } finally {
    clearTimeout(graceTimer);
    stopping.removeEventListener('abort', onStopping);
  }
  if (lost !== undefined && !stopping.aborted) throw lost;
  return { takenTo: Math.min(feed.takenTo, lowestUnrecorded), recorded, ...(failing === undefined ? {} : { failing }) };
}

/** The chunk's rows in order, without those that are recorded already. The next page is read while the lanes work on this one. */
class RowFeed {
  /** Every row below this ordinal was handed out or is recorded. */
  takenTo: number;
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

  async next(): Promise<ExperimentRow | undefined> {
    for (;;) {
      if (this.ready.length < PAGE_ROWS / 2 && this.nextPage < this.chunk.to) this.reading ??= this.readPage();
      const row = this.ready.shift();
      if (row) {
        this.takenTo = row.ordinal + 1;
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
      this.ready.push(...rows.filter((row) => mustRun(this.run, recorded.get(rowTraceId(this.run.experimentId, row.rowId)))));
      this.nextPage = to;
      this.readTo = to;
    } finally {
      this.reading = undefined;
    }
  }
}

/** Attempts count from `number * ATTEMPTS_PER_WORKFLOW`, so that a later workflow's records always outrank an earlier one's. */
export const ATTEMPTS_PER_WORKFLOW = 10_000;

/** A row runs when it is not recorded; and, when failed rows are run again, where it failed in an earlier workflow. */
export function mustRun(run: ExperimentRun, recorded: RecordedRow | undefined): boolean {
  if (!recorded) return true;
  return run.rowsToRun === 'failed' && recorded.failed && recorded.attempt < run.workflowNumber * ATTEMPTS_PER_WORKFLOW;
}
