import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExperimentRun } from '../../shared/experiments/experiment.ts';
import { loggedMetricsOf, metricScales } from '../../shared/experiments/metricScales.ts';
import { rankingScore } from '../../shared/experiments/rankingScore.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { builtinMetrics } from '../../shared/metrics/index.ts';
import { builtinByName } from '../../shared/scorers/presets.ts';
import {
  attemptLog,
  deleteAttempts,
  rowAttemptsTable,
  runTallies,
} from '../../shared/stores/clickhouse/writes/experimentRecords.ts';
import { type ExperimentService, startExperimentService } from '../support/experimentService.ts';
import { startRecordService } from '../support/recordService.ts';

let service: ExperimentService;
beforeAll(async () => {
  service = await startExperimentService();
});
afterAll(() => service[Symbol.asyncDispose]());

const experimentsOf = (projectId: string) => `/projects/${projectId}/experiments`;
const create = async (projectId: string, body: Record<string, unknown>, headers?: Record<string, string>) =>
  service.call('POST', experimentsOf(projectId), body, headers);
const created = async (projectId: string, body: Record<string, unknown>) => {
  const answer = await create(projectId, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
};
const namesIn = async (projectId: string): Promise<string[]> =>
  (await service.call('GET', experimentsOf(projectId))).body.map((experiment: { name: string }) => experiment.name);
const toxicity = { scorer_type: 'preset', name: 'toxicity' };

async function toxicityId(projectId: string): Promise<string> {
  const { body } = await service.call('POST', '/jobs', {
    job_name: 'playground_run',
    project_id: projectId,
    run_id: (await created(projectId, { name: 'for its id', dataset: await dataset() })).id,
    scorers: [{ name: 'toxicity' }],
  });
  const jobs = await service.call('GET', `/projects/${projectId}/runs/${body.run_id}/jobs`);
  return jobs.body.find((job: { job_name: string }) => job.job_name === 'log_stream_scorer').request_data.scorer_config.id;
}

async function dataset(columns = ['input', 'output', 'generated_output']) {
  const { id, versionIndex } = await service.dataset(`dataset ${newId()}`, columns);
  return { dataset_id: id, version_index: versionIndex };
}

describe('creating', () => {
  test('gives every field of an experiment', async () => {
    const project = await service.project();
    const { id: datasetId, versionIndex } = await service.dataset('questions');
    const { templateId, versionId, name } = await service.template('Answer: {{input}}');
    const body = await created(project, {
      name: 'first',
      task_type: 16,
      dataset: { dataset_id: datasetId, version_index: versionIndex },
      prompt_template_version_id: versionId,
      prompt_settings: { model_alias: 'large-model', temperature: 0.2 },
    });
    expect(body).toMatchObject({
      name: 'first',
      project_id: project,
      task_type: 16,
      created_by: service.caller.userId,
      created_by_user: { id: service.caller.userId, email: service.caller.email, first_name: 'Ada', last_name: null },
      num_spans: 0,
      num_traces: 0,
      num_sessions: 0,
      dataset: { dataset_id: datasetId, version_index: versionIndex, name: 'questions' },
      prompt: { prompt_template_id: templateId, version_index: 1, name, content: 'Answer: {{input}}' },
      prompt_model: 'large-model',
      aggregate_metrics: {},
      structured_aggregate_metrics: null,
      ranking_score: null,
      rank: null,
      winner: null,
      tags: {},
      status: { log_generation: { progress_percent: 0 } },
      experiment_group_name: 'questions Experiment Group',
      experiment_group_is_system: false,
    });
    expect(body.prompt_run_settings).toMatchObject({ model_alias: 'large-model', temperature: 0.2 });
    expect((await service.call('GET', `${experimentsOf(project)}/${body.id}`)).body).toEqual(body);
    expect(service.started).not.toContain(body.id);
  });

  test('accepts equal names, null for absent keys, and answers under /v2 as well', async () => {
    const project = await service.project();
    const first = await created(project, {
      name: 'same',
      dataset: null,
      experiment_group_id: null,
      scorers: null,
      trigger: null,
    });
    const again = await service.call('POST', `/v2${experimentsOf(project)}`, { name: 'same' });
    expect(again.status).toBe(200);
    expect(again.body.id).not.toBe(first.id);
    expect(await namesIn(project)).toEqual(['same', 'same']);
  });

  test.each([
    ['an unknown dataset', async () => ({ dataset: { dataset_id: newId(), version_index: 1 } }), 404],
    ['an unknown version', async () => ({ dataset: { ...(await dataset()), version_index: 7 } }), 404],
    ['an unknown template version', async () => ({ prompt_template_version_id: newId() }), 404],
    ['an unknown scorer', async () => ({ scorers: [{ id: newId(), scorer_type: 'llm' }] }), 422],
    ['an empty name', async () => ({ name: '' }), 422],
    ['another task type', async () => ({ task_type: 3 }), 422],
  ])('refuses %s and creates nothing', async (_what, wrong, status) => {
    const project = await service.project();
    const answer = await create(project, { name: 'refused', ...(await wrong()) });
    expect(answer.status).toBe(status);
    expect(answer.body.detail).toBeTruthy();
    expect(await namesIn(project)).toEqual([]);
  });

  test('refuses a project that the caller does not see', async () => {
    expect((await create(newId(), { name: 'x' })).status).toBe(404);
  });

  test('switches the metrics on that it names', async () => {
    const project = await service.project();
    const id = await toxicityId(project);
    const experiment = await created(project, { name: 'scored', scorers: [{ ...toxicity, id }] });
    const settings = await service.call('GET', `${experimentsOf(project)}/${experiment.id}/metric_settings`);
    expect(settings.body.scorers).toMatchObject([{ id, name: 'toxicity' }]);
  });
});

describe('creating with trigger', () => {
  test('starts the prompt run', async () => {
    const project = await service.project();
    const { versionId } = await service.template('Answer: {{input}}');
    const experiment = await created(project, {
      name: 'prompted',
      trigger: true,
      dataset: await dataset(['input']),
      prompt_template_version_id: versionId,
      prompt_settings: { model_alias: 'large-model' },
    });
    expect(service.started).toContain(experiment.id);
    const run = await service.ledger.find(experiment.id);
    expect(run).toMatchObject({
      state: 'running',
      rowCount: 40,
      runner: { kind: 'prompt_template', templateVersionId: versionId, settings: { model_alias: 'large-model' } },
    });
  });

  test('takes the settings of the template where none are given', async () => {
    const project = await service.project();
    const { versionId } = await service.template('Hello');
    const experiment = await created(project, {
      name: 'own settings',
      trigger: true,
      dataset: await dataset(['input']),
      prompt_template_version_id: versionId,
    });
    expect(experiment.prompt_model).toBe('small-model');
    expect((await service.ledger.find(experiment.id))?.runner).toMatchObject({ settings: { model_alias: 'small-model' } });
  });

  test('without a template scores the outputs in the dataset', async () => {
    const project = await service.project();
    const experiment = await created(project, { name: 'outputs', trigger: true, dataset: await dataset() });
    expect((await service.ledger.find(experiment.id))?.runner).toEqual({ kind: 'dataset_outputs' });
  });

  test('leaves nothing behind when the run is refused', async () => {
    const project = await service.project();
    const { versionId } = await service.template('Answer: {{question}}');
    const noOutputs = await create(project, { name: 'a', trigger: true, dataset: await dataset(['input']) });
    expect(noOutputs.status).toBe(422);
    expect(noOutputs.body.error_code).toBe(3512);
    const noVariable = await create(project, {
      name: 'b',
      trigger: true,
      dataset: await dataset(['input']),
      prompt_template_version_id: versionId,
      experiment_group_name: 'never made',
    });
    expect(noVariable.status).toBe(422);
    const noModel = await create(project, {
      name: 'c',
      trigger: true,
      dataset: await dataset(['question']),
      prompt_template_version_id: versionId,
      prompt_settings: { model_alias: 'unknown-model' },
    });
    expect(noModel.body.error_code).toBe(3011);
    const noDataset = await create(project, { name: 'd', trigger: true });
    expect(noDataset.body.detail[0].loc).toEqual(['body', 'dataset']);
    expect(await namesIn(project)).toEqual([]);
    const groups = await service.call('POST', `/projects/${project}/experiment-groups/query`, {});
    expect(groups.body.experiment_groups).toEqual([]);
    for (const table of ['runs', 'jobs', 'run_scorer_settings'])
      expect(await service.database.query(`SELECT * FROM ${table} WHERE project_id = $1`, [project])).toEqual([]);
  });

  test('succeeds when the request to run is kept and only the workflow service is away', async () => {
    const project = await service.project();
    service.workflowService.down = true;
    const experiment = await created(project, { name: 'later', trigger: true, dataset: await dataset() });
    service.workflowService.down = false;
    expect((await service.ledger.find(experiment.id))?.state).toBe('requested');
  });
});

test('the rows that a run was asked for are read a part at a time, wherever that begins', async () => {
  const project = await service.project();
  const { id } = await created(project, { name: 'chosen rows' });
  const chosen = [
    { from: 2, to: 5 },
    { from: 5, to: 6 },
    { from: 9, to: 12 },
  ];
  await service.ledger.request(id, 0, { rowsToRun: 'chosen', chosen });
  for (let from = 0; from < 14; from++)
    for (let to = from + 1; to <= 14; to++)
      expect(await service.ledger.chosenIn(id, from, to)).toEqual(
        chosen
          .map((range) => ({ from: Math.max(range.from, from), to: Math.min(range.to, to) }))
          .filter((range) => range.from < range.to),
      );
});

describe('an Idempotency-Key', () => {
  test('gives a client that repeats its call the same experiment and one run', async () => {
    const project = await service.project();
    const key = { 'Idempotency-Key': newId() };
    const request = { name: 'once', trigger: true, dataset: await dataset() };
    const answers = await Promise.all(Array.from({ length: 5 }, () => create(project, request, key)));
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200, 200]);
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    expect(await namesIn(project)).toEqual(['once']);
    expect(service.started.filter((id) => id === answers[0]?.body.id)).toHaveLength(1);
  });

  test('of starts decided on side by side one starts the run, also when it has ended before another gets that far', async () => {
    const project = await service.project();
    const { id } = await created(project, { name: 'short' });
    const starts = () => Promise.all([1, 2, 3].map(() => service.ledger.request(id, 0, { rowsToRun: 'missing' })));
    const numbers = (answers: Awaited<ReturnType<typeof starts>>) =>
      answers.map((one) => [one?.run.workflowNumber, one?.started]);
    expect(numbers(await starts())).toEqual([
      [1, true],
      [1, false],
      [1, false],
    ]);
    await service.ledger.end(id, 1, 'completed', { error: null });
    expect(numbers(await starts())).toEqual(Array(3).fill([1, false]));
    expect(await service.ledger.request(id, 1, { rowsToRun: 'missing' })).toMatchObject({
      run: { workflowNumber: 2, state: 'requested' },
      started: true,
    });
    expect(await service.ledger.request(newId(), 0, { rowsToRun: 'missing' })).toBeUndefined();
  });

  test('starts the run that a crash kept from starting', async () => {
    const project = await service.project();
    const key = { 'Idempotency-Key': newId() };
    const request = { name: 'crashed', trigger: true, dataset: await dataset() };
    const first = await create(project, request, key);
    // As if the process had ended between the creation and the start.
    await service.database.query("UPDATE experiments SET state = 'idle', workflow_number = 0 WHERE run_id = $1", [first.body.id]);
    const again = await create(project, request, key);
    expect(again.body.id).toBe(first.body.id);
    expect((await service.ledger.find(first.body.id))?.state).toBe('running');
  });

  test('belongs to one request, in one project', async () => {
    const key = { 'Idempotency-Key': newId() };
    const [here, there] = [await service.project(), await service.project()];
    expect((await create(here, { name: 'a' }, key)).status).toBe(200);
    expect((await create(here, { name: 'b' }, key)).status).toBe(409);
    expect((await create(there, { name: 'b' }, key)).status).toBe(200);
    expect((await create(here, { name: 'a' }, { 'Idempotency-Key': 'k'.repeat(256) })).status).toBe(422);
  });
});

