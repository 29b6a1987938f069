import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

/** Lists of things with names: how one is made, and where they are found. */
interface List {
  what: string;
  path: string;
  key: string;
  make: (name: string) => Promise<{ status: number; body: { id: string; name: string } }>;
  /** Where the page is asked for. */
  page: 'query' | 'body';
}

let service: TestService;
let project: string;
beforeAll(async () => {
  service = await sharedTestService();
  project = (await service.project()).id;
});
afterAll(() => service[Symbol.asyncDispose]());

const post = (path: string, body: unknown) =>
  service.request('POST', path, body) as Promise<{ status: number; body: { id: string; name: string } }>;
const judge = { scorer_type: 'llm', tags: ['style', 'tone'] };
const lists: List[] = [
  { what: 'projects', path: '/projects/paginated', key: 'projects', page: 'query', make: (name) => post('/projects', { name }) },
  {
    ...{ what: 'log streams', path: 'log_streams/search', key: 'log_streams', page: 'body' },
    make: (name) => post(`/projects/${project}/log_streams`, { name }),
  },
  {
    ...{ what: 'experiments', path: 'experiments/search', key: 'experiments', page: 'body' },
    make: (name) => post(`/projects/${project}/experiments`, { name }),
  },
  { what: 'datasets', path: '/datasets/query', key: 'datasets', page: 'query', make: (name) => dataset(name) },
  {
    ...{ what: 'prompts', path: '/templates/query', key: 'templates', page: 'query' },
    make: (name) => post('/templates', { name, template: 'Say {{input}}' }),
  },
  { what: 'scorers', path: '/scorers/list', key: 'scorers', page: 'query', make: (name) => post('/scorers', { ...judge, name }) },
  {
    ...{ what: 'annotation queues', path: '/annotation_queues/query', key: 'annotation_queues', page: 'query' },
    make: (name) => post('/annotation_queues', { name }),
  },
] as List[];

async function dataset(name: string): ReturnType<List['make']> {
  const form = new FormData();
  form.set('name', name);
  form.set('file', new File(['input\na\n'], 'rows.csv'));
  const response = await fetch(`${service.url}/datasets`, {
    method: 'POST',
    headers: { 'Service-API-Key': service.apiKey },
    body: form,
  });
  return { status: response.status, body: (await response.json()) as { id: string; name: string } };
}

async function ask({ path, page }: List, filters: object[], limit = 100) {
  const at = path.startsWith('/') ? path : `/projects/${project}/${path}`;
  const { status, body } =
    page === 'query'
      ? await service.request('POST', `${at}?limit=${limit}`, { filters })
      : await service.request('POST', at, { filters, limit });
  return { status, body: body as Record<string, never> };
}

