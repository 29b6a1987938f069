import { createHash } from 'node:crypto';
import { decodeJwt, jwtVerify } from 'jose';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ModelAnswer, ModelCall } from '../../shared/modelCalls/modelCall.ts';
import { createOutboundGuard, type OutboundGuard } from '../../shared/outbound/outbound.ts';
import type { AnswerPiece } from '../../shared/providers/chatMessage.ts';
import { findTokenProvider } from '../../shared/providers/index.ts';
import { connectedProvider, modelCallerOver } from '../support/modelCallers.ts';
import {
  cutOff,
  endOfPieces,
  fails,
  type ModelEndpoint,
  pieceOf,
  says,
  sends,
  startModelEndpoint,
  streams,
} from '../support/modelEndpoint.ts';
import { serviceAccount, serviceAccountPublicKey } from '../support/serviceAccountKey.ts';

let guard: OutboundGuard;
let endpoint: ModelEndpoint;
let tokenServer: ModelEndpoint;

const usageMetadata = { promptTokenCount: 12, candidatesTokenCount: 3, totalTokenCount: 15 };
const gives = (parts: unknown, more: object = {}, beside: object = {}) => ({
  candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0, ...more }],
  ...{ usageMetadata, modelVersion: 'gemini-2.5-flash-002', responseId: 'r', ...beside },
});

beforeEach(async () => {
  endpoint = await startModelEndpoint();
  tokenServer = await startModelEndpoint();
  endpoint.otherwise(fails(200, gives([{ text: 'four' }])));
  tokenServer.otherwise(sends(200, JSON.stringify({ access_token: 'ya29.x', expires_in: 3_599, token_type: 'Bearer' })));
  guard = createOutboundGuard({ allow: [endpoint, tokenServer].map(({ url }) => new URL(url).host), allowLoopback: true });
});
afterEach(async () => {
  await endpoint.close();
  await tokenServer.close();
  await guard.close();
});

const keyAt = (more: object = {}) => JSON.stringify({ ...serviceAccount, token_uri: `${tokenServer.url}/token`, ...more });
const vertex = (body: object = {}) => connectedProvider('vertex_ai', { token: keyAt(), endpoint: endpoint.url, ...body });
const complete = (call: Partial<ModelCall> = {}, integration = vertex()): Promise<ModelAnswer> =>
  modelCallerOver([integration], guard).complete({
    messages: [{ role: 'user', content: 'two and two?' }],
    ...{ settings: {}, context: {}, signal: new AbortController().signal, modelAlias: 'gemini-2.5-flash' },
    retry: { maxAttempts: 2, minDelayMs: 5, maxDelayMs: 10 },
    ...call,
  });
const sent = () => endpoint.requests.at(-1)?.body;
const user = (content: string) => ({ role: 'user', content });