describe('listing', () => {
  test('is never cut, newest first, with counts only when asked for', async () => {
    const project = await service.project();
    const made: string[] = [];
    for (let n = 0; n < 120; n++) made.push((await created(project, { name: `e${n}` })).id);
    const oldest = made[0] as string;
    service.recordCounts.set(oldest, { traces: 4, spans: 9, sessions: 2, newestAt: '2026-03-01T10:00:00.000000Z' });
    const plain = await service.call('GET', experimentsOf(project));
    expect(plain.body).toHaveLength(120);
    expect(plain.body.at(-1)).toMatchObject({ id: oldest, num_traces: null });
    const counted = await service.call('GET', `${experimentsOf(project)}?include_counts=true&project_id=${project}`);
    expect(counted.body.at(-1)).toMatchObject({ num_traces: 4, num_spans: 9, num_sessions: 2 });
    expect(counted.body[0]).toMatchObject({ num_traces: 0, num_spans: 0, num_sessions: 0 });

    const pages: string[] = [];
    let token: number | null = 0;
    while (token !== null) {
      const page: Awaited<ReturnType<ExperimentService['call']>> = await service.call(
        'GET',
        `${experimentsOf(project)}/paginated?starting_token=${token}&limit=50`,
      );
      pages.push(...page.body.experiments.map((experiment: { id: string }) => experiment.id));
      token = page.body.next_starting_token;
    }
    expect(pages).toEqual(plain.body.map((experiment: { id: string }) => experiment.id));
  });

  test('searches by every filter and sort', async () => {
    const project = await service.project();
    const made = await created(project, { name: 'Alpha', experiment_group_name: 'One' });
    await service.database.query(
      "UPDATE runs SET created_at = created_at - interval '1 hour', updated_at = updated_at - interval '1 hour' WHERE id = $1",
      [made.id],
    );
    const alpha = (await service.call('GET', `${experimentsOf(project)}/${made.id}`)).body;
    const beta = await created(project, { name: 'beta', experiment_group_name: 'Two' });
    const find = async (...filters: unknown[]): Promise<string[]> => {
      const { status, body } = await service.call('POST', `${experimentsOf(project)}/search`, { filters });
      expect(status, JSON.stringify(body)).toBe(200);
      return body.experiments.map((experiment: { name: string }) => experiment.name);
    };
    expect(await find()).toEqual(['beta', 'Alpha']);
    expect(await find({ name: 'id', value: alpha.id })).toEqual(['Alpha']);
    expect(await find({ name: 'id', operator: 'not_in', value: [alpha.id] })).toEqual(['beta']);
    expect(await find({ name: 'name', operator: 'contains', value: 'ALPH' })).toEqual([]);
    expect(await find({ name: 'name', operator: 'contains', value: 'ALPH', case_sensitive: false })).toEqual(['Alpha']);
    expect(await find({ name: 'name', operator: 'one_of', value: ['beta', 'gamma'] })).toEqual(['beta']);
    expect(await find({ name: 'created_by', value: service.caller.userId })).toHaveLength(2);
    expect(await find({ name: 'created_by', operator: 'ne', value: service.caller.userId })).toEqual([]);
    expect(await find({ name: 'created_at', operator: 'gt', value: alpha.created_at })).toEqual(['beta']);
    expect(await find({ name: 'updated_at', operator: 'lte', value: alpha.updated_at })).toEqual(['Alpha']);
    const one = { filter_type: 'custom_uuid', name: 'experiment_group_id', value: alpha.experiment_group_id };
    const two = { filter_type: 'string', name: 'experiment_group_name', operator: 'eq', value: 'Two', case_sensitive: true };
    expect(await find(one)).toEqual(['Alpha']);
    expect(await find(two)).toEqual(['beta']);
    expect(await find(one, two)).toEqual(['Alpha']);
    expect(await find({ ...one, value: newId() })).toEqual([]);

    const sorted = async (sort: unknown) =>
      (await service.call('POST', `${experimentsOf(project)}/search`, { sort, limit: 1 })).body.experiments[0].id;
    expect(await sorted({ name: 'created_at', ascending: true, sort_type: 'column' })).toBe(alpha.id);
    expect(await sorted({ name: 'updated_at', ascending: false })).toBe(beta.id);
    expect(await sorted({ name: 'name' })).toBe([alpha, beta].sort((a, b) => (a.name < b.name ? -1 : 1))[0].id);
    for (const wrong of [
      { filters: [{ name: 'size', value: 3 }] },
      { sort: { name: 'size' } },
      { limit: -1 },
      { starting_token: -1 },
    ])
      expect((await service.call('POST', `${experimentsOf(project)}/search`, wrong)).status).toBe(422);
  });

  test('shows the aggregates of the run that has ended', async () => {
    const project = await service.project();
    const experiment = await created(project, { name: 'ended', trigger: true, dataset: await dataset() });
    service.progress.set(experiment.id, 0.5);
    const path = `${experimentsOf(project)}/${experiment.id}`;
    expect((await service.call('GET', path)).body.status.log_generation.progress_percent).toBe(0.5);
    const figures = { avg: 0.75, sum: 3, min: 0, max: 1, count: 4, pct: 0.75, p50: 1, p90: 1, p95: 1, p99: 1 };
    await service.ledger.end(experiment.id, 1, 'completed', {
      error: null,
      aggregates: { metrics: { correct: { ...figures, valueDistribution: { true: 3, false: 1 } } }, rolledUp: { correct: 0.75 } },
    });
    expect((await service.call('GET', path)).body).toMatchObject({
      status: { log_generation: { progress_percent: 1 } },
      aggregate_metrics: { correct: 0.75 },
      structured_aggregate_metrics: { correct: { ...figures, value_distribution: { true: 3, false: 1 } } },
    });
  });

  test('sorts and filters by any metric, and ranks the experiments of a group', async () => {
    const project = await service.project();
    const plain = {
      avg: 0,
      sum: 0,
      min: 0,
      max: 0,
      count: 1,
      pct: null,
      p50: 0,
      p90: 0,
      p95: 0,
      p99: 0,
      valueDistribution: null,
    };
    const ended = async (name: string, rolledUp: Record<string, number>, rankingScore: number | null) => {
      const experiment = await created(project, {
        name,
        trigger: true,
        dataset: await dataset(),
        experiment_group_name: 'ranked',
      });
      const metrics = Object.fromEntries(
        [...Object.keys(rolledUp), 'tone'].map((metric) => [metric, { ...plain, avg: metric === 'tone' ? null : 0 }]),
      );
      await service.ledger.end(experiment.id, 1, 'completed', { error: null, aggregates: { metrics, rolledUp, rankingScore } });
      return experiment.id as string;
    };
    const good = await ended('good', { accuracy: 0.9, cost: 3 }, 0.9);
    const bad = await ended('bad', { accuracy: 0.2, cost: 1 }, 0.2);
    const even = await ended('even', { accuracy: 0.9 }, 0.9);
    const other = (await created(project, { name: 'other', experiment_group_name: 'ranked' })).id as string;
    const search = async (body: object) => {
      const answer = await service.call('POST', `${experimentsOf(project)}/search`, body);
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.experiments as {
        id: string;
        name: string;
        rank: number | null;
        winner: boolean | null;
        ranking_score: number | null;
      }[];
    };
    const names = async (body: object) => (await search(body)).map(({ name }) => name);
    expect((await names({ sort: { name: 'metrics/cost', ascending: true } })).slice(0, 2)).toEqual(['bad', 'good']);
    expect((await names({ sort: { name: 'metrics/cost', ascending: false } })).slice(0, 2)).toEqual(['good', 'bad']);
    const leaf = (operator: string, value: unknown) => ({ filters: [{ name: 'metrics/accuracy', operator, value }] });
    expect(await names(leaf('lt', 0.5))).toEqual(['bad']);
    expect((await names(leaf('gte', 0.9))).sort()).toEqual(['even', 'good']);
    expect(await names(leaf('between', [0.1, 0.3]))).toEqual(['bad']);
    for (const [name, path] of [
      ['metrics/acuracy', 'accuracy'],
      ['metrics/tone', 'one figure'],
    ] as const) {
      const refused = await service.call('POST', `${experimentsOf(project)}/search`, {
        filters: [{ name, operator: 'gt', value: 0 }],
      });
      expect(refused).toMatchObject({ status: 422, body: { detail: [{ msg: expect.stringContaining(path) }] } });
    }
    for (const wrong of [leaf('between', 1), leaf('gt', [1, 2]), leaf('like', 1), { sort: { name: 'metrics/' } }])
      expect((await service.call('POST', `${experimentsOf(project)}/search`, wrong)).status).toBe(422);
    const ranks = Object.fromEntries((await search({})).map((one) => [one.id, [one.rank, one.winner, one.ranking_score]]));
    expect(ranks).toEqual({
      [good]: [1, true, 0.9],
      [even]: [1, true, 0.9],
      [bad]: [3, false, 0.2],
      [other]: [null, null, null],
    });
    const { columns } = (await service.call('POST', `${experimentsOf(project)}/available_columns`)).body;
    const flags = (id: string) => columns.find((one: { id: string }) => one.id === id);
    expect(flags('metrics/accuracy')).toMatchObject({ sortable: true, filterable: true });
    expect(flags('metrics/tone')).toMatchObject({ sortable: false, filterable: false });
    const scales = metricScales([], {
      a: { direction: 'higher', range: { min: 1, max: 5 } },
      b: { direction: 'lower', range: { min: 0, max: 1 } },
    });
    expect(rankingScore({ a: 4, b: 0.25, duration_ns: 5 }, scales)).toBe(0.75);
    expect(rankingScore({ duration_ns: 5 }, scales)).toBeNull();
  });

  test('says what the numbers of metrics mean that clients log', async () => {
    const project = await service.project();
    const length = { name: 'length', direction: 'lower' as const, range: null };
    const clarity = { name: 'clarity', direction: 'higher' as const, range: { min: 1, max: 5 } };
    const experiment = await created(project, {
      name: 'scaled',
      trigger: true,
      dataset: await dataset(),
      logged_metrics: [length],
    });
    expect(experiment.logged_metrics).toEqual([length]);
    const figures = {
      avg: 2,
      sum: 8,
      min: 1,
      max: 5,
      count: 4,
      pct: null,
      p50: 2,
      p90: 5,
      p95: 5,
      p99: 5,
      valueDistribution: null,
    };
    const end = (number: number) =>
      service.ledger.end(experiment.id, number, 'completed', {
        error: null,
        aggregates: { metrics: { length: figures, clarity: figures, other: figures }, rolledUp: {} },
      });
    await end(1);
    await service.requestRun(experiment.id, { rowsToRun: 'none', loggedMetrics: loggedMetricsOf([clarity]) });
    await end(2);
    const path = `${experimentsOf(project)}/${experiment.id}`;
    const shown = (await service.call('GET', path)).body.logged_metrics;
    expect(shown).toEqual(expect.arrayContaining([length, clarity]));
    const { columns } = (await service.call('POST', `${experimentsOf(project)}/available_columns`)).body;
    const column = (id: string) => columns.find((one: { id: string }) => one.id === `metrics/${id}`);
    expect(column('length')).toMatchObject({ direction: 'lower', range: null });
    expect(column('clarity')).toMatchObject({ direction: 'higher', range: { min: 1, max: 5 } });
    expect(column('other')).toMatchObject({ direction: null, range: null });
    expect(column('cost')).toMatchObject({ direction: 'lower', range: null });
    const scales = metricScales(builtinMetrics, { length, latency: clarity });
    expect([scales('length').direction, scales('latency').direction, scales('never heard of').direction]).toEqual([
      'lower',
      'lower',
      null,
    ]);
    for (const wrong of [{ name: 'x', direction: 'up' }, { name: '' }, { name: 'x', range: { min: 1, max: 1 } }])
      expect((await create(project, { name: 'wrong', logged_metrics: [wrong] })).status).toBe(422);
    // Misspelt, it would say of no number which is better.
    const misspelt = await create(project, { name: 'wrong', logged_metrics: [{ name: 'x', directon: 'lower' }] });
    expect(misspelt).toMatchObject({
      status: 422,
      body: {
        detail: [{ loc: ['body', 'logged_metrics', 0, 'directon'], msg: expect.stringContaining('closest are direction') }],
      },
    });
  });

  test('knows its columns and counts metrics in buckets', async () => {
    const project = await service.project();
    await toxicityId(project);
    const experiment = await created(project, { name: 'bucketed' });
    for (const body of [undefined, null]) {
      const { columns } = (await service.call('POST', `${experimentsOf(project)}/available_columns`, body)).body;
      expect(columns.find((column: { id: string }) => column.id === 'metrics/toxicity')).toMatchObject({ category: 'metric' });
      expect(columns.find((column: { id: string }) => column.id === 'metrics/duration_ns')).toMatchObject({
        data_unit: 'nano_seconds',
      });
      expect(columns.find((column: { id: string }) => column.id === 'name')).toMatchObject({ sortable: true, filterable: true });
      expect(new Set(columns.map((column: { id: string }) => column.id)).size).toBe(columns.length);
    }
    const leaf = { type: 'text', name: 'input', operator: 'eq', value: 'x' };
    const one = await service.call('POST', `${experimentsOf(project)}/${experiment.id}/metrics`, { filters: [leaf] });
    expect(one.body.metrics).toMatchObject([{ name: 'correct', buckets: { true: 3, false: 1 } }]);
    expect(service.bucketRequests.at(-1)).toMatchObject([project, [experiment.id], [{ filter: { column_id: 'input' } }]]);
    expect((await service.call('POST', `${experimentsOf(project)}/metrics`, {})).status).toBe(200);
    expect((service.bucketRequests.at(-1) as [string, string[]])[1]).toHaveLength(2);
    expect((await service.call('POST', `${experimentsOf(project)}/${newId()}/metrics`, {})).status).toBe(404);
  });
});

