import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { addToAnnotationQueue, createAnnotationQueue, getAnnotationQueue } from '../../client/index.ts';
import { createAnnotationReads } from '../../shared/annotations/createAnnotationReads.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { postgresAnnotations } from '../../shared/stores/postgres/annotations.ts';
import { readParquet } from '../support/readParquet.ts';
import { openSeededDatabase } from '../support/seedPostgres.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service[Symbol.asyncDispose]());

// biome-ignore lint/suspicious/noExplicitAny: a test looks into replies of every shape; a wrong guess fails the test
type Body = any;
type Call = (method: string, path: string, body?: unknown) => Promise<{ status: number; body: Body }>;
const asAdministrator: Call = (method, path, body) => service.request(method, path, body);
/** The body of an answer that must be a good one. */
const good = async (answer: Promise<{ status: number; body: Body }>): Promise<Body> => {
  const { status, body } = await answer;
  expect([status, body]).toEqual([200, body]);
  return body;
};
const post = (path: string, body?: unknown) => good(asAdministrator('POST', path, body));
const get = (path: string) => good(asAdministrator('GET', path));

let people = 0;
/** A user of the organization, who calls with a key of their own. */
async function person(role = 'user'): Promise<{ id: string; email: string; call: Call }> {
  const email = `person${++people}@example.com`;
  const password = 'Pass-Word-1!';
  const user = await post('/users', { email, password, role });
  const token = await good(
    fetch(`${service.url}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: 'password', username: email, password }),
    }).then(async (response) => ({ status: response.status, body: await response.json() })),
  );
  const call: Call = (method, path, body) =>
    service.request(method, path, body, { 'Service-API-Key': '', authorization: `Bearer ${token.access_token}` });
  return { id: user.id, email, call };
}

let queues = 0;
const newQueue = (more: object = {}) => post('/annotation_queues', { name: { value: `queue ${++queues}` }, ...more });
const template = async (queueId: string, name: string, constraints: object): Promise<string> =>
  (await post(`/annotation_queues/${queueId}/templates`, { template: { name, constraints } }))[0].id;
const liked = { annotation_type: 'like_dislike' };

/** A log stream of a new project with traces of these names, each with one span. */
async function logged(...names: string[]) {
  const project = await service.project();
  return { project, ...(await stream(project.id, names)) };
}
async function stream(projectId: string, names: readonly string[]) {
  const { id: streamId } = await post(`/projects/${projectId}/log_streams`, { name: `stream ${newId()}` });
  const traces = names.map((name, index) => ({
    id: newId(),
    name,
    input: `question of ${name}`,
    output: name,
    created_at: `2026-03-01T12:00:0${index}Z`,
    metrics: { quality: index / 10 },
    spans: [{ type: 'tool', id: newId(), name: `${name}'s tool`, input: 'i', output: 'o' }],
  }));
  await post(`/projects/${projectId}/traces`, { log_stream_id: streamId, traces });
  const search = (what: string, filters: object[] = []) =>
    post(`/projects/${projectId}/${what}/search`, { log_stream_id: streamId, filters });
  return { streamId, traces, ids: traces.map(({ id }) => id), search };
}
const enqueue = (queueId: string, projectId: string, runId: string, ids: readonly string[]) =>
  post(`/annotation_queues/${queueId}/records`, {
    project_id: projectId,
    run_id: runId,
    record_selector: { type: 'record_ids', record_ids: ids },
  });
const ratingPath = (queueId: string, recordId: string, templateId: string) =>
  `/annotation_queues/${queueId}/records/${recordId}/rating?annotation_template_id=${templateId}`;
const rate = (call: Call, queueId: string, recordId: string, templateId: string, rating: object, explanation?: string) =>
  call('PUT', ratingPath(queueId, recordId, templateId), { rating, ...(explanation ? { explanation } : {}) });
const like = (value: boolean) => ({ annotation_type: 'like_dislike', value });
const fullyAnnotated = (userIds?: string[]) => ({ type: 'fully_annotated', ...(userIds ? { user_ids: userIds } : {}) });
const namesOf = ({ records }: { records: { name: string }[] }) => records.map(({ name }) => name);
const partialSearch = (queueId: string, body: object = {}) =>
  post(`/annotation_queues/${queueId}/partial_search`, {
    select_columns: { column_ids: ['id', 'input', 'output'], include_all_metrics: true, include_all_feedback: true },
    ...body,
  });

describe('queues', () => {
  test('a queue is made, found by name, changed and deleted', async () => {
    const annotator = await person();
    const queue = await newQueue({ description: 'what to look at', annotator_emails: [annotator.email] });
    expect(queue).toMatchObject({
      description: 'what to look at',
      created_by_user: { email: expect.stringContaining('@') },
      num_users: 2,
      num_annotators: 1,
      num_templates: 0,
      num_log_records: 0,
      overall_progress: null,
      templates: [],
    });
    expect(queue.permissions).toContainEqual({ action: 'record_annotation', allowed: true });
    const byName = {
      filters: [{ name: 'name', operator: 'eq', value: queue.name }],
      sort: { name: 'updated_at', ascending: false },
    };
    const found = await post('/annotation_queues/query?limit=1', byName);
    expect(found).toMatchObject({ paginated: false, next_starting_token: null, annotation_queues: [{ id: queue.id }] });
    expect(await post('/annotation_queues/count', byName)).toEqual({ total_count: 1 });

    const path = `/annotation_queues/${queue.id}`;
    const changed = await good(asAdministrator('PATCH', path, { name: { value: `${queue.name} again` } }));
    expect(changed).toMatchObject({ name: `${queue.name} again`, description: 'what to look at' });
    expect(await good(asAdministrator('DELETE', path))).toEqual({ message: expect.any(String) });
    expect((await asAdministrator('GET', path)).status).toBe(404);
    expect(await post('/annotation_queues/count', byName)).toEqual({ total_count: 0 });
  });

  test('a taken name is refused, unless a suffix is asked for', async () => {
    const { name } = await newQueue();
    expect((await asAdministrator('POST', '/annotation_queues', { name: { value: name } })).status).toBe(409);
    const request = { name: { value: name, append_suffix_if_duplicate: true } };
    const made = await Promise.all(Array.from({ length: 5 }, () => post('/annotation_queues', request)));
    expect(new Set(made.map((queue) => queue.name)).size).toBe(5);
  });

  test('a name that is taken by a queue that the caller does not see is free to them', async () => {
    const { name } = await newQueue();
    const other = await person('user');
    const make = (more: object = {}) => other.call('POST', '/annotation_queues', { name: { value: name, ...more } });
    const made = await make();
    expect([made.status, made.body.name]).toEqual([200, name]);
    expect((await make()).status).toBe(409);
    expect((await make({ append_suffix_if_duplicate: true })).body.name).toBe(`${name} (1)`);
  });

  test('queues are paged, filtered by numbers and projects, and sorted', async () => {
    const { project, streamId, ids } = await logged('a', 'b');
    const [small, large] = [await newQueue(), await newQueue()];
    await enqueue(small.id, project.id, streamId, ids.slice(0, 1));
    await enqueue(large.id, project.id, streamId, ids);
    const ofProject = { name: 'project_id', value: project.id };
    const query = async (path: string, body: object) => await post(`/annotation_queues/query${path}`, body);
    const idsOf = (page: Body) => page.annotation_queues.map(({ id }: { id: string }) => id);
    const sort = { name: 'num_log_records', ascending: false };
    expect(idsOf(await query('', { filters: [ofProject], sort }))).toEqual([large.id, small.id]);
    const first = await query('?limit=1', { filters: [ofProject], sort });
    expect(first).toMatchObject({ paginated: true, next_starting_token: 1 });
    const next = await query(`?limit=1&starting_token=${first.next_starting_token}`, { filters: [ofProject], sort });
    expect([idsOf(next), next.next_starting_token]).toEqual([[small.id], null]);
    const many = { name: 'num_log_records', operator: 'between', value: [2, 5] };
    expect(idsOf(await query('', { filters: [ofProject, many] }))).toEqual([large.id]);
  });
});

