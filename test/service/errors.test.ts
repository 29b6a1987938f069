import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createApp } from '../../api/app.ts';
import { type Endpoint, endpoint, type Gate, Reply } from '../../api/http/route.ts';
import { ServiceClient } from '../../client/http.ts';
import { type ErrorName, errorCodes, ServiceError } from '../../shared/errors/errors.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { KeptValues, mendFields } from '../../shared/recordSchemas/mendFields.ts';
import { mapOf } from '../../shared/wire/mapOf.ts';
import { type HttpService, serve } from '../support/http.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

const names = Object.keys(errorCodes) as ErrorName[];

describe('an error of the table', () => {
  let http: HttpService;
  beforeAll(async () => {
    const failing = (code: ErrorName): Endpoint =>
      endpoint({
        ...{ method: 'post', path: `/fail/${code}`, summary: code, tag: 'Errors', access: 'public', errors: [code] },
        handle: () => Promise.reject(new ServiceError(code, `this is ${code}`, { context: { hint: 7 } })),
      });
    const endpoints = names.map(failing);
    const gate = {} as Gate; // no route asks it
    http = await serve(
      createApp({ endpoints, gate, log: pino({ level: 'silent' }), apiKeyHeaders: ['Key'], checkReplies: true }),
    );
  });
  afterAll(() => http.close());

  test.each(names)('%s has the body of its status, and the client reads its message and its code', async (code) => {
    const { status, errorCode } = errorCodes[code];
    const answer = await http.request('POST', `/fail/${code}`, { json: {} });
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({
      error_code: errorCode,
      standard_error: { error_code: errorCode, message: `this is ${code}`, http_status_code: status, context: { hint: 7 } },
    });
    if (status !== 422) expect(answer.body.detail).toBe(`this is ${code}`);
    else
      expect(answer.body.detail).toEqual([
        {
          loc: expect.arrayContaining([expect.stringMatching(/^(body|query|path|header)$/)]),
          msg: `this is ${code}`,
          type: expect.stringMatching(/^[a-z_]+$/),
          ctx: { hint: 7, error_code: errorCode },
        },
      ]);
    const client = new ServiceClient({ apiUrl: http.url, apiKey: 'x', retries: 0 });
    const message = expect.stringContaining(`this is ${code}`);
    await expect(client.send(`/fail/${code}`, { body: {} })).rejects.toMatchObject({ status, errorCode, message });
  });
});

test('a route that answers what it does not declare fails its tests', async () => {
  const route = { method: 'get', summary: 'x', tag: 'Errors', access: 'public' } as const;
  async function* parts() {
    yield 'a';
  }
  const csv = () => new Reply({ stream: parts(), headers: { 'Content-Type': 'text/csv; charset=utf-8' } });
  const endpoints = [
    endpoint({ ...route, path: '/undeclared', handle: () => Promise.reject(new ServiceError('Conflict', 'taken')) }),
    endpoint({ ...route, path: '/json', handle: async () => csv() }),
    endpoint({ ...route, path: '/csv', produces: ['text/csv'], handle: async () => csv() }),
  ];
  const app = (checkReplies: boolean) =>
    createApp({ endpoints, gate: {} as Gate, log: pino({ level: 'silent' }), apiKeyHeaders: ['Key'], checkReplies });
  const statuses = async (checkReplies: boolean) => {
    const http = await serve(app(checkReplies));
    const answers = await Promise.all(endpoints.map(({ path }) => http.request('GET', path)));
    await http.close();
    return answers.map(({ status }) => status);
  };
  expect(await statuses(true)).toEqual([500, 500, 200]);
  expect(await statuses(false)).toEqual([409, 200, 200]);
});

