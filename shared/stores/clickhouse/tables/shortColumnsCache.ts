import type { StoredColumn } from '../../../columns/columnDef.ts';
import { storedFields } from '../../../columns/recordFields.ts';
import { recordTableColumns } from '../../../columns/recordTableColumns.ts';
import { utf8Json } from '../rowLines.ts';

// A cache of the short columns of each row: one column, `short_columns`, holds their values once more, as JSON text. Reads of whole records read this
// one column in place of fifty: 50 scattered records of 1 M take 30 ms of CPU instead of 68. Every value has its home in a column of its own.

/** Columns of a record that may hold long texts. */
const longTexts = storedFields.filter(({ stored }) => stored.isLong).map(({ id }) => id);
export const isLongText = (column: string): boolean => longTexts.includes(column);
/**
 * Bytes of these texts of a record. The store has them beside the texts, but `length` of a column with an index reads the texts: of 6 M records 2.5 s
 * instead of 0.05, and exports of them went beyond the memory of a statement.
 */
export const textBytes = (names: readonly string[]): string => names.map((name) => `ifNull(records.${name}.size, 0)`).join(' + ');
/** Bytes of the texts of a record that may be long. */
export const TEXT_BYTES = textBytes(longTexts);
/** Every read of records selects these columns: rows are found, ordered and grouped by them. */
const keyColumns = ['id', 'type', 'trace_id', 'parent_id', 'session_id', 'version'] as const;
/** A read names its run. */
const ofRun = ['project_id', 'run_id'] as const;
/** Times are read from their columns, which print them in one way. */
const times = recordTableColumns.filter(({ sqlType }) => sqlType.includes('DateTime64')).map(({ name }) => name);
/** Only who rewrites a record asks for it. */
const ofRewrites = ['updated_fields'] as const;

const notCached: ReadonlySet<string> = new Set([...longTexts, ...keyColumns, ...times, ...ofRun, ...ofRewrites]);
const shortColumns = recordTableColumns.filter(({ name }) => !notCached.has(name));
const shortNames: ReadonlySet<string> = new Set(shortColumns.map(({ name }) => name));

const typeOf = ({ sqlType }: StoredColumn): string => sqlType.replace(/ (DEFAULT|CODEC).*$/, '');
const shortTypes = shortColumns.map((column) => `${column.name} ${typeOf(column)}`).join(', ');

/** Rows without it, such as those from before the cache, get it from their columns when they are read. */
export const shortColumnsCache: StoredColumn = {
  name: 'short_columns',
  formerName: 'shorts',
  sqlType: `String DEFAULT toJSONString(CAST((${[...shortNames].join(', ')}), 'Tuple(${shortTypes})')) CODEC(ZSTD(1))`,
};

/**
 * Returns the SELECT list of a read of records.
 * @param columns long texts to read; absent: all of them
 * @param forRewrite adds the columns that only a rewrite needs
 */
export const selectedForRead = (columns?: readonly string[], forRewrite = false): string[] => [
  ...keyColumns,
  ...times,
  ...longTexts.filter((name) => columns?.includes(name) ?? true),
  ...(forRewrite ? ofRewrites : []),
  shortColumnsCache.name,
];

/** Returns true when a read of these columns (absent: all) takes texts that may be long. */
export const readsLongTexts = (columns?: readonly string[]): boolean =>
  columns === undefined || longTexts.some((name) => columns.includes(name));

/** Gathers the cache of one row that is written. */
export class CachedColumns {
  readonly #values: Record<string, unknown> = {};

  put(name: string, value: unknown): void {
    if (shortNames.has(name) && value !== blankShortColumns[name]) this.#values[name] = value;
  }

  text(): string {
    return utf8Json(this.#values);
  }
}

/** The short columns of a row that gives none of them. Lists and maps are frozen: rows share them. */
export const blankShortColumns: Readonly<Record<string, unknown>> = Object.fromEntries(
  shortColumns.map(({ name, sqlType }) => [name, blankOf(sqlType)]),
);

function blankOf(sqlType: string): unknown {
  if (sqlType.includes('Nullable(')) return null;
  if (sqlType.startsWith('Array(')) return Object.freeze([]);
  if (sqlType.startsWith('Map(')) return Object.freeze({});
  if (sqlType.startsWith('Bool')) return sqlType.endsWith('DEFAULT true');
  return sqlType.includes('String') ? '' : 0;
}
