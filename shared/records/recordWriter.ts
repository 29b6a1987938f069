import { systemMetricNames } from '../columns/recordTableColumns.ts';
import { RequestInvalid, ServiceError } from '../errors.ts';
import type { RunRef } from '../projects/runs.ts';
import type { HeldUpdate, HeldUpdates, StoredHeldUpdate } from './heldUpdates.ts';
import { IngestCounters } from './ingestCounters.ts';
import { Intake } from './intake.ts';
import type { StoredRecord } from './record.ts';
import { type RecordChange, type RecordUpdate, settle, type WrittenRecord, withHeldUpdates } from './recordChange.ts';
import type { Block, Lock, NewPlace, NewValue, RecordKey, RecordStore, WithLocks, WriteGuard } from './recordStore.ts';

export interface RecordWriterOptions {
  store: RecordStore;
  /** Holds off the other processes that write to the same runs; absent where this process is the only one. */
  withLocks?: WithLocks;
  /** Absent where runs cannot be deleted and nothing is held. */
  guard?: WriteGuard;
  /** Absent: an update of a record that is not stored is `NotFound`. */
  held?: HeldUpdates;
  /** Bytes of records that are written together. */
  groupBytes?: number;
  /** Bytes that may wait to be written; more is refused with 429. */
  queueBytes?: number;
  /** Bytes of requests that may be under way, read or not; more is refused with 429. */
  intakeBytes?: number;
  now?: () => Date;
}

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

interface Request {
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

// Long enough to gather what arrives together, short beside the insert itself (8 to 20 ms).
const GATHER_MS = 2;
// Every part costs the engine 10 ms of CPU, and merging it several times as much: 3,000 records of 2.5 KB share that. More would hold up the
// event loop (40 ms for this many), and an insert of this size is still one block: stored whole or not at all.
const GROUP_BYTES = 8_000_000;
// So much of a group is made ready while the one before it is sent, for which the engine would wait otherwise (a fifth of the time). Less than that
// waits and grows, since every part has its price.
const EARLY_SHARE = 0.5;
const QUEUE_BYTES = 128 * 1024 * 1024;
// Bodies of the largest size one at a time, or some forty of 1.5 MB. The values made of a body take about three times its bytes.
const INTAKE_BYTES = 64 * 1024 * 1024;
/** Pauses before a block that could not be stored is sent again. */
const RETRY_MS = [50, 200, 800];

/**
 * Writes records in groups: requests that arrive together share one look-up and one insert per table. A write that has returned can be read
 * and survives the death of the process. One group is sent at a time, and the next one is made ready meanwhile unless it has records or traces in
 * common with it, so every change is settled on top of the one before it.
 */
export class RecordWriter {
  /** Bounds what requests may hold on their way here. */
  readonly intake: Intake;
  readonly counters = new IngestCounters();
  readonly #store: RecordStore;
  readonly #withLocks: WithLocks;
  readonly #guard: WriteGuard;
  readonly #held: HeldUpdates | undefined;
  readonly #groupBytes: number;
  readonly #queueBytes: number;
  readonly #now: () => Date;
  #waiting: Request[] = [];
  #waitingBytes = 0;
  /** When all that was begun is done. */
  #turn: Promise<unknown> = Promise.resolve();
  /** When the last work is done beside which nothing may be written. */
  #exclusive: Promise<unknown> = Promise.resolve();
  #underWay = 0;
  #gathering = false;
  /** A group is being made ready. */
  #preparing = false;
  /** Records and traces of the group that is sent now, or was last. */
  #sent: ReadonlySet<string> = new Set();
  /** Rises at the begin and at the end of storing a group request by request, which may change other records than the whole group said. */
  #splits = 0;
  /** Rises with every hold that this process has made. */
  #holds = 0;
  #lastVersion = 0;
  #tell: (run: RunRef) => void = () => {};
  #tellOutdated: (run: RunRef) => void = () => {};

  constructor({ store, withLocks, guard, held, groupBytes, queueBytes, intakeBytes, now }: RecordWriterOptions) {
    this.intake = new Intake(intakeBytes ?? INTAKE_BYTES);
    this.#store = store;
    this.#withLocks = withLocks ?? ((_keys, work) => work());
    this.#guard = guard ?? (async () => ({ deleted: [], withHeldUpdates: [], outdated: [] }));
    this.#held = held;
    this.#groupBytes = groupBytes ?? GROUP_BYTES;
    this.#queueBytes = queueBytes ?? QUEUE_BYTES;
    this.#now = now ?? (() => new Date());
  }

