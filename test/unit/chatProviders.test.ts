import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Integration, ProviderName } from '../../shared/integrations/integration.ts';
import type { ModelAnswer, ModelCall } from '../../shared/modelCalls/modelCall.ts';
import { resolveModel } from '../../shared/modelCalls/models.ts';
import { createOutboundGuard, type OutboundGuard } from '../../shared/outbound/outbound.ts';
import type { AnswerPiece } from '../../shared/providers/chatMessage.ts';
import { findTokenProvider } from '../../shared/providers/index.ts';
import { connectedProvider, customIntegration, modelCallerOver } from '../support/modelCallers.ts';
import { fails, type ModelEndpoint, pieceOf, sends, startModelEndpoint, streams } from '../support/modelEndpoint.ts';

// Providers that speak OpenAI's chat protocol: where they are asked, and what is particular about their answers. The protocol itself has
// modelCalls.test.ts and completions.test.ts.

let guard: OutboundGuard;
let endpoint: ModelEndpoint;
beforeEach(async () => {
  endpoint = await startModelEndpoint();
  guard = createOutboundGuard({ allow: [new URL(endpoint.url).host], allowLoopback: true });
});
afterEach(async () => {
  await endpoint.close();
  await guard.close();
});

const complete = (integration: Integration, call: Partial<ModelCall> = {}): Promise<ModelAnswer> =>
  modelCallerOver([integration], guard).complete({
    messages: [{ role: 'user', content: 'hello' }],
    ...{ settings: {}, context: {}, signal: new AbortController().signal, modelAlias: undefined },
    retry: { maxAttempts: 2, minDelayMs: 5, maxDelayMs: 10 },
    ...call,
  });
const problems = (provider: ProviderName, body: object) =>
  findTokenProvider(provider)
    .request.safeParse(body)
    .error?.issues.map(({ path }) => path.join('.'));
const firstTry = async (integration: Integration) => {
  const { attempts } = await complete(integration).catch((err: Pick<ModelAnswer, 'attempts'>) => err);
  return { tries: attempts.length, first: [attempts[0]?.outcome, attempts[0]?.status].join(' ') };
};

describe('Databricks', () => {
  const workspace = (body: object = {}) => connectedProvider('databricks', { token: 'dapi1', hostname: endpoint.url, ...body });

  test('a serving endpoint is asked by its name, with the token of a person', async () => {
    await complete(workspace(), { modelAlias: 'databricks/my-endpoint', settings: { max_tokens: 8 } });
    const [request] = endpoint.requests;
    expect([request?.path, request?.headers.authorization]).toEqual(['/serving-endpoints/chat/completions', 'Bearer dapi1']);
    expect(request?.body).toMatchObject({ model: 'my-endpoint', max_tokens: 8 });
  });

  test('an address with a path is taken as it is', async () => {
    await complete(workspace({ hostname: `${endpoint.url}/ai-gateway/mlflow/v1` }));
    expect(endpoint.requests[0]?.path).toBe('/ai-gateway/mlflow/v1/chat/completions');
  });

  test('a service principal gets an access token of the workspace', async () => {
    endpoint.next(sends(200, JSON.stringify({ access_token: 'at-1', expires_in: 3_600 })));
    await complete(workspace({ token: 'id:secret' }));
    const [asked, called] = endpoint.requests;
    expect([asked?.path, new URLSearchParams(asked?.text).get('scope')]).toEqual(['/oidc/v1/token', 'all-apis']);
    expect(called?.headers.authorization).toBe('Bearer at-1');
  });

  const reasoning = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm', signature: 'x' }] };
  test('reasoning in a summary beside the text is no part of the answer', async () => {
    const content = [reasoning, { type: 'text', text: 'four' }];
    const message = { role: 'assistant', content };
    endpoint.next(fails(200, { choices: [{ message, finish_reason: 'stop' }], usage: null }));
    expect(await complete(workspace())).toMatchObject({ text: 'four', reasoning: 'hm', inputTokens: null });
  });

  test('so it is in pieces', async () => {
    const heard: AnswerPiece[] = [];
    endpoint.next(
      streams(
        pieceOf({ content: [reasoning] }),
        pieceOf({ content: [{ type: 'text', text: 'four' }] }),
        pieceOf({ content: '' }, { finish_reason: 'stop' }),
      ),
    );
    const stream = { piece: (piece: AnswerPiece) => heard.push(piece), brokenOff: () => undefined };
    expect(await complete(workspace(), { stream })).toMatchObject({ text: 'four', reasoning: 'hm' });
    expect(heard.map(({ text }) => text).join('')).toBe('four');
  });

  test.each([
    ['a limit', 429, 'REQUEST_LIMIT_EXCEEDED', 'rate_limited 429', 2],
    ['an endpoint that starts', 503, 'TEMPORARILY_UNAVAILABLE', 'http_error 503', 2],
    ['an endpoint that is not there', 404, 'RESOURCE_DOES_NOT_EXIST', 'http_error 404', 1],
    ['a wrong request', 400, 'BAD_REQUEST', 'http_error 400', 1],
  ])('%s is an error of its kind', async (_what, status, error_code, first, tries) => {
    endpoint.next(fails(status, { error_code, message: 'x' }));
    expect(await firstTry(workspace())).toEqual({ first, tries });
  });

  test('a token with spaces is refused', () => {
    expect(problems('databricks', { token: 'dapi 1', hostname: 'a.example' })).toEqual(['token', 'hostname']);
  });
});

