import { fc, test } from '@fast-check/vitest';
import { afterAll, beforeAll, expect } from 'vitest';
import { withAnnotatedIds } from '../../shared/annotations/fullyAnnotated.ts';
import type { ColumnDef } from '../../shared/columns/columnDef.ts';
import { datasetColumns } from '../../shared/columns/dataset.ts';
import { standardColumns } from '../../shared/columns/standard.ts';
import { derivedId, newId } from '../../shared/identifiers/ids.ts';
import { columnFinder } from '../../shared/records/findColumn.ts';
import type { StoredRecord } from '../../shared/records/record.ts';
import { findKeys, type RecordPageQuery } from '../../shared/records/searchRecords.ts';
import { canonicalFilter } from '../../shared/stores/clickhouse/filters/canonicalFilter.ts';
import { clickHouseRecordReads } from '../../shared/stores/clickhouse/reads/recordReads.ts';
import { RunVersions } from '../../shared/stores/clickhouse/reads/runVersions.ts';
import { byMerging } from '../../shared/stores/clickhouse/tables/newestVersions.ts';
import { type ColumnFilter, type Filter, FilterExpression, MAX_FILTER_DEPTH } from '../../shared/wire/filters.ts';
import { isSpanKind, type RecordKind, recordKinds, spanKinds } from '../../shared/wire/recordKinds.ts';
import { matchesFilter, type ValueOf } from '../support/matchesFilter.ts';
import { propertyRuns } from '../support/propertyRuns.ts';
import { openRecordTables } from '../support/recordRun.ts';

/** Some 500 statements: 20 s on a machine that has nothing else to do. */
const PATIENCE_MS = 300_000;

const run = { projectId: newId(), runId: newId() };
const metricColumn = (metric: string, dataType: ColumnDef['dataType']): ColumnDef => ({
  id: `metrics/${metric}`,
  label: metric,
  description: 'A score.',
  category: 'metric',
  groupLabel: 'Safety Metrics',
  dataType,
  kinds: [],
  source: { at: 'metric', metric },
  sortable: dataType !== 'string_list',
  filterable: true,
  optional: false,
});
const metricColumns = [
  metricColumn('toxicity', 'floating_point'),
  metricColumn("edge's", 'floating_point'),
  metricColumn('tone', 'text'),
  metricColumn('labels', 'string_list'),
  metricColumn('polite', 'boolean'),
];
const findColumn = columnFinder(metricColumns);
const columns = [
  ...standardColumns,
  ...datasetColumns,
  ...metricColumns,
  ...['metrics/duration_ns', 'user_metadata/lang', "user_metadata/it's {p0:String}", 'dataset_metadata/日本/語'].map(findColumn),
];

// Texts that a careless query, a LIKE pattern or a JSON writer would trip over; few enough that filters hit them often.
const texts = [
  '',
  'a',
  "it's",
  'back\\slash',
  '100%',
  'under_score',
  '"quoted"',
  'Été',
  'ΟΔΥΣΣΕΥΣ',
  'οδυσσευς',
  'Οδυσσ',
  'Straße',
  '日本語',
  '💥',
  "'; DROP TABLE records; --",
  'null',
  '\\N',
  'line\nbreak\ttab',
  'Aab{p0:String}',
  '\u0000nul',
];
const numbers = [-1, 0, 1, 7, 200, 500, 2 ** 31 - 1, -(2 ** 31)];
/** Values of doubles and 64-bit integers at their ends and between them. */
const edges = [2 ** 53, 2 ** 53 - 1, -(2 ** 53), 1e300, -1e300, Number.MAX_VALUE, Number.MIN_VALUE, 0.1 + 0.2, 0.3, 1 / 3, 0, -0];
const nanoseconds = [0, 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 2 ** 53 - 2, 7];
const tagLists = [[], ['prod'], ['prod', 'Été', 'ΟΔΥΣΣΕΥΣ'], ["it's", '100%'], ['PROD', 'prod']];
const time = (step: number) =>
  `2026-01-01T00:00:0${step % 10}.${String(step * 7919)
    .padStart(6, '0')
    .slice(0, 6)}Z`;
