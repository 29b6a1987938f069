import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createCheck,
  createDataset,
  createJudge,
  createPrompt,
  type ExperimentEstimate,
  estimateExperiment,
  runExperiment,
} from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { type ModelEndpoint, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let endpoint: ModelEndpoint;
let projectId: string;
let versionId: string;
let dataset: string;
const house = `house-${newId()}`;

beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  projectId = (await service.project()).id;
  const { client } = service;
  const made = await client.send<{ id: string }>(`/integrations/custom/${house}`, {
    method: 'PUT',
    body: { endpoint: endpoint.url, authentication_type: 'none', models: [`${house}-priced`, `${house}-unpriced`] },
  });
  const prices = [{ model: `${house}-priced`, input: 10, output: 100 }];
  await client.send(`/integrations/${made.id}/prices`, { method: 'PUT', body: { prices } });
  // 40 characters are 10 tokens.
  const template = [{ role: 'user', content: `${'x'.repeat(30)}{{input}}` }];
  const prompt = await createPrompt({
    ...{ client, projectId, name: `p ${newId()}`, template, settings: { modelAlias: `${house}-priced`, maxTokens: 50 } },
  });
  versionId = prompt.selected_version_id;
  const content = Array.from({ length: 100 }, (_, index) => ({ input: '0123456789', output: 'y'.repeat(index % 2 ? 8 : 16) }));
  dataset = (await createDataset({ client, projectId, name: `d ${newId()}`, content })).name;
});
afterAll(async () => {
  await using _service = service;
  await endpoint?.close();
});

const estimate = (more: Partial<Parameters<typeof estimateExperiment>[0]> = {}): Promise<ExperimentEstimate> =>
  estimateExperiment({ client: service.client, projectId, dataset, promptVersionId: versionId, ...more });

test('rows times trials times the tokens of the rendered prompt and of the reference, by the price of the model', async () => {
  const whole = await estimate({ trials: 3 });
  expect(whole).toMatchObject({ rows: 100, trials: 3, executions: 300, row_selection: null, sampled_rows: 25, is_whole: true });
  expect(whole.run).toMatchObject({ calls: 300, input_tokens: 3_000, model: `${house}/${house}-priced`, answers: 'reference' });
  // Blocks of five rows from an even place: three references of 4 tokens and two of 2.
  expect(whole.run.output_tokens).toBe(960);
  expect(whole.cost).toBeCloseTo((3_000 * 10 + 960 * 100) / 1e6);
  expect(whole.run.most_cost).toBeCloseTo((3_000 * 10 + 300 * 50 * 100) / 1e6);

  const some = await estimate({ rows: { sample: { size: 40, seed: 7 }, limit: 10 } });
  expect(some).toMatchObject({ executions: 10, sampled_rows: 10, row_selection: { selected: 10, of: 100 } });
  expect(some.run.input_tokens).toBe(100);
  expect(endpoint.requests).toEqual([]);
});

test('a check by embeddings asks once for each row, and pays for no answer', async () => {
  const check = { type: 'embedding_similarity' as const, model: `${house}/${house}-priced` };
  const { name } = await createCheck({ client: service.client, name: `check ${newId()}`, check });
  const { metrics } = await estimate({ metrics: [name] });
  // Twice the reference, of four or of two tokens.
  expect(metrics).toMatchObject([{ name, calls: 100, input_tokens: 640, output_tokens: 0, unknown: null, lacking: null }]);
  expect(metrics[0]?.cost).toBeCloseTo((640 * 10) / 1e6);
});

test('an unknown price is said and is not 0, whether of the model or of a judge', async () => {
  const unpriced = await estimate({ promptSettings: { modelAlias: `${house}-unpriced` } });
  expect(unpriced).toMatchObject({ cost: null, is_whole: false, run: { calls: 100, cost: null, most_cost: null } });
  expect(unpriced.run.unknown).toContain(`${house}-unpriced`);

  const { client } = service;
  const judge = (model: string) =>
    createJudge({
      client,
      name: `j ${newId()}`,
      instructions: 'Is it polite?',
      settings: { model_name: model, output_type: 'boolean' },
    });
  const [known, unknown] = await Promise.all([judge(`${house}-priced`), judge(`${house}-unpriced`)]);
  const judged = await estimate({ metrics: [known.name, unknown.name, 'exact_match'] });
  const [first, second, code] = judged.metrics;
  expect(first).toMatchObject({ name: known.name, judge_model: `${house}/${house}-priced`, calls: 100, unknown: null });
  expect(first?.cost).toBeCloseTo(((first?.input_tokens ?? 0) * 10 + 50_000 * 100) / 1e6);
  expect(first?.input_tokens).toBeGreaterThan(5_000);
  expect(second).toMatchObject({ calls: 100, cost: null });
  expect(code).toMatchObject({ calls: 0, cost: 0, judge_model: null, lacking: null });
  expect(judged).toMatchObject({ is_whole: false, cost: expect.closeTo((judged.run.cost ?? 0) + (first?.cost ?? 0)) });
});

test('what other processes call is not known, and outputs that are there cost nothing', async () => {
  const elsewhere = await service.client.send<ExperimentEstimate>(`/projects/${projectId}/experiments/estimate`, {
    body: { dataset: { dataset_id: await idOf(dataset) }, runner: { kind: 'caller_function' }, scorers: [] },
  });
  expect(elsewhere).toMatchObject({ cost: null, is_whole: false, run: { calls: null, input_tokens: null, model: null } });
  const name = `answered ${newId()}`;
  await createDataset({ client: service.client, projectId, name, content: [{ input: 'a', generated_output: 'b' }] });
  const scored = await estimate({ dataset: name, promptVersionId: undefined, metrics: ['exact_match'] });
  expect(scored).toMatchObject({ cost: 0, is_whole: true, run: { calls: 0, answers: 'none' } });
  expect(scored.metrics[0]?.lacking).toEqual({ rows: 1, message: 'the row has no reference output' });
});

test('what would refuse the run is refused with the same words', async () => {
  await expect(estimate({ promptSettings: { modelAlias: `${house}-pricey` } })).rejects.toThrow(`${house}-priced`);
  await expect(estimate({ rows: { ordinals: [100] } })).rejects.toThrow('there are 100 rows');
  await expect(estimate({ promptVersionId: undefined })).rejects.toThrow('generated_output');
  const name = `other ${newId()}`;
  await createDataset({ client: service.client, projectId, name, content: [{ question: 'a' }] });
  await expect(estimate({ dataset: name })).rejects.toThrow('input');
});

test('a run of a version that is given by its id alone has the model and settings of the version', async () => {
  const asked = endpoint.requests.length;
  const { progress } = await runExperiment({
    ...{ client: service.client, projectId, experimentName: `by id ${newId()}`, dataset: { id: await idOf(dataset) } },
    ...{
      promptTemplate: { versionId },
      rows: { limit: 2 },
      concurrency: 1,
      limits: { requestsPerMinute: 1_000 },
      failedRows: 'omit',
    },
  });
  expect(progress.state).toBe('completed');
  expect(endpoint.requests.slice(asked).map(({ body }) => [body.model, body.max_tokens])).toEqual([
    [`${house}-priced`, 50],
    [`${house}-priced`, 50],
  ]);
});

const idOf = async (name: string): Promise<string> => {
  const filters = [{ name: 'name', operator: 'eq', value: name, case_sensitive: true }];
  const found = await service.client.send<{ datasets: { id: string }[] }>('/datasets/query', { body: { filters } });
  return found.datasets[0]?.id ?? '';
};
