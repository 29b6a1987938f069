import type { RunRef } from '../projects/runs.ts';
import { systemMetricNames } from '../wire/systemCounts.ts';
import { followUsage } from './followUsage.ts';
import type { HeldUpdate, HeldUpdates } from './heldUpdates.ts';
import { loadRun, type RunState } from './loadRun.ts';
import { metadataOwner, scoresIn } from './loggedScores.ts';
import type { StoredRecord } from './record.ts';
import { type RecordChange, type RecordUpdate, settle, type WrittenRecord, withHeldUpdates } from './recordChange.ts';
import { PENDING, type RecordStore, type WrittenKey } from './recordStore.ts';
import type { VersionClock } from './versionClock.ts';
import { type CallPrices, withCost } from './withCost.ts';
import { lockOf } from './writeLocks.ts';
import type { Outcome, WriteRequest } from './writeRequest.ts';

/** In place of the session of a pending trace that is not known yet: a span of it has named one of its own. */
const NO_SESSION = '00000000-0000-0000-0000-000000000000';

export interface GroupDeps {
  store: RecordStore;
  /** Absent where nothing is held. */
  held: HeldUpdates | undefined;
  clock: VersionClock;
  prices: CallPrices;
  /** False where no update of the run's records is held. */
  mayHold(run: RunRef): boolean;
}

/** The records of one group: what was stored before it, and what its changes have made of that so far. */
export class GroupState {
  readonly #store: RecordStore;
  readonly #clock: VersionClock;
  readonly #prices: CallPrices;
  readonly #runs: Map<string, RunState>;
  #last: RunState | undefined;

  private constructor({ store, clock, prices }: GroupDeps, runs: Map<string, RunState>) {
    this.#store = store;
    this.#clock = clock;
    this.#prices = prices;
    this.#runs = runs;
  }

  static async load(deps: GroupDeps, group: readonly WriteRequest[]): Promise<GroupState> {
    const { store, held, mayHold, prices } = deps;
    const byRun = Map.groupBy(group, ({ run }) => lockOf(run));
    const runs = await Promise.all(
      [...byRun].map(async ([name, requests]): Promise<[string, RunState]> => {
        const run = (requests[0] as WriteRequest).run;
        return [
          name,
          await loadRun(
            store,
            run,
            requests.flatMap(({ changes }) => changes),
            requests.flatMap(({ recount }) => recount),
            held && { heldOf: mayHold(run) ? (ids) => held.of(run, ids) : async () => [] },
          ),
        ];
      }),
    );
    await prices.fresh();
    return new GroupState(deps, new Map(runs));
  }

