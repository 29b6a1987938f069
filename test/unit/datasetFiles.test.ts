import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { readCsv } from '../../shared/csv/readCsv.ts';
import { csvRecords } from '../../shared/datasetFiles/csvRecords.ts';
import { type FileFormat, type FileItem, fileItems } from '../../shared/datasetFiles/fileItems.ts';
import { mappedRow, usualTargets } from '../../shared/datasetFiles/mappedRow.ts';
import { survey } from '../../shared/datasetFiles/survey.ts';
import { writeRows } from '../../shared/datasets/writeRows.ts';
import { jsonWithBigInts } from '../../shared/wire/longNumbers.ts';

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of items) all.push(one);
  return all;
}

const itemsOf = (text: string | Blob, format: FileFormat, delimiter?: ',' | ';'): Promise<FileItem[]> =>
  allOf(fileItems(new Blob([text]), { format, delimiter }));
const rowsOf = async (text: string, format: FileFormat) => {
  const items = await itemsOf(text, format);
  const columns = [...new Set(items.flatMap(({ cells = [] }) => cells.map(([name]) => name)))];
  expect(items.filter(({ problem }) => problem !== undefined)).toEqual([]);
  return items.map(({ cells = [] }) => mappedRow(cells, usualTargets(columns), format));
};
const written = async (format: 'csv' | 'jsonl', columns: string[], rows: (string | null | object)[][]) => {
  const pages = async function* () {
    yield rows as never;
  };
  return (await allOf(writeRows(format, columns, pages()))).join('');
};

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', '"', '""', 'a;b', '\r\n', '\n', ' x ', '{"a": 1}', '=1+1', '1.50'),
);
const cell = fc.option(text, { nil: null });
const metadata = fc.option(
  fc.dictionary(fc.string({ minLength: 1 }), fc.oneof(fc.string(), fc.integer()), { minKeys: 1, noNullPrototype: true }),
  { nil: null },
);
const columns = ['input', 'output', 'note', 'metadata'];

describe('what a dataset exports gives its rows back when it is imported', () => {
  property.prop([
    fc.array(fc.tuple(cell, cell, cell, metadata), { minLength: 1, maxLength: 20 }),
    fc.constantFrom('csv' as const, 'jsonl' as const),
  ])('as CSV and as JSON lines', async (rows, format) => {
    const file = await written(format, columns, rows);
    // A row without any value is written with an empty text, or it would be no row.
    const expected = rows.map((row) =>
      columns.map((name, at) => [name, format === 'csv' && at === 0 && row.every((one) => one === null) ? '' : row[at]]),
    );
    expect(await rowsOf(file, format)).toEqual(expected.map((row) => Object.fromEntries(row)));
  });
});

describe('a CSV without anything odd', () => {
  const field = fc.oneof(
    fc.stringMatching(/^[a-z ;|\t]{0,6}$/),
    fc.string({ unit: 'grapheme', maxLength: 6 }).map((one) => `"${one.replaceAll('"', '""')}"`),
  );
  const line = fc.tuple(field, field, field).map((fields) => fields.join(','));
  property.prop([fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 12 }), fc.nat(40)])(
    'is read as the service reads it, in pieces of any size',
    async (lines, piece) => {
      const file = `a,b,c\n${lines.flat().join('')}`;
      const pieces = async function* (length: number) {
        for (let at = 0; at < file.length; at += length) yield file.slice(at, at + length);
      };
      const csv = readCsv(pieces(file.length), { delimiter: ',', onColumn: () => undefined });
      const theirs = await allOf(csv.rows).catch(() => undefined);
      fc.pre(theirs !== undefined);
      const ours = (await allOf(csvRecords(pieces(piece + 1), ',', 1))).slice(1);
      const rows = ours.filter(({ fields }) => fields.some((one) => one !== null));
      expect(rows.map(({ line: at, fields }) => [at, fields])).toEqual(theirs?.map((row) => [row.line, row.cells]));
      expect(rows.filter(({ problem }) => problem !== undefined)).toEqual([]);
    },
  );
});

describe('what is odd is said with its line, and the rest is read', () => {
  const odd = async (file: string, format: FileFormat = 'csv') =>
    (await itemsOf(file, format)).map(({ line, problem, cells }) => [line, problem, cells && Object.fromEntries(cells)]);

  test('rows with fewer and more fields than the header', async () => {
    expect(await odd('input,output\na,1\nb\n\nc,2,3\n')).toEqual([
      [2, undefined, { input: 'a', output: '1' }],
      [3, '1 fields, but the header names 2 columns', { input: 'b' }],
      [5, '3 fields, but the header names 2 columns', { input: 'c', output: '2', 'field 3': '3' }],
    ]);
  });

  test('a quote that is never closed costs its own line', async () => {
    expect(await odd('input,output\n"a,1\nb,2\nc"d,3\n')).toEqual([
      [2, 'a quoted field that starts in this row is never closed', { input: '"a', output: '1' }],
      [3, undefined, { input: 'b', output: '2' }],
      [4, 'a quote stands inside an unquoted field', { input: 'c"d', output: '3' }],
    ]);
  });

  test('columns without a name and twice', async () => {
    expect(await odd('input,,input\na,b,c\n')).toEqual([
      [1, 'column 2 has no name, it is called “column 2”', undefined],
      [2, undefined, { input: 'a', 'column 2': 'b', 'input 2': 'c' }],
    ]);
  });

  test('lines that are no JSON and no object', async () => {
    expect(await odd('{"input": 9007199254740993}\nnonsense\n[1]\n\n{"input": "b"}', 'jsonl')).toEqual([
      [1, undefined, { input: 9007199254740993n }],
      [2, 'not valid JSON', undefined],
      [3, 'no JSON object', undefined],
      [5, undefined, { input: 'b' }],
    ]);
    expect(await odd('[\n {"a": 1},\n 7,\n {"a": 2}\n]', 'json')).toEqual([
      [2, undefined, { a: 1 }],
      [3, 'no JSON object', undefined],
      [4, undefined, { a: 2 }],
    ]);
    expect(await odd('[{"a": 1},\n{"a": 2', 'json')).toEqual([[2, 'the file is not valid JSON from here on', undefined]]);
  });

  test('a survey counts them, and a file that is no text is refused with what to do', async () => {
    const options = { onRead: () => undefined, signal: new AbortController().signal };
    const found = await survey(new Blob(['input,output\na,1\nb\n']), { format: 'csv' }, options);
    expect(found).toMatchObject({ rows: 2, odd: 1, lost: 0, columns: ['input', 'output'], places: [{ line: 3, isRow: true }] });
    const zip = survey(new Blob(['PK\x03\x04']), { format: 'csv' }, options);
    await expect(zip).rejects.toThrow('save the sheet as CSV UTF-8');
  });
});

test('columns become what somebody says: several make an object, and numbers keep their digits', async () => {
  const [item] = await itemsOf(
    '{"question": "q", "hint": "h", "id": 1.00000000000000000001, "meta": {"x": 1}, "junk": 0}',
    'jsonl',
  );
  const targets = new Map([
    ['question', 'input'],
    ['hint', 'input'],
    ['id', 'own'],
    ['meta', 'metadata'],
    ['junk', 'none'],
  ] as const);
  expect(jsonWithBigInts(mappedRow(item?.cells ?? [], targets, 'jsonl'))).toBe(
    '{"input":{"question":"q","hint":"h"},"id":1.00000000000000000001,"metadata":{"x":1}}',
  );
});
