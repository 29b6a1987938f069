import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withAggregates } from '../../client/experimentAggregates.ts';
import { createExperiment, getExperiment, getExperiments, Logger, runExperiment } from '../../client/index.ts';
import { figureCell } from '../../demo/figureCell.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ExperimentResponse } from '../../shared/wire/experiments.ts';
import { experimentOf } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service?.[Symbol.asyncDispose]());

const ROWS = 500;
const FAILED = 167;
const RIGHT = 300;
const records = Array.from({ length: ROWS }, (_, at) => ({ input: String(at), output: 'right' }));

/** Fails for 167 of 500 rows, answers 300 rightly and 33 wrongly. */
function answer(input: string | number): string {
  const at = Number(input);
  if (at < FAILED) throw new Error('the model is away');
  return at < FAILED + RIGHT ? 'right' : 'wrong';
}

const patched = async (projectId: string, id: string, body: object) =>
  (await service.request('PATCH', `/v2/projects/${projectId}/experiments/${id}`, body)) as {
    status: number;
    body: ExperimentResponse & { detail: { loc: string[]; msg: string }[] };
  };

test('a thin list says of each metric what a table shows, once', async () => {
  const { id: projectId } = await service.project();
  await runExperiment({
    ...{ client: service.client, projectId, experimentName: 'thin' },
    dataset: [
      { input: 'a', output: 'a' },
      { input: 'b', output: 'c' },
    ],
    function: (input: string) => input,
    metrics: ['exact_match', { name: 'tone', score: () => 'calm' }],
  });
  const list = async (body: object) => {
    const path = `/v2/projects/${projectId}/experiments/search`;
    const { experiments } = await service.client.send<{ experiments: ExperimentResponse[] }>(path, { body });
    return experiments[0] as ExperimentResponse;
  };
  const [whole, thin] = [await list({}), await list({ thin: true })];
  const [shown, all] = [withAggregates(thin).aggregates, withAggregates(whole).aggregates];
  expect(Object.keys(shown).sort()).toEqual(Object.keys(all).sort());
  for (const [metric, { figure, figures, interval, counts }] of Object.entries(all))
    expect(shown[metric], metric).toEqual({ figure, interval, counts, figures: figure === null ? figures : null });
  expect(shown.tone?.figures?.value_distribution).toEqual({ calm: 2 });
  expect(shown[whole.metric_scorer_ids.exact_match as string]).toEqual(shown.exact_match);
  expect(thin).toMatchObject({ id: whole.id, usage: whole.usage, created_by_user: whole.created_by_user, permissions: [] });
  expect(thin.aggregate_metrics.total_responses).toBe(2);
  expect(JSON.stringify(thin).length).toBeLessThan(0.8 * JSON.stringify(whole).length);
});