describe('the records of runs', () => {
  test('are counted for many runs at once; the attempts of a deleted run go with it', async () => {
    await using records = await startRecordService();
    const { clickhouse, metricValues } = records;
    const projectId = newId();
    const [first, second, empty] = [newId(), newId(), newId()] as const;
    const [wanted, other] = [newId(), newId()];
    const value = (traceId: string, metric: string, scorerId: string) => ({
      metric,
      recordId: traceId,
      recordCreatedAt: '2026-01-01T00:00:00Z',
      recordType: 'trace' as const,
      traceId,
      scorerId,
      status: 'success' as const,
      value: 1,
    });
    for (const [runId, count] of [
      [first, 3],
      [second, 1],
    ] as const) {
      const traces = Array.from({ length: count }, () => ({
        id: newId(),
        name: 'row',
        input: 'q',
        created_at: '2026-01-01T00:00:00Z',
        spans: [{ type: 'tool', id: newId(), name: 'span', input: 'x' }],
      }));
      const { status } = await records.http.request('POST', `/projects/${projectId}/traces`, {
        json: { log_stream_id: runId, traces },
      });
      expect(status).toBe(200);
      const ids = traces.map(({ id }) => id);
      await metricValues.write(
        { projectId, runId },
        ids.slice(0, 2).flatMap((id) => [value(id, 'wanted', wanted), value(id, 'other', other)]),
      );
    }
    const runs = [first, second, empty].map((id) => ({ id, projectId }));
    expect(await runTallies(clickhouse, runs, [wanted])).toEqual(
      new Map([
        [first, { rows: 3, scores: 2 }],
        [second, { rows: 1, scores: 1 }],
      ]),
    );
    expect((await runTallies(clickhouse, runs.slice(0, 1), [])).get(first)).toEqual({ rows: 3, scores: 0 });

    await clickhouse.command({ name: 'create row_attempts', sql: rowAttemptsTable });
    const attempts = attemptLog(clickhouse, (err) => expect.unreachable(String(err)));
    const attempt = {
      rowId: 'r',
      ordinal: 0,
      attempt: 1,
      startedAt: new Date(),
      endedAt: new Date(),
      outcome: 'succeeded',
    } as const;
    for (const experimentId of [first, second]) attempts.note({ projectId, experimentId } as ExperimentRun, attempt);
    await attempts.flush();
    const runsNoted = () =>
      clickhouse.query({
        name: 'attempts',
        sql: 'SELECT toString(run_id) AS id FROM row_attempts FINAL',
        row: (row) => (row as { id: string }).id,
      });
    expect((await runsNoted()).toSorted()).toEqual([first, second].toSorted());
    await deleteAttempts(clickhouse)(projectId, first);
    expect(await runsNoted()).toEqual([second]);
    await deleteAttempts(clickhouse)(projectId);
    expect(await runsNoted()).toEqual([]);
  });
});

