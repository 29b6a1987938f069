import { LRUCache } from 'lru-cache';
import type { RecordKind } from '../../columns/columnDef.ts';
import type { RunRef } from '../../projects/runs.ts';
import type { NewVersion } from '../../records/recordStore.ts';
import { timeParam } from './binder.ts';
import { byMerging, MAX_REWRITTEN, type NewestVersions, type StaleRow } from './newestVersions.ts';

/** The records of a run, as far as they are known. */
export interface RunRecords {
  newest: NewestVersions;
  /** The number of its records of each kind, expired ones too; absent where that was not asked for. */
  counts?: ReadonlyMap<RecordKind, number>;
  /** Rises with every write that replaces a version. */
  rewrites: number;
}

/** The changes that one write makes in the records of a run. */
export interface RunChange {
  run: RunRef;
  counts: ReadonlyMap<RecordKind, number>;
  stale: readonly StaleRow[];
  /** False where the writer does not know what was stored of its records. */
  isKnown: boolean;
  /** True once it was sent and may be stored: what it changes is not known when it is sent again. */
  mayBeStored: boolean;
}

/** The runs whose records a write changes: these, or any, or none. */
export type Touched = readonly RunChange[] | 'any';

/** A run with 2,000 rewritten records takes half a megabyte here. */
const MAX_RUNS = 200;

/**
 * The records of each run as the only writer of the embedded engine knows them: it was read once, and each write moves it on. So a page needs no statement
 * that asks what the writes since the last page have changed. What is not certain is forgotten and read anew: after a deletion, after a statement of
 * any other kind, and after a write that failed.
 */
export class WrittenRuns {
  readonly #runs = new LRUCache<string, RunRecords>({ max: MAX_RUNS });
  /** Writes to each run that are being sent, and how many of them replace versions. */
  readonly #sending = new Map<string, { writes: number; rewrites: number }>();
  /** Reads that are under way, by run. */
  readonly #reads = new Map<string, Set<{ isTrue: boolean }>>();
  /** Other statements that change records and are under way, or may be. */
  #others = 0;

  get(run: RunRef): RunRecords | undefined {
    return this.#others > 0 ? undefined : this.#runs.get(nameOf(run));
  }

  /** Returns true when a version of the run's records is being replaced, or may be. */
  isRewriting(run: RunRef): boolean {
    return this.#others > 0 || (this.#sending.get(nameOf(run))?.rewrites ?? 0) > 0;
  }

  /** Reads what is stored, and keeps it if nothing was written meanwhile. */
  async read(run: RunRef, ask: () => Promise<Omit<RunRecords, 'rewrites'>>): Promise<RunRecords> {
    const name = nameOf(run);
    const read = { isTrue: this.#others === 0 && !this.#sending.has(name) };
    const ofRun = this.#reads.get(name) ?? new Set();
    this.#reads.set(name, ofRun.add(read));
    try {
      const records = { ...(await ask()), rewrites: 0 };
      if (read.isTrue) this.#runs.set(name, records);
      return records;
    } finally {
      ofRun.delete(read);
      if (ofRun.size === 0) this.#reads.delete(name);
    }
  }

  /** Takes note of a write before it is sent. @returns what takes note of its end: `unknown` where it goes on, or may */
  begin(touched: Touched): (end: 'stored' | 'failed' | 'unknown') => void {
    if (touched === 'any') {
      this.#others++;
      this.#forgetAll();
      return (end) => {
        if (end !== 'unknown') this.#others--;
        this.#forgetAll();
      };
    }
    for (const change of touched) this.#send(change, 1);
    return (end) => {
      if (end === 'unknown') this.#others++;
      for (const change of touched) {
        this.#send(change, -1);
        if (end === 'stored' && change.isKnown && !change.mayBeStored) this.#apply(change);
        else this.#runs.delete(nameOf(change.run));
        change.mayBeStored = true;
      }
    };
  }

  #send({ run, stale, isKnown }: RunChange, by: 1 | -1): void {
    const name = nameOf(run);
    const { writes, rewrites } = this.#sending.get(name) ?? { writes: 0, rewrites: 0 };
    if (writes + by === 0) this.#sending.delete(name);
    else this.#sending.set(name, { writes: writes + by, rewrites: rewrites + (stale.length > 0 || !isKnown ? by : 0) });
    for (const read of this.#reads.get(name) ?? []) read.isTrue = false;
  }

  #apply({ run, counts: more, stale }: RunChange): void {
    const name = nameOf(run);
    const before = this.#runs.get(name);
    if (!before) return;
    const counts = before.counts && new Map(before.counts);
    if (counts) for (const [kind, by] of more) counts.set(kind, (counts.get(kind) ?? 0) + by);
    this.#runs.set(name, {
      newest: stale.length === 0 ? before.newest : withStale(before.newest, stale),
      ...(counts && { counts }),
      rewrites: before.rewrites + (stale.length > 0 ? 1 : 0),
    });
  }

  #forgetAll(): void {
    this.#runs.clear();
    for (const reads of this.#reads.values()) for (const read of reads) read.isTrue = false;
  }
}

const nameOf = ({ projectId, runId }: RunRef): string => `${projectId} ${runId}`;

function withStale(before: NewestVersions, more: readonly StaleRow[]): NewestVersions {
  if (before.from === 'records FINAL') return before;
  const stale = [...before.stale, ...more];
  return stale.length > MAX_REWRITTEN ? byMerging : { ...before, stale };
}

type GrowingChange = RunChange & { counts: Map<RecordKind, number>; stale: StaleRow[] };

/** Returns what a write of these versions changes, by run. */
export function changesOf(versions: readonly NewVersion[]): RunChange[] {
  const changes = new Map<string, GrowingChange>();
  let change: GrowingChange | undefined; // thousands in a row are of one run
  for (const { record, replaces } of versions) {
    const { project_id: projectId, run_id: runId } = record;
    if (change?.run.runId !== runId || change.run.projectId !== projectId) {
      const run = { projectId, runId };
      change = changes.get(nameOf(run)) ?? { run, counts: new Map(), stale: [], isKnown: true, mayBeStored: false };
      changes.set(nameOf(run), change);
    }
    const { counts, stale } = change;
    const add = (type: RecordKind, by: number) => counts.set(type, (counts.get(type) ?? 0) + by);
    add(record.type, 1);
    if (replaces === undefined) change.isKnown = false;
    else if (replaces !== null) {
      add(replaces.type, -1);
      stale.push({ id: replaces.id, version: replaces.version, createdAt: timeParam(replaces.created_at) });
    }
  }
  return [...changes.values()];
}