describe('where and as whom it is asked', () => {
  test.each([
    ['global', 'https://aiplatform.googleapis.com'],
    ['europe-west4', 'https://europe-west4-aiplatform.googleapis.com'],
    ['eu', 'https://aiplatform.eu.rep.googleapis.com'],
  ])('the models of %s are at %s', (location, address) => {
    const { connect, request, toStored } = findTokenProvider('vertex_ai');
    expect(connect(toStored(request.parse({ token: keyAt(), location })), {}).endpoint).toBe(address);
  });

  test('an access token is asked for with an assertion that the key has signed, once for two calls', async () => {
    const caller = modelCallerOver([vertex({ location: 'us-central1' })], guard);
    const call = { messages: [user('a')], settings: {}, context: {}, signal: new AbortController().signal };
    await caller.complete({ ...call, modelAlias: 'gemini-2.5-flash' });
    await caller.complete({ ...call, modelAlias: 'vertex_ai/1234' });
    expect(endpoint.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ['/v1/projects/p-1/locations/us-central1/publishers/google/models/gemini-2.5-flash:generateContent', 'Bearer ya29.x'],
      ['/v1/projects/p-1/locations/us-central1/endpoints/1234:generateContent', 'Bearer ya29.x'],
    ]);
    expect(tokenServer.requests).toHaveLength(1);
    const form = new URLSearchParams(tokenServer.requests[0]?.text);
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const { payload, protectedHeader } = await jwtVerify(form.get('assertion') ?? '', serviceAccountPublicKey);
    expect(protectedHeader).toMatchObject({ alg: 'RS256', kid: 'k-1' });
    expect(payload).toMatchObject({
      ...{ iss: serviceAccount.client_email, aud: `${tokenServer.url}/token` },
      scope: 'https://www.googleapis.com/auth/cloud-platform',
    });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(3_600);
  });

  test("models of other makers are asked at one endpoint, by OpenAI's chat protocol", async () => {
    const model = 'meta/llama-4-maverick-17b-128e-instruct-maas';
    endpoint.next(says('four', { usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 } }));
    const settings = { temperature: 0.5, max_tokens: 20, stop_sequences: ['x'] };
    const answer = await complete({ modelAlias: `vertex_ai/${model}`, settings });
    expect(answer).toMatchObject({ text: 'four', inputTokens: 12, outputTokens: 3 });
    const [request] = endpoint.requests;
    expect(request?.path).toBe('/v1/projects/p-1/locations/global/endpoints/openapi/chat/completions');
    expect(request?.headers.authorization).toBe('Bearer ya29.x');
    expect(request?.body).toEqual({ model, messages: [user('two and two?')], temperature: 0.5, max_tokens: 20, stop: ['x'] });

    const pieces: AnswerPiece[] = [];
    endpoint.next(streams(pieceOf({ content: 'fo' }), pieceOf({ content: 'ur' }), endOfPieces));
    const stream = { piece: (piece: AnswerPiece) => void pieces.push(piece), brokenOff() {} };
    expect(await complete({ modelAlias: `vertex_ai/${model}`, stream })).toMatchObject({ text: 'four' });
    expect(pieces.flatMap(({ text }) => text || [])).toEqual(['fo', 'ur']);
  });

  test('a token that has ended early is asked for again', async () => {
    endpoint.next(fails(401, { error: { code: 401, status: 'UNAUTHENTICATED', message: 'x' } }));
    expect((await complete()).attempts.map(({ outcome }) => outcome)).toEqual(['unauthorized', 'ok']);
    expect(tokenServer.requests).toHaveLength(2);
  });

  test('a key that Google refuses fails the call', async () => {
    tokenServer.otherwise(fails(400, { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' }));
    await expect(complete()).rejects.toThrow('the OAuth2 token endpoint answered 400');
    expect([tokenServer.requests.length, endpoint.requests.length]).toEqual([1, 0]);
  });

  test('what is no key of a service account is refused with what is wrong, and never repeated', () => {
    const { request, toStored } = findTokenProvider('vertex_ai');
    const problem = (token: unknown) =>
      request
        .safeParse({ token })
        .error?.issues.map(({ message }) => message)
        .join('; ');
    expect(problem('AIza-a-key')).toBe('must be the text of the JSON key file of a service account');
    expect(problem(keyAt({ client_email: undefined }))).toBe('the JSON key of the service account: client_email is missing');
    expect(problem(keyAt({ private_key: 'secret words' }))).toMatch(/private_key must be a private RSA key in PEM/);
    expect(problem(keyAt({ private_key: 'secret words' }))).not.toContain('secret words');
    const without = request.parse({ token: keyAt({ project_id: undefined }) });
    expect(() => toStored(without)).toThrow(/project_id is required/);
    const bucket = { service_account_credentials: 'x', bucket_name: 'B', object_path_prefix: 'p*' };
    const parsed = request.safeParse({ token: keyAt(), gcs_config: bucket });
    expect(parsed.error?.issues.map(({ path }) => path.join('.'))).toEqual([
      ...['gcs_config.service_account_credentials', 'gcs_config.bucket_name', 'gcs_config.object_path_prefix'],
    ]);
  });
});

describe('a request', () => {
  test('has settings, system prompts and turns under the names of Gemini', async () => {
    const settings = { temperature: 0.2, top_p: 0.9, max_tokens: 64, stop_sequences: ['END'] };
    await complete({
      messages: [{ role: 'system', content: 'short' }, user('a'), user(''), { role: 'assistant', content: 'b' }],
      settings,
    });
    expect(sent()).toEqual({
      systemInstruction: { parts: [{ text: 'short' }] },
      contents: [
        { role: 'user', parts: [{ text: 'a' }] },
        { role: 'model', parts: [{ text: 'b' }] },
      ],
      generationConfig: { temperature: 0.2, topP: 0.9, maxOutputTokens: 64, stopSequences: ['END'] },
    });
  });

  test('has tools, their calls with the signature that Gemini 3 asks for, and all results of a turn in one content', async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{"city":"Oslo"}' } });
    await complete({
      modelAlias: 'gemini-3.8-flash',
      messages: [
        user('where is it warm?'),
        { role: 'assistant', content: null, tool_calls: [call('c1', 'weather'), call('c2', 'height')] },
        { role: 'tool', tool_call_id: 'c1', content: '{"degrees":4}' },
        { role: 'tool', tool_call_id: 'c2', content: '23 m' },
      ],
      settings: { tools: [{ type: 'function', function: { name: 'weather', parameters } }], tool_choice: 'required' },
    });
    expect(sent()).toEqual({
      contents: [
        { role: 'user', parts: [{ text: 'where is it warm?' }] },
        {
          role: 'model',
          parts: [
            {
              functionCall: { name: 'weather', args: { city: 'Oslo' } },
              thoughtSignature: 'skip_thought_signature_validator',
            },
            { functionCall: { name: 'height', args: { city: 'Oslo' } } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'weather', response: { degrees: 4 } } },
            { functionResponse: { name: 'height', response: { result: '23 m' } } },
          ],
        },
      ],
      tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: parameters }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
    });
  });

  test('has the schema of the answer and the effort of its model', async () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' } } };
    const response_format = { type: 'json_schema', json_schema: { name: 'n', schema } };
    const asked = async (modelAlias: string, settings: ModelCall['settings']) => {
      await complete({ modelAlias, settings });
      return sent()?.generationConfig;
    };
    const format = { responseMimeType: 'application/json', responseJsonSchema: schema };
    expect(await asked('gemini-2.5-flash', { response_format, reasoning_effort: 'none' })).toEqual({
      ...format,
      thinkingConfig: { includeThoughts: true, thinkingBudget: 0 },
    });
    expect(await asked('gemini-3.8-flash', { response_format: { type: 'json_object' }, reasoning_effort: 'low' })).toEqual({
      ...{ responseMimeType: 'application/json', thinkingConfig: { includeThoughts: true, thinkingLevel: 'low' } },
    });
  });

  test('has files, those that are named by their URL too', async () => {
    const image = (url: string) => ({ type: 'image_url', image_url: { url } });
    await complete({ messages: [{ role: 'user', content: [image('data:image/png;base64,AAAA'), image('gs://b/x.jpg')] }] });
    expect(sent()?.contents).toEqual([
      {
        role: 'user',
        parts: [
          { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
          { fileData: { fileUri: 'gs://b/x.jpg', mimeType: 'image/jpeg' } },
        ],
      },
    ]);
  });

  test('what the model refuses by its own name is left out where it may be', async () => {
    const message = 'Unable to submit request because thinking_level is not supported by this model.';
    endpoint.next(fails(400, { error: { code: 400, status: 'INVALID_ARGUMENT', message } }));
    const answer = await complete({ settings: { reasoning_effort: 'high', top_p: 0.5 }, mayLeaveOut: true });
    expect(answer).toMatchObject({ text: 'four', adjustments: ['reasoning_effort is not sent'] });
    expect(sent()?.generationConfig).toEqual({ topP: 0.5 });
  });
});