describe('changing and deleting', () => {
  test('renames and moves, and leaves the group alone where none is given', async () => {
    const project = await service.project();
    const experiment = await created(project, { name: 'before', experiment_group_name: 'kept', task_type: 17 });
    const path = `${experimentsOf(project)}/${experiment.id}`;
    const renamed = await service.call('PUT', path, { name: 'after' });
    expect(renamed.body).toMatchObject({ name: 'after', experiment_group_name: 'kept', task_type: 17 });
    const moved = await service.call('PUT', path, { name: 'after', experiment_group_name: 'new one' });
    expect(moved.body.experiment_group_name).toBe('new one');
    const refused = await service.call('PUT', path, { name: 'not this', experiment_group_id: newId() });
    expect([refused.status, refused.body.error_code]).toEqual([404, 3520]);
    expect((await service.call('GET', path)).body).toEqual(moved.body);
    expect((await service.call('PUT', path, { experiment_group_name: 'x' })).status).toBe(422);
    expect((await service.call('PUT', `${experimentsOf(project)}/${newId()}`, { name: 'x' })).status).toBe(404);
    expect((await service.call('PUT', `${experimentsOf(await service.project())}/${experiment.id}`, { name: 'x' })).status).toBe(
      404,
    );
  });

  test('deletes with its records, stopping the run', async () => {
    const project = await service.project();
    const experiment = await created(project, { name: 'gone', trigger: true, dataset: await dataset() });
    service.recordCounts.set(experiment.id, { traces: 1, spans: 1, sessions: 0, newestAt: '2026-03-01T10:00:00.000000Z' });
    const path = `${experimentsOf(project)}/${experiment.id}`;
    const answer = await service.call('DELETE', path);
    expect([answer.status, answer.body]).toEqual([204, undefined]);
    expect(service.cancelled).toContain(experiment.id);
    expect(service.recordCounts.has(experiment.id)).toBe(false);
    expect((await service.call('GET', path)).status).toBe(404);
    expect((await service.call('DELETE', path)).status).toBe(404);
  });
});