describe('users', () => {
  test('are added by id or email, changed and removed', async () => {
    const [ada, ben] = [await person(), await person()];
    const queue = await newQueue();
    const path = `/annotation_queues/${queue.id}/users`;
    const added = await post(path, [{ user_email: ada.email, role: 'annotator' }, { user_id: ben.id }]);
    expect(added).toMatchObject([
      { user_id: ada.id, role: 'annotator', annotation_queue_id: queue.id, track_progress: true },
      { user_id: ben.id, role: 'viewer' },
    ]);
    const change = { role: 'annotator', track_progress: false };
    expect(await good(asAdministrator('PATCH', `${path}/${ben.id}`, change))).toMatchObject({ ...change, progress: null });
    expect((await get(path)).collaborators).toHaveLength(3);
    expect((await get(`${path}?limit=1`)).next_starting_token).toBe(1);
    await good(asAdministrator('DELETE', `${path}/${ben.id}`));
    expect((await asAdministrator('DELETE', `${path}/${ben.id}`)).status).toBe(404);
    const unknown = [{ user_id: ada.id, role: 'owner' }, { user_email: 'nobody@example.com' }];
    expect((await asAdministrator('POST', path, unknown)).status).toBe(404);
    expect((await get(path)).collaborators.map((user: Body) => user.role)).toEqual(['owner', 'annotator']);
  });

  test('a role in a queue says what its user may do there; others do not see it', async () => {
    const { project, streamId, ids } = await logged('a');
    const [record] = ids as [string];
    const [annotator, viewer, stranger, reader] = [await person(), await person(), await person(), await person('read_only')];
    const queue = await newQueue();
    const path = `/annotation_queues/${queue.id}`;
    await post(`${path}/users`, [
      { user_id: annotator.id, role: 'annotator' },
      { user_id: viewer.id, role: 'viewer' },
      { user_id: reader.id, role: 'editor' },
    ]);
    const question = await template(queue.id, 'Good?', liked);
    await enqueue(queue.id, project.id, streamId, ids);
    const statusFor = async (call: Call) => [
      (await call('GET', path)).status,
      (await call('POST', `${path}/partial_search`, { select_columns: {} })).status,
      (await rate(call, queue.id, record, question, like(true))).status,
      (await call('PATCH', path, { description: 'x' })).status,
      (await call('POST', `${path}/users`, [{ user_id: stranger.id }])).status,
      (await call('DELETE', path)).status,
    ];
    expect(await statusFor(stranger.call)).toEqual([404, 404, 404, 404, 404, 404]);
    expect(await statusFor(viewer.call)).toEqual([200, 200, 403, 403, 403, 403]);
    expect(await statusFor(reader.call)).toEqual([200, 200, 403, 403, 403, 403]);
    expect(await statusFor(annotator.call)).toEqual([200, 200, 200, 403, 403, 403]);
    const seen = async (call: Call) => (await good(call('POST', '/annotation_queues/count'))).total_count;
    expect([await seen(stranger.call), await seen(viewer.call)]).toEqual([0, 1]);

    // A user who fills a queue shares records, which takes a right in their project.
    const own = await good(stranger.call('POST', '/annotation_queues', { name: 'own queue' }));
    const request = { project_id: project.id, run_id: streamId, record_selector: { type: 'record_ids', record_ids: ids } };
    expect((await stranger.call('POST', `/annotation_queues/${own.id}/records`, request)).status).toBe(404);
    await post(`/projects/${project.id}/users`, [{ user_id: stranger.id, role: 'annotator' }]);
    expect((await stranger.call('POST', `/annotation_queues/${own.id}/records`, request)).status).toBe(403);
  });

  test('a key limited to a project has no part in queues', async () => {
    const { project } = await logged('a');
    const queue = await newQueue();
    const key = await post('/users/api_keys', { description: 'k', project_id: project.id, project_role: 'owner' });
    const headers = { 'Service-API-Key': key.api_key };
    expect((await service.request('GET', `/annotation_queues/${queue.id}`, undefined, headers)).status).toBe(403);
  });
});

