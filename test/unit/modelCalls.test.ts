import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProvider } from '@pydantic/genai-prices';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Integration } from '../../shared/integrations/integration.ts';
import type { ModelCall, ModelCallError, ModelCaller } from '../../shared/modelCalls/modelCall.ts';
import { createOutboundGuard, type OutboundGuard } from '../../shared/outbound/outbound.ts';
import { builtinModels, findBuiltinModel } from '../../shared/providers/builtinModels.ts';
import type { CustomConfig } from '../../shared/providers/custom.ts';
import type { Secrets } from '../../shared/providers/provider.ts';
import { ExactNumber } from '../../shared/wire/exactNumber.ts';
import { runHandlerSteps } from '../support/handlerSteps.ts';
import { customIntegration, modelCallerOver } from '../support/modelCallers.ts';
import {
  type Answer,
  cutOff,
  fails,
  hangs,
  late,
  type ModelEndpoint,
  says,
  sends,
  startModelEndpoint,
} from '../support/modelEndpoint.ts';

let guard: OutboundGuard;
let endpoint: ModelEndpoint;
let tokenServer: ModelEndpoint;
let handlersDir: string;

beforeAll(async () => {
  handlersDir = await mkdtemp(join(tmpdir(), 'assay-handlers-'));
});
afterAll(async () => {
  await rm(handlersDir, { recursive: true });
});
beforeEach(async () => {
  endpoint = await startModelEndpoint();
  tokenServer = await startModelEndpoint();
  guard = createOutboundGuard({ allow: [endpoint, tokenServer].map(({ url }) => new URL(url).host), allowLoopback: true });
});
afterEach(async () => {
  await endpoint.close();
  await tokenServer.close();
  await guard.close();
});

const integration = (config: Partial<CustomConfig> = {}, secrets?: Secrets, name?: string): Integration =>
  customIntegration({ endpoint: `${endpoint.url}/v1`, ...config }, secrets, name);
const callerOf = (...integrations: Integration[]): ModelCaller => modelCallerOver(integrations, guard, handlersDir);

const quick = { maxAttempts: 3, minDelayMs: 10, maxDelayMs: 40 };
const callOf = (more: Partial<ModelCall> = {}): ModelCall => ({
  modelAlias: 'nick',
  messages: [{ role: 'user', content: 'hello' }],
  settings: {},
  context: {},
  signal: new AbortController().signal,
  retry: quick,
  ...more,
});
const failure = async (work: Promise<unknown>): Promise<ModelCallError> => {
  const err = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(err).toMatchObject({ name: 'ModelCallError' });
  return err as ModelCallError;
};
const outcomes = (of: { attempts: readonly { outcome: string; status?: number }[] }) =>
  of.attempts.map(({ outcome, status }) => (status === undefined ? outcome : `${outcome} ${status}`));

describe('a call', () => {
  test('sends the alias under its real name and gives back text, tokens, finish reason and duration', async () => {
    endpoint.next(late(60, says('four')));
    const answer = await callerOf(integration()).complete(callOf());
    expect(endpoint.requests[0]).toMatchObject({ method: 'POST', path: '/v1/chat/completions' });
    expect(endpoint.requests[0]?.body).toEqual({ model: 'real-name', messages: [{ role: 'user', content: 'hello' }] });
    expect(answer).toMatchObject({
      message: { role: 'assistant', content: 'four' },
      text: 'four',
      model: 'real-name',
      finishReason: 'stop',
      inputTokens: 12,
      outputTokens: 3,
      totalTokens: 15,
      cachedInputTokens: 4,
      costUsd: null,
    });
    expect(outcomes(answer)).toEqual(['ok 200']);
    expect(answer.durationNs).toBeGreaterThan(55e6);
    expect(answer.durationNs).toBeLessThan(2e9);
  });

  test('costs what the price list says, cached tokens once', async () => {
    const models = [{ name: 'gpt-4o', alias: 'nick', basedOn: null, supportedParameters: null }];
    const answer = await callerOf(integration({ models })).complete(callOf());
    expect(answer.costUsd).toBeCloseTo((8 * 2.5 + 4 * 1.25 + 3 * 10) / 1e6, 12);
  });

  test('claims no tokens where the endpoint counts none', async () => {
    endpoint.next(
      sends(200, JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'x' }, finish_reason: 'length' }] })),
    );
    const answer = await callerOf(integration()).complete(callOf());
    expect(answer).toMatchObject({
      text: 'x',
      finishReason: 'length',
      inputTokens: null,
      totalTokens: null,
      costUsd: null,
      model: 'real-name',
    });
  });

  test('keeps tool calls and multi-part messages as they are', async () => {
    const tool_calls = [{ id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }];
    const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }];
    endpoint.next(says('', { tool_calls }));
    const messages = [
      { role: 'system', content: 'be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        ],
      },
      { role: 'assistant', content: null, tool_calls },
      { role: 'tool', content: '2', tool_call_id: 'c1' },
    ];
    const answer = await callerOf(integration()).complete(callOf({ messages, settings: { tools, tool_choice: 'auto' } }));
    expect(endpoint.requests[0]?.body).toEqual({ model: 'real-name', messages, tools, tool_choice: 'auto' });
    expect(answer.message).toEqual({ role: 'assistant', content: '', tool_calls });
    expect(answer.finishReason).toBe('tool_calls');
  });

  test.each([
    ['/v1/', '/v1/chat/completions'],
    ['/v1/chat/completions', '/v1/chat/completions'],
    ['/v1/chat/completions/', '/v1/chat/completions'],
    ['/deep/base?api-version=1', '/deep/base/chat/completions?api-version=1'],
    ['', '/chat/completions'],
  ])('goes from the endpoint %j to %s', async (path, expected) => {
    await callerOf(integration({ endpoint: `${endpoint.url}${path}` })).complete(callOf());
    expect(endpoint.requests[0]?.path).toBe(expected);
  });

  test('waits for a free slot of its integration, and notes how long', async () => {
    endpoint.otherwise(late(50, says('ok')));
    const caller = callerOf(integration());
    const start = performance.now();
    const answers = await Promise.all(Array.from({ length: 12 }, () => caller.complete(callOf())));
    const wholeMs = performance.now() - start;
    expect(endpoint.mostAtOnce()).toBe(4);
    const waited = answers.flatMap(({ attempts }) => attempts[0]?.waited ?? []);
    expect(waited).toHaveLength(8);
    for (const { ms, reason } of waited) expect([reason, ms > 40]).toEqual(['slot', true]);
    // Waiting time is no part of the call. It is noted in whole milliseconds.
    for (const { durationNs, attempts } of answers)
      expect(durationNs / 1e6 + (attempts[0]?.waited?.ms ?? 0)).toBeLessThan(wholeMs + 1);
  });
});