describe('an answer', () => {
  test('has text, thoughts, calls and tokens', async () => {
    const usage = {
      promptTokenCount: 40,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 30,
      totalTokenCount: 75,
      cachedContentTokenCount: 16,
    };
    const parts = [
      { text: 'hm', thought: true },
      { text: 'so' },
      { functionCall: { name: 'add', args: { a: 2 } } },
      { functionCall: { name: 'now' } },
    ];
    endpoint.next(fails(200, gives(parts, {}, { usageMetadata: usage })));
    expect(await complete()).toMatchObject({
      ...{ text: 'so', reasoning: 'hm', finishReason: 'tool_calls', model: 'gemini-2.5-flash-002' },
      message: {
        tool_calls: [
          { id: 'call_0', type: 'function', function: { name: 'add', arguments: '{"a":2}' } },
          { id: 'call_1', type: 'function', function: { name: 'now', arguments: '{}' } },
        ],
      },
      ...{ inputTokens: 40, outputTokens: 35, reasoningTokens: 30, cachedInputTokens: 16 },
    });
  });

  test.each([
    [
      'no parts, its tokens spent on thought',
      gives(undefined, { finishReason: 'MAX_TOKENS' }),
      { text: '', finishReason: 'length' },
    ],
    [
      'no content',
      { candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL' }] },
      { text: '', finishReason: 'malformed_function_call', inputTokens: null },
    ],
    [
      'an empty content',
      { candidates: [{ content: {}, finishReason: 'SAFETY' }], usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 } },
      { text: '', finishReason: 'content_filter', inputTokens: 9, outputTokens: 0 },
    ],
    [
      'a prompt that was blocked',
      { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 } },
      { text: '', finishReason: 'content_filter', inputTokens: 9 },
    ],
    [
      'tokens that the use of a tool put in',
      gives([{ text: 'a' }], {}, { usageMetadata: { ...usageMetadata, toolUsePromptTokenCount: 20, totalTokenCount: 35 } }),
      { inputTokens: 32, outputTokens: 3 },
    ],
    ['no counts', gives([{ text: 'a' }], {}, { usageMetadata: undefined }), { text: 'a', inputTokens: null, outputTokens: null }],
  ])('with %s is kept', async (_what, answer, expected) => {
    endpoint.next(fails(200, answer));
    expect(await complete()).toMatchObject(expected);
  });

  const quotaOf = (quotaId: string) => ({
    error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'x', details: [{ violations: [{ quotaId }] }] },
  });
  test.each([
    ['a 200 without candidates', fails(200, { usageMetadata }), 'malformed_answer 200', 1],
    ['a 200 that holds an error', fails(200, { error: { code: 503, status: 'UNAVAILABLE', message: 'x' } }), 'http_error 503', 2],
    ['an error in a list', fails(429, [quotaOf('PerMinute')]), 'rate_limited 429', 2],
    ['the quota of a day', fails(429, quotaOf('GenerateRequestsPerDayPerProject')), 'rate_limited 429', 1],
    ['a model that is not there', fails(404, { error: { code: 404, status: 'NOT_FOUND', message: 'x' } }), 'http_error 404', 1],
    ['a connection that breaks', cutOff, 'connection_error', 2],
  ])('%s is an error of its kind', async (_what, answer, expected, tries) => {
    endpoint.next(answer);
    const { attempts } = await complete().catch((err: { attempts: ModelAnswer['attempts'] }) => err);
    const [{ outcome, status } = {}] = attempts;
    expect([outcome, status].filter((one) => one !== undefined).join(' ')).toBe(expected);
    expect(endpoint.requests).toHaveLength(tries);
  });
});

