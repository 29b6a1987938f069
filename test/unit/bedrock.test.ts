import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Integration } from '../../shared/integrations/integration.ts';
import type { ModelAnswer, ModelCall } from '../../shared/modelCalls/modelCall.ts';
import { modelsOf } from '../../shared/modelCalls/models.ts';
import { createOutboundGuard, type OutboundGuard } from '../../shared/outbound/outbound.ts';
import type { AnswerPiece } from '../../shared/providers/chatMessage.ts';
import { findTokenProvider } from '../../shared/providers/index.ts';
import { awsEvent, awsFails, awsMessage, awsStreams, awsToken, signatureFor } from '../support/awsEndpoint.ts';
import { connectedProvider, modelCallerOver } from '../support/modelCallers.ts';
import {
  type Answer,
  cutOff,
  fails,
  type ModelEndpoint,
  type ReceivedRequest,
  sends,
  startModelEndpoint,
} from '../support/modelEndpoint.ts';

const role = 'arn:aws:iam::123456789012:role/path/reader';
let guard: OutboundGuard;
let endpoint: ModelEndpoint;

const usage = { inputTokens: 12, outputTokens: 3, totalTokens: 15 };
const converses = (content: unknown, more: object = {}) =>
  fails(200, { output: { message: { role: 'assistant', content } }, stopReason: 'end_turn', usage, metrics: {}, ...more });

beforeEach(async () => {
  endpoint = await startModelEndpoint();
  endpoint.otherwise(converses([{ text: 'four' }]));
  guard = createOutboundGuard({ allow: [new URL(endpoint.url).host], allowLoopback: true });
});
afterEach(async () => {
  await endpoint.close();
  await guard.close();
});

const bedrock = (body: object = {}): Integration =>
  connectedProvider('aws_bedrock', { token: awsToken, endpoint: endpoint.url, ...body });

const complete = (call: Partial<ModelCall> = {}, integration = bedrock()): Promise<ModelAnswer> =>
  modelCallerOver([integration], guard).complete({
    messages: [{ role: 'user', content: 'two and two?' }],
    ...{ settings: {}, context: {}, signal: new AbortController().signal, modelAlias: 'amazon.nova-lite-v1:0' },
    retry: { maxAttempts: 2, minDelayMs: 5, maxDelayMs: 10 },
    ...call,
  });
const sent = () => endpoint.requests.at(-1)?.body;
const user = (content: string) => ({ role: 'user', content });

describe('where and as whom it is asked', () => {
  test('requests go to the region, signed with the key, and to no place that a region could name', () => {
    const { connect, request, toStored } = findTokenProvider('aws_bedrock');
    const at = (region: string) => connect(toStored(request.parse({ token: awsToken, region })), {}).endpoint;
    expect(at('eu-central-1')).toBe('https://bedrock-runtime.eu-central-1.amazonaws.com');
    expect(at('cn-north-1')).toBe('https://bedrock-runtime.cn-north-1.amazonaws.com.cn');
    expect(request.safeParse({ token: awsToken, region: 'x.example/a' }).success).toBe(false);
  });

  test.each([
    ['amazon.nova-lite-v1:0', '/model/amazon.nova-lite-v1%3A0/converse'],
    [
      'aws_bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/us.x',
      '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.x/converse',
    ],
  ])('%s is asked at %s with a signature that fits', async (modelAlias, path) => {
    const integration = bedrock({ token: { ...awsToken, aws_session_token: 'session' }, region: 'us-east-1' });
    expect(await complete({ modelAlias }, integration)).toMatchObject({ text: 'four' });
    const [request] = endpoint.requests;
    if (!request) throw new Error('nothing was sent');
    expect(request).toMatchObject({ method: 'POST', path, headers: { 'x-amz-security-token': 'session' } });
    const { scope, given, expected } = signatureFor(request);
    expect(scope).toMatch(/^\d{8}\/us-east-1\/bedrock\/aws4_request$/);
    expect(given).toBe(expected);
  });

  test('a model is called by its inference profile, and the first one is the default', async () => {
    const model = 'anthropic.claude-sonnet-4-5-20250929-v1:0';
    const integration = bedrock({ inference_profiles: { [model]: `eu.${model}`, 'amazon.nova-pro-v1:0': 'mine' } });
    await complete({ modelAlias: undefined }, integration);
    expect(endpoint.requests[0]?.path).toBe(`/model/eu.${encodeURIComponent(model)}/converse`);
    const listed = modelsOf(integration).map(({ alias, name }) => [alias, name]);
    expect(listed.slice(0, 2)).toEqual([
      [model, `eu.${model}`],
      ['amazon.nova-pro-v1:0', 'mine'],
    ]);
    expect(listed.filter(([alias]) => alias === 'amazon.nova-pro-v1:0')).toHaveLength(1);
    // 12 tokens at $3 and 3 at $15 a million.
    expect((await complete({ modelAlias: model }, integration)).costUsd).toBeCloseTo(81e-6, 9);
  });

  test('a role without its name and one that is not assumed are refused, and credentials that are none are named', () => {
    const { request, toStored } = findTokenProvider('aws_bedrock');
    const refusal = (body: object) => {
      try {
        return toStored(request.parse(body));
      } catch (err) {
        return (err as { items: { loc: string[] }[] }).items.map(({ loc }) => loc.join('.'));
      }
    };
    expect(refusal({ token: awsToken, credential_type: 'assumed_role' })).toEqual(['body.token.aws_role_arn']);
    expect(refusal({ token: { ...awsToken, aws_role_arn: role } })).toEqual(['body.credential_type']);
    expect(request.safeParse({ token: { ...awsToken, aws_role_arn: 'reader' } }).success).toBe(false);
    const { error } = request.safeParse({ token: { aws_access_key_id: 'a' } });
    expect(error?.issues.map(({ path }) => path)).toEqual([['token', 'aws_secret_access_key']]);
    expect(request.safeParse({ token: 'a text' }).success).toBe(false);
  });
});