  /** Settles changes of a request: all of them, or (by throwing) none. */
  apply(run: RunRef, changes: readonly RecordChange[]): Pick<Outcome, 'written' | 'held' | 'left'> {
    const state = this.#runs.get(lockOf(run)) as RunState;
    const held: HeldUpdate[] = [];
    const left: string[] = [];
    const made = new Map<string, StoredRecord>();
    const pending = new Map<string, WrittenKey>();
    const given: [id: string, metrics: RecordUpdate['metrics']][] = [];
    const taken: [id: string, metrics: StoredRecord['metrics']][] = [];
    const written = changes.map((asked): WrittenRecord => {
      const known = asked.action === 'update' ? undefined : sessionOfTrace(state, asked.unlessInSession);
      if (known !== undefined && asked.action !== 'update' && (asked.action === 'announce' || asked.record.type === 'session'))
        return { id: asked.record.id, session_id: known, trace_id: asked.record.trace_id, isNew: false };
      const change = known === undefined ? asked : inSession(asked, known);
      const id = change.action === 'update' ? change.id : change.record.id;
      const stored = made.get(id) ?? state.records.get(id);
      const traceId = change.action === 'update' ? null : change.record.trace_id;
      const trace = traceId === null ? undefined : (made.get(traceId) ?? state.records.get(traceId));
      const traceKey = state.keys.get(traceId ?? '');
      const traceSession = trace?.session_id ?? (traceKey?.session_id === NO_SESSION ? undefined : traceKey?.session_id);
      const { version, at } = this.#clock.next();
      const key = state.keys.get(id);
      if (change.action === 'announce' && !stored) {
        const { session_id = id } = change.record;
        if (key && isSession(key.session_id, id) && key.session_id !== session_id) left.push(key.session_id);
        const newKey = key ?? ({ id, type: PENDING, trace_id: null, parent_id: null, created_at: at } as const);
        const next = Math.max(version, (key?.version ?? 0) + 1);
        pending.set(id, { ...newKey, session_id, project_id: run.projectId, run_id: run.runId, version: next });
        return { id, session_id, trace_id: id, isNew: false };
      }
      if (change.action === 'update' && change.at === undefined && !stored && state.canHold && !state.deleted.has(id)) {
        held.push({ id, of: change.of, update: change.update });
        return { id, session_id: id, trace_id: id, isNew: true, isHeld: true };
      }
      const next = settle(change, {
        run,
        stored,
        key,
        createdAt: key && key.type !== PENDING ? key.created_at : stored?.created_at,
        traceSession,
        traceAttempt: trace?.attempt,
        // The key of a pending trace may be of a process whose clock is ahead.
        version: Math.max(version, (stored?.version ?? 0) + 1, (key?.version ?? 0) + 1),
        at,
      });
      // Updates of the same request are held, too: one may come right before its record.
      const areHeld = !stored && (state.held.size > 0 || held.length > 0);
      const waiting = areHeld ? [...(state.held.get(id) ?? []), ...held.filter((one) => one.id === id)] : [];
      const metrics = [
        change.action === 'update' ? change.update.metrics : change.record.metrics,
        ...waiting.map(({ update }) => update.metrics),
      ];
      const unpriced = next && waiting.length > 0 ? withHeldUpdates(next, waiting) : next;
      const record = unpriced && withCost(unpriced, stored, metrics, this.#prices);
      if (record) made.set(id, record);
      const before = stored?.session_id ?? key?.session_id;
      if (record?.type === 'trace' && before !== record.session_id && isSession(before, id)) left.push(before);
      // The span is in a session of its own choice: when its trace comes, it is looked for.
      if (record && traceId !== null && !trace && !traceKey && !pending.has(traceId) && record.session_id !== traceId) {
        const newKey = { id: traceId, type: PENDING, trace_id: null, parent_id: null, created_at: at } as const;
        pending.set(traceId, { ...newKey, session_id: NO_SESSION, project_id: run.projectId, run_id: run.runId, version });
      }
      if (record) for (const one of metrics) if (hasScores(one)) given.push([id, one]);
      if (record && stored && change.action === 'replace') taken.push([id, stored.metrics]);
      // A span that is refused with its trace need not be stored itself.
      const { session_id, trace_id } = record ?? stored ?? (trace as StoredRecord);
      return { id, session_id, trace_id, isNew: stored === undefined };
    });
    for (const [id, record] of made) {
      state.records.set(id, record);
      state.changed.add(id);
    }
    for (const [id, key] of pending) {
      if (state.keys.get(id)?.session_id === key.session_id) continue;
      state.keys.set(id, key);
      state.pending.set(id, key);
    }
    for (const [id, metrics] of taken)
      for (const metric in metrics)
        if (!systemMetricNames.has(metric) && metadataOwner(metric, metrics) === undefined)
          for (const [name] of scoresIn(metric, metrics[metric]))
            state.metricsTaken.set(id, (state.metricsTaken.get(id) ?? new Set()).add(name));
    for (const [id, metrics] of given) {
      for (const metric in metrics) {
        if (!isScore(metric, metrics[metric])) continue;
        state.metricsGiven.set(id, (state.metricsGiven.get(id) ?? new Set()).add(metric));
      }
    }
    for (const update of held) state.held.set(update.id, [...(state.held.get(update.id) ?? []), update]);
    return { written, held, left };
  }

  /** Spans can come before their trace: they move to its session when it says one. */
  async followSessions(): Promise<void> {
    for (const state of this.#runs.values()) {
      const traces: { id: string; session_id: string }[] = [...state.pending.values()].filter(
        ({ session_id }) => session_id !== NO_SESSION,
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
      // No client can have sent spans of a trace whose id was made just now.
      const known = [...sessions.keys()].filter((id) => !state.fresh.has(id));
      const keys = known.length === 0 ? [] : await this.#store.spanKeys(state.run, known);
      const behind = keys.filter((key) => !state.changed.has(key.id) && key.session_id !== sessions.get(key.trace_id as string));
      if (behind.length === 0) continue;
      for (const record of await this.#store.records(state.run, behind)) {
        const session_id = sessions.get(record.trace_id ?? '');
        if (session_id === undefined) continue; // moved to another trace since
        const { version, at } = this.#clock.next();
        state.stored.set(record.id, record);
        state.records.set(record.id, { ...record, session_id, updated_at: at, version: Math.max(version, record.version + 1) });
        state.changed.add(record.id);
        const key = behind.find(({ id }) => id === record.id);
        if (key) state.keys.set(record.id, key);
      }
    }
  }

  /** Decides what spans count of their usage, which follows from those around them: these may have come before. */
  async followUsage(): Promise<void> {
    for (const state of this.#runs.values()) await followUsage(this.#store, this.#clock, state);
  }

  /** Traces that this group has said the session of, and whose record has not come. */
  pending(): WrittenKey[] {
    return [...this.#runs.values()].flatMap((state) => [...state.pending.values()].filter(({ id }) => !state.records.has(id)));
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

  changed(): StoredRecord[] {
    return [...this.#runs.values()].flatMap((state) => [...state.changed].map((id) => state.records.get(id) as StoredRecord));
  }

  /** Names of the metrics (beside the system's) that this group's changes gave the record. */
  metricsGiven(record: StoredRecord): ReadonlySet<string> | undefined {
    return this.#runOf(record).metricsGiven.get(record.id);
  }

  /** Names of the metrics (beside the system's) of what this group's changes replaced: those that the record lacks now were taken from it. */
  metricsTaken(record: StoredRecord): ReadonlySet<string> | undefined {
    return this.#runOf(record).metricsTaken.get(record.id);
  }

  /** True when the record's key was stored before this group, in which case the record may be stored, too. */
  isKnown(record: StoredRecord): boolean {
    const key = this.#runOf(record).keys.get(record.id);
    return key !== undefined && key.type !== PENDING;
  }

  /** The version of the record that was stored before this group. */
  stored(record: StoredRecord): StoredRecord | undefined {
    return this.#runOf(record).stored.get(record.id);
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

/** Returns true when the session that a trace or its key names is one: a trace that is in none names itself. */
const isSession = (session: string | undefined, traceId: string): session is string =>
  session !== undefined && session !== traceId && session !== NO_SESSION;

/** The session that the trace was in before these changes, or was said to be in. */
function sessionOfTrace(state: RunState, traceId: string | undefined): string | undefined {
  if (traceId === undefined) return undefined;
  const session = state.records.get(traceId)?.session_id ?? state.keys.get(traceId)?.session_id;
  return isSession(session, traceId) ? session : undefined;
}

const inSession = (change: RecordChange, session_id: string): RecordChange =>
  change.action === 'update' ? change : { ...change, record: { ...change.record, session_id } };

const isScore = (metric: string, value: unknown): boolean => value != null && !systemMetricNames.has(metric);

function hasScores(metrics: RecordUpdate['metrics']): boolean {
  for (const metric in metrics) if (isScore(metric, metrics[metric])) return true;
  return false;
}
