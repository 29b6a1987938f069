import { fc, test } from '@fast-check/vitest';
import { expect } from 'vitest';
import { type ParquetColumn, type ParquetValue, writeParquet } from '../../shared/records/writeParquet.ts';
import { canonicalTime } from '../../shared/wire/time.ts';
import { readParquet } from '../support/readParquet.ts';

const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('', '\u0000', '💥', 'Été', 'null', '"', '\ud800', 'a\r\nb', 'x'.repeat(70_000)),
);
const times = fc
  .tuple(
    fc.date({ min: new Date('1900-01-01T00:00:00Z'), max: new Date('2299-12-31T23:59:59Z'), noInvalidDate: true }),
    fc.nat(999_999),
  )
  .map(([date, micros]) => canonicalTime(`${date.toISOString().slice(0, 19)}.${String(micros).padStart(6, '0')}Z`) as string);
const valuesOf: Record<ParquetColumn['type'], fc.Arbitrary<ParquetValue>> = {
  text: texts,
  integer: fc.oneof(fc.maxSafeInteger(), fc.constantFrom(0, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER)),
  number: fc.oneof(fc.double({ noNaN: true }), fc.constantFrom(-0, Number.MIN_VALUE, Number.MAX_VALUE, 2 ** 53 + 2, 0.1)),
  boolean: fc.boolean(),
  time: times,
};

const table = fc
  .uniqueArray(
    fc.record({
      name: fc.oneof(fc.constantFrom('__proto__', 'a.b', 'metrics/x', 'user_metadata/ä', 'list'), fc.string({ minLength: 1 })),
      type: fc.constantFrom<ParquetColumn['type']>('text', 'integer', 'number', 'boolean', 'time'),
    }),
    { selector: ({ name }) => name.toWellFormed(), minLength: 1, maxLength: 6 },
  )
  .chain((columns) =>
    fc.record({
      columns: fc.constant(columns),
      // Few values often repeat, which is another encoding.
      rows: fc.oneof(
        fc.array(fc.tuple(...columns.map(({ type }) => fc.option(valuesOf[type], { freq: 4 }))), { maxLength: 60 }),
        fc
          .array(fc.tuple(...columns.map(({ type }) => fc.option(valuesOf[type], { freq: 4 }))), { minLength: 1, maxLength: 3 })
          .chain((few) => fc.array(fc.constantFrom(...few), { maxLength: 300 })),
      ),
      page: fc.integer({ min: 1, max: 40 }),
    }),
  );

async function* inPages(rows: readonly ParquetValue[][], size: number) {
  for (let from = 0; from < rows.length; from += size) yield rows.slice(from, from + size);
}

async function fileOf(columns: readonly ParquetColumn[], pages: AsyncIterable<ParquetValue[][]>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of writeParquet(columns, pages)) parts.push(part);
  return Buffer.concat(parts);
}

/** Returns what a reader finds for a value: text is UTF-8, which has no lone surrogate. */
function inFile(value: ParquetValue, type: ParquetColumn['type']): unknown {
  if (value === null) return undefined;
  if (type === 'text') return String(value).toWellFormed();
  if (type === 'integer') return BigInt(value as number);
  if (type !== 'time') return value;
  const text = value as string;
  return BigInt(Date.parse(text.replace(/\d{3}Z$/, 'Z'))) * 1000n + BigInt(text.slice(23, 26));
}

test.prop([table], { numRuns: 150 })('rows in are rows out', async ({ columns, rows, page }) => {
  const read = await readParquet(await fileOf(columns, inPages(rows, page)));
  expect(read.columns).toEqual(columns.map(({ name }) => name.toWellFormed()));
  expect(read.rows.map((row) => row.map((value) => value ?? undefined))).toEqual(
    rows.map((row) => row.map((value, at) => inFile(value, columns[at]?.type ?? 'text'))),
  );
});

test('a value that its column cannot hold is null, and a text column holds everything', async () => {
  const columns: ParquetColumn[] = (['text', 'integer', 'number', 'boolean', 'time'] as const).map((type) => ({
    name: type,
    type,
  }));
  const rows: ParquetValue[][] = [
    [7, 1.5, 'much', 1, 5],
    [true, 2 ** 60, true, 'true', null],
  ];
  const read = await readParquet(await fileOf(columns, inPages(rows, 2)));
  expect(read.rows.map((row) => row.map((value) => value ?? null))).toEqual([
    ['7', null, null, null, null],
    ['true', null, 1, null, null],
  ]);
});

test('groups of rows are of bounded size, whatever the rows are', async () => {
  const columns: ParquetColumn[] = [{ name: 'input', type: 'text' }];
  const large = Array.from({ length: 40 }, (_, n): ParquetValue[] => [`${n}${'é'.repeat(1024 * 1024)}`]);
  expect((await readParquet(await fileOf(columns, inPages(large, 40)))).rowGroups).toBe(5);
  const small = Array.from({ length: 20_000 }, (_, n): ParquetValue[] => [String(n)]);
  expect((await readParquet(await fileOf(columns, inPages(small, 1000)))).rowGroups).toBe(3);
  const none = await readParquet(await fileOf(columns, inPages([], 1)));
  expect(none).toEqual({ columns: ['input'], rows: [], rowGroups: 0 });
});
