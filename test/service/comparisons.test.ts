import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { createDataset, createExperiment, HttpStatusError, runExperiment } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { shortened } from '../../shared/records/recordView.ts';
import type { ComparedRowsReply, CompareReply } from '../../shared/wire/comparisons.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

type Reply = z.output<typeof CompareReply>;
type RowsReply = z.output<typeof ComparedRowsReply>;

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service?.[Symbol.asyncDispose]());

interface Row {
  input: string;
  metrics?: Record<string, unknown>;
  failed?: boolean;
  topic?: string;
}

/** An experiment of logged rows. */
async function logged(projectId: string, name: string, rows: readonly Row[], options: object = {}): Promise<string> {
  const { id } = await createExperiment({ client: service.client, projectId, experimentName: name, ...options });
  const traces = rows.map(({ input, metrics = {}, failed, topic }) => ({
    ...{ type: 'trace', id: newId(), input, output: failed ? null : `answer to ${input}`, dataset_input: input, metrics },
    ...(failed ? { error_message: 'it broke', status_code: 500 } : {}),
    ...(topic ? { dataset_metadata: { topic } } : {}),
  }));
  if (rows.length > 0)
    await service.client.send(`/v2/projects/${projectId}/traces`, { body: { experiment_id: id, traces, is_complete: true } });
  return id;
}

const compare = (projectId: string, body: Record<string, unknown>): Promise<Reply> =>
  service.client.send(`/v2/projects/${projectId}/experiments/compare`, { body });

const comparedPage = (projectId: string, body: Record<string, unknown>): Promise<RowsReply> =>
  service.client.send(`/v2/projects/${projectId}/experiments/compare/rows`, { body });

async function datasetOf(projectId: string, name: string, rows: readonly object[]): Promise<{ id: string }> {
  const file = new Blob([rows.map((row) => JSON.stringify(row)).join('\n')]);
  return createDataset({ client: service.client, projectId, name, file, format: 'jsonl' });
}

/** Returns what a refused comparison says. */
const refusal = (projectId: string, body: Record<string, unknown>): Promise<string> =>
  compare(projectId, body).then(
    () => 'it was answered',
    (err: unknown) => (err instanceof HttpStatusError ? `${err.status} ${JSON.stringify(err.body)}` : String(err)),
  );

const only = (reply: Reply, metric: string) => {
  const found = reply.comparisons.filter((one) => one.metric === metric);
  expect(found).toHaveLength(1);
  return found[0] as Reply['comparisons'][number];
};

const rowsOf = (count: number, metrics: (index: number) => Record<string, unknown>): Row[] =>
  Array.from({ length: count }, (_, index) => ({ input: `question ${index}`, metrics: metrics(index) }));

