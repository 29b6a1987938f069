import { fc, test } from '@fast-check/vitest';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { delimiters } from '../../shared/csv/detectDelimiter.ts';
import type { Cell } from '../../shared/datasets/dataset.ts';
import { readRows } from '../../shared/datasets/readRows.ts';
import { type CsvForm, writeRows } from '../../shared/datasets/writeRows.ts';
import { type AssetService, startAssetService } from '../support/assetService.ts';

// They write hundreds of times, and a slow disk takes ten times as long for it as a fast one.
vi.setConfig({ testTimeout: 300_000 });

const word = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string(),
  fc.constantFrom('"', ',', '\n', '\r\n', '\r', ' ', '\t', '\uFEFF', '{}', '[', '\\'),
);
const cellText = fc.array(word, { maxLength: 4 }).map((words) => words.join(''));
const columnName = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((name) => !name.includes('\u0000') && name.isWellFormed());
const columns = fc.uniqueArray(columnName, { minLength: 1, maxLength: 4 });
const flatObject = fc.dictionary(fc.string(), fc.oneof(cellText, fc.integer(), fc.constant(null)), { maxKeys: 3 });
// JSON has no -0, and a whole number that a double may have rounded is kept as text.
const number = fc
  .oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true }))
  .map((value) => value + 0)
  .filter((value) => Number.isSafeInteger(value) || !/^-?\d+$/.test(String(value)));

const tableOf = (cell: fc.Arbitrary<Cell>) =>
  columns.chain((names) =>
    fc.record({
      names: fc.constant(names),
      rows: fc.array(fc.tuple(...names.map(() => cell)) as fc.Arbitrary<Cell[]>, { minLength: 1, maxLength: 6 }),
    }),
  );

async function written(format: 'csv' | 'jsonl', names: string[], rows: Cell[][], form: CsvForm = {}): Promise<string> {
  const parts: string[] = [];
  const pages = async function* () {
    yield rows;
  };
  for await (const part of writeRows(format, names, pages(), form)) parts.push(part);
  return parts.join('');
}

/** A file that arrives in small pieces, cut inside characters and fields. */
function inPieces(text: string, size: number): Blob {
  const bytes = new TextEncoder().encode(text);
  const blob = new Blob([bytes]);
  blob.stream = () =>
    new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(controller) {
        for (let start = 0; start < bytes.length; start += size) controller.enqueue(bytes.slice(start, start + size));
        controller.close();
      },
    });
  return blob;
}

async function readBack(format: 'csv' | 'jsonl' | 'json', file: Blob): Promise<{ names: string[]; rows: [string, Cell][][] }> {
  const names: string[] = [];
  const rows: [string, Cell][][] = [];
  for await (const row of readRows(format, file, (name) => names.push(name))) rows.push(row.map(([name, cell]) => [name, cell]));
  return { names, rows };
}

const asRead = ({ names, rows }: { names: string[]; rows: Cell[][] }) => ({
  names,
  rows: rows.map((row) => names.map((name, at) => [name, row[at]])),
});
const isIndexLike = (name: string) => /^\d+$/.test(name);

describe('format -> rows -> format', () => {
  test.prop([tableOf(fc.oneof(cellText, fc.constant(null))), fc.integer({ min: 1, max: 50 })])(
    'CSV gives back every text and every missing value',
    async ({ names, rows }, size) => {
      const text = await written('csv', names, rows);
      // A row without any value would be no row.
      const onlyNulls = (row: Cell[]) => row.every((cell) => cell === null);
      const expected = { names, rows: rows.map((row) => (onlyNulls(row) ? ['', ...row.slice(1)] : row)) };
      // A reader cannot distinguish a byte order mark of the first column's name from one of the file.
      fc.pre(!text.startsWith('\uFEFF'));
      expect(await readBack('csv', inPieces(text, size))).toEqual(asRead(expected));
    },
  );

  // As other programs write them: the delimiter alone, line ends and quotes are what is quoted.
  test.prop([
    fc.constantFrom(...delimiters).chain((delimiter) =>
      fc.record({
        delimiter: fc.constant(delimiter),
        width: fc.integer({ min: 2, max: 5 }),
        ends: fc.array(fc.constantFrom('\n', '\r\n', '\r'), { minLength: 1, maxLength: 3 }),
        declared: fc.boolean(),
        bom: fc.boolean(),
      }),
    ),
    fc.array(
      fc.array(fc.oneof(fc.constantFrom('1.5', '1,5', 'a;b', 'x|y', 'two\nlines', '"q"', ' blank ', 'é'), fc.constant(null)), {
        minLength: 5,
        maxLength: 5,
      }),
      { minLength: 1, maxLength: 5 },
    ),
    fc.integer({ min: 1, max: 50 }),
  ])(
    'a CSV of any delimiter and any line ends is read as it was meant',
    async ({ delimiter, width, ends, declared, bom }, cells, size) => {
      const names = Array.from({ length: width }, (_, at) => `c${at}`);
      const rows = cells.map((row) => row.slice(0, width));
      const field = (cell: string | null) =>
        cell === null
          ? ''
          : new RegExp(`[${delimiter === '|' ? '\\|' : delimiter}"\n\r]`).test(cell)
            ? `"${cell.replaceAll('"', '""')}"`
            : cell;
      const lines = [...(declared ? [`sep=${delimiter}`] : []), ...[names, ...rows].map((row) => row.map(field).join(delimiter))];
      const text = `${bom ? '\uFEFF' : ''}${lines.map((line, at) => line + ends[at % ends.length]).join('')}`;
      const withValues = rows.filter((row) => row.some((cell) => cell !== null));
      expect(await readBack('csv', inPieces(text, size))).toEqual(asRead({ names, rows: withValues }));
    },
  );

  test.prop([tableOf(fc.oneof(cellText, fc.constant(null), number, flatObject)), fc.integer({ min: 1, max: 50 })])(
    'JSON lines and JSON give back every kind of cell',
    async ({ names, rows }, size) => {
      // JSON.parse puts keys that look like array positions first.
      fc.pre(!names.some(isIndexLike));
      const text = await written('jsonl', names, rows);
      expect(await readBack('jsonl', inPieces(text, size))).toEqual(asRead({ names, rows }));
      const array = `[${text.trimEnd().split('\n').join(' ,\n')}]`;
      expect(await readBack('json', inPieces(array, size))).toEqual(asRead({ names, rows }));
    },
  );

  test.prop([fc.string(), fc.constantFrom('csv' as const, 'json' as const, 'jsonl' as const)])(
    'any text is rows, or an error that a caller understands',
    async (text, format) => {
      const outcome = await readBack(format, new Blob([text])).catch((err: unknown) => err);
      if (outcome instanceof Error)
        expect(outcome).toMatchObject({ name: 'RequestInvalid', items: [{ loc: ['body', 'file', expect.any(Number)] }] });
    },
  );
});

