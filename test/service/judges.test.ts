import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { gateReport } from '../../cli/output/gateReport.ts';
import { resultsText } from '../../cli/output/resultsText.ts';
import {
  compareExperiments,
  createDataset,
  createJudge,
  datasetRows,
  type ExperimentProgress,
  extendDataset,
  gateExperiment,
  getDefaultJudge,
  log,
  runExperiment,
  ServiceClient,
  setDefaultJudge,
  watchDatasetExtension,
} from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ExperimentResponse } from '../../shared/wire/experiments.ts';
import { type Answer, fails, hangs, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { experimentOf } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let endpoint: ModelEndpoint;
let client: ServiceClient;
let projectId: string;
let at: string;

// biome-ignore lint/suspicious/noExplicitAny: replies of every shape; a wrong guess fails the test
type Reply = { status: number; body: any };

/** The part of a record that shows a metric. */
type Shown = { status_type: string; judged_by_model_under_test?: boolean; model_alias?: string };

const models = ['small-model', 'large-model'];
const integrate = (more: object = {}) =>
  client.send('/integrations/custom/local', {
    method: 'PUT',
    body: { endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models, ...more },
  });

beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  client = service.client;
  endpoint.otherwise(says('{"reason": "it is", "verdict": true}'));
  await integrate();
  projectId = (await service.project()).id;
  at = `/v2/projects/${projectId}/experiments`;
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

/** A judge of ours, with one version. */
async function judge(definition: object, version: object = {}) {
  const { id } = await client.send<{ id: string }>('/v2/scorers', {
    body: { name: `judge ${newId()}`, scorer_type: 'llm', ...definition },
  });
  const made = await client.send<{ scoreable_node_types: string[] }>(`/v2/scorers/${id}/version/llm`, {
    body: { user_prompt: 'Is {{output}} right?', ...version },
  });
  return { id, version: made };
}

const create = (scorers: string[]) =>
  client.send<ExperimentResponse>(at, {
    body: { name: `experiment ${newId()}`, scorers: scorers.map((id) => ({ id, scorer_type: 'llm' })) },
  });

/** A template that answers with this model. */
async function prompt(): Promise<string> {
  const { selected_version_id } = await client.send<{ selected_version_id: string }>('/v2/templates', {
    body: { name: `template ${newId()}`, template: 'Answer {{input}}', settings: { model_alias: 'small-model' } },
  });
  return selected_version_id;
}

async function run(experiment: ExperimentResponse) {
  const runner = {
    kind: 'prompt_template',
    prompt_template_version_id: await prompt(),
    prompt_settings: { model_alias: 'small-model' },
  };
  await client.send(`${at}/${experiment.id}/run`, { body: { runner, records: [{ input: 'one' }, { input: 'two' }] } });
  return ended(experiment);
}

async function ended(experiment: ExperimentResponse) {
  await experimentOf(client, projectId, experiment.id).end();
  const { records } = await client.send<{ records: { metric_info: Record<string, Shown> }[] }>(
    at.replace('experiments', 'traces/search'),
    { body: { experiment_id: experiment.id } },
  );
  return {
    shown: records.map(({ metric_info }) => metric_info),
    experiment: await client.send<ExperimentResponse>(`${at}/${experiment.id}`),
  };
}

test('a judge that does not exist is refused before the run, in words that name the closest models', async () => {
  const { id } = await judge({ defaults: { model_name: 'larg-model' } });
  const experiment = await create([id]);
  const asked = endpoint.requests.length;
  const refused = await service.request('POST', `${at}/${experiment.id}/run`, {
    runner: { kind: 'dataset_outputs' },
    records: Array.from({ length: 42 }, () => ({ input: 'q', generated_output: 'a' })),
  });
  expect(refused).toMatchObject({
    status: 422,
    body: {
      detail: [{ type: 'judge_model_unknown', msg: expect.stringMatching(/"larg-model".*closest are .*large-model \(local\)/) }],
    },
  });
  expect((await client.send<{ state: string }>(`${at}/${experiment.id}/progress`)).state).toBe('idle');
  expect(endpoint.requests.length).toBe(asked);
  // Nor does a creation that would start it leave anything behind.
  const dataset = await createDataset({ client, projectId, name: newId(), content: [{ input: 'q', generated_output: 'a' }] });
  const triggered = await service.request('POST', at, {
    ...{ name: 'never made', trigger: true, dataset: { dataset_id: dataset.id, version_index: 1 } },
    scorers: [{ id, scorer_type: 'llm' }],
  });
  expect(triggered).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ['body', 'scorers', 0, 'id'], type: 'judge_model_unknown' }] },
  });
  expect((await client.send<ExperimentResponse[]>(at)).map(({ name }) => name)).toEqual([experiment.name]);
  // By its name the metric takes the same settings.
  const job = { job_name: 'playground_run', project_id: projectId, run_id: experiment.id, dataset_id: dataset.id };
  const scorers = [{ name: 'exact_match' }, { name: 'correctness', model_name: 'smal-modle' }];
  expect(await service.request('POST', '/jobs', { ...job, scorers })).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ['body', 'scorers', 1, 'model_name'], type: 'judge_model_unknown' }] },
  });
  // And leaves the experiment as it was.
  const found = await client.send<ExperimentResponse>(`${at}/${experiment.id}`);
  expect(found.dataset).toEqual(experiment.dataset);
  expect(await client.send(`/v2/projects/${projectId}/runs/${experiment.id}/scorer-settings`)).toMatchObject({
    scorers: [{ id }],
  });
});