describe('an experiment against its baseline', () => {
  test('booleans: who is better, on how many rows, and how sure that is', async () => {
    const { id } = await service.project();
    const baseline = await logged(
      id,
      'old',
      rowsOf(40, (n) => ({ right: n < 10 })),
    );
    const other = await logged(
      id,
      'new',
      rowsOf(40, (n) => ({ right: n >= 2 && n < 32 })),
    );
    const reply = await compare(id, { baseline_id: baseline, experiment_ids: [other], metrics: ['right'] });
    expect(reply.experiments).toMatchObject([{ id: other, matched_by: 'dataset_input', matched_rows: 40, changed_rows: 0 }]);
    expect(reply).toMatchObject({ is_partial: false, level: 0.95, seed: 0, warnings: [] });
    const found = only(reply, 'right');
    expect(found).toMatchObject({
      ...{ experiment_id: other, type: 'boolean', test: 'mcnemar', rows: 40, better: 22, worse: 2, same: 16, missing: 0 },
      ...{ baseline_mean: 0.25, mean: 0.75, difference: 0.5, verdict: 'better', direction: 'higher', direction_assumed: true },
    });
    // 2 P(X <= 2), X ~ Bin(24, 1/2)
    expect(found.p_value).toBeCloseTo((2 * (1 + 24 + 276)) / 2 ** 24, 12);
    expect(found.p_adjusted).toBe(found.p_value);
    expect(found.interval?.low).toBeGreaterThan(0.25);
    expect(found.interval?.high).toBeLessThan(0.75);
    expect(found.sentence).toMatch(
      /^new is better than old in right; 75\.0 % against 25\.0 %, a difference of \+50\.0 points \(95 % interval \+\d\d\.\d points to \+\d\d\.\d points\); 22 rows better, 2 worse, 16 the same; p < 0\.001\./,
    );
    expect(found.sentence).toContain('Nobody has said which values are better');
    expect(await compare(id, { baseline_id: other, experiment_ids: [baseline], metrics: ['right'] })).toMatchObject({
      comparisons: [{ better: 2, worse: 22, difference: -0.5, verdict: 'worse', p_value: found.p_value }],
    });
  });

  test('too few rows say about how many would decide, which as many rows of the kind then do', async () => {
    const { id } = await service.project();
    const pair = async (count: number) => {
      const sideOf = (name: string, isRight: (n: number) => boolean) =>
        logged(
          id,
          `${name} ${count}`,
          rowsOf(count, (n) => ({ right: isRight(n % 20), duration_ns: 1e9 })),
        );
      // 3 of 20 rows are better and 1 is worse.
      const [baseline, other] = [await sideOf('old', (n) => n > 2), await sideOf('new', (n) => n !== 19)];
      return only(await compare(id, { baseline_id: baseline, experiment_ids: [other], metrics: ['right'] }), 'right');
    };
    const few = await pair(40);
    const { rows_to_decide: needed } = few;
    expect(few).toMatchObject({ verdict: 'no difference shown', unit: null, measured: false, difference: 0.1 });
    expect(needed).toBeGreaterThan(40);
    expect(few.sentence).toContain(`If the difference stays as it is, about ${needed} rows would show it.`);
    const enough = await pair(20 * Math.ceil((1.3 * (needed ?? 0)) / 20));
    expect(enough).toMatchObject({ verdict: 'better', rows_to_decide: null });
  });

  test('numbers by sign flips, in the direction that was said, corrected over experiments and metrics', async () => {
    const { id } = await service.project();
    const at = `/v2/projects/${id}/experiments`;
    const create = async (name: string) =>
      (
        await service.client.send<{ id: string }>(at, {
          body: { name, logged_metrics: [{ name: 'errors', direction: 'lower' }] },
        })
      ).id;
    const ids = [await create('old'), await create('new'), await create('same')];
    for (const [side, experiment_id] of ids.entries()) {
      const traces = Array.from({ length: 8 }, (_, n) => ({
        ...{ type: 'trace', input: `q${n}`, output: 'a' },
        metrics: { errors: side === 1 ? n + 1 : n + 2, duration_ns: 1e9 * (1 + (n % 2) + side), cost: 0.01 },
      }));
      await service.client.send(`/v2/projects/${id}/traces`, { body: { experiment_id, traces, is_complete: true } });
    }
    const reply = await compare(id, { baseline_id: ids[0], experiment_ids: ids.slice(1) });
    const of = (experiment: string | undefined, metric: string) =>
      reply.comparisons.find((one) => one.experiment_id === experiment && one.metric === metric);
    expect(reply.experiments[0]?.matched_by).toBe('input');
    // Two of 256 flips: the one found and its opposite.
    expect(of(ids[1], 'errors')).toMatchObject({
      ...{ test: 'sign_flip', p_value: 2 / 256, difference: -1, better: 8, worse: 0, detectable: null, direction: 'lower' },
      direction_assumed: false,
    });
    expect(of(ids[2], 'errors')).toMatchObject({ difference: 0, p_value: 1, verdict: 'no difference shown', same: 8 });
    const duration = of(ids[2], 'duration_ns');
    expect(duration).toMatchObject({ direction: 'lower', worse: 8, baseline_p50: 1.5e9, p50: 3.5e9, baseline_p95: 2e9 });
    expect(duration?.sentence).toContain('3.5 s against 1.5 s');
    expect(of(ids[1], 'cost')).toMatchObject({ difference: 0, detectable: null, p_value: 1 });
    const tested = reply.comparisons.filter(({ p_value }) => p_value !== null);
    const least = Math.min(...tested.map(({ p_value }) => p_value ?? 1));
    expect(of(ids[1], 'errors')?.p_adjusted).toBeCloseTo(tested.length * least, 12);
  });

  test('categories by the test of Stuart and Maxwell, with the table', async () => {
    const { id } = await service.project();
    const tones = ['calm', 'angry', 'happy'];
    const baseline = await logged(
      id,
      'old',
      rowsOf(60, (n) => ({ mood: tones[n % 3] })),
    );
    const other = await logged(
      id,
      'new',
      rowsOf(60, (n) => ({ mood: n % 2 === 0 ? 'calm' : tones[n % 3] })),
    );
    const reply = await compare(id, { baseline_id: baseline, experiment_ids: [other], metrics: ['mood'] });
    expect(only(reply, 'mood')).toMatchObject({
      ...{ type: 'category', test: 'stuart_maxwell', rows: 60, same: 40, better: null, differs: true, verdict: null },
      table: {
        categories: ['angry', 'calm', 'happy'],
        counts: [
          [10, 10, 0],
          [0, 20, 0],
          [0, 10, 10],
        ],
      },
    });
  });

  test('the n-th occurrence of an input is matched with the n-th, and what is on one side only is missing', async () => {
    const { id } = await service.project();
    const row = (input: string, score: number): Row => ({ input, metrics: { score } });
    const baseline = await logged(id, 'old', [row('a', 0.1), row('a', 0.2), row('b', 0.3), row('only old', 1)]);
    const other = await logged(id, 'new', [row('b', 0.4), row('a', 0.2), row('a', 0.4), row('a', 0.9)]);
    const reply = await compare(id, { baseline_id: baseline, experiment_ids: [other], metrics: ['score'] });
    expect(reply.experiments).toMatchObject([{ matched_rows: 3, only_in_baseline: 1, only_in_experiment: 1 }]);
    expect(only(reply, 'score')).toMatchObject({ rows: 3, missing: 2, better: 3, baseline_mean: expect.closeTo(0.2, 12) });
  });

  test('slices are exploratory, and small ones warn', async () => {
    const { id } = await service.project();
    const of = (right: (n: number) => boolean): Row[] =>
      rowsOf(40, (n) => ({ right: right(n) })).map((row, n) => ({ ...row, topic: n < 8 ? 'sums' : 'words' }));
    const baseline = await logged(
      id,
      'old',
      of(() => false),
    );
    const other = await logged(
      id,
      'new',
      of((n) => n >= 8),
    );
    const body = { baseline_id: baseline, experiment_ids: [other], metrics: ['right'], slices: ['dataset_metadata/topic'] };
    const { comparisons } = await compare(id, body);
    expect(comparisons.map(({ slice, exploratory, rows, better }) => [slice?.value ?? null, exploratory, rows, better])).toEqual([
      [null, false, 40, 32],
      ['words', true, 32, 32],
      ['sums', true, 8, 0],
    ]);
    expect(comparisons[1]).toMatchObject({ p_adjusted: null, warnings: [], verdict: 'better' });
    expect(comparisons[1]?.sentence).toContain('where dataset_metadata/topic is words');
    expect(comparisons[1]?.sentence).toContain('exploratory');
    expect(comparisons[2]?.warnings).toEqual(['only 8 rows: a small slice differs easily by chance']);
    expect(await compare(id, { ...body, slices: ['topic'] })).toMatchObject({ comparisons: { length: 3 } });
    const inSlice = (value: string, column = 'dataset_metadata/topic') =>
      comparedPage(id, {
        baseline_id: baseline,
        experiment_id: other,
        sort: { metric: 'right' },
        slice: { column, value },
        limit: 1,
      });
    expect(await inSlice('words')).toMatchObject({ total: 32, rows: { length: 1 } });
    expect(await inSlice('sums', 'topic')).toMatchObject({ total: 8 });
    expect(await inSlice("it's none")).toMatchObject({ total: 0 });
    await expect(inSlice('a', 'input')).rejects.toThrow('cannot be sliced by input');
    expect(await refusal(id, { ...body, slices: ['dataset_metadata/unknown'] })).toMatch(/^422.*no compared row has a value of/);
    expect(await refusal(id, { ...body, slices: ['no_column/x'] })).toMatch(/^422.*there is no column/);
    expect(await refusal(id, { ...body, slices: ['input'] })).toMatch(/^422.*cannot be sliced by input/);
  });

  test('failed rows count as nothing, or as the worst value', async () => {
    const { id } = await service.project();
    const at = `/v2/projects/${id}/experiments`;
    const { id: baseline } = await service.client.send<{ id: string }>(at, {
      body: { name: 'old', logged_metrics: [{ name: 'grade', direction: 'higher', range: { min: 1, max: 5 } }] },
    });
    const traces = Array.from({ length: 10 }, (_, n) => ({
      input: `question ${n}`,
      dataset_input: `question ${n}`,
      metrics: { grade: 3 },
    }));
    await service.client.send(`/v2/projects/${id}/traces`, { body: { experiment_id: baseline, traces, is_complete: true } });
    const rows = rowsOf(10, () => ({ grade: 4, other: 1 })).map(
      // One of the failed rows has a grade all the same, which is the one that counts.
      (row, n): Row => (n < 4 ? { input: row.input, failed: true } : { ...row, failed: n === 4 }),
    );
    const other = await logged(id, 'new', rows);
    const body = { baseline_id: baseline, experiment_ids: [other], metrics: ['grade'] };
    expect(only(await compare(id, body), 'grade')).toMatchObject({ rows: 6, missing: 4, difference: 1, failed_rows: 'omit' });
    const worst = only(await compare(id, { ...body, failed_rows: 'worst' }), 'grade');
    expect(worst).toMatchObject({ rows: 10, missing: 0, better: 6, worse: 4, failed_rows: 'worst' });
    expect(worst.difference).toBeCloseTo((6 * 1 - 4 * 2) / 10, 12);
    expect(await refusal(id, { ...body, metrics: ['other'], failed_rows: 'worst' })).toMatch(/^422.*other has no range/);
    const page = (extra: object) =>
      comparedPage(id, { baseline_id: baseline, experiment_id: other, sort: { metric: 'grade' }, ...extra });
    const worse = { filters: [{ is: 'worse', metric: 'grade' }] };
    const missing = { filters: [{ is: 'missing', metric: 'grade' }] };
    expect(await page(worse)).toMatchObject({ total: 0, failed_rows: 'omit' });
    expect(await page(missing)).toMatchObject({ total: 4 });
    const counted = await page({ failed_rows: 'worst' });
    expect(counted).toMatchObject({ total: 10, failed_rows: 'worst' });
    expect(
      counted.rows
        .slice(0, 4)
        .map(({ input }) => input)
        .sort(),
    ).toEqual(rows.slice(0, 4).map(({ input }) => input));
    expect(await page({ ...worse, failed_rows: 'worst' })).toMatchObject({ total: 4 });
    expect(await page({ ...missing, failed_rows: 'worst' })).toMatchObject({ total: 0 });
    await expect(page({ sort: { metric: 'other' }, failed_rows: 'worst' })).rejects.toThrow('other has no range');
    const scales = ['grade', 'other'].map((name) => ({ name, direction: 'higher', range: { min: 1, max: 5 } }));
    await service.client.send(`${at}/${other}`, { method: 'PATCH', body: { failed_rows: 'worst', logged_metrics: scales } });
    expect(only(await compare(id, body), 'grade')).toMatchObject({ rows: 10, failed_rows: 'worst' }); // as the experiment says
    expect(await page(worse)).toMatchObject({ total: 4, failed_rows: 'worst' });
    expect(await page({ ...worse, failed_rows: 'omit' })).toMatchObject({ total: 0, failed_rows: 'omit' });
  });

  test('cost and tokens that are on the spans of the rows alone are compared, in all and row by row', async () => {
    const { id } = await service.project();
    const priced = async (name: string, cost: number, tokens: number) => {
      const experiment = await createExperiment({ client: service.client, projectId: id, experimentName: name });
      const call = { type: 'llm', name: 'ask', input: 'q', output: 'a' };
      const traces = Array.from({ length: 12 }, (_, n) => ({
        ...{ type: 'trace', id: newId(), input: `question ${n}`, dataset_input: `question ${n}`, output: 'a' },
        ...{ metrics: { duration_ns: 1e9 }, name: 'row' },
        spans: [1, 2].map((part) => ({
          ...call,
          metrics: { cost: (cost * part) / 3 + n / 1e6, num_output_tokens: tokens * part, num_total_tokens: tokens * part + 5 },
        })),
      }));
      const body = { experiment_id: experiment.id, traces, is_complete: true };
      await service.client.send(`/v2/projects/${id}/traces`, { body });
      return experiment.id;
    };
    const [baseline, other] = [await priced('cheap', 0.003, 10), await priced('dear', 0.006, 20)];
    const reply = await compare(id, { baseline_id: baseline, experiment_ids: [other] });
    expect(only(reply, 'cost')).toMatchObject({ rows: 12, better: 0, worse: 12, missing: 0, verdict: 'worse' });
    expect(only(reply, 'cost').difference).toBeCloseTo(0.003, 12);
    expect(only(reply, 'num_output_tokens')).toMatchObject({ baseline_mean: 30, mean: 60 });
    expect(only(reply, 'duration_ns')).toMatchObject({ baseline_mean: 1e9, mean: 1e9, rows: 12 });
    const { rows } = await comparedPage(id, { baseline_id: baseline, experiment_id: other, sort: { metric: 'cost' } });
    expect(rows).toHaveLength(12);
    const costs = rows.map((row) => [row.baseline[0]?.cost ?? 0, row.experiment[0]?.cost ?? 0] as const);
    for (const [before, after] of costs) expect(after - before).toBeCloseTo(0.003, 12);
  });

  test('is kept until either side changes', async () => {
    const { id } = await service.project();
    const baseline = await logged(
      id,
      'old',
      rowsOf(3, () => ({ score: 0 })),
    );
    const other = await logged(
      id,
      'new',
      rowsOf(3, () => ({ score: 1 })),
    );
    const body = { baseline_id: baseline, experiment_ids: [other], metrics: ['score'] };
    // The figures of the lists come a moment later.
    await expect.poll(async () => only(await compare(id, body), 'score').aggregate).toBe(1);
    const first = await compare(id, body);
    expect(await compare(id, body)).toEqual(first);
    const trace = { input: 'question 3', dataset_input: 'question 3', metrics: { score: 0.5 } };
    for (const experiment_id of [baseline, other])
      await service.client.send(`/v2/projects/${id}/traces`, { body: { experiment_id, traces: [trace], is_complete: true } });
    expect(only(await compare(id, body), 'score')).toMatchObject({ rows: 4, same: 1 });
  });
});