describe('templates', () => {
  test('are added in order, copied, changed, reordered and deleted', async () => {
    const queue = await newQueue();
    const path = `/annotation_queues/${queue.id}/templates`;
    const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((name) => template(queue.id, name, liked)));
    const listed = async (at = path) => (await get(at)).map(({ name, position }: Body) => [name, position]);
    expect((await listed()).map(([, position]: [string, number]) => position)).toEqual([0, 1, 2]);
    await post(`${path}/reorder`, { ordering: [c, a, b] });
    expect(await listed()).toEqual([
      ['c', 0],
      ['a', 1],
      ['b', 2],
    ]);
    for (const ordering of [
      [c, a],
      [c, a, a],
      [c, a, newId()],
    ])
      expect((await asAdministrator('POST', `${path}/reorder`, { ordering })).status).toBe(422);
    await good(asAdministrator('DELETE', `${path}/${a}`));
    expect(await listed()).toEqual([
      ['c', 0],
      ['b', 1],
    ]);
    const renamed = await good(asAdministrator('PATCH', `${path}/${b}`, { name: 'b2', criteria: 'look twice' }));
    expect(renamed).toMatchObject({ id: b, name: 'b2', criteria: 'look twice', position: 1, usage_count: 0 });
    expect(await good(asAdministrator('PATCH', `${path}/${b}`, { name: 'b2', criteria: null }))).toMatchObject({
      criteria: null,
    });
    expect((await asAdministrator('PATCH', `${path}/${b}`, { name: 'b2' })).status).toBe(422);

    const copy = await newQueue({ copy_templates_from_queue_id: queue.id });
    expect(copy.templates.map(({ name }: Body) => name)).toEqual(['c', 'b2']);
    const added = await post(`/annotation_queues/${copy.id}/templates`, { copy_from_queue_id: queue.id });
    expect(added.map(({ name, position }: Body) => [name, position])).toEqual([
      ['c', 2],
      ['b2', 3],
    ]);
    for (const body of [{}, { template: { name: 'x', constraints: liked }, copy_from_queue_id: queue.id }])
      expect((await asAdministrator('POST', path, body)).status).toBe(422);
  });

  test('choices in a tree come as a tree or as YAML, and are kept as both', async () => {
    const queue = await newQueue();
    const tree = [{ label: 'Fruit', id: 'fruit', children: [{ label: 'Apple: "red"', id: 'apple', children: [] }] }];
    const path = `/annotation_queues/${queue.id}/templates`;
    const create = (constraints: object) =>
      asAdministrator('POST', path, { template: { name: 't', constraints: { annotation_type: 'tree_choice', ...constraints } } });
    const [{ constraints }] = await good(create({ choices_tree: tree }));
    expect(constraints.choices_tree).toEqual(tree);
    const [again] = await good(create({ choices_tree_yaml: constraints.choices_tree_yaml }));
    expect(again.constraints).toEqual(constraints);
    const wrong = [
      {},
      { choices_tree_yaml: '- [unclosed' },
      { choices_tree_yaml: 'just text' },
      { choices_tree_yaml: `- &a {label: x, id: y}\n- *a` },
      { choices_tree: [tree[0], tree[0]] },
      { choices_tree_yaml: '['.repeat(5_000) },
      { choices_tree: Array.from({ length: 50 }, (_, n) => ({ label: 'x'.repeat(250), id: `${n}` })) },
    ];
    for (const one of wrong) expect((await create(one)).status, JSON.stringify(one).slice(0, 80)).toBe(422);
  });
});

