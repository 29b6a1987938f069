import type { RunRef } from '../projects/runs.ts';
import { usageOfTraces, type WrittenRun } from './followUsage.ts';
import type { HeldUpdate, StoredHeldUpdate } from './heldUpdates.ts';
import type { RecordChange } from './recordChange.ts';
import { PENDING, type RecordStore, type WrittenKey } from './recordStore.ts';

/** A run of a group with what its changes say beside the records. */
export interface RunState extends WrittenRun {
  pending: Map<string, WrittenKey>;
  metricsGiven: Map<string, Set<string>>;
  metricsTaken: Map<string, Set<string>>;
  canHold: boolean;
  /** Updates by the records that they wait for: those that were held before, and those of this group. */
  held: Map<string, (HeldUpdate | StoredHeldUpdate)[]>;
  /** Ids of deleted records among those that updates did not find. */
  deleted: ReadonlySet<string>;
}

export async function loadRun(
  store: RecordStore,
  run: RunRef,
  changes: readonly RecordChange[],
  recount: readonly string[],
  holding: { heldOf(ids: readonly string[]): Promise<StoredHeldUpdate[]> } | undefined,
): Promise<RunState> {
  const ids = new Set<string>();
  const included = new Set<string | null>([null]);
  for (const change of changes)
    if (change.action !== 'update' && change.record.session_id !== undefined && change.record.type === 'trace')
      included.add(change.record.id);
  for (const change of changes) {
    if (change.action === 'update') ids.add(change.id);
    else {
      const { id, trace_id } = change.record;
      if (!change.freshId) ids.add(id);
      // Where these changes do not say the session of its trace.
      if (!included.has(trace_id)) ids.add(trace_id as string);
    }
  }
  const fresh = new Set(changes.flatMap((change) => (change.action !== 'update' && change.freshId ? [change.record.id] : [])));
  // Most updates are for records that are stored, so their records are read at the same time as their keys.
  const updated = [...new Set(changes.flatMap((change) => (change.action === 'update' ? [change.id] : [])))];
  const [readKeys, usage, known] = await Promise.all([
    ids.size === 0 ? [] : store.keys(run, [...ids]),
    usageOfTraces(store, run, changes, fresh),
    updated.length === 0 ? [] : store.recordsById(run, updated),
  ]);
  const keys = new Map(readKeys.map((key) => [key.id, key]));
  const isRead = new Set(updated);
  const targets = new Set(changes.map((change) => (change.action === 'update' ? change.id : change.record.id)));
  const there = [...keys.values()].filter(({ id, type }) => targets.has(id) && !isRead.has(id) && type !== PENDING);
  const read = there.length === 0 ? known : [...known, ...(await store.records(run, there))];
  const records = new Map(read.map((record) => [record.id, record]));
  const coming = changes.flatMap((change) =>
    change.action === 'update' || change.action === 'announce' || change.freshId ? [] : [change.record.id],
  );
  const held = holding && coming.length > 0 ? await holding.heldOf(coming) : [];
  const lacking = changes.flatMap((change) => (change.action === 'update' && !records.has(change.id) ? [change.id] : []));
  const deleted = holding && lacking.length > 0 ? await store.deleted(run, lacking) : [];
  return {
    run,
    keys,
    records,
    stored: new Map(records),
    changed: new Set(),
    pending: new Map(),
    metricsGiven: new Map(),
    metricsTaken: new Map(),
    canHold: holding !== undefined,
    held: Map.groupBy(held, ({ id }) => id),
    deleted: new Set(deleted),
    fresh,
    before: new Map(records),
    usage,
    recount: new Set(recount),
  };
}
