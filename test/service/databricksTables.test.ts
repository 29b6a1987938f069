import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Answer, fails, type ModelEndpoint, sends, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let workspace: ModelEndpoint;
beforeAll(async () => {
  [service, workspace] = await Promise.all([sharedTestService(), startModelEndpoint()]);
});
beforeEach(() => {
  workspace.requests.length = 0;
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await workspace?.close();
});

const connect = (body: object, path = '/unity-catalog/sql') =>
  service.request('PUT', `/integrations/databricks${path}`, { token: 'dapi1', hostname: workspace.url, ...body });
const get = (path: string) => service.request('GET', `/integrations/databricks/${path}`);
const models = async () => (await service.request('GET', '/llm_integrations/databricks/models')).body as string[];

/** An answer of the workspace, as its documentation has it: of catalogs and schemas it says far more than the name. */
const lists = (kind: 'catalogs' | 'schemas', names: string[], next_page_token?: string): Answer =>
  sends(200, JSON.stringify({ [kind]: names.map((name) => ({ name, owner: 'ada', browse_only: false })), next_page_token }));

test('its catalogs and their databases are listed, page by page', async () => {
  expect((await connect({ default_catalog_name: 'main' })).body).toMatchObject({ name: 'databricks', provider: 'databricks' });
  workspace.next(lists('catalogs', ['main', 'samples'], 'next page'), lists('catalogs', ['system']));
  expect((await get('catalogs')).body).toEqual(['main', 'samples', 'system']);
  expect(workspace.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/api/2.1/unity-catalog/catalogs', 'Bearer dapi1'],
    ['/api/2.1/unity-catalog/catalogs?page_token=next+page', 'Bearer dapi1'],
  ]);

  workspace.next(lists('schemas', ['default']), lists('schemas', ['nyctaxi']), sends(200, '{}'));
  expect((await get('databases')).body).toEqual(['default']);
  expect((await get('databases?catalog=samples')).body).toEqual(['nyctaxi']);
  expect((await get('databases?catalog=empty')).body).toEqual([]);
  const asked = workspace.requests.slice(2).map(({ path }) => new URL(path, workspace.url).searchParams.get('catalog_name'));
  expect(asked).toEqual(['main', 'samples', 'empty']);
});

test('a service principal gets an access token of the workspace first', async () => {
  await connect({ token: 'id:secret' });
  workspace.next(sends(200, JSON.stringify({ access_token: 'at-1', expires_in: 3_600 })), lists('catalogs', ['main']));
  expect((await get('catalogs')).body).toEqual(['main']);
  expect(workspace.requests.map(({ path }) => path)).toEqual(['/oidc/v1/token', '/api/2.1/unity-catalog/catalogs']);
  expect(workspace.requests[1]?.headers.authorization).toBe('Bearer at-1');
  const unnamed = await get('databases');
  expect([unnamed.status, JSON.stringify(unnamed.body)]).toEqual([422, expect.stringContaining('default_catalog_name')]);
});

test.each([
  ['a refusal', fails(403, { error_code: 'PERMISSION_DENIED', message: 'secret words' }), 'answered 403 Forbidden'],
  ['what is no list', sends(200, '<html>'), 'answered what is no list of names'],
])('%s of the workspace is said, without its words', async (_what, answer, message) => {
  await connect({});
  workspace.next(answer);
  const { status, body } = await get('catalogs');
  expect([status, body]).toMatchObject([424, { error_code: 3013, detail: expect.stringContaining(message) }]);
  expect(JSON.stringify(body)).not.toContain('secret words');
});

test('for its tables alone it has no models; those that it had stay', async () => {
  await service.request('DELETE', '/integrations/databricks');
  expect((await get('catalogs')).status).toBe(404);
  await connect({});
  expect(await models()).toEqual([]);
  await connect({ llm: true });
  expect(await models()).toContain('databricks-claude-sonnet-4-5');
  await connect({ storage: true, path: '/sql/1.0/warehouses/1' }, '');
  expect(await models()).toContain('databricks-claude-sonnet-4-5');
  await connect({});
  expect(await models()).toContain('databricks-claude-sonnet-4-5');
  expect((await service.request('GET', '/integrations/databricks')).body).toMatchObject({ storage: true, llm: true, path: null });
});
