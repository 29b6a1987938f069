import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ModelCall, ModelCallError } from '../../shared/modelCalls/modelCall.ts';
import { createOutboundGuard, type OutboundGuard } from '../../shared/outbound/outbound.ts';
import { customIntegration, modelCallerOver } from '../support/modelCallers.ts';
import { fails, type ModelEndpoint, says, sends, startModelEndpoint } from '../support/modelEndpoint.ts';

let guard: OutboundGuard;
let endpoint: ModelEndpoint;

beforeAll(async () => {
  endpoint = await startModelEndpoint();
  guard = createOutboundGuard({ allow: [new URL(endpoint.url).host], allowLoopback: true });
});
beforeEach(() => {
  endpoint.requests.length = 0;
  endpoint.otherwise(says('ok'));
});
afterAll(async () => {
  await endpoint.close();
  await guard.close();
});

type Body = Record<string, unknown>;
const callerOf = (...names: string[]) => {
  const models = names.map((name) => ({ name, alias: null, basedOn: null, supportedParameters: null }));
  return modelCallerOver([customIntegration({ endpoint: `${endpoint.url}/v1`, models })], guard);
};
const callOf = (more: Partial<ModelCall> = {}): ModelCall => ({
  modelAlias: 'model-x',
  messages: [{ role: 'user', content: 'hello' }],
  settings: {},
  context: {},
  signal: new AbortController().signal,
  retry: { maxAttempts: 3, minDelayMs: 5, maxDelayMs: 10 },
  ...more,
});
const ask = (more: Partial<ModelCall> = {}) => callerOf(more.modelAlias ?? 'model-x').complete(callOf(more));
const failureOf = async (work: Promise<unknown>): Promise<ModelCallError> => {
  const err = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(err).toMatchObject({ name: 'ModelCallError' });
  return err as ModelCallError;
};
const completes = (message: unknown, more: Body = {}, choice: Body = {}) =>
  sends(200, JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop', ...choice }], ...more }));

describe('what was paid for is read', () => {
  const call = (id: string, args: string) => [{ id, type: 'function', function: { name: 'add', arguments: args } }];
  test.each([
    ['no arguments', { tool_calls: [{ id: 'c', type: 'function', function: { name: 'add' } }] }, call('c', '{}')],
    ['null as arguments', { tool_calls: [{ id: 'c', function: { name: 'add', arguments: null } }] }, call('c', '{}')],
    [
      'an object as arguments',
      { tool_calls: [{ id: 'c', function: { name: 'add', arguments: { a: 1 } } }] },
      call('c', '{"a":1}'),
    ],
    ['a number as its id', { tool_calls: [{ id: 7, function: { name: 'add', arguments: '{}' } }] }, call('7', '{}')],
    ['no id', { tool_calls: [{ function: { name: 'add', arguments: '{}' } }] }, call('call_0', '{}')],
    ['the fields of a function beside its id', { tool_calls: [{ id: 'c', name: 'add', arguments: '{}' }] }, call('c', '{}')],
    ['the form before tools', { function_call: { name: 'add', arguments: '{"a":1}' } }, call('call_0', '{"a":1}')],
  ])('a tool call with %s', async (_what, message, tool_calls) => {
    endpoint.next(completes({ role: 'assistant', content: null, ...message }));
    expect((await ask()).message).toEqual({ role: 'assistant', content: '', tool_calls });
  });

  test.each([
    [
      'parts',
      [
        { type: 'text', text: 'fo' },
        { type: 'text', text: 'ur' },
      ],
      'four',
    ],
    ['an object', { type: 'text', text: 'four' }, 'four'],
    ['parts of another kind', [{ type: 'image', url: 'x' }], '[{"type":"image","url":"x"}]'],
    ['null', null, ''],
  ])('content that is %s', async (_what, content, text) => {
    endpoint.next(completes({ role: 'assistant', content }, { id: 12, created: 'today', object: null }));
    expect((await ask()).text).toBe(text);
  });

  test('a refusal is the answer, and is known as one', async () => {
    endpoint.next(completes({ role: 'assistant', content: null, refusal: 'I cannot help with that.' }));
    expect(await ask()).toMatchObject({ text: 'I cannot help with that.', refusal: 'I cannot help with that.' });
  });

  test('a refusal has log probabilities as an answer has', async () => {
    const logprobs = { content: null, refusal: [{ token: 'I', logprob: -0.5 }] };
    endpoint.next(completes({ content: null, refusal: 'I will not.' }, {}, { logprobs }));
    expect((await ask({ wantsLogProbabilities: true })).logProbabilities).toEqual([-0.5]);
  });

  test('what is spoken is read from its transcript', async () => {
    endpoint.next(completes({ role: 'assistant', content: null, audio: { id: 'a', data: 'AAAA', transcript: 'four' } }));
    expect(await ask()).toMatchObject({ text: 'four', message: { content: 'four' } });
  });

  const none = { inputTokens: null, outputTokens: null, totalTokens: null, cachedInputTokens: null, costUsd: null };
  test.each([
    ['texts', { prompt_tokens: '12', completion_tokens: '3' }, { inputTokens: 12, outputTokens: 3, totalTokens: 15 }],
    ['null', null, none],
    ['an empty object', {}, none],
    ['counts that are null', { prompt_tokens: null, completion_tokens: null, total_tokens: null }, none],
    ['words', { prompt_tokens: 'many', completion_tokens: -1 }, none],
    ['a list', [1, 2], none],
    ['one count', { prompt_tokens: 12 }, { inputTokens: 12, outputTokens: null, totalTokens: null, cachedInputTokens: null }],
    ['a sum and a part', { prompt_tokens: 12, total_tokens: 15 }, { inputTokens: 12, outputTokens: 3, totalTokens: 15 }],
    ['a sum alone', { total_tokens: 15 }, { inputTokens: null, outputTokens: null, totalTokens: 15 }],
    ['the names of Responses', { input_tokens: 12, output_tokens: 3 }, { inputTokens: 12, outputTokens: 3, totalTokens: 15 }],
    [
      "Anthropic's names, whose input leaves out the cache",
      { input_tokens: 2, output_tokens: 3, cache_read_input_tokens: 10, cache_creation_input_tokens: 5 },
      { inputTokens: 17, outputTokens: 3, cachedInputTokens: 10, cacheWriteTokens: 5 },
    ],
    [
      "DeepSeek's cache",
      { prompt_tokens: 12, completion_tokens: 3, prompt_cache_hit_tokens: 8 },
      { inputTokens: 12, cachedInputTokens: 8 },
    ],
    [
      'reasoning',
      { prompt_tokens: 12, completion_tokens: 9, completion_tokens_details: { reasoning_tokens: 6 } },
      { outputTokens: 9, reasoningTokens: 6 },
    ],
    [
      "xAI's reasoning, which its output leaves out",
      { prompt_tokens: 12, completion_tokens: 2, total_tokens: 331, completion_tokens_details: { reasoning_tokens: 317 } },
      { inputTokens: 12, outputTokens: 319, reasoningTokens: 317, totalTokens: 331 },
    ],
    [
      "Mistral's cache",
      { prompt_tokens: 12, completion_tokens: 3, num_cached_tokens: 8 },
      { inputTokens: 12, cachedInputTokens: 8 },
    ],
    [
      'a cache under another name',
      { prompt_tokens: 12, completion_tokens: 3, prompt_token_details: { cached_tokens: 8 } },
      { inputTokens: 12, cachedInputTokens: 8 },
    ],
  ])('usage that is %s', async (_what, usage, expected) => {
    endpoint.next(completes({ role: 'assistant', content: 'four' }, { usage }));
    expect(await ask()).toMatchObject({ text: 'four', ...expected });
  });

  test('usage beside the choices, as Google and Ollama name it', async () => {
    const usageMetadata = { promptTokenCount: 12, candidatesTokenCount: 3, thoughtsTokenCount: 2, totalTokenCount: 17 };
    endpoint.next(completes({ content: 'four' }, { usageMetadata }));
    expect(await ask()).toMatchObject({ inputTokens: 12, outputTokens: 5, reasoningTokens: 2, totalTokens: 17 });
    endpoint.next(completes({ content: 'four' }, { prompt_eval_count: 12, eval_count: 3 }));
    expect(await ask()).toMatchObject({ inputTokens: 12, outputTokens: 3 });
  });

  test.each([
    ['<think> around it', { content: '<think>\n2 and 2\n</think>\n\nfour' }, {}],
    ['</think> behind it', { content: '2 and 2\n</think>\n\nfour' }, {}],
    ['[THINK] around it', { content: '[THINK]2 and 2[/THINK]four' }, {}],
    ['reasoning_content', { content: 'four', reasoning_content: '2 and 2' }, {}],
    ['reasoning', { content: 'four', reasoning: '2 and 2' }, {}],
    [
      'reasoning_details',
      { content: 'four', reasoning_details: [{ type: 'reasoning.text', text: '2 and 2' }, { data: 'x' }] },
      {},
    ],
    [
      'parts of its own',
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: '2 and 2' }] },
          { type: 'text', text: 'four' },
        ],
      },
      {},
    ],
  ])('reasoning with %s is no part of the output', async (_what, message, choice) => {
    endpoint.next(completes({ role: 'assistant', ...message }, {}, choice));
    expect(await ask()).toMatchObject({ text: 'four', reasoning: '2 and 2', message: { content: 'four' } });
  });

  test('a thought that is cut off is no answer, and a text that speaks of the tag stays as it is', async () => {
    endpoint.next(completes({ content: '<think>2 and' }, {}, { finish_reason: 'length' }));
    expect(await ask()).toMatchObject({ text: '', reasoning: '2 and', finishReason: 'length' });
    const content = 'Close it with </think>, or write <think>x</think> again.';
    endpoint.next(completes({ content }));
    expect(await ask()).toMatchObject({ text: content, reasoning: null });
  });

  test.each([{ error: null }, { error: '' }, { error: {} }, { error: { code: 0, message: '' } }, { error: { code: 500 } }])(
    'an answer beside %j counts',
    async (beside) => {
      endpoint.next(completes({ content: 'four' }, beside));
      expect((await ask()).text).toBe('four');
    },
  );
});

