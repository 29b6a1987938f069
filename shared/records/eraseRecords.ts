import { together } from '../concurrency/together.ts';
import type { RunRef } from '../projects/runs.ts';
import type { RunsToWrite, StoredKey, WriteGuard } from './recordStore.ts';

/** What identifies a record in the tables of records. */
export type ErasedKey = Pick<StoredKey, 'id' | 'created_at'>;

export interface Erasure {
  id: string;
  run: RunRef;
  keys: readonly ErasedKey[];
}

/** An erasure that nothing undoes: what is written from now on stays. */
export interface Erased {
  /** Resolves when no search finds the records any more. */
  gone: Promise<void>;
}

/** An erasure of several parts. */
export function goneWith(parts: readonly Promise<void>[]): Erased {
  const gone = together(parts).then(() => {});
  gone.catch(() => {}); // it is waited for later, or not at all
  return { gone };
}

/** Records that are being erased: noted before the first of their rows goes, removed when nothing of them is left. */
export interface ErasureNotes {
  add(run: RunRef, keys: readonly ErasedKey[]): Promise<Erasure>;
  remove(id: string): Promise<void>;
  of(run: RunRef): Promise<Erasure[]>;
  /** Runs with an erasure that was not finished. */
  unfinished(): Promise<RunRef[]>;
  /**
   * Of these runs, those that were deleted (themselves or with their project), those with an erasure that was not finished, and those with held updates.
   * Notes on the way that the aggregates of the experiments among `logged` are outdated, and gives these: all in the one statement that every write
   * waits for.
   */
  deletionState(runs: readonly RunRef[], logged: readonly RunRef[]): Promise<RunsToWrite & { unfinished: readonly RunRef[] }>;
}

/** What a deletion takes: a whole project, one run of it (`runId`), or records of a run (`ids`). */
export interface Deleted {
  projectId: string;
  runId?: string;
  ids?: readonly string[];
}

/**
 * Called with what a deletion takes, before it counts as done, so that what belongs to those records elsewhere goes with them. Called again
 * after a crash: it must be safe to repeat.
 */
export type OnRecordsDeleted = (deleted: Deleted) => Promise<void>;

export interface ErasureDeps {
  eraser: { erase(run: RunRef, keys: readonly ErasedKey[]): Promise<Erased> };
  notes: ErasureNotes;
  onRecordsDeleted: readonly OnRecordsDeleted[];
}

export interface RecordErasure {
  /** Takes these records with all that belongs to them. Call it only while nothing else is written to the run; wait for `gone` when others may write. */
  erase(run: RunRef, keys: readonly ErasedKey[]): Promise<Erased>;
  /**
   * Lets writes to runs pass. An erasure is noted and finished while its run is locked, so one that is found here was cut off: it is finished
   * before anything is written, which could otherwise be taken with it or be laid on top of its rests.
   */
  guard: WriteGuard;
}

/** Of a trace or session of any size: a statement that names more ids takes long. */
const KEYS_PER_NOTE = 20_000;

/** Erases records so that a crash at any moment leaves nothing of them for good. */
export function recordErasure({ eraser, notes, onRecordsDeleted }: ErasureDeps): RecordErasure {
  const carryOut = async ({ id, run, keys }: Erasure): Promise<Erased> => {
    const erased = await eraser.erase(run, keys);
    const ids = keys.map((key) => key.id);
    for (const notify of onRecordsDeleted) await notify({ projectId: run.projectId, runId: run.runId, ids });
    await notes.remove(id);
    return erased;
  };
  return {
    async erase(run, keys) {
      const noted: Erasure[] = [];
      // All are noted before the first goes: whoever carries them out after a crash finds them without what they hung below.
      for (let from = 0; from < keys.length; from += KEYS_PER_NOTE)
        noted.push(await notes.add(run, keys.slice(from, from + KEYS_PER_NOTE)));
      const erased: Erased[] = [];
      for (const erasure of noted) erased.push(await carryOut(erasure));
      return goneWith(erased.map(({ gone }) => gone));
    },
    async guard(runs, logged) {
      const { unfinished, ...toWrite } = await notes.deletionState(runs, logged);
      for (const run of unfinished) for (const erasure of await notes.of(run)) await (await carryOut(erasure)).gone;
      return toWrite;
    },
  };
}