describe('with a bucket for files', () => {
  const bytes = Buffer.from('a picture');
  const url = `data:image/png;base64,${bytes.toString('base64')}`;
  const name = `assay/files/${createHash('sha256').update(bytes).digest('hex')}.png`;
  const asked = {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what?' },
          { type: 'image_url', image_url: { url } },
        ],
      },
    ],
  };
  const settings = (more: object = {}) => ({
    gcs_config: {
      ...{ service_account_credentials: keyAt(), bucket_name: 'my-bucket', object_path_prefix: '/assay/files/' },
      ...{ endpoint: storage.url, ...more },
    },
  });
  let storage: ModelEndpoint;
  let ownGuard: OutboundGuard;
  beforeEach(async () => {
    storage = await startModelEndpoint();
    storage.otherwise(fails(200, { kind: 'storage#object' }));
    const allow = [endpoint, tokenServer, storage].map((server) => new URL(server.url).host);
    ownGuard = createOutboundGuard({ allow, allowLoopback: true });
  });
  afterEach(async () => {
    await storage.close();
    await ownGuard.close();
  });
  const call = (more: Partial<ModelCall> = {}): ModelCall => ({
    ...{ settings: {}, context: {}, signal: new AbortController().signal, modelAlias: 'gemini-2.5-flash' },
    ...{ retry: { maxAttempts: 2, minDelayMs: 5, maxDelayMs: 10 }, ...asked, ...more },
  });
  const fileUri = `gs://my-bucket/${name}`;

  test('each file is put there once, and the model fetches it', async () => {
    const caller = modelCallerOver([vertex(settings())], ownGuard);
    for (let time = 0; time < 2; time++) {
      expect((await caller.complete(call())).text).toBe('four');
      expect(sent()?.contents).toEqual([
        { role: 'user', parts: [{ text: 'what?' }, { fileData: { fileUri, mimeType: 'image/png' } }] },
      ]);
    }
    expect(storage.requests).toMatchObject([
      { method: 'POST', text: 'a picture', headers: { authorization: 'Bearer ya29.x', 'content-type': 'image/png' } },
    ]);
    const [path, query] = storage.requests[0]?.path.split('?') ?? [];
    expect([path, Object.fromEntries(new URLSearchParams(query))]).toEqual([
      ...['/upload/storage/v1/b/my-bucket/o', { uploadType: 'media', name, ifGenerationMatch: '0' }],
    ]);
    const scopes = tokenServer.requests.map(({ text }) => decodeJwt(new URLSearchParams(text).get('assertion') ?? '').scope);
    expect(scopes).toEqual([
      ...['https://www.googleapis.com/auth/cloud-platform', 'https://www.googleapis.com/auth/devstorage.read_write'],
    ]);
  });

  test('a file that is there already is taken as it is; texts and Claude need none', async () => {
    storage.otherwise(fails(412));
    await modelCallerOver([vertex(settings())], ownGuard).complete(call());
    expect(sent()?.contents).toMatchObject([{ parts: [{}, { fileData: { fileUri } }] }]);
    const caller = modelCallerOver([vertex(settings())], ownGuard);
    await caller.complete(call({ messages: [user('a')] }));
    endpoint.next(fails(200, { type: 'message', content: [{ type: 'text', text: 'four' }], stop_reason: 'end_turn' }));
    await caller.complete(call({ modelAlias: 'vertex_ai/claude-opus-4-8' }));
    expect(sent()).toMatchObject({ messages: [{ content: [{ type: 'text' }, { type: 'image', source: { type: 'base64' } }] }] });
    expect(storage.requests).toHaveLength(1);
  });

  test.each([
    ['refuses the account', 403, 1, /the bucket of gcs_config answered 403/],
    ['is away', 503, 2, /the bucket of gcs_config answered 503/],
  ])('a bucket that %s fails the call, and the model is not asked', async (_what, status, tries, message) => {
    storage.otherwise(fails(status));
    await expect(modelCallerOver([vertex(settings())], ownGuard).complete(call())).rejects.toThrow(message);
    expect([storage.requests.length, endpoint.requests.length]).toEqual([tries, 0]);
  });

  test('its settings are shown without the key, which is kept as a secret', () => {
    const { request, toStored, toShown, toSecrets, stored } = findTokenProvider('vertex_ai');
    const body = request.parse({ token: keyAt(), ...settings({ endpoint: undefined }) });
    const kept = stored.parse(toStored(body));
    const shown = { bucket_name: 'my-bucket', object_path_prefix: 'assay/files' };
    expect(toShown(kept)).toMatchObject({ gcs_config: shown });
    expect(toShown(kept)).not.toHaveProperty('gcs_config.endpoint');
    const ofGateway = stored.parse(toStored(request.parse({ token: keyAt(), ...settings() })));
    expect(toShown(ofGateway)).toMatchObject({ gcs_config: { ...shown, endpoint: storage.url } });
    expect(JSON.stringify(kept)).not.toContain('PRIVATE KEY');
    expect(toSecrets?.(body)).toEqual({ token: keyAt(), bucketToken: keyAt() });
    expect(toShown(stored.parse(toStored(request.parse({ token: keyAt() }))))).toMatchObject({ gcs_config: null });
  });
});