describe('tags', () => {
  test('are created, changed by key or id, listed and removed', async () => {
    const project = await service.project();
    const experiment = await created(project, { name: 'tagged' });
    const path = `${experimentsOf(project)}/${experiment.id}/tags`;
    const tag = (key: string, value: string) => ({ key, value, tag_type: 'generic' });
    const first = await service.call('POST', path, tag('model', 'a'));
    expect(first.body).toMatchObject({
      ...tag('model', 'a'),
      project_id: project,
      run_id: experiment.id,
      created_by: service.caller.userId,
    });
    const same = await service.call('POST', path, tag('model', 'b'));
    expect(same.body).toMatchObject({ id: first.body.id, value: 'b' });
    const other = await service.call('POST', path, tag('__proto__', 'odd'));
    expect((await service.call('GET', path)).body).toEqual([same.body, other.body]);
    const shown = (await service.call('GET', `${experimentsOf(project)}/${experiment.id}`)).body.tags;
    expect(Object.entries(shown)).toEqual([
      ['model', [same.body]],
      ['__proto__', [other.body]],
    ]);
    const changed = await service.call('PUT', `${path}/${first.body.id}`, tag('model', 'c'));
    expect((await service.call('GET', `${path}/${first.body.id}`)).body).toEqual(changed.body);
    expect((await service.call('PUT', `${path}/${first.body.id}`, tag('__proto__', 'x'))).status).toBe(409);
    expect((await service.call('PUT', `${path}/${newId()}`, tag('k', 'v'))).status).toBe(404);
    expect((await service.call('POST', path, tag('k'.repeat(257), 'v'))).status).toBe(422);
    const removed = await service.call('DELETE', `${path}/${first.body.id}`);
    expect([removed.status, typeof removed.body.message]).toEqual([200, 'string']);
    expect((await service.call('DELETE', `${path}/${first.body.id}`)).status).toBe(404);
    expect((await service.call('GET', `${experimentsOf(project)}/${newId()}/tags`)).status).toBe(404);
  });
});