describe('pages', () => {
  let service: AssetService;
  let id: string;
  let inputs: string[];
  beforeAll(async () => {
    service = await startAssetService();
    inputs = Array.from({ length: 2_500 }, (_, n) => `row ${n}`);
    id = (await service.upload('jsonl', inputs.map((input) => JSON.stringify({ input })).join('\n'))).body.id;
    // Edits break the version's order into pieces: pages must cross them.
    const rows = (await service.request('GET', `/datasets/${id}/content?limit=2500`)).body.rows as { row_id: string }[];
    const removed = [3, 4, 999, 1_000, 1_700];
    await service.request('PATCH', `/datasets/${id}/content`, {
      json: {
        edits: [
          ...removed.map((at) => ({ edit_type: 'delete_row', row_id: rows[at]?.row_id })),
          { edit_type: 'update_row', row_id: rows[10]?.row_id, values: { input: 'changed' } },
          { edit_type: 'prepend_row', values: { input: 'top' } },
          { edit_type: 'append_row', values: { input: 'bottom' } },
        ],
      },
    });
    inputs[10] = 'changed';
    inputs = ['top', ...inputs.filter((_, at) => !removed.includes(at)), 'bottom'];
  });
  afterAll(() => service.close());

  test.prop([fc.integer({ min: 1, max: 3_000 })], { numRuns: 12, examples: [[1_000], [2_497], [999]] })(
    'concatenate to the whole, each row once',
    async (limit) => {
      const seen: string[] = [];
      const indexes: number[] = [];
      // Small pages would be thousands of requests: at least 100 rows each.
      const size = Math.max(limit, 100);
      for (let token: number | null = 0; token !== null; ) {
        const { body } = await service.request('GET', `/datasets/${id}/content?limit=${size}&starting_token=${token}`);
        seen.push(...body.rows.map((row: { values: string[] }) => row.values[0]));
        indexes.push(...body.rows.map((row: { index: number }) => row.index));
        token = body.next_starting_token;
      }
      expect(seen).toEqual(inputs);
      expect(indexes).toEqual(inputs.map((_, index) => index));
    },
    60_000,
  );
});

test('a CSV that is safe for spreadsheets has no text that one would run; as it is, it is read back', async () => {
  const texts = ['=1+1', '+1+1', '-1-1', '@SUM(1)', '\t=1', '\r=1', ' =1', '\uFF1D1+1', '-5', '+1.5e3', 'a=b', '', 'x'];
  const rows: Cell[][] = texts.map((text) => [text, -5]);
  const safe = await written('csv', ['=name', 'number'], rows, { spreadsheetSafe: true });
  expect(safe).toBe(
    `'=name,number\r\n'=1+1,-5\r\n'+1+1,-5\r\n'-1-1,-5\r\n'@SUM(1),-5\r\n'\t=1,-5\r\n"'\r=1",-5\r\n' =1,-5\r\n'\uFF1D1+1,-5\r\n` +
      `-5,-5\r\n+1.5e3,-5\r\na=b,-5\r\n"",-5\r\nx,-5\r\n`,
  );
  expect(await written('csv', ['=name', 'number'], rows)).toMatch(/^=name,number\r\n=1\+1,-5\r\n/);
  expect(await written('jsonl', ['a'], [['=1']], { spreadsheetSafe: true })).toBe('{"a":"=1"}\n');
});
