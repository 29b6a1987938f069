import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ModelEndpoint } from '../support/modelEndpoint.ts';
import { type Answer, fails, hangs, late, says, sends, startModelEndpoint } from '../support/modelEndpoint.ts';
import { modelAt, newExperiment } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

let service: TestService;
let project: TestProject;
let template: string;

beforeAll(async () => {
  service = await sharedTestService();
  project = await service.project();
  const { selected_version_id } = await service.client.send<{ selected_version_id: string }>('/templates', {
    body: { name: `ask ${newId()}`, template: '{{input}}' },
    query: { project_id: project.id },
  });
  template = selected_version_id;
});
afterAll(() => service?.[Symbol.asyncDispose]());

const questions = (count: number, word = 'q') => Array.from({ length: count }, (_, index) => ({ input: `${word} ${index}` }));
const experiment = (name: string) => newExperiment(service.client, project.id, { name });
const prompt = (model: string) => ({
  kind: 'prompt_template' as const,
  prompt_template_version_id: template,
  prompt_settings: { model_alias: model },
});

/** A model endpoint of this machine, and an integration for it with these limits. */
async function model(name: string, answer: Answer, limits?: Record<string, number>): Promise<ModelEndpoint & AsyncDisposable> {
  const endpoint = await startModelEndpoint();
  endpoint.otherwise(answer);
  await modelAt(service.client, name, endpoint.url, [name]);
  if (limits) {
    const all = await service.client.send<{ id: string; name: string }[]>('/integrations');
    const { id } = all.find((one) => one.name === name) as { id: string };
    await service.client.send(`/integrations/${id}/limits`, { method: 'PUT', body: limits });
  }
  return { ...endpoint, [Symbol.asyncDispose]: () => endpoint.close() };
}

describe('a provider that has too much', () => {
  const tooMuch = fails(429, {}, { 'retry-after': '6' });

  test.each(['model', 'http'] as const)(
    'is left alone by all lanes for as long as it says, and no row fails or lasts longer for it (%s)',
    async (kind) => {
      const ok = late(20, kind === 'model' ? says('fine') : sends(200, '{"output": "fine"}'));
      await using endpoint = await model(`busy ${kind}`.replace(' ', '-'), ok);
      endpoint.next(...Array.from({ length: 10 }, () => tooMuch));
      const arrived: number[] = [];
      endpoint.otherwise((request, response) => {
        arrived.push(performance.now());
        return ok(request, response);
      });
      const one = await experiment(`too much ${kind}`);
      const start = performance.now();
      await one.start({
        runner: kind === 'model' ? prompt('busy-model') : { kind: 'http', url: `${endpoint.url}/run` },
        records: questions(40),
        concurrency: 10,
        max_call_attempts: 1,
        row_time_limit_ms: 5_000,
      });
      expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 40, rows_failed: 0 });
      expect(Math.min(...arrived) - start).toBeGreaterThan(6_000);
      expect(endpoint.requests).toHaveLength(50);
      for (const { metrics } of await one.traces()) expect(Number(metrics.duration_ns)).toBeLessThan(5e9);
    },
  );

  test('is asked by fewer lanes afterwards', async () => {
    const ok = late(30, says('fine'));
    // Of the first answers: with each that succeeds there may be more again.
    const lanes = { now: 0, most: 0, calls: 0 };
    await using endpoint = await model('tired', async (request, response) => {
      lanes.now++;
      if (++lanes.calls <= 20) lanes.most = Math.max(lanes.most, lanes.now);
      await ok(request, response);
      lanes.now--;
    });
    endpoint.next(...Array.from({ length: 20 }, () => fails(529, {}, { 'retry-after-ms': '300' })));
    const one = await experiment('fewer lanes');
    await one.start({ runner: prompt('tired'), records: questions(60), concurrency: 20 });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_failed: 0 });
    expect(lanes.most).toBeLessThan(20);
  });

  test('that says "in an hour" does not keep a cancel waiting', async () => {
    const cancelled = async (name: string) => {
      await using endpoint = await model(name, fails(429, {}, { 'retry-after': '3600' }));
      const one = await experiment(name);
      await one.start({ runner: prompt(name), records: questions(30), concurrency: 10 });
      await expect.poll(() => endpoint.requests.length).toBeGreaterThan(0);
      await one.steer('cancel');
      const steered = performance.now();
      expect(await one.end()).toMatchObject({ state: 'cancelled', rows_done: 0 });
      expect(endpoint.requests.length).toBeLessThanOrEqual(10);
      return performance.now() - steered;
    };
    // Rows in flight would get 10 s each time; a machine that stalls may take as long once.
    let soonest = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < 4 && soonest >= 8_000; tries++) soonest = Math.min(soonest, await cancelled(`asleep-${tries}`));
    expect(soonest).toBeLessThan(8_000);
  });
});

