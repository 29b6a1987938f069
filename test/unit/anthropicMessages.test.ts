import { fc, test as propertyTest } from '@fast-check/vitest';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ModelAnswer, ModelCall } from '../../shared/modelCalls/modelCall.ts';
import { resolveModel } from '../../shared/modelCalls/models.ts';
import { createOutboundGuard, type OutboundGuard } from '../../shared/outbound/outbound.ts';
import { anthropicMessages } from '../../shared/providers/anthropicMessages.ts';
import type { AnswerPiece } from '../../shared/providers/chatMessage.ts';
import { ComingCompletion } from '../../shared/providers/comingCompletion.ts';
import { readCompletion } from '../../shared/providers/readCompletion.ts';
import { connectedProvider, modelCallerOver } from '../support/modelCallers.ts';
import { cutOff, fails, type ModelEndpoint, sends, startModelEndpoint, streams } from '../support/modelEndpoint.ts';
import { serviceAccount } from '../support/serviceAccountKey.ts';

let guard: OutboundGuard;
let endpoint: ModelEndpoint;
let tokenServer: ModelEndpoint;

const usage = { input_tokens: 12, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 3 };
const gives = (content: unknown, more: object = {}) => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-opus-4-8', content },
  ...{ stop_reason: 'end_turn', stop_sequence: null, usage, ...more },
});
const text = (words: string) => ({ type: 'text', text: words });

beforeEach(async () => {
  endpoint = await startModelEndpoint();
  tokenServer = await startModelEndpoint();
  endpoint.otherwise(fails(200, gives([text('four')])));
  tokenServer.otherwise(sends(200, JSON.stringify({ access_token: 'ya29.x', expires_in: 3_599 })));
  guard = createOutboundGuard({ allow: [endpoint, tokenServer].map(({ url }) => new URL(url).host), allowLoopback: true });
});
afterEach(async () => {
  await endpoint.close();
  await tokenServer.close();
  await guard.close();
});

const ofAnthropic = () => connectedProvider('anthropic', { token: 'sk-1', endpoint: endpoint.url });
const onVertex = () => {
  const token = JSON.stringify({ ...serviceAccount, token_uri: `${tokenServer.url}/token` });
  return connectedProvider('vertex_ai', { token, endpoint: endpoint.url, location: 'us-east5' });
};
const complete = (call: Partial<ModelCall> = {}, integration = ofAnthropic()): Promise<ModelAnswer> =>
  modelCallerOver([integration], guard).complete({
    messages: [user('two and two?')],
    ...{ settings: {}, context: {}, signal: new AbortController().signal, modelAlias: 'claude-opus-4-8' },
    retry: { maxAttempts: 2, minDelayMs: 5, maxDelayMs: 10 },
    ...call,
  });
const sent = () => endpoint.requests.at(-1)?.body;
const user = (content: string) => ({ role: 'user', content });