describe('an error inside a 200', () => {
  test.each([
    ['a number', { error: { code: 429, message: 'slow down' } }],
    ['a text that is a number', { error: { code: '503' } }],
    ['a word', { error: { code: 'rate_limit_exceeded' } }],
    ['a type', { type: 'error', error: { type: 'overloaded_error', message: 'x' } }],
    ['a status', [{ error: { code: 503, status: 'UNAVAILABLE' } }]],
    ['an error of its choice', { choices: [{ finish_reason: 'error', error: { code: 502 }, message: { content: '' } }] }],
    ['a text', { error: 'server_error' }],
    ['a top-level code', { object: 'error', code: 500, message: 'x' }],
  ])('with %s that may pass is asked again', async (_what, body) => {
    endpoint.next(sends(200, JSON.stringify(body), { 'content-type': 'application/json', 'retry-after-ms': '5' }));
    expect((await ask()).text).toBe('ok');
    expect(endpoint.requests).toHaveLength(2);
  });

  test.each([
    ['a wrong key', { error: { code: 401 } }, 401],
    ['a wrong request', { error: { type: 'invalid_request_error' } }, 400],
    ['words alone', { error: 'something broke' }, undefined],
  ])('with %s fails the call', async (_what, body, status) => {
    endpoint.otherwise(sends(200, JSON.stringify(body)));
    const err = await failureOf(ask());
    expect(err).toMatchObject({
      permanent: true,
      message: expect.stringContaining('the model endpoint answered 200 with an error'),
    });
    expect(err.status).toBe(status);
    expect(endpoint.requests).toHaveLength(1);
  });

  test('finish_reason "error" is a failure, whatever text was written before', async () => {
    endpoint.otherwise(completes({ content: 'half an ans' }, {}, { finish_reason: 'error' }));
    expect((await failureOf(ask())).message).toBe('the model endpoint ended its answer with an error (finish_reason "error")');
  });
});

