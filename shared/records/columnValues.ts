import type { ColumnDef } from '../columns/columnDef.ts';
import { RequestInvalid } from '../errors/errors.ts';
import type { ColumnValues, MetadataKeys } from '../wire/columnValues.ts';
import type { RecordQuery, StoredReads } from './searchRecords.ts';

/** So many of the newest records are counted. */
const MAX_RECORDS = 100_000;

/** Texts of values, those of booleans being `true` and `false`. */
interface Counted {
  value: string;
  count: number;
}

export interface ColumnValueReads {
  /** The most frequent values among the newest records that match, and how many of these have none. */
  values(
    query: RecordQuery,
    column: ColumnDef,
    of: { records: number; limit: number; contains: string | undefined },
  ): Promise<{ values: Counted[]; without: number }>;
  /** The keys of both metadata maps as ids of columns, the most frequent first, among the newest records that match. */
  metadataKeys(query: RecordQuery, of: { records: number; limit: number }): Promise<Counted[]>;
}

interface Deps {
  columnValues: ColumnValueReads;
  records: Pick<StoredReads, 'count'>;
}

/**
 * The most frequent values of a column among the newest 100,000 records that match.
 * @throws RequestInvalid for a column without values that could be listed; ServiceError `ColumnUnknown`.
 */
export async function columnValues(
  { columnValues: reads, records }: Deps,
  query: RecordQuery,
  { columnId, contains, limit }: { columnId: string; contains: string | undefined; limit: number },
): Promise<ColumnValues> {
  const column = listable(query.findColumn(columnId));
  const [found, total] = await Promise.all([
    reads.values(query, column, { records: MAX_RECORDS, limit: limit + 1, contains }),
    records.count(query),
  ]);
  const typed = typeOf(column);
  return {
    column_id: columnId,
    values: found.values.slice(0, limit).map(({ value, count }) => ({ value: typed(value), count })),
    without_value: found.without,
    ...among(total, found.values.length > limit),
  };
}

/** The keys of user and dataset metadata among the newest 100,000 records that match. */
export async function metadataKeys(
  { columnValues: reads, records }: Deps,
  query: RecordQuery,
  limit: number,
): Promise<MetadataKeys> {
  const [found, total] = await Promise.all([
    reads.metadataKeys(query, { records: MAX_RECORDS, limit: limit + 1 }),
    records.count(query),
  ]);
  return {
    keys: found.slice(0, limit).map(({ value, count }) => ({ column_id: value, count })),
    ...among(total, found.length > limit),
  };
}

const among = (total: number, hasMore: boolean) => ({
  num_records_counted: Math.min(total, MAX_RECORDS),
  num_records: total,
  has_more: hasMore,
});

/** Times hardly come twice, long texts are no list to choose from, and sums over other records belong to no list either. */
function listable(column: ColumnDef): ColumnDef {
  const { source, dataType } = column;
  const isLong = source.at === 'record' && source.isLong === true;
  if (source.at !== 'usage' && dataType !== 'timestamp' && !isLong) return column;
  const msg = `the values of the column ${column.id} cannot be listed: take one of short texts, numbers, booleans or tags`;
  throw new RequestInvalid([{ loc: ['body', 'column_id'], msg, type: 'column_values_invalid' }]);
}

function typeOf({ dataType }: ColumnDef): (text: string) => string | number | boolean {
  if (dataType === 'boolean') return (text) => text === 'true' || text === '1';
  return dataType === 'integer' || dataType === 'floating_point' ? Number : (text) => text;
}
