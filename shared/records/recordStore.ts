import type { RunRef } from '../projects/runs.ts';
import type { MetricStatus } from '../wire/metricResults.ts';
import type { StoredRecord } from './record.ts';

/** The type of the key of a trace whose own record has not come: its session may be known, its `created_at` is not. */
export const PENDING = 'pending';

/** Where a stored record is. */
export type PlacedRecord = Pick<StoredRecord, 'project_id' | 'run_id' | 'id' | 'type' | 'session_id' | 'trace_id'>;

/** A record as the table of keys has it: what a write is settled by. */
export interface StoredKey {
  id: string;
  created_at: string;
  type: StoredRecord['type'] | typeof PENDING;
  trace_id: string | null;
  parent_id: string | null;
  session_id: string;
  /** The version of the newest row, when the key was read in order to write another. */
  version?: number;
}

/** A span with what it used (see `usageOf`) and what of that counts. */
export interface UsageKey extends StoredKey {
  type: StoredRecord['type'];
  usage: Readonly<Record<string, number>>;
  counted_usage: string | null;
}

/** One value, or the state of its scoring, of one metric of one record. The newest version counts. */
export interface MetricValue {
  metric: string;
  recordId: string;
  recordCreatedAt: string;
  recordType: StoredRecord['type'];
  traceId: string | null;
  status: MetricStatus;
  /** Number, boolean, text, or any JSON; absent or null where there is none. */
  value?: unknown;
  explanation?: string | null;
  /** The scorer's own remarks; sent only when asked for. */
  metadata?: Record<string, unknown> | null;
  /** The other keys of the metric result: cost, tokens, model_alias, message, standard_error … */
  details?: Record<string, unknown>;
  scorerId?: string | null;
  /** The version of the frozen metric that made the value; absent or empty where it is not known. */
  scorerVersion?: string;
  /** Microseconds since 1970: for a value of the record as it was then. Absent: now. */
  version?: number;
}

/** A record as it is written now. */
export interface NewVersion {
  record: StoredRecord;
  /** True when the store may have a version of the record already. Readers look for stale versions of these alone. */
  isRewrite: boolean;
  /** The version that is stored now; null: none. Absent where that was not looked for. */
  replaces?: Pick<StoredRecord, 'id' | 'type' | 'version' | 'created_at'> | null;
}

/** A value that was logged with its record. */
export interface NewValue {
  run: RunRef;
  value: MetricValue;
  version: number;
  /** True when the store may have the record, and so a value of this metric, already. */
  isRewrite: boolean;
}

/** A key as it is written now. */
export type WrittenKey = StoredKey & Pick<StoredRecord, 'project_id' | 'run_id' | 'version'>;

/** A record whose place is new, or a trace that is pending. */
export interface NewKey {
  record: StoredRecord | WrittenKey;
  /** The trace that it leaves, when it was stored in another. */
  leaves: string | undefined;
}

/** The rows of one write, stored in this order: a reader who sees a record also finds its key and its values. */
export interface NewRows {
  keys: readonly NewKey[];
  values: readonly NewValue[];
  records: readonly NewVersion[];
}

/** The rows of one write. A retry sends the same block again, which is then stored once. */
export type Block = {
  /** @param confirm asked before each table: nothing more is sent when it rejects */
  send(confirm?: () => Promise<void>): Promise<void>;
};

/** Reads and writes records for the record writer. */
export interface RecordStore {
  /** Keys of those ids that have one. */
  keys(run: RunRef, ids: readonly string[]): Promise<StoredKey[]>;
  /** Keys of all spans of these traces. */
  spanKeys(run: RunRef, traceIds: readonly string[]): Promise<StoredKey[]>;
  /**
   * Returns the spans of these traces that are or hold usage: model calls, those that say tokens or a cost, those that have children, and those of `ids`.
   * @param whole absent: of spans without children that are alike (parent, type, what they say and count) one will do, but for those of `ids`
   */
  usageKeys(run: RunRef, traceIds: readonly string[], ids: readonly string[], whole?: boolean): Promise<UsageKey[]>;
  /** Those of these ids that were deleted from the run, also where they were logged anew since. */
  deleted(run: RunRef, ids: readonly string[]): Promise<string[]>;
  /** Newest versions, all fields. */
  records(run: RunRef, keys: readonly StoredKey[]): Promise<StoredRecord[]>;
  /** As `records`, without their keys: to be asked beside `keys`. */
  recordsById(run: RunRef, ids: readonly string[]): Promise<StoredRecord[]>;
  /** As `recordsById`, but where the records are alone. */
  places(run: RunRef, ids: readonly string[]): Promise<PlacedRecord[]>;
  block(rows: NewRows): Block;
  /** Removes the rows of these ids that belong to no record, or are elsewhere than its newest key says. Call it while nothing else writes them. */
  removeMisplaced(run: RunRef, ids: readonly string[]): Promise<void>;
}

/** A lock that holds across processes. Any number may have it at once that share it, else one alone. */
export interface Lock {
  name: string;
  shared: boolean;
}

/** The states of runs that a write must know. */
export interface RunsToWrite {
  /** Runs that are not in the project, deleted ones included, or are of another kind than the write says. */
  missing: readonly RunRef[];
  /** Runs that may have updates which wait for their records. */
  withHeldUpdates: readonly RunRef[];
}

/** The states of runs in the store of metadata. */
export interface RunStates extends RunsToWrite {
  /** Erasures that are noted. */
  erasures: readonly (RunRef & { id: string })[];
}

/** Locks, as the work that has them sees them. */
export interface HeldLocks {
  /** Names of those that another process has. Empty where they were waited for. */
  refused: ReadonlySet<string>;
  /** The states of the runs right after the locks were taken; undefined where they were not read. */
  states: RunStates | undefined;
  /**
   * Makes sure that the locks are held now, before something is written: a process that stood still has lost them.
   * @throws LocksLost
   */
  confirm(): Promise<void>;
}

/**
 * Runs `work` while it has these locks. They are taken in this order; where all who take several keep one order, no two wait for each other.
 * @param runs of which the work gets the states
 * @param waitMs milliseconds for which they are waited for; 0: each is tried, and the work gets the names of those that another process has
 * @throws LocksTaken when they cannot be had in that time, LocksLost when they were not held until `work` had ended
 */
export type WithLocks = <T>(
  locks: readonly Lock[],
  runs: readonly RunRef[],
  work: (held: HeldLocks) => Promise<T>,
  waitMs: number,
) => Promise<T>;

/**
 * Asked while the locks of these runs are held, before anything is written to them.
 * @param states of these runs, read since their locks are held; undefined: the guard reads them
 * @param confirm asked before anything is erased
 */
export type WriteGuard = (
  runs: readonly RunRef[],
  states: RunStates | undefined,
  confirm: HeldLocks['confirm'],
) => Promise<RunsToWrite>;