describe('as a role', () => {
  const temporary = { aws_access_key_id: 'ASIATEMPORARY', aws_secret_access_key: 'temporary/secret+' };
  /** The answer of the token service, which holds for so many seconds. */
  const assumed = (seconds: number) =>
    sends(
      200,
      `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
        <AssumedRoleUser><AssumedRoleId>AROA:assay</AssumedRoleId><Arn>${role}</Arn></AssumedRoleUser>
        <Credentials><AccessKeyId>${temporary.aws_access_key_id}</AccessKeyId>
        <SecretAccessKey>${temporary.aws_secret_access_key}</SecretAccessKey><SessionToken>session==</SessionToken>
        <Expiration>${new Date(Date.now() + seconds * 1_000).toISOString()}</Expiration></Credentials>
      </AssumeRoleResult></AssumeRoleResponse>`,
      { 'content-type': 'text/xml' },
    );
  let sts: Answer;
  beforeEach(() => {
    sts = assumed(3_600);
    const model = converses([{ text: 'four' }]);
    endpoint.otherwise((request, response) => (request.path === '/sts' ? sts : model)(request, response));
  });
  const asRole = (more: object = {}) =>
    bedrock({
      ...{ credential_type: 'assumed_role', region: 'eu-west-1', sts_endpoint: `${endpoint.url}/sts` },
      token: { ...awsToken, aws_role_arn: role, ...more },
    });
  const paths = () => endpoint.requests.map(({ path }) => (path === '/sts' ? 'sts' : 'model'));
  const call: ModelCall = {
    messages: [{ role: 'user', content: 'two and two?' }],
    ...{ settings: {}, context: {}, signal: new AbortController().signal, modelAlias: 'amazon.nova-lite-v1:0' },
    retry: { maxAttempts: 1 },
  };

  test('temporary credentials are asked for with the key, once for calls at the same time, and sign the calls', async () => {
    const caller = modelCallerOver([asRole({ aws_external_id: 'tenant:7' })], guard);
    const answers = await Promise.all([caller.complete(call), caller.complete(call)]);
    expect(answers.map(({ text }) => text)).toEqual(['four', 'four']);
    await caller.complete(call);
    expect(paths()).toEqual(['sts', 'model', 'model', 'model']);
    const [asking, ...calls] = endpoint.requests as [ReceivedRequest, ...ReceivedRequest[]];
    expect(Object.fromEntries(new URLSearchParams(asking.text))).toEqual({
      ...{ Action: 'AssumeRole', Version: '2011-06-15', RoleArn: role, RoleSessionName: 'assay' },
      ...{ DurationSeconds: '3600', ExternalId: 'tenant:7' },
    });
    const signature = signatureFor(asking);
    expect(signature).toMatchObject({ scope: expect.stringMatching(/^\d{8}\/eu-west-1\/sts\/aws4_request$/) });
    expect(signature.given).toBe(signature.expected);
    for (const request of calls) {
      expect(request.headers['x-amz-security-token']).toBe('session==');
      const { scope, given, expected } = signatureFor(request, temporary);
      expect([scope.split('/').slice(1), given]).toEqual([['eu-west-1', 'bedrock', 'aws4_request'], expected]);
    }
  });

  test('credentials that have nearly ended are asked for anew', async () => {
    const caller = modelCallerOver([asRole()], guard);
    sts = assumed(0.001);
    await caller.complete(call).catch(() => undefined);
    sts = assumed(3_600);
    await caller.complete(call);
    await caller.complete(call);
    expect(paths().filter((path) => path === 'sts')).toHaveLength(2);
    expect(new URLSearchParams(endpoint.requests[0]?.text).has('ExternalId')).toBe(false);
  });

  test.each([
    ['a refusal', fails(403, {}), 'the AWS Security Token Service answered 403 Forbidden'],
    ['an answer without credentials', sends(200, '<AssumeRoleResponse/>'), 'holds no credentials that are valid now'],
  ])('%s of the token service is the reason why the model is not asked', async (_, answer, message) => {
    sts = answer;
    await expect(modelCallerOver([asRole()], guard).complete(call)).rejects.toThrow(message);
    expect(paths()).toEqual(['sts']);
  });

  test('without an address of its own the token service is that of the region', () => {
    const { connect, request, toStored } = findTokenProvider('aws_bedrock');
    const at = (region: string) => {
      const body = { token: { ...awsToken, aws_role_arn: role }, region, credential_type: 'assumed_role' };
      return connect(toStored(request.parse(body)), {}).authentication;
    };
    expect(at('eu-west-1')).toMatchObject({ stsUrl: 'https://sts.eu-west-1.amazonaws.com/' });
    expect(at('cn-north-1')).toMatchObject({ stsUrl: 'https://sts.cn-north-1.amazonaws.com.cn/' });
  });
});

