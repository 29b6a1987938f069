import { afterAll, beforeAll, expect, test } from 'vitest';
import { createExperiment, getRunSettings, type LiveProgress, liveProgress, runExperiment } from '../../client/index.ts';
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

/** A run of six rows, of which each waits until it is let go; rows three and four fail. */
async function heldRun(concurrency = 2) {
  const { id: projectId } = await service.project();
  const { client } = service;
  const rows = new Map(Array.from({ length: 6 }, (_, index) => [`row ${index}`, Promise.withResolvers<void>()]));
  const ended = runExperiment({
    ...{ client, projectId, experimentName: 'watched', concurrency, metrics: ['exact_match'] },
    dataset: [...rows.keys()].map((input) => ({ input, output: input })),
    async function(input: string) {
      await rows.get(input)?.promise;
      if (input === 'row 3' || input === 'row 4') throw new Error(`no answer after ${input.slice(4)}00 ms`);
      return input;
    },
  });
  const path = `/projects/${projectId}/experiments`;
  const idOf = async () => ((await service.request('GET', path)).body as { id: string }[])[0]?.id;
  await expect.poll(idOf).toBeDefined();
  const experimentId = (await idOf()) as string;
  return {
    ...{ client, projectId, experimentId, ended, path: `${path}/${experimentId}` },
    letGo(...indexes: number[]) {
      for (const index of indexes) rows.get(`row ${index}`)?.resolve();
    },
  };
}

async function until(events: AsyncGenerator<LiveProgress, void>, fits: (event: LiveProgress) => boolean): Promise<LiveProgress> {
  for (;;) {
    const { value, done } = await events.next();
    if (done || !value) throw new Error('the stream ended');
    if (fits(value)) return value;
  }
}

test('the client hears of rows, failures by cause, figures and states as they come, also when the run is started again', async () => {
  const run = await heldRun();
  const left = new AbortController();
  const events = liveProgress({ ...run, signal: left.signal });
  const first = await until(events, ({ rows_running }) => rows_running > 0);
  expect(first).toMatchObject({
    state: 'running',
    rows_done: 0,
    rows_total: 6,
    concurrency: 2,
    failures: [],
    seconds_left: null,
  });
  run.letGo(0, 1, 2);
  await until(events, ({ rows_done }) => rows_done === 3);
  const steer = (what: string, body: object = {}) => service.request('POST', `${run.path}/${what}`, body);
  expect((await steer('concurrency', { concurrency: 1 })).status).toBe(200);
  await until(events, ({ concurrency }) => concurrency === 1);
  expect((await steer('pause')).status).toBe(200);
  await until(events, ({ state }) => state === 'paused');
  expect((await steer('resume')).status).toBe(200);
  await until(events, ({ state }) => state === 'running');
  run.letGo(3, 4, 5);
  const end = await until(events, ({ state }) => state === 'completed');
  expect(end).toMatchObject({ rows_done: 6, rows_failed: 2, rows_running: 0, seconds_left: null });
  expect(end.failures).toEqual([
    {
      message: expect.stringMatching(/no answer after [34]00 ms/),
      ...{ status_code: expect.toSatisfy((code) => code === null || code >= 400), is_same: false, rows: 2 },
      examples: [3, 4].map((ordinal) => ({ trace_id: expect.any(String), dataset_row_ordinal: ordinal, trial: 0 })),
    },
  ]);
  expect(end.figures).toContainEqual({ metric: 'exact_match', figure: 1, values: 4 });
  const asked = await service.request('GET', `${run.path}/progress?failures=true`);
  expect((asked.body as LiveProgress).failures).toEqual(end.failures);
  await run.ended;

  const again = await steer('run', { rows_to_run: 'none' });
  expect(again.body).toMatchObject({ started: true });
  await until(events, ({ state, ended_at }) => state === 'completed' && ended_at !== end.ended_at);
  left.abort();
  expect((await events.next()).done).toBe(true);
});