const pick = <T>(from: readonly T[], at: number): T => from[((at % from.length) + from.length) % from.length] as T;

/** Returns which row of a dataset a trace ran: of a dataset, of a list of records, or of none. */
const rowOf = (n: number) => ({
  dataset_row_id: n % 5 === 0 ? null : derivedId('record', n % 3),
  dataset_version: n % 3 === 0 ? pick([1, 7, 500], n) : null,
  dataset_row_ordinal: n % 5 === 0 ? null : pick([0, 1, 7, 2 ** 31 - 1], n),
  trial: n % 5 === 0 ? null : n % 2,
});

/** Forty records of all kinds, each in one to three versions of which the last one counts. */
function makeRecord(n: number, version: number): StoredRecord {
  const type = pick(recordKinds, n);
  const h = n * 31 + version * 7;
  const id = derivedId('record', n);
  const traceNumber = n - (n % 8) + 3; // the trace of each eight
  const traceId = derivedId('record', traceNumber);
  const span = isSpanKind(type);
  return {
    ...{ project_id: run.projectId, run_id: run.runId, id, type, version, created_at: time(n) },
    session_id: type === 'session' ? id : traceId,
    // Traces of the last eight are not stored.
    trace_id: type === 'session' ? null : type === 'trace' ? id : n >= 32 ? derivedId('stub', n % 2) : traceId,
    parent_id: span ? (n % 3 === 0 ? derivedId('record', n + 1) : traceId) : null,
    input: pick(texts, h),
    ...(h % 3 === 0 ? {} : { output: pick(texts, h + 5) }),
    name: pick(texts, h + 1),
    tags: pick(tagLists, h),
    status_code: h % 4 === 0 ? null : pick(numbers, h),
    external_id: h % 2 === 0 ? null : pick(texts, h + 2),
    step_number: span && h % 5 !== 0 ? pick(numbers, h + 3) : null,
    temperature: h % 2 === 0 ? null : h / 8,
    model: h % 3 === 1 ? null : pick(['gpt', 'GPT', 'Été'], h),
    updated_at: h % 3 === 2 ? null : time(h),
    trace_is_complete: type !== 'trace' || h % 2 === 0,
    user_metadata:
      h % 2 === 0 ? { lang: pick(texts, h), ...(h % 3 === 0 ? { "it's {p0:String}": pick(texts, h + 4) } : {}) } : {},
    dataset_metadata: h % 3 === 1 ? { '日本/語': pick(texts, h + 6) } : {},
    ...(type === 'trace' ? rowOf(n) : {}),
    metrics: h % 5 === 0 ? {} : { duration_ns: pick(nanoseconds, h) },
  };
}
const versions = (n: number) => 1 + (n % 3);
const newest = Array.from({ length: 40 }, (_, n) => makeRecord(n, versions(n)));
type Score = number | string | boolean | string[];
/** By metric, the scores of the records that have one; `before` is what an older version of the same score says. */
const scores: Record<string, (n: number) => { value: Score; before: Score } | undefined> = {
  toxicity: (n) => (n % 2 === 0 ? { value: n / 20, before: 1 - n / 20 } : undefined),
  "edge's": (n) => (n % 3 === 0 ? undefined : { value: pick(edges, n), before: 5 }),
  tone: (n) => (n % 4 === 0 ? undefined : { value: pick(texts, n), before: 'older' }),
  labels: (n) => (n % 3 === 1 ? undefined : { value: pick(tagLists, n), before: ['older'] }),
  polite: (n) => (n % 3 === 2 ? undefined : { value: n % 2 === 0, before: n % 2 === 1 }),
};
const scoreOf = (record: StoredRecord, metric: string) => scores[metric]?.(newest.findIndex(({ id }) => id === record.id));

