import type { RunRef } from '../projects/runs.ts';
import { isSpanKind } from '../wire/recordKinds.ts';
import { countedOf, countedUsage, type UsageNode, usageNode, usageOf } from './countedUsage.ts';
import type { StoredRecord } from './record.ts';
import type { RecordChange } from './recordChange.ts';
import type { RecordStore, StoredKey, UsageKey } from './recordStore.ts';
import type { VersionClock } from './versionClock.ts';

/** The stored records of a run, and what a group has made of them so far. */
export interface WrittenRun {
  run: RunRef;
  keys: Map<string, StoredKey>;
  records: Map<string, StoredRecord>;
  /** The records that were read, as they were before. */
  before: ReadonlyMap<string, StoredRecord>;
  /** The newest stored version of each record that was read, whenever that was. */
  stored: Map<string, StoredRecord>;
  changed: Set<string>;
  /** Ids that were made for this write. */
  fresh: ReadonlySet<string>;
  /** The stored usage of the traces that were read. */
  usage: Map<string, UsageKey[]>;
  /** Traces of which records were deleted. */
  recount: ReadonlySet<string>;
}

/** A span that was stored before, and which of its usage counts now. */
interface Behind {
  key: UsageKey;
  counted: NonNullable<StoredRecord['counted_usage']>;
}

type SpanRecord = StoredRecord & { trace_id: string };

const isSpan = (record: StoredRecord): record is SpanRecord => isSpanKind(record.type) && record.trace_id !== null;

/**
 * Decides which usage counts in each trace whose spans have come, gone or changed what they say of usage, and writes that to its spans: to those that were
 * stored before, too.
 */
export async function followUsage(
  store: Pick<RecordStore, 'usageKeys' | 'records'>,
  clock: VersionClock,
  written: WrittenRun,
): Promise<void> {
  const { run, keys, records, changed, usage } = written;
  const spans = Map.groupBy([...changed].map((id) => records.get(id) as StoredRecord).filter(isSpan), ({ trace_id }) => trace_id);
  const traces = tracesToCount(written);
  if (traces.size === 0) return;
  const unread = [...traces].filter((id) => !usage.has(id) && !written.fresh.has(id));
  if (unread.length > 0) {
    const apart = unread.flatMap((id) => (spans.get(id) ?? []).flatMap((span) => [span.id, span.parent_id ?? []].flat()));
    addUsage(usage, unread, await store.usageKeys(run, unread, [...new Set(apart)]));
  }
  const unknown = [...traces].flatMap((id) => (usage.get(id) ?? []).filter((key) => lacksUsage(key) && !changed.has(key.id)));
  const readAgain = new Map((unknown.length === 0 ? [] : await store.records(run, unknown)).map((record) => [record.id, record]));
  const decide = (traceIds: Iterable<string>): Behind[] =>
    [...traceIds].flatMap((id) => {
      const here = spans.get(id) ?? [];
      const others = (usage.get(id) ?? []).filter((key) => !changed.has(key.id));
      const nodes: UsageNode[] = others.map((key) =>
        usageNode(key, lacksUsage(key) ? usageOf(readAgain.get(key.id) ?? { type: key.type }) : key.usage),
      );
      for (const record of here) nodes.push(usageNode(record, usageOf(record)));
      const counted = nodes.some(hasUsage) ? countedUsage(nodes) : new Map<string, never>();
      for (const { id } of here) {
        const record = records.get(id) as StoredRecord;
        const counted_usage = counted.get(id) ?? null;
        if ((record.counted_usage ?? null) !== counted_usage) records.set(id, { ...record, counted_usage });
      }
      return others.flatMap((key) => {
        const now = counted.get(key.id);
        return now !== undefined && now !== countedOf(key) ? [{ key, counted: now }] : [];
      });
    });
  let behind = decide(traces);
  if (behind.length > 0) {
    // One of those that are alike was read: all of them change.
    const whole = [...new Set(behind.map(({ key }) => key.trace_id as string))];
    addUsage(usage, whole, await store.usageKeys(run, whole, [], true));
    behind = decide(whole);
  }
  if (behind.length === 0) return;
  const countedIn = new Map(behind.map(({ key, counted }) => [key.id, counted]));
  for (const record of await store.records(
    run,
    behind.map(({ key }) => key),
  )) {
    const { version, at } = clock.next();
    written.stored.set(record.id, record);
    const counted_usage = countedIn.get(record.id) ?? null;
    records.set(record.id, { ...record, counted_usage, updated_at: at, version: Math.max(version, record.version + 1) });
    changed.add(record.id);
  }
  for (const { key } of behind) if (changed.has(key.id)) keys.set(key.id, key);
}

/** Keeps the usage of these traces as it was read. */
function addUsage(to: Map<string, UsageKey[]>, traceIds: readonly string[], read: readonly UsageKey[]): void {
  const byTrace = Map.groupBy(read, ({ trace_id }) => trace_id as string);
  for (const id of traceIds) to.set(id, byTrace.get(id) ?? []);
}

/** A call as a former release stored it: what it used is in its record alone. */
const lacksUsage = ({ type, usage }: UsageKey): boolean => type === 'llm' && Object.keys(usage).length === 0;

const hasUsage = ({ type, saysTokens, saysCost }: UsageNode): boolean => type === 'llm' || saysTokens || saysCost;

/** Those of which a span is new, was moved, or says something else of usage now. */
function tracesToCount({ records, before, keys, changed, recount }: WrittenRun): Set<string> {
  const traces = new Set(recount);
  for (const id of changed) {
    const record = records.get(id) as StoredRecord;
    if (!isSpan(record)) continue;
    const stored = before.get(id);
    const left = keys.get(id)?.trace_id ?? record.trace_id;
    if (stored && left === record.trace_id && shapeOf(stored) === shapeOf(record)) continue;
    traces.add(record.trace_id);
    traces.add(left);
  }
  return traces;
}

function shapeOf(record: StoredRecord): string {
  const { type, parentId, saysTokens, saysCost } = usageNode(record, usageOf(record));
  return [type, parentId, saysTokens, saysCost].join(' ');
}

/** The usage in the traces that spans are logged to, which is read while their keys are. */
export async function usageOfTraces(
  store: Pick<RecordStore, 'usageKeys'>,
  run: RunRef,
  changes: readonly RecordChange[],
  fresh: ReadonlySet<string>,
): Promise<Map<string, UsageKey[]>> {
  const traces = new Set<string>();
  const apart = new Set<string>();
  for (const change of changes) {
    if (change.action === 'update' || change.action === 'announce') continue;
    const { id, type, trace_id, parent_id } = change.record;
    if (!isSpanKind(type) || trace_id === null || fresh.has(trace_id)) continue;
    traces.add(trace_id);
    if (change.freshId !== true) apart.add(id);
    if (parent_id && parent_id !== trace_id) apart.add(parent_id);
  }
  const usage = new Map<string, UsageKey[]>();
  if (traces.size > 0) addUsage(usage, [...traces], await store.usageKeys(run, [...traces], [...apart]));
  return usage;
}
