import { AsyncLocalStorage } from 'node:async_hooks';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../errors/errors.ts';
import { parseJson } from '../json/parseJson.ts';
import type { RunRef } from '../projects/runs.ts';
import type { HeldUpdate } from './heldUpdates.ts';
import type { RecordChange, WrittenRecord } from './recordChange.ts';
import type { PlacedRecord } from './recordStore.ts';
import type { VersionClock } from './versionClock.ts';
import { lockOf } from './writeLocks.ts';
import { roughBytes } from './writeRequest.ts';

/** Where updates are noted before they are answered. */
export interface UpdateJournal {
  /** Texts that the process before this one has kept and not taken away, in order. */
  readonly left: readonly string[];
  /** Keeps a text without line ends: it outlives the process. @throws when it may not be kept */
  append(text: string): void;
  /** Ends a part. @returns what takes away all that was kept until now, and was not returned before */
  cut(): () => void;
}

export type UpdateChange = RecordChange & { action: 'update' };

/** Updates that were answered, and that reads wait for. */
export interface UnsettledUpdates {
  /** Returns true where every update that was answered is in its record. */
  readonly isEmpty: boolean;
  /**
   * Resolves when all updates that were answered until now are in their records, of those runs that concern the caller.
   * @throws ServiceError `Unavailable` when the store does not take them now
   */
  settle(concerns: (run: RunRef) => boolean): Promise<void>;
}

export interface NotedUpdatesDeps {
  journal: UpdateJournal;
  clock: VersionClock;
  /** Writes an update as any change, on top of what is stored. */
  write(run: RunRef, change: UpdateChange): Promise<unknown>;
  /** Returns those of these records that are stored. */
  find(run: RunRef, ids: readonly string[]): Promise<PlacedRecord[]>;
  /** Returns true for a record that is being erased. */
  isTaken(run: RunRef, id: string): boolean;
  /** Gets why an update that was answered is in no record. */
  onLost(err: unknown): void;
}

type Place = Pick<PlacedRecord, 'type' | 'session_id' | 'trace_id'>;

interface Noted {
  run: RunRef;
  change: UpdateChange;
  /** Rises in order of arrival. */
  position: number;
  bytes: number;
  isDone: boolean;
}

/** Records of which this process knows that they are stored, some 300 bytes each: traces that it has written, and what was updated or found. */
const MAX_PLACES = 20_000;
/** Milliseconds for which updates gather: a group of eight takes 8 ms of CPU each, one of 500 takes 0.6. */
const GATHER_MS = 250;
const RETRY_MS = 1_000;
/** Updates that may wait, and their bytes: a read of their run waits for all of them, 0.5 s on two cores. */
const MAX_WAITING = 1_000;
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** A larger one is written at once, since its note is written by the event loop. */
const MAX_BYTES = 64 * 1024;

/** Work that nothing is written beside: until it is over it waits for no update, which would wait for it. */
const workAlone = new AsyncLocalStorage<{ isOver: boolean }>();

/**
 * Updates of records that are surely stored are noted, answered, and written into their records a moment later, hundreds at a time. Reads wait for them
 * ({@link UnsettledUpdates}), and so do writes of the same records and deletions, so nothing shows the time between. Only for the single process that
 * writes. docs/records-design.md has the figures.
 */