describe('a used-up quota', () => {
  const perDay = [{ violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }] }];
  test.each([
    ['a type', fails(429, { error: { type: 'insufficient_quota', code: null } })],
    ['a code', fails(429, { error: { code: 'billing_hard_limit_reached' } })],
    ["Moonshot's type", fails(429, { error: { type: 'exceeded_current_quota_error', message: 'x' } })],
    ['402', fails(402, { error: { message: 'Insufficient Balance' } })],
    [
      'a text of a 403',
      fails(403, { statusCode: 403, message: 'Out of call volume quota. Quota will be replenished in 2.00:00:00.' }),
    ],
    ['a text of a 400', fails(400, { error: { type: 'invalid_request_error', message: 'Your credit balance is too low' } })],
    [
      'usage limits of an account',
      fails(400, { error: { type: 'invalid_request_error', message: 'You have reached your specified API usage limits.' } }),
    ],
    ['a key with a limit', fails(403, { error: { code: 403, message: 'Key limit exceeded (total limit).' } })],
    ['free models of a day', fails(429, { error: { code: 429, message: 'Rate limit exceeded: free-models-per-day' } })],
    ['an account in arrears', fails(429, { error: { code: '1113', message: 'Your account is in arrears, please recharge.' } })],
    ['the same in Chinese', fails(429, { error: { code: '1113', message: '您的账户已欠费,请充值后重试' } })],
    ["a trial key's month", fails(429, { message: 'You are using a Trial key, which is limited to 1000 API calls / month.' })],
    ["Google's quota of a day", fails(429, [{ error: { code: 429, status: 'RESOURCE_EXHAUSTED', details: perDay } }])],
    ['a 200', sends(200, '{"error": {"code": "insufficient_quota"}}')],
    ['Retry-After of hours', fails(429, {}, { 'retry-after': '7200' })],
    ['Retry-After as a date', fails(503, {}, { 'retry-after': new Date(Date.now() + 10_000_000).toUTCString() })],
  ])('said by %s ends the call at once', async (_what, answer) => {
    endpoint.otherwise(answer);
    const err = await failureOf(ask());
    expect(err).toMatchObject({ permanent: true, isOfProvider: true, isExhausted: true });
    expect(err.message).toMatch(/its quota or credit is used up|it asks to wait until \d{4}-\d\d-\d\d \d\d:\d\d UTC/);
    expect(endpoint.requests).toHaveLength(1);
  });

  test("Google's quota of a minute is waited for as long as its answer says", async () => {
    const details = [{ violations: [{ quotaId: 'GenerateRequestsPerMinute' }] }, { retryDelay: '0.01s' }];
    const message = 'You exceeded your current quota, please check your plan and billing details.';
    endpoint.next(fails(429, [{ error: { code: 429, message, status: 'RESOURCE_EXHAUSTED', details } }]));
    expect((await ask({ retry: { maxAttempts: 1 } })).text).toBe('ok');
  });
});

