import { open, readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { usageError } from './commandError.ts';

const formats = ['csv', 'json', 'jsonl', 'parquet'] as const;
export type RowFormat = (typeof formats)[number];
export type Row = Record<string, unknown>;

/** By the ending of the file's name. */
export const formatOf = (path: string): RowFormat | undefined => {
  const ending = extname(path).slice(1).toLowerCase();
  return ending === 'ndjson' ? 'jsonl' : formats.find((format) => format === ending);
};

/** @throws CommandError that names the file, and what is wrong with it; the file system's error where it cannot be read */
export async function readRows(path: string, format = formatOf(path)): Promise<Row[]> {
  try {
    if (format === 'parquet') return await parquetRows(path);
    const text = (await readFile(path, 'utf8')).replace(/^\ufeff/, '');
    if (format === 'csv') return await csvRows(text);
    return format === 'json' ? jsonRows(text) : jsonlRows(text);
  } catch (cause) {
    if (cause instanceof Error && 'syscall' in cause) throw cause;
    throw usageError(`${basename(path)} cannot be read as ${format}: ${(cause as Error).message}`, { cause });
  }
}

async function csvRows(text: string): Promise<Row[]> {
  const { parse } = await import('csv-parse/sync');
  return parse(text, { columns: true, skip_empty_lines: true });
}

function jsonRows(text: string): Row[] {
  const rows: unknown = JSON.parse(text);
  if (!Array.isArray(rows)) throw new Error('it must hold a list of objects');
  return rows.map((row, index) => checked(row, `item ${index + 1}`));
}

const jsonlRows = (text: string): Row[] =>
  text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    try {
      return [checked(JSON.parse(line), 'it')];
    } catch (cause) {
      throw new Error(`line ${index + 1}: ${(cause as Error).message}`, { cause });
    }
  });

function checked(row: unknown, what: string): Row {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) throw new Error(`${what} is no object`);
  return row as Row;
}

async function parquetRows(path: string): Promise<Row[]> {
  const { parquetReadObjects } = await import('hyparquet');
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const slice = async (start: number, end = size) => {
      const bytes = new Uint8Array(end - start);
      await file.read(bytes, 0, bytes.length, start);
      return bytes.buffer;
    };
    const rows = await parquetReadObjects({ file: { byteLength: size, slice } });
    return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, jsonValue(value)])));
  } finally {
    await file.close();
  }
}

/** As JSON has it: whole numbers of 64 bits as numbers where they are exact, times as texts. */
function jsonValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(jsonValue);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, jsonValue(each)]));
  return value;
}