describe('jobs', () => {
  test('start the run that trigger starts, and show how it goes', async () => {
    const project = await service.project();
    const { versionId } = await service.template('Answer: {{input}}');
    const { dataset_id } = await dataset(['input']);
    const experiment = await created(project, { name: 'by job', dataset: { dataset_id, version_index: 1 } });
    const request = {
      job_name: 'playground_run',
      project_id: project,
      run_id: experiment.id,
      prompt_template_version_id: versionId,
      prompt_settings: { model_alias: 'large-model' },
      dataset_id,
      scorers: [{ name: 'toxicity' }, { name: 'correctness', model_name: 'small-model', num_judges: 2, temperature: 1 }],
      task_type: 16,
    };
    const { status, body } = await service.call('POST', '/jobs', request);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toMatchObject({ ...request, prompt_settings: { model_alias: 'large-model' }, xray: true, trace_ids: [] });
    expect(body.message).toContain('"by job" started: 40 rows');
    expect(body.link).toContain(experiment.id);
    expect((await service.ledger.find(experiment.id))?.runner).toMatchObject({
      kind: 'prompt_template',
      templateVersionId: versionId,
    });

    const again = await service.call('POST', '/jobs', request);
    expect(again.body.job_id).toBe(body.job_id);
    expect(service.started.filter((id) => id === experiment.id)).toHaveLength(1);

    service.progress.set(experiment.id, 0.5);
    const job = (await service.call('GET', `/jobs/${body.job_id}`)).body;
    expect(job).toMatchObject({
      id: body.job_id,
      job_name: 'playground_run',
      status: 'processing',
      steps_completed: 20,
      steps_total: 40,
      progress_percent: 0.5,
      request_data: { run_id: experiment.id },
    });
    const jobs = (await service.call('GET', `/projects/${project}/runs/${experiment.id}/jobs`)).body;
    expect(jobs[0]).toEqual(job);
    const ofScorers = jobs.filter((one: { job_name: string }) => one.job_name === 'log_stream_scorer');
    expect(
      ofScorers.map((one: { request_data: { scorer_config: { name: string } } }) => one.request_data.scorer_config.name).sort(),
    ).toEqual(['correctness', 'toxicity']);
    expect(ofScorers).toContainEqual(
      expect.objectContaining({
        request_data: expect.objectContaining({
          scorer_config: expect.objectContaining({ name: 'correctness', model_name: 'small-model', num_judges: 2 }),
        }),
      }),
    );
    expect((await service.call('GET', `/jobs/${ofScorers[0].id}`)).body).toEqual(ofScorers[0]);

    await service.ledger.end(experiment.id, 1, 'failed', { error: 'the dataset is gone' });
    expect((await service.call('GET', `/projects/${project}/runs/${experiment.id}/jobs/latest`)).body).toMatchObject({
      id: body.job_id,
      status: 'failed',
      error_message: 'the dataset is gone',
      completed_at: null,
      failed_at: expect.any(String),
    });
    const runJobs = `/projects/${project}/runs/${experiment.id}/jobs`;
    expect((await service.call('GET', `${runJobs}?status=completed`)).body).toEqual([]);
    expect((await service.call('GET', `${runJobs}?status=failed`)).body).toHaveLength(3);

    const retried = await service.call('POST', '/jobs', request);
    expect(retried.body.job_id).not.toBe(body.job_id);
    expect((await service.call('GET', runJobs)).body[0].id).toBe(retried.body.job_id);
  });

  test('leave a run alone that has rows of another definition', async () => {
    const project = await service.project();
    const { versionId } = await service.template('Answer: {{input}}');
    const { dataset_id } = await dataset(['input']);
    const experiment = await created(project, { name: 'defined', dataset: { dataset_id, version_index: 1 } });
    const request = {
      job_name: 'playground_run',
      project_id: project,
      run_id: experiment.id,
      prompt_template_version_id: versionId,
      prompt_settings: { model_alias: 'large-model', temperature: 0.5 },
      dataset_id,
    };
    const start = (change: Record<string, unknown> = {}) => service.call('POST', '/jobs', { ...request, ...change });
    const changes = {
      dataset: { dataset_id: (await dataset(['input'])).dataset_id },
      'prompt template': { prompt_template_version_id: (await service.template('Say: {{input}}')).versionId },
      settings: { prompt_settings: { model_alias: 'large-model', temperature: 0.6 } },
    };
    expect((await start()).status).toBe(200);
    await service.ledger.end(experiment.id, 1, 'completed', { error: null });
    service.recordCounts.set(experiment.id, { traces: 3, spans: 0, sessions: 0, newestAt: '2026-03-01T10:00:00.000000Z' });
    for (const [what, change] of Object.entries(changes)) {
      const { status, body } = await start(change);
      expect([what, status]).toEqual([what, 409]);
      expect(body.detail).toContain(`3 rows recorded with another ${what}`);
    }
    expect((await service.call('GET', `${experimentsOf(project)}/${experiment.id}`)).body.prompt_run_settings.temperature).toBe(
      0.5,
    );
    expect((await start()).status).toBe(200);
    await service.ledger.end(experiment.id, 2, 'completed', { error: null });

    service.recordCounts.delete(experiment.id);
    expect((await start({ ...changes['prompt template'], ...changes.settings, ...changes.dataset })).status).toBe(200);
  });

  test('of a triggered experiment are there too', async () => {
    const project = await service.project();
    const experiment = await created(project, { name: 'triggered', trigger: true, dataset: await dataset() });
    const jobs = (await service.call('GET', `/projects/${project}/runs/${experiment.id}/jobs`)).body;
    expect(jobs).toMatchObject([{ job_name: 'playground_run', status: 'processing', request_data: { name: 'triggered' } }]);
  });

  test('that are refused leave the experiment as it was', async () => {
    const project = await service.project();
    const { versionId } = await service.template('Answer: {{nowhere}}');
    const ofVersion = { dataset: { dataset_id: (await dataset(['input'])).dataset_id, version_index: 1 } };
    const experiment = await created(project, {
      name: 'kept',
      ...ofVersion,
      scorers: [{ ...toxicity, id: builtinByName('toxicity')?.scorerId }],
    });
    const path = `${experimentsOf(project)}/${experiment.id}`;
    const settings = `/projects/${project}/runs/${experiment.id}/scorer-settings`;
    const state = async () => [(await service.call('GET', path)).body, (await service.call('GET', settings)).body];
    const before = await state();
    const refused = await service.call('POST', '/jobs', {
      ...{ job_name: 'playground_run', project_id: project, run_id: experiment.id, task_type: 17 },
      ...{ prompt_template_version_id: versionId, prompt_settings: { model_alias: 'large-model' } },
      ...{ scorers: [{ name: 'bleu' }], dataset_id: (await dataset(['input', 'more'])).dataset_id },
    });
    expect(refused).toMatchObject({ status: 422, body: { detail: [{ msg: expect.stringContaining('nowhere') }] } });
    expect(await state()).toEqual(before);
    const gone = await service.call('POST', '/jobs', {
      ...{ job_name: 'playground_run', project_id: project, run_id: experiment.id, task_type: 17 },
      scorers: [{ id: newId(), scorer_type: 'llm' }],
    });
    expect(gone).toMatchObject({ status: 422, body: { detail: [{ type: 'metric_unknown' }] } });
    expect(await state()).toEqual(before);
  });

  test('one that is accepted runs as it was asked for, whatever is refused beside it', async () => {
    const project = await service.project();
    const right = (await service.template('Answer: {{input}}')).versionId;
    const wrong = (await service.template('Answer: {{nowhere}}')).versionId;
    const datasets = await Promise.all([dataset(['input']), dataset(['input', 'more'])]);
    const experiment = await created(project, { name: 'raced' });
    const start = (versionId: string, temperature: number, { dataset_id }: { dataset_id: string }) =>
      service.call('POST', '/jobs', {
        ...{ job_name: 'playground_run', project_id: project, run_id: experiment.id, dataset_id },
        ...{ prompt_template_version_id: versionId, prompt_settings: { model_alias: 'large-model', temperature } },
      });
    const answers = await Promise.all([
      start(wrong, 0.1, datasets[1]),
      start(right, 0.9, datasets[0]),
      start(wrong, 0.2, datasets[1]),
      start(wrong, 0.3, datasets[1]),
    ]);
    // Those that come when the run goes on are given that run.
    expect(answers[1]?.status).toBe(200);
    const shown = (await service.call('GET', `${experimentsOf(project)}/${experiment.id}`)).body;
    expect(shown).toMatchObject({
      prompt: { content: 'Answer: {{input}}' },
      dataset: { dataset_id: datasets[0].dataset_id },
      prompt_run_settings: { temperature: 0.9 },
    });
    expect(await service.ledger.find(experiment.id)).toMatchObject({
      source: { kind: 'dataset', datasetId: datasets[0].dataset_id },
      runner: { kind: 'prompt_template', templateVersionId: right, settings: { temperature: 0.9 } },
    });
  });

  test('are refused where they cannot run', async () => {
    const project = await service.project();
    const experiment = await created(project, { name: 'refused' });
    const start = (change: Record<string, unknown>) =>
      service.call('POST', '/jobs', { job_name: 'playground_run', project_id: project, run_id: experiment.id, ...change });
    const otherName = await start({ job_name: 'prompt_optimization' });
    expect(otherName.status).toBe(422);
    expect(otherName.body.detail[0].msg).toContain('compare versions of them by experiments');
    expect((await start({ run_id: newId() })).status).toBe(404);
    expect((await start({ project_id: newId() })).status).toBe(404);
    expect((await start({ dataset_id: newId() })).status).toBe(404);
    expect((await start({ prompt_template_version_id: newId() })).status).toBe(404);
    expect((await start({ scorers: [{ name: 'no such metric' }] })).status).toBe(422);
    expect((await start({})).status).toBe(422);
    const { dataset_id } = await dataset(['input']);
    expect((await start({ dataset_id })).body.error_code).toBe(3512);
    expect((await service.call('GET', `/projects/${project}/runs/${experiment.id}/jobs`)).body).toEqual([]);
    expect((await service.call('GET', `/projects/${project}/runs/${newId()}/jobs`)).status).toBe(404);
    expect((await service.call('GET', `/jobs/${newId()}`)).status).toBe(404);
    expect(service.started).not.toContain(experiment.id);
  });
});