const annotated = new Set(newest.filter((_, n) => n % 3 === 0).map(({ id }) => id));
const valueIn =
  (record: StoredRecord): ValueOf =>
  (columnId) => {
    if (columnId === 'fully_annotated') return annotated.has(record.id);
    const [holder, ...rest] = columnId.split('/');
    const key = rest.join('/');
    if (columnId === 'metrics/duration_ns') return record.metrics?.duration_ns as number | undefined;
    if (holder === 'metrics') return scoreOf(record, key)?.value;
    if (holder === 'user_metadata' || holder === 'dataset_metadata') return record[holder]?.[key];
    if (columnId === 'has_children')
      return record.type === 'session' ? undefined : newest.some((one) => one.parent_id === record.id);
    if (columnId === 'is_complete') {
      if (record.type === 'session') return undefined;
      return newest.find((one) => one.type === 'trace' && one.id === record.trace_id)?.trace_is_complete ?? false;
    }
    const value = (record as unknown as Record<string, unknown>)[columnId];
    return value === null || value === undefined ? defaults[columnId] : (value as string);
  };
const defaults: Record<string, string> = { input: '', name: '', progress_message: '', error_message: '' };

let tables: Awaited<ReturnType<typeof openRecordTables>>;
beforeAll(async () => {
  tables = await openRecordTables();
  // Each round of versions is a part of its own, the newest first: order of arrival must not matter. The first one is merged, so it has every index.
  for (const version of [3, 2, 1]) {
    const round = newest.flatMap((_, n) => (versions(n) >= version ? [makeRecord(n, version)] : []));
    await tables.store(round);
    if (version === 3) await tables.merge();
  }
  // Another run of the project, which no answer may show.
  await tables.store(newest.map((record) => ({ ...record, run_id: newId(), id: newId() })));
  for (const record of newest) {
    for (const metric of Object.keys(scores)) {
      const score = scoreOf(record, metric);
      if (score === undefined) continue;
      await tables.score(record, metric, { status_type: 'success', value: score.value }, 2);
      await tables.score(record, metric, { status_type: 'success', value: score.before }, 1);
    }
    // A score that failed is no value.
    await tables.score(record, 'tone', { status_type: 'failed', message: 'no' }, scoreOf(record, 'tone') ? 0 : 3);
  }
});
afterAll(() => tables[Symbol.asyncDispose]());

const textValue = fc.oneof(
  fc.constantFrom(...texts),
  fc.constantFrom('prod', 'gpt', 'A', 'é', '%', '_', '\\', 'rec'),
  fc.string({ unit: 'grapheme', maxLength: 3 }),
);
const someTexts = fc.oneof(textValue, fc.array(textValue, { maxLength: 4 }));
const number = fc.oneof(
  fc.constantFrom(...numbers),
  fc.integer({ min: -3, max: 9 }),
  fc.constantFrom(...edges, ...nanoseconds, -1e-300, 2 ** 53 + 2, -0),
);
const dates = fc.integer({ min: 0, max: 60 }).map(time);
const uuid = fc.oneof(
  fc.integer({ min: 0, max: 42 }).map((n) => derivedId('record', n)),
  fc.constantFrom('no uuid', derivedId('stub', 0).toUpperCase(), run.runId),
);
const caseSensitive = fc.option(fc.boolean(), { nil: undefined });
// Case folding of the engine and of JavaScript differ for a few letters (İ, ẞ, final sigma); texts without them show what the filter does.
const foldable = (text: string) => text.toLowerCase().length === text.length && !/[İıẞςΣKÅΩ]/u.test(text);

