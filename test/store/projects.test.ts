import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { finishProjectDeletions } from '../../shared/projects/deletions.ts';
import { type AccountService, type Caller, startAccountService } from '../support/accountService.ts';
import { overDatabases } from '../support/overDatabases.ts';

/** Clients of a year ago know no other, and refuse the whole answer for one. */
const actionsOfFirstClients = [
  ...['update', 'delete', 'rename', 'share', 'create_run', 'delete_run', 'rename_run', 'move_run', 'export_data'],
  ...[
    'configure_human_feedback',
    'record_human_feedback',
    'log_data',
    'toggle_metric',
    'edit_alert',
    'create_stage',
    'edit_stage',
  ],
  ...['configure_crown_logic', 'delete_data', 'set_metric', 'edit_run_tags', 'dismiss_alert', 'edit_slice', 'edit_edit'],
];

overDatabases(stories);

const ids = (items: { id: string }[]) => items.map((item) => item.id);

function stories(databaseUrl: () => Promise<string | undefined>): void {
  let service: AccountService;
  let admin: Caller;
  beforeAll(async () => {
    service = await startAccountService(await databaseUrl());
    admin = service.admin;
  });
  afterAll(() => service[Symbol.asyncDispose]());

  /** A user with a project of their own and nothing else to see. */
  async function ownerWithProject() {
    const owner = await service.user('user');
    const { body: project } = await owner.call('POST', '/projects', { name: `project ${newId()}` });
    return { owner, project };
  }

  describe('projects', () => {
    test('the clients create one as gen_ai, find it by name and by id, with its runs', async () => {
      const { owner, project } = await ownerWithProject();
      expect(project).toMatchObject({ type: 'gen_ai', created_by: owner.id });
      const query = `project_name=${encodeURIComponent(project.name)}&type=gen_ai`;
      expect((await owner.call('GET', `/v2/projects?${query}`)).body.map((one: { id: string }) => one.id)).toEqual([project.id]);
      const { body: stream } = await owner.call('POST', `/projects/${project.id}/log_streams`, { name: 'default' });
      const { body } = await owner.call('GET', `/projects/${project.id}?project_id=${project.id}`);
      expect(body).toMatchObject({
        id: project.id,
        name: project.name,
        created_by_user: { id: owner.id, email: owner.email },
        bookmark: false,
        labels: [],
      });
      expect(body.runs).toMatchObject([{ id: stream.id, name: 'default', task_type: 15, creator: { id: owner.id } }]);
      // Older clients require the lists, and refuse the project for a permission that they do not know.
      expect(body.runs).toMatchObject([{ logged_splits: [], logged_inference_names: [], creator: { permissions: [] } }]);
      expect(body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    });

    test('a lookup by a name that nobody has is 200 with an empty list', async () => {
      const { status, body } = await admin('GET', `/projects?project_name=${newId()}&type=gen_ai`);
      expect([status, body]).toEqual([200, []]);
    });

    test('the options that clients send are taken: nulls, further keys, no type', async () => {
      const sent = { name: `p ${newId()}`, type: 'gen_ai', create_example_templates: false, created_by: null, extra: 1 };
      expect((await admin('POST', '/projects', sent)).status).toBe(200);
      const another = await admin('POST', '/projects', { name: `p ${newId()}`, type: null });
      expect(another.body.type).toBe('gen_ai');
    });

    test('a name in use is 409, at creation, at renaming and when two create it at once', async () => {
      const [one, other] = [await service.project(), await service.project()];
      expect((await admin('POST', '/projects', { name: one.name })).status).toBe(409);
      expect((await admin('PUT', `/projects/${other.id}`, { name: one.name })).status).toBe(409);
      const name = `race ${newId()}`;
      const answers = await Promise.all([1, 2, 3].map(() => admin('POST', '/projects', { name })));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    });

    test('a name that is taken by a project that the caller may not see is free to them, and says nothing of it', async () => {
      const [one, other] = [await service.user('user'), await service.user('user')];
      const name = `hidden ${newId()}`;
      const theirs = await one.call('POST', '/projects', { name });
      const mine = await other.call('POST', '/projects', { name });
      expect([theirs.status, mine.status]).toEqual([200, 200]);
      expect((await other.call('POST', '/projects', { name })).status).toBe(409);
      const renamed = await other.call('POST', '/projects', { name: `renamed ${newId()}` });
      expect((await other.call('PUT', `/projects/${renamed.body.id}`, { name })).status).toBe(409);
      // A caller who sees both can still change the rest of either.
      expect((await admin('PUT', `/projects/${mine.body.id}`, { name, description: 'd' })).status).toBe(200);
      expect((await admin('POST', '/projects', { name })).status).toBe(409);
    });

    test('of projects of one name the one that its caller has seen longest comes first, whatever is shared with them later', async () => {
      const [victim, other] = [await service.user('user'), await service.user('user')];
      const name = `shared ${newId()}`;
      const older = (await other.call('POST', '/projects', { name })).body.id;
      const mine = (await victim.call('POST', '/projects', { name })).body.id;
      const found = async (call: typeof admin) =>
        (await call('GET', `/projects?project_name=${encodeURIComponent(name)}`)).body.map(({ id }: { id: string }) => id);
      expect(await found(victim.call)).toEqual([mine]);
      await other.call('POST', `/projects/${older}/users`, [{ user_id: victim.id, role: 'owner' }]);
      expect(await found(victim.call)).toEqual([mine, older]);
      expect(await found(admin)).toEqual([older, mine]);
    });

    test('name, description and labels change; what is absent or null stays', async () => {
      const project = await service.project();
      const first = await admin('PUT', `/projects/${project.id}`, { description: 'what it is', labels: ['sample'] });
      expect(first.body).toMatchObject({ name: project.name, description: 'what it is', labels: ['sample'] });
      const name = `new ${newId()}`;
      const second = await admin('PUT', `/projects/${project.id}`, { name, description: null });
      expect(second.body).toMatchObject({ name, description: 'what it is', labels: ['sample'] });
      expect((await admin('GET', `/projects/${project.id}`)).body.name).toBe(name);
      // The interface takes any text there, and answers with those that it names.
      const third = await admin('PUT', `/projects/${project.id}`, { labels: ['unheard of', 'sample'] });
      expect(third).toMatchObject({ status: 200, body: { labels: ['sample'] } });
    });

    test.each([
      ['POST', '/projects', { name: '' }, 422],
      ['POST', '/projects', { name: 'x', type: 'unheard of' }, 422],
      ['POST', '/projects', { name: 'nul\u0000' }, 422],
      ['POST', '/projects', [], 422],
      ['POST', '/projects', undefined, 422],
      ['GET', '/projects/not-an-id', undefined, 422],
      ['GET', `/projects/${newId()}`, undefined, 404],
      ['DELETE', `/projects/${newId()}`, undefined, 404],
      ['GET', '/projects/all?type=unheard', undefined, 422],
      ['POST', '/projects/paginated?limit=-1', {}, 422],
      ['POST', '/projects/paginated?starting_token=-1', {}, 422],
      ['POST', '/projects/paginated?actions=fly', {}, 422],
      ['POST', '/projects/paginated', { filters: [{ name: 'colour', operator: 'eq', value: 'x' }] }, 422],
      ['POST', '/projects/paginated', { filters: [{ name: 'name', operator: 'like', value: 'x' }] }, 422],
      ['POST', '/projects/paginated', { filters: [{ name: 'name', operator: 'eq', value: [7] }] }, 422],
      ['POST', '/projects/paginated', { filters: [{ name: 'runs', operator: 'between', value: 3 }] }, 422],
      ['POST', '/projects/paginated', { filters: [{ name: 'created_at', operator: 'gt', value: '2026-02-30T00:00:00Z' }] }, 422],
      ['POST', '/projects/paginated', { sort: { name: 'colour' } }, 422],
    ])('%s %s with %j is refused with %i', async (method, path, json, expected) => {
      const { status, body } = await admin(method, path, json);
      expect(status).toBe(expected);
      expect(body.detail).toBeTruthy();
    });
  });

  describe('finding projects', () => {
    test('pages follow one another without a gap or a repeat, newest first', async () => {
      const owner = await service.user('user');
      for (let n = 0; n < 7; n += 1) await owner.call('POST', '/projects', { name: `page ${n} ${newId()}` });
      const seen: string[] = [];
      for (let token: number | null = 0; token !== null; ) {
        const { body } = await owner.call('POST', `/projects/paginated?starting_token=${token}&limit=3`);
        expect(body.paginated).toBe(body.next_starting_token !== null);
        seen.push(...ids(body.projects));
        token = body.next_starting_token;
      }
      const { body: all } = await owner.call('GET', '/projects/all?project_type=gen_ai');
      expect(seen).toEqual(ids(all));
      expect(seen).toHaveLength(7);
      expect((await owner.call('POST', '/projects/count')).body).toBe(7);
      const times = all.map((project: { created_at: string }) => project.created_at);
      expect(times).toEqual([...times].sort().reverse());
    });

    test('every filter and sort finds what it says', async () => {
      const owner = await service.user('user');
      const made: { id: string; name: string; created_at: string }[] = [];
      for (const [name, type] of [
        ['Alpha %_', 'gen_ai'],
        ['beta', 'protect'],
        ['GAMMA', 'gen_ai'],
      ]) {
        const { body } = await owner.call('POST', '/projects', { name: `${name} ${newId()}`, type });
        made.push(body);
      }
      const [alpha, beta, gamma] = made as [(typeof made)[0], (typeof made)[0], (typeof made)[0]];
      await owner.call('POST', `/projects/${beta.id}/log_streams`, { name: 'one' });
      await owner.call('POST', `/projects/${beta.id}/log_streams`, { name: 'two' });
      const found = async (filter: object) =>
        ids((await owner.call('POST', '/projects/paginated', { filters: [filter], sort: { name: 'created_at' } })).body.projects);
      const a = alpha.id;
      const b = beta.id;
      const g = gamma.id;
      expect(await found({ name: 'name', operator: 'eq', value: alpha.name })).toEqual([a]);
      expect(await found({ name: 'name', operator: 'ne', value: alpha.name })).toEqual([b, g]);
      expect(await found({ name: 'name', operator: 'contains', value: '%_' })).toEqual([a]);
      expect(await found({ name: 'name', operator: 'contains', value: 'gamma' })).toEqual([]);
      expect(await found({ name: 'name', operator: 'contains', value: 'gamma', case_sensitive: false })).toEqual([g]);
      expect(await found({ name: 'name', operator: 'one_of', value: [alpha.name, gamma.name] })).toEqual([a, g]);
      expect(await found({ name: 'name', operator: 'not_in', value: [alpha.name, gamma.name] })).toEqual([b]);
      expect(await found({ name: 'name', operator: 'one_of', value: [] })).toEqual([]);
      expect(await found({ name: 'id', value: b.toUpperCase() })).toEqual([b]);
      expect(await found({ name: 'id', operator: 'not_in', value: [b, 'no id at all'] })).toEqual([a, g]);
      expect(await found({ name: 'id', operator: 'contains', value: b.slice(4, 20) })).toEqual([b]);
      expect(await found({ name: 'creator', operator: 'eq', value: owner.id })).toEqual([a, b, g]);
      expect(await found({ name: 'creator', operator: 'ne', value: owner.id })).toEqual([]);
      expect(await found({ name: 'type', operator: 'eq', value: 'protect' })).toEqual([b]);
      expect(await found({ name: 'type', operator: 'not_in', value: ['protect'] })).toEqual([a, g]);
      expect(await found({ name: 'runs', operator: 'eq', value: 2 })).toEqual([b]);
      expect(await found({ name: 'runs', operator: 'between', value: [0, 1.5] })).toEqual([a, g]);
      expect(await found({ name: 'created_at', operator: 'eq', value: beta.created_at })).toContain(b);
      expect(await found({ name: 'created_at', operator: 'lt', value: alpha.created_at })).toEqual([]);
      expect(await found({ name: 'updated_at', operator: 'gte', value: '1990-01-01T00:00:00+14:00' })).toEqual([a, b, g]);
      expect(await found({ name: 'bookmark', value: true })).toEqual([]);
      expect(await found({ name: 'bookmark', value: false })).toEqual([a, b, g]);
      const sorted = async (sort: object) => ids((await owner.call('POST', '/projects/paginated', { sort })).body.projects);
      expect((await sorted({ name: 'runs', ascending: false, sort_type: 'custom' }))[0]).toBe(b);
      expect((await sorted({ name: 'type', ascending: false }))[0]).toBe(b);
      expect((await sorted({ name: 'bookmark' })).length).toBe(3);
      expect(await sorted({ name: 'updated_at' })).toHaveLength(3);
    });

    test('permissions say what the caller may do; `actions` picks among them', async () => {
      const { owner, project } = await ownerWithProject();
      const viewer = await service.user('user');
      await owner.call('POST', `/projects/${project.id}/users`, [{ user_id: viewer.id }]);
      const path = '/projects/paginated?actions=delete&actions=export_data';
      const [mine] = (await owner.call('POST', path)).body.projects;
      expect(mine.permissions).toEqual([
        { action: 'delete', allowed: true },
        { action: 'export_data', allowed: true },
      ]);
      const [theirs] = (await viewer.call('POST', path)).body.projects;
      expect(theirs.permissions).toEqual([
        { action: 'delete', allowed: false },
        { action: 'export_data', allowed: true },
      ]);
      const [all] = (await owner.call('POST', '/projects/paginated')).body.projects;
      const listed = all.permissions.map(({ action }: { action: string }) => action);
      expect(listed).toEqual(actionsOfFirstClients);
      const [later] = (await owner.call('POST', '/projects/paginated?actions=use_control_runtime')).body.projects;
      expect(later.permissions).toEqual([{ action: 'use_control_runtime', allowed: true }]);
    });
  });

  describe('who sees and does what', () => {
    test('a stranger sees nothing of a project, and cannot tell that it is there', async () => {
      const { project } = await ownerWithProject();
      const stranger = await service.user('user');
      const unknown = await stranger.call('GET', `/projects/${newId()}`);
      for (const [method, path] of [
        ['GET', ''],
        ['PUT', ''],
        ['DELETE', ''],
        ['GET', '/users'],
        ['GET', '/groups'],
        ['GET', '/log_streams'],
        ['POST', '/log_streams'],
      ] as const) {
        const { status, body } = await stranger.call(method, `/projects/${project.id}${path}`, method === 'GET' ? undefined : {});
        expect([method, path, status, body]).toEqual([method, path, 404, unknown.body]);
      }
      expect((await stranger.call('GET', `/projects?project_name=${encodeURIComponent(project.name)}`)).body).toEqual([]);
      expect((await stranger.call('GET', '/projects/all')).body).toEqual([]);
    });

    test('each role may do what it says and no more', async () => {
      const { owner, project } = await ownerWithProject();
      const expected = {
        owner: { update: 200, create_run: 200, share: 200 },
        editor: { update: 200, create_run: 200, share: 403 },
        annotator: { update: 403, create_run: 403, share: 403 },
        viewer: { update: 403, create_run: 403, share: 403 },
      };
      for (const [role, allowed] of Object.entries(expected)) {
        const user = await service.user('user');
        await owner.call('POST', `/projects/${project.id}/users`, [{ user_email: user.email, role }]);
        expect((await user.call('GET', `/projects/${project.id}`)).status).toBe(200);
        const done = {
          update: (await user.call('PUT', `/projects/${project.id}`, { description: role })).status,
          create_run: (await user.call('POST', `/projects/${project.id}/log_streams`, { name: `by ${role}` })).status,
          share: (await user.call('POST', `/projects/${project.id}/users`, [])).status,
        };
        expect({ role, ...done }).toEqual({ role, ...allowed });
      }
    });

    test('collaborators are listed in pages, changed and removed; all in the order given', async () => {
      const { owner, project } = await ownerWithProject();
      const [one, two] = [await service.user('user'), await service.user('user')];
      const added = await owner.call('POST', `/projects/${project.id}/users`, [
        { user_id: two.id, role: 'editor' },
        { user_email: one.email.toUpperCase() },
      ]);
      expect(added.body).toMatchObject([
        { user_id: two.id, role: 'editor', email: two.email },
        { user_id: one.id, role: 'viewer' },
      ]);
      const first = await owner.call('GET', `/projects/${project.id}/users?limit=2`);
      expect(first.body).toMatchObject({ paginated: true, next_starting_token: 2 });
      expect(first.body.collaborators[0]).toMatchObject({ user_id: owner.id, role: 'owner' });
      expect(first.body.collaborators[0].permissions).toContainEqual({ action: 'update', allowed: true });
      const changed = await owner.call('PATCH', `/projects/${project.id}/users/${one.id}`, { role: 'annotator' });
      expect(changed.body).toMatchObject({ user_id: one.id, role: 'annotator' });
      expect((await owner.call('DELETE', `/projects/${project.id}/users/${one.id}`)).status).toBe(200);
      expect((await owner.call('DELETE', `/projects/${project.id}/users/${one.id}`)).status).toBe(404);
      expect((await one.call('GET', `/projects/${project.id}`)).status).toBe(404);
    });

    test('an unknown user among several adds nobody', async () => {
      const { owner, project } = await ownerWithProject();
      const user = await service.user('user');
      const refused = await owner.call('POST', `/projects/${project.id}/users`, [{ user_id: user.id }, { user_id: newId() }]);
      expect(refused.status).toBe(404);
      expect((await owner.call('GET', `/projects/${project.id}/users`)).body.collaborators).toHaveLength(1);
      expect((await owner.call('POST', `/projects/${project.id}/users`, [{ role: 'viewer' }])).status).toBe(422);
    });

    test('the four roles are described', async () => {
      const { body } = await admin('GET', '/collaborator_roles');
      expect(body.map((role: { name: string }) => role.name)).toEqual(['owner', 'editor', 'annotator', 'viewer']);
    });
  });

  describe('log streams', () => {
    test('created, listed, paged, renamed and deleted; a name is used once per project', async () => {
      const [project, other] = [await service.project(), await service.project()];
      const path = `/projects/${project.id}/log_streams`;
      const { body: stream } = await admin('POST', path, { name: 'default' });
      expect(stream).toMatchObject({ name: 'default', project_id: project.id, created_by_user: { email: 'admin@example.com' } });
      expect((await admin('POST', path, { name: 'default' })).status).toBe(409);
      expect((await admin('POST', `/projects/${other.id}/log_streams`, { name: 'default' })).status).toBe(200);
      const { body: second } = await admin('POST', path, { name: 'second' });
      expect((await admin('PUT', `${path}/${second.id}`, { name: 'default' })).status).toBe(409);
      expect((await admin('PUT', `${path}/${second.id}`, { name: 'renamed' })).body.name).toBe('renamed');
      expect(ids((await admin('GET', path)).body)).toEqual([second.id, stream.id]);
      const page = await admin('GET', `${path}/paginated?limit=1&include_counts=false`);
      expect(page.body).toMatchObject({ paginated: true, next_starting_token: 1, limit: 1, starting_token: 0 });
      const last = await admin('GET', `${path}/paginated?limit=1&starting_token=1`);
      expect(last.body).toMatchObject({ paginated: false, next_starting_token: null });
      expect((await admin('DELETE', `${path}/${second.id}`)).status).toBe(204);
      expect((await admin('GET', `${path}/${second.id}`)).status).toBe(404);
      expect((await admin('GET', `/projects/${other.id}/log_streams/${stream.id}`)).status).toBe(404);
      expect((await admin('DELETE', `/projects/${other.id}/log_streams/${stream.id}`)).status).toBe(404);
    });

    test('counts come when asked for, zeros for a stream without records', async () => {
      const project = await service.project();
      const path = `/projects/${project.id}/log_streams`;
      const { body: full } = await admin('POST', path, { name: 'full' });
      const { body: empty } = await admin('POST', path, { name: 'empty' });
      service.recordStore.counts.set(full.id, { traces: 3, spans: 7, sessions: 1, newestAt: '2026-03-01T10:00:00.000000Z' });
      const { body } = await admin('GET', `${path}?include_counts=true`);
      expect(body).toMatchObject([
        { id: empty.id, num_traces: 0, num_spans: 0, has_user_created_sessions: false },
        { id: full.id, num_traces: 3, num_spans: 7, has_user_created_sessions: true },
      ]);
      expect((await admin('GET', path)).body).toMatchObject([{ num_traces: null }, { num_traces: null }]);
    });

    test('a search filters by every column, sorts and pages', async () => {
      const project = await service.project();
      const user = await service.user('admin');
      const path = `/projects/${project.id}/log_streams`;
      const { body: a } = await admin('POST', path, { name: 'Aa' });
      const { body: b } = await user.call('POST', path, { name: 'Bb' });
      const found = async (filters: object[], more: object = {}) =>
        ids((await admin('POST', `${path}/search`, { filters, ...more })).body.log_streams);
      expect(await found([])).toEqual([b.id, a.id]);
      expect(await found([], { sort: { name: 'name', ascending: true, sort_type: 'column' } })).toEqual([a.id, b.id]);
      expect(await found([{ name: 'name', operator: 'contains', value: 'A', case_sensitive: false }])).toEqual([a.id]);
      expect(await found([{ name: 'created_by', value: user.id }])).toEqual([b.id]);
      expect(await found([{ name: 'id', operator: 'one_of', value: [a.id] }])).toEqual([a.id]);
      expect(await found([{ name: 'created_at', operator: 'gt', value: '2200-01-01T00:00:00Z' }])).toEqual([]);
      expect(await found([{ name: 'updated_at', operator: 'lte', value: b.updated_at }])).toContain(b.id);
      expect(
        await found([
          { name: 'id', value: a.id },
          { name: 'name', operator: 'eq', value: 'Bb' },
        ]),
      ).toEqual([]);
      const { body } = await admin('POST', `${path}/search`, { limit: 1, starting_token: null });
      expect(body).toMatchObject({ paginated: true, next_starting_token: 1 });
    });
  });

  describe('runs', () => {
    test('a request names exactly one run of its project; a deleted one is unknown at once', async () => {
      const [project, other] = [await service.project(), await service.project()];
      const { body: stream } = await admin('POST', `/projects/${project.id}/log_streams`, { name: 'default' });
      const { find } = service.runLookup;
      const ref = { projectId: project.id, runId: stream.id, kind: 'log_stream' };
      expect(await find(project.id, { log_stream_id: stream.id, experiment_id: null })).toEqual(ref);
      expect(await find(project.id, { log_stream_id: stream.id.toUpperCase() })).toEqual(ref);
      await expect(find(project.id, {})).rejects.toMatchObject({ name: 'RequestInvalid' });
      await expect(find(project.id, { log_stream_id: stream.id, experiment_id: stream.id })).rejects.toMatchObject({
        name: 'RequestInvalid',
      });
      for (const [projectId, selector] of [
        [project.id, { log_stream_id: newId() }],
        [project.id, { log_stream_id: 'no id at all' }],
        [project.id, { experiment_id: stream.id }],
        [other.id, { log_stream_id: stream.id }],
      ] as const)
        await expect(find(projectId, selector)).rejects.toMatchObject({ code: 'RunNotFound' });
      await admin('DELETE', `/projects/${project.id}/log_streams/${stream.id}`);
      await expect(find(project.id, { log_stream_id: stream.id })).rejects.toMatchObject({ code: 'RunNotFound' });
    });
  });

  describe('deletion', () => {
    test('a project goes with its runs, its keys and its records; its name is free again', async () => {
      const project = await service.project();
      const { body: stream } = await admin('POST', `/projects/${project.id}/log_streams`, { name: 'default' });
      const { body: key } = await admin('POST', '/users/api_keys', { description: 'k', project_id: project.id });
      expect((await service.withKey(key.api_key)('GET', `/projects/${project.id}`)).status).toBe(200);
      service.recordStore.counts.set(stream.id, { traces: 1, spans: 1, sessions: 0, newestAt: '2026-03-01T10:00:00.000000Z' });
      const { status, body } = await admin('DELETE', `/projects/${project.id}`);
      expect([status, typeof body.message]).toEqual([200, 'string']);
      expect(service.recordStore.counts.size).toBe(0);
      expect((await admin('GET', `/projects/${project.id}`)).status).toBe(404);
      expect((await service.withKey(key.api_key)('GET', '/current_user')).status).toBe(401);
      expect((await admin('POST', '/projects', { name: project.name })).status).toBe(200);
    });

    test('what is added to a project that went a moment ago is refused as unknown', async () => {
      const { body: me } = await admin('GET', '/current_user');
      const gone = newId();
      const stream = { id: newId(), projectId: gone, name: 'late', createdBy: me.id };
      await expect(service.logStreams.insert(stream)).rejects.toMatchObject({ code: 'NotFound' });
      const user = { userId: me.id, email: undefined, role: 'viewer' } as const;
      await expect(service.projects.setUserCollaborators(gone, [user])).rejects.toMatchObject({ code: 'NotFound' });
    });

    test('records that could not be deleted are deleted later', async () => {
      const project = await service.project();
      const { body: stream } = await admin('POST', `/projects/${project.id}/log_streams`, { name: 'default' });
      service.recordStore.counts.set(stream.id, { traces: 1, spans: 1, sessions: 0, newestAt: '2026-03-01T10:00:00.000000Z' });
      service.recordStore.down = true;
      expect((await admin('DELETE', `/projects/${project.id}/log_streams/${stream.id}`)).status).toBe(503);
      await expect(finishProjectDeletions(service.deletions)).rejects.toMatchObject({ code: 'Unavailable' });
      service.recordStore.down = false;
      expect((await admin('GET', `/projects/${project.id}/log_streams/${stream.id}`)).status).toBe(404);
      await finishProjectDeletions(service.deletions);
      expect(service.recordStore.counts.has(stream.id)).toBe(false);
    });

    test('records of a request that was let in before the deletion and wrote after it go as well', async () => {
      const project = await service.project();
      const { body: stream } = await admin('POST', `/projects/${project.id}/log_streams`, { name: 'default' });
      expect((await admin('DELETE', `/projects/${project.id}/log_streams/${stream.id}`)).status).toBe(204);
      service.recordStore.counts.set(stream.id, { traces: 1, spans: 1, sessions: 0, newestAt: '2026-03-01T10:00:00.000000Z' });
      await finishProjectDeletions(service.deletions);
      expect(service.recordStore.counts.has(stream.id)).toBe(false);
      await finishProjectDeletions(service.deletions, 0);
      expect(await service.projects.pendingDeletions()).toEqual([]);
    });
  });
}
