import { PENDING, type StoredKey } from '../../../records/recordStore.ts';
import type { RecordKey } from '../../../records/searchRecords.ts';
import type { RecordKind } from '../../../wire/recordKinds.ts';
import { timeOfColumn } from '../binder.ts';
import { FORMER_PENDING } from './tables.ts';

/** A row of id, created_at, type and trace_id. */
export function keyOfRow(row: unknown): RecordKey {
  const { id, type, created_at, trace_id } = row as Record<string, string>;
  return {
    id: id as string,
    type: type as RecordKind,
    createdAt: timeOfColumn(created_at as string),
    traceId: trace_id ?? null,
  };
}

/** Both `record_keys` and `trace_members` have these columns. */
export const keyColumns = 'id, created_at, type, trace_id, parent_id, session_id';

// The rows are our own and many: read by name, not parsed.
export function toKey(row: unknown): StoredKey {
  const { type, ...key } = row as Omit<StoredKey, 'type'> & { type: StoredKey['type'] | typeof FORMER_PENDING };
  return { ...key, type: type === FORMER_PENDING ? PENDING : type, created_at: timeOfColumn(key.created_at) };
}