describe('run settings', () => {
  // The settings that an existing client sends when its user gives none.
  const settings = {
    n: 1,
    echo: false,
    tools: null,
    top_k: 40,
    top_p: 1.0,
    logprobs: true,
    max_tokens: 256,
    model_alias: 'nick',
    temperature: 0.8,
    tool_choice: null,
    top_logprobs: 5,
    stop_sequences: ['END'],
    deployment_name: null,
    response_format: null,
    presence_penalty: 0.0,
    frequency_penalty: 0.0,
    reasoning_effort: 'low',
    verbosity: 'high',
  };
  const sent = async (model: Partial<NonNullable<CustomConfig['models']>[number]>) => {
    const models = [{ name: 'real-name', alias: 'nick', basedOn: null, supportedParameters: null, ...model }];
    await callerOf(integration({ models })).complete(callOf({ settings }));
    const { model: _model, messages: _messages, ...rest } = endpoint.requests.at(-1)?.body ?? {};
    return rest;
  };

  test('are cut to what any endpoint knows where the model says nothing', async () => {
    expect(await sent({})).toEqual({ temperature: 0.8, max_tokens: 256, stop: ['END'] });
  });
  test('are exactly the supported ones where the model lists them', async () => {
    expect(
      await sent({ supportedParameters: ['top_p', 'top_k', 'stop_sequences', 'logprobs', 'top_logprobs', 'model'] }),
    ).toEqual({
      top_p: 1,
      top_k: 40,
      stop: ['END'],
      logprobs: true,
      top_logprobs: 5,
    });
    expect(await sent({ supportedParameters: [] })).toEqual({});
  });
  test('follow the built-in model that the model is based on', async () => {
    expect(await sent({ basedOn: 'gpt-5.1' })).toEqual({
      max_completion_tokens: 256,
      reasoning_effort: 'low',
      verbosity: 'high',
    });
  });
});

describe('headers', () => {
  test('carry the API key, the own headers and the context, and nothing overrides the key', async () => {
    const caller = callerOf(
      integration(
        {
          authenticationType: 'api_key',
          apiKeyHeader: 'X-Api-Key',
          headerMapping: { job_id: 'X-Job', user_id: 'X-User', project_id: 'X-Project', run_id: 'X-Run' },
        },
        {
          apiKeyValue: 'k-123',
          headers: JSON.stringify({ 'X-Team': 'blue', 'x-api-key': 'other', 'Content-Type': 'text/plain' }),
        },
      ),
    );
    await caller.complete(callOf({ context: { jobId: 'j1', userId: 'u1', projectId: 'p1', runId: null } }));
    const { headers } = endpoint.requests[0] ?? {};
    expect(headers).toMatchObject({
      'x-api-key': 'k-123',
      'x-team': 'blue',
      'x-job': 'j1',
      'x-user': 'u1',
      'x-project': 'p1',
      'content-type': 'application/json',
    });
    expect(headers).not.toHaveProperty('x-run');
    expect(headers).not.toHaveProperty('authorization');
  });
});

