import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../api/app.ts';
import type { Gate } from '../../api/http/route.ts';
import { integrationModelRoutes } from '../../api/routes/integrationModels.ts';
import { integrationRoutes } from '../../api/routes/integrations.ts';
import { mayInOrganization, type UserRole } from '../../shared/accounts/permissions.ts';
import { type AssetAccess, createAssetAccess } from '../../shared/assets/assetAccess.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { Integration, IntegrationStore } from '../../shared/integrations/integration.ts';
import { openSecrets, resealAll } from '../../shared/integrations/sealing.ts';
import { newKeyRing, openKeyRing } from '../../shared/integrations/secrets.ts';
import { createOutboundGuard } from '../../shared/outbound/outbound.ts';
import { tokenProviders } from '../../shared/providers/index.ts';
import { presetById } from '../../shared/scorers/presets.ts';
import { postgresAssets } from '../../shared/stores/postgres/assetAccess.ts';
import type { Database } from '../../shared/stores/postgres/database.ts';
import { postgresIntegrations } from '../../shared/stores/postgres/integrations.ts';
import { userRoles } from '../../shared/wire/accounts.ts';
import { openSeededDatabase } from '../support/seedPostgres.ts';

const USER = newId();
const ringText = newKeyRing();
const keyRing = openKeyRing(ringText);
const guard = createOutboundGuard({
  allow: ['10.1.0.0/16'],
  allowLoopback: true,
  lookup: ((_name: string, _options: unknown, done: (err: null, addresses: { address: string; family: number }[]) => void) =>
    done(null, [{ address: '93.184.215.14', family: 4 }])) as never,
});

let directory: string;
let database: Database;
let store: IntegrationStore;
let assets: AssetAccess;
let base: string;
let close: () => Promise<void>;
let logged = '';

/** Roles by header: the accounts' own gate is tested with the accounts. */
const gate: Gate = {
  async authenticate(request) {
    const role = request.headers['x-role'] as UserRole | undefined;
    if (!role) throw new ServiceError('Unauthenticated', 'no credentials');
    return { userId: USER, email: 'a@example.com', role };
  },
  async authorize(caller, access, id) {
    if (typeof access === 'object' && 'asset' in access) await assets.require(caller, access.asset, id, access.action);
    if (typeof access === 'object' && 'organization' in access && !mayInOrganization(caller, access.organization))
      throw new ServiceError('Forbidden', 'not allowed');
    return undefined;
  },
};

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'assay-integrations-'));
  database = await openSeededDatabase(join(directory, 'postgres'));
  store = postgresIntegrations(database);
  assets = createAssetAccess(postgresAssets(database), (id) => presetById(id) !== undefined);
  const log = pino(
    { level: 'trace' },
    new Writable({
      write(chunk, _encoding, done) {
        logged += chunk;
        done();
      },
    }),
  );
  const app = createApp({
    endpoints: [
      ...integrationRoutes({
        store,
        assets,
        prices: { refresh: async () => {} },
        models: { complete: () => Promise.reject(new Error('no model is called here')) },
        keyRing,
        checkAddress: guard.check,
        newId,
      }),
      ...integrationModelRoutes({ store, runs: { findRun: async () => undefined } }),
    ],
    gate,
    log,
    apiKeyHeaders: ['Service-API-Key'],
    checkReplies: true,
  });
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2`;
  close = () => new Promise((resolve) => server.close(() => resolve()));
});

afterAll(async () => {
  await close();
  await guard.close();
  await database.close();
  await rm(directory, { recursive: true });
});

interface Reply {
  status: number;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: replies of many shapes, each checked by its test
  body: any;
}

async function call(method: string, path: string, body?: unknown, role: UserRole | null = 'admin'): Promise<Reply> {
  const response = await fetch(`${base}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(role && { 'x-role': role }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text) };
}

const put = (name: string, body: unknown, role?: UserRole) => call('PUT', `/integrations/custom/${name}`, body, role);
const issues = (reply: Reply) =>
  (reply.body.detail as { loc: string[]; msg: string }[]).map((item) => `${item.loc.join('.')}: ${item.msg}`).join('\n');
