import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { approveExperiment, createExperiment, getExperiments } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ExperimentColumn, ExperimentFilterTree, ExperimentResponse } from '../../shared/wire/experiments.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let projectId: string;
beforeAll(async () => {
  service = await sharedTestService();
  projectId = (await service.project()).id;
  await filled('weak', 4, 1, { branch: 'main', commit: 'a1' });
  await filled('middling', 10, 7, { branch: 'main', commit: 'b2' });
  await filled('strong', 20, 20, { branch: 'feature' });
  await createExperiment({ client: service.client, projectId, experimentName: 'not started' });
});
afterAll(() => service?.[Symbol.asyncDispose]());

/** An experiment with so many rows, of which so many are right. One row of each has failed. */
async function filled(name: string, rows: number, right: number, tags: Record<string, string>): Promise<void> {
  const { client } = service;
  const at = `/projects/${projectId}`;
  const { id } = await createExperiment({ client, projectId, experimentName: name, experimentGroup: `${name} group` });
  for (const [key, value] of Object.entries(tags))
    await client.send(`${at}/experiments/${id}/tags`, { body: { key, value, tag_type: 'generic' } });
  const traces = Array.from({ length: rows }, (_, index) => ({
    ...{ id: newId(), name: 'row', input: 'q', output: 'a', status_code: index === 0 ? 500 : 200 },
    metrics: { is_right: index < right, distance: index, cost: 0.5 },
  }));
  await client.send(`${at}/traces`, { body: { experiment_id: id, traces, is_complete: true } });
  await vi.waitFor(
    async () =>
      expect((await client.send<ExperimentResponse>(`${at}/experiments/${id}`)).aggregate_metrics.is_right).toBe(right / rows),
    { timeout: 240_000, interval: 200 },
  );
}

const leaf = (name: string, operator: string, value: unknown) => ({ filter: { name, operator, value } }) as ExperimentFilterTree;
const search = (body: object) =>
  service.client.send<{ experiments: ExperimentResponse[] }>(`/projects/${projectId}/experiments/search`, { body });
const names = async (body: object) => (await search(body)).experiments.map(({ name }) => name);
const found = async (filter_tree: object) => (await names({ filter_tree })).sort();
const refused = async (body: object) => (await service.request('POST', `/projects/${projectId}/experiments/search`, body)).status;

