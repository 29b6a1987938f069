import type { RunRef } from '../projects/runs.ts';
import type { RecordUpdate } from './recordChange.ts';

/** An update that waits for its record. */
export interface HeldUpdate {
  /** The id of the record. */
  id: string;
  of: 'trace' | 'span';
  update: RecordUpdate;
}

/** One that is stored; numbers rise in order of arrival. */
export interface StoredHeldUpdate extends HeldUpdate {
  number: number;
}

/** The held updates of a project, and the limits of how many it may hold. */
export interface HeldUpdateUsage {
  updates: number;
  bytes: number;
  updatesLimit: number;
  bytesLimit: number;
}

export interface Holding {
  /** Those that there is no room for. */
  refused: readonly HeldUpdate[];
  /** How many of the project's were dropped: since they had expired, or to make room. */
  dropped: number;
}

/**
 * Updates of records that are not stored. They are held while their run is locked as for a write, after a look that found no record; the write that
 * stores the record applies all of them. So an update whose record is stored has been applied, whether it was released or not, and counts for nothing.
 */
export interface HeldUpdates {
  /** Those of these records that have not expired, in order of arrival. */
  of(run: RunRef, ids: readonly string[]): Promise<StoredHeldUpdate[]>;
  /**
   * Holds those that the project has room for, the first ones first. In a project that is full, the oldest of those that have waited for ten minutes make
   * room: their records are not likely to come.
   * @throws ServiceError `RunNotFound` when the run was deleted meanwhile
   */
  hold(run: RunRef, updates: readonly HeldUpdate[]): Promise<Holding>;
  release(numbers: readonly number[]): Promise<void>;
}

/** Updates of a run that wait. */
export interface HeldUpdateFilter {
  kinds: readonly HeldUpdate['of'][];
  /** Absent: of any record. */
  ids?: readonly string[];
  /** Canonical time: only those held until then. */
  until?: string;
}

/** Takes back updates that wait. */
export type ForgetHeldUpdates = (run: RunRef, filter: HeldUpdateFilter) => Promise<void>;