test('several judges of one metric are different models, each of which there must be', async () => {
  const { id, version } = await judge({ output_type: 'boolean' }, { model_names: ['small-model', 'large-model'] });
  expect(version).toMatchObject({ model_names: ['small-model', 'large-model'], num_judges: 2 });
  const before = endpoint.requests.length;
  endpoint.otherwise((request, response) =>
    says(`{"explanation": "e", "verdict": ${request.body.model === 'large-model'}}`)(request, response),
  );
  const { experiment, shown } = await run(await create([id]));
  endpoint.otherwise(says('{"reason": "it is", "verdict": true}'));
  const judged = endpoint.requests.slice(before).filter(({ text }) => text.includes('impartial evaluator'));
  expect(judged.map(({ body }) => body.model).sort()).toEqual(['large-model', 'large-model', 'small-model', 'small-model']);
  // One of two is no majority.
  expect(shown).toMatchObject([{ [id]: { status_type: 'success', value: false } }, { [id]: { value: false } }]);
  expect(experiment.aggregate_metric_counts?.[id]).toMatchObject({
    judge_model: 'local/small-model, local/large-model',
    judged_by_model_under_test: true,
  });
  const setting = { id, scorer_type: 'llm', model_names: ['large-model', 'no-such-model'] };
  const other = await client.send<ExperimentResponse>(at, { body: { name: `experiment ${newId()}`, scorers: [setting] } });
  const refused = await service.request('POST', `${at}/${other.id}/run`, {
    runner: { kind: 'dataset_outputs' },
    records: [{ input: 'q', generated_output: 'a' }],
  });
  expect(refused).toMatchObject({
    status: 422,
    body: { detail: [{ type: 'judge_model_unknown', msg: expect.stringContaining('no-such-model') }] },
  });
});