describe('experiments are found by', () => {
  test.each([
    ['tags that one of theirs is', leaf('tags', 'eq', 'branch=main'), ['middling', 'weak']],
    ['a part of a tag', leaf('tags', 'contains', 'commit='), ['middling', 'weak']],
    ['a tag that none of theirs is', leaf('tags', 'ne', 'branch=main'), ['not started', 'strong']],
    ['rows', leaf('rows', 'gte', 10), ['middling', 'strong']],
    ['rows that failed', leaf('rows_failed', 'gt', 0), ['middling', 'strong', 'weak']],
    ['their whole cost', leaf('total_cost', 'lt', 6), ['middling', 'weak']],
    ['their state', leaf('state', 'one_of', ['idle', 'running']), ['middling', 'not started', 'strong', 'weak']],
    ['the lack of a gate', { not: leaf('gate', 'eq', 'passed') }, ['middling', 'not started', 'strong', 'weak']],
    ['no dataset', leaf('dataset', 'ne', 'questions'), ['middling', 'not started', 'strong', 'weak']],
    ['no model', leaf('prompt_model', 'not_in', ['gpt-5']), ['middling', 'not started', 'strong', 'weak']],
    ['a metric', leaf('metrics/is_right', 'gt', 0.5), ['middling', 'strong']],
    ['what fits no condition, by not', { not: leaf('metrics/is_right', 'gt', 0.5) }, ['not started', 'weak']],
    [
      'one of several conditions',
      { or: [leaf('name', 'eq', 'weak'), { and: [leaf('metrics/is_right', 'eq', 1), leaf('tags', 'eq', 'branch=feature')] }] },
      ['strong', 'weak'],
    ],
    ['no condition at all', { and: [] }, ['middling', 'not started', 'strong', 'weak']],
    ['none of no conditions', { or: [] }, []],
  ])('%s', async (_what, tree, expected) => {
    expect(await found(tree)).toEqual(expected);
    const { total_count } = await service.client.send<{ total_count: number }>(`/projects/${projectId}/experiments/count`, {
      body: { filter_tree: tree },
    });
    expect(total_count).toBe(expected.length);
    const { client } = service;
    const listed = await getExperiments({ client, projectId, filterTree: tree as ExperimentFilterTree });
    expect(listed.map(({ name }) => name).sort()).toEqual(expected);
  });

  test('whether they are approved as a baseline', async () => {
    const [weak] = (await search({ filters: [{ name: 'name', operator: 'eq', value: 'weak' }] })).experiments;
    await approveExperiment({ client: service.client, projectId, experimentId: (weak as ExperimentResponse).id });
    expect(await found(leaf('approved', 'eq', true))).toEqual(['weak']);
    expect(await found(leaf('approved', 'ne', true))).toEqual(['middling', 'not started', 'strong']);
  });

  test.each([
    ['total_cost', ['strong', 'middling', 'weak', 'not started']],
    ['rows', ['strong', 'middling', 'weak', 'not started']],
    ['experiment_group_name', ['weak', 'strong', 'middling', 'not started']],
    ['metrics/is_right', ['strong', 'middling', 'weak', 'not started']],
  ])('and sorted by %s, those without it last', async (name, expected) => {
    const sorted = await names({ sort: { name, ascending: false } });
    // `Ungrouped` is a name like any other.
    expect(name === 'experiment_group_name' ? sorted.filter((one) => one !== 'not started') : sorted.slice(0, 3)).toEqual(
      expected.slice(0, 3),
    );
  });

  test.each([
    ['a state that there is not', { filter_tree: leaf('state', 'eq', 'runing') }],
    ['a column that there is not', { filter_tree: leaf('colour', 'eq', 'red') }],
    ['a metric that there is not', { filter_tree: leaf('metrics/is_rigt', 'gt', 0.5) }],
    ['two parts in one', { filter_tree: { and: [], or: [] } }],
    [
      'a tree that is too deep',
      { filter_tree: Array.from({ length: 40 }).reduce<object>((inner) => ({ not: inner }), leaf('name', 'eq', 'weak')) },
    ],
  ])('and not by %s', async (_what, body) => {
    expect(await refused(body)).toBe(422);
  });

  test('columns say what can be filtered and sorted by', async () => {
    const { columns } = await service.client.send<{ columns: ExperimentColumn[] }>(
      `/projects/${projectId}/experiments/available_columns`,
      { method: 'POST' },
    );
    for (const { id, category, filterable, sortable } of columns.filter((one) => one.category !== 'metric')) {
      const body = { filters: [], sort: { name: id, ascending: true }, limit: 1 };
      expect([id, category, sortable, await refused(body)]).toEqual([id, category, sortable, sortable ? 200 : 422]);
      expect([id, typeof filterable]).toEqual([id, 'boolean']);
    }
  });
});

test('figures say between which numbers they lie', async () => {
  const [strong] = await getExperiments({
    ...{ client: service.client, projectId },
    filterTree: leaf('name', 'eq', 'strong'),
  });
  expect(strong?.aggregates.is_right).toMatchObject({
    figure: 1,
    interval: { low: expect.closeTo(0.8389, 4), high: 1, level: 0.95 },
  });
  // 0 to 19: the deviation is 5.916, Student's quantile of 19 degrees 2.093.
  expect(strong?.aggregates.distance?.interval).toMatchObject({
    low: expect.closeTo(9.5 - 2.769, 2),
    high: expect.closeTo(9.5 + 2.769, 2),
  });
  const [none] = await getExperiments({ client: service.client, projectId, filterTree: leaf('name', 'eq', 'not started') });
  expect(none?.aggregate_metric_intervals).toBeNull();
});
