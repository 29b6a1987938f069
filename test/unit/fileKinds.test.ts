import { gzipSync } from 'node:zlib';
import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { readRows as commandRows } from '../../cli/rows/rowFiles.ts';
import { readRows as serviceRows } from '../../shared/datasets/readRows.ts';

// Files as people have them, read by the service and by the command.

type Format = 'csv' | 'json' | 'jsonl';
/** The rows as both read them, or why both refuse the file. */
async function read(format: Format, content: string | Uint8Array): Promise<unknown> {
  const bytes = new Uint8Array(Buffer.from(content));
  const asIs = (cell: unknown) => (typeof cell === 'bigint' ? String(cell) : cell instanceof Number ? String(cell) : cell);
  const rows: unknown[] = [];
  let refusal: string | undefined;
  let delimiter: string | undefined;
  try {
    for await (const row of serviceRows(format, new Blob([bytes]), () => undefined, {
      onEnd: (summary) => {
        delimiter = summary.delimiter;
      },
    }))
      rows.push(Object.fromEntries(row.map(([name, cell]) => [name, asIs(cell)])));
  } catch (err) {
    refusal = (err as { items: [{ msg: string }] }).items[0].msg;
  }
  const command = await commandRows(bytes, format, {
    onCsvRead: (summary) => expect(summary.delimiter).toBe(delimiter),
  }).then(
    (all) => all.map((row) => Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, asIs(cell)]))),
    (err: unknown) => String((err as Error).message),
  );
  if (refusal === undefined) expect(command).toEqual(rows);
  else expect(command).toMatch(/cannot be read as/);
  return refusal ?? rows;
}

const utf16 = (text: string, isBigEndian = false): Uint8Array => {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
  return isBigEndian ? bytes.swap16() : bytes;
};
const one = [{ a: '1', b: '2' }];

describe('a file is read as it was meant', () => {
  test.each<[string, string | Uint8Array, unknown]>([
    ['UTF-16, as Excel saves "Unicode text"', utf16('a\tb\r\n1\t2\r\n'), one],
    ['UTF-16 with its bytes the other way', utf16('a,b\n1,2\n', true), one],
    ['a declaration with lines that end in CR', 'sep=;\ra;b\r1;2\r', one],
    ['a declaration in quotes', '"sep=;"\na;b\n1;2\n', one],
    ['a declaration with delimiters behind it', 'sep=,,\na,b\n1,2\n', one],
    ['a declaration with a blank behind it', 'sep=; \na;b\n1;2\n', one],
    ['commas in names and decimal commas', 'in,eur;out,eur\n1,5;2,5\n', [{ 'in,eur': '1,5', 'out,eur': '2,5' }]],
    ['as many commas as tabs', 'q, long\ta\nhello, you\tyes\n', [{ 'q, long': 'hello, you', a: 'yes' }]],
    ['blanks after its commas', 'a, b\n1, 2\n', [{ a: '1', b: ' 2' }]],
    ['delimiters within quotes', '"a;b","c;d"\n"1;2","3;4"\n', [{ 'a;b': '1;2', 'c;d': '3;4' }]],
    ['one column of quoted texts', 'input\n"hello, world"\n"a; b"\n', [{ input: 'hello, world' }, { input: 'a; b' }]],
    ['a quoted text over lines with other delimiters', 'a;b\n"x,\ny,";2\n', [{ a: 'x,\ny,', b: '2' }]],
    ['names that differ in case', 'a,A\n1,2\n', [{ a: '1', A: '2' }]],
    ['a cell of a megabyte', `a,b\n${'x'.repeat(1_000_000)},2\n`, [{ a: 'x'.repeat(1_000_000), b: '2' }]],
    ['line separators of Unicode in a cell', 'a,b\n1\u2028,2\n', [{ a: '1\u2028', b: '2' }]],
    ['long numbers', 'a,b\n9007199254740993,0.1234567890123456789\n', [{ a: '9007199254740993', b: '0.1234567890123456789' }]],
    ['no line end at its end', 'a,b\n1,2', one],
    ['a header alone', 'a,b\n', []],
    ['nothing in it', '', []],
  ])('a CSV with %s', async (_, content, rows) => {
    expect(await read('csv', content)).toEqual(rows);
  });

  test.each<[string, Format, string | Uint8Array]>([
    ['JSON with a byte order mark', 'json', '\ufeff[{"a":1}]'],
    ['JSON in UTF-16', 'json', utf16('[{"a":1}]')],
    ['JSON lines with a byte order mark', 'jsonl', '\ufeff{"a":1}\n'],
    ['JSON lines that end in CR LF', 'jsonl', '{"a":1}\r\n\r\n'],
  ])('%s', async (_, format, content) => {
    expect(await read(format, content)).toEqual([{ a: 1 }]);
  });

  property.prop([
    fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' })), { minLength: 1, maxLength: 20 }),
    fc.boolean(),
  ])('a CSV in UTF-16 holds any text', async (rows, isBigEndian) => {
    const field = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
    const text = `a,b\n${rows.map((row) => row.map(field).join(',')).join('\n')}\n`;
    expect(await read('csv', utf16(text, isBigEndian))).toEqual(rows.map(([a, b]) => ({ a, b })));
  });
});