test('a metric of spans alone scores the spans of each row, and gives the row what they come to', async () => {
  const verdicts = new Map([
    ['one/0', 'true'],
    ['one/1', 'false'],
    ['two/0', 'true'],
  ]);
  const asked: string[] = [];
  let isBroken = true;
  endpoint.otherwise((request, response) => {
    const [said] = /(?:one|two|bad)\/\d/.exec(request.text) ?? [''];
    asked.push(said);
    const answer =
      said === 'bad/1' && isBroken ? fails(401) : says(`{"reason": "r", "verdict": ${verdicts.get(said) ?? 'true'}}`);
    return answer(request, response);
  });
  try {
    const ofModels = await judge({ defaults: { model_name: 'large-model' } }, { scoreable_node_types: ['llm'] });
    const ofTools = await judge({ defaults: { model_name: 'large-model' } }, { scoreable_node_types: ['tool'] });
    const answer = log({ kind: 'llm', describe: () => ({ model: 'mine' }) }, async (text: string) => text);
    const { experiment } = await runExperiment({
      ...{ client, projectId, experimentName: `spans ${newId()}` },
      dataset: ['one', 'two', 'bad', 'none'].map((input) => ({ input })),
      function: async (input: string) => {
        const calls = { one: 2, two: 1, bad: 2, none: 0 }[input] ?? 0;
        for (let call = 0; call < calls; call++) await answer(`${input}/${call}`);
        return input;
      },
      metrics: [ofModels.id, ofTools.id],
      concurrency: 1,
    });
    expect(asked.toSorted()).toEqual(['bad/0', 'bad/1', 'one/0', 'one/1', 'two/0']);
    const counts = async (id: string) => (await client.send<ExperimentResponse>(`${at}/${id}`)).aggregate_metric_counts ?? {};
    const found = await counts(experiment.id);
    expect(found[ofModels.id]).toMatchObject({ values: 4, failed: 1, not_applicable: 1, missing: 0, rows: 4 });
    expect(found[ofTools.id]).toMatchObject({ values: 0, failed: 0, not_applicable: 4, missing: 0, rows: 4 });
    const rows = async () => {
      const { records } = await client.send<{
        records: { input: string; metric_info: Record<string, Shown & { value?: unknown }> }[];
      }>(at.replace('experiments', 'traces/search'), { body: { experiment_id: experiment.id } });
      return Object.fromEntries(
        records.map(({ input, metric_info }) => [
          input,
          [metric_info[ofModels.id]?.status_type, metric_info[ofModels.id]?.value],
        ]),
      );
    };
    const none = ['not_applicable', undefined];
    expect(await rows()).toEqual({ one: ['roll_up', 0.5], two: ['roll_up', 1], bad: ['roll_up', 1], none });

    // The run asks for failed values again; values were paid for and stay.
    isBroken = false;
    asked.length = 0;
    await client.send(`${at}/${experiment.id}/run`, { body: { rows_to_run: 'none' } });
    await experimentOf(client, projectId, experiment.id).end();
    expect(asked).toEqual(['bad/1']);
    expect((await counts(experiment.id))[ofModels.id]).toMatchObject({ values: 5, failed: 0, not_applicable: 1, missing: 0 });
    expect((await rows()).bad).toEqual(['roll_up', 1]);
  } finally {
    endpoint.otherwise(says('{"reason": "it is", "verdict": true}'));
  }
});

