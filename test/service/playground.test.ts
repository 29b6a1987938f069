import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  getPlaygroundLimits,
  type PlaygroundCallOptions,
  type PlaygroundEvent,
  playgroundCall,
  ServiceClient,
  setPlaygroundLimits,
} from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { PlaygroundCompleted, PlaygroundFailed, PlaygroundStarted } from '../../shared/wire/playground.ts';
import { beforeMidnight } from '../support/beforeMidnight.ts';
import {
  beginStream,
  endOfPieces,
  fails,
  type ModelEndpoint,
  pieceOf,
  says,
  startModelEndpoint,
  streams,
} from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let endpoint: ModelEndpoint;
/** Names of integrations are unique in the service, which other files have used. */
const integration = `play-${newId()}`;
const settings = { modelAlias: `${integration}/gpt-4o-mini` };
beforeAll(async () => {
  service = await sharedTestService();
  endpoint = await startModelEndpoint();
  await connect(integration, { endpoint: `${endpoint.url}/v1`, models: ['gpt-4o-mini', 'house-model'] });
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

async function connect(name: string, more: object): Promise<string> {
  const saved = await service.request('PUT', `/integrations/custom/${name}`, { authentication_type: 'none', ...more });
  expect(saved.status).toBe(200);
  return (saved.body as { id: string }).id;
}

const start = (projectId: string, options: PlaygroundCallOptions) =>
  playgroundCall({ client: service.client, projectId, settings, ...options });

/** All events of a call, with what its last one says. */
async function call(projectId: string, options: PlaygroundCallOptions) {
  const events: PlaygroundEvent[] = [];
  for await (const event of start(projectId, options)) events.push(event);
  const started = events[0]?.data as PlaygroundStarted;
  const names = events.map(({ event }) => event);
  const last = events.at(-1)?.data as PlaygroundCompleted & Partial<PlaygroundFailed>;
  return { started, names, last };
}

const post = (projectId: string, body: unknown, key = service.apiKey, signal?: AbortSignal) =>
  fetch(`${service.url}/v2/projects/${projectId}/playground_calls`, {
    ...{ method: 'POST', body: JSON.stringify(body), signal: signal ?? null },
    headers: { 'Service-API-Key': key, 'content-type': 'application/json' },
  });

interface Recorded {
  run_id: string;
  status_code: number;
  user_metadata: Record<string, string>;
  spans: { metrics: Record<string, number>; user_metadata: Record<string, string> }[];
}
const recorded = async (projectId: string, traceId: string): Promise<Recorded> =>
  (await service.request('GET', `/projects/${projectId}/traces/${traceId}`)).body as Recorded;

const streamsOf = async (projectId: string) =>
  (await service.request('GET', `/projects/${projectId}/log_streams`)).body as { id: string; name: string }[];

/** The next answer is written piece by piece, as the test says. @param begun what is written when the call comes */
function heldAnswer(begun?: string) {
  const response = Promise.withResolvers<ServerResponse>();
  const closed = Promise.withResolvers<void>();
  endpoint.next(async (_request, answer) => {
    beginStream(answer);
    if (begun !== undefined) answer.write(begun);
    response.resolve(answer);
    await once(answer, 'close');
    closed.resolve();
  });
  return {
    write: async (text: string) => void (await response.promise).write(text),
    end: async (text: string) => void (await response.promise).end(text),
    closed: closed.promise,
  };
}

/** Reads a trace as soon as its log stream has it: one search after the other, each of which takes its time. */
async function traceOf(projectId: string): Promise<Recorded> {
  for (;;) {
    const [stream] = await streamsOf(projectId);
    const found = await service.request('POST', `/projects/${projectId}/traces/search`, { log_stream_id: stream?.id });
    const [trace] = (found.body as { records: { id: string }[] }).records;
    if (trace) return recorded(projectId, trace.id);
  }
}

test('pieces come before the answer has ended, and the call is recorded with what it used and cost', async () => {
  const project = await service.project();
  const held = heldAnswer();
  const events = start(project.id, {
    template: [
      { role: 'system', content: 'You know {{place.country}}.' },
      { role: 'user', content: 'Order {{id}}: {{question}}' },
    ],
    variables: { place: { country: 'Norway' }, id: 12345678901234567890n, question: 'Why?', spare: null },
    settings: { ...settings, temperature: 0.5, spice: 3 },
  });
  const next = async () => (await events.next()).value as PlaygroundEvent;
  const { data: started } = (await next()) as { data: PlaygroundStarted };
  expect(started).toMatchObject({
    messages: [
      { role: 'system', content: 'You know Norway.' },
      { role: 'user', content: 'Order 12345678901234567890: Why?' },
    ],
    ...{ unused_variables: ['spare'], unsent_settings: ['spice'], model: 'gpt-4o-mini', integration },
  });
  await held.write(pieceOf({ content: 'Be' }));
  expect(await next()).toEqual({ event: 'delta', data: { text: 'Be', reasoning: '', tool_calls: [] } });
  await held.write(pieceOf({ content: 'cause' }));
  expect(await next()).toEqual({ event: 'delta', data: { text: 'cause', reasoning: '', tool_calls: [] } });
  await held.end(endOfPieces);
  const { event, data } = (await next()) as { event: string; data: PlaygroundCompleted };
  expect(event).toBe('completed');
  expect((await events.next()).done).toBe(true);
  expect(data).toMatchObject({
    ...{
      trace_id: started.trace_id,
      is_recorded: true,
      output: { role: 'assistant', content: 'Because' },
      finish_reason: 'stop',
    },
    ...{ num_input_tokens: 12, num_output_tokens: 3, num_cached_input_tokens: null, price_source: 'list', num_tries: 1 },
  });
  expect(data.cost).toBeCloseTo((12 * 0.15 + 3 * 0.6) / 1e6, 12);
  expect(data.time_to_first_token_ns).toBeGreaterThan(0);

  const trace = await recorded(project.id, started.trace_id);
  expect(trace).toMatchObject({
    ...{ run_id: started.log_stream_id, output: 'Because', status_code: 200, is_complete: true },
    spans: [
      {
        ...{ id: started.span_id, type: 'llm', model: 'real-name', temperature: 0.5, input: started.messages },
        output: { role: 'assistant', content: 'Because' },
        metrics: {
          ...{ num_input_tokens: 12, num_output_tokens: 3, cost: data.cost, duration_ns: data.duration_ns },
          time_to_first_token_ns: data.time_to_first_token_ns,
        },
      },
    ],
  });
  expect(trace.user_metadata.variables).toContain('"id":12345678901234567890');
  expect(JSON.parse(trace.user_metadata.settings as string)).toMatchObject({ temperature: 0.5, spice: 3 });
});

test('what cannot be called is refused before anything is paid, with the closest names', async () => {
  const project = await service.project();
  const asked = endpoint.requests.length;
  const refusal = async (body: object, status: number): Promise<string> => {
    const response = await post(project.id, { settings: { model_alias: settings.modelAlias }, ...body });
    expect(response.headers.get('content-type')).toContain('json');
    expect(response.status).toBe(status);
    return response.text();
  };
  const missing = await refusal(
    { template: 'Tell {{nam}} of {{input.citty}}', variables: { name: 'Eva', input: { city: 'Oslo' } } },
    422,
  );
  expect(missing).toContain('the closest is {{name}}');
  expect(missing).toContain('the closest is {{input.city}}');
  expect(missing).toContain('"loc":["body","variables"]');
  expect(await refusal({ template: 'x', settings: { model_alias: `${integration}/gpt-4o-min` } }, 422)).toContain('gpt-4o-mini');
  expect(await refusal({ template: 'x', temprature: 1 }, 422)).toContain('temprature');
  expect(await refusal({}, 422)).toContain('give a template');
  expect(await refusal({ template: [] }, 422)).toContain('template');
  expect(await refusal({ prompt_template_version_id: newId() }, 404)).toContain('version');
  expect(endpoint.requests).toHaveLength(asked);
  expect(await streamsOf(project.id)).toEqual([]);
});

test('a version of a prompt is called with its own text and settings, and the record names it', async () => {
  const project = await service.project();
  const made = await service.request('POST', `/templates?project_id=${project.id}`, {
    ...{ name: `explain-${project.id}`, template: 'Explain {{input}}' },
    settings: { model_alias: settings.modelAlias, temperature: 0 },
  });
  const { name, selected_version_id: promptTemplateVersionId } = made.body as { name: string; selected_version_id: string };
  const variables = { input: 'gravity' };
  const { started, last } = await call(project.id, { promptTemplateVersionId, variables, settings: undefined });
  expect(started.messages).toEqual([{ role: 'user', content: 'Explain gravity' }]);
  expect(endpoint.requests.at(-1)?.body).toMatchObject({ temperature: 0 });
  const { user_metadata: metadata } = await recorded(project.id, last.trace_id);
  expect(metadata).toMatchObject({
    prompt_template: name,
    prompt_template_version: '1',
    called_by: expect.stringContaining('@'),
  });
  expect(metadata).not.toHaveProperty('prompt_template_changed');
  const edited = await call(project.id, { promptTemplateVersionId, template: 'Tell me of {{input}}', variables });
  expect((await recorded(project.id, edited.last.trace_id)).user_metadata).toMatchObject({
    ...{ prompt_template_version_id: promptTemplateVersionId, prompt_template_changed: 'true' },
  });
});

test('first calls at the same time share one log stream, and a call after its deletion makes another', async () => {
  const project = await service.project();
  const calls = await Promise.all(Array.from({ length: 5 }, () => call(project.id, { template: 'x' })));
  const [stream, ...others] = await streamsOf(project.id);
  expect(others).toEqual([]);
  expect(new Set(calls.map(({ started }) => started.log_stream_id))).toEqual(new Set([stream?.id]));
  await service.request('DELETE', `/projects/${project.id}/log_streams/${stream?.id}`);
  const again = await call(project.id, { template: 'x' });
  expect(again.last.is_recorded).toBe(true);
  expect(await streamsOf(project.id)).toMatchObject([{ name: 'playground', id: again.started.log_stream_id }]);
});

test('a failure is told with its kind and its tries, and recorded; one that may pass is tried again before the first piece', async () => {
  const project = await service.project();
  endpoint.next(fails(503), streams(pieceOf({ content: 'now' }), endOfPieces));
  const passed = await call(project.id, { template: 'x' });
  expect(passed.names).toEqual(['started', 'delta', 'completed']);
  expect(passed.last).toMatchObject({ num_tries: 2, output: { content: 'now' } });
  expect((await recorded(project.id, passed.last.trace_id)).spans[0]?.user_metadata).toMatchObject({ tries: '2' });

  endpoint.next(fails(401, { error: { message: 'a secret' } }));
  const { names, last } = await call(project.id, { template: 'x' });
  expect(names).toEqual(['started', 'failed']);
  expect(last).toMatchObject({
    ...{ kind: 'unauthorized', status: 401, is_retriable: false, num_tries: 1, output: null, cost: null, is_recorded: true },
    detail: expect.stringContaining('answered 401'),
  });
  expect(await recorded(project.id, last.trace_id)).toMatchObject({
    ...{ status_code: 401, error_message: last.detail, spans: [{ type: 'llm', status_code: 401, error_message: last.detail }] },
  });

  endpoint.next(streams(pieceOf({ content: 'half' }), 'data: {"error":{"code":500}}\n\n'));
  const broken = await call(project.id, { template: 'x' });
  expect(broken.names).toEqual(['started', 'delta', 'failed']);
  expect(broken.last).toMatchObject({
    kind: 'http_error',
    status: 500,
    is_retriable: true,
    num_tries: 1,
    output: { content: 'half' },
  });
  expect(await recorded(project.id, broken.last.trace_id)).toMatchObject({ output: 'half', status_code: 500 });
});

test('who leaves cancels the call at its endpoint, and what had come is recorded', async () => {
  const project = await service.project();
  const held = heldAnswer(pieceOf({ content: 'so far' }));
  for await (const { event } of start(project.id, { template: 'x' })) if (event === 'delta') break;
  await held.closed;
  const trace = await traceOf(project.id);
  expect(trace).toMatchObject({
    ...{ output: 'so far', status_code: 499, tags: ['cancelled'], error_message: 'the caller cancelled the call' },
    spans: [{ output: { content: 'so far' }, tags: ['cancelled'] }],
  });
  // Counts come with the end of an answer: what they were is unknown, not 0.
  expect(trace.spans[0]?.metrics).not.toHaveProperty('num_output_tokens');
  expect(trace.spans[0]?.metrics).not.toHaveProperty('cost');

  const other = await service.project();
  const second = heldAnswer(pieceOf({ content: 'more' }));
  const left = new AbortController();
  const events: string[] = [];
  for await (const { event } of start(other.id, { template: 'x', signal: left.signal })) {
    events.push(event);
    if (event === 'delta') left.abort();
  }
  await second.closed;
  expect(events).toEqual(['started', 'delta']);
  expect(await traceOf(other.id)).toMatchObject({ output: 'more', status_code: 499 });
});

test('who loses the project meanwhile gets no more of the answer', async () => {
  const project = await service.project();
  const held = heldAnswer(pieceOf({ content: 'so far' }));
  const response = await post(project.id, { template: 'x', settings: { model_alias: settings.modelAlias } });
  expect((await service.request('DELETE', `/projects/${project.id}`)).status).toBeLessThan(300);
  expect(await response.text()).toMatch(/event: failed\ndata: \{.*"is_recorded":false.*"kind":"cancelled".*\}\n\n$/);
  await held.closed;
});

test('a login that ends meanwhile cuts off no answer', async () => {
  const project = await service.project();
  const login = await fetch(`${service.url}/v2/login/api_key`, {
    ...{ method: 'POST', body: JSON.stringify({ api_key: service.apiKey }) },
    headers: { 'content-type': 'application/json' },
  });
  const { access_token: token } = (await login.json()) as { access_token: string };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ template: 'x', settings: { model_alias: settings.modelAlias } });
  const ask = () => fetch(`${service.url}/v2/projects/${project.id}/playground_calls`, { method: 'POST', headers, body });
  const held = heldAnswer(pieceOf({ content: 'so far' }));
  const response = await ask();
  expect((await fetch(`${service.url}/v2/logout`, { method: 'POST', headers })).status).toBe(204);
  expect((await ask()).status).toBe(401);
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  // It comes with a look at whether the caller may still read.
  while (!text.includes(': nothing new')) text += (await reader.read()).value ?? '';
  await held.write(pieceOf({ content: ', and on' }));
  await held.end(endOfPieces);
  while (!text.includes('event: completed')) text += (await reader.read()).value ?? '';
  expect(text).toContain('"content":"so far, and on"');
});

