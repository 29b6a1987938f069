import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Logger } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service[Symbol.asyncDispose]());

type Body = Record<string, never> & { id: string; name: string };
const ask = async (method: string, path: string, body?: unknown) => {
  const reply = await service.request(method, path, body);
  return { status: reply.status, body: reply.body as never as Body };
};
const made = async (path: string, body: unknown): Promise<Body> => {
  const reply = await ask('POST', path, body);
  expect(reply).toMatchObject({ status: 200 });
  return reply.body;
};

/** Kinds of things with a name: how one is made, and the route that lists them, with the key of the list in its answer. */
const named: Record<
  string,
  { make: (project: string, name: string) => Promise<Body>; list: (project: string) => [string, string] }
> = {
  projects: { make: (_, name) => made('/projects', { name }), list: () => ['/projects/paginated', 'projects'] },
  'log streams': {
    make: (project, name) => made(`/projects/${project}/log_streams`, { name }),
    list: (project) => [`/projects/${project}/log_streams/search`, 'log_streams'],
  },
  experiments: {
    make: (project, name) => made(`/projects/${project}/experiments`, { name }),
    list: (project) => [`/projects/${project}/experiments/search`, 'experiments'],
  },
  datasets: {
    make: async (_, name) => {
      const form = new FormData();
      form.set('name', name);
      form.set('file', new Blob(['{"input":"q"}\n']), 'rows.jsonl');
      const headers = { 'Service-API-Key': service.apiKey };
      const reply = await fetch(`${service.url}/datasets?format=jsonl`, { method: 'POST', headers, body: form });
      return (await reply.json()) as Body;
    },
    list: () => ['/datasets/query', 'datasets'],
  },
  prompts: {
    make: (project, name) => made(`/projects/${project}/templates`, { name, template: 'Hello' }),
    list: () => ['/templates/query', 'templates'],
  },
  scorers: {
    make: (_, name) => made('/scorers', { name, scorer_type: 'llm' }),
    list: () => ['/scorers/list', 'scorers'],
  },
  'annotation queues': {
    make: (_, name) => made('/annotation_queues', { name }),
    list: () => ['/annotation_queues/query', 'annotation_queues'],
  },
};

describe.each(Object.entries(named))('in lists of %s', (_, { make, list }) => {
  /** Names of what is found of these two. */
  const finder = async (first: string, second: string) => {
    const { id: project } = await service.project();
    const things = [await make(project, first), await make(project, second)];
    const [path, key] = list(project);
    const find = async (operator: string, value: unknown, more: object = {}) => {
      const reply = await ask('POST', `${path}?limit=1000`, {
        filters: [{ name: 'name', operator, value, ...more }],
        limit: 1000,
      });
      expect(reply).toMatchObject({ status: 200 });
      const found = reply.body[key] as never as Body[];
      return things.filter(({ id }) => found.some((one) => one.id === id)).map(({ name }) => name);
    };
    return { things, find, path, key };
  };

  test('a name has no blanks around it, and is found by what was sent', async () => {
    const tag = newId();
    const { things, find } = await finder(` \t${tag} left \n`, `\u00a0${tag} right`);
    const [a, b] = [`${tag} left`, `${tag} right`];
    expect(things.map(({ name }) => name)).toEqual([a, b]);
    for (const sent of [a, ` \t${tag} left \n`, `${a}\u00a0`]) {
      expect(await find('eq', sent)).toEqual([a]);
      expect(await find('one_of', [sent, 'x'])).toEqual([a]);
      expect(await find('ne', sent)).toEqual([b]);
    }
    expect(await find('contains', ' right')).toEqual([b]);
    expect(await find('contains', 'right ')).toEqual([]);
  });

  test('a list of values matches any of them, whatever the operator', async () => {
    const tag = newId();
    const { find } = await finder(`${tag} a`, `${tag} b`);
    const [a, b] = [`${tag} a`, `${tag} b`];
    expect(await find('eq', [a, b])).toEqual([a, b]);
    expect(await find('eq', [b])).toEqual([b]);
    expect(await find('eq', [])).toEqual([]);
    expect(await find('ne', [a, 'x'])).toEqual([b]);
    expect(await find('contains', [`${tag} b`, 'not there'])).toEqual([b]);
    expect(await find('one_of', a)).toEqual([a]);
  });

  test('case is folded as Unicode does', async () => {
    const tag = newId();
    const { find } = await finder(`${tag} ΟΔΥΣΣΕΥΣ Straße`, `${tag} Éa`);
    const [greek, french] = [`${tag} ΟΔΥΣΣΕΥΣ Straße`, `${tag} Éa`];
    const any = { case_sensitive: false };
    for (const written of ['οδυσσευς strasse', 'οδυσσευσ STRASSE', 'Οδυσσευς STRAẞE']) {
      expect(await find('eq', `${tag} ${written}`, any)).toEqual([greek]);
      expect(await find('contains', `${tag} ${written.slice(0, -3)}`, any)).toEqual([greek]);
    }
    for (const part of ['ΟΔΥΣΣ', 'οδυς', 'οδυσ']) expect(await find('contains', `${tag} ${part}`, any)).toEqual([greek]);
    expect(await find('eq', `${tag} éA`, any)).toEqual([french]);
    expect(await find('contains', `${tag} οδυσσ`, { case_sensitive: true })).toEqual([]);
  });

  test('a page of none is empty', async () => {
    const { path, key } = await finder(`${newId()} a`, `${newId()} b`);
    const reply = await ask('POST', `${path}?limit=0`, { limit: 0 });
    expect(reply).toMatchObject({ status: 200, body: { [key]: [], limit: 0, paginated: false, next_starting_token: null } });
  });
});