const leafFor = (column: ColumnDef): fc.Arbitrary<object> => {
  const of = (type: string, operators: string[], value: fc.Arbitrary<unknown>) =>
    fc.record({
      type: fc.constant(type),
      column_id: fc.constant(column.id),
      operator: fc.constantFrom(...operators),
      value,
      case_sensitive: caseSensitive,
    });
  switch (column.dataType) {
    case 'text':
      return of('text', ['eq', 'ne', 'contains', 'one_of', 'not_in'], someTexts).filter(({ value }) =>
        [value].flat().every((one) => foldable(one as string)),
      );
    case 'string_list':
      return of('collection', ['eq', 'contains', 'one_of', 'not_in'], someTexts).filter(({ value }) =>
        [value].flat().every((one) => foldable(one as string)),
      );
    case 'timestamp':
      return of('date', ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'], dates);
    case 'uuid':
      return fc.oneof(
        of('id', ['eq', 'ne', 'one_of', 'not_in'], fc.oneof(uuid, fc.array(uuid, { maxLength: 3 }))),
        of('id', ['contains'], fc.constantFrom('a', '-4', 'no', "'", run.runId)),
      );
    case 'boolean':
      return of('boolean', ['eq', 'ne'], fc.boolean());
    case 'integer':
    case 'floating_point':
      return fc.oneof(
        of('number', ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'], number),
        of('number', ['eq', 'ne'], fc.array(number, { maxLength: 4 })),
        of('number', ['between'], fc.tuple(number, number)),
      );
  }
};
const leaf = fc.oneof(fc.constantFrom(...columns).chain(leafFor), fc.constant({ type: 'fully_annotated' }));
const { tree: filterTree } = fc.letrec<{ tree: object; node: object }>((tie) => ({
  tree: fc.oneof({ maxDepth: 4, withCrossShrink: true }, leaf, tie('node')),
  node: fc.oneof(
    fc.record({ and: fc.array(tie('tree'), { maxLength: 3 }) }),
    fc.record({ or: fc.array(tie('tree'), { maxLength: 3 }) }),
    fc.record({ not: tie('tree') }),
    leaf.map((filter) => ({ filter })),
  ),
}));

/** The tree below as many combinators as the limit leaves room for. */
const deepTree = fc
  .tuple(
    filterTree,
    leaf,
    fc.array(fc.constantFrom('and', 'or', 'not', 'both', 'either'), { minLength: 1, maxLength: MAX_FILTER_DEPTH - 8 }),
  )
  .map(([tree, beside, above]) =>
    above.reduce<object>((inner, by) => {
      if (by === 'not') return { not: inner };
      if (by === 'both') return { and: [inner, beside] };
      return by === 'either' ? { or: [beside, inner] } : { [by]: [inner] };
    }, tree),
  );

const stored = (filter: Filter): Promise<ColumnFilter> =>
  withAnnotatedIds({ fullyAnnotated: async () => [...annotated] }, run, filter);
const query = (filter: ColumnFilter, rest: Partial<RecordPageQuery> = {}): RecordPageQuery => ({
  ...{ run, kinds: recordKinds, filter, findColumn, offset: 0, limit: 100 },
  ...rest,
});
const ids = (records: readonly { id: string }[]) => records.map(({ id }) => id).sort();

/** Pages of which the engine merges the versions, as it does where they are not known. */
const merging = () =>
  clickHouseRecordReads(
    tables.clickhouse,
    new (class extends RunVersions {
      override ofRecords = async () => ({ newest: byMerging });
    })(tables.clickhouse),
  );

/** A page's keys, once it was seen that the page with its records has the same, and the newest version of each. */
async function pageOf(of: RecordPageQuery) {
  const { keys, total } = await findKeys(tables.reads, of);
  const { records, ...page } = await tables.reads.readPage(of, 'all');
  expect({ ...page, total: await page.total }).toMatchObject({ keys, total });
  expect(await findKeys(merging(), of)).toMatchObject({ keys, total });
  if (records) expect(records).toEqual(await tables.reads.records(of.run, keys));
  return { keys, total, records };
}

const seenToFail: [object, readonly RecordKind[]][] = [
  [{ type: 'text', column_id: 'user_metadata/lang', operator: 'contains', value: ['', '', 'prod', ''] }, recordKinds],
];
const completeness = [true, false].flatMap((value) => {
  const leaf = { type: 'boolean', column_id: 'is_complete', operator: 'eq', value };
  return [leaf, { not: leaf }].map((filter): [object, readonly RecordKind[]] => [filter, ['trace']]);
});

const someKinds = fc.constantFrom<readonly RecordKind[]>(recordKinds, recordKinds, ['trace'], spanKinds, ['session']);

test.prop([fc.oneof({ weight: 4, arbitrary: filterTree }, { weight: 1, arbitrary: deepTree }), someKinds], {
  numRuns: propertyRuns(60),
  examples: [...seenToFail, ...completeness],
})(
  'ClickHouse and the in-memory reading of a filter agree',
  async (given, kinds) => {
    const filter = FilterExpression.parse(given);
    const wanted = newest.filter((record) => kinds.includes(record.type) && matchesFilter(filter, valueIn(record)));
    const { keys, total } = await pageOf(query(await stored(filter), { kinds }));
    expect(ids(keys)).toEqual(ids(wanted));
    expect(total).toBe(wanted.length);
    expect(await tables.reads.count(query(await stored(filter), { kinds }))).toBe(wanted.length);
  },
  PATIENCE_MS,
);

/** A tree that names few leaves, each many times: of columns that are derived as often as of the records' own. */
const derivedColumns = columns.filter(({ source, id }) => source.at !== 'record' || id === 'id' || id === 'trace_id');
const { tree: oftenNamed } = fc.letrec<{ tree: (pool: object[]) => object }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.nat().map((n) => (pool: object[]) => pool[n % pool.length] as object),
    fc
      .record({
        by: fc.constantFrom('and', 'or', 'not'),
        parts: fc.array(tie('tree'), { maxLength: 5 }),
      })
      .map(({ by, parts }) => (pool: object[]) => {
        const inner = parts.map((part) => part(pool));
        return by === 'not' ? { not: inner[0] ?? { or: [] } } : { [by]: inner };
      }),
  ),
}));
const leafPool = fc.array(fc.oneof(fc.constantFrom(...derivedColumns).chain(leafFor), leaf), { minLength: 1, maxLength: 5 });
const repetitive = fc.tuple(leafPool, oftenNamed).map(([pool, tree]) => tree(pool));