describe('a quota that is used up', () => {
  test.each([
    ['type', fails(429, { error: { type: 'exceeded_current_quota_error', message: 'x' } }), /its quota or credit is used up/],
    ['text', fails(403, { error: { message: 'Out of call volume quota.' } }), /403 Forbidden: its quota or credit is used up/],
    ['wait', fails(429, {}, { 'retry-after': '10800' }), /it asks to wait until \d{4}-\d\d-\d\d \d\d:\d\d UTC/],
  ])('said by a %s pauses the run at once with the reason, and no row fails for it', async (kind, answer, reason) => {
    let isPaid = false;
    await using endpoint = await model(`broke-${kind}`, (request, response) =>
      (isPaid ? says('paid') : answer)(request, response),
    );
    endpoint.next(says('one'), says('two'));
    const one = await experiment(`broke ${kind}`);
    await one.start({ runner: prompt(`broke-${kind}`), records: questions(30), concurrency: 3 });
    const paused = await one.until(({ state }) => state === 'paused');
    expect(paused).toMatchObject({ message: expect.stringMatching(reason), rows_done: 2, rows_failed: 0 });
    expect(endpoint.requests.length).toBeLessThanOrEqual(5);
    isPaid = true;
    await one.steer('resume');
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 30, rows_failed: 0, message: null });
  });

  test('of a judge pauses the run, and its values are computed after a resume', async () => {
    let isPaid = false;
    const verdict = says('{"explanation": "fine", "verdict": true, "rating": 80}');
    const broke = fails(429, { error: { code: 'insufficient_quota' } });
    await using _judge = await model('broke-judge', (request, response) => (isPaid ? verdict : broke)(request, response));
    await using _model = await model('judged', says('fine'));
    const scorers = await service.client.send<{ scorers: { id: string; name: string }[] }>('/scorers/list', { body: {} });
    const { id } = scorers.scorers.find(({ name }) => name === 'correctness') as { id: string };
    const one = await newExperiment(service.client, project.id, {
      ...{ name: 'broke judge', scorers: [{ id, name: 'correctness', scorer_type: 'preset', model_name: 'broke-judge' }] },
    });
    await one.start({ runner: prompt('judged'), records: questions(3).map((row) => ({ ...row, output: 'fine' })) });
    const paused = await one.until(({ state }) => state === 'paused');
    expect(paused).toMatchObject({ message: expect.stringContaining('(insufficient_quota)') });
    isPaid = true;
    await one.steer('resume');
    expect(await one.end()).toMatchObject({ state: 'completed', scores_done: 3 });
    for (const { metric_info } of await one.traces()) expect(metric_info?.correctness).toMatchObject({ status_type: 'success' });
  });
});

