import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fc, test } from '@fast-check/vitest';
import { afterAll, beforeAll, expect } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ClickHouse } from '../../shared/stores/clickhouse/clickHouse.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { NativeBlock, nativeTypes } from '../../shared/stores/clickhouse/tables/nativeBlock.ts';

const columns = [
  { name: 'row', sqlType: 'UInt64' },
  { name: 'id', sqlType: 'UUID CODEC(ZSTD(1))' },
  { name: 'parent', sqlType: 'Nullable(UUID)' },
  { name: 'text', sqlType: 'String CODEC(LZ4)' },
  { name: 'maybe', sqlType: 'Nullable(String)' },
  { name: 'few', sqlType: 'LowCardinality(String)' },
  { name: 'fewOrNone', sqlType: 'LowCardinality(Nullable(String))' },
  { name: 'list', sqlType: 'Array(LowCardinality(String))' },
  { name: 'ids', sqlType: 'Array(UUID)' },
  { name: 'map', sqlType: 'Map(LowCardinality(String), String) CODEC(ZSTD(1))' },
  { name: 'at', sqlType: "DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1))" },
  { name: 'later', sqlType: "Nullable(DateTime64(6, 'UTC'))" },
  { name: 'flag', sqlType: 'Bool DEFAULT true' },
  { name: 'small', sqlType: 'Nullable(Int32)' },
  { name: 'positive', sqlType: 'UInt32 DEFAULT 7 CODEC(ZSTD(1))' },
  { name: 'large', sqlType: 'Nullable(Int64)' },
  { name: 'fraction', sqlType: 'Nullable(Float64)' },
  { name: 'size', sqlType: 'UInt64 MATERIALIZED length(text)' },
];

let clickhouse: ClickHouse;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-native-'));
  clickhouse = openClickHouse({ dataDir: folder });
  const list = columns.map(({ name, sqlType }) => `${name} ${sqlType}`).join(', ');
  for (const table of ['native', 'json'])
    await clickhouse.command({ name: 'create', sql: `CREATE TABLE ${table} (${list}) ENGINE = Memory` });
});
afterAll(async () => {
  await clickhouse.close();
  await rm(folder, { recursive: true, force: true });
});

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }).map((one) => one.toWellFormed()),
  fc.string({ unit: 'grapheme', maxLength: 150 }),
  fc.constantFrom('', '\n\n', '\0', '"', 'é'.repeat(127), 'x'.repeat(127), 'x'.repeat(128), '漢'.repeat(43), '𝒳'.repeat(6_000)),
);
const uuid = fc.uuid({ version: 4 });
const time = fc
  .tuple(fc.date({ min: new Date('1900-01-01'), max: new Date('2299-12-31'), noInvalidDate: true }), fc.nat({ max: 999 }))
  .map(([date, micros]) => `${date.toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`);
const sometimes = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const row = fc.record({
  id: uuid,
  parent: sometimes(uuid),
  text: sometimes(text),
  maybe: sometimes(text),
  few: sometimes(text),
  fewOrNone: sometimes(text),
  list: sometimes(fc.array(text, { maxLength: 5 })),
  ids: sometimes(fc.array(uuid, { maxLength: 3 })),
  map: sometimes(fc.dictionary(text, text, { maxKeys: 4, noNullPrototype: true })),
  at: time,
  later: sometimes(time),
  flag: sometimes(fc.boolean()),
  small: sometimes(fc.integer()),
  positive: sometimes(fc.nat({ max: 2 ** 32 - 1 })),
  large: sometimes(fc.maxSafeInteger()),
  fraction: sometimes(fc.double({ noNaN: true, noDefaultInfinity: true })),
});

test.prop([fc.array(row, { minLength: 1, maxLength: 20 })], { numRuns: 60 })(
  'a block of columns holds the same rows as their JSON',
  async (rows) => {
    for (const table of ['native', 'json']) await clickhouse.command({ name: 'empty', sql: `TRUNCATE TABLE ${table}` });
    const block = new NativeBlock(nativeTypes(columns));
    const numbered = rows.map((one, index) => ({ row: index, ...one }));
    for (const one of numbered) block.add(one);
    await clickhouse.insertInOrder([[{ table: 'native', native: block.finish(), token: newId() }]]);
    await clickhouse.insert({ table: 'json', rows: numbered, token: newId() });
    const all = (table: string) =>
      clickhouse.query({ name: 'all', sql: `SELECT *, size FROM ${table} ORDER BY row`, row: (found) => found });
    const stored = await all('native');
    expect(stored).toHaveLength(rows.length);
    expect(stored).toEqual(await all('json'));
  },
);

test('half a character of a pair is stored as U+FFFD', async () => {
  const block = new NativeBlock(nativeTypes(columns));
  block.add({ row: 0, id: newId(), at: '2026-01-01T00:00:00.000000Z', text: 'a\ud800b', maybe: `${'x'.repeat(100)}\udc00` });
  await clickhouse.command({ name: 'empty', sql: 'TRUNCATE TABLE native' });
  await clickhouse.insertInOrder([[{ table: 'native', native: block.finish(), token: newId() }]]);
  const [stored] = await clickhouse.query({ name: 'all', sql: 'SELECT text, maybe FROM native', row: (found) => found });
  expect(stored).toEqual({ text: 'a\ufffdb', maybe: `${'x'.repeat(100)}\ufffd` });
});

test('a value that its column cannot hold is refused, and so is a column that is not there', () => {
  const refused: [string, unknown][] = [
    ['id', 'not a uuid'],
    ['id', newId().replace(/^./, 'é')],
    ['text', 1],
    ['list', 'a'],
    ['map', 'a'],
    ['at', '2026-01-01'],
    ['small', 2 ** 31],
    ['positive', -1],
    ['large', 2 ** 53],
    ['fraction', 'x'],
    ['flag', 1],
    ['size', 1],
    ['other', 1],
  ];
  for (const [name, value] of refused) expect(() => new NativeBlock(nativeTypes(columns)).put(name, value), name).toThrow();
});