test('a name of blanks alone is refused', async () => {
  const { id: project } = await service.project();
  for (const [path, body] of [
    ['/projects', { name: ' \n' }],
    [`/projects/${project}/log_streams`, { name: ' ' }],
    [`/projects/${project}/experiments`, { name: '\t' }],
    [`/projects/${project}/templates`, { name: ' ', template: 'x' }],
    ['/scorers', { name: ' ', scorer_type: 'llm' }],
  ] as const)
    expect(await ask('POST', path, body)).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'name'] }] } });
});

test('the client makes and finds by the same name, with blanks or without', async () => {
  const { id: projectId, name } = await service.project();
  for (const logStream of [' main ', 'main', 'main\n']) {
    const logger = new Logger({ client: service.client, projectName: ` ${name} `, logStream });
    await logger.trace('t', () => 'x');
    await logger.flush();
  }
  const streams = await service.request('GET', `/projects/${projectId}/log_streams`);
  expect(streams.body).toMatchObject([{ name: 'main' }]);
});

describe('of records', () => {
  const space = async () => {
    const { id: project } = await service.project();
    const stream = (await made(`/projects/${project}/log_streams`, { name: 'main' })).id;
    const traces = ['ΟΔΥΣΣΕΥΣ', 'οδυσσευς', 'οδυσσευσ', 'die Straße', 'other'].map((input, n) => ({
      input,
      tags: [input],
      name: `n${n}`,
    }));
    await made(`/projects/${project}/traces`, { log_stream_id: stream, traces });
    const search = (body: object) => ask('POST', `/projects/${project}/traces/search`, { log_stream_id: stream, ...body });
    const find = async (filter: object) => {
      const { body } = await search({ filters: [{ case_sensitive: false, ...filter }] });
      return (body.records as never as { name: string }[]).map(({ name }) => name).sort();
    };
    return { search, find };
  };

  test('case is folded as Unicode does, whichever sigma is written', async () => {
    const { find } = await space();
    const greek = ['n0', 'n1', 'n2'];
    for (const value of ['ΟΔΥΣΣΕΥΣ', 'οδυσσευς', 'οδυσσευσ']) {
      expect(await find({ type: 'text', name: 'input', operator: 'eq', value })).toEqual(greek);
      expect(await find({ type: 'text', name: 'input', operator: 'one_of', value: [value] })).toEqual(greek);
      expect(await find({ type: 'text', name: 'input', operator: 'eq', value: [value, 'DIE STRASSE'] })).toEqual([
        ...greek,
        'n3',
      ]);
      expect(await find({ type: 'text', name: 'input', operator: 'ne', value: [value, 'DIE STRASSE'] })).toEqual(['n4']);
      for (const operator of ['contains', 'eq', 'one_of'])
        expect(await find({ type: 'collection', name: 'tags', operator, value })).toEqual(greek);
    }
    for (const part of ['ΟΔΥΣΣ', 'οδυς', 'ΣΕΥΣ', 'σσε'])
      expect(await find({ type: 'text', name: 'input', operator: 'contains', value: part })).toEqual(greek);
    expect(await find({ type: 'text', name: 'input', operator: 'contains', value: 'STRASS' })).toEqual(['n3']);
  });

  test('an error names the keys that were sent', async () => {
    const { search } = await space();
    const locOf = async (body: object) => {
      const reply = await search(body);
      expect(reply.status).toBe(422);
      return (reply.body.detail as never as { loc: unknown[] }[])[0]?.loc;
    };
    const leaf = { type: 'text', operator: 'eq', value: 'x' };
    expect(await locOf({ filters: [{ ...leaf, name: 5 }] })).toEqual(['body', 'filters', 0, 'name']);
    expect(await locOf({ filters: [{ ...leaf, column_id: 5 }] })).toEqual(['body', 'filters', 0, 'column_id']);
    expect(await locOf({ filters: [{ filter: { ...leaf, name: 5 } }] })).toEqual(['body', 'filters', 0, 'filter', 'name']);
    expect(await locOf({ filter_tree: { and: [{ ...leaf, name: 5 }] } })).toEqual(['body', 'filter_tree', 'and', 0, 'name']);
    expect(await locOf({ filter_tree: { not: { filter: { ...leaf, column_id: null, name: 5 } } } })).toEqual([
      'body',
      'filter_tree',
      'not',
      'filter',
      'name',
    ]);
    expect(await locOf({ sort: { name: 5 } })).toEqual(['body', 'sort', 'name']);
    expect(await locOf({ sort: { column_id: 5 } })).toEqual(['body', 'sort', 'column_id']);
    expect(await locOf({ sort: { name: 'no such column' } })).toEqual(['body', 'sort', 'name']);
    expect(await locOf({ filters: [{ ...leaf, name: 'no such column' }] })).toEqual(['body', 'filters', 0, 'name']);
  });

  test('a page of none is empty', async () => {
    const { search } = await space();
    expect(await search({ limit: 0 })).toMatchObject({
      status: 200,
      body: { records: [], num_rows: 5, next_starting_token: null },
    });
  });
});

