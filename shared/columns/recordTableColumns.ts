import type { StoredColumn } from './columnDef.ts';
import { type StoredField, storedFields } from './recordFields.ts';
import { metricsTableColumns } from './systemMetrics.ts';

/** The column that says whether a text is JSON. */
export const isJsonColumn = (field: string): string => `${field}_is_json`;

function columnsOf({ id, stored: { as, sqlType } }: StoredField): readonly StoredColumn[] {
  if (as === 'metrics') return metricsTableColumns;
  const column = { name: id, sqlType };
  return as === 'text or json' ? [column, { name: isJsonColumn(id), sqlType: 'Bool' }] : [column];
}

/** Every column of the record table that holds a field, derived from the registry. */
export const recordTableColumns: readonly StoredColumn[] = storedFields.flatMap(columnsOf);
