import type { StoredColumn } from '../../columns/columnDef.ts';
import { recordTableColumns } from '../../columns/recordTableColumns.ts';
import type { StoredRecord } from '../../records/record.ts';

/** Columns of a record that may hold long texts. */
const longTexts = [
  'input',
  'output',
  'redacted_input',
  'redacted_output',
  'dataset_input',
  'dataset_output',
  'tools',
  'events',
] as const;
/** Lengths of the texts of a record that may be long; the store has them beside the texts, which are not read for it. */
export const TEXT_BYTES = longTexts.map((name) => `ifNull(length(records.${name}), 0)`).join(' + ');
/** What every read of records takes as it lies: what rows are found, ordered and grouped by, and times. */
const placeColumns = ['id', 'created_at', 'updated_at', 'type', 'trace_id', 'parent_id', 'session_id', 'version'] as const;
/** A read names its run. */
const ofRun = ['project_id', 'run_id'] as const;

const readAlone: ReadonlySet<string> = new Set([...longTexts, ...placeColumns, ...ofRun]);
const shortColumns = recordTableColumns.filter(({ name }) => !readAlone.has(name));
const shortNames: ReadonlySet<string> = new Set(shortColumns.map(({ name }) => name));

/** Kept in the JSON text alone, without a column: only who rewrites a record asks for it, and reads the record whole. */
export const withoutColumn: ReadonlySet<string> = new Set<keyof StoredRecord>(['updated_fields']);

const typeOf = ({ sqlType }: StoredColumn): string => sqlType.replace(/ (DEFAULT|CODEC).*$/, '');
const shortTypes = shortColumns.map((column) => `${column.name} ${typeOf(column)}`).join(', ');

/**
 * The short columns of a row once more, as JSON text: whoever reads whole records reads one column in place of fifty. 50 scattered records of 1 M
 * take 30 ms of CPU instead of 68. Rows from before the column, and rows written without it, get it from their columns when they are read.
 */
export const shortsColumn: StoredColumn = {
  name: 'shorts',
  sqlType: `String DEFAULT toJSONString(CAST((${[...shortNames].join(', ')}), 'Tuple(${shortTypes})')) CODEC(ZSTD(1))`,
};

/** What a read of whole records selects; `columns` leaves out the long texts that are not among them. */
export const selectedForRead = (columns?: readonly string[]): string[] => [
  ...placeColumns,
  ...longTexts.filter((name) => columns?.includes(name) ?? true),
  shortsColumn.name,
];

/** Gathers the short columns of one row that is written. */
export class Shorts {
  readonly #values: Record<string, unknown> = {};

  put(name: string, value: unknown): void {
    if (withoutColumn.has(name) || (shortNames.has(name) && value !== blankShorts[name])) this.#values[name] = value;
  }

  /** With U+FFFD for halves of characters, as the engine keeps texts as UTF-8; they are the only `\ud…` that stringify makes. */
  text(): string {
    const json = JSON.stringify(this.#values);
    return json.includes('\\ud')
      ? json.replaceAll(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, (found) => (found === '\\\\' ? found : '\ufffd'))
      : json;
  }
}

/** The short columns of a row that gives none of them. Lists and maps are frozen: rows share them. */
export const blankShorts: Readonly<Record<string, unknown>> = Object.fromEntries(
  shortColumns.map(({ name, sqlType }) => [name, blankOf(sqlType)]),
);

function blankOf(sqlType: string): unknown {
  if (sqlType.includes('Nullable(')) return null;
  if (sqlType.startsWith('Array(')) return Object.freeze([]);
  if (sqlType.startsWith('Map(')) return Object.freeze({});
  if (sqlType.startsWith('Bool')) return sqlType.endsWith('DEFAULT true');
  return sqlType.includes('String') ? '' : 0;
}
