import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Integration } from '../../shared/integrations/integration.ts';
import type { ModelCall } from '../../shared/modelCalls/modelCall.ts';
import { modelsOf, resolveModel, statedDefault } from '../../shared/modelCalls/models.ts';
import { createOutboundGuard, type OutboundGuard } from '../../shared/outbound/outbound.ts';
import { findTokenProvider } from '../../shared/providers/index.ts';
import { connectedProvider, customIntegration, modelCallerOver } from '../support/modelCallers.ts';
import { type ModelEndpoint, sends, startModelEndpoint } from '../support/modelEndpoint.ts';

let guard: OutboundGuard;
let endpoint: ModelEndpoint;
let tokenServer: ModelEndpoint;

beforeEach(async () => {
  endpoint = await startModelEndpoint();
  tokenServer = await startModelEndpoint();
  tokenServer.otherwise(sends(200, JSON.stringify({ access_token: 'at-1', expires_in: 3_600 })));
  guard = createOutboundGuard({ allow: [endpoint, tokenServer].map(({ url }) => new URL(url).host), allowLoopback: true });
});
afterEach(async () => {
  await endpoint.close();
  await tokenServer.close();
  await guard.close();
});

const connected = (provider: 'anthropic' | 'azure', body: object) => connectedProvider(provider, { token: 'secret-1', ...body });

async function sentBy(integration: Integration, call: Partial<ModelCall>) {
  const answer = await modelCallerOver([integration], guard).complete({
    messages: [{ role: 'user', content: 'hello' }],
    ...{ settings: {}, context: {}, signal: new AbortController().signal },
    modelAlias: undefined,
    ...call,
  });
  const request = endpoint.requests.at(-1);
  if (!request) throw new Error('nothing was sent');
  return { answer, path: request.path, headers: request.headers, body: request.body };
}

describe('Anthropic', () => {
  test('is asked at its own address unless another one is named', () => {
    const { connect, request, toStored } = findTokenProvider('anthropic');
    const connection = connect(toStored(request.parse({ token: 't' })), { token: 't' });
    expect(connection).toMatchObject({
      endpoint: 'https://api.anthropic.com/v1',
      authentication: { kind: 'header', name: 'x-api-key', value: 't' },
    });
    expect(connection.addressOf?.('claude-opus-5-5', {}, false)).toBe('https://api.anthropic.com/v1/messages');
  });

  test.each([
    ['', '/v1/messages'],
    ['//', '/v1/messages'],
    ['/v1/', '/v1/messages'],
    ['/gateway/claude', '/gateway/claude/messages'],
    ['/gateway/messages?team=a', '/gateway/messages?team=a'],
  ])('an address that ends in %j is asked at %s', async (path, expected) => {
    const sent = await sentBy(connected('anthropic', { endpoint: `${endpoint.url}${path}` }), {});
    expect([sent.path, sent.headers['x-api-key']]).toEqual([expected, 'secret-1']);
  });

  test('a gateway that has these models in the protocol of OpenAI is asked so where its address says it', async () => {
    const integration = connected('anthropic', { endpoint: `${endpoint.url}/v1/chat/completions` });
    const sent = await sentBy(integration, { settings: { max_tokens: 8 } });
    expect([sent.path, sent.headers.authorization, sent.answer.text]).toEqual([
      ...['/v1/chat/completions', 'Bearer secret-1', 'ok'],
    ]);
    expect(sent.body).toEqual({ model: 'claude-opus-5-5', max_tokens: 8, messages: [{ role: 'user', content: 'hello' }] });
  });

  test('a model is sent what it takes', async () => {
    const integration = connected('anthropic', { endpoint: endpoint.url });
    const settings = { temperature: 0.3, max_tokens: 64, frequency_penalty: 0.5 };
    expect((await sentBy(integration, { modelAlias: 'Claude Haiku 4.5', settings })).body).toEqual({
      ...{ model: 'claude-haiku-4-5', temperature: 0.3, max_tokens: 64 },
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
    });
    expect((await sentBy(integration, { modelAlias: 'claude-opus-4-8', settings })).body).toEqual({
      ...{ model: 'claude-opus-4-8', max_tokens: 64 },
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
    });
  });

  test('without a token URL of its own, a gateway is asked for access tokens itself', () => {
    const at = {
      endpoint: endpoint.url,
      authentication_type: 'custom_oauth2',
      token: '{"client_id": "a b", "client_secret": "c"}',
    };
    expect(connected('anthropic', at).config).toMatchObject({ oauth2_token_url: endpoint.url });
  });

  test('a gateway gets an access token, and the identifiers of the row under the names that it wants', async () => {
    const integration = connected('anthropic', {
      ...{ token: 'id:secret', endpoint: endpoint.url, authentication_type: 'custom_oauth2' },
      ...{ oauth2_token_url: `${tokenServer.url}/token`, authentication_scope: 'models' },
      custom_header_mapping: { project_id: 'X-Project', run_id: 'X-Run' },
    });
    const { headers } = await sentBy(integration, { context: { projectId: 'p-1', jobId: 'j-1' } });
    expect(headers).toMatchObject({ authorization: 'Bearer at-1', 'x-project': 'p-1' });
    expect(headers).not.toHaveProperty('x-run');
    const [asked] = tokenServer.requests;
    expect(asked?.headers.authorization).toBe(`Basic ${Buffer.from('id:secret').toString('base64')}`);
    expect(new URLSearchParams(asked?.text).get('scope')).toBe('models');
  });

  test('files are bounded as the settings say', async () => {
    const integration = connected('anthropic', { endpoint: endpoint.url, multi_modal_config: { max_files: 1 } });
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const two = { messages: [{ role: 'user' as const, content: [image, image] }] };
    await expect(sentBy(integration, two)).rejects.toThrow(/has 2 files.*at most 1/);
    expect(endpoint.requests).toEqual([]);
  });
});