describe('rows that failed', () => {
  test('are counted beside every figure, and count as the worst value where that is chosen', async () => {
    const { id: projectId } = await service.project();
    const { experiment, progress } = await runExperiment({
      client: service.client,
      projectId,
      experimentName: 'many failures',
      dataset: records,
      function: answer,
      metrics: [
        'exact_match',
        { name: 'distance', direction: 'lower', range: { min: 0, max: 4 }, score: (_, output) => (output === 'right' ? 0 : 1) },
        { name: 'tone', score: () => 'calm' },
      ],
      concurrency: 50,
    });
    expect(progress).toMatchObject({ rows_done: ROWS, rows_failed: FAILED });
    const { exact_match } = experiment.aggregates;
    expect(exact_match).toMatchObject({
      figure: RIGHT / (ROWS - FAILED),
      figures: { count: ROWS - FAILED },
      counts: { values: ROWS - FAILED, rows: ROWS, failed_rows_without_value: FAILED },
    });
    expect(experiment.aggregates.tone).toMatchObject({ figure: null, figures: { value_distribution: { calm: ROWS - FAILED } } });
    const percent = (figure: number) => `${(100 * figure).toFixed(0)} %`;
    expect(figureCell(exact_match, percent)).toBe('90 % (333 of 500)');
    expect(figureCell(experiment.aggregates.duration_ns, () => 'short')).toBe('short');
    const named = { client: service.client, projectId, experimentName: experiment.name };
    expect((await getExperiment(named))?.aggregates).toEqual(experiment.aggregates);
    expect((await getExperiments(named))[0]?.aggregates).toEqual(experiment.aggregates);
    const without = { rows: ROWS, rows_failed: FAILED, failed_rows_without_value: FAILED, failed: 0, not_applicable: 0 };
    const omitted = { ...without, values: ROWS - FAILED, missing: 0, failed_rows: 'omit', worst: null };
    expect(experiment).toMatchObject({
      failed_rows: 'omit',
      aggregate_metrics: { exact_match: RIGHT / (ROWS - FAILED) },
      structured_aggregate_metrics: { exact_match: { count: ROWS - FAILED } },
      aggregate_metric_counts: {
        exact_match: omitted,
        distance: omitted,
        // Time was measured of every row.
        duration_ns: { ...omitted, values: ROWS, failed_rows_without_value: 0 },
      },
    });

    const refused = await patched(projectId, experiment.id, { failed_rows: 'worst' });
    expect(refused).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'failed_rows'] }] } });
    expect(refused.body.detail[0]?.msg).toContain('"tone" has no direction and no range');
    expect((await patched(projectId, experiment.id, { failed: 'worst' })).status).toBe(422);
    expect((await patched(projectId, newId(), {})).status).toBe(404);

    const scaled = { failed_rows: 'worst', logged_metrics: [{ name: 'tone', direction: 'higher', range: { min: 0, max: 1 } }] };
    const worst = await patched(projectId, experiment.id, scaled);
    expect(worst.status, JSON.stringify(worst.body)).toBe(200);
    expect(worst.body).toMatchObject({
      failed_rows: 'worst',
      aggregate_metrics: { exact_match: RIGHT / ROWS },
      structured_aggregate_metrics: {
        exact_match: { count: ROWS, pct: RIGHT / ROWS, value_distribution: { true: RIGHT, false: ROWS - RIGHT } },
        distance: { count: ROWS, max: 4, avg: (ROWS - FAILED - RIGHT + 4 * FAILED) / ROWS, p99: 4 },
      },
      aggregate_metric_counts: {
        exact_match: { ...omitted, failed_rows: 'worst', worst: 0 },
        distance: { ...omitted, failed_rows: 'worst', worst: 4 },
        duration_ns: { failed_rows: 'omit' },
      },
    });
    const buckets = await service.request('POST', `/v2/projects/${projectId}/experiments/${experiment.id}/metrics`, {});
    const { rows: _, rows_failed: __, failed_rows, worst: ___, ...counts } = { ...omitted, failed_rows: 'worst' };
    expect((buckets.body as { metrics: { name: string }[] }).metrics.find(({ name }) => name === 'exact_match')).toMatchObject({
      ...{ average: RIGHT / ROWS, buckets: { true: RIGHT, false: ROWS - RIGHT } },
      ...{ counts, failed_rows },
    });
    // Lists say the same, and it stays when the figures are computed again.
    const listed = await service.request('GET', `/v2/projects/${projectId}/experiments/paginated`);
    expect((listed.body as { experiments: ExperimentResponse[] }).experiments[0]?.aggregate_metric_counts).toEqual(
      worst.body.aggregate_metric_counts,
    );
    const omit = await patched(projectId, experiment.id, { failed_rows: 'omit' });
    expect(omit.body.aggregate_metrics.exact_match).toBe(RIGHT / (ROWS - FAILED));
    expect(omit.body.aggregate_metric_counts).toMatchObject({ exact_match: omitted });
  });

  test('are the worst from the start where creation or start say so', async () => {
    const { id: projectId } = await service.project();
    const at = `/v2/projects/${projectId}/experiments`;
    const create = (body: object) => service.request('POST', at, { name: 'strict', ...body });
    const scorers = async (names: string[]) => {
      const { body } = await service.request('POST', '/v2/scorers/list', {
        filters: [{ name: 'name', operator: 'one_of', value: names }],
      });
      return (body as { scorers: { id: string }[] }).scorers.map(({ id }) => ({ id, scorer_type: 'preset' }));
    };
    const refused = await create({ failed_rows: 'worst', scorers: await scorers(['exact_match', 'latency']) });
    expect(refused).toMatchObject({
      status: 422,
      body: { detail: [{ msg: expect.stringContaining('"latency" has no range') }] },
    });
    const { body } = await create({ failed_rows: 'worst', scorers: await scorers(['exact_match']) });
    const experiment = body as ExperimentResponse;
    expect(experiment).toMatchObject({ failed_rows: 'worst', aggregate_metric_counts: null });
    const client = service.client;
    const one = { runner: { kind: 'dataset_outputs' }, records: [{ input: 'q', output: 'a', generated_output: 'a' }] };
    const run = (more: object) => service.request('POST', `${at}/${experiment.id}/run`, { ...one, ...more });
    const unscaled = await run({ logged_metrics: [{ name: 'length', direction: 'lower' }] });
    expect(unscaled).toMatchObject({
      status: 422,
      body: { detail: [{ msg: expect.stringContaining('"length" has no range') }] },
    });
    expect((await run({ failed_rows: 'omit' })).status).toBe(200);
    await experimentOf(client, projectId, experiment.id).end();
    const ended = await client.send<ExperimentResponse>(`${at}/${experiment.id}`);
    expect(ended).toMatchObject({
      failed_rows: 'omit',
      aggregate_metric_counts: { exact_match: { values: 1, rows: 1, rows_failed: 0, failed_rows: 'omit' } },
    });
  });
});

