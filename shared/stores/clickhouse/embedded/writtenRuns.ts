import { LRUCache } from 'lru-cache';
import type { RunRef } from '../../../projects/runs.ts';
import type { Deleted } from '../../../records/eraseRecords.ts';
import type { NewVersion } from '../../../records/recordStore.ts';
import type { RecordKind } from '../../../wire/recordKinds.ts';
import { timeParam } from '../binder.ts';
import {
  asWritten,
  byMerging,
  type Counts,
  MAX_REWRITTEN,
  type NewestVersions,
  type StaleRow,
} from '../tables/newestVersions.ts';

/** The records of a run, as far as they are known. */
export interface RunRecords {
  newest: NewestVersions;
  /** Absent where that was not asked for, or is not certain. */
  counts?: Counts;
  /** Rises with every write that replaces a version. */
  rewrites: number;
}

/** The changes that one write makes in the records of one run. */
export interface RunChange {
  run: RunRef;
  counts: Counts;
  stale: readonly StaleRow[];
  /** False where the writer does not know what was stored of its records. */
  isKnown: boolean;
  /** True once it was sent and may be stored: what it changes is not known when it is sent again. */
  mayBeStored: boolean;
}

/** Names the records that a deletion takes; undefined: it may take any. */
export type Deletes = Deleted | undefined;

/** A write changes records of these runs, deletes some, or may do anything to them. */
export type Touched = readonly RunChange[] | { deletes: Deletes } | 'any';

export const concerns = (deletes: Deletes, { projectId, runId }: RunRef): boolean =>
  deletes === undefined || (deletes.projectId === projectId && (deletes.runId ?? runId) === runId);

/** The engine keeps stale rows here, so that no statement has to name them. */
export interface StaleTable {
  /** @returns the number of all rows in the table */
  add(run: RunRef, stale: readonly StaleRow[]): Promise<number>;
  /** Adds all stale rows of the run that are stored. @returns the number of all rows in the table; undefined: the run has more than `limit`, and none was added */
  fill(run: RunRef, limit: number): Promise<number | undefined>;
}

const MAX_RUNS = 200;
/** Milliseconds after which the first read of a run waits for its writes no longer, nor they for it. */
const QUIET_MS = 1_000;
/** A statement that names more stale rows than this takes longer to read than to run. */
const MAX_NAMED = 200;
/** Rows of all runs in the table of stale rows, some 100 bytes of memory each. */
const MAX_LISTED = 500_000;

interface Known extends RunRecords {
  run: RunRef;
  /** Equal for all that one read was moved on to. */
  origin: object;
  /** The stale rows that came since those of the run are being listed. */
  since?: readonly StaleRow[];
}

/**
 * The records of each run as the only writer of the embedded engine knows them: it was read once, and each write moves it on. So a page needs no statement
 * that asks what the writes since the last page have changed. What is not certain is forgotten and read anew: the numbers of a run after a deletion from it,
 * all after a statement of any other kind and after a write that failed. A row that is stale stays it.
 */
export class WrittenRuns {
  readonly #table: StaleTable;
  readonly #maxNamed: number;
  readonly #runs = new LRUCache<string, Known>({ max: MAX_RUNS });
  /** Writes to each run that are being sent, and how many of them replace versions. */
  readonly #sending = new Map<string, { writes: number; rewrites: number }>();
  /** Reads that are under way, by run. */
  readonly #reads = new Map<string, Set<{ run: RunRef; isTrue: boolean; isCounted: boolean }>>();
  /** Runs that are read now: `ended` is called when nothing is being sent to them any more, `over` resolves when writes may go on. */
  readonly #quiet = new Map<string, { ended(): void; over: Promise<void> }>();
  /** Runs whose stale rows are being listed. */
  readonly #listing = new Set<object>();
  #listed = 0;
  /** Deletions, and other statements that may change records, that are under way, or may be. */
  readonly #deletions = new Set<{ deletes: Deletes }>();
  #others = 0;