describe('records and ratings', () => {
  test('records are added once, by id or filter, from log streams and experiments, and removed', async () => {
    const { project, streamId, traces, ids } = await logged('a', 'b', 'c');
    const queue = await newQueue();
    const span = traces[0]?.spans[0]?.id as string;
    expect(await enqueue(queue.id, project.id, streamId, [...ids.slice(0, 2), span, newId()])).toEqual({ num_records_added: 3 });
    expect(await enqueue(queue.id, project.id, streamId, ids)).toEqual({ num_records_added: 1 });
    const tools = { type: 'filter_tree', filter_tree: { filter: { type: 'text', name: 'type', operator: 'eq', value: 'tool' } } };
    const path = `/annotation_queues/${queue.id}/records`;
    const where = { project_id: project.id, run_id: streamId };
    expect(await post(path, { ...where, record_selector: tools })).toEqual({ num_records_added: 2 });
    expect(await post(`${path}/count`, {})).toEqual({ total_count: 6 });
    expect(await post(`${path}/count`, { filter_tree: tools.filter_tree })).toEqual({ total_count: 3 });
    const misspelt = { filter_tree: { type: 'id', name: 'id', operater: 'ne', value: span } };
    expect(await service.request('POST', `${path}/remove`, { record_selector: misspelt })).toMatchObject({
      status: 422,
      body: {
        detail: [
          {
            loc: ['body', 'record_selector', 'filter_tree', 'operater'],
            msg: expect.stringContaining('the closest is operator'),
          },
        ],
      },
    });
    const empty = { filter_tree: { and: [] }, filter: tools.filter_tree };
    expect((await service.request('POST', `${path}/remove`, { record_selector: empty })).status).toBe(422);
    expect(await post(`${path}/remove`, { record_selector: tools })).toEqual({ num_records_removed: 3 });
    const selector = { type: 'record_ids', record_ids: [ids[0], newId()] };
    expect(await post(`${path}/remove`, { record_selector: selector })).toEqual({ num_records_removed: 1 });
    expect(namesOf(await partialSearch(queue.id))).toEqual(['c', 'b']);

    const experiment = await post(`/projects/${project.id}/experiments`, { name: 'e' });
    const ofExperiment = { ...where, run_id: experiment.id, record_selector: selector };
    expect(await post(path, ofExperiment)).toEqual({ num_records_added: 0 });
    expect((await asAdministrator('POST', path, { ...ofExperiment, run_id: newId() })).status).toBe(404);
    const other = await service.project();
    expect((await asAdministrator('POST', path, { ...ofExperiment, project_id: other.id })).status).toBe(404);
  });

  test('a rating must fit its template; a later one replaces it; it can be taken back', async () => {
    const { project, streamId, ids, search } = await logged('a');
    const [record] = ids as [string];
    const queue = await newQueue();
    await enqueue(queue.id, project.id, streamId, ids);
    const kinds: [constraints: object, fits: unknown, not: unknown[]][] = [
      [{ annotation_type: 'like_dislike' }, false, ['yes', 1]],
      [{ annotation_type: 'star' }, 5, [0, 6, 2.5]],
      [{ annotation_type: 'score', min: 10, max: 20 }, 20, [9, 21]],
      [{ annotation_type: 'tags', tags: ['a', 'b'] }, ['b', 'a'], [['c'], [''], 'a']],
      [{ annotation_type: 'tags', tags: ['a'], allow_other: true }, ['c'], []],
      [{ annotation_type: 'text' }, "it's — 日本語", ['']],
      [{ annotation_type: 'choice', choices: ['x', 'y'] }, 'y', ['z', '']],
      [{ annotation_type: 'choice', choices: ['x'], allow_other: true }, 'z', []],
      [
        { annotation_type: 'tree_choice', choices_tree: [{ label: 'L', id: 'l', children: [{ label: 'M', id: 'm' }] }] },
        'm',
        ['L'],
      ],
    ];
    const { id: me } = await get('/current_user');
    for (const [constraints, fits, wrong] of kinds) {
      const { annotation_type } = constraints as { annotation_type: string };
      const templateId = await template(queue.id, annotation_type, constraints);
      for (const value of wrong)
        expect((await rate(asAdministrator, queue.id, record, templateId, { annotation_type, value })).status).toBe(422);
      const other = annotation_type === 'text' ? like(true) : { annotation_type: 'text', value: 'x' };
      expect((await rate(asAdministrator, queue.id, record, templateId, other)).status).toBe(422);
      const rated = await good(rate(asAdministrator, queue.id, record, templateId, { annotation_type, value: fits }, 'because'));
      expect(rated).toMatchObject({ explanation: 'because', created_by: me, rating: { annotation_type, value: fits } });
      const [found] = (await search('traces')).records;
      expect(found.annotations[templateId]).toEqual({ [me]: { annotation_type, value: fits, explanation: 'because' } });
      expect(found.annotation_aggregates[templateId].aggregate.annotation_type).toBe(annotation_type);
    }
    const [first] = (await get(`/annotation_queues/${queue.id}`)).templates;
    const replaced = await Promise.all(
      [true, false, true].map((value) => rate(asAdministrator, queue.id, record, first.id, like(value))),
    );
    expect(replaced.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await get(`/annotation_queues/${queue.id}/templates`))[0].usage_count).toBe(1);
    await good(asAdministrator('DELETE', ratingPath(queue.id, record, first.id)));
    expect((await asAdministrator('DELETE', ratingPath(queue.id, record, first.id))).status).toBe(404);
    expect((await search('traces')).records[0].annotations[first.id]).toBeUndefined();
    expect((await rate(asAdministrator, queue.id, newId(), first.id, like(true))).status).toBe(404);
    expect((await rate(asAdministrator, queue.id, record, newId(), like(true))).status).toBe(404);
  });

  test('what annotators say shows on the record wherever it is read, in the queue and in its catalogs', async () => {
    const { project, streamId, ids, search } = await logged('agreed', 'split', 'silent');
    const [agreed, split] = ids as [string, string, string];
    const [ada, ben] = [await person(), await person()];
    const queue = await newQueue({ annotator_emails: [ada.email, ben.email] });
    const [good1, stars] = [
      await template(queue.id, 'Good?', liked),
      await template(queue.id, 'Stars', { annotation_type: 'star' }),
    ];
    expect((await search('traces')).records[0]).toMatchObject({
      annotation_queue_ids: [],
      fully_annotated: null,
      annotations: {},
    });
    await enqueue(queue.id, project.id, streamId, ids);
    for (const [record, answers] of [
      [agreed, [true, true]],
      [split, [true, false]],
    ] as const)
      for (const [index, { call }] of [ada, ben].entries())
        await good(rate(call, queue.id, record, good1, like(answers[index] as boolean)));
    await good(rate(ada.call, queue.id, agreed, stars, { annotation_type: 'star', value: 4 }));
    await good(rate(ben.call, queue.id, agreed, stars, { annotation_type: 'star', value: 2 }));
    await good(rate(ada.call, queue.id, split, stars, { annotation_type: 'star', value: 1 }));

    const records = new Map((await search('traces')).records.map((record: Body) => [record.name, record])) as Map<string, Body>;
    expect(records.get('agreed')).toMatchObject({
      annotation_queue_ids: [queue.id],
      annotations: { [good1]: { [ada.id]: { annotation_type: 'like_dislike', value: true, explanation: null } } },
      annotation_aggregates: {
        [good1]: { aggregate: { like_count: 2, dislike_count: 0, unrated_count: 0 } },
        [stars]: { aggregate: { average: 3, counts: { 2: 1, 4: 1 }, unrated_count: 0 } },
      },
      annotation_agreement: { [good1]: 1, [stars]: 0.5 },
      overall_annotation_agreement: 0.75,
      fully_annotated: true,
    });
    expect(records.get('split')).toMatchObject({ annotation_agreement: { [good1]: 0 }, fully_annotated: true });
    expect(records.get('split').annotation_aggregates[stars].aggregate.unrated_count).toBe(1);
    expect(records.get('silent')).toMatchObject({
      annotation_aggregates: {},
      overall_annotation_agreement: null,
      fully_annotated: false,
    });

    const shown = records.get('agreed');
    const same = { annotations: shown.annotations, annotation_agreement: shown.annotation_agreement, fully_annotated: true };
    expect(await get(`/projects/${project.id}/traces/${agreed}`)).toMatchObject(same);
    expect(await get(`/annotation_queues/${queue.id}/records/${agreed}`)).toMatchObject({ ...same, type: 'trace', num_spans: 1 });
    const inQueue = await partialSearch(queue.id, { limit: 3 });
    expect(inQueue.records.find((record: Body) => record.id === agreed)).toMatchObject(same);
    for (const route of [`/projects/${project.id}/export_records`, `/annotation_queues/${queue.id}/records/export`]) {
      for (const export_format of ['jsonl', 'jsonl_flat']) {
        const selector = { type: 'record_ids', record_ids: [agreed] };
        const idIs = [{ type: 'id', column_id: 'id', operator: 'eq', value: agreed }];
        const body = { log_stream_id: streamId, root_type: 'trace', filters: idIs, record_selector: selector, export_format };
        const text = await exported(route, body);
        expect(text, route).toContain(export_format === 'jsonl' ? `"${ada.id}":{"annotation_type":"like_dislike"` : agreed);
        if (export_format === 'jsonl_flat') expect(text, route).toContain(`"annotation_aggregates/${good1}":`);
      }
    }

    const columns = async (path: string, body: object = {}) => (await post(path, body)).columns;
    const wanted = expect.arrayContaining([
      expect.objectContaining({
        id: `annotation_aggregates/${good1}`,
        category: 'feedback',
        data_type: 'thumb_rating_aggregate',
      }),
      expect.objectContaining({ id: `annotation_agreement/${stars}`, data_type: 'annotation_agreement' }),
      expect.objectContaining({ id: 'fully_annotated', filter_type: 'fully_annotated', filterable: true }),
    ]);
    const ofRun = { log_stream_id: streamId };
    expect(await columns(`/projects/${project.id}/traces/available_columns`, ofRun)).toEqual(wanted);
    const listed = await columns(`/annotation_queues/${queue.id}/records/available_columns`);
    expect(listed).toEqual(wanted);
    const column_ids = listed.map(({ id }: { id: string }) => id);
    expect((await partialSearch(queue.id, { select_columns: { column_ids } })).num_rows).toBe(3);
    const csv = { record_selector: { type: 'record_ids', record_ids: [agreed] }, export_format: 'csv', column_ids };
    expect((await exported(`/annotation_queues/${queue.id}/records/export`, csv)).split('\r\n')).toHaveLength(3);
    const filter = { type: 'number', column_id: 'nosuch', operator: 'gte', value: 1 };
    const unknown = { record_selector: { type: 'filter_tree', filter_tree: { filter } }, export_format: 'csv' };
    const refused = await asAdministrator('POST', `/annotation_queues/${queue.id}/records/export`, unknown);
    const loc = ['body', 'record_selector', 'filter_tree', 'filter', 'column_id'];
    expect(refused).toMatchObject({ status: 422, body: { detail: [{ loc, msg: expect.stringContaining('nosuch') }] } });

    const details = await get(`/annotation_queues/${queue.id}/details`);
    expect(details).toMatchObject({
      num_logs_fully_annotated: 2,
      annotation_aggregates: {
        [good1]: { aggregate: { like_count: 3, dislike_count: 1, tie_count: 1, unrated_count: 1 } },
        [stars]: { aggregate: { unrated_count: 1 } },
      },
      annotation_aggregates_by_annotator: { [ben.id]: { [good1]: { aggregate: { like_count: 1, dislike_count: 1 } } } },
      overall_annotation_agreement: { average_agreement: 0.375 },
    });
    const progress = await get(`/annotation_queues/${queue.id}`);
    expect(progress.num_logs_annotated).toMatchObject({ [ada.id]: 2, [ben.id]: 1 });
    expect(progress.progress[ben.id]).toBeCloseTo(1 / 3);
    expect(progress.overall_progress).toBeCloseTo(2 / 3);
  });

  test('an experiment shows what people say of its sessions, traces and spans, at once and wherever it is read', async () => {
    const project = await service.project();
    const path = `/projects/${project.id}/experiments`;
    const [mine, other] = [await post(path, { name: 'rated' }), await post(path, { name: 'not rated' })];
    const sessionId = (await post(`/projects/${project.id}/sessions`, { experiment_id: mine.id, name: 's' })).id;
    const traces = ['a', 'b', 'c'].map((name) => ({
      id: newId(),
      ...{ name, input: 'i', output: 'o' },
      spans: [{ type: 'tool', id: newId(), name: 't', input: 'i', output: 'o' }],
    }));
    const [a, b, c] = traces.map(({ id }) => id) as [string, string, string];
    await post(`/projects/${project.id}/traces`, { experiment_id: mine.id, session_id: sessionId, traces });
    const span = traces[0]?.spans[0]?.id as string;
    expect((await get(`${path}/${mine.id}`)).rating_aggregates).toEqual({});

    const [ada, ben] = [await person(), await person()];
    const [queue, second] = [await newQueue({ annotator_emails: [ada.email, ben.email] }), await newQueue()];
    const [good1, score] = [
      await template(queue.id, 'Good?', liked),
      await template(queue.id, 'Score', { annotation_type: 'score', min: 0, max: 10 }),
    ];
    const stars = await template(second.id, 'Stars', { annotation_type: 'star' });
    const tags = await template(queue.id, 'Tags', { annotation_type: 'tags', tags: ['x', 'y'], allow_other: false });
    const text = await template(queue.id, 'Why?', { annotation_type: 'text' });
    await enqueue(queue.id, project.id, mine.id, [a, b, c, span, sessionId]);
    await enqueue(second.id, project.id, mine.id, [a]);
    for (const [record, ofAda, ofBen] of [
      [a, true, false],
      [b, true, true],
    ] as const) {
      await good(rate(ada.call, queue.id, record, good1, like(ofAda)));
      await good(rate(ben.call, queue.id, record, good1, like(ofBen)));
    }
    await good(rate(ada.call, queue.id, span, good1, like(false)));
    await good(rate(ada.call, queue.id, sessionId, score, { annotation_type: 'score', value: 8 }));
    await good(rate(ben.call, queue.id, sessionId, score, { annotation_type: 'score', value: 3 }));
    await good(rate(asAdministrator, second.id, a, stars, { annotation_type: 'star', value: 5 }));

    for (const [call, record, value] of [
      [ada.call, a, ['x', 'y']],
      [ben.call, a, ['x']],
      [ada.call, b, ['x']],
    ] as const) {
      await good(rate(call, queue.id, record, tags, { annotation_type: 'tags', value }));
      await good(rate(call, queue.id, record, text, { annotation_type: 'text', value: `${record} ${value}` }));
    }

    const expected = {
      [tags]: { trace: { aggregate: { feedback_type: 'tags', counts: { x: 3, y: 1 }, unrated_count: 1 } } },
      [text]: { trace: { aggregate: { feedback_type: 'text', count: 3, unrated_count: 1 } } },
      [good1]: {
        trace: { aggregate: { feedback_type: 'like_dislike', like_count: 3, dislike_count: 1, unrated_count: 1 } },
        span: { aggregate: { feedback_type: 'like_dislike', like_count: 0, dislike_count: 1, unrated_count: 0 } },
      },
      [score]: { session: { aggregate: { feedback_type: 'score', average: 5.5, unrated_count: 0 } } },
      [stars]: { trace: { aggregate: { feedback_type: 'star', average: 5, counts: { 5: 1 }, unrated_count: 0 } } },
    };
    expect((await get(`${path}/${mine.id}`)).rating_aggregates).toEqual(expected);
    const filters = [{ name: 'name', operator: 'contains', value: 'rated' }];
    for (const listed of [
      await get(path),
      (await get(`${path}/paginated`)).experiments,
      (await post(`${path}/search`, { filters })).experiments,
    ])
      expect(Object.fromEntries(listed.map((one: Body) => [one.id, one.rating_aggregates]))).toEqual({
        [mine.id]: expected,
        [other.id]: {},
      });

    await good(ada.call('DELETE', ratingPath(queue.id, span, good1)));
    await post(`/projects/${project.id}/traces/delete`, {
      experiment_id: mine.id,
      filters: [{ type: 'id', column_id: 'id', operator: 'eq', value: b }],
    });
    expect((await get(`${path}/${mine.id}`)).rating_aggregates[good1]).toEqual({
      trace: { aggregate: { feedback_type: 'like_dislike', like_count: 1, dislike_count: 1, unrated_count: 1 } },
    });
  });

  test('a project without a queue has no annotation columns', async () => {
    const { project, streamId } = await logged('a');
    const { columns } = await post(`/projects/${project.id}/traces/available_columns`, { log_stream_id: streamId });
    expect(columns.filter(({ category }: Body) => category === 'feedback')).toEqual([]);
  });
});

