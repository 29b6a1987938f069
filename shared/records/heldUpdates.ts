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

/** What a project's held updates come to, and the most that they may. */
export interface HeldUpdateUsage {
  updates: number;
  bytes: number;
  updatesLimit: number;
  bytesLimit: number;
}

/**
 * Updates of records that are not stored. They are held while their run is locked as for a write, after a look that found no record; the write that
 * stores the record applies all of them. So an update whose record is stored has been applied, whether it was released or not, and counts for nothing.
 */
export interface HeldUpdates {
  /** Those of these records that have not expired, in order of arrival. */
  of(run: RunRef, ids: readonly string[]): Promise<StoredHeldUpdate[]>;
  /**
   * Holds as many as the project may have, the first ones first.
   * @returns how many these were
   * @throws ServiceError `RunNotFound` when the run was deleted meanwhile
   */
  hold(run: RunRef, updates: readonly HeldUpdate[]): Promise<number>;
  release(numbers: readonly number[]): Promise<void>;
}

/** Takes back updates that wait: those of these ids, or without ids all of the kinds. */
export type ForgetHeldUpdates = (run: RunRef, kinds: readonly HeldUpdate['of'][], ids?: readonly string[]) => Promise<void>;