describe('OAuth2 client credentials', () => {
  const oauth = (config: Partial<CustomConfig> = {}, token = 'the-id:the-secret') =>
    integration({ authenticationType: 'oauth2', oauth2TokenUrl: `${tokenServer.url}/token`, ...config }, { token });
  const grants = (access_token: string, expires_in = 3600) => fails(200, { access_token, token_type: 'Bearer', expires_in });
  const basic = `Basic ${Buffer.from('the-id:the-secret').toString('base64')}`;

  test.each([
    'the-id:the-secret',
    Buffer.from('the-id:the-secret').toString('base64'),
    JSON.stringify({ client_id: 'the-id', client_secret: 'the-secret' }),
  ])('in the form %s fetch one token, which many calls share', async (token) => {
    tokenServer.otherwise(late(30, grants('t-1')));
    const caller = callerOf(oauth({ authenticationScope: 'read write' }, token));
    await Promise.all([caller.complete(callOf()), caller.complete(callOf())]);
    await caller.complete(callOf());
    expect(tokenServer.requests).toHaveLength(1);
    expect(tokenServer.requests[0]).toMatchObject({ method: 'POST', path: '/token', headers: { authorization: basic } });
    expect(Object.fromEntries(new URLSearchParams(tokenServer.requests[0]?.text))).toEqual({
      grant_type: 'client_credentials',
      scope: 'read write',
    });
    expect(endpoint.requests.map((request) => request.headers.authorization)).toEqual(['Bearer t-1', 'Bearer t-1', 'Bearer t-1']);
  });

  test('are asked of the endpoint itself where no token URL is given', async () => {
    endpoint.next(grants('t-2'), says('ok'));
    await callerOf(oauth({ oauth2TokenUrl: null })).complete(callOf());
    expect(endpoint.requests.map((request) => request.path)).toEqual(['/v1', '/v1/chat/completions']);
    expect(endpoint.requests[1]?.headers.authorization).toBe('Bearer t-2');
  });

  test('fetch a new token when the old one has expired', async () => {
    tokenServer.next(grants('short', 0.2), grants('next'));
    const caller = callerOf(oauth());
    await caller.complete(callOf());
    await new Promise((resolve) => setTimeout(resolve, 220));
    await caller.complete(callOf());
    expect(endpoint.requests.map((request) => request.headers.authorization)).toEqual(['Bearer short', 'Bearer next']);
  });

  test('refresh once when the endpoint answers 401, and no more', async () => {
    let issued = 0;
    tokenServer.otherwise((request, response) => grants(`t-${++issued}`)(request, response));
    const caller = callerOf(oauth());
    endpoint.next(fails(401), says('again'));
    const answer = await caller.complete(callOf());
    expect(outcomes(answer)).toEqual(['unauthorized 401', 'ok 200']);
    expect(endpoint.requests.map((request) => request.headers.authorization)).toEqual(['Bearer t-1', 'Bearer t-2']);
    endpoint.otherwise(fails(401));
    const refused = await failure(caller.complete(callOf()));
    expect(outcomes(refused)).toEqual(['unauthorized 401', 'unauthorized 401']);
    expect(refused).toMatchObject({ permanent: true, status: 401 });
  });

  test('are posted in the form to servers that do not take Basic', async () => {
    tokenServer.next(fails(401, { error: 'invalid_client' }), grants('t-form'));
    await callerOf(oauth()).complete(callOf());
    expect(tokenServer.requests[1]?.headers).not.toHaveProperty('authorization');
    expect(Object.fromEntries(new URLSearchParams(tokenServer.requests[1]?.text))).toEqual({
      grant_type: 'client_credentials',
      client_id: 'the-id',
      client_secret: 'the-secret',
    });
  });

  test('that are wrong or missing fail the call for good, without a secret in the message', async () => {
    tokenServer.otherwise(fails(401, { error: 'the-secret is wrong' }));
    const wrong = await failure(callerOf(oauth()).complete(callOf()));
    expect(wrong.message).toBe('the OAuth2 token endpoint answered 401 Unauthorized');
    expect(wrong.permanent).toBe(true);
    expect((await failure(callerOf(oauth({}, 'no colon')).complete(callOf()))).message).toMatch(
      /must be client_id:client_secret/,
    );
    const none = integration({ authenticationType: 'oauth2' });
    expect((await failure(callerOf(none).complete(callOf()))).message).toMatch(/no OAuth2 client credentials/);
    expect(endpoint.requests).toHaveLength(0);
  });

  test('survive a token endpoint that is down for a moment', async () => {
    tokenServer.next(fails(503), cutOff, grants('t-3'));
    const answer = await callerOf(oauth()).complete(callOf());
    expect(outcomes(answer)).toEqual(['http_error 503', 'connection_error', 'ok 200']);
  });
});