test('an account has five calls at a time; one that ends makes room', async () => {
  const project = await service.project();
  const email = `play-${newId()}@example.com`;
  const password = 'Some-Password-1';
  expect((await service.request('POST', '/users', { email, password, role: 'admin' })).status).toBe(200);
  const headers = { authorization: `Basic ${btoa(`${email}:${password}`)}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ template: 'x', settings: { model_alias: settings.modelAlias } });
  const ask = () => fetch(`${service.url}/v2/projects/${project.id}/playground_calls`, { method: 'POST', headers, body });
  const held = Array.from({ length: 5 }, () => heldAnswer());
  const open = await Promise.all(held.map(() => ask()));
  expect(open.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  const refused = await ask();
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('10');
  expect(await refused.text()).toContain('5 playground calls open');
  for (const one of held) await one.end(endOfPieces);
  for (const one of open) expect(await one.text()).toContain('event: completed');
  endpoint.next(says('again'));
  expect(await (await ask()).text()).toContain('event: completed');
});

test('the limits of a project hold for everybody, say what is used, and free when a call ends or the day does', async () => {
  const { client } = service;
  const project = await service.project();
  const of = { client, projectId: project.id };
  const body = { template: 'x', settings: { model_alias: settings.modelAlias, max_tokens: 1_000 } };
  const ask = () => post(project.id, body);
  expect(await getPlaygroundLimits(of)).toMatchObject({
    ...{ most_calls: null, most_cost_per_day: null, left: { calls: null, cost: null } },
    used: { calls_now: 0, calls: 0, cost: 0, estimated_cost: 0, calls_without_cost: 0 },
  });
  // A call of 1 token and 1,000 of an answer may cost 0.00060015 dollars; 12 and 3 cost 0.0000036.
  await beforeMidnight(120_000);
  await setPlaygroundLimits({ ...of, mostCalls: 1, mostCostPerDay: 0.001 });
  const held = heldAnswer();
  const running = await ask();
  expect(await getPlaygroundLimits(of)).toMatchObject({
    used: { calls_now: 1, calls: 1, cost: 0.00060015, estimated_cost: 0.00060015 },
    left: { calls: 0, cost: 0.00039985 },
  });
  const crowded = await ask();
  expect([crowded.status, crowded.headers.get('retry-after')]).toEqual([429, '10']);
  expect(await crowded.text()).toContain('may have 1 call at once, and 1 run now: run this one when one of them has ended');
  await setPlaygroundLimits({ ...of, mostCalls: null, mostCostPerDay: 0.001 });
  const poor = await ask();
  expect(poor.status).toBe(429);
  expect(Number(poor.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await poor.text()).toMatch(/may cost \$0.001 a day \(UTC\): \$0.0006002 is used by 1 call, .*free again at 00:00 UTC/);
  await held.end(pieceOf({ content: 'done' }) + endOfPieces);
  await running.text();
  expect(await getPlaygroundLimits(of)).toMatchObject({
    used: { calls_now: 0, calls: 1, cost: 0.0000036, estimated_cost: 0 },
    left: { cost: 0.0009964 },
  });
  expect(await (await ask()).text()).toContain('event: completed');
  // A refused call costs nothing; a call that was broken off counts with its estimate.
  endpoint.next(fails(401));
  await (await ask()).text();
  expect((await getPlaygroundLimits(of)).used).toMatchObject({ calls: 3, cost: 0.0000069, estimated_cost: 0 });
  endpoint.next(streams(pieceOf({ content: 'half' }), 'data: {"error":{"code":500}}\n\n'));
  await (await ask()).text();
  expect((await getPlaygroundLimits(of)).used).toMatchObject({ calls: 4, cost: 0.00060705, estimated_cost: 0.00060015 });

  const unpriced = await post(project.id, { template: 'x', settings: { model_alias: `${integration}/house-model` } });
  expect(unpriced.status).toBe(422);
  expect(await unpriced.text()).toContain('no price is known of the model');
  await expect(setPlaygroundLimits({ ...of, mostCalls: 0, mostCostPerDay: null })).rejects.toMatchObject({ status: 422 });
  await expect(client.send(`/projects/${project.id}/playground_limits`, { method: 'PUT', body: {} })).rejects.toMatchObject({
    status: 422,
  });
});

test('the price of an integration counts before that of the list, and without one the cost is unknown', async () => {
  const project = await service.project();
  const name = `priced-${newId()}`;
  const id = await connect(name, { endpoint: `${endpoint.url}/v1`, models: ['house-model'] });
  const options = { template: 'x', settings: { modelAlias: `${name}/house-model` } };
  const unknown = await call(project.id, options);
  expect(unknown.last).toMatchObject({ cost: null, price_source: null, num_input_tokens: 12 });
  expect((await recorded(project.id, unknown.last.trace_id)).spans[0]?.metrics).not.toHaveProperty('cost');
  const prices = [{ model: 'house-model', input: 1, output: 2 }];
  expect((await service.request('PUT', `/integrations/${id}/prices`, { prices })).status).toBe(200);
  const { last } = await call(project.id, options);
  expect(last).toMatchObject({ price_source: 'integration', cost: (12 + 6) / 1e6 });
});

test('the limits of the integration hold for calls of the playground, and signs of life come while one waits', async () => {
  const project = await service.project();
  const name = `narrow-${newId()}`;
  const id = await connect(name, { endpoint: `${endpoint.url}/v1`, models: ['house-model'] });
  expect((await service.request('PUT', `/integrations/${id}/limits`, { concurrency: 1 })).status).toBe(200);
  const options = { template: 'x', settings: { modelAlias: `${name}/house-model` } };
  const held = heldAnswer(pieceOf({ content: 'first' }));
  const first = start(project.id, options);
  await first.next();
  await first.next();
  const asked = endpoint.requests.length;
  const second = await post(project.id, { template: 'y', settings: { model_alias: `${name}/house-model` } });
  const reader = (second.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes(': nothing new')) text += (await reader.read()).value ?? '';
  expect(text).toMatch(/^event: started\n.*\n\n: nothing new\n\n$/);
  expect(endpoint.requests).toHaveLength(asked);
  await held.end(endOfPieces);
  while (!text.includes('event: completed')) text += (await reader.read()).value ?? '';
  expect(endpoint.requests).toHaveLength(asked + 1);
  await first.return();
});

test('the right to call is one of owners and editors, which a project shows to who asks for it', async () => {
  const project = await service.project();
  const keyOf = async (project_role: string) =>
    (
      (await service.request('POST', '/users/api_keys', { description: 'x', project_id: project.id, project_role })).body as {
        api_key: string;
      }
    ).api_key;
  const shown = async (role: string, query: string) => {
    const client = new ServiceClient({ apiUrl: service.url, apiKey: await keyOf(role) });
    return (await client.send<{ permissions: { action: string; allowed: boolean }[] }>(`/projects/${project.id}${query}`))
      .permissions;
  };
  expect(await shown('editor', '?actions=use_playground')).toEqual([{ action: 'use_playground', allowed: true }]);
  expect(await shown('viewer', '?actions=use_playground')).toEqual([{ action: 'use_playground', allowed: false }]);
  // Programs that know the interface alone refuse actions that it does not list.
  expect((await shown('editor', '')).map(({ action }) => action)).not.toContain('use_playground');
  const body = { template: 'x', settings: { model_alias: settings.modelAlias } };
  const asked = endpoint.requests.length;
  for (const role of ['annotator', 'viewer']) {
    const refused = await post(project.id, body, await keyOf(role));
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain('use_playground');
  }
  expect(endpoint.requests).toHaveLength(asked);
  expect((await post(project.id, body, await keyOf('editor'))).status).toBe(200);
});