const storedSecrets = async (name: string) => {
  const found = await store.find('custom', name);
  return found && openSecrets(keyRing, found);
};

const endpoint = 'https://llm.example.com/v1';

describe('limits', () => {
  test('are set apart from the settings, which an update does not touch', async () => {
    const { id } = (await put('limited', { endpoint })).body;
    const none = { concurrency: null, requests_per_minute: null, tokens_per_minute: null };
    expect((await call('GET', `/integrations/${id}/limits`)).body).toEqual(none);
    const limits = { concurrency: 8, requests_per_minute: 60, tokens_per_minute: null };
    expect((await call('PUT', `/integrations/${id}/limits`, limits)).body).toEqual(limits);
    await put('limited', { endpoint, default_model: 'other' });
    expect((await call('GET', `/integrations/${id}/limits`)).body).toEqual(limits);
    expect((await call('PUT', `/integrations/${id}/limits`, {})).body).toEqual(none);
    expect((await store.find('custom', 'limited'))?.limits).toEqual({});
  });

  test('are for those who manage integrations, and refused where they make no sense', async () => {
    const { id } = (await put('limited', { endpoint })).body;
    expect((await call('PUT', `/integrations/${id}/limits`, {}, 'user')).status).toBe(403);
    expect((await call('GET', `/integrations/${id}/limits`, undefined, 'user')).status).toBe(200);
    expect(issues(await call('PUT', `/integrations/${id}/limits`, { concurrency: 0 }))).toContain('body.concurrency');
    expect((await call('PUT', `/integrations/${newId()}/limits`, {})).status).toBe(404);
  });
});

describe('prices', () => {
  const price = { model: 'ours', input: 1, output: { base: 2, tiers: [{ above: 1000, price: 4 }] } };

  test('are set apart from the settings, which an update does not touch', async () => {
    const { id } = (await put('priced', { endpoint })).body;
    const at = `/integrations/${id}/prices`;
    expect((await call('GET', at)).body).toEqual({ prices: [] });
    const valid_from = '2026-07-01T02:00:00+02:00';
    const set = await call('PUT', at, { prices: [price, { ...price, valid_from, cached_input: 0 }] });
    expect(set.body.prices).toMatchObject([
      { ...price, valid_from: null, cached_input: null },
      { ...price, valid_from: '2026-07-01T00:00:00.000000Z', cached_input: 0 },
    ]);
    await put('priced', { endpoint, default_model: 'other' });
    expect((await call('GET', at)).body).toEqual(set.body);
    // A client may send an answer back as a request.
    expect((await call('PUT', at, set.body)).body).toEqual(set.body);
    expect((await call('PUT', at, { prices: [] })).body).toEqual({ prices: [] });
  });

  test('are for those who manage integrations, and refused where they make no sense', async () => {
    const { id } = (await put('priced', { endpoint })).body;
    const at = `/integrations/${id}/prices`;
    const set = (prices: unknown, role?: UserRole) => call('PUT', at, { prices }, role);
    expect((await set([price], 'user')).status).toBe(403);
    expect((await call('GET', at, undefined, 'user')).status).toBe(200);
    expect((await call('PUT', `/integrations/${newId()}/prices`, { prices: [] })).status).toBe(404);
    const refused = async (one: object) => {
      const reply = await set([one]);
      expect(reply.status).toBe(422);
      return issues(reply);
    };
    expect(await refused({ ...price, cached_inputs: 1 })).toContain(
      'there is no key "cached_inputs" here; the closest are cached_input',
    );
    expect(await refused({ ...price, output: { base: 2, teirs: [{ above: 1000, price: 4 }] } })).toContain(
      'there is no key "teirs" here; the closest are tiers',
    );
    expect(await refused({ ...price, input: -1 })).toContain('body.prices.0.input');
    expect(await refused({ ...price, valid_from: 'soon' })).toContain('body.prices.0.valid_from');
    expect(await refused({ model: 'ours', cached_input: 1 })).toContain('needs a price for input or output');
    expect(issues(await set([price, { ...price, model: 'OURS' }]))).toContain('another price of OURS from the same time on');
    expect((await call('GET', at)).body).toEqual({ prices: [] });
  });
});

