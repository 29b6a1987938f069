import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Integration } from '../../shared/integrations/integration.ts';
import type { ModelAnswer, ModelCall } from '../../shared/modelCalls/modelCall.ts';
import { createOutboundGuard, type OutboundGuard } from '../../shared/outbound/outbound.ts';
import type { AnswerPiece } from '../../shared/providers/chatMessage.ts';
import { findTokenProvider } from '../../shared/providers/index.ts';
import { connectedProvider, customIntegration, modelCallerOver } from '../support/modelCallers.ts';
import { fails, type ModelEndpoint, startModelEndpoint, streams } from '../support/modelEndpoint.ts';

// OpenAI's Responses API, as an endpoint whose address says so speaks it.

let guard: OutboundGuard;
let endpoint: ModelEndpoint;

const usage = {
  ...{ input_tokens: 12, output_tokens: 9, total_tokens: 21 },
  input_tokens_details: { cached_tokens: 4 },
  output_tokens_details: { reasoning_tokens: 5 },
};
const text = (said: string, more: object = {}) => ({
  ...{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text: said, annotations: [], ...more }],
});
const response = (output: object[], more: object = {}) => ({
  ...{
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    error: null,
    incomplete_details: null,
    model: 'gpt-5-pro-2025-10-06',
  },
  ...{ output, usage, ...more },
});

beforeEach(async () => {
  endpoint = await startModelEndpoint();
  endpoint.otherwise(fails(200, response([text('four')])));
  guard = createOutboundGuard({ allow: [new URL(endpoint.url).host], allowLoopback: true });
});
afterEach(async () => {
  await endpoint.close();
  await guard.close();
});

const at = (path: string): Integration =>
  customIntegration({
    endpoint: `${endpoint.url}${path}`,
    models: [{ name: 'gpt-5-pro', alias: 'gpt-5-pro', basedOn: null, supportedParameters: null }],
  });
const complete = (call: Partial<ModelCall> = {}, integration = at('/v1/responses')): Promise<ModelAnswer> =>
  modelCallerOver([integration], guard).complete({
    messages: [{ role: 'user', content: 'two and two?' }],
    ...{ settings: {}, context: {}, signal: new AbortController().signal, modelAlias: 'gpt-5-pro' },
    retry: { maxAttempts: 2, minDelayMs: 5, maxDelayMs: 10 },
    ...call,
  });
const sent = () => endpoint.requests.at(-1);
const parameters = { type: 'object', properties: { city: { type: 'string' } } };

test('models that chat completions do not have are asked by it, all others of OpenAI by chat completions', () => {
  const { connect, request, toStored } = findTokenProvider('openai');
  const { addressOf, protocolOf } = connect(toStored(request.parse({ token: 'sk-1' })), { token: 'sk-1' });
  const addresses = (names: string[]) => names.map((name) => [addressOf?.(name, {}, false), protocolOf?.(name) !== undefined]);
  const responses = ['https://api.openai.com/v1/responses', true];
  expect(addresses(['gpt-5-pro', 'gpt-5.4-pro-2026-03-05', 'gpt-5.1-codex-mini', 'o3-pro'])).toEqual(Array(4).fill(responses));
  const chat = ['https://api.openai.com/v1/chat/completions', false];
  expect(addresses(['gpt-5.1', 'o3', 'gpt-4o', 'ft:gpt-4o:team:pro:1'])).toEqual(Array(4).fill(chat));
});

test.each([
  ['/v1/responses', '/v1/responses'],
  ['/openai/v1/responses/', '/openai/v1/responses'],
  ['/v1/responses?api-version=preview', '/v1/responses?api-version=preview'],
])('an endpoint at %s is asked there', async (path, asked) => {
  await complete({}, at(path));
  expect(sent()?.path).toBe(asked);
});

test('so is a resource of Azure', async () => {
  const body = { token: 'k', endpoint: `${endpoint.url}/openai/v1/responses`, deployments: { 'gpt-5': 'west' } };
  expect(await complete({ modelAlias: 'gpt-5' }, connectedProvider('azure', body))).toMatchObject({ text: 'four' });
  expect([sent()?.path, sent()?.body.model, sent()?.headers['api-key']]).toEqual(['/openai/v1/responses', 'west', 'k']);
});

test('a request has messages, files, settings and the schema in its words', async () => {
  const schema = { type: 'object', properties: { verdict: { type: 'boolean' } } };
  await complete({
    messages: [
      { role: 'system', content: 'short' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
        ],
      },
    ],
    settings: {
      ...{ max_tokens: 64, reasoning_effort: 'low', verbosity: 'low' },
      response_format: { type: 'json_schema', json_schema: { name: 'verdict', strict: true, schema } },
    },
  });
  expect(sent()?.body).toEqual({
    ...{ model: 'gpt-5-pro', store: false, max_output_tokens: 64, reasoning: { effort: 'low', summary: 'auto' } },
    text: { format: { type: 'json_schema', name: 'verdict', schema, strict: true }, verbosity: 'low' },
    input: [
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'short' }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'see' },
          { type: 'input_image', image_url: 'data:image/png;base64,iVBO' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' },
        ],
      },
    ],
  });
});