  /**
   * All changes of one request, or none of them.
   * @throws ServiceError `TooManyRequests` when too much waits already, `Unavailable` when the store does not take it or too many updates are held,
   * `NotFound` for an update of a record that was deleted or is of another kind; RequestInvalid when a record cannot be what a change makes of it.
   * @param ordinals the rows of an experiment that all of the changes are of: other processes may write other rows of it meanwhile
   */
  async write(run: RunRef, changes: readonly RecordChange[], ordinals?: readonly number[]): Promise<WrittenRecord[]> {
    return (await this.counters.count(run.projectId, changes.length, this.#enqueue(run, changes, { ordinals }), notStored))
      .written;
  }

  /**
   * As `write`, but for parts whose records cannot be what the changes make of them: these are left out, and what hangs below a span that is left out
   * goes to what that span hangs below.
   */
  async writeParts(run: RunRef, changes: readonly RecordChange[], partsOf: PartsOf): Promise<Outcome> {
    return this.counters.count(run.projectId, changes.length, this.#enqueue(run, changes, { partsOf }), notStored);
  }

  /** Bytes that wait to be written, or are being written. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  #enqueue(
    run: RunRef,
    changes: readonly RecordChange[],
    { partsOf, ordinals }: { partsOf?: PartsOf; ordinals?: readonly number[] | undefined },
  ): Promise<Outcome> {
    const bytes = changes.reduce((sum, change) => sum + roughBytes(change), 0);
    // A request larger than the whole queue is taken when nothing else waits.
    if (this.#waitingBytes > 0 && this.#waitingBytes + bytes > this.#queueBytes) {
      return Promise.reject(
        new ServiceError('TooManyRequests', 'more records arrive than can be stored; send this request again later', {
          retryAfterSeconds: 1,
        }),
      );
    }
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    let waits = true;
    const release = (): void => {
      if (waits) this.#waitingBytes -= bytes;
      waits = false;
    };
    this.#waiting.push({
      run,
      changes,
      partsOf,
      ordinals,
      bytes,
      resolve(outcome) {
        release();
        resolve(outcome);
      },
      reject(err) {
        release();
        reject(err);
      },
    });
    this.#waitingBytes += bytes;
    this.#gather();
    return promise;
  }

  /** From now on `tell` hears of every run to which something was written. */
  whenStored(tell: (run: RunRef) => void): void {
    this.#tell = tell;
  }

  /** From now on `tell` hears of every experiment to which clients have written. */
  whenOutdated(tell: (experiment: RunRef) => void): void {
    this.#tellOutdated = tell;
  }

  /** Runs `work` while nothing is written to `run`, here or in another process: deletions take their place between writes. */
  exclusively<T>(run: RunRef, work: () => Promise<T>): Promise<T> {
    return this.#inTurn(() =>
      this.#withLocks([sharedLock(lockOfProject(run)), ownLock(lockOf(run))], async () => {
        await this.#guard([run], []);
        return work();
      }),
    );
  }

  /** Resolves when no write is under way, here or in another process, that was let in before: to the run or, without one, to any of the project. */
  settled(projectId: string, runId?: string): Promise<void> {
    const lock = runId === undefined ? lockOfProject({ projectId }) : lockOf({ projectId, runId });
    return this.#inTurn(() => this.#withLocks([ownLock(lock)], async () => {}));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#begun(turn.catch(() => {}));
    this.#exclusive = this.#turn;
    return turn;
  }

