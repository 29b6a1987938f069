import { fc, test } from '@fast-check/vitest';
import { afterAll, beforeAll, expect } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { startRecordService } from '../support/recordService.ts';

/** Texts that would mean something if they ever reached a statement, a pattern, a map's key or a JSON writer as they are. */
const hostile = [
  "' OR 1=1 --",
  "'; DROP TABLE records; --",
  "\\'; TRUNCATE TABLE metric_values; --",
  '"; SELECT * FROM system.tables; --',
  "') UNION ALL SELECT * FROM records --",
  '/* */ FORMAT Null',
  '`id`',
  '{p0:String}',
  '{p99:Identifier}',
  '$1',
  '%',
  '_',
  '\\',
  '\\%',
  "\\\\'",
  "a'b",
  'a`b',
  'a"b',
  'a/b',
  'a//b',
  'a.b',
  'line\nbreak',
  'tab\there',
  'nul\u0000l',
  '\u2028',
  '💥',
  'ʼ; DROP TABLE records',
  'toString',
  'constructor',
  'SETTINGS max_execution_time=0',
];

/** 20 s on a machine that has nothing else to do. */
const PATIENCE_MS = 300_000;

let service: Awaited<ReturnType<typeof startRecordService>>;
let space: ReturnType<typeof service.space>;
/** By hostile text, the trace that holds it in every place. */
const holders = new Map<string, string>();

beforeAll(async () => {
  service = await startRecordService({});
  space = service.space();
  const traces = hostile.map((text, n) => {
    const id = newId();
    holders.set(text, id);
    return {
      ...{ id, name: text, input: text, output: `${text}${text}`, tags: [text, 'common'], external_id: text },
      ...{ user_metadata: { [text]: text, n: String(n) }, dataset_metadata: { [text]: text }, dataset_input: text },
      metrics: { [text]: n, [`${text} said`]: text },
    };
  });
  expect((await space.post('/traces', { traces })).status).toBe(200);
});
afterAll(() => service[Symbol.asyncDispose]());

const find = async (body: object, route = 'search') => {
  const answer = await space.post(`/traces/${route}`, { limit: 1000, ...body });
  expect(answer.status, JSON.stringify([body, answer.body]).slice(0, 600)).toBe(200);
  return answer.body.records as { id: string; metrics: Record<string, unknown> }[];
};
const idsOf = async (filter: object) => (await find({ filters: [filter] })).map(({ id }) => id).sort();
const idOf = (text: string) => holders.get(text) as string;
const holding = (part: string, of: (text: string) => string) =>
  hostile
    .filter((text) => of(text).includes(part))
    .map(idOf)
    .sort();
const text = fc.constantFrom(...hostile);

test.prop([text, fc.constantFrom('name', 'input', 'external_id', 'dataset_input')], { numRuns: 15 })(
  'as the value of a text filter it finds the texts that hold it, and nothing else',
  async (value, column_id) => {
    const leaf = { type: 'text', column_id, value };
    expect(await idsOf({ ...leaf, operator: 'eq' })).toEqual([idOf(value)]);
    expect(await idsOf({ ...leaf, operator: 'one_of', value: [value, 'x'] })).toEqual([idOf(value)]);
    expect(await idsOf({ ...leaf, operator: 'contains' })).toEqual(holding(value, (one) => one));
    expect(await idsOf({ ...leaf, operator: 'ne' })).toEqual(
      hostile
        .filter((one) => one !== value)
        .map(idOf)
        .sort(),
    );
    expect(await idsOf({ type: 'collection', name: 'tags', operator: 'contains', value: [value, 'common'] })).toEqual([
      idOf(value),
    ]);
  },
  PATIENCE_MS,
);

test.prop([text], { numRuns: 12 })(
  'as a key of a map or the name of a metric it is that column',
  async (name) => {
    for (const map of ['user_metadata', 'dataset_metadata']) {
      const leaf = { type: 'text', column_id: `${map}/${name}`, operator: 'eq', value: name };
      expect(await idsOf(leaf)).toEqual([idOf(name)]);
      expect(await idsOf({ ...leaf, operator: 'ne', value: 'other' })).toEqual([idOf(name)]);
    }
    const n = hostile.indexOf(name);
    expect(await idsOf({ type: 'number', name: `metrics/${name}`, operator: 'eq', value: n })).toEqual([idOf(name)]);
    expect(await idsOf({ type: 'text', name: `metrics/${name} said`, operator: 'eq', value: name })).toEqual([idOf(name)]);
    for (const column of [`metrics/${name}`, `user_metadata/${name}`]) {
      const sorted = await find({ sort: { column_id: column, ascending: true }, limit: 3 });
      expect(sorted[0]?.id).toBe(idOf(name));
      const behind = await find({ sort: { column_id: column, ascending: true }, limit: 3, previous_last_row_id: idOf(name) });
      expect(behind).toHaveLength(3);
    }
    const select_columns = { column_ids: [`metrics/${name}`, `user_metadata/${name}`], metric_columns_names: [`${name} said`] };
    const partial = await find({ select_columns, filters: [{ type: 'id', name: 'id', value: idOf(name) }] }, 'partial_search');
    expect(partial).toMatchObject([{ id: idOf(name), metrics: { [name]: n, [`${name} said`]: name } }]);
  },
  PATIENCE_MS,
);

const anywhere = fc.oneof(text, fc.string({ unit: 'binary', maxLength: 10 }));
test.prop([anywhere, anywhere, fc.constantFrom('filters', 'sort', 'select', 'id', 'cursor')], { numRuns: 80 })(
  'as a column, an id or an operator it is refused with its name, or is no column of any record; nothing breaks',
  async (name, value, where) => {
    const body = {
      filters: { filters: [{ type: 'text', column_id: name, operator: 'eq', value }] },
      sort: { sort: { column_id: name, ascending: true, sort_type: value } },
      select: { select_columns: { column_ids: [name, value], metric_columns_names: [value] } },
      id: { filters: [{ type: 'id', column_id: 'id', operator: 'one_of', value: [name, value] }] },
      cursor: { previous_last_row_id: name, filters: [{ type: 'text', column_id: 'name', operator: name, value }] },
    }[where];
    const { status } = await space.post(where === 'select' ? '/traces/partial_search' : '/traces/search', body);
    expect([200, 422]).toContain(status);
  },
  PATIENCE_MS,
);

test('afterwards everything is still there', async () => {
  expect(await find({})).toHaveLength(hostile.length);
  const deleted = await space.post('/traces/delete', {
    filters: [{ type: 'text', column_id: 'name', operator: 'eq', value: hostile[0] }],
  });
  expect(deleted.status).toBe(200);
  expect(await find({})).toHaveLength(hostile.length - 1);
});