describe('a field that the endpoint refuses', () => {
  /** Answers like an endpoint that knows none of these fields. */
  const knowsNo =
    (fields: Record<string, (value: unknown) => Body | undefined>) =>
    (...[request, response]: Parameters<ReturnType<typeof says>>) => {
      const refused = Object.entries(fields).flatMap(([field, refusal]) =>
        field in request.body ? (refusal(request.body[field]) ?? []) : [],
      )[0];
      return (refused ? fails(400, { error: refused }) : says('ok'))(request, response);
    };
  const maxTokens = () => ({
    ...{ code: 'unsupported_parameter', param: 'max_tokens' },
    message: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  });
  const temperature = () => ({
    message: "'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
  });
  const schema = (format: unknown) =>
    (format as Body).type === 'json_schema' ? { message: 'This response_format type is unavailable now' } : undefined;

  test('is sent under its other name, for rows too, and so from then on', async () => {
    endpoint.otherwise(knowsNo({ max_tokens: maxTokens }));
    const caller = callerOf('model-x');
    const settings = { max_tokens: 100 };
    expect((await caller.complete(callOf({ settings }))).adjustments).toEqual(['max_tokens is sent as max_completion_tokens']);
    await caller.complete(callOf({ settings }));
    expect(endpoint.requests.map(({ body }) => [body.max_tokens, body.max_completion_tokens])).toEqual([
      [100, undefined],
      [undefined, 100],
      [undefined, 100],
    ]);
  });

  test('is left out where it is only preferred, each once, and the answer says so', async () => {
    endpoint.otherwise(knowsNo({ temperature, response_format: schema, max_tokens: maxTokens }));
    const caller = callerOf('model-x');
    const format = { type: 'json_schema', json_schema: { name: 'verdict', schema: { type: 'object' } } };
    const call = callOf({ settings: { temperature: 0.2, max_tokens: 9, response_format: format }, mayLeaveOut: true });
    const notes = [
      'temperature is not sent',
      'response_format is json_object, without the schema',
      'max_tokens is sent as max_completion_tokens',
    ];
    expect((await caller.complete(call)).adjustments).toEqual(notes);
    expect(endpoint.requests).toHaveLength(4);
    expect((await caller.complete(call)).adjustments).toEqual(notes);
    expect(endpoint.requests).toHaveLength(5);
    expect(endpoint.requests.at(-1)?.body).toMatchObject({ response_format: { type: 'json_object' }, max_completion_tokens: 9 });
  });

  const format = { type: 'json_schema', json_schema: { name: 'verdict', schema: { type: 'object' } } };
  test.each([
    'json_schema is not supported',
    'Structured outputs are not supported by this model',
    'JSON mode is unknown here',
    'guided decoding is not enabled',
    'response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later',
  ])('is found by what it is for: %s', async (message) => {
    endpoint.otherwise(
      knowsNo({ response_format: (given) => ((given as Body).type === 'json_schema' ? { message } : undefined) }),
    );
    const { adjustments } = await callerOf('model-x').complete(
      callOf({ settings: { response_format: format }, mayLeaveOut: true }),
    );
    expect(adjustments).toEqual(['response_format is json_object, without the schema']);
  });

  test.each([
    [
      'a gateway that names none',
      404,
      { error: { code: 404, message: 'No endpoints found that can handle the requested parameters.' } },
    ],
    ['a plain text', 400, 'unknown field "response_format"'],
    ['a text in JSON', 422, '"response_format: extra fields not permitted"'],
  ])('is found in the answer of %s', async (_, status, refusal) => {
    endpoint.otherwise((request, response) =>
      (!('response_format' in request.body)
        ? says('ok')
        : typeof refusal === 'string'
          ? sends(status, refusal)
          : fails(status, refusal))(request, response),
    );
    const call = callOf({ settings: { response_format: format }, mayLeaveOut: true });
    const { adjustments } = await callerOf('model-x').complete(call);
    expect(adjustments).toEqual(['response_format is json_object, without the schema', 'response_format is not sent']);
  });

  test('fails a row that asks for it, by its name, and is not asked for again and again', async () => {
    endpoint.otherwise(knowsNo({ temperature }));
    const err = await failureOf(ask({ settings: { temperature: 0.2 } }));
    expect(err).toMatchObject({
      permanent: true,
      message: expect.stringContaining('it does not take temperature as it was sent'),
    });
    expect(endpoint.requests).toHaveLength(1);
  });

  test('ends with a failure where leaving out helps nothing', async () => {
    endpoint.otherwise(fails(400, { error: { message: 'unsupported: temperature, max_tokens, max_completion_tokens' } }));
    await failureOf(ask({ settings: { temperature: 1, max_tokens: 3 }, mayLeaveOut: true }));
    expect(endpoint.requests.length).toBeLessThanOrEqual(4);
  });
});

