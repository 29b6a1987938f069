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

/** What became of the changes of one request. */
export interface Outcome {
  written: WrittenRecord[];
  refused: RefusedChanges[];
  /** Updates whose records are not stored. */
  held: HeldUpdate[];
}

// Fields beside the texts, with the ids and numbers every row has.
const BYTES_PER_RECORD = 500;

/** What a change weighs in the queue, from its long texts alone: looking at every value would cost as much as writing it out. */
export function roughBytes(change: RecordChange): number {
  const { input, output } = change.action === 'update' ? change.update : change.record;
  if (change.action === 'update') return BYTES_PER_RECORD + roughSize(input) + roughSize(output);
  const { tools, events, dataset_input, dataset_output } = change.record;
  const texts = (dataset_input?.length ?? 0) + (dataset_output?.length ?? 0);
  return BYTES_PER_RECORD + texts + roughSize(input) + roughSize(output) + roughSize(tools) + roughSize(events);
}

function roughSize(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  if (!Array.isArray(value)) return textsIn(value);
  let size = 0;
  for (const item of value) size += textsIn(item);
  return size;
}

function textsIn(value: object): number {
  let size = 0;
  for (const name in value) {
    const inner = (value as Record<string, unknown>)[name];
    size += typeof inner === 'string' ? inner.length : 100;
  }
  return size;
}