test.prop([repetitive, someKinds], { numRuns: propertyRuns(30) })(
  'a filter that names a leaf many times is answered as one that names it once',
  async (given, kinds) => {
    const filter = FilterExpression.parse(given);
    const wanted = newest.filter((record) => kinds.includes(record.type) && matchesFilter(filter, valueIn(record)));
    const twice = FilterExpression.parse({ and: [given, { or: [given, given] }, { not: { not: given } }] });
    const { keys, total } = await pageOf(query(await stored(twice), { kinds }));
    expect(ids(keys)).toEqual(ids(wanted));
    expect(total).toBe(wanted.length);
  },
  PATIENCE_MS,
);

test.prop([fc.oneof(repetitive, filterTree, deepTree)], { numRuns: 1_000 })(
  'the canonical form of a filter keeps the same records, and has no other canonical form',
  (given) => {
    const filter = FilterExpression.parse(given);
    fc.pre(!JSON.stringify(filter).includes('"fully_annotated"'));
    const canonical = canonicalFilter(filter as ColumnFilter);
    for (const record of newest) expect(matchesFilter(canonical, valueIn(record))).toBe(matchesFilter(filter, valueIn(record)));
    expect(canonicalFilter(canonical)).toEqual(canonical);
    expect(canonicalFilter({ or: [canonical, { and: [filter as ColumnFilter, canonical] }] })).toEqual(canonical);
  },
);

const sortable = columns.filter((column) => column.sortable);