test('a stream begins with the state, goes on from an event, and is refused as other reads are', async () => {
  const { id: projectId } = await service.project();
  const { id } = await createExperiment({ client: service.client, projectId, experimentName: 'idle' });
  const url = `${service.url}/projects/${projectId}/experiments/${id}/live_progress`;
  const key = { 'Service-API-Key': service.apiKey };
  const first = await openEvents(url, key);
  expect(first.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  await first.until(': nothing new');
  expect(first.text()).toMatch(
    /^retry: 2000\n\nid: [\w-]{22}\nevent: progress\ndata: \{.*"state":"idle".*\}\n\n: nothing new\n\n$/,
  );
  const seen = /^id: (.*)$/m.exec(first.text())?.[1] as string;
  const resumed = await openEvents(url, { ...key, 'last-event-id': seen });
  await resumed.until(': nothing new');
  expect(resumed.text()).toBe('retry: 2000\n\n: nothing new\n\n');
  expect((await fetch(url, { method: 'HEAD', headers: key })).status).toBe(200);
  expect((await openEvents(url.replace(id, newId()), key)).status).toBe(404);
  expect((await openEvents(url.replace(projectId, newId()), key)).status).toBe(404);
  expect((await openEvents(url, { 'Service-API-Key': 'wrong' })).status).toBe(401);

  expect((await service.request('DELETE', `/projects/${projectId}/experiments/${id}`)).status).toBe(204);
  await first.untilEnd();
  expect(first.text()).toMatch(/event: end\ndata: \{"status":404,"detail":"no experiment[^"]*"\}\n\n$/);
});

test('an account has ten streams at a time, of records and of runs together', async () => {
  const { id: projectId } = await service.project();
  const { id } = await createExperiment({ client: service.client, projectId, experimentName: 'idle' });
  const { headers } = await newAccount(service, 'admin');
  const open = (path: string) => openEvents(`${service.url}/projects/${projectId}/${path}`, headers);
  const ofRun = `experiments/${id}/live_progress`;
  const streams = await Promise.all(
    Array.from({ length: 10 }, (_, index) => open(index % 2 ? ofRun : `live_records?experiment_id=${id}`)),
  );
  expect(streams.map(({ status }) => status)).toEqual(Array(10).fill(200));
  const refused = await open(ofRun);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  streams[0]?.leave();
  await expect.poll(async () => (await open(ofRun)).status, { interval: 500 }).toBe(200);
});

test('the settings of a run say what runs its rows, how, and where Temporal shows it, and no secret', async () => {
  const { client } = service;
  const { id: projectId } = await service.project();
  const { id: experimentId } = await createExperiment({ client, projectId, experimentName: 'called' });
  const at = { client, projectId, experimentId };
  expect(await getRunSettings(at)).toMatchObject({ state: 'idle', workflow_id: null, workflow_url: null });
  const path = `/projects/${projectId}/experiments/${experimentId}`;
  const started = await service.request('POST', `${path}/run`, {
    runner: { kind: 'http', url: 'http://127.0.0.1:9/rows?key=secret', headers: { 'X-Key': 'secret' } },
    ...{ records: [{ input: 'a' }], concurrency: 3, max_call_attempts: 1, limits: { requests_per_minute: 60 }, trials: 2 },
  });
  expect(started).toMatchObject({ status: 200 });
  const settings = await getRunSettings(at);
  expect(settings).toMatchObject({
    ...{ row_count: 2, trials: 2, rows_to_run: 'missing', failed_rows: 'omit' },
    runner: { kind: 'http', url: 'http://127.0.0.1:9/rows', headers: ['X-Key'] },
    settings: { concurrency: 3, max_call_attempts: 1, limits: { requests_per_minute: 60, concurrency: null } },
  });
  expect(settings.workflow_url).toBe(
    `${service.temporalUiUrl}/namespaces/default/workflows/${encodeURIComponent(settings.workflow_id as string)}`,
  );
  expect(JSON.stringify(settings)).not.toContain('secret');
});
