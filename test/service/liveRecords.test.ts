import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServiceClient } from '../../client/http.ts';
import { type LiveRecords, liveRecords } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { newAccount } from '../support/authorization/callers.ts';
import { openEvents } from '../support/eventStream.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service?.[Symbol.asyncDispose]());

async function newRun(records = 0) {
  const project = await service.project();
  const { body } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
  const stream = (body as { id: string }).id;
  const log = async (count: number, more: object = {}) => {
    const traces = Array.from({ length: count }, () => ({ input: 'a', spans: [{ type: 'tool', input: 'b' }], ...more }));
    const answer = await service.request('POST', `/projects/${project.id}/traces`, { log_stream_id: stream, traces });
    expect(answer.status).toBe(200);
  };
  if (records > 0) await log(records);
  return { project: project.id, stream, log };
}

const open = (path: string, headers: Record<string, string> = { 'Service-API-Key': service.apiKey }) =>
  openEvents(`${service.url}${path}`, headers);

const liveOf = (run: { project: string; stream: string }) => `/projects/${run.project}/live_records?log_stream_id=${run.stream}`;

test('the client hears how many records came, and goes on from the event that it names', async () => {
  const run = await newRun(2);
  const options = { client: service.client, projectId: run.project, logStreamId: run.stream };
  const left = new AbortController();
  const events = liveRecords({ ...options, signal: left.signal });
  const next = async () => (await events.next()).value as LiveRecords;
  const first = await next();
  expect(first).toMatchObject({ num_new: { traces: 0, spans: 0 }, num_records: { traces: 2, spans: 2 } });
  await run.log(3);
  const second = await next();
  expect(second).toMatchObject({ num_new: { traces: 3, spans: 3 }, num_records: { traces: 5, spans: 5 } });
  const page = await service.request('POST', `/projects/${run.project}/traces/search`, { log_stream_id: run.stream, limit: 1 });
  expect(second.newest.traces).toBe((page.body as { records: { created_at: string }[] }).records[0]?.created_at);
  left.abort();
  expect((await events.next()).done).toBe(true);

  await run.log(1, { created_at: '2026-01-01T00:00:00Z' });
  for await (const event of liveRecords({ ...options, lastEventId: second.id })) {
    expect(event).toMatchObject({ num_new: { traces: 1, spans: 1 }, newest: { traces: second.newest.traces } });
    break;
  }
});

test('records that are changed are not new, those that are deleted are taken off, and what came since is', async () => {
  const run = await newRun(2);
  const live = await open(liveOf(run));
  await live.until('"num_records":{"traces":2');
  const found = await service.request('POST', `/projects/${run.project}/traces/search`, { log_stream_id: run.stream });
  const [trace] = (found.body as { records: { id: string }[] }).records;
  const changed = await service.request('PATCH', `/projects/${run.project}/traces/${trace?.id}`, {
    ...{ log_stream_id: run.stream, trace_id: trace?.id, output: 'changed' },
  });
  expect(changed.status).toBe(200);
  const filters = [{ type: 'id', column_id: 'id', operator: 'eq', value: trace?.id }];
  await service.request('POST', `/projects/${run.project}/traces/delete`, { log_stream_id: run.stream, filters });
  await live.until('"num_records":{"traces":1');
  expect(live.text()).not.toMatch(/"num_new":\{"traces":[1-9]/);
  await run.log(2);
  await live.until('"num_new":{"traces":2');
});

test('a stream is sent as it comes and in a form that nothing holds back', async () => {
  const run = await newRun(1);
  const live = await open(liveOf(run), { 'Service-API-Key': service.apiKey, 'accept-encoding': 'gzip, br' });
  expect(live.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(live.headers.get('content-encoding')).toBeNull();
  expect(live.headers.get('cache-control')).toBe('no-store, no-transform');
  await live.until(': nothing new');
  expect(live.text()).toMatch(/^retry: 2000\n\nid: 1-1-0\nevent: records\ndata: \{.*\}\n\n: nothing new\n\n$/);
  const head = await fetch(`${service.url}${liveOf(run)}`, { method: 'HEAD', headers: { 'Service-API-Key': service.apiKey } });
  expect(head.status).toBe(200);
});

test('a foreign project, an unknown run and no run are refused before a stream begins', async () => {
  const run = await newRun();
  const other = await newRun();
  const status = async (path: string, key = service.apiKey) => (await open(path, { 'Service-API-Key': key })).status;
  expect(await status(liveOf({ project: newId(), stream: run.stream }))).toBe(404);
  expect(await status(liveOf({ project: run.project, stream: other.stream }))).toBe(404);
  expect(await status(`/projects/${run.project}/live_records`)).toBe(422);
  expect(await status(liveOf(run), 'wrong')).toBe(401);
  const key = (await service.request('POST', '/users/api_keys', { description: 'x', project_id: other.project })).body as {
    api_key: string;
  };
  expect(await status(liveOf(run), key.api_key)).toBe(404);
});

test('a revoked key, a deleted run and a deleted project each end the stream and say why', async () => {
  const run = await newRun();
  const made = (await service.request('POST', '/users/api_keys', { description: 'x', project_id: run.project })).body as {
    id: string;
    api_key: string;
  };
  const ofKey = await open(liveOf(run), { 'Service-API-Key': made.api_key });
  const ofAdmin = await open(liveOf(run));
  await Promise.all([ofKey.until('event: records'), ofAdmin.until('event: records')]);
  expect((await service.request('DELETE', `/users/api_keys/${made.id}`)).status).toBeLessThan(300);
  await run.log(1); // the key may not read this any more
  await ofKey.untilEnd();
  expect(ofKey.text()).toMatch(/event: end\ndata: \{"status":401,"detail":"[^"]+"\}\n\n$/);
  expect(ofKey.text()).not.toContain('"num_new":{"traces":1');
  await ofAdmin.until('"num_new":{"traces":1');
  expect((await service.request('DELETE', `/projects/${run.project}/log_streams/${run.stream}`)).status).toBeLessThan(300);
  await ofAdmin.untilEnd();
  expect(ofAdmin.text()).toContain('event: end\ndata: {"status":404');

  const gone = await newRun();
  const ofGone = await open(liveOf(gone));
  await ofGone.until('event: records');
  expect((await service.request('DELETE', `/projects/${gone.project}`)).status).toBeLessThan(300);
  await ofGone.untilEnd();
  expect(ofGone.text()).toContain('event: end\ndata: {"status":404');
});

test('an account has ten streams at a time; one that ends makes room', async () => {
  const run = await newRun(1);
  const { token, headers } = await newAccount(service, 'admin');
  const streams = await Promise.all(Array.from({ length: 10 }, () => open(liveOf(run), headers)));
  expect(streams.map(({ status }) => status)).toEqual(Array(10).fill(200));
  const refused = await open(liveOf(run), headers);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  await refused.untilEnd();
  expect(refused.text()).toContain('this account has 10 live streams open');
  const client = new ServiceClient({ apiUrl: service.url, token: async () => token });
  const eleventh = liveRecords({ client, projectId: run.project, logStreamId: run.stream });
  await expect(eleventh.next()).rejects.toMatchObject({ status: 429 });
  expect((await open(liveOf(run))).status).toBe(200);
  streams[0]?.leave();
  await expect.poll(async () => (await open(liveOf(run), headers)).status, { interval: 500 }).toBe(200);
});