// A boolean of the trace's own, which is another column than that of its spans.
const ofTraces = [1, 2].flatMap((limit) =>
  [true, false].flatMap((ascending) =>
    [true, false].map(
      (byCursor): Parameters<typeof concatenates> => [
        { not: { type: 'fully_annotated' } },
        sortable.find(({ id }) => id === 'is_complete') as ColumnDef,
        ...([ascending, limit, byCursor, ['trace']] as const),
      ],
    ),
  ),
);

test.prop([leaf, fc.constantFrom(...sortable), fc.boolean(), fc.integer({ min: 1, max: 17 }), fc.boolean(), someKinds], {
  numRuns: propertyRuns(14),
  examples: ofTraces,
})('pages concatenate to the whole: in order, without loss or repeat, by offset and by cursor', concatenates, PATIENCE_MS);

async function concatenates(
  given: object,
  column: ColumnDef,
  ascending: boolean,
  limit: number,
  byCursor: boolean,
  kinds: readonly RecordKind[],
): Promise<void> {
  const filter = await stored({ not: FilterExpression.parse(given) });
  const sort = { column, ascending };
  const whole = await pageOf(query(filter, { sort, kinds }));
  const paged: string[] = [];
  for (let page = 0; page * limit <= whole.total; page++) {
    const last = paged.at(-1);
    const from = byCursor && last !== undefined ? { after: last } : { offset: page * limit };
    const { keys, total } = await pageOf(query(filter, { sort, kinds, limit, ...from }));
    expect(total).toBe(whole.total);
    paged.push(...keys.map(({ id }) => id));
  }
  expect(paged).toEqual(whole.keys.map(({ id }) => id));

  const values = whole.keys.map(({ id }) => valueIn(newest.find((record) => record.id === id) as StoredRecord)(column.id));
  const present = values.filter((value) => value !== undefined);
  expect(values.slice(0, present.length)).toEqual(present); // those without a value come last, either way
  const order = present.map((value) => (typeof value === 'string' ? Buffer.from(value).toString('hex') : Number(value) + 0));
  const sorted = [...order].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  expect(order).toEqual(ascending ? sorted : sorted.reverse());
}

test('the newest page of each kind is newest first', async () => {
  for (const kind of recordKinds) {
    const { keys, total, records } = await pageOf(query({ and: [] }, { kinds: [kind], limit: 3 }));
    expect(records).toHaveLength(keys.length); // in one statement with their keys
    const wanted = newest.filter(({ type }) => type === kind).sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
    expect(keys.map(({ id }) => id)).toEqual(wanted.slice(0, 3).map(({ id }) => id));
    expect(total).toBe(wanted.length);
  }
});

test('the number of matches is exact where a page is read from a small part of a long run, merged or not', async () => {
  const long = { projectId: newId(), runId: newId() };
  const records = Array.from({ length: 6000 }, (_, n): StoredRecord => {
    const id = newId();
    const createdAt = `2026-02-01T00:${String(Math.floor(n / 60) % 60).padStart(2, '0')}:${String(n % 60).padStart(2, '0')}.000000Z`;
    return {
      ...{ project_id: long.projectId, run_id: long.runId, id, type: 'trace', created_at: createdAt, version: 1 },
      ...{ session_id: id, trace_id: id, input: `text ${n}`, name: n % 4 === 0 ? 'fourth' : 'other' },
    };
  });
  await tables.store(records.slice(0, 3500));
  await tables.store(records.slice(3000).map((record, n) => ({ ...record, version: n < 500 ? 2 : 1 }))); // 500 of them again
  const fourth = await stored(FilterExpression.parse({ type: 'text', name: 'name', operator: 'eq', value: 'fourth' }));
  const answers = async () => [
    (await findKeys(tables.reads, query({ and: [] }, { run: long, limit: 5 }))).total,
    (await findKeys(tables.reads, query(fourth, { run: long, limit: 5 }))).total,
    await tables.reads.count(query(fourth, { run: long })),
  ];
  expect(await answers()).toEqual([6000, 1500, 1500]);
  await tables.merge();
  expect(await answers()).toEqual([6000, 1500, 1500]);
});

