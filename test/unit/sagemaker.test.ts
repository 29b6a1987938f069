import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ModelAnswer, ModelCall } from '../../shared/modelCalls/modelCall.ts';
import { modelsOf } from '../../shared/modelCalls/models.ts';
import { createOutboundGuard, type OutboundGuard } from '../../shared/outbound/outbound.ts';
import type { AnswerPiece } from '../../shared/providers/chatMessage.ts';
import { findTokenProvider } from '../../shared/providers/index.ts';
import { awsEvent, awsMessage, awsStreams, awsToken, signatureFor } from '../support/awsEndpoint.ts';
import { connectedProvider, modelCallerOver } from '../support/modelCallers.ts';
import { cutOff, endOfPieces, fails, type ModelEndpoint, pieceOf, startModelEndpoint } from '../support/modelEndpoint.ts';

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

const models = [
  { name: 'llama-eu', alias: 'llama', integration: 'aws_sagemaker', params_map: {} },
  { name: 'qwen-eu', alias: 'qwen' },
];
const sagemaker = (body: object = {}) =>
  connectedProvider('aws_sagemaker', { token: awsToken, region: 'eu-west-1', endpoint: endpoint.url, models, ...body });
const complete = (call: Partial<ModelCall> = {}): Promise<ModelAnswer> =>
  modelCallerOver([sagemaker()], guard).complete({
    messages: [{ role: 'user', content: 'hello' }],
    ...{ settings: {}, context: {}, signal: new AbortController().signal, modelAlias: 'llama' },
    retry: { maxAttempts: 2, minDelayMs: 5, maxDelayMs: 10 },
    ...call,
  });

test('an endpoint is asked by its name in the words of OpenAI, signed with the key', async () => {
  expect(await complete({ settings: { max_tokens: 8 } })).toMatchObject({ text: 'ok', inputTokens: 12, outputTokens: 3 });
  const [request] = endpoint.requests;
  if (!request) throw new Error('nothing was sent');
  expect(request.path).toBe('/endpoints/llama-eu/invocations');
  expect(request.body).toEqual({ model: 'llama-eu', max_tokens: 8, messages: [{ role: 'user', content: 'hello' }] });
  const { scope, given, expected } = signatureFor(request);
  expect(scope).toMatch(/\/eu-west-1\/sagemaker\/aws4_request$/);
  expect(given).toBe(expected);
});

test('endpoints have the aliases of the request, the first is the default, and others are called by their names', async () => {
  expect(modelsOf(sagemaker()).map(({ alias, name }) => [alias, name])).toEqual([
    ['llama', 'llama-eu'],
    ['qwen', 'qwen-eu'],
  ]);
  await complete({ modelAlias: undefined });
  await complete({ modelAlias: 'aws_sagemaker/another' });
  expect(endpoint.requests.map(({ path }) => path)).toEqual([
    '/endpoints/llama-eu/invocations',
    '/endpoints/another/invocations',
  ]);
});

test('its address is that of the region; what belongs to Bedrock and aliases that stand for two are refused', () => {
  const { connect, request, toStored } = findTokenProvider('aws_sagemaker');
  const read = (body: object) => toStored(request.parse({ token: awsToken, ...body }));
  expect(connect(read({}), {}).endpoint).toBe('https://runtime.sagemaker.us-west-2.amazonaws.com');
  expect(() => read({ inference_profiles: { a: 'b' } })).toThrow(/inference_profiles are those of aws_bedrock/);
  expect(() =>
    read({
      models: [
        { name: 'a', alias: 'x' },
        { name: 'b', alias: 'x' },
      ],
    }),
  ).toThrow(/two models have the alias "x"/);
});

test.each([
  [
    'a container that is overloaded',
    fails(424, { ErrorCode: 'CLIENT_ERROR_FROM_MODEL', OriginalStatusCode: 429, OriginalMessage: 'x', Message: 'y' }),
    'rate_limited 429',
    2,
  ],
  ['a request that the container refuses', fails(424, { OriginalStatusCode: 422, OriginalMessage: 'x' }), 'http_error 422', 1],
  ['throttling', fails(400, { __type: 'ThrottlingException', message: 'Rate exceeded' }), 'rate_limited 429', 2],
  [
    'an endpoint that is not there',
    fails(400, { message: 'Endpoint x of account 1 not found.' }, { 'x-amzn-errortype': 'ValidationError' }),
    'http_error 400',
    1,
  ],
  ['an error inside a 200', fails(200, { error: { message: 'x', code: 503 } }), 'http_error 503', 2],
  ['a connection that breaks', cutOff, 'connection_error', 2],
])('%s is an error of its kind', async (_what, answer, expected, tries) => {
  endpoint.next(answer);
  const { attempts } = await complete().catch((err: Pick<ModelAnswer, 'attempts'>) => err);
  const [{ outcome, status } = {}] = attempts;
  expect([outcome, status].filter((one) => one !== undefined).join(' ')).toBe(expected);
  expect(endpoint.requests).toHaveLength(tries);
});

test('a field that the container refuses is left out where it may be', async () => {
  const OriginalMessage = '{"object":"error","message":"response_format is not supported","type":"BadRequestError","code":400}';
  endpoint.next(fails(424, { OriginalStatusCode: 400, OriginalMessage }));
  const settings = { response_format: { type: 'json_object' } };
  expect(await complete({ settings, mayLeaveOut: true })).toMatchObject({
    text: 'ok',
    adjustments: ['response_format is not sent'],
  });
});

const part = (text: string) => awsEvent('PayloadPart', text);
const heard: AnswerPiece[] = [];
const streamed = () => {
  heard.splice(0);
  return complete({ stream: { piece: (piece) => heard.push(piece), brokenOff: () => undefined } });
};

test('an answer in pieces comes in an envelope, whose parts may cut a line anywhere', async () => {
  const text = `${pieceOf({ content: 'gr' })}${pieceOf({ content: 'ün' })}${endOfPieces}`;
  const cuts = [0, 31, 32, 150, text.length];
  endpoint.next(awsStreams(...cuts.slice(1).map((end, at) => part(text.slice(cuts[at], end)))));
  expect(await streamed()).toMatchObject({ text: 'grün', finishReason: 'stop', inputTokens: 12, outputTokens: 3 });
  expect(heard.map(({ text: piece }) => piece).join('')).toBe('grün');
  expect(endpoint.requests[0]).toMatchObject({ path: '/endpoints/llama-eu/invocations-response-stream', body: { stream: true } });
});

test('a stream that says only that it is over has ended well', async () => {
  endpoint.next(awsStreams(part(pieceOf({ content: 'a' })), part('data: [DONE]\n\n')));
  expect(await streamed()).toMatchObject({ text: 'a', finishReason: null });
});

test('an exception in the stream fails the call, and one before the first piece is asked for again', async () => {
  const exception = awsMessage({ ':message-type': 'exception', ':exception-type': 'InternalStreamFailure' }, '{"Message":"x"}');
  endpoint.next(awsStreams(exception), awsStreams(part(pieceOf({ content: 'tw' })), exception));
  await expect(streamed()).rejects.toThrow(/500 Internal Server Error/);
  expect(endpoint.requests).toHaveLength(2);
});
