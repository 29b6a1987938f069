import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogStream, recordIds, type ServiceClient } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

const SPANS = 12;
const traceId = newId();
let service: TestService;
let client: ServiceClient;
let projectId: string;
let run: { log_stream_id: string };

beforeAll(async () => {
  service = await sharedTestService();
  ({ client } = service);
  ({ id: projectId } = await service.project());
  run = { log_stream_id: (await createLogStream({ client, projectId, name: 'main' })).id };
  const spans = Array.from({ length: SPANS }, (_, n) => ({
    ...{ type: n % 3 === 0 ? 'llm' : 'tool', name: `step ${n}`, input: `question ${n}`, output: `the same ${n % 2}` },
    created_at: new Date(Date.UTC(2026, 1, 1, 0, (5 * n) % SPANS)).toISOString(),
  }));
  await client.send(`/projects/${projectId}/traces`, {
    body: { ...run, traces: [{ id: traceId, name: 'answer', input: 'q', spans }] },
  });
});
afterAll(() => service?.[Symbol.asyncDispose]());

const ask = (kind: string, what: string, body: object) =>
  client.send<{ ids: string[]; records: { id: string }[] }>(`/projects/${projectId}/${kind}/${what}`, {
    body: { ...run, ...body },
  });
const inTrace = { type: 'id', column_id: 'trace_id', operator: 'eq', value: traceId };
const same = { type: 'text', column_id: 'output', operator: 'contains', value: 'SAME 1', case_sensitive: false };

test.each([
  ['all', {}],
  ['those of a filter', { filter_tree: { and: [{ filter: inTrace }, { filter: same }] } }],
  ['in another order', { sort: { column_id: 'name', ascending: true } }],
  ['a page', { starting_token: 3, limit: 4 }],
  ['the last page', { starting_token: SPANS - 1, limit: 4 }],
  ['none of them', { limit: 0 }],
])('the ids are those that a search answers, in its order: %s', async (_, body) => {
  const { records, ...place } = await ask('spans', 'search', body);
  const { ids, ...placeOfIds } = await ask('spans', 'ids', body);
  expect(ids).toEqual(records.map(({ id }) => id));
  expect(placeOfIds).toEqual({ ...place, limit: 'limit' in body ? body.limit : 10_000 });
});

test('a page begins behind an id, as that of a search does', async () => {
  const { ids } = await ask('spans', 'ids', {});
  const body = { previous_last_row_id: ids[4], limit: 3 };
  const { records, ...place } = await ask('spans', 'search', body);
  expect(await ask('spans', 'ids', body)).toEqual({ ...place, ids: ids.slice(5, 8) });
  expect(records.map(({ id }) => id)).toEqual(ids.slice(5, 8));
});

test('the client has them, of each kind, and an unknown column is refused', async () => {
  const choice = { client, projectId, logStreamId: run.log_stream_id };
  expect(await recordIds(choice).all()).toEqual([traceId]);
  const { ids } = await ask('spans', 'ids', { filters: [same], sort: { column_id: 'name', ascending: true } });
  expect(ids).toHaveLength(SPANS / 2);
  const sorted = recordIds({ ...choice, kind: 'spans', filters: [same], sort: { column_id: 'name' } });
  expect(await sorted.all()).toEqual(ids);
  const wrong = recordIds({ ...choice, filters: [{ ...same, column_id: 'no such' }] });
  await expect(wrong.all()).rejects.toMatchObject({ status: 422 });
});