test('a page of none is empty in lists of rows, versions, members and comparisons', async () => {
  const form = new FormData();
  form.set('name', newId());
  form.set('file', new Blob(['{"input":"Straße"}\n']), 'rows.jsonl');
  const { id } = (await (
    await fetch(`${service.url}/datasets?format=jsonl`, {
      method: 'POST',
      headers: { 'Service-API-Key': service.apiKey },
      body: form,
    })
  ).json()) as { id: string };
  const { id: project } = await service.project();
  for (const path of [
    `/datasets/${id}/content`,
    `/datasets/${id}/versions/1/content`,
    `/datasets/${id}/projects`,
    `/projects/${project}/experiments/paginated`,
    `/projects/${project}/users`,
    '/integrations',
    '/users',
  ]) {
    const reply = await ask('GET', `${path}?limit=0`);
    if (reply.status === 404) continue;
    expect([path, reply.status, JSON.stringify(reply.body)]).toEqual([
      path,
      200,
      expect.not.stringContaining('"next_starting_token":0'),
    ]);
  }
  for (const [path, key] of [
    [`/datasets/${id}/content/query`, 'rows'],
    [`/datasets/${id}/versions/query`, 'versions'],
  ]) {
    const reply = await ask('POST', `${path}?limit=0`, {});
    expect(reply).toMatchObject({ status: 200, body: { [key as string]: [], paginated: false, next_starting_token: null } });
  }
  const filters = [{ column_name: 'input', value: 'STRASS', operator: 'contains' }];
  expect((await ask('POST', `/datasets/${id}/content/query`, { filters })).body.rows).toHaveLength(1);
});

