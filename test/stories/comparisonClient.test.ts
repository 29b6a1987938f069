import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ComparedRow, comparedRows, NotFoundError, runExperiment, ValueError } from '../../client/index.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.[Symbol.asyncDispose]());

async function all(given: AsyncIterable<ComparedRow>): Promise<ComparedRow[]> {
  const rows: ComparedRow[] = [];
  for await (const row of given) rows.push(row);
  return rows;
}

test('an experiment that is run with a baseline says whether it is better, and on which rows', async () => {
  const { id: projectId } = await service.project();
  const dataset = Array.from({ length: 12 }, (_, n) => ({ input: `q${n}`, output: `q${n}` }));
  const common = { client: service.client, projectId, experimentName: 'answers', dataset, metrics: ['exact_match'] };
  const first = await runExperiment<string, string>({ ...common, function: (input) => (input === 'q3' ? 'q3' : 'wrong') });
  expect(first.comparison).toBeUndefined();
  const second = await runExperiment<string, string>({
    ...{ ...common, baseline: 'answers' },
    function: (input) => (input === 'q3' ? 'wrong' : input),
  });
  expect(second.comparison?.baseline.id).toBe(first.experiment.id);
  const found = second.comparison?.comparisons.find(({ metric }) => metric === 'exact_match');
  expect(found).toMatchObject({ verdict: 'better', better: 11, worse: 1, rows: 12 });

  const sides = { client: service.client, projectId, baselineId: first.experiment.id, experimentId: second.experiment.id };
  const rows = await all(comparedRows({ ...sides, sortBy: 'exact_match', pageSize: 5 }));
  expect(rows).toHaveLength(12);
  expect(rows[0]).toMatchObject({
    input: 'q3',
    reference: 'q3',
    baseline: [{ output: 'q3' }],
    experiment: [{ output: 'wrong' }],
  });
  const worse = await all(comparedRows({ ...sides, filters: [{ is: 'worse', metric: 'exact_match' }] }));
  expect(worse.map(({ input }) => input)).toEqual(['q3']);
  const unknown = { ...sides, baselineId: projectId };
  await expect(comparedRows(unknown).next()).rejects.toThrow(NotFoundError);
});

test('a baseline that does not exist is refused before anything is made', async () => {
  const { id: projectId } = await service.project();
  const run = { client: service.client, projectId, experimentName: 'alone', dataset: [{ input: 'a' }], metrics: [] };
  await expect(runExperiment({ ...run, function: () => 'a', baseline: 'nothing' })).rejects.toThrow(
    new ValueError('there is no experiment "nothing" to compare with in this project'),
  );
  expect(await service.client.send(`/projects/${projectId}/experiments`)).toEqual([]);
});
