import { isSpanKind } from '../columns/columnDef.ts';
import type { RunRef } from '../projects/runs.ts';
import { countedOf, countedUsage, type UsageNode, usageNode, usageOf } from './countedUsage.ts';
import type { StoredRecord } from './record.ts';
import type { RecordStore, StoredKey, UsageKey } from './recordStore.ts';
import type { VersionClock } from './versionClock.ts';

/** What a group has made of the records of a run. */
interface WrittenRun {
  run: RunRef;
  keys: Map<string, StoredKey>;
  records: Map<string, StoredRecord>;
  /** The records that were read, as they were before. */
  before: ReadonlyMap<string, StoredRecord>;
  changed: Set<string>;
  /** Ids that were made for this write. */
  fresh: ReadonlySet<string>;
  /** Of the traces that were read: the usage that was stored. */
  usage: Map<string, UsageKey[]>;
  recount: ReadonlySet<string>;
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
    const parents = unread.flatMap((id) => (spans.get(id) ?? []).flatMap(({ parent_id }) => parent_id ?? []));
    addUsage(usage, unread, await store.usageKeys(run, unread, [...new Set(parents)]));
  }
  const unknown = [...traces].flatMap((id) => (usage.get(id) ?? []).filter((key) => lacksUsage(key) && !changed.has(key.id)));
  const readAgain = new Map((unknown.length === 0 ? [] : await store.records(run, unknown)).map((record) => [record.id, record]));
  const behind: { key: UsageKey; counted: NonNullable<StoredRecord['counted_usage']> }[] = [];
  for (const id of traces) {
    const here = spans.get(id) ?? [];
    const others = (usage.get(id) ?? []).filter((key) => !changed.has(key.id));
    const nodes: UsageNode[] = others.map((key) =>
      usageNode(key, lacksUsage(key) ? usageOf(readAgain.get(key.id) ?? { type: key.type }) : key.usage),
    );
    for (const record of here) nodes.push(usageNode(record, usageOf(record)));
    const counted = nodes.some(hasUsage) ? countedUsage(nodes) : new Map<string, never>();
    for (const record of here) {
      const counted_usage = counted.get(record.id) ?? null;
      if ((record.counted_usage ?? null) !== counted_usage) records.set(record.id, { ...record, counted_usage });
    }
    for (const key of others) {
      const now = counted.get(key.id);
      if (now !== undefined && now !== countedOf(key)) behind.push({ key, counted: now });
    }
  }
  if (behind.length === 0) return;
  const countedIn = new Map(behind.map(({ key, counted }) => [key.id, counted]));
  for (const record of await store.records(
    run,
    behind.map(({ key }) => key),
  )) {
    const { version, at } = clock.next();
    const counted_usage = countedIn.get(record.id) ?? null;
    records.set(record.id, { ...record, counted_usage, updated_at: at, version: Math.max(version, record.version + 1) });
    changed.add(record.id);
  }
  for (const { key } of behind) if (changed.has(key.id)) keys.set(key.id, key);
}

/** Keeps the usage of these traces as it was read. */
export function addUsage(to: Map<string, UsageKey[]>, traceIds: readonly string[], read: readonly UsageKey[]): void {
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