describe('log probabilities', () => {
  const chosenCandidates = [
    { token: 'fo', tokenId: 7, logProbability: -0.25 },
    { token: 'ur', tokenId: 8, logProbability: -0.75 },
  ];
  const probable = (more: object) => fails(200, gives([{ text: 'four' }], more));

  test('are asked for where a metric wants them, with no others beside the chosen ones', async () => {
    endpoint.next(probable({ avgLogprobs: -0.5, logprobsResult: { topCandidates: [], chosenCandidates } }));
    const answer = await complete({ wantsLogProbabilities: true });
    expect(sent()?.generationConfig).toEqual({ responseLogprobs: true });
    expect(answer).toMatchObject({ logProbabilities: [-0.25, -0.75], averageLogProbability: -0.5, adjustments: [] });
    await complete();
    expect(sent()).not.toHaveProperty('generationConfig');
  });

  test.each([
    ['the mean alone', { avgLogprobs: -0.5 }, { logProbabilities: null, averageLogProbability: -0.5 }],
    ['a mean that is none', { avgLogprobs: 'NaN' }, { logProbabilities: null, averageLogProbability: null }],
    [
      'one token that lacks its own',
      { avgLogprobs: -0.5, logprobsResult: { chosenCandidates: [{ token: 'a' }] } },
      { logProbabilities: null, averageLogProbability: -0.5 },
    ],
    ['nothing', {}, { logProbabilities: null, averageLogProbability: null }],
  ])('with %s, what is said is kept', async (_what, more, expected) => {
    endpoint.next(probable(more));
    expect(await complete({ wantsLogProbabilities: true })).toMatchObject({ text: 'four', ...expected });
  });

  test.each([
    'Logprobs is not enabled for models/gemini-2.5-flash',
    'Unable to submit request because response_logprobs is not supported by this model.',
  ])('a model that refuses them (%s) is asked without', async (message) => {
    endpoint.next(fails(400, { error: { code: 400, status: 'INVALID_ARGUMENT', message } }));
    const answer = await complete({ wantsLogProbabilities: true });
    expect(answer).toMatchObject({ text: 'four', logProbabilities: null, adjustments: ['logprobs is not sent'] });
    expect(sent()).not.toHaveProperty('generationConfig');
  });

  test('a model whose protocol has none is not asked, and the answer says so', async () => {
    endpoint.next(fails(200, { type: 'message', content: [{ type: 'text', text: 'four' }], stop_reason: 'end_turn' }));
    const answer = await complete({ wantsLogProbabilities: true, modelAlias: 'vertex_ai/claude-opus-4-8' });
    expect(answer).toMatchObject({ text: 'four', logProbabilities: null, adjustments: ['logprobs is not sent'] });
    expect(sent()).not.toHaveProperty('logprobs');
  });
});