test('a run that waits says for what and until when', async () => {
  let isSeen = false;
  const busy = fails(429, {}, { 'retry-after': '4' });
  await using _endpoint = await model('soon', (request, response) => (isSeen ? says('fine') : busy)(request, response));
  const one = await experiment('waits');
  await one.start({ runner: prompt('soon'), records: questions(3), concurrency: 1 });
  const waiting = await one.until(({ message }) => message !== null);
  isSeen = true;
  expect(waiting.state).toBe('running');
  expect(waiting.message).toMatch(
    /^the model endpoint answered 429 Too Many Requests; calls wait until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/,
  );
  expect(await one.end()).toMatchObject({ state: 'completed', rows_failed: 0, message: null });
});

test('a run that waits for a limit of its own says which and until when', async () => {
  await using _endpoint = await model('minutes', says('fine'));
  const one = await experiment('own limit');
  await one.start({ runner: prompt('minutes'), records: questions(30), limits: { requests_per_minute: 20 } });
  const waiting = await one.until(({ message }) => message !== null);
  expect(waiting.state).toBe('running');
  expect(waiting.message).toMatch(
    /^the limit of 20 requests per minute is used up; calls wait until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/,
  );
  await one.steer('cancel');
});

test('settings that the model is not sent are shown on the run, and what a model thought is kept apart', async () => {
  await using endpoint = await model('thinks', says('<think>\nhm\n</think>\n\nfine'));
  const one = await experiment('settings');
  const runner = {
    ...prompt('thinks'),
    prompt_settings: { model_alias: 'thinks', maxToken: 5, top_k: 3, max_tokens: 4096, seed: 1 },
  };
  await one.start({ runner, records: questions(1) });
  expect(await one.end()).toMatchObject({ settings_not_sent: ['maxToken', 'top_k'] });
  const { model: _model, messages: _messages, ...sent } = endpoint.requests[0]?.body ?? {};
  expect(sent).toEqual({ seed: 1 });
  const [trace] = await one.traces();
  expect(trace?.output).toBe('fine');
  const [span] = (await one.spans()) as unknown as { events: unknown }[];
  expect(span?.events).toEqual([expect.objectContaining({ type: 'reasoning', content: 'hm' })]);
  const open = await experiment('with reasoning');
  await open.start({
    runner: { ...runner, prompt_settings: { model_alias: 'thinks', include_reasoning: true } },
    records: questions(1),
  });
  expect(await open.end()).toMatchObject({ settings_not_sent: [] });
  expect((await open.traces())[0]?.output).toBe('<think>\nhm\n</think>\n\nfine');
});

test('a pause does not wait for rows that only wait, and none is lost', async () => {
  let works = false;
  const busy = fails(429, {}, { 'retry-after': '4' });
  await using endpoint = await model('resting', (request, response) => (works ? says('fine') : busy)(request, response));
  const one = await experiment('resting');
  await one.start({ runner: prompt('resting'), records: questions(30), concurrency: 10 });
  await expect.poll(() => endpoint.requests.length).toBeGreaterThan(0);
  await one.steer('pause');
  await one.until(({ state, rows_running }) => state === 'paused' && rows_running === 0);
  works = true;
  await one.steer('resume');
  expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 30, rows_failed: 0 });
});