async function exported(path: string, body: object): Promise<string> {
  const response = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { 'Service-API-Key': service.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return response.text();
}

describe('fully annotated', () => {
  test('finds what every template has a rating of, of anybody or of each of some users', async () => {
    const { project, streamId, ids, search } = await logged('both', 'one', 'none', 'apart');
    const [both, one, none] = ids as [string, string, string, string];
    const [ada, ben] = [await person(), await person()];
    const queue = await newQueue({ annotator_emails: [ada.email, ben.email] });
    const found = async (leaf: object) => namesOf(await search('traces', [leaf])).sort();
    expect(await found(fullyAnnotated())).toEqual([]);
    await enqueue(queue.id, project.id, streamId, [both, one, none]);
    expect(await found(fullyAnnotated())).toEqual([]);
    const questions = [await template(queue.id, '1', liked), await template(queue.id, '2', liked)];
    for (const question of questions) {
      await good(rate(ada.call, queue.id, both, question, like(true)));
      await good(rate(ben.call, queue.id, both, question, like(true)));
    }
    await good(rate(ada.call, queue.id, one, questions[0] as string, like(true)));
    await good(rate(ben.call, queue.id, one, questions[1] as string, like(true)));
    expect(await found(fullyAnnotated())).toEqual(['both', 'one']);
    expect(await found(fullyAnnotated([ada.id]))).toEqual(['both']);
    expect(await found(fullyAnnotated([ada.id, ben.id, ada.id]))).toEqual(['both']);
    expect(await found(fullyAnnotated([newId()]))).toEqual([]);
    expect(await found({ not: { filter: fullyAnnotated() } })).toEqual(['apart', 'none']);
    const tree = { and: [{ filter: fullyAnnotated() }, { not: { filter: fullyAnnotated([ada.id, ben.id]) } }] };
    expect(namesOf(await partialSearch(queue.id, { filter_tree: tree }))).toEqual(['one']);
    expect(await post(`/annotation_queues/${queue.id}/records/count`, { filter_tree: tree })).toEqual({ total_count: 1 });

    // Every queue of the record counts.
    const second = await newQueue();
    await enqueue(second.id, project.id, streamId, [both]);
    expect(await found(fullyAnnotated())).toEqual(['both', 'one']);
    await template(second.id, '3', liked);
    expect(await found(fullyAnnotated())).toEqual(['one']);
    expect((await search('traces')).records.find((record: Body) => record.name === 'both').annotation_queue_ids.sort()).toEqual(
      [queue.id, second.id].sort(),
    );
  });
});

describe('a queue over several runs', () => {
  test('is searched, sorted, paged and counted as one', async () => {
    const project = await service.project();
    const [first, second] = [await stream(project.id, ['a', 'c', 'e']), await stream(project.id, ['b', 'd', 'f'])];
    const elsewhere = await logged('g');
    const queue = await newQueue();
    await enqueue(queue.id, project.id, first.streamId, first.ids);
    await enqueue(queue.id, project.id, second.streamId, second.ids);
    await enqueue(queue.id, elsewhere.project.id, elsewhere.streamId, elsewhere.ids);
    const all = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const sorted = async (column_id: string, ascending: boolean, rest: object = {}) =>
      await partialSearch(queue.id, { sort: { column_id, ascending }, ...rest });
    expect(namesOf(await sorted('name', true))).toEqual(all);
    expect(namesOf(await sorted('name', false))).toEqual([...all].reverse());
    expect(
      namesOf(await sorted('metrics/quality', false))
        .slice(0, 2)
        .sort(),
    ).toEqual(['e', 'f']);
    expect(new Set(namesOf(await partialSearch(queue.id)).slice(0, 2))).toEqual(new Set(['e', 'f'])); // newest first

    const paged: string[] = [];
    for (let token: number | null = 0; token !== null; ) {
      const page: Body = await sorted('name', true, { limit: 2, starting_token: token });
      expect(page.num_rows).toBe(7);
      paged.push(...namesOf(page));
      token = page.next_starting_token;
    }
    expect(paged).toEqual(all);
    const behind = await sorted('name', true, { limit: 2, previous_last_row_id: first.ids[1] });
    expect(namesOf(behind)).toEqual(['d', 'e']);
    expect(behind).toMatchObject({ starting_token: 3, paginated: true, next_starting_token: 5 });
    const last = await sorted('name', true, { limit: 2, previous_last_row_id: first.ids[2] });
    expect([namesOf(last), last.paginated, last.next_starting_token]).toEqual([['f', 'g'], false, null]);
    const some = { filter: { type: 'text', name: 'name', operator: 'one_of', value: ['a', 'b', 'g'] } };
    expect(await post(`/annotation_queues/${queue.id}/records/count`, { filter_tree: some })).toEqual({ total_count: 3 });
    const scored = { filter: { type: 'number', name: 'metrics/quality', operator: 'gte', value: 0.2 } };
    expect(namesOf(await partialSearch(queue.id, { filter_tree: scored })).sort()).toEqual(['e', 'f']);
    const csv = await exported(`/annotation_queues/${queue.id}/records/export`, {
      record_selector: { type: 'filter_tree', filter_tree: { and: [] } },
      export_format: 'csv',
      column_ids: ['name'],
    });
    expect(csv.split('\r\n').slice(1).sort()).toEqual(['', ...all]);
  });
});

describe('what is deleted', () => {
  test('leaves its queues with its ratings: records, runs and projects', async () => {
    const { project, streamId, ids, search } = await logged('a', 'b');
    const other = await stream(project.id, ['c']);
    const last = await logged('d');
    const queue = await newQueue();
    const question = await template(queue.id, 'Good?', liked);
    await enqueue(queue.id, project.id, streamId, ids);
    await enqueue(queue.id, project.id, other.streamId, other.ids);
    await enqueue(queue.id, last.project.id, last.streamId, last.ids);
    for (const id of [...ids, ...other.ids, ...last.ids]) await good(rate(asAdministrator, queue.id, id, question, like(true)));
    const counts = async () => {
      const { num_log_records: records, templates } = await get(`/annotation_queues/${queue.id}`);
      return [records, templates[0].usage_count];
    };
    expect(await counts()).toEqual([4, 4]);
    const [a] = ids as [string, string];
    const idIs = [{ type: 'id', column_id: 'id', operator: 'eq', value: a }];
    await post(`/projects/${project.id}/traces/delete`, { log_stream_id: streamId, filters: idIs });
    expect(await counts()).toEqual([3, 3]);
    await post(`/projects/${project.id}/traces`, { log_stream_id: streamId, traces: [{ id: a, input: 'again' }] });
    const again = (await search('traces', idIs)).records;
    expect(again).toMatchObject([{ id: a, annotation_queue_ids: [], annotations: {}, fully_annotated: null }]);
    expect((await asAdministrator('DELETE', `/projects/${project.id}/log_streams/${other.streamId}`)).status).toBeLessThan(300);
    expect(await counts()).toEqual([2, 2]);
    expect((await asAdministrator('DELETE', `/projects/${project.id}`)).status).toBeLessThan(300);
    expect(await counts()).toEqual([1, 1]);
    expect(namesOf(await partialSearch(queue.id))).toEqual(['d']);
  });

  test('records taken out of a queue lose its ratings and stay', async () => {
    const { project, streamId, ids, search } = await logged('a');
    const queue = await newQueue();
    const question = await template(queue.id, 'Good?', liked);
    await enqueue(queue.id, project.id, streamId, ids);
    await good(rate(asAdministrator, queue.id, ids[0] as string, question, like(true)));
    await post(`/annotation_queues/${queue.id}/records/remove`, { record_selector: { type: 'record_ids', record_ids: ids } });
    expect((await search('traces')).records).toMatchObject([{ annotations: {}, annotation_queue_ids: [] }]);
    expect((await get(`/annotation_queues/${queue.id}/templates`))[0].usage_count).toBe(0);
  });
});

test('pages of a project without queued records ask for no annotations, others once a page', async () => {
  const asked: string[] = [];
  let queued = false;
  const reads = createAnnotationReads(
    {
      hasQueuedRecords: async () => {
        asked.push('queued?');
        return queued;
      },
      annotationsOf: async () => {
        asked.push('annotations');
        return { members: [], templates: [], annotators: [], ratings: [] };
      },
      fullyAnnotated: async () => [],
      templatesOfRun: async () => [],
      ratedTemplates: async () => {
        asked.push('ratings');
        return [];
      },
      queuedRecordsOf: async () => [],
      ratingCounts: async () => [],
    },
    async () => () => undefined,
  );
  const run = { projectId: newId(), runId: newId() };
  for (let page = 0; page < 5; page++) await reads.annotations(run, [newId(), newId()]);
  expect(await reads.ratingsOfRuns(run.projectId, [run.runId])).toEqual(new Map());
  expect(asked).toEqual(['queued?']);
  queued = true;
  reads.forget();
  for (let page = 0; page < 3; page++) await reads.annotations(run, [newId(), newId()]);
  expect(asked).toEqual(['queued?', 'queued?', 'annotations', 'annotations', 'annotations']);
});

test('the ratings of a large queue are summed up some records at a time', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'assay-ratings-'));
  const database = await openSeededDatabase(join(directory, 'postgres'));
  onTestFinished(async () => {
    await database.close();
    await rm(directory, { recursive: true });
  });
  const [user, project, queue, asked, ...runs] = Array.from({ length: 6 }, newId) as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  await database.exec(`
    INSERT INTO users (id, email, role) VALUES ('${user}', 'a@example.com', 'admin');
    INSERT INTO projects (id, name, type, created_by) VALUES ('${project}', 'p', 'gen_ai', '${user}');
    INSERT INTO runs (id, project_id, kind, name, created_by)
      SELECT id, '${project}', 'experiment', id, '${user}' FROM unnest('{${runs}}'::uuid[]) id;
    INSERT INTO annotation_queues (id, name, created_by) VALUES ('${queue}', 'q', '${user}');
    INSERT INTO annotation_templates (id, queue_id, name, include_explanation, constraints, position, created_by)
      VALUES ('${asked}', '${queue}', 't', false, '{"annotation_type": "like_dislike"}', 0, '${user}');
    INSERT INTO annotation_queue_records (queue_id, record_id, project_id, run_id, added_by)
      SELECT '${queue}', gen_random_uuid(), '${project}', run, '${user}' FROM unnest('{${runs}}'::uuid[]) run, generate_series(1, 10500);
    INSERT INTO annotation_ratings (template_id, record_id, user_id, queue_id, value)
      SELECT '${asked}', record_id, '${user}', queue_id, 'true' FROM annotation_queue_records ORDER BY run_id, record_id OFFSET 500;`);
  const pages: number[] = [];
  const reads = createAnnotationReads(postgresAnnotations(database), async (_, __, recordIds) => {
    pages.push(recordIds.length);
    return () => 'trace';
  });
  const sums = (like_count: number, unrated_count: number) => ({
    [asked]: { trace: { aggregate: { feedback_type: 'like_dislike', like_count, dislike_count: 0, unrated_count } } },
  });
  const [first, second] = [...runs].sort() as [string, string];
  expect(Object.fromEntries(await reads.ratingsOfRuns(project, runs))).toEqual({
    [first]: sums(10_000, 500),
    [second]: sums(10_500, 0),
  });
  expect(pages).toEqual([10_000, 10_000, 1_000]);
});