export class NotedUpdates implements UnsettledUpdates {
  readonly #deps: NotedUpdatesDeps;
  readonly #places = new LRUCache<string, Place>({ max: MAX_PLACES });
  /** Look-ups that wait for the one before them, by run: they take what comes meanwhile. */
  readonly #lookUps = new Map<string, { ids: Set<string>; done: Promise<unknown> }>();
  #lookedUp: Promise<unknown> = Promise.resolve();
  /** Rises whenever places are forgotten: what a look-up found before is not kept. */
  #forgotten = 0;
  /** Runs that are kept from being written, and how often. */
  readonly #closed = new Map<string, number>();
  /** Those that are being written, or could not be, in order of arrival; then those that came since. */
  #batch: Noted[] = [];
  #waiting: Noted[] = [];
  #bytes = 0;
  #positions = 0;
  #takeAway: (() => void)[] = [];
  #settling: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: NotedUpdatesDeps) {
    this.#deps = deps;
    for (const text of deps.journal.left) this.#wait(...readNote(text));
  }

  get isEmpty(): boolean {
    return this.#batch.length === 0 && this.#waiting.length === 0;
  }

  /** Notes an update. @returns where its record is; undefined where it was not noted: it is to be written as any change */
  async add(run: RunRef, { id, of, update }: UpdateChange): Promise<WrittenRecord | undefined> {
    // A client's write to an experiment makes its figures outdated, which is noted with the write.
    if (run.kind !== 'log_stream') return undefined;
    const name = placeName(run, id);
    if (!this.#places.has(name)) await this.#lookUp(run, id);
    const place = this.#places.get(name);
    if (!place || !isOf(of, place) || this.#closed.has(lockOf(run)) || this.#deps.isTaken(run, id)) return undefined;
    const change: UpdateChange = { action: 'update', id, of, update, at: this.#deps.clock.next().at };
    const bytes = roughBytes(change);
    if (bytes > MAX_BYTES || this.#bytes + bytes > MAX_WAITING_BYTES || this.#count >= MAX_WAITING) return undefined;
    try {
      this.#deps.journal.append(noteOf(run, change));
    } catch {
      return undefined; // the write itself says what is wrong with the disk
    }
    this.#wait(run, change);
    return { id, session_id: place.session_id, trace_id: place.trace_id, isNew: false };
  }

  /** Finds a record of which nothing is known, as after a start, with those that come meanwhile. */
  #lookUp(run: RunRef, id: string): Promise<unknown> {
    const name = lockOf(run);
    const waiting = this.#lookUps.get(name);
    waiting?.ids.add(id);
    if (waiting) return waiting.done;
    const ids = new Set([id]);
    const find = async () => {
      this.#lookUps.delete(name);
      const forgotten = this.#forgotten;
      const found = await this.#deps.find(run, [...ids]);
      if (this.#forgotten === forgotten) for (const record of found) this.stored(record);
    };
    const done = this.#lookedUp.then(find).catch(() => {}); // the write itself says what is wrong with the store
    this.#lookedUp = done;
    this.#lookUps.set(name, { ids, done });
    return done;
  }

  /** When the updates of those records are settled that these changes name; undefined where there are none. */
  settledBefore(run: RunRef, changes: readonly RecordChange[]): Promise<void> | undefined {
    if (this.isEmpty) return undefined;
    const name = lockOf(run);
    const named = new Set(changes.map((change) => (change.action === 'update' ? change.id : change.record.id)));
    const concerns = (one: Noted) => named.has(one.change.id) && lockOf(one.run) === name;
    return [...this.#batch, ...this.#waiting].some(concerns) ? this.#until(concerns) : undefined;
  }

  async settle(concerns: (run: RunRef) => boolean): Promise<void> {
    if (workAlone.getStore()?.isOver !== false) await this.#until(({ run, isDone }) => !isDone && concerns(run));
  }

  /** Writes batches until none is open that came before. What else of its batch cannot be written now is no concern of the caller. */
  async #until(isOpen: (one: Noted) => boolean): Promise<void> {
    const last = this.#positions;
    const isLeft = (one: Noted) => one.position <= last && isOpen(one);
    while (this.#batch.some(isLeft) || this.#waiting.some(isLeft)) {
      await this.#settleBatch().catch((cause: unknown) => {
        if (!this.#batch.some(isLeft)) return;
        throw new ServiceError('Unavailable', 'updates that came before cannot be written now; try again', {
          retryAfterSeconds: 1,
          cause,
        });
      });
    }
  }

  /** Runs work that nothing is written beside: what was noted of the run is settled before, and nothing more is noted meanwhile. */
  async alone<T>(run: RunRef, work: () => Promise<T>): Promise<T> {
    const name = lockOf(run);
    this.#closed.set(name, (this.#closed.get(name) ?? 0) + 1);
    const alone = { isOver: false };
    try {
      await this.#until((one) => lockOf(one.run) === name);
      return await workAlone.run(alone, work);
    } finally {
      alone.isOver = true;
      const others = (this.#closed.get(name) as number) - 1;
      if (others > 0) this.#closed.set(name, others);
      else this.#closed.delete(name);
      this.forget(run.projectId, run.runId);
    }
  }

  /** Returns true for a record that is to be handed to `stored` when it is stored. */
  follows({ project_id: projectId, run_id: runId, id, type }: PlacedRecord): boolean {
    return type === 'trace' || this.#places.has(placeName({ projectId, runId }, id));
  }

  /** From now on an update of this record is noted. */
  stored({ project_id: projectId, run_id: runId, id, type, session_id, trace_id }: PlacedRecord): void {
    this.#places.set(placeName({ projectId, runId }, id), { type, session_id, trace_id });
  }

  /** Forgets what is stored of the run, or of the project. */
  forget(projectId: string, runId?: string): void {
    this.#forgotten++;
    const begin = runId === undefined ? `records/${projectId}/` : placeName({ projectId, runId }, '');
    for (const name of [...this.#places.keys()]) if (name.startsWith(begin)) this.#places.delete(name);
  }

  get #count(): number {
    return this.#batch.length + this.#waiting.length;
  }

  #wait(run: RunRef, change: UpdateChange): void {
    const bytes = roughBytes(change);
    this.#bytes += bytes;
    this.#waiting.push({ run, change, position: ++this.#positions, bytes, isDone: false });
    this.#settleIn(GATHER_MS);
  }

  #settleIn(ms: number): void {
    if (this.#settling) return;
    this.#timer ??= setTimeout(() => {
      this.#settleBatch().catch(() => {}); // it is tried again
    }, ms).unref();
  }

  #settleBatch(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#settling ??= this.#writeBatch().then(
      () => this.#settled(GATHER_MS),
      (err: unknown) => {
        this.#settled(RETRY_MS);
        throw err;
      },
    );
    return this.#settling;
  }

  #settled(pauseMs: number): void {
    this.#settling = undefined;
    if (!this.isEmpty) this.#settleIn(pauseMs);
  }

  /** One that the store does not take now keeps its whole batch: the notes go when all of them are written. */
  async #writeBatch(): Promise<void> {
    if (this.#waiting.length > 0) {
      this.#batch.push(...this.#waiting);
      this.#waiting = [];
      this.#takeAway.push(this.#deps.journal.cut());
    }
    const failures = await Promise.all(this.#batch.map((one) => (one.isDone ? undefined : this.#write(one))));
    const failure = failures.find((err) => err !== undefined);
    if (failure !== undefined) {
      this.#redoBehind();
      throw failure;
    }
    while (this.#takeAway.length > 0) {
      this.#takeAway[0]?.();
      this.#takeAway.shift();
    }
    this.#bytes -= this.#batch.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#batch = [];
  }

  /** Makes sure that what came behind an update that is tried again is made again behind it. */
  #redoBehind(): void {
    const again = new Set<string>();
    for (const one of this.#batch) {
      const name = placeName(one.run, one.change.id);
      if (!one.isDone) again.add(name);
      else if (again.has(name)) one.isDone = false;
    }
  }

  /** @returns why it has to be tried again */
  async #write(one: Noted): Promise<unknown> {
    try {
      await this.#deps.write(one.run, one.change);
    } catch (err) {
      if (err instanceof ServiceError && comesBack.has(err.code)) return err;
      // A run that was deleted meanwhile took its records with it.
      if (!(err instanceof ServiceError && err.code === 'RunNotFound')) this.#deps.onLost(err);
    }
    one.isDone = true;
    return undefined;
  }
}

const comesBack: ReadonlySet<string> = new Set(['Unavailable', 'TooManyRequests', 'QueryTooExpensive']);

const placeName = (run: RunRef, id: string): string => `${lockOf(run)}/${id}`;

const isOf = (of: HeldUpdate['of'], { type }: Place): boolean =>
  type !== 'session' && (type === 'trace' ? 'trace' : 'span') === of;

const noteOf = ({ projectId, runId, kind }: RunRef, { id, of, update, at }: UpdateChange): string =>
  JSON.stringify({ run: { projectId, runId, kind }, id, of, update, at });

function readNote(text: string): [RunRef, UpdateChange] {
  const { run, ...change } = parseJson(text) as Omit<UpdateChange, 'action'> & { run: RunRef };
  return [run, { action: 'update', ...change }];
}
