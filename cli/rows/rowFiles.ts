import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { decoderOf, notIn } from '../../shared/csv/decoderOf.ts';
import { isExact } from '../../shared/wire/exactNumber.ts';
import { isHeld, isWhole, parseNumbers } from '../../shared/wire/longNumbers.ts';
import { usageError } from '../terminal/commandError.ts';
import { counted } from '../terminal/terminal.ts';

export const rowFormats = ['csv', 'json', 'jsonl', 'parquet'] as const;
export type RowFormat = (typeof rowFormats)[number];
export type Row = Record<string, unknown>;

/** By the ending of the file's name. */
export const formatOf = (path: string): RowFormat | undefined => {
  const ending = extname(path).slice(1).toLowerCase();
  return ending === 'ndjson' ? 'jsonl' : rowFormats.find((format) => format === ending);
};

/** The separators of the fields of a CSV, by names that need no quotes in a shell. */
export const delimiterNames = { comma: ',', semicolon: ';', tab: '\t', pipe: '|' } as const;
export type DelimiterName = keyof typeof delimiterNames;

interface CsvChoice {
  /** Absent: detected. */
  delimiter?: DelimiterName | undefined;
  onCsvRead?: ((read: CsvRead) => void) | undefined;
}

/** How a CSV was read: the delimiter that was detected or chosen, and rows of delimiters alone, which are left out. */
export interface CsvRead {
  delimiter: string;
  empty_rows_skipped: number;
}

/** Describes how a CSV was read, for a person; empty when it was read as usual. */
export function csvWords({ delimiter, empty_rows_skipped: skipped }: CsvRead): string {
  const named = Object.entries(delimiterNames).find(([, character]) => character === delimiter);
  return [
    ...(delimiter === ',' ? [] : [`fields separated by ${named ? `a ${named[0]}` : JSON.stringify(delimiter)}`]),
    ...(skipped === 0 ? [] : [`${counted(skipped, 'empty row')} left out`]),
  ].join(', ');
}

/**
 * @param from the path of a file, or its bytes
 * @throws CommandError that names the file, and what is wrong with it; the file system's error where it cannot be read
 */
export async function readRows(
  from: string | Uint8Array,
  format = typeof from === 'string' ? formatOf(from) : undefined,
  csv: CsvChoice = {},
): Promise<Row[]> {
  try {
    const bytes = typeof from === 'string' ? await readFile(from) : from;
    if (format === 'parquet') return await parquetRows(bytes);
    const text = textOf(bytes);
    if (format === 'csv') return await csvRows(text, csv);
    return format === 'json' ? jsonRows(text) : jsonlRows(text);
  } catch (cause) {
    if (cause instanceof Error && 'syscall' in cause) throw cause;
    throw usageError(
      `${typeof from === 'string' ? basename(from) : 'the input'} cannot be read as ${format}: ${(cause as Error).message}`,
      { cause },
    );
  }
}

function textOf(bytes: Uint8Array): string {
  const decoder = decoderOf(bytes);
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new Error(notIn(decoder.encoding), { cause });
  }
}

/** The rows as the service reads them. */
async function csvRows(text: string, { delimiter, onCsvRead }: CsvChoice): Promise<Row[]> {
  const { CsvProblem, readCsv } = await import('../../shared/csv/readCsv.ts');
  const names: string[] = [];
  const whole = async function* () {
    yield text;
  };
  const csv = readCsv(whole(), {
    delimiter: delimiter && delimiterNames[delimiter],
    onColumn: (name) => names.push(name),
  });
  const rows: Row[] = [];
  try {
    for await (const { cells } of csv.rows) rows.push(Object.fromEntries(cells.map((cell, at) => [names[at], cell])));
  } catch (err) {
    throw err instanceof CsvProblem ? new Error(`line ${err.line}: ${err.message}`, { cause: err }) : err;
  }
  const { emptyRowsSkipped, ...read } = csv.summary();
  onCsvRead?.({ ...read, empty_rows_skipped: emptyRowsSkipped });
  return rows;
}

/** As the service stores it in cells: a fraction that a number would round is the text of its digits. */
const parsed = (text: string): unknown =>
  parseNumbers(text, (source, double) => (isHeld(source, double) ? double : isWhole(source) ? BigInt(source) : source));

function jsonRows(text: string): Row[] {
  const rows = parsed(text);
  if (!Array.isArray(rows)) throw new Error('it must hold a list of objects');
  return rows.map((row, index) => checked(row, `item ${index + 1}`));
}

const jsonlRows = (text: string): Row[] =>
  text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    try {
      return [checked(parsed(line), 'it')];
    } catch (cause) {
      throw new Error(`line ${index + 1}: ${(cause as Error).message}`, { cause });
    }
  });

function checked(row: unknown, what: string): Row {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) throw new Error(`${what} is no object`);
  return row as Row;
}

async function parquetRows(bytes: Uint8Array): Promise<Row[]> {
  const [{ parquetReadObjects }, zlib] = await Promise.all([import('hyparquet'), import('node:zlib')]);
  // Beside Snappy, which the reader knows.
  const compressors = {
    ZSTD: (input: Uint8Array) => zlib.zstdDecompressSync(input),
    GZIP: (input: Uint8Array) => zlib.gunzipSync(input),
    BROTLI: (input: Uint8Array) => zlib.brotliDecompressSync(input),
  };
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  const rows = await parquetReadObjects({ file, compressors });
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, jsonValue(value)])));
}

/** Rows as a Parquet file: a column of numbers alone, or of texts alone, is one; any other is JSON. */
export async function parquetOf(columns: readonly string[], rows: readonly Row[]): Promise<Uint8Array> {
  const { parquetWriteBuffer } = await import('hyparquet-writer');
  const columnData = columns.map((name) => {
    const data = rows.map((row) => row[name] ?? null);
    const type = typeOf(data.filter((value) => value !== null));
    return {
      name,
      type,
      nullable: true,
      data: type === 'INT64' ? data.map((value) => (value === null ? null : BigInt(String(value)))) : data,
    };
  });
  return new Uint8Array(parquetWriteBuffer({ columnData }));
}

function typeOf(values: readonly unknown[]): 'STRING' | 'INT64' | 'DOUBLE' | 'JSON' {
  if (values.every((value) => typeof value === 'string')) return 'STRING';
  if (values.every(isInt64)) return 'INT64';
  return values.every((value) => typeof value === 'number') ? 'DOUBLE' : 'JSON';
}

const isInt64 = (value: unknown): boolean =>
  Number.isSafeInteger(value) ||
  (isExact(value) && isWhole(String(value)) && BigInt.asIntN(64, BigInt(String(value))) === BigInt(String(value)));

/** As JSON has it: whole numbers of 64 bits as numbers where those hold them, times as texts. */
function jsonValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(jsonValue);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, jsonValue(each)]));
  return value;
}