describe('rows of a dataset', () => {
  test('are matched by their ids, and told apart where their content changed', async () => {
    const { id: projectId } = await service.project();
    const { client } = service;
    const dataset = await datasetOf(
      projectId,
      'edited',
      Array.from({ length: 6 }, (_, n) => ({ input: `q${n}`, output: `${n}` })),
    );
    const run = (experimentName: string) =>
      runExperiment({
        ...{ client, projectId, experimentName, datasetId: dataset.id, metrics: ['exact_match'] },
        function: (input: string) => (experimentName === 'new' ? input.slice(1) : 'wrong'),
      });
    const before = await run('old');
    const content = await client.send<{ rows: { row_id: string }[] }>(`/datasets/${dataset.id}/content`);
    const edits = [{ edit_type: 'update_row', row_id: content.rows[2]?.row_id, values: { input: 'q22' } }];
    await client.send(`/datasets/${dataset.id}/content`, { method: 'PATCH', body: { edits } });
    const after = await run('new');
    const body = { baseline_id: before.experiment.id, experiment_ids: [after.experiment.id] };
    const reply = await compare(projectId, body);
    expect(reply.experiments).toMatchObject([
      { matched_by: 'dataset_row', matched_rows: 5, changed_rows: 1, only_in_baseline: 0 },
    ]);
    expect(only(reply, 'exact_match')).toMatchObject({
      ...{ rows: 5, better: 5, worse: 0, changed_rows: 1, p_value: 2 / 32, direction: 'higher', direction_assumed: false },
      aggregate: expect.closeTo(5 / 6, 9),
      mean: 1,
    });
  });

  test('are averaged over their trials before they are compared', async () => {
    const { id: projectId } = await service.project();
    const { client } = service;
    const rows = Array.from({ length: 7 }, (_, n) => ({ input: `q${n}`, output: `q${n}` }));
    const dataset = await datasetOf(projectId, 'compared trials', rows);
    const asked = new Map<string, number>();
    const common = { client, projectId, datasetId: dataset.id, metrics: ['exact_match'] };
    const once = await runExperiment({ ...common, experimentName: 'once', function: () => 'wrong' });
    // Each row is right in one trial of two; only q6 in neither.
    const twice = await runExperiment({
      ...{ ...common, experimentName: 'twice', trials: 2 },
      function: (input: string) => {
        asked.set(input, (asked.get(input) ?? 0) + 1);
        return asked.get(input) === 1 && input !== 'q6' ? input : 'wrong';
      },
    });
    const [baseline_id, experiment] = [once.experiment.id, twice.experiment.id];
    const reply = await compare(projectId, { baseline_id, experiment_ids: [experiment], metrics: ['exact_match'] });
    expect(reply.experiments).toMatchObject([{ matched_by: 'dataset_row', rows: 14, matched_rows: 7, only_in_experiment: 0 }]);
    // Six differences of 0.5: of their 64 flips the one found and its opposite. McNemar's test is for one answer of each row.
    expect(only(reply, 'exact_match')).toMatchObject({
      ...{ rows: 7, test: 'sign_flip', p_value: 2 / 64, better: 6, worse: 0, same: 1, missing: 0, verdict: 'better' },
      ...{ baseline_mean: 0, mean: expect.closeTo(3 / 7, 12), difference: expect.closeTo(3 / 7, 12) },
    });
    const page = await comparedPage(projectId, { baseline_id, experiment_id: experiment, sort: { metric: 'exact_match' } });
    expect(page).toMatchObject({ total: 7, rows: { 0: { input: 'q6' } } });
    for (const row of page.rows) {
      expect(row.experiment.map(({ trial }) => trial)).toEqual([0, 1]);
      expect(row.experiment.filter(({ output }) => output === 'wrong')).toHaveLength(row.input === 'q6' ? 2 : 1);
    }
  });

  test('of another dataset are matched by what they ask, which is said', async () => {
    const { id: projectId } = await service.project();
    const run = async (name: string, rows: { input: string; output: string }[]) => {
      const { id: datasetId } = await datasetOf(projectId, name, rows);
      const common = { client: service.client, projectId, experimentName: name, metrics: ['exact_match'] };
      return (await runExperiment({ ...common, datasetId, function: (input: string) => input })).experiment.id;
    };
    const baseline_id = await run('first', [
      { input: 'a', output: 'a' },
      { input: 'b', output: 'x' },
    ]);
    const second = await run('second', [
      { input: 'b', output: 'b' },
      { input: 'c', output: 'c' },
    ]);
    const third = await run('third', [{ input: 'd', output: 'd' }]);
    const reply = await compare(projectId, { baseline_id, experiment_ids: [second], metrics: ['exact_match'] });
    expect(reply.experiments).toMatchObject([{ matched_by: 'dataset_input', matched_rows: 1, only_in_baseline: 1 }]);
    expect(reply.warnings).toEqual(['second ran another dataset than the baseline: rows were matched by their input']);
    expect(only(reply, 'exact_match')).toMatchObject({ rows: 1, missing: 2, better: 1 });
    expect(await refusal(projectId, { baseline_id, experiment_ids: [third] })).toMatch(
      /^422.*third and first have no row in common/,
    );
  });
});

