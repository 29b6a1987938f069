import type { RecordKey } from '../../../records/searchRecords.ts';
import type { RecordKind } from '../../../wire/recordKinds.ts';
import { timeOfColumn } from '../binder.ts';

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