describe('a request with many problems', () => {
  let http: HttpService;
  let looks = 0;
  const bad = z.custom<string>(() => {
    looks += 1;
    return false;
  }, 'not this');
  const route = { method: 'post', summary: 'x', tag: 'x', access: 'signedIn', handle: async () => null } as const;
  const gate = { authenticate: async () => ({ userId: 'a' }), authorize: async () => undefined } as unknown as Gate;
  beforeAll(async () => {
    const endpoints = [
      endpoint({ ...route, path: '/list', body: z.object({ list: z.array(bad) }) }),
      endpoint({ ...route, path: '/record', body: z.object({ record: mapOf(z.string(), bad) }) }),
      endpoint({
        ...route,
        path: '/union',
        body: z.object({ list: z.array(z.union([bad, z.object({ inner: z.array(bad) })])) }),
      }),
      endpoint({ ...route, path: '/keys', body: z.strictObject({ known: z.string().optional() }) }),
    ];
    http = await serve(
      createApp({ endpoints, gate, log: pino({ level: 'silent' }), apiKeyHeaders: ['Key'], checkReplies: true }),
    );
  });
  afterAll(() => http.close());
  beforeEach(() => {
    looks = 0;
  });
  const post = async (path: string, json: object) => {
    const { status, body } = await http.request('POST', path, { json });
    expect(status).toBe(422);
    return body.detail as { loc: (string | number)[]; msg: string; type: string; ctx?: object }[];
  };
  const entries = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`key ${index}`, 1]));
  const notThis = (index: number) => ({ loc: ['body', 'list', index], msg: 'not this', type: 'custom' });

  test('lists all of a hundred', async () => {
    expect(await post('/list', { list: Array(100).fill(1) })).toEqual(Array.from({ length: 100 }, (_, index) => notThis(index)));
  });

  test.each([
    ['list', { list: Array(101).fill(1) }, '1 more problem'],
    ['list', { list: Array(9_000).fill(1) }, '8900 more problems'],
    ['record', { record: entries(1_000) }, '900 more problems'],
    ['keys', entries(9_000), '8900 more problems'],
  ])('lists a hundred of a %s and counts the others', async (path, body, more) => {
    const detail = await post(`/${path}`, body);
    expect(detail).toHaveLength(101);
    expect(detail.at(-1)).toEqual({
      loc: ['body'],
      msg: `and ${more}`,
      type: 'more_problems',
      ctx: { count: Number.parseInt(more, 10) },
    });
  });

  test.each([
    ['list', { list: Array(200_000).fill(1) }, 1],
    ['record', { record: entries(100_000) }, 2],
    ['union', { list: Array(20_000).fill({ inner: Array(10).fill(1) }) }, 2],
  ])('is left at the first where it is large: a %s', async (path, body, expected) => {
    const detail = await post(`/${path}`, body);
    expect(detail).toHaveLength(2);
    expect(detail.at(-1)).toMatchObject({ loc: ['body'], type: 'more_problems' });
    expect(looks).toBe(expected);
  });

  test('names a hundred of many unknown keys', async () => {
    const detail = await post('/keys', entries(100_000));
    expect(detail).toHaveLength(101);
    expect(detail[0]).toMatchObject({ loc: ['body', 'key 0'], type: 'unknown_key' });
    expect(detail.at(-1)).toMatchObject({ type: 'more_problems' });
  });

  test('does not repeat a long key with each', async () => {
    const key = 'k'.repeat(1_000_000);
    for (const [path, body] of [
      ['/record', { record: { [key]: 1, [`${key}2`]: 1 } }],
      ['/keys', { [key]: 1 }],
    ] as const)
      expect(JSON.stringify(await post(path, body)).length).toBeLessThan(2_000);
  });

  test('a logged record is mended without a look at what comes after its first problem in a field', () => {
    const schema = z.object({ type: z.string(), input: z.array(bad).nullish(), name: z.string().nullish() });
    const fields: Record<string, unknown> = { type: 'llm', input: Array(100_000).fill({}), name: 'n', other: 1 };
    mendFields(fields, schema, 'llm', new KeptValues());
    expect([fields, looks]).toEqual([{ type: 'llm', input: undefined, name: 'n', other: 1 }, 2]);
  });
});

