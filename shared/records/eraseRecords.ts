import { together } from '../concurrency/together.ts';
import type { RunRef } from '../projects/runs.ts';
import { ErasuresUnderWay } from './erasuresUnderWay.ts';
import type { HeldLocks, RunStates, StoredKey, WriteGuard } from './recordStore.ts';

/** Identifies a record in the tables of records. */
export type ErasedKey = Pick<StoredKey, 'id' | 'created_at'>;

export interface Erasure {
  id: string;
  run: RunRef;
  keys: readonly ErasedKey[];
}

/** An erasure that nothing undoes. */
export interface Erased {
  /** Resolves when no read finds the records any more; rejects when it has to be carried out anew. */
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
  /** The erasure, unless another process has finished it. */
  get(id: string): Promise<Erasure | undefined>;
  isNoted(id: string): Promise<boolean>;
  /** True when an unfinished erasure takes one of these records. */
  takesOneOf(run: RunRef, ids: readonly string[]): Promise<boolean>;
  /** Runs with an erasure that was not finished. */
  unfinished(): Promise<RunRef[]>;
  runStates(runs: readonly RunRef[]): Promise<RunStates>;
  /** Notes that rows of these runs, which are not there, may have been stored a moment ago: where they were deleted, what is stored of them goes again. */
  noteLate(runs: readonly RunRef[]): Promise<void>;
  /** Notes that the aggregates of the experiments among these runs are outdated, unless it has noted that a moment ago. @returns those experiments */
  noteOutdated(logged: readonly RunRef[]): Promise<readonly RunRef[]>;
}

/** Names what a deletion takes: a whole project, one run of it (`runId`), or records of a run (`ids`). */
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
  /**
   * Takes these records with all that belongs to them. Call it while the run is locked (`RecordWriter.exclusively`), and wait for `gone` afterwards: the
   * store finishes its merges first, for half a minute in a run of a million records.
   * @param confirm asked before each step: an erasure that comes late would take what was logged anew since
   */
  erase(run: RunRef, keys: readonly ErasedKey[], confirm: HeldLocks['confirm']): Promise<Erased>;
  /**
   * Lets writes to runs pass. An erasure that is noted, and not under way in this process, was cut off, or another process is at it: it is finished
   * before anything is written, which could otherwise be taken with it or be laid on top of its rests.
   */
  guard: WriteGuard;
  noteOutdated: ErasureNotes['noteOutdated'];
  /** Those of this process: what concerns their records is not written before they have ended. */
  underWay: ErasuresUnderWay;
}

/** An erasure of a large trace or session is noted in parts of this many keys: a statement that names more ids takes long. */
const KEYS_PER_NOTE = 20_000;

/** Erases records so that a crash at any moment leaves nothing of them for good. */
export function recordErasure({ eraser, notes, onRecordsDeleted }: ErasureDeps): RecordErasure {
  const underWay = new ErasuresUnderWay();
  const finish = async ({ id, run, keys }: Erasure, { gone }: Erased): Promise<void> => {
    await gone;
    // Another process may have finished it, and the records may be there anew.
    if (!(await notes.isNoted(id))) return;
    const ids = keys.map((key) => key.id);
    for (const notify of onRecordsDeleted) await notify({ projectId: run.projectId, runId: run.runId, ids });
    await notes.remove(id);
  };
  const carryOut = async (erasure: Erasure, confirm: HeldLocks['confirm']): Promise<Erased> => {
    await confirm();
    const finished = finish(erasure, await eraser.erase(erasure.run, erasure.keys));
    underWay.add(erasure, finished);
    return goneWith([finished]);
  };
  return {
    underWay,

    async erase(run, keys, confirm) {
      const noted: Erasure[] = [];
      // All are noted before the first goes: the process that carries them out after a crash finds them without their parents. The first of them, the
      // parent of the others, is noted last: should a crash come before, the deletion finds it again.
      for (let left = keys.length; left > 0; left -= KEYS_PER_NOTE) {
        await confirm();
        noted.push(await notes.add(run, keys.slice(Math.max(0, left - KEYS_PER_NOTE), left)));
      }
      const erased: Erased[] = [];
      for (const erasure of noted) erased.push(await carryOut(erasure, confirm));
      return goneWith(erased.map(({ gone }) => gone));
    },
    noteOutdated: (logged) => notes.noteOutdated(logged),
    async guard(runs, states, confirm) {
      const { erasures, ...toWrite } = states ?? (await notes.runStates(runs));
      const cutOff = erasures.filter((erasure) => !underWay.has(erasure, erasure.id));
      for (const { id } of cutOff) {
        const erasure = await notes.get(id);
        if (erasure) await (await carryOut(erasure, confirm)).gone;
      }
      return toWrite;
    },
  };
}