describe('a request', () => {
  test('has settings, system prompts and turns under their names in the Converse API', async () => {
    const settings = { temperature: 0.2, top_p: 0.9, max_tokens: 64, stop_sequences: ['END'] };
    const messages = [{ role: 'system', content: 'short' }, user('a'), user('b'), { role: 'assistant', content: ' ' }, user('c')];
    await complete({ messages, settings });
    expect(sent()).toEqual({
      system: [{ text: 'short' }],
      messages: [{ role: 'user', content: [{ text: 'a' }, { text: 'b' }, { text: 'c' }] }],
      inferenceConfig: { temperature: 0.2, topP: 0.9, maxTokens: 64, stopSequences: ['END'] },
    });
  });

  test('a system prompt alone is what the user says', async () => {
    await complete({ messages: [{ role: 'system', content: 'hello' }] });
    expect(sent()).toEqual({ messages: [{ role: 'user', content: [{ text: 'hello' }] }] });
  });

  test('has tools, their calls, and all results of a turn in one message', async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const call = (id: string, given: string) => ({ id, type: 'function', function: { name: 'weather', arguments: given } });
    await complete({
      messages: [
        user('where is it warm?'),
        { role: 'assistant', content: null, tool_calls: [call('t1', '{"city":"Oslo"}'), call('t2', '')] },
        { role: 'tool', tool_call_id: 't1', content: '4' },
        { role: 'tool', tool_call_id: 't2', content: '' },
      ],
      settings: {
        tools: [{ type: 'function', function: { name: 'weather', description: '', parameters } }],
        tool_choice: { type: 'function', function: { name: 'weather' } },
      },
    });
    expect(sent()).toEqual({
      messages: [
        { role: 'user', content: [{ text: 'where is it warm?' }] },
        {
          role: 'assistant',
          content: [
            { toolUse: { toolUseId: 't1', name: 'weather', input: { city: 'Oslo' } } },
            { toolUse: { toolUseId: 't2', name: 'weather', input: {} } },
          ],
        },
        {
          role: 'user',
          content: [
            { toolResult: { toolUseId: 't1', content: [{ text: '4' }] } },
            { toolResult: { toolUseId: 't2', content: [] } },
          ],
        },
      ],
      toolConfig: {
        tools: [{ toolSpec: { name: 'weather', inputSchema: { json: parameters } } }],
        toolChoice: { tool: { name: 'weather' } },
      },
    });
  });

  test('has files that it holds; one that is only named by its URL is refused before anything is sent', async () => {
    const image = (url: string) => ({ type: 'image_url', image_url: { url } });
    const file = { type: 'file', file: { filename: 'a_b.pdf', file_data: 'data:application/pdf;base64,AAAA' } };
    await complete({ messages: [{ role: 'user', content: [image('data:image/jpg;base64,BBBB'), file] }] });
    expect(sent()?.messages).toEqual([
      {
        role: 'user',
        content: [
          { image: { format: 'jpeg', source: { bytes: 'BBBB' } } },
          { document: { format: 'pdf', name: 'a b pdf', source: { bytes: 'AAAA' } } },
        ],
      },
    ]);
    const linked = complete({ messages: [{ role: 'user', content: [image('https://a.example/x.png')] }] });
    await expect(linked).rejects.toThrow(/no image by its URL/);
    expect(endpoint.requests).toHaveLength(1);
  });

  test('has the schema of the answer', async () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' } } };
    await complete({ settings: { response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } } });
    expect(sent()?.outputConfig).toEqual({
      textFormat: { type: 'json_schema', structure: { jsonSchema: { name: 'n', schema: JSON.stringify(schema) } } },
    });
  });

  test.each([
    ['global.anthropic.claude-opus-4-8-v1:0', 'high', { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
    ['global.anthropic.claude-opus-4-8-v1:0', 'none', { thinking: { type: 'disabled' } }],
    ['global.amazon.nova-2-lite-v1:0', 'minimal', { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'low' } }],
    ['openai.gpt-oss-20b-1:0', 'low', { reasoning_effort: 'low' }],
    ['eu.anthropic.claude-opus-4-8-v1:0', 'low', { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }],
  ])('asks %s for the effort %s in its own words', async (model, reasoning_effort, fields) => {
    await complete({ modelAlias: `aws_bedrock/${model}`, settings: { reasoning_effort } });
    expect(sent()?.additionalModelRequestFields).toEqual(fields);
  });

  test('what the API has no word for fails the call, or is left out where it may be', async () => {
    const settings = { response_format: { type: 'json_object' } };
    await expect(complete({ settings })).rejects.toThrow(/only json_schema: it does not take response_format/);
    expect(endpoint.requests).toEqual([]);
    const answer = await complete({ settings, mayLeaveOut: true });
    expect(answer).toMatchObject({ text: 'four', adjustments: ['response_format is not sent'] });
  });

  test('a field that the model refuses by its own name is left out where it may be', async () => {
    const schema = { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } };
    endpoint.next(awsFails(400, 'ValidationException', "This model doesn't support the outputConfig.textFormat field."));
    const answer = await complete({ settings: { response_format: schema, temperature: 0 }, mayLeaveOut: true });
    expect(answer.text).toBe('four');
    expect(sent()).toMatchObject({ inferenceConfig: { temperature: 0 } });
    expect(sent()).not.toHaveProperty('outputConfig');
  });
});