describe('when the endpoint fails', () => {
  test('500s, timeouts and cut connections are tried again, each attempt recorded', async () => {
    endpoint.next(fails(500), cutOff, says('at last'));
    const answer = await callerOf(integration()).complete(callOf());
    expect(answer.text).toBe('at last');
    expect(outcomes(answer)).toEqual(['http_error 500', 'connection_error', 'ok 200']);
    for (const { startedAt, endedAt } of answer.attempts) expect(endedAt >= startedAt).toBe(true);
  });

  test('at a private address whose port the operator did not name, all failures are told alike', async () => {
    const told = [];
    for (const rules of [
      { allow: ['127.0.0.0/8'], allowLoopback: false },
      { allow: ['127.0.0.1'], allowLoopback: false },
    ]) {
      const quiet = createOutboundGuard(rules);
      const caller = modelCallerOver([integration()], quiet, handlersDir);
      const redirect: Answer = (_request, response) => void response.writeHead(302, { location: '/' }).end();
      for (const answer of [fails(405), fails(401), fails(500), cutOff, redirect, sends(200, 'no completion')]) {
        endpoint.otherwise(answer);
        const { message, status, attempts } = await failure(caller.complete(callOf()));
        told.push({ message, status, outcomes: [...new Set(outcomes({ attempts }))] });
      }
      const closed = modelCallerOver([integration({ endpoint: 'http://127.0.0.1:9/v1' })], quiet, handlersDir);
      const { message, status, attempts } = await failure(closed.complete(callOf()));
      told.push({ message, status, outcomes: [...new Set(outcomes({ attempts }))] });
      await quiet.close();
    }
    expect(new Set(told.map((one) => JSON.stringify(one)))).toEqual(
      new Set([JSON.stringify({ message: told[0]?.message, outcomes: ['connection_error'] })]),
    );
    expect(told[0]?.message).toContain('OUTBOUND_ALLOW');
  });

  test('attempts end at the limit, and the failure is not permanent', async () => {
    endpoint.otherwise(fails(502));
    const err = await failure(callerOf(integration()).complete(callOf()));
    expect(err).toMatchObject({ permanent: false, status: 502, message: 'the model endpoint answered 502 Bad Gateway' });
    expect(endpoint.requests).toHaveLength(3);
  });

  test.each([400, 401, 403, 404, 413, 422])('a %d is never tried again', async (status) => {
    endpoint.otherwise(fails(status));
    const err = await failure(callerOf(integration()).complete(callOf()));
    expect(err).toMatchObject({ permanent: true, status });
    expect(endpoint.requests).toHaveLength(1);
  });

  test('Retry-After is waited out, kept out of the duration, noted, and uses up no attempt', async () => {
    const limited = fails(429, {}, { 'retry-after': '1' });
    endpoint.next(limited, fails(429, {}, { 'retry-after': new Date(Date.now() + 3_000).toUTCString() }), says('patience'));
    const start = performance.now();
    const answer = await callerOf(integration()).complete(callOf({ retry: { ...quick, maxAttempts: 1 }, timeLimitMs: 1_800 }));
    expect(performance.now() - start).toBeGreaterThan(1_900);
    expect(outcomes(answer)).toEqual(['rate_limited 429', 'rate_limited 429', 'ok 200']);
    expect(answer.durationNs).toBeLessThan(1.8e9);
    expect(answer.attempts.map(({ waited }) => waited?.reason)).toEqual([undefined, 'overload', 'overload']);
    expect(answer.attempts[1]?.waited?.ms).toBeGreaterThan(950);
  });

  test('what one call is asked to wait all wait for, also of other callers, and a cancel ends the wait at once', async () => {
    endpoint.otherwise(fails(429, {}, { 'retry-after': '600' }));
    const caller = callerOf(integration());
    const cancel = new AbortController();
    const work = caller.complete(callOf({ signal: cancel.signal }));
    await expect.poll(() => endpoint.requests.length).toBe(1);
    await expect.poll(() => endpoint.atOnce()).toBe(0);
    const others = Array.from({ length: 20 }, () =>
      caller.complete(callOf({ signal: cancel.signal, context: { runId: 'other' } })),
    );
    await new Promise((resolve) => setTimeout(resolve, 100)); // long enough for a request that must not come
    cancel.abort(new Error('cancelled by the user'));
    for (const one of [work, ...others]) await expect(one).rejects.toThrow('cancelled by the user');
    expect(endpoint.requests).toHaveLength(1);
  });

  test.each([
    ['503 with Retry-After', fails(503, {}, { 'retry-after': '0' })],
    ['529', fails(529, {}, { 'retry-after-ms': '1' })],
    ["a provider's word for it", fails(500, { error: { type: 'overloaded_error' } }, { 'retry-after-ms': '1' })],
  ])('%s uses up no attempt', async (_name, overloaded) => {
    endpoint.next(overloaded, overloaded, says('calm'));
    const answer = await callerOf(integration()).complete(callOf({ retry: { ...quick, maxAttempts: 1 } }));
    expect(answer.text).toBe('calm');
  });

  test('a quota that is used up is no reason to wait', async () => {
    endpoint.otherwise(fails(429, { error: { code: 'insufficient_quota' } }));
    const err = await failure(callerOf(integration()).complete(callOf()));
    expect(err).toMatchObject({ permanent: true, isOfProvider: true, message: expect.stringContaining('(insufficient_quota)') });
    expect(endpoint.requests).toHaveLength(1);
  });

  test('an endpoint that refuses everything for hours fails the call', async () => {
    endpoint.otherwise(fails(429, {}, { 'retry-after-ms': '5' }));
    const err = await failure(callerOf(integration()).complete(callOf({ retry: { ...quick, maxRefusedMs: 500 } })));
    expect(err).toMatchObject({ status: 429, isOfProvider: true });
    expect(endpoint.requests.length).toBeGreaterThan(quick.maxAttempts);
  });

  test('an endpoint that never answers is given up at the time limit of the call, and no slow call is repeated for being slow', async () => {
    endpoint.otherwise(hangs);
    const err = await failure(callerOf(integration()).complete(callOf({ timeLimitMs: 100 })));
    expect(err).toMatchObject({ permanent: false, message: 'the model endpoint did not answer within 0.1 s' });
    expect(outcomes(err)).toEqual(['timeout']);
  });

  test.each([
    ['500', fails(500), true],
    ['401', fails(401), true],
    ['403', fails(403), true],
    ['404', fails(404), true],
    ['400', fails(400), false],
    ['an answer that is none', sends(200, 'hello'), false],
  ])('%s says that the provider failed: %s', async (_status, answer, isOfProvider) => {
    endpoint.otherwise(answer);
    expect((await failure(callerOf(integration()).complete(callOf()))).isOfProvider).toBe(isOfProvider);
  });

  test('a dead endpoint says so', async () => {
    const dead = await startModelEndpoint();
    await dead.close();
    const naming = createOutboundGuard({ allow: [new URL(dead.url).host], allowLoopback: true });
    const err = await failure(modelCallerOver([integration({ endpoint: dead.url })], naming).complete(callOf()));
    await naming.close();
    expect(err).toMatchObject({ permanent: false, message: 'the model endpoint could not be reached: connection refused' });
    expect(err.attempts).toHaveLength(3);
  });

  test.each([
    ['text', 'I am a web page'],
    ['an empty body', ''],
    ['no choices', '{"choices": []}'],
    ['another shape', '{"answer": "x"}'],
  ])('an answer that is %s is the row’s error', async (_name, text) => {
    endpoint.otherwise(sends(200, text));
    const err = await failure(callerOf(integration()).complete(callOf()));
    expect(err).toMatchObject({ permanent: true, message: "the model endpoint's answer is not a chat completion" });
    expect(endpoint.requests).toHaveLength(1);
  });

  test('nothing of what it sent, and no secret, is in the error', async () => {
    const caller = callerOf(
      integration(
        { authenticationType: 'api_key', apiKeyHeader: 'X-K' },
        { apiKeyValue: 'key-7731', headers: '{"x-h":"hdr-5512"}' },
      ),
    );
    endpoint.otherwise((request, response) =>
      fails(400, { error: { message: `you sent ${JSON.stringify(request.headers)}`, code: 'context_length_exceeded' } })(
        request,
        response,
      ),
    );
    const err = await failure(caller.complete(callOf()));
    expect(err.message).toBe('the model endpoint answered 400 Bad Request (context_length_exceeded)');
    const everything = `${err.stack} ${JSON.stringify(err)} ${String(err.cause)}`;
    for (const secret of ['key-7731', 'hdr-5512', 'you sent']) expect(everything).not.toContain(secret);
    endpoint.otherwise(fails(400, { error: { message: 'x', code: 'key-7731' } }));
    expect((await failure(caller.complete(callOf()))).message).toBe('the model endpoint answered 400 Bad Request');
  });

  test('a redirect to another place is not followed, and the key stays here', async () => {
    endpoint.otherwise((_request, response) => void response.writeHead(302, { location: `${tokenServer.url}/steal` }).end());
    const err = await failure(callerOf(integration()).complete(callOf()));
    expect(err.permanent).toBe(true);
    expect(err.message).toMatch(/redirects are not followed/);
    expect(tokenServer.requests).toHaveLength(0);
  });

  test('an address that is no longer allowed is refused at the call', async () => {
    const err = await failure(callerOf(integration({ endpoint: 'http://169.254.169.254/v1' })).complete(callOf()));
    expect(err).toMatchObject({ permanent: true });
    expect(err.message).toMatch(/request refused: .* never allowed/);
  });
});

