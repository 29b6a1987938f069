import type { RequestInvalid } from '../errors/errors.ts';
import type { RunRef } from '../projects/runs.ts';
import type { HeldUpdate } from './heldUpdates.ts';
import type { RecordChange, WrittenRecord } from './recordChange.ts';

/** The changes of one request, and where to say what became of them. */
export interface WriteRequest {
  run: RunRef;
  changes: readonly RecordChange[];
  /** Absent: all of the changes or none. */
  partsOf: PartsOf | undefined;
  /** The rows of an experiment that all of the changes are of; absent where they may be of any record of the run. */
  ordinals: readonly number[] | undefined;
  /** Set when it was sent to the store and the locks were lost meanwhile. */
  mayBeStored?: true;
  /** Traces of which records were deleted. */
  recount: readonly string[];
  bytes: number;
  resolve(outcome: Outcome): void;
  reject(err: unknown): void;
}

/** The changes in the parts that are made or refused alone; asked only when they cannot all be made. */
export type PartsOf = (changes: readonly RecordChange[]) => readonly (readonly RecordChange[])[];

/** Changes of a write that cannot be made, and were left out of it. */
export interface RefusedChanges {
  changes: readonly RecordChange[];
  reason: RequestInvalid;
}

/** The outcome of the changes of one request. */
export interface Outcome {
  written: WrittenRecord[];
  refused: RefusedChanges[];
  /** Updates whose records are not stored. */
  held: HeldUpdate[];
  /** Sessions that traces have left for another one. */
  left: string[];
}

// Fields beside the texts, with the ids and numbers every row has.
const BYTES_PER_RECORD = 500;

/** Estimates the bytes of a change in the queue from its long texts alone: to look at every value would cost as much as to serialize it. */
export function roughBytes(change: RecordChange): number {
  const fields: LongFields = change.action === 'update' ? change.update : change.record;
  // Each by its name: read by names from a list they took twice the time.
  return (
    BYTES_PER_RECORD +
    roughSize(fields.input, LEVELS) +
    roughSize(fields.output, LEVELS) +
    roughSize(fields.redacted_input, LEVELS) +
    roughSize(fields.redacted_output, LEVELS) +
    roughSize(fields.tools, LEVELS) +
    roughSize(fields.events, LEVELS) +
    roughSize(fields.user_metadata, LEVELS) +
    roughSize(fields.dataset_input, LEVELS) +
    roughSize(fields.dataset_output, LEVELS) +
    roughSize(fields.dataset_metadata, LEVELS)
  );
}

type LongField = 'input' | 'output' | 'tools' | 'events' | 'user_metadata' | `redacted_${'input' | 'output'}`;
type LongFields = Partial<Record<LongField | `dataset_${'input' | 'output' | 'metadata'}`, unknown>>;

/** A text may be as deep as in `input`: messages, each with `content`, its parts, each with `text`. */
const LEVELS = 4;

function roughSize(value: unknown, levels: number): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  if (levels === 0) return 100;
  let size = 0;
  if (Array.isArray(value)) for (const item of value) size += roughSize(item, levels - 1);
  else for (const name in value) size += roughSize((value as Record<string, unknown>)[name], levels - 1);
  return size;
}