describe('where it is asked', () => {
  test('Anthropic is asked for the model by name, with its key and the version of its protocol', async () => {
    await complete();
    expect(endpoint.requests[0]).toMatchObject({
      path: '/v1/messages',
      headers: { 'x-api-key': 'sk-1', 'anthropic-version': '2023-06-01' },
      body: { model: 'claude-opus-4-8', max_tokens: 32_000, messages: [{ role: 'user', content: [text('two and two?')] }] },
    });
    expect(endpoint.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  test.each([
    ['claude-opus-4-8', 'claude-opus-4-8'],
    ['vertex_ai/claude-sonnet-4-5@20250929', 'claude-sonnet-4-5@20250929'],
    ['claude-sonnet-4-5-20250929', 'claude-sonnet-4-5@20250929'],
    ['Claude Haiku 4.5', 'claude-haiku-4-5'],
    ['claude-sonnet-4', 'claude-sonnet-4'],
    ['vertex_ai/claude-of-tomorrow', 'claude-of-tomorrow'],
  ])('on Vertex, %s is asked at an address of its own', async (modelAlias, name) => {
    await complete({ modelAlias }, onVertex());
    const [request] = endpoint.requests;
    expect(request?.path).toBe(`/v1/projects/p-1/locations/us-east5/publishers/anthropic/models/${name}:rawPredict`);
    expect(request?.headers).toMatchObject({ authorization: 'Bearer ya29.x' });
    expect(request?.body).toEqual({
      ...{ anthropic_version: 'vertex-2023-10-16', max_tokens: 32_000 },
      messages: [{ role: 'user', content: [text('two and two?')] }],
    });
  });

  test('a model of both is asked of its maker unless Vertex is named', () => {
    const both = [onVertex(), ofAnthropic()];
    for (const [alias, expected] of [
      ['claude-opus-4-8', 'anthropic'],
      ['claude-sonnet-4-5-20250929', 'anthropic'],
      ['vertex_ai/claude-opus-4-8', 'vertex_ai'],
      ['gemini-2.5-flash', 'vertex_ai'],
    ] as const)
      expect([alias, resolveModel(both, alias).integration.name]).toEqual([alias, expected]);
    expect(() => resolveModel([onVertex()], 'claude-3-5-haiku-latest')).toThrow(/no model/);
  });

  test('a model takes on Vertex what it takes of its maker, and costs the same', async () => {
    const settings = { temperature: 0.3, max_tokens: 64 };
    const own = await complete({ modelAlias: 'claude-haiku-4-5', settings });
    expect(sent()).toMatchObject({ temperature: 0.3, max_tokens: 64 });
    const hosted = await complete({ modelAlias: 'claude-haiku-4-5', settings }, onVertex());
    expect(sent()).toMatchObject({ temperature: 0.3, max_tokens: 64 });
    expect(hosted.costUsd).toBeGreaterThan(0);
    expect(hosted.costUsd).toBe(own.costUsd);
    await complete({ settings }, onVertex());
    expect(sent()).not.toHaveProperty('temperature');
  });
});

describe('a request', () => {
  test('has system prompts, settings and turns in the words of the protocol, without blank texts', async () => {
    await complete({
      modelAlias: 'claude-sonnet-4-5',
      messages: [{ role: 'system', content: 'short' }, user('a'), user(' '), user('b'), { role: 'assistant', content: 'c' }],
      settings: { temperature: 0.2, top_p: 0.9, top_k: 7, max_tokens: 64, stop_sequences: ['END'] },
    });
    expect(sent()).toEqual({
      ...{ model: 'claude-sonnet-4-5', max_tokens: 64, temperature: 0.2, top_p: 0.9, top_k: 7, stop_sequences: ['END'] },
      system: [text('short')],
      messages: [
        { role: 'user', content: [text('a'), text('b')] },
        { role: 'assistant', content: [text('c')] },
      ],
    });
  });

  test('of a system prompt alone has it as the message of a user', async () => {
    await complete({ messages: [{ role: 'system', content: 'count' }] });
    expect(sent()).toMatchObject({ messages: [{ role: 'user', content: [text('count')] }] });
    expect(sent()).not.toHaveProperty('system');
  });

  test('has tools and their calls, and all results of a turn in one message', async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{"city":"Oslo"}' } });
    await complete({
      messages: [
        user('where is it warm?'),
        { role: 'assistant', content: null, tool_calls: [call('c1', 'weather'), call('c:2', 'height')] },
        { role: 'tool', tool_call_id: 'c1', content: '{"degrees":4}' },
        { role: 'tool', tool_call_id: 'c:2', content: '' },
      ],
      settings: {
        tools: [{ type: 'function', function: { name: 'weather', description: 'of now', parameters, strict: true } }],
        tool_choice: { type: 'function', function: { name: 'weather' } },
      },
    });
    expect(sent()).toMatchObject({
      messages: [
        { role: 'user', content: [text('where is it warm?')] },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Oslo' } },
            { type: 'tool_use', id: 'c_2', name: 'height', input: { city: 'Oslo' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'c1', content: [text('{"degrees":4}')] },
            { type: 'tool_result', tool_use_id: 'c_2', content: [] },
          ],
        },
      ],
      tools: [{ name: 'weather', description: 'of now', input_schema: parameters, strict: true }],
      tool_choice: { type: 'tool', name: 'weather' },
    });
  });

  test.each([
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'any' }],
    [undefined, undefined],
  ])('with the choice %s among tools says so', async (tool_choice, expected) => {
    await complete({ settings: { tools: [{ type: 'function', function: { name: 'now' } }], tool_choice } });
    expect(sent()?.tools).toEqual([{ name: 'now', input_schema: { type: 'object', properties: {} } }]);
    expect(sent()?.tool_choice).toEqual(expected);
  });

  const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'], additionalProperties: false };
  const response_format = { type: 'json_schema', json_schema: { name: 'n', schema } };
  test.each([
    ['claude-opus-4-8', 'high', { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
    ['claude-opus-4-6', 'minimal', { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }],
    ['claude-opus-4-8', 'none', { thinking: { type: 'disabled' } }],
    ['claude-sonnet-4-5', 'medium', { thinking: { type: 'enabled', budget_tokens: 8_192 }, max_tokens: 8_292 }],
    ['claude-sonnet-4-20250514', 'low', { thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 1_124 }],
  ])('of %s has the effort %s as that model knows it', async (modelAlias, reasoning_effort, expected) => {
    await complete({ modelAlias, settings: { reasoning_effort, max_tokens: 100 } });
    expect(sent()).toEqual({ model: modelAlias, max_tokens: 100, messages: expect.any(Array), ...expected });
  });

  test('has the schema of the answer beside the effort', async () => {
    await complete({ settings: { response_format, reasoning_effort: 'low' } }, onVertex());
    expect(sent()?.output_config).toEqual({ effort: 'low', format: { type: 'json_schema', schema } });
  });

  test('has a schema whose bounds the model reads, since it takes none, and whose objects are closed', async () => {
    const rating = { type: 'integer', minimum: 0, maximum: 100, description: 'a rating' };
    const properties = {
      rating,
      minimum: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'object', properties: {} } },
    };
    const given = { type: 'object', properties, required: ['rating'], $defs: { maximum: { enum: [{ minimum: 1 }] } } };
    await complete({ settings: { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: given } } } });
    expect(sent()?.output_config).toEqual({
      format: {
        type: 'json_schema',
        schema: {
          ...{ type: 'object', required: ['rating'], additionalProperties: false },
          properties: {
            rating: { type: 'integer', description: 'a rating; minimum 0, maximum 100' },
            minimum: {
              ...{ type: 'array', minItems: 1, description: 'maxItems 3' },
              items: { type: 'object', properties: {}, additionalProperties: false },
            },
          },
          $defs: { maximum: { enum: [{ minimum: 1 }] } },
        },
      },
    });
  });

  test.each(['output_config.format: Extra inputs are not permitted', 'output_config: Extra inputs are not permitted'])(
    'whose schema is refused with %j is sent without it where it may be',
    async (message) => {
      endpoint.next(fails(400, { type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_vrtx_1' }));
      const answer = await complete({ settings: { response_format }, mayLeaveOut: true }, onVertex());
      expect([answer.text, answer.adjustments.at(-1)]).toEqual(['four', 'response_format is not sent']);
      expect(sent()).not.toHaveProperty('output_config');
      endpoint.next(fails(400, { type: 'error', error: { type: 'invalid_request_error', message } }));
      await expect(complete({ settings: { response_format } })).rejects.toThrow(
        /it does not take response_format as it was sent/,
      );
    },
  );

  test('has files, those that are named by their URL too', async () => {
    const image = (url: string) => ({ type: 'image_url', image_url: { url } });
    const file = (filename: string, file_data: string) => ({ type: 'file', file: { filename, file_data } });
    await complete({
      messages: [
        {
          role: 'user',
          content: [
            ...[image('data:image/jpg;base64,AAAA'), image('https://a.example/x.png')],
            ...[file('a.pdf', 'data:application/pdf;base64,BBBB'), file('b.txt', 'data:text/plain;base64,w7w=')],
          ],
        },
      ],
    });
    expect(sent()).toMatchObject({
      messages: [
        {
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'AAAA' } },
            { type: 'image', source: { type: 'url', url: 'https://a.example/x.png' } },
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' }, title: 'a.pdf' },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'ü' }, title: 'b.txt' },
          ],
        },
      ],
    });
    const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } };
    await expect(complete({ messages: [{ role: 'user', content: [sound] }] })).rejects.toThrow(/no file of the type audio\/mpeg/);
  });
});