describe('what a model is sent', () => {
  const sent = async (modelAlias: string, settings: Body) => {
    await ask({ modelAlias, settings, areFilledIn: true });
    const { model: _model, messages: _messages, ...rest } = endpoint.requests.at(-1)?.body ?? {};
    return rest;
  };
  const filledIn = {
    max_tokens: 4096,
    top_p: 1,
    top_k: 40,
    logprobs: true,
    top_logprobs: 5,
    reasoning_effort: 'medium',
    verbosity: 'medium',
  };

  test.each(['model-x', 'gpt-4o', 'gpt-5-mini', 'openai/gpt-5-mini'])('%s gets nothing that nobody asked for', async (name) => {
    expect(await sent(name, { ...filledIn, n: 1, echo: false, frequency_penalty: 0, presence_penalty: 0 })).toEqual({});
  });

  test.each(['gpt-5-mini', 'openai/gpt-5-mini', 'gpt-5-mini-2025-08-07'])(
    '%s of an own endpoint takes the parameters of the built-in model',
    async (name) => {
      expect(await sent(name, { max_tokens: 100, temperature: 0, reasoning_effort: 'low' })).toEqual({
        max_completion_tokens: 100,
        reasoning_effort: 'low',
      });
    },
  );

  test('a seed reaches a model that says nothing about itself', async () => {
    expect(await sent('model-x', { seed: 7, temperature: 0 })).toEqual({ seed: 7, temperature: 0 });
  });

  test('what it is not sent is known, slips of the pen included', async () => {
    const caller = callerOf('model-x', 'gpt-5-mini');
    const settings = { ...filledIn, seed: 7, temperature: 0, max_token: 3, include_reasoning: true };
    const unsent = (more: Body) => caller.unsentSettings({ ...settings, ...more }, 'a-user');
    expect(await unsent({ model_alias: 'gpt-5-mini' })).toEqual(['max_token', 'seed', 'temperature']);
    expect(await unsent({ model_alias: 'model-x' })).toEqual(['max_token']);
    const asked = { top_k: 3, top_logprobs: 2, reasoning_effort: 'high', verbosity: 'low' };
    expect(await unsent({ model_alias: 'model-x', ...asked })).toEqual([
      ...['max_token', 'reasoning_effort', 'top_k', 'top_logprobs', 'verbosity'],
    ]);
    expect(await unsent({ model_alias: 'not-there' })).toEqual([]);
  });
});