describe('values that are not there', () => {
  test('are told apart by why, also where clients log them', async () => {
    const { id: projectId } = await service.project();
    const { id } = await createExperiment({ client: service.client, projectId, experimentName: 'logged' });
    const logger = new Logger({ client: service.client, projectId, experimentId: id });
    for (const metrics of [{ score: 1 }, { score: 0 }, { other: 1 }, {}]) await logger.trace('row', () => 'done', { metrics });
    await logger
      .trace('broken', () => {
        throw new Error('broken');
      })
      .catch(() => undefined);
    // A status says the same as an error message.
    for (const statusCode of [500, 404, 302])
      logger.startTrace('of a status', { metrics: { score: 1 } }).conclude('done', { statusCode });
    await logger.flush();
    const at = `/v2/projects/${projectId}/experiments/${id}`;
    const now = () => service.client.send<ExperimentResponse>(at);
    await expect
      .poll(async () => (await now()).aggregate_metric_counts)
      .toMatchObject({
        score: {
          ...{ values: 5, missing: 2, failed: 0, not_applicable: 0 },
          ...{ rows: 8, rows_failed: 3, failed_rows_without_value: 1, failed_rows: 'omit' },
        },
      });
    const worst = await patched(projectId, id, {
      failed_rows: 'worst',
      logged_metrics: [{ name: 'score', direction: 'higher', range: { min: -1, max: 1 } }],
    });
    expect(worst.body.aggregate_metrics.score).toBe((1 + 0 + 3 - 1) / 6);
    // The worst value of a metric without a description is unknown: the figure says so.
    expect(worst.body.aggregate_metric_counts?.other).toMatchObject({ failed_rows: 'omit', worst: null });
    const gate = { experiment_id: id, max_failed: 0.2 };
    const { body } = await service.request('POST', `/v2/projects/${projectId}/experiments/gate`, gate);
    expect(body).toMatchObject({ status: 'failed', experiment: { rows: 8, failed_rows: 3 } });
  });
});
