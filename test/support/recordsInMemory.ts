import { usageOf } from '../../shared/records/countedUsage.ts';
import type { StoredRecord } from '../../shared/records/record.ts';
import type { RecordStore, StoredKey } from '../../shared/records/recordStore.ts';

type Key = StoredKey & { version: number };

export interface StoreHooks {
  /** Awaited before keys are looked up. */
  onKeys?: (ids: readonly string[]) => Promise<void>;
  /** Awaited before a block of keys or of records is stored, which it refuses by throwing. */
  onSend?: (table: 'keys' | 'records', ids: readonly string[]) => Promise<void>;
}

/** A record store that a test can hold up: of every key and record the newest version counts, as in the engine. */
export function recordsInMemory({ onKeys, onSend }: StoreHooks) {
  const keys = new Map<string, Key>();
  const members = new Map<string, Key & { left: boolean }>();
  const records = new Map<string, StoredRecord>();
  const put = <T extends { version: number }>(into: Map<string, T>, id: string, value: T): void => {
    if ((into.get(id)?.version ?? 0) <= value.version) into.set(id, value);
  };
  const idsOf = (rows: readonly { record: { id: string } }[]) => rows.map(({ record }) => record.id);
  const spansOf = (traceIds: readonly string[]) =>
    [...members.values()].filter(({ id, trace_id, left }) => !left && id !== trace_id && traceIds.includes(trace_id as string));
  const store: RecordStore = {
    async keys(_run, ids) {
      await onKeys?.(ids);
      return ids.flatMap((id) => keys.get(id) ?? []);
    },
    spanKeys: async (_run, traceIds) => spansOf(traceIds),
    usageKeys: async (_run, traceIds) =>
      spansOf(traceIds).flatMap((key) => {
        const record = records.get(key.id);
        return record
          ? { ...key, type: record.type, usage: usageOf(record) ?? {}, counted_usage: record.counted_usage ?? null }
          : [];
      }),
    deleted: async () => [],
    records: async (_run, wanted) => wanted.flatMap(({ id }) => records.get(id) ?? []),
    recordsById: async (_run, ids) => ids.flatMap((id) => records.get(id) ?? []),
    places: async (_run, ids) => ids.flatMap((id) => records.get(id) ?? []),
    removeMisplaced: async () => {},
    block: ({ keys: newKeys, records: versions }) => ({
      async send() {
        if (newKeys.length > 0) await onSend?.('keys', idsOf(newKeys));
        for (const { record, leaves } of newKeys) {
          const key: Key = { ...record, parent_id: record.parent_id ?? null };
          put(keys, key.id, key);
          if (key.trace_id !== null) put(members, `${key.trace_id} ${key.id}`, { ...key, left: false });
          if (leaves !== undefined) put(members, `${leaves} ${key.id}`, { ...key, trace_id: leaves, left: true });
        }
        if (versions.length > 0) await onSend?.('records', idsOf(versions));
        for (const { record } of versions) put(records, record.id, record);
      },
    }),
  };
  return { store, records };
}