describe('names that are no list', () => {
  const { tag, odd } = { tag: newId(), odd: (name: string) => ` \t${name}\u00a0\n` };

  test('have no blanks around them: tags of experiments, annotation templates, labels of scorers, a template by its name', async () => {
    const { id: project } = await service.project();
    const experiment = await made(`/projects/${project}/experiments`, { name: odd('gated') });
    const tags = `/projects/${project}/experiments/${experiment.id}/tags`;
    expect(await made(tags, { key: odd('branch'), value: odd('main'), tag_type: odd('generic') })).toMatchObject({
      ...{ key: 'branch', value: 'main', tag_type: 'generic' },
    });
    const gate = (baseline: object) =>
      ask('POST', `/projects/${project}/experiments/gate`, {
        ...{ experiment_id: experiment.id, baseline, metrics: [{ metric: 'latency', max_drop: 1 }] },
      });
    const said = await gate({ tag: { key: 'branch', value: 'main' } });
    expect(await gate({ tag: { key: odd('branch'), value: odd('main') } })).toEqual(said);
    expect(await gate({ name: odd('gated') })).toEqual(await gate({ name: 'gated' }));

    const queue = await made('/annotation_queues', { name: `${tag} queue` });
    const template = { name: odd('helpful'), constraints: { annotation_type: 'like_dislike' } };
    const [added] = (await made(`/annotation_queues/${queue.id}/templates`, { template })) as never as [Body];
    expect(added.name).toBe('helpful');

    const scorer = await made('/scorers', { name: `${tag} labelled`, scorer_type: 'llm', label: odd(`${tag} label`) });
    for (const value of [`${tag} label`, odd(`${tag} label`), [odd(`${tag} label`)]]) {
      const found = await ask('POST', '/scorers/list', { filters: [{ name: 'label', operator: 'one_of', value }] });
      expect(found.body.scorers).toMatchObject([{ id: scorer.id, label: `${tag} label` }]);
    }

    await made(`/projects/${project}/templates`, { name: odd(`${tag} prompt`), template: 'Hello' });
    const query = new URLSearchParams({ template_name: odd(`${tag} prompt`) });
    expect(await ask('GET', `/projects/${project}/templates/versions?${query}`)).toMatchObject({ body: { template: 'Hello' } });
  });

  test.each<[string, (project: string, experiment: string) => [string, string, unknown], (string | number)[]]>([
    ['a project', () => ['POST', '/projects', { name: 'a\u0000b' }], ['body', 'name']],
    ['a log stream', (project) => ['POST', `/projects/${project}/log_streams`, { name: 'a\u0000b' }], ['body', 'name']],
    ['an experiment', (project) => ['POST', `/projects/${project}/experiments`, { name: 'a\u0000b' }], ['body', 'name']],
    [
      'a tag',
      (project, experiment) => [
        'POST',
        `/projects/${project}/experiments/${experiment}/tags`,
        { key: 'k', value: 'v\u0000', tag_type: 'generic' },
      ],
      ['body', 'value'],
    ],
    ['a prompt', (project) => ['POST', `/projects/${project}/templates`, { name: 'a\u0000', template: 'x' }], ['body', 'name']],
    [
      'a scorer',
      () => ['POST', '/scorers', { name: newId(), scorer_type: 'llm', description: 'd\u0000' }],
      ['body', 'description'],
    ],
    ['a group', () => ['POST', '/groups', { name: `${newId()}\u0000` }], ['body', 'name']],
    [
      'a filter',
      () => ['POST', '/projects/paginated', { filters: [{ name: 'name', operator: 'eq', value: 'a\u0000' }] }],
      ['body', 'filters', 0, 'value'],
    ],
    [
      'a query',
      (project) => ['GET', `/projects/${project}/templates/versions?template_name=a%00`, undefined],
      ['query', 'template_name'],
    ],
  ])('NUL in %s is refused by the name of its key', async (_, request, loc) => {
    const { id: project } = await service.project();
    const { id } = await made(`/projects/${project}/experiments`, { name: 'e' });
    const reply = await ask(...request(project, id));
    expect(reply).toMatchObject({ status: 422, body: { detail: [{ loc }] } });
  });

  test('half a character becomes U+FFFD, and is found by what was sent', async () => {
    const body = `{"name":"${tag} \\ud83d half"}`;
    const headers = { 'Service-API-Key': service.apiKey, 'content-type': 'application/json' };
    const reply = await fetch(`${service.url}/projects`, { method: 'POST', headers, body });
    const project = (await reply.json()) as Body;
    expect(project.name).toBe(`${tag} \ufffd half`);
  });

  test('scorers made at once have names that differ, in every case', async () => {
    for (const [one, other] of [
      ['Maße', 'MASSE'],
      ['ΟΔΟΣ', 'οδος'],
      ['İd', 'i\u0307d'],
      ['ẞ', 'ss'],
    ]) {
      const replies = await Promise.all(
        [one, other, one].map((name) => ask('POST', '/scorers', { name: `${tag} ${name}`, scorer_type: 'llm' })),
      );
      expect([one, ...replies.map(({ status }) => status).sort()]).toEqual([one, 200, 409, 409]);
      const kept = replies.find(({ status }) => status === 200)?.body as Body;
      const another = await made('/scorers', { name: newId(), scorer_type: 'llm' });
      const renamed = await Promise.all(
        [one, other].map((name) => ask('PATCH', `/scorers/${another.id}`, { name: `${tag} ${name}` })),
      );
      expect(renamed.map(({ status }) => status)).toEqual([409, 409]);
      expect(await ask('PATCH', `/scorers/${kept.id}`, { name: `${tag} ${other}` })).toMatchObject({ status: 200 });
    }
  });
});