describe('a file is refused with what to do', () => {
  test.each<[string, Format, string | Uint8Array, RegExp]>([
    [
      'UTF-16 without a byte order mark',
      'csv',
      Buffer.from('a,b\n1,2\n', 'utf16le'),
      /UTF-16 without a byte order mark.*save it as UTF-8/,
    ],
    ['half of UTF-16', 'csv', utf16('a,b\n1,2\n').subarray(0, 17), /not whole UTF-16/],
    ['UTF-32', 'csv', new Uint8Array([0xff, 0xfe, 0, 0, 97, 0, 0, 0]), /is UTF-32/],
    ['another encoding', 'csv', Buffer.from('a,b\n\xfc,2\n', 'latin1'), /not UTF-8 text: save it as UTF-8/],
    ['gzip', 'csv', gzipSync('a,b\n1,2\n'), /compressed by gzip: unpack it/],
    ['gzip of JSON lines', 'jsonl', gzipSync('{"a":1}\n'), /compressed by gzip: unpack it/],
    ['Parquet', 'csv', 'PAR1\x15\x04\x15PAR1', /is a Parquet file/],
    ['an Excel workbook', 'csv', 'PK\x03\x04\x14\x00', /Excel workbook.*CSV UTF-8/],
    ['a page of a login', 'csv', '<!DOCTYPE html><html><body>Log in, please', /an HTML page/],
    ['JSON as CSV', 'csv', '[{"a":1},{"a":2}]', /a quote stands inside/],
    ['a declaration of another delimiter', 'csv', 'sep=:\na:b\n1:2\n', /":" separates fields; it may be one of/],
    ['NUL in a name', 'csv', 'a,longer\0,b\n1,2,3\n', /holds NUL/],
    ['a name twice, but for blanks', 'csv', 'a, a\n1,2\n', /names column "a" twice/],
    ['a delimiter at the end of each line', 'csv', 'a,b,\n1,2,\n', /column 3 of the header has no name/],
    ['a delimiter at the end of each row', 'csv', 'a,b\n1,2,\n', /3 fields, but the header names 2/],
    ['texts with commas in one column', 'csv', 'input\nhello, world\n', /2 fields, but the header names 1/],
    ['quotes of another kind', 'csv', 'a,b\n"x\\",\\"y",2\n', /a quote stands inside/],
    ['a quote that is never closed', 'csv', 'a,b\n"x,2\n3,4\n', /never closed/],
    ['a title above the header', 'csv', 'My report\na,b\n1,2\n', /2 fields, but the header names 1/],
    ['JSON lines as JSON', 'json', '{"a":1}\n{"a":2}\n', /array of objects/],
    ['JSON as JSON lines', 'jsonl', '[\n{"a":1}\n]', /not valid JSON/],
    ['NaN', 'json', '[{"a":NaN}]', /not valid JSON/],
  ])('%s', async (_, format, content, why) => {
    expect(await read(format, content)).toMatch(why);
  });
});
