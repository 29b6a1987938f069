import type { StoredRecord } from '../../../records/record.ts';
import type { NewKey, NewRows, NewVersion } from '../../../records/recordStore.ts';
import { isSpanKind } from '../../../wire/recordKinds.ts';

/** Returns the rows of a write that the members of traces get: of new places, and of what spans use. */
export const newMembers = ({ keys, records }: Pick<NewRows, 'keys' | 'records'>): NewKey[] => [
  ...keys.filter(({ record, leaves }) => record.trace_id !== null || leaves !== undefined),
  ...usedAnew(records, keys),
];

/** Spans whose key stays: what they used and what of that counts may have changed, so a row of theirs is written with each version. */
function usedAnew(records: readonly NewVersion[], keys: readonly NewKey[]): NewKey[] {
  const again = records.filter(({ record, isRewrite }) => isRewrite && isStoredSpan(record) && record.trace_id !== null);
  if (again.length === 0) return [];
  const written = new Set(keys.map(({ record }) => record));
  return again.flatMap(({ record }) => (written.has(record) ? [] : [{ record, leaves: undefined }]));
}

/** Returns true for more than the key of a trace. */
export const isStoredSpan = (record: NewKey['record']): record is StoredRecord => isSpanKind(record.type as StoredRecord['type']);
