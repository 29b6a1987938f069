import type { ExperimentRow, ExperimentRun } from './experiment.ts';
import { isAmong, mustRun, type RowLog, type RunRowReader } from './rowLog.ts';
import { rowTraceId } from './rowTrace.ts';

import type { OrdinalRange } from './workflow.ts';

export interface RowFeedDeps {
  rows: RunRowReader;
  log: Pick<RowLog, 'recorded'>;
  untilStored<T>(operation: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** Rows read ahead at a time, fewer where they are large: one look at the record store per page finds those that are recorded already. */
const PAGE_ROWS = 1_000;

/** The chunk's rows in order, without those that are recorded already. The next page is read while the lanes work on this one. */
export class RowFeed {
  /** Every row below this ordinal was handed out or is recorded. */
  takenTo: number;
  /** Rows that were handed out and are not recorded, in order. */
  private readonly open = new Set<number>();
  private readonly signal: AbortSignal;
  private readonly deps: RowFeedDeps;
  private readonly run: ExperimentRun;
  private readonly chunk: OrdinalRange;
  private readonly ready: ExperimentRow[] = [];
  private nextPage: number;
  private reading: Promise<void> | undefined;
  private readTo: number;
  /** Rows of the last page. */
  private pageRows = PAGE_ROWS;

  constructor(deps: RowFeedDeps, run: ExperimentRun, chunk: OrdinalRange, signal: AbortSignal) {
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
      if (this.ready.length < this.pageRows / 2 && this.nextPage < this.chunk.to && !this.reading) {
        this.reading = this.readPage();
        // When its reading fails, perhaps no lane waits for the page: the next lane that needs it reads it again.
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

  private async chosen(): Promise<OrdinalRange[] | undefined> {
    if (this.run.rowsToRun !== 'chosen') return undefined;
    return this.deps.untilStored(() => this.deps.rows.chosen(this.run, this.nextPage, this.chunk.to), this.signal);
  }

  private async readPage(): Promise<void> {
    try {
      const chosen = await this.chosen();
      // Rows that were not chosen are not read.
      const from = chosen ? (chosen[0]?.from ?? this.chunk.to) : this.nextPage;
      const to = Math.min(from + PAGE_ROWS, this.chunk.to);
      const rows = await this.deps.untilStored(() => this.deps.rows.page(this.run, from, to), this.signal);
      const traceIds = rows.map((row) => rowTraceId(this.run.experimentId, row.rowId, row.trial));
      const recorded = await this.deps.untilStored(() => this.deps.log.recorded(this.run, traceIds), this.signal);
      const isChosen = ({ ordinal }: ExperimentRow) => chosen !== undefined && isAmong(chosen, ordinal);
      this.ready.push(...rows.filter((row, index) => mustRun(this.run, recorded.get(traceIds[index] ?? ''), isChosen(row))));
      const last = rows.at(-1);
      this.nextPage = last ? last.ordinal + 1 : to;
      this.readTo = this.nextPage;
      this.pageRows = rows.length;
    } finally {
      this.reading = undefined;
    }
  }
}
