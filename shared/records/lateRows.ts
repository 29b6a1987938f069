import type { RunRef } from '../projects/runs.ts';
import type { RecordStore } from './recordStore.ts';
import type { RecordWriter } from './recordWriter.ts';

/** Rows that a write has left which came after the deletion of its records. */
export interface LateRows {
  /** Runs from which records were deleted in the last `seconds`. */
  runs(seconds: number): Promise<RunRef[]>;
  /** Ids of records that were deleted from the run in that time, or are in a trace that was, of which rows are stored that belong to no record. */
  ids(run: RunRef, seconds: number): Promise<string[]>;
}

interface LateDeps {
  late: LateRows;
  store: Pick<RecordStore, 'removeMisplaced'>;
  writer: Pick<RecordWriter, 'exclusively'>;
}

/** The insert of a process that has died comes within minutes. One that stood still and comes back settles its insert itself, however late. */
export const LATE_ROWS_SECONDS = 3_600;

/**
 * Removes what was on its way to the store when its process stood still or died, and came after the records had been deleted. No read of a trace finds
 * these rows. A record that came whole stays: it was logged anew.
 * @param seconds how long ago a deletion may be
 */
export async function removeLateRows({ late, store, writer }: LateDeps, seconds = LATE_ROWS_SECONDS): Promise<void> {
  for (const run of await late.runs(seconds)) {
    if ((await late.ids(run, seconds)).length === 0) continue;
    // A write that is under way has stored keys, and not yet the records.
    await writer.exclusively(run, async (confirm) => {
      const ids = await late.ids(run, seconds);
      await confirm();
      await store.removeMisplaced(run, ids);
    });
  }
}