describe('a run that is started without a runner', () => {
  const runnerOf = async (id: string, request: Parameters<typeof service.requestRun>[1] = {}) =>
    (await service.requestRun(id, request)).run.runner;
  const columns = ['input', 'question', 'output'];

  test('takes the prompt template of the experiment with its settings, as a job does', async () => {
    const projectId = await service.project();
    const { versionId } = await service.template('Q: {{question}}');
    const of = {
      dataset: await dataset(columns),
      prompt_template_version_id: versionId,
      prompt_settings: { model_alias: 'own-model' },
    };
    const { id } = await created(projectId, { name: 'run', ...of });
    const byJob = await created(projectId, { name: 'job', ...of });
    const job = await service.call('POST', '/jobs', { job_name: 'playground_run', project_id: projectId, run_id: byJob.id });
    expect(job.status).toBe(200);
    const runner = await runnerOf(id);
    expect(runner).toMatchObject({
      kind: 'prompt_template',
      templateVersionId: versionId,
      settings: { model_alias: 'own-model' },
    });
    expect((await service.ledger.find(byJob.id))?.runner).toEqual(runner);
  });

  test('takes the outputs of the dataset where there is no template', async () => {
    const { id } = await created(await service.project(), { name: 'outputs', dataset: await dataset() });
    expect(await runnerOf(id)).toEqual({ kind: 'dataset_outputs' });
  });

  test('is refused without either, in words that name the ways, and nothing is started', async () => {
    const { id } = await created(await service.project(), { name: 'neither', dataset: await dataset(columns) });
    const refused = service.requestRun(id, {});
    await expect(refused).rejects.toMatchObject({ code: 'ExperimentHasNoOutputs' });
    for (const way of ['prompt template', 'generated_output', 'caller_function', 'module', 'http'])
      await expect(refused).rejects.toThrow(way);
    expect(await service.ledger.find(id)).toMatchObject({ state: 'idle', workflowNumber: 0 });
  });

  test('is that of the function whose process asks', async () => {
    const { id } = await created(await service.project(), { name: 'function', dataset: await dataset(columns) });
    expect(await runnerOf(id, { callerProcess: service.caller.userId })).toEqual({ kind: 'caller_function' });
  });

  test('keeps the runner of the earlier run', async () => {
    const { versionId } = await service.template('Q: {{question}}');
    const experiment = { name: 'again', dataset: await dataset(columns), prompt_template_version_id: versionId };
    const { id } = await created(await service.project(), experiment);
    const module = { kind: 'module', name: 'own' } as const;
    const { run } = await service.requestRun(id, { runner: module });
    await service.ledger.end(id, run.workflowNumber, 'completed', { error: null });
    expect(await service.requestRun(id, { rowsToRun: 'failed' })).toMatchObject({ started: true, run: { runner: module } });
  });
});