describe('finding the model', () => {
  const known = (name: string, models: string[], defaultModel: string | null = null) =>
    integration(
      {
        models: models.map((one) => ({ name: `${one}-real`, alias: one, basedOn: null, supportedParameters: null })),
        defaultModel,
      },
      {},
      name,
    );
  const open = () => integration({ models: null }, {}, 'open');

  test.each([
    ['b', undefined, 'second', 'b-real'],
    ['b-real', undefined, 'second', 'b-real'],
    ['first', undefined, 'first', 'a-real'],
    ['second/a', undefined, 'second', 'a-real'],
    [null, 'second', 'second', 'b-real'],
    [undefined, undefined, 'first', 'a-real'],
    ['anything', 'open', 'open', 'anything'],
    ['anything', undefined, 'open', 'anything'],
    ['open/org/model', undefined, 'open', 'org/model'],
  ])('%j in %j is %s: %s', async (alias, name, integrationName, modelName) => {
    const caller = callerOf(known('first', ['a']), known('second', ['a', 'b'], 'b'), open());
    const found = await caller.resolveModel(alias, name);
    expect([found.integration.name, found.model.name]).toEqual([integrationName, modelName]);
  });

  test('a model whose integration was deleted a moment ago is refused, although calls under way may still find it', async () => {
    const stored = [known('first', ['a'])];
    const caller = modelCallerOver(stored, guard, handlersDir);
    await caller.complete(callOf({ modelAlias: 'a' }));
    stored.length = 0;
    await expect(caller.resolveModel('a')).rejects.toMatchObject({ code: 'ModelUnknown' });
  });

  test('a call that fails by what was known of an integration a moment ago is made by what was saved since', async () => {
    const gone = await startModelEndpoint();
    await gone.close();
    const before = customIntegration({ endpoint: `${gone.url}/v1` });
    const stored = [before];
    const local = createOutboundGuard({ allow: [endpoint, gone].map(({ url }) => new URL(url).host), allowLoopback: true });
    const caller = modelCallerOver(stored, local);
    const call = callOf({ retry: { ...quick, maxAttempts: 1 } });
    const refused = await failure(caller.complete(call));
    expect(outcomes(refused)).toEqual(['connection_error']);
    const config = { ...before.config, endpoint: `${endpoint.url}/v1` } as CustomConfig;
    stored[0] = { ...before, config, updatedAt: new Date(before.updatedAt.getTime() + 1) } as Integration;
    endpoint.next(says('mended'));
    const answer = await caller.complete(call);
    expect([answer.text, outcomes(answer), endpoint.requests.length]).toEqual(['mended', ['connection_error', 'ok 200'], 1]);
    await local.close();
  });

  test.each([
    ['FAST.MODEL', 'fast-model-real'],
    ['Fast Model Real', 'fast-model-real'],
    ['named/fast_model', 'fast-model-real'],
    ['GPT-4o mini', 'gpt-4o-mini'],
    ['GPT\u20114o \u2013 mini', 'gpt-4o-mini'],
    ['Mistral Large', 'mistral-large-latest'],
    ['openai/GPT 4.1 Nano', 'gpt-4.1-nano'],
    ['openai/gpt-4o-2024-08-06', 'gpt-4o-2024-08-06'],
    ['gpt-4o-mini-2024-07-18', 'gpt-4o-mini-2024-07-18'],
    ['OpenAI/GPT-4o Mini 2024-07-18', 'gpt-4o-mini-2024-07-18'],
    ['gpt-4.1-latest', 'gpt-4.1'],
    ['Mistral Large 2512', 'mistral-large-2512'],
    ['claude-sonnet-4-5-20250929', 'claude-sonnet-4-5-20250929'],
    ['claude-3-5-haiku-20241022', 'claude-3-5-haiku-20241022'],
    ['claude-sonnet-4-20250514', 'claude-sonnet-4-20250514'],
    ['Claude 3.5 Sonnet', 'claude-3-5-sonnet-latest'],
    ['Claude Sonnet 3.7', 'claude-3-7-sonnet-latest'],
    ['Named/Fast Model', 'fast-model-real'],
    ['a b', 'a b-real'],
    ['ab', 'ab-real'],
  ])('%j is %s in whatever spelling', async (alias, name) => {
    const provider = (named: 'openai' | 'mistral' | 'anthropic') =>
      ({ ...integration({}, {}, named), provider: named }) as Integration;
    const caller = callerOf(
      ...[provider('openai'), provider('mistral'), provider('anthropic'), known('named', ['fast-model', 'a b', 'ab'])],
    );
    const found = await caller.resolveModel(alias);
    expect(found.model.name).toBe(name);
    // Runs keep a model by this name.
    expect(await caller.resolveModel(`${found.integration.name}/${found.model.alias}`)).toEqual(found);
  });

  test('a snapshot takes the parameters of its model; an endpoint that lists its models has no other snapshots', async () => {
    const openai = { ...integration({}, {}, 'openai'), provider: 'openai' } as Integration;
    const { parameters } = (await callerOf(openai).resolveModel('gpt-5-2025-08-07')).model;
    expect(parameters).toMatchObject({ max_tokens: 'max_completion_tokens' });
    expect(parameters).not.toHaveProperty('temperature');
    for (const name of ['gpt-5-2025-13-07', 'gpt-5-2025-08-32', 'claude-3-5-haiku-20249922'])
      await expect(callerOf(openai).resolveModel(name), name).rejects.toMatchObject({ code: 'ModelUnknown' });
    await expect(callerOf(known('first', ['gpt-4o'])).resolveModel('gpt-4o-2024-08-06')).rejects.toMatchObject({
      code: 'ModelUnknown',
      message: 'no model "gpt-4o-2024-08-06" in any integration; closest are gpt-4o (first)',
    });
  });

  test('a spelling that fits two models is refused with both, one that fits the same model of two integrations is not', async () => {
    const caller = callerOf(known('first', ['a.b', 'c d']), known('second', ['ab', 'c d']));
    await expect(caller.resolveModel('A B')).rejects.toMatchObject({
      code: 'ModelUnknown',
      message: '"A B" may mean any of a.b (first), ab (second): spell one of them as it is',
    });
    await expect(caller.resolveModel('A B', 'first')).resolves.toMatchObject({ model: { alias: 'a.b' } });
    await expect(caller.resolveModel('C-D')).resolves.toMatchObject({ integration: { name: 'first' } });
  });

  test('no two built-in models are spelled alike, and each is found by its own name', () => {
    for (const model of builtinModels) expect(findBuiltinModel(model.name.toUpperCase().replaceAll('-', ' '))).toBe(model);
  });

  /** Matches the names in the price list that are not current chat models. */
  const beside = [
    // Other media, embeddings, models that a user has trained.
    /audio|image|realtime|transcribe|tts|voxtral|-live|omni|embed|moderation|whisper|ocr|:|\.ft-/,
    // Other interfaces than that of chat.
    /^(gpt|o\d).*-pro$|codex|deep-research|computer-use|search-preview|gpt-3.5-turbo-instruct/,
    // Open weights, which others host, and models of others.
    /^(gpt-oss|gemma|mixtral|mistral-7b|mistral-nemo|mistral-small-(24b|3\.)|pixtral-12b|devstral-small)/,
    // Retired.
    /^(ada|babbage|curie|davinci|text-davinci.*|gpt-3\.5-0301|gpt-3\.5-turbo-16k|gpt-4-(32k|vision.*)|gpt-4\.5-preview|o1-(mini|preview))$/,
    /^(chatgpt-4o|gpt-chat)-latest$|^claude-(v1|2|3-(haiku|sonnet|opus-latest))$/,
    /^(gemini-(1\..*|flash-1\.5.*|pro.*|2\.5-flash-preview)|mistral-(medium-2312|medium-3-1|saba|tiny)|ministral-[38]b)$/,
  ];
  /** A setting of a model, and a name of what is older. */
  const misnamed = ['o4 Mini High', 'Mistral Small 3.2'];

  test.each(['openai', 'anthropic', 'google', 'mistral'])(
    'the chat models of %s in the list of prices are built in, by id and by name',
    (providerId) => {
      const listed = (findProvider({ providerId })?.models ?? []).filter(
        ({ id }) => !beside.some((one) => one.test(id)) && (providerId !== 'google' || id.startsWith('gemini-')),
      );
      expect(listed.length).toBeGreaterThan(10);
      for (const { id, name = id } of listed) {
        const model = findBuiltinModel(id);
        expect(model, id).toMatchObject({ provider: providerId === 'google' ? 'vertex_ai' : providerId });
        if (!misnamed.includes(name)) expect(findBuiltinModel(name), name).toBe(model);
      }
    },
  );

  test('an unknown model or integration is refused with the closest ones', async () => {
    const caller = callerOf(known('first', ['a']), known('second', ['b']));
    await expect(caller.resolveModel('c')).rejects.toMatchObject({
      code: 'ModelUnknown',
      message: 'no model "c" in any integration; closest are a (first), b (second)',
    });
    await expect(callerOf(known('first', ['large', 'medium', 'small'])).resolveModel('smal')).rejects.toMatchObject({
      message: expect.stringContaining('closest are small (first), '),
    });
    const gateway = callerOf(known('gateways', ['gateway', 'gate-way']), known('gateway', ['qwen-max']));
    await expect(gateway.resolveModel('gateway/qwen-mx')).rejects.toMatchObject({
      message: expect.stringContaining('closest are qwen-max (gateway), '),
    });
    await expect(caller.resolveModel('a', 'second')).rejects.toMatchObject({ code: 'ModelUnknown' });
    await expect(caller.resolveModel('a', 'third')).rejects.toMatchObject({
      code: 'IntegrationNotFound',
      message: 'no integration "third"; known are first, second',
    });
    expect(await failure(caller.complete(callOf({ modelAlias: 'c' })))).toMatchObject({ permanent: true });
    await expect(callerOf().resolveModel('c')).rejects.toThrow(/no integration is configured yet/);
  });
});