describe('an answer', () => {
  test('has text, reasoning, calls and tokens, those of the cache among the input', async () => {
    endpoint.next(
      converses(
        [
          { reasoningContent: { reasoningText: { text: 'hm', signature: 'x' } } },
          { reasoningContent: { redactedContent: 'AAAA' } },
          { text: 'so: ' },
          { toolUse: { toolUseId: 't1', name: 'add', input: { a: 2 } } },
        ],
        { stopReason: 'tool_use', usage: { ...usage, cacheReadInputTokens: 100, cacheWriteInputTokens: 20 } },
      ),
    );
    expect(await complete()).toMatchObject({
      ...{ text: 'so: ', reasoning: 'hm', finishReason: 'tool_calls', model: 'amazon.nova-lite-v1:0' },
      message: { tool_calls: [{ id: 't1', type: 'function', function: { name: 'add', arguments: '{"a":2}' } }] },
      ...{ inputTokens: 132, outputTokens: 3, cachedInputTokens: 100, cacheWriteTokens: 20, reasoningTokens: null },
    });
  });

  test.each([
    ['no content', converses([]), { text: '', finishReason: 'stop', inputTokens: 12 }],
    ['content that is null', converses(null), { text: '' }],
    [
      'a text that cites documents',
      converses([{ text: 'so: ' }, { citationsContent: { content: [{ text: 'fo' }, { text: 'ur' }], citations: [] } }]),
      { text: 'so: four' },
    ],
    ['no counts', converses([{ text: 'a' }], { usage: undefined }), { text: 'a', inputTokens: null, outputTokens: null }],
    ['a guardrail', converses([{ text: 'Sorry.' }], { stopReason: 'guardrail_intervened' }), { finishReason: 'content_filter' }],
    [
      'a reason that is new',
      converses([{ text: 'a' }], { stopReason: 'malformed_tool_use' }),
      { finishReason: 'malformed_tool_use' },
    ],
  ])('with %s is kept', async (_what, answer, expected) => {
    endpoint.next(answer);
    expect(await complete()).toMatchObject(expected);
  });

  test.each([
    [
      'a 200 that is none',
      fails(200, { Output: { __type: 'com.amazon.coral.service#UnknownOperationException' }, Version: '1.0' }),
      'http_error 404',
    ],
    ['a 200 without a message', fails(200, { output: {} }), 'malformed_answer 200'],
    [
      'throttling',
      awsFails(429, 'ThrottlingException', 'Too many requests, please wait before trying again.'),
      'rate_limited 429',
    ],
    [
      'a model that is away',
      awsFails(503, 'ServiceUnavailableException', 'Bedrock is unable to process your request.'),
      'http_error 503',
    ],
    ['a model that failed', awsFails(424, 'ModelErrorException', 'x'), 'http_error 424'],
    ['a wrong request', awsFails(400, 'ValidationException', 'on-demand throughput isn’t supported'), 'http_error 400'],
    [
      'a wrong key',
      awsFails(403, 'UnrecognizedClientException', 'The security token included in the request is invalid.'),
      'http_error 403',
    ],
    ['a connection that breaks', cutOff, 'connection_error'],
  ])('%s is an error of its kind', async (_what, answer, expected) => {
    endpoint.next(answer);
    const { attempts } = await complete().catch((err: { attempts: ModelAnswer['attempts'] }) => err);
    const [{ outcome, status } = {}] = attempts;
    expect([outcome, status].filter((one) => one !== undefined).join(' ')).toBe(expected);
    const isTriedAgain = /rate_limited|503|connection/.test(expected);
    expect(endpoint.requests).toHaveLength(isTriedAgain ? 2 : 1);
  });

  test('the quota of a day is used up, and not waited for', async () => {
    endpoint.next(awsFails(429, 'ThrottlingException', 'Too many tokens per day, please wait before trying again.'));
    await expect(complete()).rejects.toMatchObject({ isExhausted: true, permanent: true });
    expect(endpoint.requests).toHaveLength(1);
  });
});