  constructor(table: StaleTable, maxNamed = MAX_NAMED) {
    this.#table = table;
    this.#maxNamed = maxNamed;
  }

  get(run: RunRef): RunRecords | undefined {
    return this.#others > 0 ? undefined : this.#runs.get(nameOf(run));
  }

  /** Returns true while a version of the run's records is being replaced, or may be. */
  isRewriting(run: RunRef): boolean {
    return this.#others > 0 || (this.#sending.get(nameOf(run))?.rewrites ?? 0) > 0;
  }

  /** Resolves when a write of these changes may be sent; undefined: now. */
  mayBegin(touched: Touched): Promise<unknown> | undefined {
    if (this.#quiet.size === 0 || touched === 'any' || 'deletes' in touched) return undefined;
    const waits = touched.flatMap(({ run }) => this.#quiet.get(nameOf(run))?.over ?? []);
    return waits.length > 0 ? Promise.all(waits) : undefined;
  }

  /** Reads what is stored, and keeps it if nothing was written meanwhile: writes to the run wait for it, as otherwise a busy run would never be known. */
  async read(run: RunRef, ask: () => Promise<Omit<RunRecords, 'rewrites'>>): Promise<RunRecords> {
    const name = nameOf(run);
    const isUseless = this.#others > 0 || this.#quiet.has(name);
    const over = isUseless ? undefined : await this.#untilQuiet(name);
    try {
      return await this.#asking(run, async (read) => {
        const { newest, counts } = await ask();
        if (read.isTrue) {
          const known: Known = { run, origin: {}, newest, rewrites: 0, ...(read.isCounted && counts && { counts }) };
          const isMerged = newest.from === 'records FINAL';
          this.#runs.set(name, isMerged ? { ...known, since: [] } : known);
          if (isMerged) void this.#fill(name, known);
          else this.#list(name);
        }
        return { newest, rewrites: 0, ...(counts && { counts }) };
      });
    } finally {
      over?.();
    }
  }