test('judges are: the one of the scorer, else the default of an integration, else the model under test, which is flagged', async () => {
  const own = await judge({ defaults: { model_name: 'large-model' } });
  const open = await judge({});
  const tested = await run(await create([own.id, open.id]));
  for (const info of tested.shown) {
    expect(info[own.id]).toMatchObject({ status_type: 'success', model_alias: 'large-model' });
    expect(info[own.id]).not.toHaveProperty('judged_by_model_under_test');
    expect(info[open.id]).toMatchObject({ status_type: 'success', model_alias: 'small-model', judged_by_model_under_test: true });
  }
  expect(tested.experiment.aggregate_metric_counts).toMatchObject({
    [own.id]: { values: 2, judge_model: 'local/large-model', judged_by_model_under_test: false },
    [open.id]: { values: 2, judge_model: 'local/small-model', judged_by_model_under_test: true },
    duration_ns: { judge_model: null, judged_by_model_under_test: false },
  });
  await integrate({ default_model: 'large-model' });
  const byDefault = await run(await create([open.id]));
  for (const info of byDefault.shown) {
    expect(info[open.id]).toMatchObject({ status_type: 'success', model_alias: 'large-model' });
    expect(info[open.id]).not.toHaveProperty('judged_by_model_under_test');
  }
  expect(byDefault.experiment.aggregate_metric_counts).toMatchObject({
    [open.id]: { judge_model: 'local/large-model', judged_by_model_under_test: false },
  });
  await integrate();

  // It is marked wherever its scores are shown.
  const { name } = await client.send<{ name: string }>(`/v2/scorers/${open.id}`);
  const marked = `${tested.experiment.name}: ${name} judged by local/small-model, which gave the answers itself: a model tends to find its own answers good`;
  const sides = { client, projectId, experimentIds: [tested.experiment.id] };
  const compared = await compareExperiments({ ...sides, baselineId: byDefault.experiment.id });
  expect(compared.warnings).toEqual([marked]);
  const gate = { client, projectId, experimentId: tested.experiment.id, metrics: { [name]: { min: 0.5 } } };
  const gated = await gateExperiment(gate);
  expect(gated.warnings).toEqual([marked]);
  for (const format of ['text', 'markdown', 'junit'] as const)
    expect(gateReport(format, gated, ''), format).toContain('which gave the answers itself');
  const progress = await client.send<ExperimentProgress>(`${at}/${tested.experiment.id}/progress`);
  const table = resultsText(tested.experiment, progress, 300);
  expect(table).toContain(`${name} *`);
  expect(table).toMatch(/^\* judged by local\/small-model, which gave the answers itself/m);
  expect(resultsText(byDefault.experiment, progress, 300)).not.toContain('*');

  // A scorer that is renamed is found by the new name, and by its id.
  const renamed = `renamed ${newId()}`;
  await client.send(`/v2/scorers/${open.id}`, { method: 'PATCH', body: { name: renamed } });
  for (const metric of [renamed, open.id, `metrics/${renamed}`]) {
    const asked = { ...sides, baselineId: byDefault.experiment.id, metrics: [metric] };
    expect((await compareExperiments(asked)).comparisons).toMatchObject([{ metric: renamed, metric_id: open.id }]);
  }
  const { metrics: buckets } = await client.send<{ metrics: object[] }>(`${at}/${tested.experiment.id}/metrics`, { body: {} });
  expect(buckets).toContainEqual(expect.objectContaining({ name: open.id, metric_key_alias: renamed }));

  // Without a direction none of the two is better, and that is said.
  const [one] = compared.comparisons.filter(({ metric }) => metric === name);
  expect(one).toMatchObject({ direction: null, better: null });
  expect(one?.sentence).toMatch(
    / has no direction, so nothing says which values are better .*: set the direction of its scorer\.$/,
  );
  expect(one?.warnings).toContainEqual(expect.stringContaining('has no direction'));
});

test('a judge of numbers or booleans without a direction is said to give no verdict when it is made', async () => {
  const lacking = expect.stringMatching(/of type boolean have no direction.* give no verdict/);
  const made = await judge({});
  expect(made.version).toMatchObject({ warnings: [lacking] });
  expect(await client.send(`/v2/scorers/${made.id}`)).toMatchObject({ warnings: [lacking] });
  expect(await client.send(`/v2/scorers/${made.id}`, { method: 'PATCH', body: { direction: 'higher' } })).toMatchObject({
    direction: 'higher',
    warnings: [],
  });
  expect((await judge({ output_type: 'categorical' }, { output_type: 'categorical' })).version).toMatchObject({ warnings: [] });
  const said: string[] = [];
  const logger = { debug() {}, info() {}, error() {}, warn: (message: string) => said.push(message) };
  const here = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey, logger });
  const words = { client: here, instructions: 'Is it kind?' };
  expect(await createJudge({ ...words, name: `kind ${newId()}` })).toMatchObject({ direction: null });
  expect(said).toEqual([lacking]);
  expect(await createJudge({ ...words, name: `kinder ${newId()}`, direction: 'higher' })).toMatchObject({ direction: 'higher' });
  expect(said).toHaveLength(1);
});