describe('files', () => {
  const image = (bytes: number) => ({
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${Buffer.alloc(bytes).toString('base64')}` },
  });
  const withFiles = (...parts: { type: string }[]) => callOf({ messages: [{ role: 'user', content: parts }] });

  test('beyond the limits of multi_modal_config are refused before anything is sent', async () => {
    const caller = callerOf(integration({ multiModal: { maxFiles: 2, maxFileSizeBytes: 1_000 } }));
    await caller.complete(withFiles({ type: 'text' }, image(1_000), { type: 'text' }, image(1)));
    expect((await failure(caller.complete(withFiles(image(1), image(1), image(1))))).message).toMatch(/has 3 files.*at most 2/);
    expect((await failure(caller.complete(withFiles(image(1_001))))).message).toMatch(/has 1001 bytes.*at most 1000/);
    const audio = { type: 'input_audio', input_audio: { data: Buffer.alloc(1_001).toString('base64'), format: 'wav' } };
    expect((await failure(caller.complete(withFiles(audio)))).message).toMatch(/1001 bytes/);
    expect(endpoint.requests).toHaveLength(1);
  });
});

describe('a handler class', () => {
  const use = (fileName: string, className = 'Echo') => ({
    config: { endpoint: `${endpoint.url}/v1`, handler: { fileName, className } },
  });
  const imports = "import { CustomHandler } from 'assay/handler';";

  test('answers instead of the default call, and gets all a call has', async () => {
    const [first, second] = await runHandlerSteps(handlersDir, [
      {
        write: 'echo.ts',
        text: `import { CustomHandler, type HandlerCall } from 'assay/handler';
          export class Echo extends CustomHandler {
            calls = 0;
            async complete({ model, messages, parameters, headers, context, endpoint, fetch, signal }: HandlerCall) {
              this.calls++;
              const reply = await fetch(endpoint + '/echo', { method: 'POST', body: '{"model":"x"}', signal });
              const seen = [this.initKwargs.prefix, model, messages[0]?.content, parameters.temperature, headers['x-run'], context.runId, reply.status];
              return { content: [...seen, this.calls].join('|'), inputTokens: 5, outputTokens: 2, finishReason: 'stop' };
            }
          }`,
      },
      {
        config: { ...use('echo.ts').config, headerMapping: { run_id: 'X-Run' } },
        secrets: { initKwargs: '{"prefix":"p"}' },
        call: { settings: { temperature: 0.5 }, context: { runId: 'r1' } },
        times: 2,
      },
    ]);
    expect(first).toEqual({ text: 'p|real-name|hello|0.5|r1|r1|200|1', totalTokens: 7, attempts: ['ok'] });
    expect(second?.text).toBe('p|real-name|hello|0.5|r1|r1|200|2');
    expect(endpoint.requests.map((request) => request.path)).toEqual(['/v1/echo', '/v1/echo']);
  });

  test('gets numbers that no double holds as bigints, and may answer them in calls of tools', async () => {
    const id = '9007199254740993';
    const outcomes = await runHandlerSteps(handlersDir, [
      {
        write: 'exact.mjs',
        text: `${imports}
          export class Echo extends CustomHandler {
            async complete({ parameters: { tools: [{ maximum }] } }) {
              if (maximum !== ${id}n || this.initKwargs.account.id !== ${id}n) throw new Error(String(maximum));
              const sent = { id: 'c', type: 'function', function: { name: 'f', arguments: { maximum } } };
              return { content: '', toolCalls: [sent] };
            }
          }`,
      },
      {
        ...use('exact.mjs'),
        secrets: { initKwargs: `{"account":{"id":${id}}}` },
        call: { settings: { tools: [{ maximum: new ExactNumber(id) }] } },
      },
    ]);
    expect(outcomes).toMatchObject([
      { toolCalls: `[{"id":"c","type":"function","function":{"name":"f","arguments":{"maximum":${id}}}}]` },
    ]);
  });

  test('that cannot be loaded is named in the error', async () => {
    const outcomes = await runHandlerSteps(handlersDir, [
      { write: 'python.py', text: 'class Echo(CustomLLM): pass' },
      { write: 'broken.mjs', text: 'export class {' },
      { write: 'stranger.mjs', text: 'export class Echo { async complete() { return { content: "x" }; } }' },
      use('python.py'),
      use('missing.ts'),
      use('broken.mjs'),
      use('stranger.mjs'),
      use('stranger.mjs', 'Other'),
      use('../echo.ts'),
    ]);
    const expected = [
      /handler file python.py cannot be loaded: only .ts, .js, .mjs/,
      /missing.ts cannot be loaded: there is no such file/,
      /broken.mjs cannot be loaded: SyntaxError/,
      /Echo does not extend CustomHandler from assay\/handler/,
      /it exports no class Other/,
      /not a plain file name/,
    ];
    for (const [index, message] of expected.entries()) {
      expect(outcomes[index]).toMatchObject({ error: { name: 'ModelCallError', permanent: true }, attempts: ['handler_error'] });
      expect(outcomes[index]?.error?.message).toMatch(message);
    }
  });

  test('that throws fails its row without the secrets it was given, or is tried again where its status says so', async () => {
    const outcomes = await runHandlerSteps(handlersDir, [
      {
        write: 'throws.mjs',
        text: `${imports}
          let tries = 0;
          export class Leaks extends CustomHandler { async complete() { throw new Error('bad key ' + this.initKwargs.key.deep); } }
          export class Busy extends CustomHandler {
            async complete() { if (++tries < 3) throw Object.assign(new Error('x'), { status: 503 }); return { content: 'done' }; }
          }
          export class Mute extends CustomHandler { async complete() { return {}; } }
          export class Plain extends CustomHandler { async complete() { throw { code: 7, why: 'no reply' }; } }
          export class Hangs extends CustomHandler { complete() { return new Promise(() => {}); } }`,
      },
      { ...use('throws.mjs', 'Leaks'), secrets: { initKwargs: '{"key":{"deep":"s3cr3t"}}' } },
      use('throws.mjs', 'Busy'),
      use('throws.mjs', 'Mute'),
      { ...use('throws.mjs', 'Hangs'), call: { timeLimitMs: 50, retry: { maxAttempts: 1 } } },
      use('throws.mjs', 'Plain'),
    ]);
    expect(outcomes[4]?.error?.message).toBe('the handler Plain failed: {"code":7,"why":"no reply"}');
    expect(outcomes[0]?.error).toMatchObject({ permanent: true, message: 'the handler Leaks failed: Error: bad key [secret]' });
    expect(outcomes[1]).toMatchObject({ text: 'done', attempts: ['http_error', 'http_error', 'ok'] });
    expect(outcomes[2]?.error?.message).toMatch(/must answer an object/);
    expect(outcomes[3]).toMatchObject({ error: { permanent: false }, attempts: ['timeout'] });
  });

  test('that was changed is loaded again', async () => {
    const text = (word: string) =>
      `${imports} export class Echo extends CustomHandler { async complete() { return { content: '${word}' }; } }`;
    const outcomes = await runHandlerSteps(handlersDir, [
      { write: 'changing.mjs', text: text('before') },
      use('changing.mjs'),
      { write: 'changing.mjs', text: text('after') },
      use('changing.mjs'),
    ]);
    expect(outcomes.map((outcome) => outcome.text)).toEqual(['before', 'after']);
  });

  test('that loops, crashes or eats memory costs the calls that do it, and no other call of its integration', async () => {
    await writeFile(
      join(handlersDir, 'does.mjs'),
      `${imports}
        const held = [];
        export class Does extends CustomHandler {
          async complete({ messages }) {
            const what = messages[0].content;
            if (what === 'waits') await new Promise((resolve) => setTimeout(resolve, 300));
            if (what === 'loops') for (;;);
            if (what === 'stands') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // as held, at no cost of CPU
            if (what === 'crashes') process.exit(3);
            if (what === 'eats') for (;;) held.push(new Array(1e5).fill(Math.random()));
            return { content: what };
          }
        }`,
    );
    const config = { endpoint: `${endpoint.url}/v1`, handler: { fileName: 'does.mjs', className: 'Does' } };
    const caller = callerOf({ ...customIntegration(config), limits: { concurrency: 10 } });
    const ask = (content: string, timeLimitMs = 60_000) => {
      // Each try of a call that loops takes 10 s.
      const retry = { ...quick, maxAttempts: content === 'loops' ? 1 : quick.maxAttempts };
      return caller.complete(callOf({ messages: [{ role: 'user', content }], timeLimitMs, retry })).then(
        ({ text }) => text,
        ({ message }) => message,
      );
    };
    const asked = ['waits', 'loops', 'waits', 'crashes', 'waits', 'eats', 'waits'];
    expect(await Promise.all(asked.map((what) => ask(what)))).toEqual([
      ...['waits', 'the handler Does held its process for 10 s', 'waits', 'the handler Does brought its process down'],
      ...['waits', 'the handler Does brought its process down', 'waits'],
    ]);
    // Given up before its process is found to be held: the next call is not blamed for it.
    expect(await ask('stands', 200)).toMatch(/did not answer within/);
    expect(await ask('answers')).toBe('answers');
  });

  test('reads nothing of the service but what it is given', async () => {
    const text = `${imports} export class Echo extends CustomHandler { async complete() { return { content: JSON.stringify(process.env) }; } }`;
    const [outcome] = await runHandlerSteps(handlersDir, [{ write: 'environment.mjs', text }, use('environment.mjs')]);
    expect(Object.keys(JSON.parse(outcome?.text ?? ''))).toEqual(expect.not.arrayContaining(['PATH', 'HOME', 'VITEST']));
  });

  test('whose request is given up sees it end, and one whose request fails is told apart from one that fails itself', async () => {
    endpoint.otherwise(hangs);
    const text = `${imports}
      export class Echo extends CustomHandler {
        async complete({ endpoint, fetch }) {
          const reason = await fetch(endpoint, { signal: AbortSignal.timeout(50) }).catch((err) => err.name);
          return { content: reason };
        }
      }
      export class Closed extends CustomHandler {
        async complete({ fetch }) { return { content: await (await fetch('http://127.0.0.1:9/')).text() }; }
      }`;
    const outcomes = await runHandlerSteps(handlersDir, [
      { write: 'asks.mjs', text },
      use('asks.mjs'),
      { ...use('asks.mjs', 'Closed'), call: { retry: { maxAttempts: 1 } } },
    ]);
    expect(outcomes[0]?.text).toBe('TimeoutError');
    expect(outcomes[1]).toMatchObject({ error: { permanent: false }, attempts: ['connection_error'] });
  });
});