describe('an answer in pieces', () => {
  const pieces: AnswerPiece[] = [];
  beforeEach(() => void pieces.splice(0));
  const streamed = (call: Partial<ModelCall> = {}) =>
    complete({ ...call, stream: { piece: (piece) => pieces.push(piece), brokenOff: () => undefined } });
  const delta = (contentBlockIndex: number, said: object) => awsEvent('contentBlockDelta', { contentBlockIndex, delta: said });

  test('is put together wherever its bytes are cut', async () => {
    const all = Buffer.concat([
      awsEvent('messageStart', { role: 'assistant' }),
      delta(0, { reasoningContent: { text: 'hm' } }),
      delta(0, { reasoningContent: { signature: 'x' } }),
      delta(1, { text: 'gr' }),
      delta(1, { text: 'ün' }),
      awsEvent('contentBlockStop', { contentBlockIndex: 1 }),
      awsEvent('contentBlockStart', { contentBlockIndex: 2, start: { toolUse: { toolUseId: 't1', name: 'add' } } }),
      delta(2, { toolUse: { input: '{"a"' } }),
      delta(2, { toolUse: { input: ':2}' } }),
      awsEvent('messageStop', { stopReason: 'tool_use' }),
      awsEvent('metadata', { usage: { ...usage, cacheReadInputTokens: 4 }, metrics: { latencyMs: 5 } }),
    ]);
    endpoint.next(awsStreams(...Array.from({ length: Math.ceil(all.length / 7) }, (_, at) => all.subarray(at * 7, at * 7 + 7))));
    expect(await streamed()).toMatchObject({
      ...{ text: 'grün', reasoning: 'hm', finishReason: 'tool_calls', inputTokens: 16, outputTokens: 3, cachedInputTokens: 4 },
      message: { tool_calls: [{ id: 't1', function: { name: 'add', arguments: '{"a":2}' } }] },
    });
    expect(pieces.map(({ text }) => text).join('')).toBe('grün');
    expect(endpoint.requests[0]).toMatchObject({ path: '/model/amazon.nova-lite-v1%3A0/converse-stream' });
    expect(endpoint.requests[0]?.body).not.toHaveProperty('stream');
  });

  test('is read as the codec of AWS writes it, with headers of every type', async () => {
    // Made with @smithy/eventstream-codec 4.5.2.
    const made =
      'AAAA3gAAAJ5EUKASCzpldmVudC10eXBlBwARY29udGVudEJsb2NrRGVsdGENOmNvbnRlbnQtdHlwZQcAEGFwcGxpY2F0aW9uL2pzb24NOm1lc3NhZ2UtdHlwZQcABWV2ZW50BngtZmxhZwAHeC1jb3VudAQAAAAHBHgtYXQIAAABmcgswAAEeC1pZAkBI0VniavN7wEjRWeJq83vB3gtYnl0ZXMGAAMBAgN7ImNvbnRlbnRCbG9ja0luZGV4IjowLCJkZWx0YSI6eyJ0ZXh0IjoiZ3LDvG4ifX1HQQ51AAAAwQAAAJhPgwV0CzpldmVudC10eXBlBwALbWVzc2FnZVN0b3ANOmNvbnRlbnQtdHlwZQcAEGFwcGxpY2F0aW9uL2pzb24NOm1lc3NhZ2UtdHlwZQcABWV2ZW50BngtZmxhZwAHeC1jb3VudAQAAAAHBHgtYXQIAAABmcgswAAEeC1pZAkBI0VniavN7wEjRWeJq83vB3gtYnl0ZXMGAAMBAgN7InN0b3BSZWFzb24iOiJlbmRfdHVybiJ9QMaaug==';
    endpoint.next(awsStreams(Buffer.from(made, 'base64')));
    expect(await streamed()).toMatchObject({ text: 'grün', finishReason: 'stop', inputTokens: null, outputTokens: null });
  });

  const exception = (kind: string, message = 'x') =>
    awsMessage({ ':message-type': 'exception', ':exception-type': kind }, JSON.stringify({ message }));
  test.each([
    ['throttlingException', 'rate_limited 429'],
    ['modelStreamErrorException', 'http_error 502'],
    ['serviceUnavailableException', 'http_error 503'],
  ])('that begins with %s is asked for again', async (kind, expected) => {
    endpoint.next(
      awsStreams(exception(kind)),
      awsStreams(delta(0, { text: 'ok' }), awsEvent('messageStop', { stopReason: 'end_turn' })),
    );
    const { text, attempts } = await streamed();
    expect([text, attempts.map(({ outcome, status }) => `${outcome} ${status}`)[0]]).toEqual(['ok', expected]);
  });

  test.each([
    ['breaks off', awsStreams(delta(0, { text: 'tw' })), /ended its stream before/],
    [
      'ends within a message',
      awsStreams(delta(0, { text: 'tw' }), awsEvent('messageStop', {}).subarray(0, 20)),
      /ends within a message/,
    ],
    ['is damaged', awsStreams(delta(0, { text: 'tw' }), Buffer.alloc(40, 7)), /wrong checksum/],
    ['has an error between', awsStreams(delta(0, { text: 'tw' }), exception('validationException')), /400 Bad Request/],
  ])('that %s fails with what has come, and is not asked for again', async (_what, answer, message) => {
    endpoint.next(answer);
    const partial: string[] = [];
    const call = complete({ stream: { piece: () => undefined, brokenOff: ({ text }) => partial.push(text) } });
    await expect(call).rejects.toThrow(message);
    expect(partial).toEqual(['tw']);
    expect(endpoint.requests).toHaveLength(1);
  });

  test('a model that has no tools in a stream answers whole', async () => {
    endpoint.next(awsFails(400, 'ValidationException', "This model doesn't support tool use in streaming mode."));
    const answer = await streamed();
    expect(answer).toMatchObject({ text: 'four', adjustments: ['the answer is not streamed'] });
    expect(endpoint.requests.map(({ path }) => path.split('/').at(-1))).toEqual(['converse-stream', 'converse']);
  });
});
