import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogStream, listLogStreams, listProjects } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ExperimentResponse } from '../../shared/wire/experiments.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let projectId: string;
beforeAll(async () => {
  service = await sharedTestService();
  ({ id: projectId } = await service.project());
});
afterAll(() => service[Symbol.asyncDispose]());

const at = (hour: number) => `2026-03-01T${String(hour).padStart(2, '0')}:00:00.000000Z`;
const log = (run: object, traces: object[]) => service.client.send(`/projects/${projectId}/traces`, { body: { ...run, traces } });
const trace = (hour: number, id = newId()) => ({ id, name: 'one', input: 'a', created_at: at(hour) });
const newestOfStreams = async () =>
  Object.fromEntries(
    (await listLogStreams({ client: service.client, projectId, includeCounts: true }).all()).map((one) => [
      one.name,
      [one.num_traces, one.newest_record_at],
    ]),
  );
const newestOfProject = async () =>
  (await listProjects({ client: service.client, includeCounts: true }).all()).find(({ id }) => id === projectId)
    ?.newest_record_at;

test('lists say when the newest record of each run and project was made, through late ones, updates and deletions', async () => {
  const { client } = service;
  const [first, second] = await Promise.all(['first', 'second'].map((name) => createLogStream({ client, projectId, name })));
  await createLogStream({ client, projectId, name: 'empty' });
  expect(await newestOfProject()).toBeNull();
  const newest = trace(9);
  await log({ log_stream_id: first?.id }, [trace(3), newest]);
  await log({ log_stream_id: first?.id }, [trace(5)]);
  await log({ log_stream_id: second?.id }, [trace(4)]);
  expect(await newestOfStreams()).toEqual({ first: [3, at(9)], second: [1, at(4)], empty: [0, null] });
  expect(await newestOfProject()).toBe(at(9));

  await client.send(`/projects/${projectId}/traces/${newest.id}`, {
    method: 'PATCH',
    body: { log_stream_id: first?.id, trace_id: newest.id, output: 'late' },
  });
  expect((await newestOfStreams()).first).toEqual([3, at(9)]);
  await client.send(`/projects/${projectId}/traces/delete`, {
    body: { log_stream_id: first?.id, filters: [{ type: 'id', column_id: 'id', operator: 'eq', value: newest.id }] },
  });
  expect(await newestOfStreams()).toEqual({ first: [2, at(5)], second: [1, at(4)], empty: [0, null] });
  expect(await newestOfProject()).toBe(at(5));

  const withoutCounts = await listLogStreams({ client, projectId }).all();
  expect(withoutCounts.map((one) => [one.num_traces, one.newest_record_at])).toEqual([1, 2, 3].map(() => [null, null]));
});

test('a record that has expired is not the newest', async () => {
  const { id } = await service.project();
  const { client } = service;
  const stream = await createLogStream({ client, projectId: id, name: 'old' });
  const newest = async () => {
    const [one] = await listLogStreams({ client, projectId: id, includeCounts: true }).all();
    const project = (await listProjects({ client, includeCounts: true }).all()).find((it) => it.id === id);
    return [one?.newest_record_at, project?.newest_record_at];
  };
  await client.send(`/projects/${id}/traces`, { body: { log_stream_id: stream.id, traces: [trace(1)] } });
  expect(await newest()).toEqual([at(1), at(1)]);
  await client.send(`/projects/${id}/retention`, { method: 'PUT', body: { retention_days: 1 } });
  expect(await newest()).toEqual([null, null]);
});

test('a log stream and an experiment say what their caller may do with them', async () => {
  const experiment = await service.client.send<ExperimentResponse>(`/projects/${projectId}/experiments`, {
    body: { name: 'seen' },
  });
  await log({ experiment_id: experiment.id }, [trace(7)]);
  const seen = async (key: string, path: string) => {
    const answer = await fetch(`${service.url}/v2/projects/${projectId}${path}`, { headers: { 'Service-API-Key': key } });
    return (await answer.json()) as { newest_record_at?: string; permissions: { action: string; allowed: boolean }[] };
  };
  const allowed = async (key: string, path: string) =>
    (await seen(key, path)).permissions.flatMap((one) => (one.allowed ? [one.action] : []));
  const { api_key: viewer } = await service.client.send<{ api_key: string }>('/users/api_keys', {
    body: { description: 'sees', project_id: projectId, project_role: 'viewer' },
  });
  const [stream] = await listLogStreams({ client: service.client, projectId }).all();
  const actions = experiment.permissions.map(({ action }) => action);
  for (const path of [`/experiments/${experiment.id}`, `/log_streams/${stream?.id}`]) {
    expect(await allowed(service.apiKey, path)).toEqual(actions);
    expect(await allowed(viewer, path)).toEqual(['export_data']);
  }
  expect(await seen(viewer, `/experiments/${experiment.id}`)).toMatchObject({ newest_record_at: at(7) });
});