describe('what cannot be compared is told clearly', () => {
  let project: string;
  let baseline: string;
  beforeAll(async () => {
    project = (await service.project()).id;
    baseline = await logged(
      project,
      'old',
      rowsOf(5, (n) => ({ score: n, mixed: n, long: `text ${n}` })),
    );
  });

  test('experiments of other projects, unknown ones, the baseline itself, one named twice', async () => {
    const elsewhere = (await service.project()).id;
    const foreign = await logged(
      elsewhere,
      'foreign',
      rowsOf(5, () => ({ score: 1 })),
    );
    const other = await logged(
      project,
      'new',
      rowsOf(5, () => ({ score: 1 })),
    );
    const body = { baseline_id: baseline, experiment_ids: [foreign] };
    const gone = await refusal(project, body);
    expect(gone).toMatch(new RegExp(`^404.*no experiment ${foreign} in this project`));
    expect(gone).toContain(`"context":{"experiment_id":"${foreign}"}`);
    expect(await refusal(project, { ...body, experiment_ids: [baseline] })).toMatch(/^422.*is the baseline itself/);
    expect(await refusal(project, { ...body, experiment_ids: [other, other] })).toMatch(/^422.*is named twice/);
    expect(await refusal(project, { ...body, experiment_ids: [] })).toMatch(/^422/);
    expect(await refusal(project, { ...body, baselineid: 1 })).toMatch(/^422.*there is no key/);
    expect(await refusal(project, { baseline_id: baseline, experiment_ids: [other], metrics: ['scoer'] })).toMatch(
      /^422.*no row of these experiments has a value of.*the closest are score/,
    );
  });

  test('no common rows, also of another dataset', async () => {
    const rows = Array.from({ length: 4 }, (_, n) => ({ input: `another ${n}`, metrics: { score: 1 } }));
    const other = await logged(project, 'of another dataset', rows);
    expect(await refusal(project, { baseline_id: baseline, experiment_ids: [other] })).toMatch(
      /^422.*of another dataset and old have no row in common: 4 and 5 rows were matched by their dataset input/,
    );
  });

  test('one row, and nothing but ties', async () => {
    const one = await logged(project, 'one row', [{ input: 'question 0', metrics: { score: 9 } }]);
    const same = await logged(
      project,
      'the same',
      rowsOf(5, (n) => ({ score: n })),
    );
    const reply = await compare(project, { baseline_id: baseline, experiment_ids: [one, same], metrics: ['score'] });
    expect(reply.comparisons).toMatchObject([
      { rows: 1, p_value: 1, detectable: null, verdict: 'no difference shown', warnings: ['one row shows nothing but itself'] },
      { rows: 5, same: 5, p_value: 1, detectable: null, verdict: 'no difference shown', interval: { low: 0, high: 0 } },
    ]);
  });

  test('infinite and missing scores are left out, and counted', async () => {
    const { id } = await createExperiment({ client: service.client, projectId: project, experimentName: 'infinite' });
    const body = (n: number) =>
      `{"input": "question ${n}", "dataset_input": "question ${n}", "metrics": {"score": ${n === 0 ? '1e999' : n === 1 ? 'null' : n}}}`;
    const traces = Array.from({ length: 5 }, (_, n) => body(n)).join(',');
    const { status } = await service.request(
      'POST',
      `/v2/projects/${project}/traces`,
      `{"experiment_id": "${id}", "is_complete": true, "traces": [${traces}]}`,
    );
    expect(status).toBe(200);
    const nan = `{"experiment_id": "${id}", "is_complete": true, "traces": [{"input": "question 0", "metrics": {"score": NaN}}]}`;
    const refused = await service.request('POST', `/v2/projects/${project}/traces`, nan);
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([422, expect.stringContaining('NaN')]);
    const found = only(await compare(project, { baseline_id: baseline, experiment_ids: [id], metrics: ['score'] }), 'score');
    expect(found).toMatchObject({ rows: 3, missing: 2, same: 3 });
  });

  test('values of different types under one name, and texts that are no categories', async () => {
    const other = await logged(
      project,
      'texts',
      rowsOf(5, (n) => ({ mixed: `label ${n % 2}` })),
    );
    const found = only(await compare(project, { baseline_id: baseline, experiment_ids: [other], metrics: ['mixed'] }), 'mixed');
    expect(found).toMatchObject({ type: null, test: null, p_value: null, verdict: 'no difference shown', rows: 0 });
    expect(found.sentence).toContain('its values are of type category in the experiment and of type number in the baseline');
    const many = await logged(
      project,
      'many',
      rowsOf(60, (n) => ({ text: `a text of its own ${n}` })),
    );
    const more = await logged(
      project,
      'more',
      rowsOf(60, (n) => ({ text: `another text ${n}` })),
    );
    const texts = only(await compare(project, { baseline_id: many, experiment_ids: [more], metrics: ['text'] }), 'text');
    expect(texts).toMatchObject({
      test: null,
      warnings: ['it has more than 50 different values, which is no list of categories'],
    });
  });

  test('rows that all failed', async () => {
    const failed = await logged(
      project,
      'broken',
      rowsOf(5, () => ({})).map((row) => ({ ...row, failed: true })),
    );
    const reply = await compare(project, { baseline_id: failed, experiment_ids: [baseline], metrics: ['score'] });
    expect(reply.warnings).toEqual(['all 5 rows of broken failed']);
    expect(reply.baseline).toMatchObject({ rows: 5, failed_rows: 5 });
    expect(only(reply, 'score')).toMatchObject({ rows: 0, missing: 5, p_value: null, verdict: 'no difference shown' });
    expect(only(reply, 'score').sentence).toBe(
      'old and broken cannot be compared in score: no row has a value in both broken and old, 5 have one in one of them.',
    );
  });

  test('a thousand metrics', async () => {
    // A project of its own: every look at the columns of another would be at these, too.
    const { id: wideProject } = await service.project();
    const metrics = (n: number) => Object.fromEntries(Array.from({ length: 1_000 }, (_, m) => [`m${m}`, (n * m) % 7]));
    const wide = await logged(wideProject, 'wide', rowsOf(3, metrics));
    const wider = await logged(
      wideProject,
      'wider',
      rowsOf(3, (n) => metrics(n + 1)),
    );
    const body = { baseline_id: wide, experiment_ids: [wider] };
    expect((await compare(wideProject, body)).comparisons.filter(({ rows }) => rows === 3)).toHaveLength(1_000);
    const third = await logged(wideProject, 'third', rowsOf(3, metrics));
    expect(await refusal(wideProject, { ...body, experiment_ids: [wider, third] })).toMatch(
      /^422.*1\d{3} metrics of 2 experiments are 2\d{3} comparisons, and at most 2000 are made: name fewer/,
    );
    // Those of one metric are made all the same.
    const experiment_ids = [wider, third];
    expect(await compare(wideProject, { ...body, experiment_ids, metrics: ['m0'] })).toMatchObject({
      comparisons: { length: 2 },
    });
  });

  test('fifty experiments', async () => {
    const names = Array.from({ length: 50 }, (_, n) => `try ${n}`);
    const ids = await Promise.all(
      names.map((name, n) =>
        logged(
          project,
          name,
          rowsOf(5, (row) => ({ score: row + n })),
        ),
      ),
    );
    const all = await compare(project, { baseline_id: baseline, experiment_ids: ids, metrics: ['score'] });
    expect(all.comparisons.map(({ difference }) => difference)).toEqual(names.map((_, n) => n));
    const wide = await logged(
      project,
      'one more',
      rowsOf(5, () => ({ score: 1 })),
    );
    expect(await refusal(project, { baseline_id: baseline, experiment_ids: [...ids, wide] })).toMatch(/^422/);
  });

  test('a baseline that still runs is compared so far, and flagged', async () => {
    let release = () => {};
    const open = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begun = 0;
    const running = runExperiment({
      ...{ client: service.client, projectId: project, experimentName: 'running', concurrency: 8 },
      dataset: Array.from({ length: 4 }, (_, n) => ({ input: `question ${n}`, output: String(n) })),
      function: async (input: string) => {
        begun += 1;
        if (input !== 'question 0') await open;
        return '0';
      },
      metrics: ['exact_match'],
    });
    await expect.poll(() => begun).toBe(4);
    const list = await service.client.send<{ id: string; name: string }[]>(`/v2/projects/${project}/experiments`);
    const id = list.find(({ name }) => name === 'running')?.id as string;
    const reply = await compare(project, { baseline_id: id, experiment_ids: [baseline] });
    expect(reply).toMatchObject({ is_partial: true, baseline: { is_running: true } });
    expect(reply.warnings[0]).toMatch(/^running still runs: compared so far, with \d of 4 rows$/);
    release();
    await running;
    expect(await compare(project, { baseline_id: id, experiment_ids: [baseline] })).toMatchObject({
      is_partial: false,
      experiments: [{ matched_rows: 4 }],
    });
  });
});