describe('an answer', () => {
  test('has text, thoughts, calls and tokens, those of the cache among the input', async () => {
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 'x' },
      { type: 'redacted_thinking', data: 'AAAA' },
      text('so'),
      { type: 'tool_use', id: 'toolu_1', name: 'add', input: { a: 2 } },
      { type: 'tool_use', id: 'toolu_2', name: 'now', input: {} },
    ];
    const counts = { ...usage, cache_creation_input_tokens: 20, cache_read_input_tokens: 100 };
    endpoint.next(fails(200, gives(content, { stop_reason: 'tool_use', usage: counts })));
    expect(await complete({}, onVertex())).toMatchObject({
      ...{ text: 'so', reasoning: 'hm', finishReason: 'tool_calls', model: 'claude-opus-4-8' },
      message: {
        tool_calls: [
          { id: 'toolu_1', type: 'function', function: { name: 'add', arguments: '{"a":2}' } },
          { id: 'toolu_2', type: 'function', function: { name: 'now', arguments: '{}' } },
        ],
      },
      ...{ inputTokens: 132, outputTokens: 3, cachedInputTokens: 100, cacheWriteTokens: 20 },
    });
  });

  test.each([
    ['no content', gives([], { stop_reason: 'max_tokens' }), { text: '', finishReason: 'length' }],
    ['content that is null', gives(null), { text: '', finishReason: 'stop' }],
    ['content that is a text', gives('a'), { text: 'a' }],
    ['a refusal', gives([], { stop_reason: 'refusal' }), { text: '', finishReason: 'content_filter' }],
    ['a reason that is new', gives([text('a')], { stop_reason: 'pause_turn' }), { text: 'a', finishReason: 'pause_turn' }],
    ['no counts', gives([text('a')], { usage: undefined }), { text: 'a', inputTokens: null, outputTokens: null }],
    [
      'counts of the cache that are null',
      gives([text('a')], { usage: { ...usage, cache_creation_input_tokens: null, cache_read_input_tokens: null } }),
      { inputTokens: 12, cachedInputTokens: null },
    ],
    [
      'tokens of thought',
      gives([text('a')], { usage: { ...usage, output_tokens_details: { thinking_tokens: 2 } } }),
      { outputTokens: 3, reasoningTokens: 2 },
    ],
    ['arguments as a text', gives([{ type: 'tool_use', id: 1, name: 'add', input: '{"a":2}' }]), { text: '' }],
    [
      'the form of OpenAI, from a gateway',
      { choices: [{ message: { content: 'a' }, finish_reason: 'stop' }] },
      { text: 'a', finishReason: 'stop' },
    ],
  ])('with %s is kept', async (_what, answer, expected) => {
    endpoint.next(fails(200, answer));
    expect(await complete()).toMatchObject(expected);
  });

  const error = (type: string, message = 'x') => ({ type: 'error', error: { type, message } });
  test.each([
    ['an overloaded service', fails(529, error('overloaded_error')), 'http_error 529', 2],
    ['too many requests', fails(429, error('rate_limit_error')), 'rate_limited 429', 2],
    ['no credit', fails(400, error('invalid_request_error', 'Your credit balance is too low')), 'http_error 400', 1],
    ['a wrong key', fails(401, error('authentication_error')), 'unauthorized 401', 1],
    ['a model that is not there', fails(404, error('not_found_error')), 'http_error 404', 1],
    ["Google's quota", fails(429, [{ error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'x' } }]), 'rate_limited 429', 2],
    ['an error inside a 200', fails(200, error('api_error')), 'http_error 500', 2],
    ['a 200 that is none', fails(200, { id: 'x' }), 'malformed_answer 200', 1],
    ['a connection that breaks', cutOff, 'connection_error', 2],
  ])('%s is an error of its kind', async (_what, answer, expected, tries) => {
    endpoint.next(answer);
    const { attempts } = await complete().catch((err: { attempts: ModelAnswer['attempts'] }) => err);
    const [{ outcome, status } = {}] = attempts;
    expect([outcome, status].filter((one) => one !== undefined).join(' ')).toBe(expected);
    expect(endpoint.requests).toHaveLength(tries);
  });
});

