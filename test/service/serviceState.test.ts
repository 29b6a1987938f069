import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServiceState } from '../../shared/wire/serviceState.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service[Symbol.asyncDispose]());

const DAY_MS = 86_400_000;

test('every part answers, each queue has the worker of this process, and the disk is measured', async () => {
  const state = await service.client.send<ServiceState>('/service_state');
  const { version } = await service.client.send<{ version: string }>('/healthcheck');
  expect(state).toMatchObject({ version, is_ready: true });
  expect(state.parts.map(({ id, is_embedded, answers }) => [id, is_embedded, answers])).toEqual([
    ['record_store', true, true],
    ['metadata_store', true, true],
    ['temporal', true, true],
    ['coordination', true, true],
  ]);
  for (const { latency_ms } of state.parts) expect(latency_ms).toBeGreaterThanOrEqual(0);
  expect(state.queues.map(({ name, workers }) => [name, workers])).toEqual([
    ['control', 1],
    ['rows', 1],
    ['scoring', 1],
    ['maintenance', 1],
  ]);
  expect(state.disk?.free_bytes).toBeGreaterThan(0);
  expect(state.disk?.free_bytes).toBeLessThanOrEqual(state.disk?.total_bytes ?? 0);
  const limits = new Map(state.limits.map((one) => [one.id, one]));
  expect(limits.get('bodies')).toMatchObject({ limit: 192 * 1024 ** 2, unit: 'bytes', setting: 'BODIES_MB' });
  for (const { used, limit } of state.limits) expect(used ?? 0).toBeLessThanOrEqual(limit);
});

test('what a retention would take is counted by the newest record of a trace, and not twice', async () => {
  const { id } = await service.project();
  const { client } = service;
  const { id: log_stream_id } = await client.send<{ id: string }>(`/projects/${id}/log_streams`, { body: { name: 'main' } });
  const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();
  const span = (days: number) => ({ type: 'tool', name: 'look', input: 'x', created_at: ago(days) });
  const traces = [
    { name: 'ancient', input: 'q', created_at: ago(90) },
    { name: 'old', input: 'q', created_at: ago(40), spans: [span(40), span(39)] },
    { name: 'kept by its span', input: 'q', created_at: ago(40), spans: [span(2)] },
    { name: 'new', input: 'q', created_at: ago(1) },
  ];
  await client.send(`/projects/${id}/traces`, { body: { log_stream_id, traces } });
  const effect = (retention_days: number) => client.send(`/projects/${id}/retention/effect`, { query: { retention_days } });
  expect(await effect(30)).toMatchObject({
    retention_days: 30,
    traces: 2,
    records: 4,
    oldest: expect.stringContaining(ago(90).slice(0, 10)),
  });
  expect(await effect(365)).toMatchObject({ traces: 0, records: 0, oldest: null });
  expect(await client.send(`/projects/${id}/retention`)).toMatchObject({ retention_days: null });
  await client.send(`/projects/${id}/retention`, { method: 'PUT', body: { retention_days: 60 } });
  expect(await effect(30)).toMatchObject({ traces: 1, records: 3 });
  await expect(effect(0)).rejects.toMatchObject({ status: 422 });
  await expect(effect(1.5)).rejects.toMatchObject({ status: 422 });
});

test('the state is for users: a key of a project does not see it', async () => {
  const { id } = await service.project();
  const { api_key } = await service.client.send<{ api_key: string }>('/users/api_keys', {
    body: { description: 'of the project', project_id: id },
  });
  const asked = await service.request('GET', '/service_state', undefined, { 'Service-API-Key': api_key });
  expect(asked.status).toBe(403);
});