describe('a request that is refused says where', () => {
  let service: TestService;
  let project: TestProject;
  let stream: string;
  beforeAll(async () => {
    service = await sharedTestService();
    project = await service.project();
    stream = ((await service.request('POST', `/projects/${project.id}/log_streams`, { name: 's' })).body as { id: string }).id;
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const refused = async (path: string, body: object) => {
    const answer = await service.request('POST', `/projects/${project.id}/${path}`, { log_stream_id: stream, ...body });
    return { status: answer.status, detail: (answer.body as { detail: object[] }).detail };
  };
  const unknown = { type: 'text', operator: 'eq', value: 'colour' };

  test.each([
    ['traces/search', { filters: [{ ...unknown, column_id: 'colour' }] }, 'column_unknown', ['filters', 0, 'column_id']],
    ['traces/count', { filters: [{ ...unknown, name: 'colour' }] }, 'column_unknown', ['filters', 0, 'name']],
    [
      'spans/search',
      { filter_tree: { and: [{ not: { filter: { ...unknown, column_id: 'metrics/colour' } } }] } },
      ...['column_unknown', ['filter_tree', 'and', 0, 'not', 'filter', 'column_id']],
    ],
    ['traces/delete', { filters: [{ ...unknown, column_id: 'colour' }] }, 'column_unknown', ['filters', 0, 'column_id']],
    ['traces/search', { sort: { column_id: 'colour' } }, 'column_unknown', ['sort', 'column_id']],
    [
      'traces/search',
      { filters: [{ type: 'collection', operator: 'contains', value: 'tags', column_id: 'tags' }], sort: { column_id: 'tags' } },
      ...['column_not_sortable', ['sort', 'column_id']],
    ],
    [
      'traces/search',
      { filters: [{ ...unknown, column_id: 'created_at' }] },
      'column_not_filterable',
      ['filters', 0, 'column_id'],
    ],
    [
      'traces/partial_search',
      { select_columns: { column_ids: ['input', 'colour'] } },
      ...['column_unknown', ['select_columns', 'column_ids', 1]],
    ],
    [
      'metrics/custom_search',
      {
        ...{ start_time: '2026-01-01T00:00:00Z', end_time: '2026-01-02T00:00:00Z' },
        metric_details: [{ id: 'a', metric_name: 'colour', aggregation: 'Sum' }],
      },
      ...['column_unknown', ['metric_details', 0, 'metric_name']],
    ],
    ['export_records', { root_type: 'trace', column_ids: ['colour'], export_format: 'csv' }, 'column_unknown', ['column_ids', 0]],
  ] as [string, object, string, (string | number)[]][])('%s %j: %s', async (path, body, type, place) => {
    const { status, detail } = await refused(path, body);
    expect(status).toBe(422);
    expect(detail).toEqual([{ loc: ['body', ...place], type, msg: expect.any(String), ctx: { error_code: expect.any(Number) } }]);
  });

  test('a start without outputs, or with a model that is not there', async () => {
    const template = await service.request('POST', '/templates', { name: newId(), template: 'Say it' });
    const start = async (body: object) => {
      const made = await service.request('POST', `/projects/${project.id}/experiments`, { name: newId() });
      return refused(`experiments/${(made.body as { id: string }).id}/run`, { log_stream_id: undefined, ...body });
    };
    const records = [{ input: 'x' }];
    expect(await start({ records, runner: { kind: 'dataset_outputs' } })).toMatchObject({
      ...{ status: 422, detail: [{ loc: ['body'], type: 'experiment_has_no_outputs', ctx: { error_code: 3512 } }] },
    });
    const versionId = (template.body as { selected_version_id: string }).selected_version_id;
    const prompt_settings = { model_alias: 'no-such-model' };
    const runner = { kind: 'prompt_template', prompt_template_version_id: versionId, prompt_settings };
    expect(await start({ records, runner })).toMatchObject({
      status: 422,
      detail: [{ loc: ['body', 'runner', 'prompt_settings', 'model_alias'], type: 'model_unknown', ctx: { error_code: 3011 } }],
    });
    for (const [key, value] of Object.entries({
      temperature: 'hot',
      max_tokens: '7',
      top_p: true,
      stop_sequences: 'x',
      tools: {},
    }))
      expect(await start({ records, runner: { ...runner, prompt_settings: { [key]: value } } })).toMatchObject({
        ...{ status: 422, detail: [{ loc: ['body', 'runner', 'prompt_settings', key] }] },
      });
  });

  test.each([
    ['POST', 'experiments/{id}/run', { recordss: [] }, ['recordss'], 'records'],
    [
      'POST',
      'experiments/{id}/run',
      { runner: { kind: 'http', url: 'https://x.org', header: {} } },
      ['runner', 'header'],
      'headers',
    ],
    ['POST', 'experiments/{id}/run', { limits: { concurency: 3 } }, ['limits', 'concurency'], 'concurrency'],
    ['POST', 'experiments/{id}/concurrency', { concurrency: 3, x: 1 }, ['x'], 'concurrency'],
    ['POST', 'experiments/{id}/rows/lease', { process: newId(), waitMs: 3 }, ['waitMs'], 'wait_ms'],
    ['POST', 'experiments/{id}/rows/results', { process: newId(), results: [{}], result: 1 }, ['result'], 'results'],
    ['POST', 'experiments/{id}/rows/heartbeat', { process: newId(), held: [] }, ['held'], 'holding'],
    ['PUT', 'retention', { retention_days: 3, days: 3 }, ['days'], 'retention_days'],
    ['POST', 'experiments/{id}/run', { rows_to_run: { ordinals: [0], ordinal: 1 } }, ['rows_to_run', 'ordinal'], 'ordinals'],
  ])('%s %s refuses the unknown key of %j', async (method, path, body, key, closest) => {
    const at = `/projects/${project.id}/${path.replace('{id}', newId())}`;
    const answer = await service.request(method, at, body);
    const msg = expect.stringContaining(`the closest are ${closest}`);
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', ...key], type: 'unknown_key', msg }] } });
  });

  test.each([
    ['POST', 'experiments/{id}/run', 'concurency=3', 'concurrency'],
    ['POST', 'experiments/{id}/concurrency', 'concurrency=3', 'concurrency'],
    ['PUT', 'retention', 'retention_day=3', 'retention_days'],
    ['PUT', 'playground_limits', 'most_call=3', 'most_calls'],
    ['POST', 'experiments/{id}/rows/lease', 'waitms=3', 'wait_ms'],
  ])('%s %s refuses %s in the query, and says what of the body is meant', async (method, path, query, closest) => {
    const at = `/projects/${project.id}/${path.replace('{id}', newId())}`;
    const msg = expect.stringMatching(new RegExp(`the closest are ${closest}.* of the body`));
    expect(await service.request(method, `${at}?${query}`, {})).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['query', query.split('=')[0]], type: 'unknown_key', msg }] },
    });
  });

  test.each(['pause', 'resume', 'cancel'])('%s takes no keys, in the body or in the query', async (path) => {
    const at = `/projects/${project.id}/experiments/${newId()}/${path}`;
    const refused = (...loc: string[]) => ({ status: 422, body: { detail: [{ loc, type: 'unknown_key' }] } });
    expect(await service.request('POST', at, { rows: [1] })).toMatchObject(refused('body', 'rows'));
    expect(await service.request('POST', `${at}?rows=1`)).toMatchObject(refused('query', 'rows'));
    for (const body of [undefined, {}, null]) expect((await service.request('POST', at, body)).status).toBe(404);
  });

  test.each([
    '/projects/{project}/retention',
    '/projects/{project}/default_judge',
    '/projects/{project}/playground_limits',
    '/projects/{project}/ingest_counters',
    '/annotation_queues/{id}/records/export/{id}',
  ])('GET %s takes no keys in its query', async (path) => {
    const at = path.replace('{project}', project.id).replaceAll('{id}', newId());
    const refused = { status: 422, body: { detail: [{ loc: ['query', 'days'], type: 'unknown_key' }] } };
    expect(await service.request('GET', `${at}?days=3`)).toMatchObject(refused);
  });

  test.each(['limits', 'prices', 'settings'])('GET %s of an integration takes no keys in its query', async (path) => {
    const { id } = (await service.request('PUT', '/integrations/openai', { token: 'sk-none' })).body as unknown as { id: string };
    expect(await service.request('GET', `/integrations/${id}/${path}?model=x`)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['query', 'model'], type: 'unknown_key' }] },
    });
  });

  test('a password reset takes no keys', async () => {
    const at = `/users/${newId()}/password_reset`;
    expect(await service.request('POST', at, { new_password: 'x' })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'new_password'], type: 'unknown_key' }] },
    });
    expect((await service.request('POST', at)).status).toBe(404);
  });

  test.each(['/current_user/sessions', `/users/${newId()}/sessions`])(
    '%s deletes nothing with a key in its query',
    async (path) => {
      expect(await service.request('DELETE', `${path}?session_id=${newId()}`)).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['query', 'session_id'], type: 'unknown_key' }] },
      });
    },
  );

  test('an unknown key beside passwords is refused', async () => {
    const msg = expect.stringContaining('the closest are new_password');
    const refusal = { status: 422, body: { detail: [{ loc: ['body', 'nwe_password'], type: 'unknown_key', msg }] } };
    const passwords = { new_password: 'Correct-horse-1', nwe_password: 'Correct-horse-2' };
    expect(await service.request('POST', '/password_reset', { reset_token: 'x', ...passwords })).toMatchObject(refusal);
    expect(await service.request('PUT', '/current_user/password', { old_password: 'x', ...passwords })).toMatchObject(refusal);
  });

  test('an unknown key of the query is refused there, a parameter of the path is not', async () => {
    const id = newId();
    const progress = (query: string) => service.request('GET', `/projects/${project.id}/experiments/${id}/progress?${query}`);
    expect(await progress('wait=3')).toMatchObject({ status: 422, body: { detail: [{ loc: ['query', 'wait'] }] } });
    expect((await progress(`project_id=${project.id}&experiment_id=${id}`)).status).toBe(404);
  });

  test.each(['traces', 'spans', 'sessions'])('a deletion of %s with a misspelt filter deletes nothing', async (what) => {
    const at = `/projects/${project.id}/${what}`;
    const run = { log_stream_id: stream };
    await service.request('POST', `/projects/${project.id}/traces`, {
      ...run,
      traces: [{ input: 'i', session_external_id: newId(), spans: [{ type: 'tool', input: 'x' }] }],
    });
    const total = async () => ((await service.request('POST', `${at}/count`, run)).body as { total_count: number }).total_count;
    const before = await total();
    const filter = [{ column_id: 'input', type: 'text', operator: 'eq', value: 'nothing has this' }];
    for (const key of [
      'filter',
      'Filters',
      'fliters',
      'fliter',
      'fitler',
      'flitre',
      'fltr',
      'fulterd',
      'fltertre',
      'filterTree',
      'tree',
      'filter_by',
      'where',
      'conditions',
      'and',
      'trace_id',
      'ids',
    ])
      for (const beside of [{}, { filters: [] }, { filters: null, filter_tree: null }]) {
        const refusal = await service.request('POST', `${at}/delete`, { ...run, ...beside, [key]: filter });
        expect(refusal).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', key], type: 'unknown_key' }] } });
      }
    // A leaf that stands bare in the body is none of its keys.
    expect(await service.request('POST', `${at}/delete`, { ...run, ...filter[0] })).toMatchObject({
      status: 422,
      body: { detail: ['column_id', 'operator', 'value'].map((key) => ({ loc: ['body', key] })) },
    });
    expect(await total()).toBe(before);
    // The service must not ignore one of two combinators, or one beside a leaf.
    const [leaf] = filter;
    const all = { not: leaf };
    for (const node of [
      { and: [all], not: all },
      { and: [], or: [leaf] },
      { and: [all], filter: leaf },
      { ...leaf, and: [all] },
    ])
      for (const given of [{ filter_tree: node }, { filters: [node] }, { filter_tree: { or: [node] } }])
        expect(await service.request('POST', `${at}/delete`, { ...run, ...given })).toMatchObject({
          status: 422,
          body: { detail: [{ msg: expect.stringContaining('a filter is one of') }] },
        });
    expect(await total()).toBe(before);
    // A default would stand in for a key of a leaf that is misspelt, and take what was to stay.
    const id = { type: 'id', column_id: 'id', value: newId() };
    const misspelt: [string, object][] = [
      ['operater', { filter: id, operater: 'ne' }],
      ['operator', { filter: id, operator: 'ne' }],
      ['And', { and: [id], And: [leaf] }],
      ['nto', { or: [id], nto: leaf }],
      ['ands', { and: [], ands: [leaf] }],
      ['operater', { type: 'id', column_id: 'id', operater: 'ne', value: newId() }],
      ['Operator', { type: 'id', column_id: 'id', Operator: 'ne', value: newId() }],
      ['filter_operator', { type: 'id', column_id: 'id', filter_operator: 'ne', value: newId() }],
      ['op', { type: 'boolean', column_id: 'has_children', op: 'ne', value: true }],
      ['case_sensitve', { ...leaf, case_sensitve: false }],
      ['ignoreCase', { ...leaf, ignoreCase: true }],
    ];
    for (const [key, one] of misspelt)
      for (const given of [{ filter_tree: one }, { filters: [one] }, { filter_tree: { not: one } }])
        expect(await service.request('POST', `${at}/delete`, { ...run, ...given })).toMatchObject({
          status: 422,
          body: { detail: [{ msg: expect.stringContaining(`there is no key "${key}"`) }] },
        });
    // An empty condition is no filter, and a filter in the query is none either.
    for (const given of [
      { filter_tree: { and: [] }, filtres: filter },
      { filters: [{ not: { or: [] } }], filter },
    ])
      expect((await service.request('POST', `${at}/delete`, { ...run, ...given })).status).toBe(422);
    expect(await service.request('POST', `${at}/delete?filters=[]`, run)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['query', 'filters'] }] },
    });
    // A leaf holds no other filter.
    for (const inner of [{ and: [leaf] }, { not: leaf }, { filter: leaf }])
      expect(
        (await service.request('POST', `${at}/delete`, { ...run, filter_tree: { filter: { ...id, ...inner } } })).status,
      ).toBe(422);
    expect(await total()).toBe(before);
    expect((await service.request('POST', `${at}/search`, { ...run, filters: [misspelt[0]?.[1]] })).status).toBe(200);
    expect((await service.request('POST', `${at}/search`, { ...run, filters: [{ ...leaf, filter: null }] })).status).toBe(200);
    const known = { ...run, filters: [{ ...leaf, colour: 'red' }], filter, colour: 'red' };
    expect((await service.request('POST', `${at}/delete`, known)).status).toBe(200);
    expect(await total()).toBe(before);
    expect((await service.request('POST', `${at}/delete`, { ...run, colour: 'red', limit: 5 })).status).toBe(200);
  });
});