  #begun(work: Promise<unknown>): void {
    this.#underWay++;
    this.#turn = Promise.all([this.#turn, work]).then(() => {
      this.#underWay--;
      this.#writeNext();
    });
  }

  #gather(): void {
    if (this.#gathering) return;
    this.#gathering = true;
    setTimeout(() => {
      this.#gathering = false;
      this.#writeNext();
    }, GATHER_MS);
  }

  /** Takes the next group, when it is time for it. */
  #writeNext(): void {
    if (this.#waiting.length === 0 || this.#gathering || this.#preparing) return;
    const bytes = this.#waiting.reduce((sum, request) => sum + request.bytes, 0);
    if (this.#underWay > 0 && bytes < EARLY_SHARE * this.#groupBytes) return;
    this.#preparing = true;
    let ready = false;
    const isReady = (touched: ReadonlySet<string>): void => {
      if (ready) return;
      ready = true;
      this.#sent = touched;
      this.#preparing = false;
      this.#writeNext();
    };
    const before = this.#turn;
    const written = this.#exclusive.then(() => this.#writeGroup(this.#takeGroup(), { before, isReady }));
    // One that fails early lets the next one in no sooner than what came before it is done.
    this.#begun(Promise.all([written, before]).then(() => isReady(new Set())));
  }

  #takeGroup(): Request[] {
    let bytes = 0;
    const full = this.#waiting.findIndex((request, index) => {
      bytes += request.bytes;
      return index > 0 && bytes > this.#groupBytes;
    });
    return this.#waiting.splice(0, full === -1 ? this.#waiting.length : full);
  }

  async #writeGroup(group: Request[], place: Place): Promise<void> {
    const runs = new Map(group.map(({ run }) => [lockOf(run), run]));
    try {
      await this.#withLocks(locksOf(group), async () => {
        const holds = this.#holds;
        const { deleted: gone, withHeldUpdates, outdated } = await this.#guard([...runs.values()], loggedRuns(group));
        const deleted = new Set(gone.map(lockOf));
        const holding = new Set(withHeldUpdates.map(lockOf));
        // The group before this one may have held updates after the guard was asked.
        const mayHold = (run: RunRef) => holding.has(lockOf(run)) || this.#holds !== holds;
        const standing = group.filter(({ run }) => !deleted.has(lockOf(run)));
        for (const request of group)
          if (deleted.has(lockOf(request.run))) request.reject(new ServiceError('RunNotFound', 'the run was deleted'));
        if (standing.length > 0) await this.#writeOrSplit(standing, { ...place, mayHold });
        for (const run of outdated) this.#tellOutdated(run);
      });
    } catch (err) {
      for (const request of group) request.reject(asUnavailable(err));
    }
  }

  /**
   * A group that cannot be stored is tried request by request, so that only the guilty one fails. The next group goes by the records of the whole one:
   * it is not let in by the first of its requests, and settled again when it was made ready before the last of them.
   */
  async #writeOrSplit(group: Request[], place: LetIn): Promise<void> {
    try {
      await this.#storeGroup(group, place);
    } catch (err) {
      const [only] = group;
      if (group.length > 1 && !isTransient(err)) {
        this.#splits++;
        const alone = { ...place, isReady: () => {} };
        for (const request of group) await this.#writeOrSplit([request], alone);
        this.#splits++;
      } else if (isTransient(err)) for (const request of group) request.reject(asUnavailable(err));
      else only?.reject(err);
    }
  }

  /** Answers its requests when it is stored, those that it refuses too: of a group that is tried again none was answered. */
  async #storeGroup(group: Request[], { before, isReady, mayHold }: LetIn): Promise<void> {
    if (group.some(({ changes }) => changes.some((change) => touches(change, this.#sent)))) await before;
    const splits = this.#splits;
    let settled = await this.#settleGroup(group, mayHold);
    await before;
    if (this.#splits !== splits) settled = await this.#settleGroup(group, mayHold);
    isReady(settled.touched);
    for (const block of settled.blocks) await persist(block);
    // What is left of them counts for nothing, since the records are stored, and expires.
    if (settled.applied.length > 0) await this.#held?.release(settled.applied).catch(() => {});
    const notHeld = await this.#hold(settled.toHold);
    for (const answer of settled.answers) answer(notHeld);
  }

  /** @returns those that are not held, and why. */
  async #hold(toHold: SettledGroup['toHold']): Promise<Map<HeldUpdate, unknown>> {
    const notHeld = new Map<HeldUpdate, unknown>();
    for (const { run, updates } of toHold) {
      let refused: readonly HeldUpdate[] = updates;
      let reason: unknown = new ServiceError(
        'Unavailable',
        'too many updates wait for their records; send this one again later',
        {
          retryAfterSeconds: 5,
        },
      );
      try {
        if (this.#held) {
          const holding = await this.#held.hold(run, updates);
          refused = holding.refused;
          this.counters.drop(run.projectId, holding.dropped);
        }
        this.#holds++;
      } catch (err) {
        reason = err;
      }
      for (const update of refused) notHeld.set(update, reason);
    }
    return notHeld;
  }

  async #settleGroup(group: readonly Request[], mayHold: LetIn['mayHold']): Promise<SettledGroup> {
    const state = await GroupState.load(this.#store, group, this.#held, mayHold);
    const answers = group.map((request): SettledGroup['answers'][number] => {
      try {
        const outcome = this.#apply(state, request);
        return (notHeld) => {
          const lost = outcome.held.find((update) => notHeld.has(update));
          if (lost) return request.reject(notHeld.get(lost));
          request.resolve(outcome);
          if (outcome.written.some(({ isHeld }) => !isHeld)) this.#tell(request.run);
        };
      } catch (err) {
        return () => request.reject(err);
      }
    });
    await state.followSessions(() => this.#clock());
    const records = state.changed();
    const values = records.flatMap((record) => loggedValues(record, state.metricsGiven(record), state.isKnown(record)));
    const moved = [
      ...state.awaited().map((record) => ({ record, leaves: undefined })),
      ...records.filter((record) => state.keyChanged(record)).map((record) => ({ record, leaves: state.leaves(record) })),
    ];
    // Whoever finds a record finds its key, and a row that counts as stored has its values; values that are stored have their key.
    const blocks = [
      ...(moved.length > 0 ? [this.#store.keyBlock(moved)] : []),
      ...(values.length > 0 ? [this.#store.valueBlock(values)] : []),
      ...(records.length > 0
        ? [this.#store.recordBlock(records.map((record) => ({ record, isRewrite: state.isKnown(record) })))]
        : []),
    ];
    return { touched: state.touched(), blocks, applied: state.applied(), toHold: state.toHold(), answers };
  }

  #apply(state: GroupState, { run, changes, partsOf }: Request): Outcome {
    const settled = (part: readonly RecordChange[]) => state.apply(run, part, () => this.#clock());
    try {
      return { ...settled(changes), refused: [] };
    } catch (err) {
      if (!partsOf || !(err instanceof RequestInvalid)) throw err;
    }
    const outcome: Outcome = { written: [], refused: [], held: [] };
    const parents = new Map<string, string | null>();
    for (const part of partsOf(changes)) {
      const moved = part.map((change) => movedUp(change, parents));
      try {
        const { written, held } = settled(moved);
        for (const record of written) outcome.written.push(record);
        for (const update of held) outcome.held.push(update);
      } catch (reason) {
        if (!(reason instanceof RequestInvalid)) throw reason;
        outcome.refused.push({ changes: part, reason });
        for (const change of moved)
          if (change.action !== 'update') parents.set(change.record.id, change.record.parent_id ?? null);
      }
    }
    return outcome;
  }

  /** Versions rise with every record written, whatever the machine's clock does. */
  #clock(): { version: number; at: string } {
    this.#lastVersion = Math.max(this.#lastVersion + 1, this.#now().getTime() * 1000);
    return { version: this.#lastVersion, at: timeOfMicroseconds(this.#lastVersion) };
  }
}

/** The change with its span below the nearest span that is not left out. @param parents of the spans that are, which may have the id of a trace */
function movedUp(change: RecordChange, parents: ReadonlyMap<string, string | null>): RecordChange {
  if (change.action === 'update' || parents.size === 0) return change;
  const { parent_id, trace_id } = change.record;
  const above = parent_id && parent_id !== trace_id ? parents.get(parent_id) : undefined;
  return above === undefined ? change : { ...change, record: { ...change.record, parent_id: above } };
}

/** What a group of requests comes to. */
interface SettledGroup {
  /** Records that it writes, and their traces. */
  touched: ReadonlySet<string>;
  /** In the order in which they are stored. */
  blocks: readonly Block[];
  /** Held updates whose records are stored then. */
  applied: readonly number[];
  /** Updates whose records are not stored. */
  toHold: readonly { run: RunRef; updates: readonly HeldUpdate[] }[];
  /** What to tell the requests when all of that is stored, but for updates that could not be held. */
  answers: readonly ((notHeld: ReadonlyMap<HeldUpdate, unknown>) => void)[];
}

/** Where a group stands among the others. */
interface Place {
  /** When all that came before it is done. */
  before: Promise<unknown>;
  /** Called when it is sent: the next one may be made ready, unless it touches one of these records and traces. */
  isReady(touched: ReadonlySet<string>): void;
}

/** The same for a group that the guard has let in. */
interface LetIn extends Place {
  /** False where no update of the run's records is held. */
  mayHold(run: RunRef): boolean;
}

const notStored = ({ refused, held }: Outcome) => ({
  held: held.length,
  rejected: refused.reduce((sum, part) => sum + part.changes.length, 0),
});

/** Whether a change depends on one of these records and traces, or changes it. */
function touches(change: RecordChange, ids: ReadonlySet<string>): boolean {
  if (change.action === 'update') return ids.has(change.id);
  const { id, trace_id } = change.record;
  return ids.has(id) || (trace_id !== null && ids.has(trace_id));
}

const lockOf = ({ projectId, runId }: RunRef): string => `records/${projectId}/${runId}`;
/** Every write shares it; who has it to itself knows that nothing is written to the project. */
const lockOfProject = ({ projectId }: Pick<RunRef, 'projectId'>): string => `records/${projectId}`;

/** The runs of those requests that are no rows of a run of ours: these sums up its rows when it ends. */
function loggedRuns(group: readonly Request[]): RunRef[] {
  const logged = group.filter(({ changes }) => changes.some(({ action }) => action !== 'replace'));
  return [...new Map(logged.map(({ run }) => [lockOf(run), run])).values()];
}

/** Rows of an experiment that share a lock: about as many as are written together, so that a group has few locks. */
const ROWS_PER_LOCK = 250;

const sharedLock = (name: string): Lock => ({ name, shared: true });
const ownLock = (name: string): Lock => ({ name, shared: false });

/**
 * What a group holds while it is written: its projects, its runs, its rows, in this order and each by name, as everybody takes them. A record is
 * settled on top of what is stored of it, so its run is this process's alone; but a row has records of its own, and its lock keeps off a
 * worker that was taken for dead and still writes it.
 */
function locksOf(group: readonly Request[]): Lock[] {
  const projects = new Set(group.map(({ run }) => lockOfProject(run)));
  const wholeRuns = new Set(group.filter(({ ordinals }) => ordinals === undefined).map(({ run }) => lockOf(run)));
  const runs = new Set(group.map(({ run }) => lockOf(run)));
  const rows = new Set<string>();
  for (const { run, ordinals = [] } of group)
    if (!wholeRuns.has(lockOf(run)))
      for (const ordinal of ordinals) rows.add(`${lockOf(run)}/rows/${Math.floor(ordinal / ROWS_PER_LOCK)}`);
  return [
    ...[...projects].sort().map(sharedLock),
    ...[...runs].sort().map((name) => ({ name, shared: !wholeRuns.has(name) })),
    ...[...rows].sort().map(ownLock),
  ];
}

/** The session of an awaited trace of which no more is known than that a span of it named a session. */
const UNSETTLED = '00000000-0000-0000-0000-000000000000';

/** The records of one group: what was stored before it, and what its changes have made of that so far. */
class GroupState {
  readonly #store: RecordStore;
  readonly #runs: Map<string, RunState>;
  #last: RunState | undefined;

  private constructor(store: RecordStore, runs: Map<string, RunState>) {
    this.#store = store;
    this.#runs = runs;
  }

  static async load(
    store: RecordStore,
    group: readonly Request[],
    held: HeldUpdates | undefined,
    mayHold: LetIn['mayHold'],
  ): Promise<GroupState> {
    const byRun = Map.groupBy(group, ({ run }) => lockOf(run));
    const runs = await Promise.all(
      [...byRun].map(async ([name, requests]): Promise<[string, RunState]> => {
        const run = (requests[0] as Request).run;
        return [
          name,
          await loadRun(
            store,
            run,
            requests.flatMap(({ changes }) => changes),
            held && { heldOf: mayHold(run) ? (ids) => held.of(run, ids) : async () => [] },
          ),
        ];
      }),
    );
    return new GroupState(store, new Map(runs));
  }

  /** Settles changes of a request: all of them, or (by throwing) none. */
  apply(
    run: RunRef,
    changes: readonly RecordChange[],
    clock: () => { version: number; at: string },
  ): Pick<Outcome, 'written' | 'held'> {
    const state = this.#runs.get(lockOf(run)) as RunState;
    const held: HeldUpdate[] = [];
    const settled = new Map<string, StoredRecord>();
    const awaited = new Map<string, NewPlace>();
    const given: [id: string, metrics: RecordUpdate['metrics']][] = [];
    const written = changes.map((change): WrittenRecord => {
      const id = change.action === 'update' ? change.id : change.record.id;
      const stored = settled.get(id) ?? state.records.get(id);
      const traceId = change.action === 'update' ? null : change.record.trace_id;
      const trace = traceId === null ? undefined : (settled.get(traceId) ?? state.records.get(traceId));
      const traceKey = state.keys.get(traceId ?? '');
      const traceSession = trace?.session_id ?? (traceKey?.session_id === UNSETTLED ? undefined : traceKey?.session_id);
      const { version, at } = clock();
      const key = state.keys.get(id);
      if (change.action === 'await' && !stored) {
        const { session_id = id } = change.record;
        const place = key ?? ({ id, type: 'awaited', trace_id: null, parent_id: null, created_at: at } as const);
        const next = Math.max(version, (key?.version ?? 0) + 1);
        awaited.set(id, { ...place, session_id, project_id: run.projectId, run_id: run.runId, version: next });
        return { id, session_id, trace_id: id, isNew: false };
      }
      if (change.action === 'update' && !stored && state.canHold && !state.deleted.has(id)) {
        held.push({ id, of: change.of, update: change.update });
        return { id, session_id: id, trace_id: id, isNew: true, isHeld: true };
      }
      const next = settle(change, {
        run,
        stored,
        key,
        createdAt: key && key.type !== 'awaited' ? key.created_at : stored?.created_at,
        traceSession,
        traceAttempt: trace?.attempt,
        // The key of an awaited trace may be of a process whose clock is ahead.
        version: Math.max(version, (stored?.version ?? 0) + 1, (key?.version ?? 0) + 1),
        at,
      });
      // Of this request, too: an update may come right before its record.
      const areHeld = !stored && (state.held.size > 0 || held.length > 0);
      const waiting = areHeld ? [...(state.held.get(id) ?? []), ...held.filter((one) => one.id === id)] : [];
      const record = next && waiting.length > 0 ? withHeldUpdates(next, waiting) : next;
      if (record) settled.set(id, record);
      // The span is in a session of its own choice: when its trace comes, it is looked for.
      if (record && traceId !== null && !trace && !traceKey && !awaited.has(traceId) && record.session_id !== traceId) {
        const place = { id: traceId, type: 'awaited', trace_id: null, parent_id: null, created_at: at } as const;
        awaited.set(traceId, { ...place, session_id: UNSETTLED, project_id: run.projectId, run_id: run.runId, version });
      }
      if (record) given.push([id, change.action === 'update' ? change.update.metrics : change.record.metrics]);
      for (const { update } of waiting) given.push([id, update.metrics]);
      // A span that is refused with its trace need not be stored itself.
      const { session_id, trace_id } = record ?? stored ?? (trace as StoredRecord);
      return { id, session_id, trace_id, isNew: stored === undefined };
    });
    for (const [id, record] of settled) {
      state.records.set(id, record);
      state.changed.add(id);
    }
    for (const [id, key] of awaited) {
      if (state.keys.get(id)?.session_id === key.session_id) continue;
      state.keys.set(id, key);
      state.awaited.set(id, key);
    }
    for (const [id, metrics] of given) {
      for (const metric in metrics) {
        if (systemMetricNames.has(metric) || metrics[metric] == null) continue;
        state.metricsGiven.set(id, (state.metricsGiven.get(id) ?? new Set()).add(metric));
      }
    }
    for (const update of held) state.held.set(update.id, [...(state.held.get(update.id) ?? []), update]);
    return { written, held };
  }

  /** Spans can come before their trace: they move to its session when it says one. */
  async followSessions(clock: () => { version: number; at: string }): Promise<void> {
    for (const state of this.#runs.values()) {
      const traces: { id: string; session_id: string }[] = [...state.awaited.values()].filter(
        ({ session_id }) => session_id !== UNSETTLED,
      );
      for (const id of state.changed) {
        const record = state.records.get(id);
        if (record?.type === 'trace' && record.session_id !== (state.keys.get(id)?.session_id ?? id)) traces.push(record);
      }
      if (traces.length === 0) continue;
      const sessions = new Map(traces.map(({ id, session_id }) => [id, session_id]));
      for (const id of state.changed) {
        const record = state.records.get(id) as StoredRecord;
        const session_id = sessions.get(record.trace_id ?? '');
        // Settled before its trace, in this group.
        if (session_id !== undefined && record.session_id !== session_id) state.records.set(id, { ...record, session_id });
      }
      // Nobody can have sent spans of a trace whose id was made just now.
      const known = [...sessions.keys()].filter((id) => !state.fresh.has(id));
      const keys = known.length === 0 ? [] : await this.#store.spanKeys(state.run, known);
      const behind = keys.filter((key) => !state.changed.has(key.id) && key.session_id !== sessions.get(key.trace_id as string));
      if (behind.length === 0) continue;
      for (const record of await this.#store.records(state.run, behind)) {
        const session_id = sessions.get(record.trace_id ?? '');
        if (session_id === undefined) continue; // moved to another trace since
        const { version, at } = clock();
        state.records.set(record.id, { ...record, session_id, updated_at: at, version: Math.max(version, record.version + 1) });
        state.changed.add(record.id);
        const key = behind.find(({ id }) => id === record.id);
        if (key) state.keys.set(record.id, key);
      }
    }
  }

  /** Traces that this group has said the session of, and whose record has not come. */
  awaited(): NewPlace[] {
    return [...this.#runs.values()].flatMap((state) => [...state.awaited.values()].filter(({ id }) => !state.records.has(id)));
  }

  /** Updates that were held and whose records are stored with this group, or were before. */
  applied(): number[] {
    return [...this.#runs.values()].flatMap(({ held, records }) =>
      [...held].flatMap(([id, updates]) =>
        records.has(id) ? updates.flatMap((one) => ('number' in one ? one.number : [])) : [],
      ),
    );
  }

  /** Updates of this group whose records have not come with it. */
  toHold(): { run: RunRef; updates: HeldUpdate[] }[] {
    return [...this.#runs.values()].flatMap(({ run, held, records }) => {
      const updates = [...held].flatMap(([id, all]) => (records.has(id) ? [] : all.filter((one) => !('number' in one))));
      return updates.length > 0 ? [{ run, updates }] : [];
    });
  }

  /** Ids of the records that this group writes, and of their traces: those that they leave, too; and of those that updates wait for. */
  touched(): Set<string> {
    const ids = new Set<string>();
    for (const { changed, records, keys, awaited, held } of this.#runs.values()) {
      for (const id of held.keys()) ids.add(id);
      for (const id of awaited.keys()) ids.add(id);
      for (const id of changed) {
        ids.add(id);
        for (const traceId of [records.get(id)?.trace_id, keys.get(id)?.trace_id]) if (traceId) ids.add(traceId);
      }
    }
    return ids;
  }

  changed(): StoredRecord[] {
    return [...this.#runs.values()].flatMap((state) => [...state.changed].map((id) => state.records.get(id) as StoredRecord));
  }

  /** Names of the metrics (beside the system's) that this group's changes gave the record. */
  metricsGiven(record: StoredRecord): ReadonlySet<string> | undefined {
    return this.#runOf(record).metricsGiven.get(record.id);
  }

  /** Whether the record's key was stored before this group: then the record may be, too. */
  isKnown(record: StoredRecord): boolean {
    const key = this.#runOf(record).keys.get(record.id);
    return key !== undefined && key.type !== 'awaited';
  }

  /** The trace that a record leaves for another one. */
  leaves(record: StoredRecord): string | undefined {
    const before = this.#runOf(record).keys.get(record.id)?.trace_id ?? undefined;
    return before === record.trace_id ? undefined : before;
  }

  keyChanged(record: StoredRecord): boolean {
    const key = this.#runOf(record).keys.get(record.id);
    return (
      key === undefined ||
      key.session_id !== record.session_id ||
      key.parent_id !== (record.parent_id ?? null) ||
      key.trace_id !== record.trace_id ||
      key.type !== record.type
    );
  }

  #runOf({ project_id, run_id }: StoredRecord): RunState {
    // Asked several times for every record, of which thousands in a row are of one run.
    const { projectId, runId } = this.#last?.run ?? {};
    if (!this.#last || project_id !== projectId || run_id !== runId)
      this.#last = this.#runs.get(lockOf({ projectId: project_id, runId: run_id })) as RunState;
    return this.#last;
  }
}

interface RunState {
  run: RunRef;
  keys: Map<string, RecordKey>;
  records: Map<string, StoredRecord>;
  changed: Set<string>;
  awaited: Map<string, NewPlace>;
  metricsGiven: Map<string, Set<string>>;
  canHold: boolean;
  /** Updates by the records that they wait for: those that were held before, and those of this group. */
  held: Map<string, (HeldUpdate | StoredHeldUpdate)[]>;
  /** Of the records that updates did not find, those that were deleted. */
  deleted: ReadonlySet<string>;
  /** Ids that were made for this write. */
  fresh: ReadonlySet<string>;
}

async function loadRun(
  store: RecordStore,
  run: RunRef,
  changes: readonly RecordChange[],
  holding: { heldOf(ids: readonly string[]): Promise<StoredHeldUpdate[]> } | undefined,
): Promise<RunState> {
  const ids = new Set<string>();
  const told = new Set<string | null>([null]);
  for (const change of changes)
    if (change.action !== 'update' && change.record.session_id !== undefined && change.record.type === 'trace')
      told.add(change.record.id);
  for (const change of changes) {
    if (change.action === 'update') ids.add(change.id);
    else {
      const { id, trace_id } = change.record;
      if (!change.freshId) ids.add(id);
      // Where these changes do not say the session of its trace.
      if (!told.has(trace_id)) ids.add(trace_id as string);
    }
  }
  const keys = new Map((ids.size === 0 ? [] : await store.keys(run, [...ids])).map((key) => [key.id, key]));
  const targets = new Set(changes.map((change) => (change.action === 'update' ? change.id : change.record.id)));
  const known = [...keys.values()].filter(({ id, type }) => targets.has(id) && type !== 'awaited');
  const records = new Map((known.length === 0 ? [] : await store.records(run, known)).map((record) => [record.id, record]));
  const coming = changes.flatMap((change) =>
    change.action === 'update' || change.action === 'await' || change.freshId ? [] : [change.record.id],
  );
  const held = holding && coming.length > 0 ? await holding.heldOf(coming) : [];
  const lacking = changes.flatMap((change) => (change.action === 'update' && !records.has(change.id) ? [change.id] : []));
  const deleted = holding && lacking.length > 0 ? await store.deleted(run, lacking) : [];
  return {
    run,
    keys,
    records,
    changed: new Set(),
    awaited: new Map(),
    metricsGiven: new Map(),
    canHold: holding !== undefined,
    held: Map.groupBy(held, ({ id }) => id),
    deleted: new Set(deleted),
    fresh: new Set(changes.flatMap((change) => (change.action !== 'update' && change.freshId ? [change.record.id] : []))),
  };
}

/**
 * The scores a client computed itself travel in `metrics`: each becomes a value of the metric of that name. Only those that were given now: a
 * value that the record had before may have been scored anew since.
 */
function loggedValues(record: StoredRecord, given: ReadonlySet<string> | undefined, isRewrite: boolean): NewValue[] {
  const values: NewValue[] = [];
  for (const metric of given ?? []) {
    const value = record.metrics?.[metric];
    if (value === null || value === undefined) continue;
    values.push({
      run: { projectId: record.project_id, runId: record.run_id },
      version: record.version,
      isRewrite,
      value: {
        metric,
        recordId: record.id,
        recordCreatedAt: record.created_at,
        recordType: record.type,
        traceId: record.trace_id,
        status: 'success',
        value,
      },
    });
  }
  return values;
}

/** Sends a block until it is stored; the store knows a repeat by its token. */
async function persist(block: Block): Promise<void> {
  for (const pause of RETRY_MS) {
    try {
      await block.send();
      return;
    } catch (err) {
      if (!isTransient(err)) throw err;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  await block.send();
}

/** Whether the store may take the same block later: it is away, or short of memory or time. */
const isTransient = (err: unknown): boolean =>
  err instanceof ServiceError && (err.code === 'Unavailable' || err.code === 'QueryTooExpensive');

/** A statement of ours that is too expensive is no fault of whoever logs: the store is short of memory or time. */
export const asUnavailable = (err: unknown): unknown =>
  err instanceof ServiceError && err.code === 'QueryTooExpensive'
    ? new ServiceError('Unavailable', 'the record store is overloaded; send this request again later', {
        retryAfterSeconds: 2,
        cause: err,
      })
    : err;

let lastMs = Number.NaN;
let lastText = '';

/** Microseconds since 1970 in the canonical form of times. Thousands in a row share their millisecond, whose text is kept. */
function timeOfMicroseconds(micros: number): string {
  const ms = Math.floor(micros / 1000);
  if (ms !== lastMs) {
    lastMs = ms;
    lastText = new Date(ms).toISOString().slice(0, -1);
  }
  return `${lastText}${String(micros - ms * 1000).padStart(3, '0')}Z`;
}

// Fields beside the texts, with the ids and numbers every row has.
const BYTES_PER_RECORD = 500;

/** What a change weighs in the queue, from its long texts alone: looking at every value would cost as much as writing it out. */
function roughBytes(change: RecordChange): number {
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