describe('an answer in pieces', () => {
  const data = (said: object) => `data: ${JSON.stringify(said)}\r\n\r\n`;
  const heard: AnswerPiece[] = [];
  beforeEach(() => void heard.splice(0));
  const streamed = () => complete({ stream: { piece: (piece) => heard.push(piece), brokenOff: () => undefined } });
  const open = { finishReason: undefined };

  test('is put together, with each call of a tool for itself and the last counts', async () => {
    const call = (name: string) => ({ functionCall: { name, args: { a: 1 } } });
    endpoint.next(
      streams(
        data(gives([{ text: 'hm', thought: true }], open, { usageMetadata: { promptTokenCount: 12 } })),
        data(gives([{ text: 'gr' }], open)),
        data(gives([{ text: 'ün' }, call('first')], open)),
        data(gives([call('second')], open)),
        data(gives([{ text: '' }], {}, { usageMetadata: { ...usageMetadata, thoughtsTokenCount: 8, totalTokenCount: 23 } })),
      ),
    );
    expect(await streamed()).toMatchObject({
      ...{ text: 'grün', reasoning: 'hm', finishReason: 'tool_calls', inputTokens: 12, outputTokens: 11, reasoningTokens: 8 },
      message: { tool_calls: [{ function: { name: 'first' } }, { function: { name: 'second', arguments: '{"a":1}' } }] },
    });
    expect(heard.map(({ text }) => text).join('')).toBe('grün');
    expect(endpoint.requests[0]?.path).toMatch(/gemini-2\.5-flash:streamGenerateContent\?alt=sse$/);
  });

  test('that holds an error before its first piece is asked for again', async () => {
    endpoint.next(
      streams(data({ error: { code: 503, status: 'UNAVAILABLE', message: 'overloaded' } })),
      streams(data(gives([{ text: 'ok' }]))),
    );
    const { text, attempts } = await streamed();
    expect([text, attempts.map(({ outcome, status }) => `${outcome} ${status}`)[0]]).toEqual(['ok', 'http_error 503']);
  });

  test('that breaks off fails with what has come', async () => {
    endpoint.next(streams(data(gives([{ text: 'tw' }], open))));
    await expect(streamed()).rejects.toThrow(/ended its stream before/);
    expect(endpoint.requests).toHaveLength(1);
  });
});