describe.each(lists)('$what', (list) => {
  let unique: string;
  let made: { id: string; name: string }[];
  beforeAll(async () => {
    unique = newId();
    made = [];
    for (const name of ['ΟΔΥΣΣΕΥΣ', 'Straße', 'third']) {
      const { status, body } = await list.make(`${unique} ${name}`);
      expect(status).toBe(200);
      made.push(body);
    }
  });
  /** Returns which of the things the filter finds. */
  async function found(...filters: object[]): Promise<string[]> {
    const mine = { name: 'name', operator: 'contains', value: unique, case_sensitive: true };
    const { status, body } = await ask(list, [mine, ...filters]);
    expect(status).toBe(200);
    const items = body[list.key] as unknown as { name: string }[];
    return items.map(({ name }) => name.slice(unique.length + 1)).sort();
  }
  const all = ['third', 'ΟΔΥΣΣΕΥΣ', 'Straße'].sort();

  test('names fold their case by the rules of Unicode', async () => {
    const loose = { name: 'name', case_sensitive: false };
    expect(await found({ ...loose, operator: 'eq', value: `${unique} οδυσσευς` })).toEqual(['ΟΔΥΣΣΕΥΣ']);
    expect(await found({ ...loose, operator: 'contains', value: 'ΔΥΣ' })).toEqual(['ΟΔΥΣΣΕΥΣ']);
    expect(await found({ ...loose, operator: 'contains', value: 'δυς' })).toEqual(['ΟΔΥΣΣΕΥΣ']);
    expect(await found({ ...loose, operator: 'one_of', value: [`${unique} STRASSE`] })).toEqual(['Straße']);
    expect(await found({ ...loose, operator: 'not_in', value: [`${unique} STRASSE`] })).toEqual(['third', 'ΟΔΥΣΣΕΥΣ']);
    expect(await found({ name: 'name', operator: 'contains', value: 'δυς', case_sensitive: true })).toEqual([]);
  });

  test('a list stands for any of its values, whichever operator carries it', async () => {
    const named = (at: number) => made[at]?.name as string;
    const by = { name: 'name', case_sensitive: true };
    expect(await found({ ...by, operator: 'eq', value: [named(0), named(2), 'none'] })).toEqual(['third', 'ΟΔΥΣΣΕΥΣ']);
    expect(await found({ ...by, operator: 'ne', value: [named(0), named(2), 'none'] })).toEqual(['Straße']);
    expect(await found({ ...by, operator: 'contains', value: ['Stra', 'hird', 'none'] })).toEqual(['Straße', 'third'].sort());
    expect(await found({ ...by, operator: 'eq', value: [] })).toEqual([]);
    expect(await found({ ...by, operator: 'ne', value: [] })).toEqual(all);
    expect(await found({ ...by, operator: 'contains', value: [] })).toEqual([]);
    if (list.key === 'templates') return; // their filters have no id
    const [first, second] = made.map(({ id }) => id) as [string, string];
    expect(await found({ name: 'id', operator: 'eq', value: [first, second.toUpperCase(), 'x'] })).toEqual(
      ['Straße', 'ΟΔΥΣΣΕΥΣ'].sort(),
    );
    expect(await found({ name: 'id', value: [first] })).toEqual(['ΟΔΥΣΣΕΥΣ']);
    expect(await found({ name: 'id', operator: 'ne', value: [first, second] })).toEqual(['third']);
    expect(await found({ name: 'id', operator: 'contains', value: [first.slice(2, 30)] })).toEqual(['ΟΔΥΣΣΕΥΣ']);
  });

  test('a page of none is empty and has none behind it', async () => {
    const { status, body } = await ask(list, [], 0);
    expect(status).toBe(200);
    expect(body).toMatchObject({ [list.key]: [], limit: 0, paginated: false, next_starting_token: null });
    expect((await ask(list, [], -1)).status).toBe(422);
  });
});

test('numbers and types take lists as well', async () => {
  const [projects, , , , , scorers, queues] = lists as [List, List, List, List, List, List, List];
  const { name } = (await projects.make(`numbers ${newId()}`)).body;
  const mine = { name: 'name', operator: 'eq', value: name };
  const finds = async (list: List, only: object, filter: object) => {
    const { status, body } = await ask(list, [only, filter]);
    return [status, (body[list.key] as unknown as object[] | undefined)?.length];
  };
  expect(await finds(projects, mine, { name: 'runs', operator: 'eq', value: [0, 7] })).toEqual([200, 1]);
  expect(await finds(projects, mine, { name: 'runs', operator: 'ne', value: [0, 7] })).toEqual([200, 0]);
  expect(await finds(projects, mine, { name: 'runs', operator: 'gt', value: [0, 7] })).toEqual([422, undefined]);
  expect(await finds(projects, mine, { name: 'type', operator: 'eq', value: ['gen_ai', 'protect'] })).toEqual([200, 1]);
  const queue = (await queues.make(`numbers ${newId()}`)).body;
  const thatQueue = { name: 'id', value: queue.id };
  expect(await finds(queues, thatQueue, { name: 'num_templates', operator: 'eq', value: [0, 3] })).toEqual([200, 1]);
  const scorer = (await scorers.make(`lists ${newId()}`)).body;
  const thatScorer = { name: 'id', value: scorer.id };
  const tags = (operator: string, value: string | string[]) => ({ name: 'tags', operator, value });
  expect(await finds(scorers, thatScorer, tags('eq', ['tone', 'style']))).toEqual([200, 1]);
  expect(await finds(scorers, thatScorer, tags('eq', 'style'))).toEqual([200, 0]);
  expect(await finds(scorers, thatScorer, tags('contains', ['style', 'tone']))).toEqual([200, 1]);
  expect(await finds(scorers, thatScorer, tags('contains', ['style', 'other']))).toEqual([200, 0]);
  expect(await finds(scorers, thatScorer, { name: 'scorer_type', operator: 'eq', value: ['llm', 'code'] })).toEqual([200, 1]);
});