describe('an answer in pieces', () => {
  const event = (said: { type: string }) => `event: ${said.type}\ndata: ${JSON.stringify(said)}\n\n`;
  const begins = (counts: object = usage) => event({ type: 'message_start', message: gives([], { usage: counts }) } as never);
  const starts = (index: number, content_block: object) => event({ type: 'content_block_start', index, content_block } as never);
  const delta = (index: number, said: object) => event({ type: 'content_block_delta', index, delta: said } as never);
  const ends = (stop_reason: string, counts: object = { output_tokens: 9 }) =>
    event({ type: 'message_delta', delta: { stop_reason }, usage: counts } as never) + event({ type: 'message_stop' });
  const heard: AnswerPiece[] = [];
  beforeEach(() => void heard.splice(0));
  const streamed = (integration = onVertex()) =>
    complete({ stream: { piece: (piece) => heard.push(piece), brokenOff: () => undefined } }, integration);

  test('is put together, with calls of tools, and the counts of its first and its last event', async () => {
    endpoint.next(
      streams(
        begins({ ...usage, cache_read_input_tokens: 4, output_tokens: 1 }),
        starts(0, { type: 'thinking', thinking: '' }) + delta(0, { type: 'thinking_delta', thinking: 'hm' }),
        delta(0, { type: 'signature_delta', signature: 'x' }) + event({ type: 'ping' }),
        starts(1, text('')) + delta(1, { type: 'text_delta', text: 'gr' }) + delta(1, { type: 'text_delta', text: 'ün' }),
        event({ type: 'content_block_stop', index: 1 } as never),
        starts(2, { type: 'tool_use', id: 't1', name: 'add', input: {} }),
        delta(2, { type: 'input_json_delta', partial_json: '{"a"' }) +
          delta(2, { type: 'input_json_delta', partial_json: ':2}' }),
        starts(3, { type: 'tool_use', id: 't2', name: 'now', input: { b: 1 } }),
        ends('tool_use', { input_tokens: null, output_tokens: 9 }),
      ),
    );
    expect(await streamed()).toMatchObject({
      ...{ text: 'grün', reasoning: 'hm', finishReason: 'tool_calls', model: 'claude-opus-4-8' },
      ...{ inputTokens: 16, outputTokens: 9, cachedInputTokens: 4 },
      timeToFirstTokenNs: expect.any(Number),
      message: {
        tool_calls: [
          { id: 't1', function: { name: 'add', arguments: '{"a":2}' } },
          { id: 't2', function: { name: 'now', arguments: '{"b":1}' } },
        ],
      },
    });
    expect(heard.map(({ text: piece }) => piece).join('')).toBe('grün');
    expect(endpoint.requests[0]?.path).toMatch(/models\/claude-opus-4-8:streamRawPredict$/);
    expect(endpoint.requests[0]?.body).toMatchObject({ stream: true });
    expect(endpoint.requests[0]?.body).not.toHaveProperty('stream_options');
  });

  test('that an error begins is asked for again', async () => {
    endpoint.next(
      streams(event({ type: 'error', error: { type: 'overloaded_error', message: 'x' } } as never)),
      streams(begins() + delta(0, { type: 'text_delta', text: 'ok' }) + ends('end_turn')),
    );
    const { text: said, attempts } = await streamed(ofAnthropic());
    expect([said, attempts.map(({ outcome, status }) => `${outcome} ${status}`)[0]]).toEqual(['ok', 'http_error 529']);
  });

  test.each([
    ['breaks off', '', /ended its stream before/],
    ['has an error between', event({ type: 'error', error: { type: 'api_error', message: 'x' } } as never), /500/],
    ['has what is no event between', 'data: oops\n\n', /answered 200 with an error/],
  ])('that %s fails with what has come', async (_what, rest, message) => {
    endpoint.next(streams(begins() + delta(0, { type: 'text_delta', text: 'tw' }) + rest));
    const partial: string[] = [];
    const call = complete({ stream: { piece: () => undefined, brokenOff: ({ text: come }) => partial.push(come) } });
    await expect(call).rejects.toThrow(message);
    expect(partial).toEqual(['tw']);
    expect(endpoint.requests).toHaveLength(1);
  });
});