describe('NVIDIA', () => {
  const nim = (body: object = {}) => connectedProvider('nvidia', { token: 'nvapi-1', hostname: endpoint.url, ...body });

  test.each([
    ['', '/v1/chat/completions'],
    ['/v1/', '/v1/chat/completions'],
    ['/gateway', '/gateway/chat/completions'],
  ])('an address that ends in %j is asked at %s', async (path, expected) => {
    await complete(nim({ hostname: `${endpoint.url}${path}` }), { modelAlias: 'meta/llama-3.3-70b-instruct' });
    const [request] = endpoint.requests;
    expect([request?.path, request?.headers.authorization]).toEqual([expected, 'Bearer nvapi-1']);
    expect(request?.body.model).toBe('meta/llama-3.3-70b-instruct');
  });

  test('its own models have its name before theirs, and are found with it', async () => {
    await complete(nim(), { modelAlias: 'nvidia/nvidia-nemotron-nano-9b-v2' });
    await complete(nim(), { modelAlias: 'nvidia/nvidia/another' });
    expect(endpoint.requests.map(({ body }) => body.model)).toEqual(['nvidia/nvidia-nemotron-nano-9b-v2', 'nvidia/another']);
  });

  test('a container that does not know how to count in a stream is asked without it', async () => {
    const detail = [{ type: 'extra_forbidden', loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted' }];
    endpoint.next(fails(422, { detail }), streams(pieceOf({ content: 'four' }, { finish_reason: 'stop' })));
    const stream = { piece: () => undefined, brokenOff: () => undefined };
    expect(await complete(nim(), { stream })).toMatchObject({ text: 'four', adjustments: [], outputTokens: null });
    expect(endpoint.requests[1]?.body).not.toHaveProperty('stream_options');
  });

  test.each([
    ['a limit', fails(429, { status: 429, title: 'Too Many Requests' }), 'rate_limited 429', 2],
    ['credits that are used up', fails(402, { detail: 'Account: Cloud credits expired' }), 'http_error 402', 1],
    [
      'a model that is not there',
      fails(404, { status: 404, title: 'Not Found', detail: "Function 'f': Not found for account" }),
      'http_error 404',
      1,
    ],
    ['an answer that is still to come', sends(202, '', {}), 'malformed_answer 202', 1],
  ])('%s is an error of its kind', async (_what, answer, first, tries) => {
    endpoint.next(answer);
    expect(await firstTry(nim())).toEqual({ first, tries });
  });
});

describe('The gateway', () => {
  const gateway = (body: object = {}) =>
    connectedProvider('vegas_gateway', { token: 'g-1', endpoint: endpoint.url, use_case: 'evaluation', ...body });

  test('is asked by the chat protocol, with the use case in a header, for whatever model is named', async () => {
    expect(problems('vegas_gateway', { token: 'g-1', endpoint: endpoint.url })).toEqual(['use_case']);
    await complete(gateway(), { modelAlias: 'vegas_gateway/house-model', settings: { max_tokens: 8 } });
    const [asked] = endpoint.requests;
    expect([asked?.path, asked?.headers.authorization, asked?.headers['x-use-case']]).toEqual([
      '/v1/chat/completions',
      'Bearer g-1',
      'evaluation',
    ]);
    expect(asked?.body).toMatchObject({ model: 'house-model', max_tokens: 8 });
  });

  test('comes after other integrations that have a model', () => {
    const models = [{ name: 'gpt-4o', alias: null, basedOn: null, supportedParameters: null }];
    const other = customIntegration({ endpoint: endpoint.url, models }, {}, 'other');
    expect(resolveModel([gateway(), other], 'gpt-4o').integration.name).toBe('other');
    expect(resolveModel([gateway()], 'gpt-4o').model).toMatchObject({ name: 'gpt-4o', parameters: { max_tokens: 'max_tokens' } });
  });
});

describe('Writer', () => {
  const writer = (body: object = {}) =>
    connectedProvider('writer', { token: 'w-1', organization_id: 'o-1', endpoint: `${endpoint.url}/v1/chat`, ...body });

  test('is asked at its own address', async () => {
    const { connect, request, toStored } = findTokenProvider('writer');
    const connection = connect(toStored(request.parse({ token: 'w-1', organization_id: 'o-1' })), { token: 'w-1' });
    expect(connection.addressOf?.('palmyra-x5', {}, false)).toBe('https://api.writer.com/v1/chat');
    expect(problems('writer', { token: 'w-1' })).toEqual(['organization_id']);
    await complete(writer(), { settings: { max_tokens: 8, seed: 1 } });
    const [asked] = endpoint.requests;
    expect([asked?.path, asked?.headers.authorization]).toEqual(['/v1/chat', 'Bearer w-1']);
    expect(asked?.body).toEqual({ model: 'palmyra-x5', max_tokens: 8, messages: [{ role: 'user', content: 'hello' }] });
  });

  test('an answer has calls of tools beside content and fields that are null', async () => {
    const call = { index: null, id: 't1', type: 'function', function: { name: 'add', arguments: '{"a":2}' } };
    const message = { content: null, role: 'assistant', tool_calls: [call], graph_data: null, llm_data: null, refusal: null };
    const usage = {
      prompt_tokens: 9,
      total_tokens: 12,
      completion_tokens: 3,
      prompt_token_details: null,
      completion_tokens_details: null,
    };
    endpoint.next(
      fails(200, {
        id: 'c',
        object: 'chat.completion',
        choices: [{ index: 0, finish_reason: 'tool_calls', message }],
        model: 'palmyra-x5',
        usage,
      }),
    );
    expect(await complete(writer())).toMatchObject({
      ...{ text: '', finishReason: 'tool_calls', inputTokens: 9, outputTokens: 3, reasoningTokens: null },
      message: { tool_calls: [{ id: 't1', function: { name: 'add', arguments: '{"a":2}' } }] },
    });
  });

  test.each([
    ['a limit', 429, 'fail.rate.limit', 'rate_limited 429', 2],
    ['a wrong key', 401, 'fail.auth', 'unauthorized 401', 1],
    ['a wrong request', 400, 'fail.invalid.model', 'http_error 400', 1],
  ])('%s is an error of its kind', async (_what, status, key, first, tries) => {
    endpoint.next(fails(status, { tpe: 'fail', errors: [{ description: 'x', key, extras: null }], extras: null }));
    expect(await firstTry(writer())).toEqual({ first, tries });
  });
});