describe('row by row', () => {
  const rows = comparedPage;
  const inputs = ({ rows: found }: RowsReply) => found.map(({ input }) => String(input));

  test('the largest loss comes first; filters, pages, and what each side said', async () => {
    const { id } = await service.project();
    const scores = [0.1, 0.9, 0.5, 0.4];
    const row = (n: number, score: number | undefined, extra: object = {}) => ({
      ...{
        type: 'trace',
        id: newId(),
        input: `asked ${n}`,
        output: `said ${score}`,
        dataset_input: `q${n}`,
        dataset_output: `a${n}`,
      },
      metrics: { ...(score === undefined ? {} : { score }), duration_ns: 1_000 + n, mood: n % 2 ? 'calm' : `mood ${score}` },
      ...extra,
    });
    const { id: baseline } = await createExperiment({ client: service.client, projectId: id, experimentName: 'old' });
    const { id: other } = await createExperiment({ client: service.client, projectId: id, experimentName: 'new' });
    const log = (experiment_id: string, traces: object[]) =>
      service.client.send(`/v2/projects/${id}/traces`, { body: { experiment_id, traces, is_complete: true } });
    await log(baseline, [...scores.map((score, n) => row(n, score)), row(4, 0.5), row(5, 0.7)]);
    const failed = { error_message: 'it broke', status_code: 500 };
    await log(other, [...[0.3, 0.2, 0.5, 0.3].map((score, n) => row(n, score)), row(4, undefined, failed)]);
    const body = { baseline_id: baseline, experiment_id: other, sort: { metric: 'score' } };
    const all = await rows(id, body);
    expect(inputs(all)).toEqual(['q1', 'q3', 'q2', 'q0', 'q4', 'q5']);
    expect(all).toMatchObject({ total: 6, sorted_by: 'score', paginated: false, next_starting_token: null });
    expect(all.rows[0]).toMatchObject({
      ...{ input: 'q1', reference: 'a1', content_changed: false },
      baseline: [{ output: 'said 0.9', error_message: '', duration_ns: 1_001, cost: null, scores: { score: { value: 0.9 } } }],
      experiment: [{ output: 'said 0.2', scores: { score: { value: 0.2 }, mood: { value: 'calm' } } }],
    });
    expect(all.rows[5]).toMatchObject({ input: 'q5', experiment: [] });
    const filtered = (is: string, metric?: string) => rows(id, { ...body, filters: [metric ? { is, metric } : { is }] });
    expect(inputs(await filtered('worse', 'score'))).toEqual(['q1', 'q3']);
    expect(inputs(await filtered('better', 'score'))).toEqual(['q0']);
    expect(inputs(await filtered('changed', 'score'))).toEqual(['q1', 'q3', 'q0']);
    expect(inputs(await filtered('missing', 'score'))).toEqual(['q4', 'q5']);
    expect(inputs(await filtered('failed'))).toEqual(['q4']);
    expect(inputs(await filtered('changed', 'mood'))).toEqual(['q0', 'q4']);
    expect(inputs(await filtered('content_changed'))).toEqual([]);
    const byDefault = await rows(id, {
      baseline_id: baseline,
      experiment_id: other,
      filters: [{ is: 'worse', metric: 'score' }],
    });
    expect(byDefault).toMatchObject({ sorted_by: 'score', total: 2 });
    const pages: string[] = [];
    for (let token: number | null = 0; token !== null; ) {
      const page: RowsReply = await rows(id, { ...body, starting_token: token, limit: 4 });
      pages.push(...inputs(page));
      token = page.next_starting_token;
    }
    expect(pages).toEqual(inputs(all));
    expect(inputs(await rows(id, { ...body, sort: { metric: 'score', ascending: true } })).slice(0, 2)).toEqual(['q0', 'q2']);
    const refused = await service.request('POST', `/v2/projects/${id}/experiments/compare/rows`, {
      ...body,
      filters: [{ is: 'worse' }],
    });
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([422, expect.stringContaining('name the metric')]);
  });

  test('long texts are cut where the request asks for it', async () => {
    const { id } = await service.project();
    const [baseline, other] = await Promise.all(
      ['old', 'new'].map(async (name) => {
        const { id: experiment_id } = await createExperiment({ client: service.client, projectId: id, experimentName: name });
        const trace = { input: 'q', output: `${name} `.repeat(1_000), metrics: { score: 1 } };
        await service.client.send(`/v2/projects/${id}/traces`, { body: { experiment_id, traces: [trace], is_complete: true } });
        return experiment_id;
      }),
    );
    const body = { baseline_id: baseline, experiment_id: other };
    const lengths = ({ rows: [row] }: RowsReply) =>
      [row?.baseline[0]?.output, row?.experiment[0]?.output].map((text) => String(text).length);
    expect(lengths(await rows(id, body))).toEqual([4_000, 4_000]);
    const cut = await rows(id, { ...body, truncate_fields: true });
    expect([lengths(cut), cut.rows[0]?.input]).toEqual([[1_001, 1_001], 'q']);
    expect(String(cut.rows[0]?.experiment[0]?.output)).toMatch(/^new .*…$/);
  });

  test('a text that is read in part is cut where the whole would be, and JSON stays JSON', async () => {
    const { id } = await service.project();
    const outputs = ['x'.repeat(1_000), 'x'.repeat(1_001), '😀'.repeat(700), `x${'😀'.repeat(700)}`, `${'é\n'.repeat(499)}😀😀`];
    const talk = [{ role: 'assistant', content: 'y'.repeat(3_000) }];
    const [baseline_id, experiment_id] = await Promise.all(
      ['old', 'new'].map(async (name) => {
        const { id: experiment } = await createExperiment({ client: service.client, projectId: id, experimentName: name });
        const traces = [...outputs, talk].map((output, n) => ({
          ...{ input: `${n} ${'in '.repeat(500)}`, output, dataset_output: 'ref '.repeat(n * 100), metrics: { score: 1 } },
          ...(n === 0 && { status_code: 500, error_message: 'e'.repeat(2_000) }),
        }));
        await service.client.send(`/v2/projects/${id}/traces`, {
          body: { experiment_id: experiment, traces, is_complete: true },
        });
        return experiment;
      }),
    );
    const whole = await rows(id, { baseline_id, experiment_id });
    expect(whole.rows).toHaveLength(6);
    const cut = await rows(id, { baseline_id, experiment_id, truncate_fields: true });
    expect(cut.rows).toEqual(shortened(whole.rows));
  });
});
