import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDataset, createPrompt, getDataset, getPrompt, Logger, runExperiment, ServiceClient } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

// The rights to see and change datasets, prompts, scorers and integrations, over the service as it runs.

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service?.[Symbol.asyncDispose]());

// biome-ignore lint/suspicious/noExplicitAny: replies of many shapes, each checked by its test
type Answer = { status: number; body: any };
type Call = (method: string, path: string, body?: unknown) => Promise<Answer>;

const withKey =
  (key: string): Call =>
  (method, path, body) =>
    service.request(method, `/v2${path}`, body, { 'Service-API-Key': key });
const admin: Call = (method, path, body) => service.request(method, `/v2${path}`, body);
const made = async (call: Call, path: string, body: unknown) => {
  const answer = await call('POST', path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
};

interface Identity {
  id: string;
  call: Call;
  client: ServiceClient;
}

async function user(role = 'user'): Promise<Identity> {
  const email = `${newId()}@example.com`;
  const { id } = await made(admin, '/users', { email, password: 'Some-Password-1', role });
  const login = await fetch(`${service.url}/login`, {
    method: 'POST',
    body: new URLSearchParams({ username: email, password: 'Some-Password-1' }),
  });
  const { access_token } = (await login.json()) as { access_token: string };
  const response = await fetch(`${service.url}/v2/users/api_keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ description: 'k' }),
  });
  const { api_key } = (await response.json()) as { api_key: string };
  return { id, call: withKey(api_key), client: new ServiceClient({ apiUrl: service.url, apiKey: api_key }) };
}

/** A key of the administrator, limited to a project. */
async function limitedKey(project: TestProject, role = 'editor'): Promise<Omit<Identity, 'id'>> {
  const { api_key } = await made(admin, '/users/api_keys', { description: role, project_id: project.id, project_role: role });
  return { call: withKey(api_key), client: new ServiceClient({ apiUrl: service.url, apiKey: api_key }) };
}

const template = (name: string, text = 'Say {{input}}') => ({ name, template: text, settings: {} });
const rows = [{ input: 'a', output: 'a' }];
const dataset = (client: ServiceClient, name: string = newId(), projectId?: string) =>
  createDataset({ client, name, content: rows, ...(projectId ? { projectId } : {}) });
const byName = (name: string) => ({ filters: [{ name: 'name', operator: 'eq', value: name }] });
const allowed = ({ permissions }: { permissions: { action: string; allowed: boolean }[] }) =>
  permissions
    .filter((one) => one.allowed)
    .map(({ action }) => action)
    .sort();

/** Makes one of each kind that is shared by a path. */
async function everything(client: ServiceClient, call: Call, projectId?: string) {
  const query = projectId ? `?project_id=${projectId}` : '';
  const scorer = { name: newId(), scorer_type: 'llm', ...(projectId ? { project_ids: [projectId] } : {}) };
  return {
    datasets: await dataset(client, newId(), projectId),
    templates: await made(call, `/templates${query}`, template(newId())),
    scorers: await made(call, '/scorers', scorer),
  };
}
type Things = Awaited<ReturnType<typeof everything>>;
const pathsOf = (things: Things) => Object.entries(things).map(([kind, { id }]) => `/${kind}/${id}`);

async function expectUnseen(call: Call, things: Things) {
  const { datasets, templates, scorers } = things;
  const asked: [string, string, unknown?][] = [
    ...pathsOf(things).flatMap((path): [string, string, unknown?][] => [
      ['GET', path],
      ['PATCH', path, { name: 'mine now' }],
      ['DELETE', path],
    ]),
    ['GET', `/datasets/${datasets.id}/content`],
    ['GET', `/datasets/${datasets.id}/download`],
    ['POST', `/datasets/${datasets.id}/preview`, { column_mapping: {} }],
    ['POST', `/datasets/${datasets.id}/versions/query`, {}],
    ['GET', `/datasets/${datasets.id}/users`],
    ['POST', `/templates/${templates.id}/versions`, template('x')],
    ['GET', `/templates/${templates.id}/groups`],
    ['GET', `/scorers/${scorers.id}/versions`],
    ['POST', `/scorers/${scorers.id}/version/llm`, { user_prompt: 'x' }],
    ['POST', '/render_template', { template: 'x', data: { dataset_id: datasets.id } }],
  ];
  for (const [method, path, body] of asked)
    expect([method, path, (await call(method, path, body)).status]).toEqual([method, path, 404]);
  expect((await call('POST', '/datasets/query', byName(datasets.name))).body.datasets).toEqual([]);
  expect((await call('POST', '/datasets/query/count', byName(datasets.name))).body).toBe(0);
  expect((await call('POST', '/templates/query', byName(templates.name))).body.templates).toEqual([]);
  expect((await call('POST', '/scorers/list', byName(scorers.name))).body.scorers).toEqual([]);
  expect((await call('DELETE', '/datasets/bulk_delete', { dataset_ids: [datasets.id] })).body.deleted_count ?? 0).toBe(0);
  expect((await call('DELETE', '/templates/bulk_delete', { template_ids: [templates.id] })).body.deleted_count ?? 0).toBe(0);
  for (const path of pathsOf(things)) expect([path, (await admin('GET', path)).status]).toEqual([path, 200]);
}

describe('a key limited to a project', () => {
  test('sees nothing of the organization and of other projects', async () => {
    const [mine, theirs] = [await service.project(), await service.project()];
    const { call } = await limitedKey(mine);
    await expectUnseen(call, await everything(service.client, admin));
    await expectUnseen(call, await everything(service.client, admin, theirs.id));
    await expectUnseen((await limitedKey(mine, 'owner')).call, await everything(service.client, admin, theirs.id));
  });

  test('makes nothing of what it does not see', async () => {
    const mine = await service.project();
    const { call } = await limitedKey(mine);
    const { datasets, templates, scorers } = await everything(service.client, admin);
    const base = `/projects/${mine.id}`;
    const experiment = await made(call, `${base}/experiments`, { name: 'E' });
    const version = templates.selected_version_id;
    const form = new FormData();
    form.set('name', newId());
    form.set('copy_from_dataset_id', datasets.id);
    const key = (await limitedKey(mine)).client;
    await expect(key.send('/datasets', { method: 'POST', form })).rejects.toMatchObject({ status: 404 });
    const own = await dataset(key);
    const asked: [string, string, unknown, number][] = [
      ['PUT', `/datasets/${own.id}/content`, { dataset_id: datasets.id }, 404],
      ['POST', `${base}/experiments`, { name: 'F', dataset: { dataset_id: datasets.id, version_index: 1 } }, 404],
      ['POST', `${base}/experiments`, { name: 'F', prompt_template_version_id: version }, 404],
      ['POST', `${base}/experiments`, { name: 'F', scorers: [{ id: scorers.id, scorer_type: 'llm' }] }, 422],
      ['POST', '/jobs', { job_name: 'playground_run', project_id: mine.id, run_id: experiment.id, dataset_id: datasets.id }, 404],
      [
        'POST',
        `${base}/experiments/${experiment.id}/run`,
        { runner: { kind: 'prompt_template', prompt_template_version_id: version }, records: rows },
        404,
      ],
      [
        'PATCH',
        `${base}/experiments/${experiment.id}/metric_settings`,
        { scorers: [{ id: scorers.id, scorer_type: 'llm' }] },
        422,
      ],
      ['POST', '/scorers', { name: newId(), scorer_type: 'llm', project_ids: [(await service.project()).id] }, 404],
    ];
    for (const [method, path, body, status] of asked)
      expect([path, JSON.stringify(body), (await call(method, path, body)).status]).toEqual([path, JSON.stringify(body), status]);
  });

  test('has its project, the built-in metrics, its account and the look-up of its project', async () => {
    const mine = await service.project();
    const { call } = await limitedKey(mine);
    expect((await call('GET', `/projects?project_name=${encodeURIComponent(mine.name)}`)).body).toMatchObject([{ id: mine.id }]);
    expect((await call('GET', '/current_user')).status).toBe(200);
    const metrics = (await call('POST', '/scorers/list', {})).body.scorers as { id: string; scorer_type: string }[];
    expect(new Set(metrics.map(({ scorer_type }) => scorer_type))).toEqual(new Set(['preset']));
    expect((await call('GET', `/scorers/${metrics[0]?.id}`)).status).toBe(200);
    expect((await call('DELETE', `/scorers/${metrics[0]?.id}`)).status).toBe(403);
  });

  test('what it makes belongs to its project, and its role there says what it may do', async () => {
    const mine = await service.project();
    const { call, client } = await limitedKey(mine);
    const things = await everything(client, call);
    expect(things.scorers.scope_projects).toMatchObject([{ id: mine.id }]);
    const viewer = await limitedKey(mine, 'viewer');
    for (const path of pathsOf(things)) {
      expect([path, (await call('PATCH', path, { name: newId() })).status]).toEqual([path, 200]);
      const seen = await viewer.call('GET', path);
      expect([path, seen.status, allowed(seen.body).filter((action) => action !== 'export')]).toEqual([path, 200, []]);
      expect((await viewer.call('PATCH', path, { name: newId() })).status).toBe(403);
      expect((await viewer.call('DELETE', path)).status).toBe(403);
    }
    await expectUnseen((await user()).call, things);
    for (const path of pathsOf(things)) expect([path, (await call('DELETE', path)).status]).toEqual([path, 200]);
  });

  test('takes no name from others, nor they from it', async () => {
    const [one, other] = [await limitedKey(await service.project()), await limitedKey(await service.project())];
    const name = newId();
    await dataset(one.client, name);
    await dataset(other.client, name);
    await made(one.call, '/scorers', { name, scorer_type: 'llm' });
    await made(other.call, '/scorers', { name, scorer_type: 'llm' });
    await made(one.call, '/templates', template(name));
    await made(other.call, '/templates', template(name));
    await expect(dataset(other.client, name)).rejects.toMatchObject({ status: 409 });
    expect((await other.call('POST', '/scorers', { name, scorer_type: 'llm' })).status).toBe(409);
    expect((await other.call('POST', '/templates', template(name))).status).toBe(409);
    expect((await one.call('POST', '/datasets/query', byName(name))).body.datasets).toHaveLength(1);
  });

  test('works with the client library and OpenTelemetry as before', async () => {
    const project = await service.project();
    const { call, client } = await limitedKey(project);
    const here = { client, projectId: project.id };
    const { name } = await createDataset({ ...here, name: newId(), content: rows });
    expect(await getDataset({ client, name })).toMatchObject({ name });
    const prompt = await createPrompt({ client, name: newId(), template: 'Say {{input}}' });
    expect(await getPrompt({ client, name: prompt.name })).toMatchObject({ id: prompt.id });
    const results = await runExperiment({
      ...here,
      experimentName: 'echo',
      datasetName: name,
      function: (input: unknown) => input,
      metrics: ['exact_match'],
    });
    expect(results).toMatchObject({ progress: { state: 'completed', rows_done: 1, scores_done: 1 } });
    const logger = new Logger({ ...here, logStream: 'default', flushEveryMs: 0 });
    await logger.trace('hello', () => 'there');
    await logger.flush();
    const spans = { resourceSpans: [] };
    const response = await fetch(`${service.url}/otel/traces`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        project: project.name,
        logstream: 'default',
        'Service-API-Key': await keyOf(project),
      },
      body: JSON.stringify(spans),
    });
    expect(response.status).toBe(200);
    expect((await call('GET', `/projects/${project.id}/log_streams`)).body).toHaveLength(1);
  });

  test('reads what the organization lets its project use, and what is shared with its user', async () => {
    const project = await service.project();
    const { call } = await limitedKey(project);
    const { datasets, templates, scorers } = await everything(service.client, admin);
    await made(admin, `/scorers/${scorers.id}/version/llm`, { user_prompt: 'Is {{output}} polite?' });
    await made(admin, `/projects/${project.id}/experiments`, {
      name: 'uses',
      dataset: { dataset_id: datasets.id, version_index: 1 },
      prompt_template_version_id: templates.selected_version_id,
      scorers: [{ id: scorers.id, scorer_type: 'llm' }],
    });
    for (const path of pathsOf({ datasets, templates, scorers })) {
      expect([path, (await call('GET', path)).status]).toEqual([path, 200]);
      expect([path, (await call('DELETE', path)).status]).toEqual([path, 403]);
    }

    const member = await user();
    await made(admin, `/projects/${project.id}/users`, [{ user_id: member.id, role: 'editor' }]);
    const { api_key } = await made(member.call, '/users/api_keys', {
      description: 'k',
      project_id: project.id,
      project_role: 'viewer',
    });
    const own = await dataset(member.client);
    const given = await dataset(service.client, newId(), (await service.project()).id);
    await made(admin, `/datasets/${given.id}/users`, [{ user_id: member.id, role: 'owner' }]);
    const limited = withKey(api_key);
    expect((await limited('GET', `/datasets/${own.id}`)).status).toBe(404);
    expect((await limited('GET', `/datasets/${given.id}`)).status).toBe(200);
    expect((await limited('DELETE', `/datasets/${given.id}`)).status).toBe(403);
    expect((await member.call('DELETE', `/datasets/${given.id}`)).status).toBe(200);
  });
});

async function keyOf(project: TestProject): Promise<string> {
  return (await made(admin, '/users/api_keys', { description: 'otel', project_id: project.id, project_role: 'editor' })).api_key;
}

describe('owners and sharing', () => {
  test('what belongs to a project is seen by those who see it, in their role there', async () => {
    const project = await service.project();
    const [member, stranger] = [await user(), await user()];
    await made(admin, `/projects/${project.id}/users`, [{ user_id: member.id, role: 'viewer' }]);
    const things = await everything(service.client, admin, project.id);
    await expectUnseen(stranger.call, things);
    for (const path of pathsOf(things)) {
      const seen = await member.call('GET', path);
      expect([path, seen.status, allowed(seen.body).filter((action) => action !== 'export')]).toEqual([path, 200, []]);
      expect((await member.call('PATCH', path, { name: newId() })).status).toBe(403);
    }
    await admin('PATCH', `/projects/${project.id}/users/${member.id}`, { role: 'editor' });
    for (const path of pathsOf(things)) {
      expect(allowed((await member.call('GET', path)).body)).toEqual(expect.arrayContaining(['delete', 'update']));
      expect([path, (await member.call('PATCH', path, { name: newId() })).status]).toEqual([path, 200]);
    }
    await admin('DELETE', `/projects/${project.id}`);
    await expectUnseen(member.call, await renamed(things));
  });

  test('what is made without a project is the organization’s: users change and delete it, its owner shares it', async () => {
    const [maker, other, reader] = [await user(), await user(), await user('read_only')];
    const things = await everything(maker.client, maker.call);
    for (const path of pathsOf(things)) {
      expect(allowed((await maker.call('GET', path)).body)).toContain('share');
      expect(allowed((await other.call('GET', path)).body)).not.toContain('share');
      expect([path, (await reader.call('GET', path)).status]).toEqual([path, 200]);
      expect([path, (await reader.call('DELETE', path)).status]).toEqual([path, 403]);
      expect([path, (await other.call('PATCH', path, { name: newId() })).status]).toEqual([path, 200]);
      expect([path, (await other.call('DELETE', path)).status]).toEqual([path, 200]);
    }
  });

  test.each(['datasets', 'templates'] as const)('%s are shared with users and groups, and taken back', async (kind) => {
    const project = await service.project();
    const [friend, colleague] = [await user(), await user()];
    const thing = (await everything(service.client, admin, project.id))[kind];
    const path = `/${kind}/${thing.id}`;
    const owners = (await admin('GET', `${path}/users`)).body.collaborators;
    expect(owners).toMatchObject([
      {
        role: 'owner',
        permissions: [
          { action: 'update', allowed: true },
          { action: 'delete', allowed: true },
        ],
      },
    ]);
    expect((await friend.call('POST', `${path}/users`, [{ user_id: friend.id, role: 'owner' }])).status).toBe(404);

    expect(await made(admin, `${path}/users`, [{ user_id: friend.id }])).toMatchObject([{ user_id: friend.id, role: 'viewer' }]);
    expect(allowed((await friend.call('GET', path)).body)).not.toContain('update');
    expect((await friend.call('POST', `${path}/users`, [{ user_id: friend.id, role: 'owner' }])).status).toBe(403);
    expect((await admin('PATCH', `${path}/users/${friend.id}`, { role: 'editor' })).body).toMatchObject({ role: 'editor' });
    expect((await friend.call('PATCH', path, { name: newId() })).status).toBe(200);
    expect((await friend.call('GET', `${path}/users`)).body.collaborators).toMatchObject([
      { role: 'owner', permissions: [{ allowed: false }, { allowed: false }] },
      { user_id: friend.id, role: 'editor' },
    ]);
    expect((await admin('DELETE', `${path}/users/${friend.id}`)).status).toBe(200);
    expect((await friend.call('GET', path)).status).toBe(404);

    const group = await made(admin, '/groups', { name: newId(), visibility: 'public' });
    await admin('POST', `/groups/${group.id}/members`, [{ user_id: colleague.id, role: 'member' }]);
    expect(await made(admin, `${path}/groups`, [{ group_id: group.id, role: 'viewer' }])).toMatchObject([{ group_id: group.id }]);
    expect((await colleague.call('GET', path)).status).toBe(200);
    expect((await admin('PATCH', `${path}/groups/${group.id}`, { role: 'owner' })).body.role).toBe('owner');
    expect((await colleague.call('GET', `${path}/groups`)).body.collaborators).toHaveLength(1);
    expect((await colleague.call('DELETE', `${path}/groups/${group.id}`)).status).toBe(200);
    expect((await colleague.call('GET', path)).status).toBe(404);
  });

  test('bulk_delete takes what the caller may delete, and says what it left', async () => {
    const caller = await user();
    const hidden = await dataset(service.client, newId(), (await service.project()).id);
    const shown = await dataset(service.client, newId(), (await service.project()).id);
    await made(admin, `/datasets/${shown.id}/users`, [{ user_id: caller.id, role: 'viewer' }]);
    const own = await dataset(caller.client);
    const { body } = await caller.call('DELETE', '/datasets/bulk_delete', { dataset_ids: [hidden.id, shown.id, own.id] });
    expect(body).toMatchObject({
      deleted_count: 1,
      failed_deletions: [
        { dataset_id: hidden.id, reason: 'there is no such dataset' },
        { dataset_id: shown.id, reason: 'you may not delete this dataset' },
      ],
    });
    expect((await admin('GET', `/datasets/${shown.id}`)).status).toBe(200);
    expect((await admin('GET', `/datasets/${own.id}`)).status).toBe(404);
  });

  test('lists by action hold what the caller may do it with', async () => {
    const caller = await user();
    const shown = await dataset(service.client, newId(), (await service.project()).id);
    await made(admin, `/datasets/${shown.id}/users`, [{ user_id: caller.id, role: 'viewer' }]);
    const own = await dataset(caller.client);
    const listed = async (action: string) =>
      (await caller.call('GET', `/datasets?limit=1000&actions=${action}`)).body.datasets.map(({ id }: { id: string }) => id);
    expect(await listed('export')).toEqual(expect.arrayContaining([shown.id, own.id]));
    expect(await listed('update')).toContain(own.id);
    expect(await listed('update')).not.toContain(shown.id);
    expect(await listed('share')).toEqual([own.id]);
  });

  test('a name that stands for several by sharing is 409, until it is told by id or project', async () => {
    const caller = await user();
    const [one, other] = [await service.project(), await service.project()];
    const name = newId();
    const keys = [await limitedKey(one), await limitedKey(other)] as const;
    const [first, second] = [await dataset(keys[0].client, name), await dataset(keys[1].client, name)];
    const scorers = [];
    for (const { call } of keys) {
      await made(call, '/templates', template(name));
      const scorer = await made(call, '/scorers', { name, scorer_type: 'llm' });
      await made(call, `/scorers/${scorer.id}/version/llm`, { user_prompt: 'Is {{output}} polite?' });
      scorers.push(scorer);
    }
    await made(admin, `/datasets/${first.id}/users`, [{ user_id: caller.id }]);
    expect((await caller.call('POST', '/datasets/query', byName(name))).body.datasets).toHaveLength(1);
    await made(admin, `/datasets/${second.id}/users`, [{ user_id: caller.id }]);
    for (const [call, path] of [
      [caller.call, '/datasets/query'],
      [admin, '/datasets/query'],
      [admin, '/templates/query'],
      [admin, '/scorers/list'],
    ] as const) {
      for (const page of ['', '?limit=1', '?starting_token=1']) {
        const { status, body } = await call('POST', `${path}${page}`, byName(name));
        expect([path, page, status]).toEqual([path, page, 409]);
        expect(body.detail).toContain(`named "${name}"`);
      }
    }
    const experiment = await made(admin, `/projects/${one.id}/experiments`, { name: 'E' });
    const settings = `/projects/${one.id}/experiments/${experiment.id}/metric_settings`;
    const columns = `/projects/${one.id}/metrics-testing/available_columns`;
    expect((await admin('POST', columns, { name: 'm', required_scorers: [name] })).status).toBe(409);
    expect((await keys[0].call('POST', columns, { name: 'm', required_scorers: [name] })).status).toBe(200);
    expect((await admin('PATCH', settings, { scorers: [{ id: scorers[0].id, scorer_type: 'llm' }] })).status).toBe(200);
    const inProject = { filters: [...byName(name).filters, { name: 'used_in_project', value: other.id }] };
    expect((await admin('POST', '/datasets/query', inProject)).body.datasets).toMatchObject([{ id: second.id }]);
  });

  test('integrations are everyone’s to use, and changed by their owners', async () => {
    const [maker, editor, other] = [await user('manager'), await user(), await user()];
    const name = `shared-${newId()}`;
    const body = { endpoint: 'http://127.0.0.1:9', authentication_type: 'none' };
    const path = `/integrations/custom/${name}`;
    const { id } = (await maker.call('PUT', path, body)).body;
    expect(allowed((await maker.call('GET', path)).body)).toEqual(['delete', 'read_secrets', 'share', 'update']);
    for (const { call } of [editor, other]) {
      expect(allowed((await call('GET', path)).body)).toEqual([]);
      expect((await call('PUT', path, body)).status).toBe(403);
    }
    expect((await other.call('PUT', `/integrations/custom/${newId()}`, body)).status).toBe(403);
    await made(maker.call, `/integrations/${id}/users`, [{ user_id: editor.id, role: 'editor' }]);
    expect(allowed((await editor.call('GET', path)).body)).toEqual(['delete', 'update']);
    expect((await editor.call('PUT', path, body)).status).toBe(200);
    expect((await editor.call('GET', `${path}/definition`)).status).toBe(403);
    expect((await other.call('POST', `/integrations/${id}/users`, [{ user_id: other.id, role: 'owner' }])).status).toBe(403);

    const { call } = await limitedKey(await service.project());
    expect((await call('GET', path)).status).toBe(404);
    expect((await call('GET', `/integrations/${id}/limits`)).status).toBe(404);
    expect((await call('PUT', path, body)).status).toBe(403);
    expect((await call('GET', '/integrations')).body).toEqual([]);
    expect((await editor.call('DELETE', path)).status).toBe(200);
  });
});

/** The things under the names that they have now. */
async function renamed({ datasets, templates, scorers }: Things): Promise<Things> {
  const now = async (path: string) => (await admin('GET', path)).body;
  return {
    datasets: await now(`/datasets/${datasets.id}`),
    templates: await now(`/templates/${templates.id}`),
    scorers: await now(`/scorers/${scorers.id}`),
  };
}