describe('a provider that is down', () => {
  test.each([
    ['answers 500', fails(500)],
    ['refuses the key', fails(401)],
  ])('and %s pauses the run after 20 rows; resumed, it goes on', async (_what, down) => {
    let works = false;
    const name = `down-${_what.replaceAll(' ', '-')}`;
    await using endpoint = await model(name, (request, response) => (works ? says('up') : down)(request, response));
    const one = await experiment(name);
    await one.start({ runner: prompt(name), records: questions(60), concurrency: 5, max_call_attempts: 1 });
    await one.until(({ state }) => state === 'paused');
    const calls = endpoint.requests.length;
    expect(calls).toBeGreaterThanOrEqual(20);
    expect(calls).toBeLessThanOrEqual(25);
    works = true;
    await one.steer('resume');
    expect(await one.end()).toMatchObject({ state: 'completed', rows_done: 60, rows_failed: calls });
  });

  test('fails no run that is to go on whatever happens, and rows that are wrong themselves pause none', async () => {
    await using _down = await model('away', fails(500));
    await using _strict = await model('strict', fails(400));
    const [goesOn, wrong] = [await experiment('goes on'), await experiment('wrong rows')];
    const request = { records: questions(30), concurrency: 10, max_call_attempts: 1 };
    await goesOn.start({ ...request, runner: prompt('away'), pause_after_provider_failures: 0 });
    await wrong.start({ ...request, runner: prompt('strict') });
    for (const one of [goesOn, wrong]) expect(await one.end()).toMatchObject({ state: 'completed', rows_failed: 30 });
  });

  test('or never answers costs its row the time limit, once', async () => {
    await using endpoint = await model('silent', hangs);
    const one = await experiment('silent');
    await one.start({ runner: prompt('silent'), records: questions(3), row_time_limit_ms: 4_000 });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_failed: 3 });
    expect(endpoint.requests).toHaveLength(3);
  });
});

describe('limits', () => {
  test('of an integration are shared evenly by two runs, one of a hundred lanes and one of twenty', async () => {
    const ok = late(100, says('fine'));
    const areBoth = Promise.withResolvers<void>();
    const both = async (...[request, response]: Parameters<Answer>) => {
      await areBoth.promise;
      await ok(request, response);
    };
    await using endpoint = await model('shared', both, { concurrency: 4 });
    const [crowd, few] = [await experiment('crowd'), await experiment('few')];
    await crowd.start({ runner: prompt('shared'), records: questions(300, 'crowd'), concurrency: 100 });
    await expect.poll(() => endpoint.requests.length).toBe(4);
    // Far more lanes than the two calls of its share: a lane of a busy machine takes its time from one call to the next.
    await few.start({ runner: prompt('shared'), records: questions(60, 'few'), concurrency: 20 });
    await few.until(({ rows_running }) => rows_running === 20);
    areBoth.resolve();
    await Promise.all([crowd.end(), few.end()]);
    expect(endpoint.mostAtOnce()).toBe(4);
    const order = endpoint.requests.map(({ text }) => text.includes('few '));
    const between = order.slice(order.indexOf(true), order.lastIndexOf(true) + 1);
    const ofCrowd = between.filter((isFew) => !isFew).length;
    expect(ofCrowd).toBeGreaterThan(30);
    expect(ofCrowd).toBeLessThan(120); // an even share would be 60; without sharing it is all that is left of 300
  });

  test('per minute hold, and are no part of any duration', async () => {
    await using endpoint = await model('metered', says('fine'), { requests_per_minute: 120 });
    const one = await experiment('metered');
    const start = performance.now();
    await one.start({ runner: prompt('metered'), records: questions(15), concurrency: 15 });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_failed: 0 });
    expect(performance.now() - start).toBeGreaterThan(6_400); // two at once, then two to a second
    expect(endpoint.requests).toHaveLength(15);
    const durations = (await one.traces()).map(({ metrics }) => Number(metrics.duration_ns)).sort((one, other) => one - other);
    expect(durations[7]).toBeLessThan(1e9); // with the wait, half of them would have taken 3 s; a few may be slow themselves
  });

  test('of a run hold for it alone', async () => {
    await using endpoint = await model('free', late(200, says('fine')));
    const one = await experiment('gentle');
    await one.start({ runner: prompt('free'), records: questions(20), concurrency: 20, limits: { concurrency: 2 } });
    expect(await one.end()).toMatchObject({ state: 'completed', rows_failed: 0 });
    expect(endpoint.mostAtOnce()).toBe(2);
    const other = await experiment('as it was');
    endpoint.forgetMost();
    await other.start({ runner: prompt('free'), records: questions(40), concurrency: 20 });
    await other.end();
    expect(endpoint.mostAtOnce()).toBeGreaterThan(2);
  });
});