test('an answer outside the categories of a judge is an error of that score, and no new category', async () => {
  const labels = { output_type: 'categorical', categories: ['Refund', 'Other'] };
  const stated = await judge(labels, { output_type: 'categorical', model_name: 'large-model' });
  const several = await judge({ ...labels, output_type: 'multilabel' }, { output_type: 'multilabel', model_name: 'large-model' });
  const response_schema = { type: 'object', properties: { rating: { type: 'string', enum: ['Refund', 'Other'] } } };
  const ofSchema = await judge(
    { output_type: 'categorical' },
    { output_type: 'categorical', model_name: 'large-model', chain_poll_template: { template: 'Which is it?', response_schema } },
  );
  const ids = [stated.id, several.id, ofSchema.id];
  const answers = async (reply: string) => {
    endpoint.otherwise(says(reply));
    const { shown, experiment } = await run(await create(ids));
    return ids.map((id) => ({
      states: shown.map((row) => row[id]?.status_type),
      given: experiment.structured_aggregate_metrics?.[id]?.value_distribution,
    }));
  };
  const read = { states: ['success', 'success'], given: { Refund: 2 } };
  const outside = { states: ['error', 'error'] };
  expect(await answers('{"reason": "it is", "label": "REFUND"}')).toMatchObject([read, outside, read]);
  expect(await answers('{"reason": "it is", "labels": ["refund"]}')).toMatchObject([outside, read, outside]);
  const both = '{"reason": "it is", "label": "complaint", "labels": ["complaint"]}';
  expect(await answers(both)).toMatchObject([outside, outside, outside]);
  endpoint.otherwise(says('{"reason": "it is", "verdict": true}'));
});