describe('Azure', () => {
  const version = 'api-version=2025-03-01-preview';

  const at = (deployment: string) => `/openai/deployments/${deployment}/chat/completions?${version}`;
  const west = { deployments: { 'gpt-4o': 'west' } };
  test.each([
    [{}, 'gpt-4o-mini', at('gpt-4o-mini')],
    [{ available_deployments: [] }, 'azure', at('gpt-5.1')],
    [{ api_version: '2024-10-21' }, 'gpt-4o', '/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21'],
    [{ deployments: { 'gpt-4o': 'eu west' } }, 'gpt-4o', at('eu%20west')],
    [west, undefined, at('west')],
    [west, 'azure/unlisted', at('unlisted')],
    [{ deployments: { 'gpt-4o-mini': 'small', 'gpt-4o': 'large' } }, undefined, at('small')],
    [{ available_deployments: [{ model: 'gpt-4.1', id: 'd-1' }] }, 'GPT 4.1', at('d-1')],
    [{ azure_deployment: 'only' }, undefined, at('only')],
    [{ ...west, azure_deployment: 'other' }, undefined, at('other')],
    [{ proxy: true }, 'gpt-4o', '/chat/completions'],
  ])('with %j, %j is asked at %s', async (settings, modelAlias, path) => {
    const sent = await sentBy(connected('azure', { endpoint: endpoint.url, ...settings }), { modelAlias });
    expect([sent.path, sent.headers['api-key']]).toEqual([path, 'secret-1']);
    expect(sent.headers).not.toHaveProperty('authorization');
  });

  test.each([
    ['/openai/v1/', '/openai/v1/chat/completions'],
    ['/openai/v1/chat/completions', '/openai/v1/chat/completions'],
    ['/models/chat/completions?api-version=x', '/models/chat/completions?api-version=x'],
    ['/openai/', at('gpt-4o')],
    ['/openai/deployments/', at('gpt-4o')],
    ['/gateway', `/gateway${at('gpt-4o')}`],
  ])('an address that ends in %j is asked at %s', async (ending, path) => {
    const sent = await sentBy(connected('azure', { endpoint: `${endpoint.url}${ending}` }), { modelAlias: 'gpt-4o' });
    expect([sent.path, sent.body.model]).toEqual([path, 'gpt-4o']);
  });

  test.each([
    ['/openai/deployments/fixed', at('fixed')],
    [
      '/openai/deployments/fixed/chat/completions?api-version=2024-06-01',
      '/openai/deployments/fixed/chat/completions?api-version=2024-06-01',
    ],
  ])('an address that ends in %j is that of one deployment', async (ending, path) => {
    const integration = connected('azure', { endpoint: `${endpoint.url}${ending}`, deployments: { 'o4-mini': 'fixed', x: 'y' } });
    expect(modelsOf(integration).map(({ alias, name }) => [alias, name])).toEqual([['o4-mini', 'fixed']]);
    expect((await sentBy(integration, {})).path).toBe(path);
  });

  test('run settings may name a deployment and a version', async () => {
    const settings = { deployment_name: 'east', api_version: '2026-01-01' };
    const { path } = await sentBy(connected('azure', { endpoint: endpoint.url }), { modelAlias: 'gpt-4o', settings });
    expect(path).toBe('/openai/deployments/east/chat/completions?api-version=2026-01-01');
  });

  test.each(['.', '..'])('%j is no deployment', async (deployment_name) => {
    const integration = connected('azure', { endpoint: endpoint.url });
    await expect(sentBy(integration, { modelAlias: 'gpt-4o', settings: { deployment_name } })).rejects.toThrow(/no name of a/);
    expect(endpoint.requests).toEqual([]);
  });

  test('two deployments of one model have names of their own', async () => {
    const available_deployments = ['eu', 'us', 'eu'].map((id) => ({ model: 'gpt-4o', id }));
    const integration = connected('azure', { endpoint: endpoint.url, available_deployments });
    expect(modelsOf(integration).map(({ alias, name }) => [alias, name])).toEqual([
      ['gpt-4o', 'eu'],
      ['us', 'us'],
    ]);
    expect((await sentBy(integration, { modelAlias: 'us' })).path).toBe(at('us'));
  });

  test('a model that only may be there is looked for in other integrations first', () => {
    const stored = (settings: object) => connected('azure', { endpoint: endpoint.url, ...settings });
    const { request, toStored } = findTokenProvider('openai');
    const config = toStored(request.parse({ token: 't' }));
    const openai = { ...customIntegration({ endpoint: '' }, {}, 'openai'), provider: 'openai', config } as Integration;
    const found = (integrations: Integration[], alias?: string) => resolveModel(integrations, alias).integration.name;
    for (const alias of ['gpt-4o', 'GPT-4o', undefined]) {
      expect([alias, found([stored({}), openai], alias)]).toEqual([alias, 'openai']);
      expect([alias, found([stored(west), openai], alias)]).toEqual([alias, 'azure']);
      expect([alias, found([openai, stored(west)], alias)]).toEqual([alias, 'openai']);
    }
  });

  test('the deployment that is named as the default is one that judges', () => {
    expect(statedDefault(connected('azure', { endpoint: endpoint.url, ...west }))).toBeUndefined();
    expect(statedDefault(connected('azure', { endpoint: endpoint.url, azure_deployment: 'west', ...west }))).toMatchObject({
      model: { alias: 'gpt-4o', name: 'west' },
    });
  });

  test('a deployment takes what its model takes, and costs what its model costs', async () => {
    const integration = connected('azure', { endpoint: endpoint.url, deployments: { 'o4-mini': 'thinker', other: 'plain' } });
    expect(modelsOf(integration).map(({ alias, name }) => [alias, name])).toEqual([
      ['o4-mini', 'thinker'],
      ['other', 'plain'],
    ]);
    const { body, answer } = await sentBy(integration, { modelAlias: 'o4-mini', settings: { max_tokens: 8, temperature: 0.2 } });
    expect(body).toMatchObject({ model: 'thinker', max_completion_tokens: 8 });
    expect(body).not.toHaveProperty('temperature');
    // 8 tokens of input, 4 cached ones and 3 of output, at what o4-mini costs a million: $1.10, $0.275 and $4.40.
    expect(answer.costUsd).toBeCloseTo(23.1e-6, 9);
  });

  test('an application of Microsoft Entra gets access tokens for its scope', async () => {
    const integration = connected('azure', {
      ...{ token: 'app:secret', endpoint: endpoint.url, authentication_type: 'client_secret' },
      ...{ oauth2_token_url: `${tokenServer.url}/tenant/oauth2/v2.0/token`, default_headers: { 'X-Team': 'blue' } },
    });
    const { headers } = await sentBy(integration, { modelAlias: 'gpt-4o' });
    expect(headers).toMatchObject({ authorization: 'Bearer at-1', 'x-team': 'blue' });
    expect(headers).not.toHaveProperty('api-key');
    const form = new URLSearchParams(tokenServer.requests[0]?.text);
    expect(form.get('scope')).toBe('https://cognitiveservices.azure.com/.default');
  });

  test.each([
    ['ada@example.com:pass:word', { username: 'ada@example.com', password: 'pass:word' }],
    [JSON.stringify({ username: 'ada', password: 'p', client_id: 'app' }), { username: 'ada', password: 'p', client_id: 'app' }],
  ])('a person gets access tokens for the password: %s', async (token, account) => {
    const integration = connected('azure', {
      ...{ token, endpoint: endpoint.url, authentication_type: 'username_password' },
      oauth2_token_url: `${tokenServer.url}/tenant/oauth2/v2.0/token`,
    });
    const { headers } = await sentBy(integration, { modelAlias: 'gpt-4o' });
    expect(headers).toMatchObject({ authorization: 'Bearer at-1' });
    const form = Object.fromEntries(new URLSearchParams(tokenServer.requests[0]?.text));
    expect(form).toEqual({ grant_type: 'password', scope: 'https://cognitiveservices.azure.com/.default', ...account });
  });
});