test('the client library makes a queue, finds it and fills it', async () => {
  const { project, streamId, ids } = await logged('a', 'b');
  const { client } = service;
  const templates = [{ name: 'Good?', constraints: { annotation_type: 'like_dislike' as const } }];
  const queue = await createAnnotationQueue({ client, name: 'made by the client', templates });
  expect(queue.templates).toMatchObject([{ name: 'Good?', position: 0 }]);
  const fill = { client, queueId: queue.id, projectId: project.id, runId: streamId };
  expect(await addToAnnotationQueue({ ...fill, recordIds: ids.slice(0, 1) })).toBe(1);
  expect(await addToAnnotationQueue({ ...fill, recordIds: ids })).toBe(1);
  expect(await getAnnotationQueue({ client, name: queue.name })).toMatchObject({ id: queue.id, num_log_records: 2 });
  expect(await getAnnotationQueue({ client, id: queue.id })).toMatchObject({ name: queue.name });
  expect(await getAnnotationQueue({ client, id: newId() })).toBeUndefined();
  expect(await getAnnotationQueue({ client, name: 'there is none' })).toBeUndefined();
  await expect(createAnnotationQueue({ client, name: '' })).rejects.toThrow('needs a name');
});

test('a queue shows no record that has expired', async () => {
  const project = await service.project();
  const { id: streamId } = await post(`/projects/${project.id}/log_streams`, { name: 's' });
  const [old, fresh] = [newId(), newId()];
  const traces = [
    { id: old, name: 'old', input: 'i', created_at: new Date(Date.now() - 3 * 86_400_000).toISOString() },
    { id: fresh, name: 'fresh', input: 'i' },
  ];
  await post(`/projects/${project.id}/traces`, { log_stream_id: streamId, traces });
  const queue = await newQueue();
  await enqueue(queue.id, project.id, streamId, [old, fresh]);
  expect(namesOf(await partialSearch(queue.id))).toEqual(['fresh', 'old']);
  await good(asAdministrator('PUT', `/projects/${project.id}/retention`, { retention_days: 1 }));
  expect(namesOf(await partialSearch(queue.id))).toEqual(['fresh']);
  expect((await asAdministrator('GET', `/annotation_queues/${queue.id}/records/${old}`)).status).toBe(404);
});