test('tools, their calls and their results are items of their own', async () => {
  const call = { id: 'c1', type: 'function' as const, function: { name: 'weather', arguments: '{"city":"Oslo"}' } };
  endpoint.next(
    fails(200, response([{ type: 'function_call', id: 'fc_1', call_id: 'c2', name: 'weather', arguments: '{"city":"Rome"}' }])),
  );
  const answer = await complete({
    messages: [
      { role: 'user', content: 'where is it warm?' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: '4 degrees' },
    ],
    settings: {
      tools: [{ type: 'function', function: { name: 'weather', parameters } }],
      tool_choice: { type: 'function', function: { name: 'weather' } },
    },
  });
  expect(sent()?.body).toMatchObject({
    tools: [{ type: 'function', name: 'weather', parameters, strict: false }],
    tool_choice: { type: 'function', name: 'weather' },
    input: [
      { type: 'message', role: 'user' },
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' },
      { type: 'function_call_output', call_id: 'c1', output: '4 degrees' },
    ],
  });
  expect(answer.message.tool_calls).toEqual([
    { id: 'c2', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
  ]);
  expect(answer.finishReason).toBe('tool_calls');
});

test('an answer has text, thoughts, tokens and log probabilities', async () => {
  const thoughts = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'two pairs' }] };
  const logprobs = [{ token: 'four', logprob: -0.25, top_logprobs: [] }];
  endpoint.next(fails(200, response([thoughts, text('four', { logprobs })])));
  expect(await complete({ wantsLogProbabilities: true })).toMatchObject({
    ...{ text: 'four', reasoning: 'two pairs', finishReason: 'stop', model: 'gpt-5-pro-2025-10-06', logProbabilities: [-0.25] },
    ...{ inputTokens: 12, outputTokens: 9, cachedInputTokens: 4, reasoningTokens: 5 },
  });
  expect(sent()?.body.include).toEqual(['message.output_text.logprobs']);
});

test.each([
  ['cut off', { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }, 'length'],
  ['filtered', { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }, 'content_filter'],
])('an answer that was %s says so', async (_, more, finishReason) => {
  endpoint.next(fails(200, response([text('fo')], more)));
  expect(await complete()).toMatchObject({ text: 'fo', finishReason });
});

test('a refusal is in the words of the model', async () => {
  const content = [{ type: 'refusal', refusal: 'I will not' }];
  endpoint.next(fails(200, response([{ type: 'message', role: 'assistant', content }])));
  expect(await complete()).toMatchObject({ refusal: 'I will not' });
});

const event = (type: string, more: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
async function streamed(...events: string[]) {
  const heard: AnswerPiece[] = [];
  endpoint.next(streams(...events));
  const stream = { piece: (piece: AnswerPiece) => heard.push(piece), brokenOff: () => undefined };
  return { answer: await complete({ stream }), heard };
}

test('pieces are heard as they come', async () => {
  const call = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'weather', arguments: '' };
  const { answer, heard } = await streamed(
    event('response.created', { response: { model: 'gpt-5-pro-2025-10-06', status: 'in_progress', output: [] } }),
    event('response.reasoning_summary_text.delta', { output_index: 0, delta: 'hm' }),
    event('response.output_text.delta', { output_index: 1, delta: 'fo' }),
    event('response.output_text.delta', { output_index: 1, delta: 'ur' }),
    event('response.output_text.done', { output_index: 1, text: 'four' }),
    event('response.output_item.added', { output_index: 2, item: call }),
    event('response.function_call_arguments.delta', { output_index: 2, delta: '{"city":' }),
    event('response.function_call_arguments.delta', { output_index: 2, delta: '"Oslo"}' }),
    event('response.completed', { response: response([text('four'), call]) }),
  );
  expect(answer).toMatchObject({
    ...{ text: 'four', reasoning: 'hm', finishReason: 'tool_calls', inputTokens: 12, reasoningTokens: 5 },
    message: { tool_calls: [{ id: 'c1', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }] },
  });
  expect(heard.map((piece) => piece.text).join('')).toBe('four');
  expect(sent()?.body).toMatchObject({ stream: true });
  expect(sent()?.body).not.toHaveProperty('stream_options');
});

test('a stream that fails is an error', async () => {
  const failed = { status: 'failed', error: { code: 'server_error', message: 'x' }, output: [] };
  const broken = await streamed(event('response.created', { response: {} }), event('response.failed', { response: failed }));
  expect(broken.answer.attempts.map(({ outcome, status }) => [outcome, status])).toEqual([
    ['http_error', 500],
    ['ok', 200],
  ]);
  const error = { code: 'rate_limit_exceeded', message: 'x', param: null };
  endpoint.otherwise(streams(event('response.completed', { response: response([text('four')]) })));
  expect((await streamed(event('error', error))).answer.attempts.map(({ outcome }) => outcome)).toEqual(['rate_limited', 'ok']);
});

test.each([
  ['a limit', fails(429, { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded', message: 'x' } }), 'rate_limited 429'],
  ['a wrong key', fails(401, { error: { code: 'invalid_api_key', message: 'x' } }), 'unauthorized 401'],
  [
    'a failure inside a 200',
    fails(200, response([], { status: 'failed', error: { code: 'server_error', message: 'x' } })),
    'http_error 500',
  ],
])('%s is an error of its kind', async (_, answer, first) => {
  endpoint.next(answer);
  const { attempts } = await complete().catch((err: Pick<ModelAnswer, 'attempts'>) => err);
  expect([attempts[0]?.outcome, attempts[0]?.status].join(' ')).toBe(first);
});

test('a setting that the model refuses is left out where it may be, by its name in chat completions', async () => {
  const message = "Unsupported parameter: 'text.format' is not supported with this model.";
  endpoint.next(
    fails(400, { error: { type: 'invalid_request_error', message, param: 'text.format', code: 'unsupported_parameter' } }),
  );
  const response_format = { type: 'json_object' };
  const answer = await complete({ settings: { response_format }, mayLeaveOut: true });
  expect(answer.adjustments).toEqual(['response_format is not sent']);
});
