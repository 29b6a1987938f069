/**
 * Rows on offer to a runner function in its caller's process. A chunk of the run offers rows, the caller's process leases them over the ordinary
 * API and gives results back; the chunk takes note of those that are done. The table holds only the rows of the moment.
 */
export interface OfferedRows {
  /**
   * Makes these the rows of [from, to) that are on offer. A row that a process holds stays with it, so that a chunk that is run again starts no row
   * twice; one that is recorded already since attempt `since` stays so.
   */
  offer(experimentId: string, rows: OfferedRange): Promise<void>;
  /** Up to `limit` rows that are not leased, or whose lease has expired, in row order; held for `leaseMs`. */
  lease(experimentId: string, process: string, limit: number, leaseMs: number): Promise<LeasedRow[]>;
  /** Returns the rows among these that the process still holds. */
  held(experimentId: string, process: string, ordinals: number[]): Promise<LeasedRow[]>;
  /** Prolongs the leases of a process on these rows; all of them where none are named. */
  renew(experimentId: string, process: string, leaseMs: number, ordinals?: number[]): Promise<void>;
  /** Takes these rows back from the process that was given them. */
  free(experimentId: string, process: string, ordinals: number[]): Promise<void>;
  /** Frees the rows that the process was given and does not name. */
  freeAllBut(experimentId: string, process: string, holding: number[]): Promise<void>;
  /** Makes `process` the one that runs this experiment's rows and frees what another held. @returns true when there was another, or none. */
  takeOver(experimentId: string, process: string): Promise<boolean>;
  /** Notes that the process is alive. @returns false when another has taken over. */
  seen(experimentId: string, process: string): Promise<boolean>;
  secondsSinceCaller(experimentId: string): Promise<number>;
  /** Marks rows as recorded. */
  finish(experimentId: string, ordinals: number[]): Promise<void>;
  /** Takes recorded rows of [from, to) off the table. @returns their ordinals */
  takeFinished(experimentId: string, from: number, to: number): Promise<number[]>;
  withdraw(experimentId: string, from: number, to: number): Promise<void>;
  /** Takes the rows of [from, to) off the table that no process holds. */
  withdrawUnheld(experimentId: string, from: number, to: number): Promise<void>;
  /** Rows whose time at a process is not over. */
  running(experimentId: string): Promise<number>;
}

export interface OfferedRange {
  from: number;
  to: number;
  ordinals: number[];
  attempt: number;
  since: number;
}

export interface LeasedRow {
  ordinal: number;
  attempt: number;
}
