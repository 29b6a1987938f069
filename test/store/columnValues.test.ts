import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { startSearchService } from '../support/searchService.ts';

let service: Awaited<ReturnType<typeof startSearchService>>;

beforeAll(async () => {
  service = await startSearchService();
  const traces = [
    service.record({ name: 'ask', tags: ['a', 'b', 'a'], user_metadata: { plan: 'free' }, status_code: 200 }),
    service.record({ name: 'ask', tags: ['b'], user_metadata: { plan: 'Paid', 'a/b': 'x' }, status_code: 500 }),
    service.record({ name: 'tell', tags: [], user_metadata: {}, dataset_metadata: { plan: 'x' } }),
    service.record({ name: '', user_metadata: { plan: 'x'.repeat(1_001) } }),
  ];
  const [first, second, third] = traces as [(typeof traces)[0], (typeof traces)[0], (typeof traces)[0]];
  await service.store([{ ...first, version: 0, name: 'replaced' }]);
  await service.store([...traces, service.record({ type: 'tool', name: 'calc', trace_id: first.id })]);
  const success = (value: unknown) => ({ status_type: 'success', value }) as never;
  await service.score(first, 'polite', success(true), 1);
  await service.score(second, 'polite', success(false), 1);
  await service.score(third, 'polite', success(true), 1);
  await service.score(first, 'tone', success('calm'), 1);
  await service.score(second, 'labels', success(['x', 'y']), 1);
  await service.score(second, 'length', success(2.5), 1);
});
afterAll(() => service[Symbol.asyncDispose]());

const values = async (column_id: string, more: object = {}, kind = 'traces') => {
  const { status, body } = await service.post(`${kind}/column_values`, { column_id, ...more });
  expect(status, JSON.stringify(body)).toBe(200);
  const shown = body.values.map((one: { value: unknown; count: number }) => [one.value, one.count]);
  return { shown, without: body.without_value, body };
};

test.each([
  [
    'name',
    [
      ['ask', 2],
      ['tell', 1],
    ],
    1,
  ],
  [
    'tags',
    [
      ['b', 2],
      ['a', 1],
    ],
    2,
  ],
  [
    'user_metadata/plan',
    [
      ['Paid', 1],
      ['free', 1],
    ],
    1,
  ],
  ['user_metadata/a/b', [['x', 1]], 3],
  ['user_metadata/nowhere', [], 4],
  [
    'status_code',
    [
      [200, 1],
      [500, 1],
    ],
    2,
  ],
  [
    'metrics/polite',
    [
      [true, 2],
      [false, 1],
    ],
    1,
  ],
  ['metrics/tone', [['calm', 1]], 3],
  [
    'metrics/labels',
    [
      ['x', 1],
      ['y', 1],
    ],
    3,
  ],
  ['metrics/length', [[2.5, 1]], 3],
  ['has_children', [[false, 4]], 0],
])('the values of %s are counted, the most frequent first', async (column, shown, without) => {
  expect(await values(column)).toMatchObject({
    shown,
    without,
    body: { num_records: 4, num_records_counted: 4, has_more: false },
  });
});

test('a filter, a text and a limit choose among them', async () => {
  const filters = [{ type: 'text', column_id: 'name', operator: 'eq', value: 'ask' }];
  expect(await values('status_code', { filters, limit: 1 })).toMatchObject({
    shown: [[200, 1]],
    body: { num_records: 2, has_more: true },
  });
  expect((await values('user_metadata/plan', { contains: 'PAI' })).shown).toEqual([['Paid', 1]]);
  expect((await values('name', { contains: '%' })).shown).toEqual([]);
  expect((await values('name', {}, 'spans')).shown).toEqual([['calc', 1]]);
  expect((await values('name', {}, 'sessions')).body).toMatchObject({ values: [], num_records: 0, without_value: 0 });
});

test('the keys of both metadata maps are columns', async () => {
  const { body } = await service.post('traces/metadata_keys', {});
  const columns = ['user_metadata/plan', 'dataset_metadata/plan', 'user_metadata/a/b'];
  expect(body.keys).toEqual(columns.map((column_id, n) => ({ column_id, count: n === 0 ? 3 : 1 })));
  expect(body).toMatchObject({ num_records: 4, num_records_counted: 4, has_more: false });
  expect((await service.post('traces/metadata_keys', { limit: 1 })).body).toMatchObject({ has_more: true });
});

test('a column that has no list of values is refused, and an unknown one with the closest', async () => {
  for (const column of ['input', 'output', 'created_at', 'metrics/num_output_tokens']) {
    const { status, body } = await service.post('traces/column_values', { column_id: column });
    expect([column, status]).toEqual([column, 422]);
    expect(body.detail[0]).toMatchObject({ loc: ['body', 'column_id'], type: 'column_values_invalid' });
  }
  const unknown = await service.post('traces/column_values', { column_id: 'nmae' });
  expect(unknown.status).toBe(422);
  expect(JSON.stringify(unknown.body)).toMatch(/closest.*name/);
  expect((await service.post('traces/column_values', { column_id: 'name', log_stream_id: newId() })).status).toBe(404);
});