describe('a custom integration', () => {
  test('needs nothing but an endpoint, and answers the record of the interface', async () => {
    const reply = await put('smallest', { endpoint });
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({
      name: 'smallest',
      provider: 'custom',
      created_by: USER,
      is_selected: false,
      is_disabled: false,
    });
    expect(reply.body.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/);
    expect((await call('GET', '/integrations/custom')).body.authentication_type).toBe('oauth2');
  });

  test('is created once and then updated under the same id, also by callers at the same time', async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        put('racing', { endpoint, authentication_type: 'none', model_properties: [{ name: `m${index}` }] }),
      ),
    );
    expect(new Set(replies.map((reply) => reply.status))).toEqual(new Set([200]));
    expect(new Set(replies.map((reply) => reply.body.id)).size).toBe(1);
    const again = await put('racing', { endpoint, authentication_type: 'none' });
    expect(again.body.created_at).toBe(replies[0]?.body.created_at);
    expect(again.body.updated_at >= again.body.created_at).toBe(true);
  });

  test('keeps its secrets sealed: no reply but its definition, and no log line, holds one', async () => {
    const secrets = ['key-Zq81', 'header-Yx72', 'kwarg-Wv63', 'oauth-id:Ut54'];
    const before = logged.length;
    const texts = [
      await put('sealed', {
        endpoint,
        authentication_type: 'api_key',
        api_key_header: 'X-Key',
        api_key_value: secrets[0],
        headers: { 'X-Extra': secrets[1] },
        custom_llm_config: { file_name: 'h.ts', class_name: 'H', init_kwargs: { password: secrets[2] } },
      }),
      await put('sealed-oauth', { endpoint, token: secrets[3] }),
      await put('sealed-oauth', { endpoint: 'ftp://x', token: secrets[3] }),
      await call('GET', '/integrations'),
      await call('GET', '/integrations/custom/sealed'),
      await call('GET', '/integrations/custom'),
      await call('GET', '/llm_integrations'),
    ].map((reply) => reply.text);
    expect((await call('GET', '/integrations/custom/sealed/definition')).body).toMatchObject({
      token: null,
      api_key_header: 'X-Key',
      api_key_value: secrets[0],
      headers: { 'X-Extra': secrets[1] },
      custom_llm_config: { file_name: 'h.ts', class_name: 'H', init_kwargs: { password: secrets[2] } },
    });
    expect((await call('GET', '/integrations/custom/sealed-oauth/definition')).body).toMatchObject({
      token: secrets[3],
      api_key_value: null,
      headers: null,
    });
    const rows = JSON.stringify(await database.query('SELECT * FROM integrations'));
    for (const secret of secrets) for (const text of [...texts, rows, logged.slice(before)]) expect(text).not.toContain(secret);
    expect(await storedSecrets('sealed')).toEqual({
      apiKeyValue: secrets[0],
      headers: JSON.stringify({ 'X-Extra': secrets[1] }),
      initKwargs: JSON.stringify({ password: secrets[2] }),
    });
    expect(rows).toMatch(/v1:k[0-9a-f]{8}:/);
  });

  test('shows its settings without secrets, models with alias and default', async () => {
    await call('DELETE', '/integrations/custom/custom');
    await call('PUT', '/integrations/custom', {
      endpoint,
      authentication_type: 'none',
      models: ['big', 'small'],
      multi_modal_config: { max_files: 2, max_file_size_bytes: null },
      custom_header_mapping: { run_id: 'X-Run' },
    });
    expect((await call('GET', '/integrations/custom')).body).toMatchObject({
      name: 'custom',
      provider: 'custom',
      models: ['big', 'small'],
      is_legacy_format: true,
      default_model: 'big',
      model_properties: [
        { name: 'big', alias: 'big' },
        { name: 'small', alias: 'small' },
      ],
      multi_modal_config: { max_files: 2, max_file_size_bytes: null },
      custom_header_mapping: { run_id: 'X-Run' },
      headers: null,
    });
  });

  test('is deleted once; then it is 404 with the body of an error', async () => {
    await put('gone', { endpoint });
    expect((await call('DELETE', '/integrations/custom/gone')).status).toBe(200);
    for (const reply of [await call('DELETE', '/integrations/custom/gone'), await call('GET', '/integrations/custom/gone')]) {
      expect(reply.status).toBe(404);
      expect(reply.body).toMatchObject({ error_code: 3010, detail: 'no custom integration "gone"' });
    }
  });

  test('is that of its provider for clients that know but one, whatever its slug', async () => {
    for (const { provider, name } of await store.list()) if (provider === 'custom') await store.remove('custom', name);
    expect((await call('GET', '/integrations/custom/status')).status).toBe(404);
    await put('lonely', { endpoint });
    expect(await call('GET', '/integrations/custom/status')).toMatchObject({ status: 200 });
    expect((await call('GET', '/integrations/custom')).body).toMatchObject({ name: 'lonely' });
    expect((await call('DELETE', '/integrations/custom', undefined, 'user')).status).toBe(403);
    await put('second', { endpoint });
    const either = await call('DELETE', '/integrations/custom');
    expect(either).toMatchObject({ status: 409, body: { detail: expect.stringContaining('none of the 2 custom integrations') } });
    await store.remove('custom', 'second');
    expect((await call('DELETE', '/integrations/custom')).status).toBe(200);
    expect(await store.find('custom', 'lonely')).toBeUndefined();
    expect((await put('status', { endpoint })).status).toBe(422);
  });
});