test('a link to an export is read without credentials, while its maker sees the queue', async () => {
  const { project, streamId, ids } = await logged('a');
  const ada = await person();
  const queue = await newQueue();
  const users = `/annotation_queues/${queue.id}/users`;
  await post(users, [{ user_id: ada.id, role: 'viewer' }]);
  await enqueue(queue.id, project.id, streamId, ids);
  const body = { record_selector: { type: 'record_ids', record_ids: ids }, export_format: 'csv', column_ids: ['id', 'name'] };
  const link = await good(ada.call('POST', `/annotation_queues/${queue.id}/records/export/url`, body));
  expect(link).toMatchObject({ file_name: 'annotations.csv', content_type: expect.stringContaining('text/csv') });
  expect(Date.parse(link.url_expires_at)).toBeGreaterThan(Date.now() + 3_000_000);
  const read = await fetch(link.url);
  expect([read.status, await read.text()]).toEqual([200, `id,name\r\n${ids[0]},a\r\n`]);
  expect((await fetch(link.url.replace(/[^/]+$/, newId()))).status).toBe(404);
  await good(asAdministrator('DELETE', `${users}/${ada.id}`));
  expect((await fetch(link.url)).status).toBe(404);
});

test('an export has what annotators answered, one column for each template', async () => {
  const { project, streamId, ids } = await logged('one', 'two', 'none');
  const [one, two] = ids as [string, string];
  const queue = await newQueue();
  await enqueue(queue.id, project.id, streamId, ids);
  const ada = await person();
  await post(`/annotation_queues/${queue.id}/users`, [{ user_id: ada.id, role: 'annotator' }]);
  const answers = [
    ['Notes', { annotation_type: 'text' }, 'She said "no", twice;\nthen yes — 日本語'],
    ['Liked', { annotation_type: 'like_dislike' }, false],
    ['Stars', { annotation_type: 'star' }, 4],
    ['Score', { annotation_type: 'score', min: 0, max: 10 }, 0],
    ['Tags/of it', { annotation_type: 'tags', tags: ['a', 'b'] }, ['b', 'a']],
    ['Choice', { annotation_type: 'choice', choices: ['x', 'y'] }, 'y'],
  ] as const;
  const templates: string[] = [];
  for (const [name, constraints, value] of answers) {
    const id = await template(queue.id, name, constraints);
    templates.push(id);
    const { annotation_type } = constraints;
    await good(rate(asAdministrator, queue.id, one, id, { annotation_type, value }));
  }
  const notes = templates[0] as string;
  await good(rate(asAdministrator, queue.id, two, notes, { annotation_type: 'text', value: 'mine' }));
  await good(rate(ada.call, queue.id, two, notes, { annotation_type: 'text', value: 'hers' }));

  const inQueue = { record_selector: { type: 'filter_tree', filter_tree: { and: [] } } };
  const ofRun = { log_stream_id: streamId, root_type: 'trace' };
  const shown = answers.map(([, , value]) => (Array.isArray(value) ? '["b","a"]' : String(value)));
  for (const [path, asked] of [
    [`/annotation_queues/${queue.id}/records/export`, inQueue],
    [`/projects/${project.id}/export_records`, ofRun],
  ] as const) {
    const table = async (more: object) =>
      parse(await exported(path, { ...asked, export_format: 'csv', ...more }), { columns: true }) as Record<string, string>[];
    const rows = await table({});
    const row = (id: string) => rows.find((each) => each.id === id) as Record<string, string>;
    expect(templates.map((id) => row(one)[`feedback/${id}`])).toEqual(shown);
    expect(row(one)).toHaveProperty([`annotation_aggregates/${notes}`]);
    expect([...(JSON.parse(row(two)[`feedback/${notes}`] as string) as string[])].sort()).toEqual(['hers', 'mine']);
    expect(row(two)[`feedback/${templates[1]}`]).toBe('');
    expect(row(ids[2] as string)?.[`feedback/${notes}`]).toBe('');

    const column_ids = ['id', 'feedback/Notes', `feedback/${notes}`, 'feedback/Tags/of it'];
    const named = await table({ column_ids });
    expect(Object.keys(named[0] as object)).toEqual(column_ids);
    expect(Object.values(named.find(({ id }) => id === one) as object)).toEqual([one, shown[0], shown[0], shown[4]]);
    const wrong = await asAdministrator('POST', path, { ...asked, export_format: 'csv', column_ids: ['feedback/Note'] });
    expect(wrong).toMatchObject({ status: 422, body: { detail: [{ msg: expect.stringContaining('Notes') }] } });
    const lines = (await exported(path, { ...asked, export_format: 'jsonl_flat' })).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line)).find(({ id }) => id === one)).toMatchObject({
      [`feedback/${notes}`]: shown[0],
      [`feedback/${templates[1]}`]: false,
      [`feedback/${templates[2]}`]: 4,
    });
  }
  const parquet = await fetch(`${service.url}/v2/projects/${project.id}/export_records`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'Service-API-Key': service.apiKey },
    body: JSON.stringify({ ...ofRun, export_format: 'parquet', column_ids: ['id', ...templates.map((id) => `feedback/${id}`)] }),
  });
  const { rows } = await readParquet(Buffer.from(await parquet.arrayBuffer()));
  expect(rows.find(([id]) => id === one)).toEqual([one, ...shown]);

  const twin = await newQueue();
  await enqueue(twin.id, project.id, streamId, [one]);
  const other = await template(twin.id, 'Notes', { annotation_type: 'text' });
  const both = await asAdministrator('POST', `/projects/${project.id}/export_records`, {
    ...{ ...ofRun, export_format: 'csv', column_ids: ['feedback/Notes'] },
  });
  expect(both).toMatchObject({ status: 422, body: { detail: [{ msg: expect.stringContaining(other) }] } });
});
