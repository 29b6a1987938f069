import type { ExperimentRow } from './experiment.ts';
import { resultBytes, rowBytes } from './rowBytes.ts';
import type { RowResult } from './rowTrace.ts';

export interface EndedRow {
  row: ExperimentRow;
  result: RowResult;
}

/**
 * Rows that have ended and wait for their write to be acknowledged: one write group. A crash repeats at most these and the rows in lanes. An
 * insert costs the store about the same for 1 row as for 500, so this bounds how fast rows that take no time can go: some 10,000 a second.
 */
const MAX_UNACKNOWLEDGED = 500;
/** Half of them are written while the other half gathers. */
const MAX_PER_WRITE = MAX_UNACKNOWLEDGED / 2;
/** The same in bytes: rows that wait are in memory, and what is written together once more, as columns. */
const MAX_UNACKNOWLEDGED_BYTES = 32 * 1024 * 1024;
const MAX_BYTES_PER_WRITE = MAX_UNACKNOWLEDGED_BYTES / 4;

/**
 * Milliseconds that a row waits for others to be written with. Each insert costs the engine some 10 ms of CPU whatever its size, and merging its
 * part several times as much: of 100 calls of 200 ms at a time a row takes 1.6 to 1.9 ms of CPU in all, 2.0 to 2.3 ms where it waits 250 ms. The
 * last rows of a chunk do not wait.
 */
const GATHER_MS = 500;

/**
 * Milliseconds after which a row that is not recorded holds up new ones, once there are more of its kind than rows run at a time. What has ended and is not
 * recorded is run twice, and paid twice, when this process dies or stands still: where the store is slow that must not be all that ended in the meantime.
 */
const OVERDUE_MS = 2_000;

/** Writes ended rows in groups, off the lanes' path. */
export class RowRecorder {
  private readonly write: (rows: readonly EndedRow[]) => Promise<void>;
  private readonly onRecorded: (row: EndedRow) => void;
  private readonly onLost: (err: unknown) => void;
  private readonly lanes: () => number;
  private gathered: EndedRow[] = [];
  private gatheredBytes = 0;
  private gatheredSince = 0;
  private timer: NodeJS.Timeout | undefined;
  private unacknowledgedBytes = 0;
  private unacknowledged = 0;
  /** With the time when the first of its rows ended; in order. */
  private readonly writes = new Map<Promise<void>, number>();
  // One promise for all lanes that wait: a race over many writes would add a handler to each, for each lane.
  private moved = Promise.withResolvers<void>();

  /**
   * @param write resolves when all of these rows are recorded
   * @param onLost gets why rows could not be recorded
   * @param lanes rows that run at a time
   */
  constructor(handlers: {
    write: (rows: readonly EndedRow[]) => Promise<void>;
    onRecorded: (row: EndedRow) => void;
    onLost: (err: unknown) => void;
    lanes: () => number;
  }) {
    this.write = handlers.write;
    this.onRecorded = handlers.onRecorded;
    this.onLost = handlers.onLost;
    this.lanes = handlers.lanes;
  }

  /** Returns whether no further row is to start before something is recorded. */
  get isFull(): boolean {
    return (
      this.unacknowledged >= MAX_UNACKNOWLEDGED ||
      this.unacknowledgedBytes >= MAX_UNACKNOWLEDGED_BYTES ||
      (this.unacknowledged >= this.lanes() && performance.now() - this.oldest() > OVERDUE_MS)
    );
  }

  /** Resolves when something was acknowledged, or lost. */
  progress(): Promise<void> {
    return this.moved.promise;
  }

  add(row: EndedRow): void {
    const bytes = rowBytes(row.row) + resultBytes(row.result);
    if (this.gatheredBytes > 0 && this.gatheredBytes + bytes > MAX_BYTES_PER_WRITE) this.send();
    if (this.gathered.length === 0) this.gatheredSince = performance.now();
    this.unacknowledged++;
    this.unacknowledgedBytes += bytes;
    this.gatheredBytes += bytes;
    this.gathered.push(row);
    if (this.gathered.length >= MAX_PER_WRITE || this.gatheredBytes >= MAX_BYTES_PER_WRITE) this.send();
    else this.timer ??= setTimeout(() => this.send(), GATHER_MS);
  }

  /** Resolves when every row that was added is recorded or lost. */
  async flush(): Promise<void> {
    this.send();
    while (this.writes.size > 0) await Promise.all(this.writes.keys());
  }

  /** When the first of the rows ended that are not recorded; there are some. */
  private oldest(): number {
    for (const since of this.writes.values()) return since;
    return this.gatheredSince;
  }

  private send(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const [rows, bytes] = [this.gathered, this.gatheredBytes];
    this.gathered = [];
    this.gatheredBytes = 0;
    if (rows.length === 0) return;
    const write = this.write(rows)
      .then(() => rows.forEach(this.onRecorded), this.onLost)
      .finally(() => {
        this.writes.delete(write);
        this.unacknowledged -= rows.length;
        this.unacknowledgedBytes -= bytes;
        this.moved.resolve();
        this.moved = Promise.withResolvers();
      });
    this.writes.set(write, this.gatheredSince);
  }
}