describe('what the body may hold', () => {
  const none = { endpoint, authentication_type: 'none' };
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${index}`, 'v']));
  const refused: [string, Record<string, unknown>, RegExp][] = [
    ['no endpoint', {}, /body.endpoint/],
    ['an endpoint of another scheme', { endpoint: 'file:///etc/passwd' }, /body.endpoint: must be a URL/],
    ['a user name in the endpoint', { endpoint: 'https://me:pw@llm.example.com' }, /user name or password/],
    ['an unknown authentication type', { endpoint, authentication_type: 'basic' }, /authentication_type/],
    [
      'api_key without its header',
      { endpoint, authentication_type: 'api_key', api_key_value: 'k' },
      /api_key_header is required/,
    ],
    [
      'api_key with an empty value',
      { endpoint, authentication_type: 'api_key', api_key_header: 'X', api_key_value: '' },
      /api_key_value is required/,
    ],
    [
      'a key header that splits the request',
      { endpoint, authentication_type: 'api_key', api_key_header: 'X\r\nY', api_key_value: 'k' },
      /api_key_header: must be a header name/,
    ],
    ['51 headers', { ...none, headers: many(51) }, /at most 50 headers/],
    ['a line break in a header value', { ...none, headers: { 'X-A': 'a\r\nHost: evil' } }, /must not hold line breaks/],
    ['a header name with a space', { ...none, headers: { 'X A': 'a' } }, /header name/],
    ['the Host header', { ...none, headers: { Host: 'evil' } }, /belongs to the connection/],
    ['a framing header', { ...none, headers: { 'transfer-encoding': 'chunked' } }, /belongs to the connection/],
    ['a header over the authentication', { endpoint, token: 'a:b', headers: { Authorization: 'x' } }, /set twice/],
    [
      'a mapped header that is also set',
      { ...none, headers: { 'X-Run': 'a' }, custom_header_mapping: { run_id: 'x-run' } },
      /set twice/,
    ],
    ['a mapping of an unknown field', { ...none, custom_header_mapping: { password: 'X-P' } }, /custom_header_mapping/],
    ['a mapping to the Host header', { ...none, custom_header_mapping: { job_id: 'host' } }, /belongs to the connection/],
    [
      'based_on together with supported_parameters',
      { ...none, model_properties: [{ name: 'm', based_on: 'gpt-4o', supported_parameters: ['top_p'] }] },
      /exclude each other/,
    ],
    [
      'based_on a model nobody knows',
      { ...none, model_properties: [{ name: 'm', based_on: 'gpt 4x mini' }] },
      /no built-in model is called "gpt 4x mini"; closest are gpt-4o-mini, /,
    ],
    [
      'a parameter nobody knows',
      { ...none, model_properties: [{ name: 'm', supported_parameters: ['heat'] }] },
      /supported_parameters/,
    ],
    ['two models of one alias', { ...none, model_properties: [{ name: 'a', alias: 'x' }, { name: 'x' }] }, /two models/],
    ['no file at all', { ...none, multi_modal_config: { max_files: 0 } }, /max_files/],
    ['half a byte', { ...none, multi_modal_config: { max_file_size_bytes: 0.5 } }, /max_file_size_bytes/],
    ['a handler in another folder', { ...none, custom_llm_config: { file_name: '../h.ts', class_name: 'H' } }, /plain file name/],
    [
      'a handler behind a backslash',
      { ...none, custom_llm_config: { file_name: 'a\\h.ts', class_name: 'H' } },
      /plain file name/,
    ],
    ['a hidden handler', { ...none, custom_llm_config: { file_name: '.h.ts', class_name: 'H' } }, /plain file name/],
    ['a metadata address', { ...none, endpoint: 'http://169.254.169.254/v1' }, /never allowed/],
    ['a private address', { ...none, endpoint: 'http://10.2.0.1/v1' }, /OUTBOUND_ALLOW/],
    ['a private token URL', { endpoint, oauth2_token_url: 'http://192.168.1.1/token' }, /body.oauth2_token_url/],
  ];
  test.each(refused)('%s is refused and nothing is stored', async (_name, body, message) => {
    const reply = await put('refused', body);
    expect(reply.status).toBe(422);
    expect(issues(reply)).toMatch(message);
    expect((await call('GET', '/integrations/custom/refused')).status).toBe(404);
  });

  test.each(['a b', '-x', 'a/b', 'openai', 'definition', '%0d%0a', 'x'.repeat(101)])('the slug %j is refused', async (slug) => {
    expect((await put(encodeURIComponent(slug), none)).status).toBe(422);
  });

  test('nulls, unknown keys, 50 headers, a handler of another language and an allowed private address are accepted', async () => {
    const reply = await put('accepted', {
      ...none,
      endpoint: 'http://10.1.2.3:8000/v1',
      models: null,
      token: null,
      headers: many(50),
      is_legacy_format: true,
      surprise: 1,
      custom_llm_config: { file_name: 'handler.py', class_name: 'Handler' },
    });
    expect(reply.status).toBe(200);
    expect((await call('GET', '/integrations/custom/accepted/definition')).body).toMatchObject({
      custom_llm_config: { file_name: 'handler.py', class_name: 'Handler', init_kwargs: null },
      model_properties: null,
    });
  });
});

describe('a stored secret', () => {
  const oauth = { endpoint, token: 'id:one', oauth2_token_url: 'https://id.example.com/token', headers: { 'X-A': 'aaaa' } };
  const noToken = { endpoint, oauth2_token_url: oauth.oauth2_token_url };

  test('stays when it is left out and nothing it is sent to changes', async () => {
    await put('kept', oauth);
    expect((await put('kept', { ...noToken, default_model: 'm' })).status).toBe(200);
    expect(await storedSecrets('kept')).toEqual({ token: 'id:one', headers: '{"X-A":"aaaa"}' });
    await put('kept', { ...noToken, headers: {} });
    expect(await storedSecrets('kept')).toEqual({ token: 'id:one', headers: '{}' });
  });

  test.each([
    ['endpoint', { ...noToken, endpoint: 'https://evil.example.com' }],
    ['oauth2_token_url', { endpoint, oauth2_token_url: 'https://evil.example.com/token' }],
    ['oauth2_token_url', { endpoint }],
  ])('must be given again when %s changes', async (field, body) => {
    await put('moved', oauth);
    const reply = await put('moved', body);
    expect(reply.status).toBe(422);
    expect(issues(reply)).toContain(`body.token: ${field} changed: give token again`);
    expect(issues(reply)).toContain('body.headers');
    expect((await storedSecrets('moved'))?.token).toBe('id:one');
    expect((await put('moved', { ...body, token: 'id:two', headers: { 'X-B': 'bbbb' } })).status).toBe(200);
    expect(await storedSecrets('moved')).toEqual({ token: 'id:two', headers: '{"X-B":"bbbb"}' });
  });

  test('of another authentication type is not carried over', async () => {
    await put('switched', { endpoint, authentication_type: 'api_key', api_key_header: 'X-K', api_key_value: 'kkkk' });
    const reply = await put('switched', { endpoint, authentication_type: 'oauth2' });
    expect(reply.status).toBe(422);
    expect(issues(reply)).toContain('authentication_type changed: give token again');
    const renamed = await put('switched', { endpoint, authentication_type: 'api_key', api_key_header: 'X-Other' });
    expect(issues(renamed)).toContain('api_key_value is required');
    expect((await put('switched', { endpoint, authentication_type: 'none' })).status).toBe(200);
    expect(await storedSecrets('switched')).toEqual({});
  });

  test('moves to the new active key by resealAll, and opens under no other record', async () => {
    await put('rotated', { endpoint, token: 'id:rotate' });
    const next = newKeyRing();
    const both = openKeyRing(`${next},${ringText}`);
    expect(await resealAll(store, both)).toBeGreaterThan(0);
    expect(await resealAll(store, both)).toBe(0);
    const rotated = await store.find('custom', 'rotated');
    if (!rotated) throw new Error('it was stored above');
    expect(openSecrets(openKeyRing(next), rotated)).toEqual({ token: 'id:rotate' });
    expect(() => openSecrets(both, { ...rotated, id: newId() })).toThrow(/belongs to another record/);
    expect(() => openSecrets(keyRing, rotated)).toThrow(/which SECRET_KEYS does not hold/);
    expect(await resealAll(store, openKeyRing(`${ringText},${next}`))).toBeGreaterThan(0);
  });
});

describe('roles', () => {
  test.each(userRoles)('permissions tell what the role %s may do, and the routes agree', async (role) => {
    await put('roles', { endpoint, authentication_type: 'none' });
    const manages = role === 'admin' || role === 'manager';
    const listed = (await call('GET', '/integrations', undefined, role)).body as { name: string; permissions: unknown }[];
    const permissions = listed.find((one) => one.name === 'roles')?.permissions as { action: string; allowed: boolean }[];
    expect(Object.fromEntries(permissions.map(({ action, allowed }) => [action, allowed]))).toEqual({
      update: manages,
      delete: manages,
      share: manages,
      read_secrets: manages,
    });
    const ofOther = (await call('PUT', '/integrations/openai', { token: 'sk-1' }, 'admin')).body as { permissions: object[] };
    expect(ofOther.permissions).toMatchObject([{ action: 'update' }, { action: 'delete' }, { action: 'share' }]);
    const expected = manages ? 200 : 403;
    expect((await put('roles', { endpoint, authentication_type: 'none' }, role)).status).toBe(expected);
    expect((await call('GET', '/integrations/custom/roles/definition', undefined, role)).status).toBe(expected);
    expect((await call('PUT', '/integrations/openai', { token: 'sk-1' }, role)).status).toBe(expected);
    expect((await call('DELETE', '/integrations/custom/roles', undefined, role)).status).toBe(expected);
  });

  test('nobody gets in without credentials', async () => {
    expect((await call('GET', '/integrations', undefined, null)).status).toBe(401);
  });
});

describe('providers and models', () => {
  test('the built-in providers that can be called are offered, configured and removed', async () => {
    expect((await call('GET', '/integrations/available')).body).toEqual({
      integrations: ['custom', ...tokenProviders.map(({ name }) => name)],
    });
    await call('DELETE', '/integrations/openai');
    expect((await call('GET', '/integrations/openai')).status).toBe(404);
    const saved = await call('PUT', '/integrations/openai', { token: 'sk-secret-9', organization_id: null });
    expect(saved.body).toMatchObject({ name: 'openai', provider: 'openai' });
    const shown = await call('GET', '/integrations/openai');
    expect(shown.body).toMatchObject({ provider: 'openai', organization_id: null });
    expect(shown.text).not.toContain('sk-secret-9');
    expect((await call('GET', '/llm_integrations/openai/models')).body).toContain('gpt-5.1');
    expect((await call('PUT', '/integrations/mistral', { token: 'm-1' })).status).toBe(200);
    expect((await call('DELETE', '/integrations/openai')).status).toBe(200);
    expect((await call('GET', '/llm_integrations/openai/models')).body).toEqual([]);
    expect((await call('GET', '/llm_integrations/nobody/models')).status).toBe(422);
    expect((await call('GET', '/integrations/nobody')).status).toBe(422);
  });

  const unsaid = { authentication_scope: null, oauth2_token_url: null, custom_header_mapping: null, multi_modal_config: null };
  test.each([
    {
      provider: 'anthropic',
      body: { token: 'sk-ant-hidden' },
      shown: { ...unsaid, authentication_type: 'api_key', endpoint: null },
      models: ['claude-opus-5-5', 'claude-sonnet-5-5'],
    },
    {
      provider: 'azure',
      body: {
        ...{ token: 'az-hidden', endpoint: 'https://mine.openai.azure.com', deployments: { 'gpt-4o-mini': 'w', 'gpt-4o': 'e' } },
        default_headers: { 'Ocp-Apim-Subscription-Key': 'hidden' },
      },
      shown: {
        ...unsaid,
        ...{ authentication_type: 'api_key', endpoint: 'https://mine.openai.azure.com', proxy: false },
        ...{ api_version: '2025-03-01-preview', azure_deployment: null, default_headers: null },
        ...{ deployments: { 'gpt-4o-mini': 'w', 'gpt-4o': 'e' }, available_deployments: null },
      },
      models: ['gpt-4o-mini', 'gpt-4o'],
    },
  ])('$provider is connected by what clients send, and shown without its token', async ({ provider, body, shown, models }) => {
    const saved = await call('PUT', `/integrations/${provider}`, body);
    expect(saved.body).toMatchObject({ name: provider, provider });
    const settings = await call('GET', `/integrations/${provider}`);
    expect(settings.body).toEqual({ ...shown, id: saved.body.id, name: provider, provider, extra: null });
    expect(saved.text + settings.text).not.toContain('hidden');
    const stored = (await store.find(provider, provider)) as Integration;
    expect(openSecrets(keyRing, stored)).toEqual({
      token: body.token,
      ...('default_headers' in body && { headers: JSON.stringify(body.default_headers) }),
    });
    const listed = (await call('GET', '/llm_integrations')).body[provider];
    expect(listed).toMatchObject({ provider, supports_file_uploads: false });
    expect(listed.models.slice(0, 2)).toEqual(models);
    const refused = await call('PUT', `/integrations/${provider}`, { ...body, endpoint: 'http://10.2.0.1' });
    expect([refused.status, (await store.find(provider, provider))?.config]).toEqual([422, stored.config]);
    expect((await call('PUT', `/integrations/${provider}`, { ...body, multi_modal_config: { max_files: 2 } })).status).toBe(200);
    expect((await call('GET', '/llm_integrations')).body[provider].supports_file_uploads).toBe(true);
    expect((await call('DELETE', `/integrations/${provider}`)).status).toBe(200);
    expect((await call('GET', `/llm_integrations/${provider}/models`)).body).toEqual([]);
  });

  test.each([
    ['anthropic', { token: 't', endpoint: 'http://10.2.0.1/v1' }, /^body\.endpoint: /],
    ['anthropic', { token: 't', endpoint: 'not an address' }, /^body\.endpoint: must be a URL/],
    ['anthropic', { token: 't', authentication_type: 'custom_oauth2' }, /^body\.oauth2_token_url: .* is required/],
    ['anthropic', { token: 't', custom_header_mapping: { run_id: 'a b' } }, /^body\.custom_header_mapping\.run_id: /],
    ['azure', { token: 't' }, /^body\.endpoint: /],
    ['azure', { token: 't', endpoint: 'https://a.example', oauth2_token_url: 'http://10.2.0.1/t' }, /^body\.oauth2_token_url: /],
    ['azure', { token: 't', endpoint: 'https://a.example', authentication_type: 'client_secret' }, /oauth2_token_url/],
    [
      'azure',
      { token: 't', endpoint: 'https://a.example', authentication_type: 'username_password' },
      /body\.token: must be username:password/,
    ],
    ['azure', { token: 'a:b', endpoint: 'https://a.example', authentication_type: 'username_password' }, /oauth2_token_url/],
    ['azure', { token: 't', endpoint: 'https://a.example', default_headers: { Host: 'b' } }, /default_headers\.Host: /],
    ['azure', { token: 't', endpoint: 'https://a.example', default_headers: { 'Api-Key': 'b' } }, /Api-Key is set twice/],
    ['azure', { token: 't', endpoint: 'https://a.example', api_version: '1&x=2' }, /api_version: /],
    ['azure', { token: 'two words', endpoint: 'https://a.example' }, /^body\.token: .*without spaces/],
    ['azure', { token: 't', endpoint: 'https://a.example', deployments: { a: 1 } }, /deployments\.a: /],
  ])('%s with %j is refused, and what is stored stays', async (provider, body, message) => {
    const refused = await call('PUT', `/integrations/${provider}`, body);
    expect([refused.status, issues(refused)]).toEqual([422, expect.stringMatching(message)]);
    expect(await store.find(provider, provider)).toBeUndefined();
  });

  test('more than a thousand deployments are refused', async () => {
    const deployments = Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`m-${index}`, 'd']));
    const refused = await call('PUT', '/integrations/azure', { token: 't', endpoint: 'https://a.example', deployments });
    expect([refused.status, issues(refused)]).toEqual([422, 'body.deployments: at most 1000 deployments']);
  });

  test('models are listed by integration, by alias, and by what they can see', async () => {
    await put('eyes', {
      endpoint,
      authentication_type: 'none',
      model_properties: [{ name: 'm-1', alias: 'seeing', based_on: 'GPT-4o' }, { name: 'm-2' }],
      multi_modal_config: {},
    });
    expect((await call('GET', '/llm_integrations')).body.eyes).toMatchObject({
      provider: 'custom',
      models: ['seeing', 'm-2'],
      supports_file_uploads: true,
    });
    const seeing = (await call('GET', '/llm_integrations?multimodal_capabilities=vision')).body.eyes;
    expect(seeing.model_properties).toEqual([
      { alias: 'seeing', name: 'm-1', input_modalities: ['text', 'image'], multimodal_capabilities: ['vision'] },
    ]);
    expect((await call('GET', '/llm_integrations/custom/models')).body).toEqual(expect.arrayContaining(['seeing', 'm-2']));
  });
});

describe('SECRET_KEYS', () => {
  const key = Buffer.alloc(32, 1).toString('base64');
  test.each([
    ['nothing', '', /entry 1 must be id:base64/],
    ['no id', `:${key}`, /entry 1 must be/],
    ['no colon', key, /entry 1 must be/],
    ['a strange second id', `a:${key},b c:${key}`, /entry 2 must be/],
    ['a short key', 'a:AAAA', /has 3 bytes; it must have 32/],
    ['not base64', 'a:!!!!', /is not base64/],
    ['one id twice', `a:${key},a:${key}`, /stands there twice/],
  ])('%s is refused with a sentence that holds no key', (_name, text, message) => {
    expect(() => openKeyRing(text)).toThrow(message);
    expect(() => openKeyRing(text)).not.toThrow(new RegExp(key.slice(0, 10)));
  });

  test('a sealed text that was changed anywhere does not open', () => {
    const sealed = keyRing.seal('hello', 'a|b');
    expect(keyRing.open(sealed, 'a|b')).toBe('hello');
    const parts = sealed.split(':');
    for (const position of [2, 3, 4]) {
      const broken = parts.map((part, index) =>
        index === position ? Buffer.from(part, 'base64url').fill(7).toString('base64url') : part,
      );
      expect(() => keyRing.open(broken.join(':'), 'a|b')).toThrow(ServiceError);
    }
    expect(() => keyRing.open('plain', 'a|b')).toThrow(/does not have the form/);
    expect(keyRing.seal('hello', 'a|b')).not.toBe(sealed);
  });
});