test('a project says which model judges where the metric names none: before the integration, after the scorer', async () => {
  await integrate({ models: [...models, 'third-model'], default_model: 'small-model' });
  const [own, open] = [await judge({ defaults: { model_name: 'large-model' } }), await judge({})];
  const ofProject = { client, projectId };
  expect(await getDefaultJudge(ofProject)).toEqual({ project_id: projectId, model: null });
  await expect(setDefaultJudge({ ...ofProject, model: 'thrid-model' })).rejects.toMatchObject({ status: 422 });
  const path = `/v2/projects/${projectId}/default_judge`;
  expect(await service.request('PUT', path, { model: 'thrid-model' })).toMatchObject({
    body: {
      detail: [{ loc: ['body', 'model'], type: 'judge_model_unknown', msg: expect.stringMatching(/closest are .*third-model/) }],
    },
  });
  for (const body of [{}, { model: '' }, { model: 7 }, { model: null, modell: 'x' }])
    expect((await service.request('PUT', path, body)).status, JSON.stringify(body)).toBe(422);
  expect((await service.request('GET', path.replace(projectId, newId()))).status).toBe(404);

  expect(await setDefaultJudge({ ...ofProject, model: 'third-model' })).toMatchObject({ model: 'local/third-model' });
  const judged = await run(await create([own.id, open.id]));
  for (const info of judged.shown) {
    expect(info[own.id]).toMatchObject({ status_type: 'success', model_alias: 'large-model' });
    expect(info[open.id]).toMatchObject({ status_type: 'success', model_alias: 'third-model' });
  }
  const counts = (judge_model: string, isFlagged: boolean) => ({
    [open.id]: { values: 2, judge_model, judged_by_model_under_test: isFlagged },
  });
  expect(judged.experiment.aggregate_metric_counts).toMatchObject(counts('local/third-model', false));

  await setDefaultJudge({ ...ofProject, model: 'small-model' });
  const flagged = await run(await create([open.id]));
  expect(flagged.experiment.aggregate_metric_counts).toMatchObject(counts('local/small-model', true));

  // A default that is not there any more is refused before the run, not row by row.
  await setDefaultJudge({ ...ofProject, model: 'third-model' });
  await integrate();
  const { id } = await create([open.id]);
  const runner = { runner: { kind: 'dataset_outputs' }, records: [{ input: 'q', generated_output: 'a' }] };
  expect(await service.request('POST', `${at}/${id}/run`, runner)).toMatchObject({
    status: 422,
    body: { detail: [{ type: 'judge_model_unknown', msg: expect.stringMatching(/the project's default judge.*third-model/) }] },
  });
  expect(await setDefaultJudge({ ...ofProject, model: null })).toEqual({ project_id: projectId, model: null });
  expect((await service.request('POST', `${at}/${id}/run`, runner)).status).toBe(200);
  await ended(await client.send<ExperimentResponse>(`${at}/${id}`));
});

test('a judge without node types takes those that its template fits, and says so', async () => {
  const plain = await judge({});
  expect(plain.version.scoreable_node_types).toEqual(['trace']);
  expect((await judge({}, { input_type: 'retriever_spans' })).version.scoreable_node_types).toEqual(['retriever']);
  expect((await judge({ input_type: 'sessions_normalized' })).version.scoreable_node_types).toEqual(['session']);
  expect((await judge({}, { scoreable_node_types: ['llm'] })).version.scoreable_node_types).toEqual(['llm']);
  expect(await client.send(`/v2/scorers/${plain.id}`)).toMatchObject({
    default_version: { scoreable_node_types: ['trace'] },
    scoreable_node_types: ['trace'],
  });
});

type Progress = { progress_message: string; steps_completed: number; steps_total: number };

describe('rows of a dataset that a model makes', () => {
  const lastMade = { number: 0 };
  /** Answers with as many new rows as it is asked for, one odd one among them. */
  const makes: Answer = async (request, response) => {
    const asked = Number(/Make (\d+) new/.exec(request.text)?.[1]);
    const rows = Array.from({ length: asked }, () => ({ input: `question ${++lastMade.number}`, output: 'yes' }));
    await says(`Here: ${JSON.stringify({ rows: [null, ...rows, { odd: true, more: 1 }] })}`)(request, response);
  };
  const extend = async (body: object) => (await service.request('POST', '/v2/datasets/extend', body)) as Reply;
  const settled = async (id: string): Promise<Progress> =>
    vi.waitFor(
      async () => {
        const progress = await client.send<Progress>(`/v2/datasets/extend/${id}`);
        expect(progress.steps_completed).toBe(progress.steps_total);
        return progress;
      },
      { timeout: 240_000, interval: 50 },
    );
  const rowsOf = async (id: string) =>
    (await datasetRows({ client, id }).all()).map(({ values_dict }) => values_dict) as Record<string, string>[];
  const settings = { model_alias: 'large-model' };

  test('are asked for in calls of ten, spread over the kinds, and come into the dataset together', async () => {
    endpoint.otherwise(makes);
    const before = endpoint.requests.length;
    const types = ['General Query', 'Prompt Injection'];
    const { status, body } = await extend({
      ...{ prompt_settings: settings, prompt: 'You sell tea.', examples: ['Is it green?'], data_types: types, count: 25 },
      project_id: projectId,
    });
    expect(status).toBe(200);
    expect(await settled(body.dataset_id)).toEqual({
      ...{ progress_message: '25 rows were made', steps_completed: 25, steps_total: 25 },
    });
    const rows = await rowsOf(body.dataset_id);
    expect(rows).toHaveLength(25);
    expect(new Set(rows.map(({ input }) => input)).size).toBe(25);
    expect(types.map((type) => rows.filter(({ data_type }) => data_type === type).length)).toEqual([13, 12]);
    const asked = endpoint.requests.slice(before);
    expect(asked).toHaveLength(4);
    for (const { text } of asked) expect(text).toMatch(/You sell tea.*Is it green\?/);
    expect(asked[0]?.body).toMatchObject({ model: 'large-model', max_tokens: 4096 });
    const { projects } = await client.send<{ projects: { id: string }[] }>(`/v2/datasets/${body.dataset_id}/projects`);
    expect(projects.map(({ id }) => id)).toEqual([projectId]);
  });

  test('are waited for by the client, which says how far the model is and what it could not do', async () => {
    endpoint.otherwise(makes);
    const seen: (number | null)[] = [];
    const made = await extendDataset({
      ...{ client, projectId, modelAlias: 'large-model', prompt: 'You sell tea.', examples: ['Is it green?'], count: 3 },
      ...{ dataTypes: ['Off-Topic Query'], onProgress: ({ rowsMade }) => seen.push(rowsMade) },
    });
    const all = { rowsMade: 3, rowsAsked: 3, message: '3 rows were made' };
    expect(made).toEqual({ datasetId: expect.any(String), ...all });
    expect(seen.at(-1)).toBe(3);
    expect((await rowsOf(made.datasetId)).map(({ data_type }) => data_type)).toEqual(Array(3).fill('Off-Topic Query'));

    const like = { client, modelAlias: 'large-model', sourceDataset: { id: made.datasetId } };
    const { datasetId, rowsAsked } = await extendDataset({ ...like, count: 2, wait: false });
    expect(rowsAsked).toBe(2);
    expect(await watchDatasetExtension({ client, datasetId })).toMatchObject({ rowsMade: 2, message: '2 rows were made' });

    endpoint.otherwise(fails(400, { error: { message: 'no credit left' } }));
    await expect(extendDataset({ ...like, count: 1 })).rejects.toMatchObject({
      ...{ name: 'DatasetExtensionError', message: expect.stringMatching(/unexpected error.*0 of 1 rows were made/) },
      extension: { datasetId: expect.any(String) },
    });
    await expect(extendDataset({ client, modelAlias: 'no-such', prompt: 'p' })).rejects.toMatchObject({ status: 422 });

    endpoint.otherwise(hangs);
    const stop = new AbortController();
    const stopped = extendDataset({ ...like, signal: stop.signal, onProgress: () => stop.abort(new Error('enough')) });
    await expect(stopped).rejects.toThrow('enough');
    await expect(watchDatasetExtension({ client, datasetId: newId() })).rejects.toMatchObject({ name: 'NotFoundError' });
  });

  test('are like those of the source and have its columns', async () => {
    endpoint.otherwise(makes);
    const content = [
      { input: 'question 1', output: 'no' },
      { input: 'Is it hot?', output: 'no', topic: 'heat' },
    ];
    const source = await createDataset({ client, projectId, name: `source ${newId()}`, content });
    const { body } = await extend({ prompt_settings: settings, source_dataset: { dataset_id: source.id }, count: 3 });
    await settled(body.dataset_id);
    expect(endpoint.requests.at(-1)?.text).toContain('Is it hot?');
    for (const row of await rowsOf(body.dataset_id))
      expect(row).toEqual({ input: expect.stringMatching(/^question/), output: 'yes' });
    const unknown = { dataset_id: source.id, row_ids: [newId()] };
    expect(await extend({ prompt_settings: settings, source_dataset: unknown })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'source_dataset', 'row_ids'] }] },
    });
    expect((await extend({ prompt_settings: settings, source_dataset: { dataset_id: newId() } })).status).toBe(404);
  });

  test('that cannot be had leave those that were made, and say why', async () => {
    endpoint.next(makes, fails(400, { error: { message: 'no credit left' } }));
    const refused = await extend({ prompt_settings: settings, instructions: 'about tea', count: 15 });
    const failed = await settled(refused.body.dataset_id);
    expect(failed.progress_message).toMatch(/unexpected error: .*400 Bad Request; 10 of 15 rows were made/);
    expect(await rowsOf(refused.body.dataset_id)).toHaveLength(10);

    endpoint.otherwise(says('{"rows": [{"input": "the same"}]}'));
    const repeated = await extend({ prompt_settings: settings, instructions: 'about tea', count: 5 });
    expect((await settled(repeated.body.dataset_id)).progress_message).toMatch(/^1 of 5 rows were made: the model gave no more/);
    expect(await rowsOf(repeated.body.dataset_id)).toEqual([{ input: 'the same' }]);
  });

  test('that can no longer come into the dataset end it, with both reasons', async () => {
    const { promise: id, resolve } = Promise.withResolvers<string>();
    endpoint.next(
      async (request, response) => {
        const values = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`column ${index}`, 'full']));
        const body = { edits: [{ edit_type: 'append_row', values }] };
        await client.send(`/v2/datasets/${await id}/content`, { method: 'PATCH', body });
        await makes(request, response);
      },
      fails(400, { error: { message: 'no credit left' } }),
    );
    const { body } = await extend({ prompt_settings: settings, instructions: 'about tea', count: 15 });
    resolve(body.dataset_id);
    expect((await settled(body.dataset_id)).progress_message).toMatch(
      /^unexpected error: .*400 Bad Request; the rows could not be added to the dataset: .*at most 1000 columns.*; 10 of 15 rows were made$/,
    );
    expect(await rowsOf(body.dataset_id)).toHaveLength(1);
  });

  test('that could not come into a dataset are refused before one is made', async () => {
    const row = Object.fromEntries(Array.from({ length: 999 }, (_, index) => [`column ${index}`, 'full']));
    const name = `wide ${newId()}`;
    const source = await createDataset({ client, projectId, name, content: [{ input: 'q', ...row }] });
    const names = async () => {
      const { datasets } = await client.send<{ datasets: { name: string }[] }>('/v2/datasets/query?limit=1000', { body: {} });
      return datasets.map((dataset) => dataset.name);
    };
    const before = await names();
    expect(before).toContain(name);
    const like = { prompt_settings: settings, source_dataset: { dataset_id: source.id } };
    const { status, body } = await extend({ ...like, data_types: ['General Query'] });
    expect([status, body.detail]).toEqual([422, [expect.objectContaining({ type: 'too_many_columns' })]]);
    expect((await extend({ prompt_settings: settings, prompt: 'a\u0000b' })).body).toMatchObject({
      detail: [{ type: 'string_nul' }],
    });
    expect(await names()).toEqual(before);
  });

  test('are refused where nothing says what to make, or no model is there; other datasets have nothing to wait for', async () => {
    const name = `plain ${newId()}`;
    const { id } = await createDataset({ client, projectId, name, content: [{ input: 'q' }] });
    expect(await settled(id)).toMatchObject({ steps_total: 0 });
    for (const [wrong, text] of [
      [{ prompt_settings: { model_alias: 'no-such' }, prompt: 'p' }, /no-such/],
      [{ prompt_settings: settings }, /nothing says what to make/],
      [{ prompt_settings: settings, prompt: 'p', count: 0 }, /count/],
      [{ prompt_settings: settings, prompt: 'p', count: 1001 }, /count/],
      [{ prompt_settings: settings, prompt: 'p', data_types: ['Riddle'] }, /data_types/],
    ] as const) {
      const { status, body } = await extend(wrong);
      expect([status, JSON.stringify(body)]).toEqual([422, expect.stringMatching(text)]);
    }
    expect((await service.request('GET', `/v2/datasets/extend/${newId()}`)).status).toBe(404);
  });
});