  async #untilQuiet(name: string): Promise<() => void> {
    const over = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const quiet = { ended: ended.resolve, over: over.promise };
    const end = () => {
      clearTimeout(timer);
      if (this.#quiet.get(name) === quiet) this.#quiet.delete(name);
      ended.resolve();
      over.resolve();
    };
    // A write or a read may hang.
    const timer = setTimeout(end, QUIET_MS);
    this.#quiet.set(name, quiet);
    if (this.#sending.has(name)) await ended.promise;
    return end;
  }

  /** Counts the records of a run whose numbers are not known, and keeps them if nothing was written meanwhile. */
  async count(run: RunRef, newest: NewestVersions, ask: () => Promise<Counts>): Promise<Counts> {
    return this.#asking(run, async (read) => {
      const counts = await ask();
      const known = this.#runs.get(nameOf(run));
      // Its rows are the same as before the question.
      if (known?.newest === newest && read.isTrue && read.isCounted) this.#runs.set(nameOf(run), { ...known, counts });
      return counts;
    });
  }

  /** Runs work that hears whether something was written, or deleted, since it began. */
  async #asking<T>(run: RunRef, work: (read: { isTrue: boolean; isCounted: boolean }) => Promise<T>): Promise<T> {
    const name = nameOf(run);
    const isCounted = ![...this.#deletions].some(({ deletes }) => concerns(deletes, run));
    const read = { run, isTrue: this.#others === 0 && !this.#sending.has(name), isCounted };
    const ofRun = this.#reads.get(name) ?? new Set();
    this.#reads.set(name, ofRun.add(read));
    try {
      return await work(read);
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
    if ('deletes' in touched) {
      this.#deletions.add(touched);
      this.#forgetCounts(touched.deletes);
      return (end) => {
        if (end !== 'unknown') this.#deletions.delete(touched);
        this.#forgetCounts(touched.deletes);
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
    if (writes + by === 0) {
      this.#sending.delete(name);
      this.#quiet.get(name)?.ended();
    } else this.#sending.set(name, { writes: writes + by, rewrites: rewrites + (stale.length > 0 || !isKnown ? by : 0) });
    for (const read of this.#reads.get(name) ?? []) read.isTrue = false;
  }

  #apply({ run, counts: more, stale }: RunChange): void {
    const name = nameOf(run);
    const before = this.#runs.get(name);
    if (!before) return;
    const counts = before.counts && new Map(before.counts);
    if (counts) for (const [kind, by] of more) counts.set(kind, (counts.get(kind) ?? 0) + by);
    const { newest, since, rewrites } = before;
    const rest = { ...before, ...(counts && { counts }), rewrites: rewrites + (stale.length > 0 ? 1 : 0) };
    if (stale.length === 0) this.#runs.set(name, rest);
    else if (newest.from === 'records FINAL') this.#runs.set(name, { ...rest, ...(since && { since: [...since, ...stale] }) });
    else this.#runs.set(name, { ...rest, newest: withStale(newest, [...newest.stale, ...stale]) });
    this.#list(name);
  }

  /** Puts the stale rows of a run into the table when a statement would have to name too many of them. */
  #list(name: string): void {
    const known = this.#runs.peek(name);
    if (!known) return;
    const { run, origin, newest } = known;
    const { length } = newest.stale;
    if (length <= this.#maxNamed || this.#listed + length > MAX_LISTED || this.#listing.has(origin)) return;
    this.#listing.add(origin);
    const done = (rows: number | undefined) => {
      this.#listing.delete(origin);
      this.#listed = rows ?? this.#listed;
      const now = this.#runs.peek(name);
      if (rows === undefined || now?.origin !== origin || now.newest.from !== 'records') return;
      this.#runs.set(name, { ...now, newest: { ...now.newest, stale: now.newest.stale.slice(length), areListed: true } });
      this.#list(name);
    };
    // When the list cannot be written, statements name the stale rows; beyond 2,000 of them the engine merges versions.
    this.#table.add(run, newest.stale).then(done, () => done(undefined));
  }

  /** Lists the stale rows of a run that has many: until then the engine merges versions. */
  async #fill(name: string, { run, origin }: Known): Promise<void> {
    const rows = await this.#table.fill(run, MAX_LISTED - this.#listed).catch(() => undefined);
    const now = this.#runs.peek(name);
    this.#listed = rows ?? this.#listed;
    if (now?.origin !== origin || !now.since) return;
    const { since, ...rest } = now;
    const newest: NewestVersions = { from: 'records', stale: since, areListed: true, rewritten: '' };
    this.#runs.set(name, rows === undefined ? rest : { ...rest, newest });
    this.#list(name);
  }

  #forgetAll(): void {
    this.#runs.clear();
    for (const reads of this.#reads.values()) for (const read of reads) read.isTrue = false;
  }

  /** A run that was never rewritten is soon read anew, with its numbers. */
  #forgetCounts(deletes: Deletes): void {
    for (const [name, { counts: _, ...known }] of [...this.#runs.entries()])
      if (!concerns(deletes, known.run)) continue;
      else if (known.newest === asWritten) this.#runs.delete(name);
      else this.#runs.set(name, known);
    for (const reads of this.#reads.values()) for (const read of reads) if (concerns(deletes, read.run)) read.isCounted = false;
  }
}

const nameOf = ({ projectId, runId }: RunRef): string => `${projectId} ${runId}`;

const withStale = (before: NewestVersions, stale: readonly StaleRow[]): NewestVersions =>
  stale.length > MAX_REWRITTEN ? byMerging : { ...before, stale };

type GrowingChange = RunChange & { counts: Map<RecordKind, number>; stale: StaleRow[] };

/** The changes that a write of these versions makes, by run. */
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