test('900 equal leaves on what is derived are answered like one, in a run with many rewritten records', async () => {
  const rewritten = { projectId: newId(), runId: newId() };
  const records = Array.from({ length: 1_500 }, (_, n): StoredRecord => {
    const id = derivedId('rewritten', n);
    return {
      ...{ project_id: rewritten.projectId, run_id: rewritten.runId, id, type: n % 2 === 0 ? 'trace' : 'llm', version: 1 },
      ...{ created_at: time(n), session_id: id, trace_id: derivedId('rewritten', n - (n % 2)) },
    };
  });
  await tables.store(records);
  await tables.store(records.map((record, n) => ({ ...record, version: 2, trace_is_complete: n % 6 !== 0 })));
  const leaf = (column_id: string, value: boolean) => ({ type: 'boolean', column_id, operator: 'eq', value });
  const ask = async (filter: object) =>
    tables.reads.count(query(await stored(FilterExpression.parse(filter)), { run: rewritten, kinds: spanKinds }));
  const complete = Array.from({ length: 900 }, () => leaf('is_complete', true));
  expect(await ask({ or: complete })).toBe(500);
  expect(await ask({ and: complete.slice(0, 450).map((one) => ({ not: one })) })).toBe(250);
  const groups = complete
    .slice(0, 90)
    .map((one, n) => ({ or: [one, { type: 'text', column_id: 'name', operator: 'eq', value: `${n}` }] }));
  expect(await ask({ and: groups })).toBe(500);
  const more = groups.map((group) => ({ or: [{ and: [group, leaf('has_children', false)] }, leaf('has_children', true)] }));
  await expect(ask({ and: more })).rejects.toThrow(/different groups, and at most 100/);
});

test('a filter that asks for too much is refused before it runs, and the answer says what to reduce', async () => {
  const many = <T>(count: number, one: (n: number) => T) => Array.from({ length: count }, (_, n) => one(n));
  const ask = async (filter: object) => findKeys(tables.reads, query(await stored(FilterExpression.parse(filter))));
  const texts = (count: number, operator: string) => ({ type: 'text', column_id: 'name', operator, value: many(count, String) });
  await expect(ask(texts(1_001, 'contains'))).rejects.toThrow(/look for 1001 values in all, and at most 1000/);
  await expect(ask({ or: [texts(600, 'contains'), { not: texts(601, 'contains') }] })).rejects.toThrow(/look for 1201 values/);
  const ids = { type: 'id', column_id: 'id', operator: 'contains', value: many(10_000, String) };
  await expect(ask({ or: [ids, ids, ids] })).rejects.toMatchObject({ code: 'QueryTooExpensive' });
  await expect(ask({ or: many(21, (n) => ({ ...texts(10_000, 'one_of'), column_id: `user_metadata/${n}` })) })).rejects.toThrow(
    /lists have 210000 values/,
  );
  const scores = many(33, (n) => ({
    and: [
      { type: 'number', column_id: 'metrics/toxicity', operator: 'gt', value: n },
      { type: 'text', column_id: 'name', operator: 'eq', value: String(n) },
    ],
  }));
  await expect(ask({ or: scores })).rejects.toThrow(/33 different conditions/);
  // A text that is named twice counts once, and conditions on one metric are one.
  const found = await ask({ or: [texts(600, 'contains'), { not: texts(600, 'contains') }, ...scores.slice(1)] });
  expect(found.total).toBe(newest.length);
  const ranges = many(900, (n) => ({ type: 'number', column_id: 'metrics/toxicity', operator: 'gt', value: n }));
  expect((await ask({ or: ranges })).total).toBe((await ask(ranges[0] as object)).total);
  const wanted = newest.map(({ id }) => ({ type: 'id', column_id: 'id', value: id }));
  expect(
    (await ask({ or: [...wanted, ...many(200, (n) => ({ type: 'id', column_id: 'id', value: derivedId('no', n) }))] })).total,
  ).toBe(newest.length);
});