/** Blocks as answers have them, and others that are no part of the protocol. */
const word = fc.string({ minLength: 1, maxLength: 8 });
const block = fc.oneof(
  word.map(text),
  word.map((thinking) => ({ type: 'thinking', thinking, signature: 'x' })),
  fc.record({ type: fc.constant('tool_use'), id: word, name: word, input: fc.dictionary(fc.constantFrom('a', 'b'), fc.nat()) }),
  fc.constantFrom<unknown>(null, 7, 'bare', {}, { type: 'redacted_thinking', data: 'x' }, { type: 'server_tool_use', id: 's' }),
);
type Block = { type?: string; text?: string; thinking?: string; name?: string; input?: unknown };
const saidIn = (blocks: readonly unknown[]) => {
  const all = blocks.filter((one): one is Block => typeof one === 'object' && one !== null);
  return {
    text: all.map((one) => one.text ?? '').join(''),
    thoughts: all.map((one) => one.thinking ?? '').join(''),
    calls: all.filter(({ type }) => type === 'tool_use').map(({ name, input }) => [name, input]),
  };
};
const heldIn = (answer: ReturnType<typeof readCompletion> | ComingCompletion['soFar']) => ({
  text: answer?.content,
  thoughts: answer?.reasoning ?? '',
  calls: (answer?.toolCalls ?? []).map(({ function: { name, arguments: given } }) => [name, JSON.parse(given)]),
});

propertyTest.prop([fc.array(block, { maxLength: 6 })])(
  'whatever an answer is made of, no text, thought or call is lost, whole or in pieces',
  async (content) => {
    // Texts that look like thoughts are taken apart under every protocol.
    fc.pre(!/think/i.test(saidIn(content).text));
    expect(heldIn(readCompletion(anthropicMessages.toCompletion(gives(content))))).toEqual(saidIn(content));
    const events = content.flatMap((one, index) => [
      { type: 'content_block_start', index, content_block: one },
      { type: 'content_block_stop', index },
    ]);
    const all = [...events, { type: 'message_delta', delta: { stop_reason: 'end_turn' } }, { type: 'message_stop' }];
    const coming = new ComingCompletion(() => undefined);
    const bytes = async function* () {
      for (const one of all) yield new TextEncoder().encode(`data: ${JSON.stringify(one)}\n\n`);
    };
    for await (const piece of anthropicMessages.pieces(bytes())) expect(coming.takePiece(piece)).toBeUndefined();
    expect(coming.isFinished).toBe(true);
    expect(heldIn(coming.soFar)).toEqual(saidIn(content));
  },
);
