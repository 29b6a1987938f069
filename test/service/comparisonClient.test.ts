import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  type ComparedRow,
  comparedRows,
  compareExperiments,
  createExperiment,
  type GateResult,
  HttpStatusError,
  NotFoundError,
  type RunExperimentOptions,
  runExperiment,
  ValueError,
} from '../../client/index.ts';
import { builtinByName } from '../../shared/scorers/presets.ts';
import { assay, inShell, type Typed } from '../support/assay.ts';
import { fails, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { modelAt } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
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

describe('the gate', () => {
  interface Row {
    metrics?: Record<string, unknown>;
    failed?: boolean;
  }
  const scales = [
    { name: 'right', direction: 'higher', range: { min: 0, max: 1 } },
    { name: 'seconds', direction: 'lower', range: null },
    { name: 'length', direction: null, range: null },
  ];

  /** An experiment of logged rows, the n-th with the n-th input. */
  async function logged(
    projectId: string,
    name: string,
    rows: readonly Row[],
    tags: Record<string, string> = {},
  ): Promise<string> {
    const at = `/projects/${projectId}/experiments`;
    const { id } = await service.client.send<{ id: string }>(at, { body: { name, logged_metrics: scales } });
    for (const [key, value] of Object.entries(tags))
      await service.client.send(`${at}/${id}/tags`, { body: { key, value, tag_type: 'generic' } });
    const traces = rows.map(({ metrics = {}, failed }, n) => ({
      ...{ type: 'trace', input: `question ${n}`, dataset_input: `question ${n}`, output: failed ? null : 'answer', metrics },
      ...(failed ? { error_message: 'it broke', status_code: 500 } : {}),
    }));
    if (traces.length > 0)
      await service.client.send(`/projects/${projectId}/traces`, { body: { experiment_id: id, traces, is_complete: true } });
    return id;
  }
  const rowsOf = (count: number, metrics: (n: number) => Record<string, unknown>): Row[] =>
    Array.from({ length: count }, (_, n) => ({ metrics: metrics(n) }));
  /** So many of 40 answers are right; as they are numbers, trials and booleans do not matter. */
  const right = (share: number, from = 0): Row[] =>
    rowsOf(40, (n) => ({ right: Number((n + from) % 40 < share), seconds: 1, length: 7 }));

  const gate = (projectId: string, body: Record<string, unknown>): Promise<GateResult> =>
    service.client.send(`/projects/${projectId}/experiments/gate`, { body });
  const refusal = (projectId: string, body: Record<string, unknown>): Promise<string> =>
    gate(projectId, body).then(
      ({ status }) => `answered: ${status}`,
      (err: unknown) => (err instanceof HttpStatusError ? `${err.status} ${JSON.stringify(err.body)}` : String(err)),
    );

  test('fails where a metric dropped, passes where it did not, and says how many rows would tell', async () => {
    const { id } = await service.project();
    const baseline = { experiment_id: await logged(id, 'old', right(36)) };
    const [same, worse, unclear] = [
      await logged(id, 'same', right(36)),
      await logged(id, 'worse', right(16)),
      await logged(id, 'unclear', right(35, 2)),
    ];
    const metrics = [{ metric: 'right', max_drop: 0.05 }];
    const passed = await gate(id, { experiment_id: same, baseline, metrics });
    expect(passed).toMatchObject({ status: 'passed', reasons: [], level: 0.95, baseline: { name: 'old', rows: 40 } });
    expect(passed.checks).toEqual([
      {
        ...{ rule: 'max_drop', metric: 'right', limit: 0.05, status: 'passed', rows: 40, rows_to_decide: null },
        ...{ value: 0.9, baseline_value: 0.9, difference: 0, interval: { low: 0, high: 0, level: 0.95 } },
        reason: 'right is not worse by more than 0.05: 0.9 against 0.9, a difference of +0 (interval +0 to +0, 40 rows)',
      },
    ]);
    const failed = await gate(id, { experiment_id: worse, baseline, metrics });
    expect(failed).toMatchObject({ status: 'failed', checks: [{ difference: -0.5, rows_to_decide: null }] });
    expect(failed.reasons).toEqual([expect.stringMatching(/^right is worse by more than 0\.05: 0\.4 against 0\.9, /)]);
    const undecided = await gate(id, { experiment_id: unclear, baseline, metrics });
    expect(undecided.status).toBe('undecided');
    const needed = undecided.checks[0]?.rows_to_decide as number;
    expect(needed).toBeGreaterThan(40);
    expect(undecided.reasons[0]).toMatch(/^40 rows do not tell whether right is worse by more than 0\.05: .*interval -/);
    expect(undecided.reasons[0]).toContain(`about ${needed} rows would tell if the difference stays as it is`);
  });

  test('has the interval of the comparison, wider with each metric that may drop, and knows that fewer seconds are better', async () => {
    const { id } = await service.project();
    const timed = (seconds: (n: number) => number): Row[] => rowsOf(40, (n) => ({ right: n % 2, seconds: seconds(n) }));
    const baseline = await logged(
      id,
      'old',
      timed((n) => 1 + (n % 3) / 10),
    );
    const slower = await logged(
      id,
      'slower',
      timed((n) => 2 + (n % 4) / 10),
    );
    const metrics = [
      { metric: 'seconds', max_drop: 0.5 },
      { metric: 'right', max_drop: 0 },
      { metric: 'length', max: 10 }, // an absolute limit costs the others nothing
    ];
    await expect(refusal(id, { experiment_id: slower, baseline: { experiment_id: baseline }, metrics })).resolves.toMatch(
      /no row .*length/,
    );
    const found = await gate(id, { experiment_id: slower, baseline: { experiment_id: baseline }, metrics: metrics.slice(0, 2) });
    expect(found.checks.map(({ metric, status }) => [metric, status])).toEqual([
      ['seconds', 'failed'],
      ['right', 'passed'],
    ]);
    const compared = await compareExperiments({
      ...{ client: service.client, projectId: id, baselineId: baseline, experimentIds: [slower] },
      ...{ metrics: ['seconds', 'right'], level: 0.975 },
    });
    expect(found.checks.map(({ interval }) => interval)).toEqual(compared.comparisons.map(({ interval }) => interval));
    const faster = await gate(id, { experiment_id: baseline, baseline: { experiment_id: slower }, metrics: metrics.slice(0, 1) });
    expect(faster.status).toBe('passed');
  });

  test('holds a run against an earlier one of its series: the newest, the approved one, or the one that passed', async () => {
    const { id } = await service.project();
    const time = (hour: number) => `nightly 2026-11-0${hour} at 10:00:00.000`;
    const runs = [
      await logged(id, 'nightly', right(38)),
      await logged(id, time(1), right(20)),
      await logged(id, time(2), right(20)),
      await logged(id, 'nightly 2026', right(1)), // another series
    ] as const;
    const [first, second, third, other] = runs;
    const metrics = [{ metric: 'right', max_drop: 0.1 }];
    const pick = (experiment_id: string, pick: string, tag?: object) =>
      gate(id, { experiment_id, baseline: { pick, tag }, metrics });
    await expect(refusal(id, { experiment_id: first, baseline: { pick: 'newest' }, metrics })).resolves.toMatch(
      /no earlier run of the series .{0,2}"nightly.{0,2}" has ended/,
    );
    await expect(refusal(id, { experiment_id: second, baseline: { pick: 'passed' }, metrics })).resolves.toMatch(
      /has passed its gate/,
    );
    expect(await gate(id, { experiment_id: first, metrics: [{ metric: 'right', min: 0.9 }] })).toMatchObject({
      status: 'passed',
      baseline: null,
      baseline_choice: null,
    });
    expect(await pick(second, 'passed')).toMatchObject({ status: 'failed', baseline: { id: first } });
    // The failing one is the newest, and what comes after it is as bad: only the newest would let it pass.
    expect((await pick(third, 'newest')).baseline?.id).toBe(second);
    expect(await pick(third, 'passed')).toMatchObject({
      status: 'failed',
      baseline: { id: first },
      baseline_choice: 'the newest of the earlier runs of the series "nightly" that passed its gate',
    });
    const approval = (run: string, method: 'PUT' | 'DELETE') =>
      service.client.send(`/projects/${id}/experiments/${run}/approval`, { method });
    await expect(refusal(id, { experiment_id: third, baseline: { pick: 'approved' }, metrics })).resolves.toMatch(
      /assay approve/,
    );
    await approval(second, 'PUT');
    expect(await pick(third, 'approved')).toMatchObject({ baseline: { id: second } });
    await approval(second, 'DELETE');
    await expect(refusal(id, { experiment_id: third, baseline: { pick: 'approved' }, metrics })).resolves.toMatch(/is approved/);
    await expect(approval(crypto.randomUUID(), 'PUT')).rejects.toThrow(NotFoundError);

    const at = (run: string) => service.client.send<Record<string, unknown>>(`/projects/${id}/experiments/${run}`);
    expect(await at(first)).toMatchObject({ series: 'nightly', gate: { status: 'passed' }, approved_at: null });
    expect(await at(second)).toMatchObject({ series: 'nightly', gate: { status: 'failed' } });
    // It passed a gate later, which held it against a run as bad.
    expect(await at(third)).toMatchObject({ series: 'nightly', gate: { status: 'failed' } });
    expect(await at(other)).toMatchObject({ series: 'nightly 2026', gate: null });
    const found = await service.client.send<{ experiments: { id: string }[] }>(`/projects/${id}/experiments/search`, {
      body: {
        filters: [{ name: 'series', operator: 'eq', value: 'nightly' }],
        sort: { name: 'created_at', ascending: true },
      },
    });
    expect(found.experiments.map((one) => one.id)).toEqual([first, second, third]);
    await service.client.send(`/projects/${id}/experiments/${third}`, { method: 'PUT', body: { name: 'kept' } });
    expect(await at(third)).toMatchObject({ name: 'kept', series: 'kept' });
  });

  test('the command takes a name for the newest run of it, its whole name for one, and says which baseline it took', async () => {
    const { id, name } = await service.project();
    const later = 'nightly 2026-11-01 at 10:00:00.000';
    const first = await logged(id, 'nightly', right(40));
    await logged(id, later, right(20));
    const aggregates = async () =>
      (await service.client.send<{ aggregate_metrics: object }>(`/projects/${id}/experiments/${first}`)).aggregate_metrics;
    await expect.poll(aggregates).toMatchObject({ total_responses: 40 });
    const typed: Typed = {
      folder: mkdtempSync(join(tmpdir(), 'assay-series-')),
      environment: { SERVICE_API_URL: service.url, SERVICE_API_KEY: service.apiKey, SERVICE_PROJECT: name },
    };
    onTestFinished(() => rmSync(typed.folder as string, { recursive: true }));
    const command = (...words: string[]) => assay(words, typed);
    const limits = ['--min', 'right=0.9'];
    expect((await command('gate', 'nightly', ...limits)).exitCode).toBe(10);
    const one = await command('compare', 'nightly', later);
    expect(one.stderr).toMatch(/are one experiment: name two that differ/);
    expect((await command('gate', later, ...limits)).exitCode).toBe(10);
    const drop = ['--max-drop', 'right=0.1'];
    expect((await command('gate', 'nightly', '--baseline', 'passed', ...drop)).exitCode).toBe(12);
    const approved = await command('approve', 'nightly');
    expect(approved.stdout).toContain(`${JSON.stringify(later)} is approved`);
    expect((await command('approve', 'nightly', '--revoke')).stdout).toContain('not approved any more');
    for (const baseline of ['newest', 'nightly']) {
      const gated = await command('gate', 'nightly', '--baseline', baseline, ...drop, '--output', 'gate.md');
      expect([baseline, gated.exitCode]).toEqual([baseline, 10]);
      expect(gated.stdout).toContain('against "nightly"\n');
      if (baseline === 'newest')
        expect(gated.stdout).toContain('baseline: the one of the earlier runs of the series "nightly" that ended last');
    }
    expect(readFileSync(join(typed.folder as string, 'gate.md'), 'utf8')).toContain('against **nightly**');
    const shown = await command('watch', 'nightly');
    expect(shown.stdout + shown.stderr).toContain(later);
  });

  test('limits are held against the figure itself, and failed rows against their share', async () => {
    const { id } = await service.project();
    const rows: Row[] = [...rowsOf(18, () => ({ right: 1, seconds: 3 })), { failed: true }, { failed: true }];
    const experiment_id = await logged(id, 'some failed', rows);
    const limits = {
      experiment_id,
      metrics: [
        { metric: 'right', min: 0.95 },
        { metric: 'seconds', min: 1, max: 2 },
      ],
      max_failed: 0.1,
    };
    const found = await gate(id, limits);
    expect(found).toMatchObject({ status: 'failed', baseline: null, experiment: { rows: 20, failed_rows: 2 } });
    expect(found.checks.map(({ rule, status, value, rows: of }) => [rule, status, value, of])).toEqual([
      ['max_failed', 'passed', 0.1, 20],
      ['min', 'passed', 1, 18],
      ['min', 'passed', 3, 18],
      ['max', 'failed', 3, 18],
    ]);
    expect(found.reasons).toEqual(['seconds is 3 over 18 rows, and must be at most 2']);
    expect(await gate(id, { experiment_id, max_failed: 0.05 })).toMatchObject({
      status: 'failed',
      reasons: ['2 of 20 rows failed (10 %), at most 5 % may'],
    });
    const [right] = limits.metrics;
    const worst = await gate(id, { experiment_id, metrics: [right], failed_rows: 'worst' });
    expect(worst.checks).toMatchObject([{ status: 'failed', value: 0.9, rows: 20 }]);
    await service.client.send(`/projects/${id}/experiments/${experiment_id}`, {
      method: 'PATCH',
      body: {
        failed_rows: 'worst',
        logged_metrics: scales.map((one) => ({ ...one, direction: 'higher', range: { min: 0, max: 9 } })),
      },
    });
    expect(await gate(id, { experiment_id, metrics: [right] })).toMatchObject({ status: 'failed', checks: [{ value: 0.9 }] });
    expect(await gate(id, { experiment_id, metrics: [right], failed_rows: 'omit' })).toMatchObject({ status: 'passed' });
  });

  test('does not pass on a few values: a judge that breaks makes no failed rows', async () => {
    const { id } = await service.project();
    const rows = (values: number, failed = 0): Row[] => [
      ...rowsOf(10 - failed, (n) => (n < values ? { right: 1, seconds: 1 } : { seconds: 1 })),
      ...Array<Row>(failed).fill({ failed: true }),
    ];
    const metrics = [
      { metric: 'right', min: 0.5 },
      { metric: 'seconds', max: 2 },
    ];
    const few = await gate(id, { experiment_id: await logged(id, 'few', rows(4)), metrics, max_failed: 0 });
    expect(few.checks.map(({ rule, status }) => [rule, status])).toEqual([
      ['max_failed', 'passed'],
      ['min', 'undecided'],
      ['max', 'passed'],
    ]);
    expect(few).toMatchObject({ status: 'undecided', warnings: ['right: scored 4 of 10 rows, 6 have no value'] });
    expect(few.reasons).toEqual([expect.stringMatching(/^right is 1 over 4 rows, .*; only 4 of 10 rows have a value/)]);
    const half = await logged(id, 'half', rows(5));
    expect(await gate(id, { experiment_id: half, metrics })).toMatchObject({
      status: 'passed',
      warnings: ['right: scored 5 of 10 rows, 5 have no value'],
    });
    const failed = { experiment_id: await logged(id, 'failed', rows(4, 6)), metrics: metrics.slice(0, 1) };
    expect(await gate(id, failed)).toMatchObject({ status: 'undecided', warnings: [] });
    expect(await gate(id, { ...failed, failed_rows: 'worst' })).toMatchObject({ status: 'failed', checks: [{ value: 0.4 }] });
    const all = await logged(id, 'all', rows(10));
    const drop = { metrics: [{ metric: 'right', max_drop: 0.1 }] };
    const ofFew = { experiment_id: half, baseline: { experiment_id: all } };
    expect(await gate(id, { ...ofFew, ...drop })).toMatchObject({ status: 'passed' });
    for (const [experiment_id, baseline] of [
      [few.experiment.id, all],
      [all, few.experiment.id],
    ])
      expect(await gate(id, { experiment_id, baseline: { experiment_id: baseline }, ...drop })).toMatchObject({
        status: 'undecided',
        reasons: [expect.stringMatching(/only 4 of 10 rows have a value/)],
      });
  });

  test('waits for values that are still to be computed, and says how many could not be', async () => {
    const { id } = await service.project();
    const judge = await startModelEndpoint();
    onTestFinished(() => judge.close());
    await modelAt(service.client, 'judge', judge.url, ['judge-1']);
    const experiment_id = await logged(id, 'judged', right(1).slice(0, 4));
    const { promise: asked, resolve: begin } = Promise.withResolvers<void>();
    const { promise: release, resolve: letGo } = Promise.withResolvers<void>();
    judge.otherwise(async (request, response) => {
      begin();
      await release;
      const answer = request.text.includes('question 0') ? says('{"explanation": "it is", "verdict": true}') : fails(400);
      await answer(request, response);
    });
    const { job_ids } = await service.client.send<{ job_ids: string[] }>(`/projects/${id}/recompute-metrics`, {
      body: { experiment_id, scorer_ids: [builtinByName('correctness')?.scorerId] },
    });
    const ask = { experiment_id, metrics: [{ metric: 'correctness', min: 0.5 }] };
    try {
      await asked;
      expect(await refusal(id, ask)).toMatch(/^409 .*\\"judged\\" has 4 values of correctness still to be computed: wait/);
      const other = { experiment_id, metrics: [{ metric: 'right', min: 0 }] };
      expect(await gate(id, other)).toMatchObject({ status: 'passed' });
    } finally {
      letGo();
    }
    await expect
      .poll(() => Promise.all(job_ids.map(async (job) => (await service.client.send<{ status: string }>(`/jobs/${job}`)).status)))
      .toEqual([expect.stringMatching(/completed|failed/)]);
    expect(await gate(id, ask)).toMatchObject({
      ...{ status: 'undecided', warnings: ['correctness: scored 1 of 4 rows, 3 could not be scored'] },
      reasons: [expect.stringMatching(/over 1 row, .*; only 1 of 4 rows have a value/)],
    });
  });

  test('checks the metric that is named, also one that is called like a column', async () => {
    const { id } = await service.project();
    const both = (foo: number, column: number) => rowsOf(12, () => ({ foo, 'metrics/foo': column }));
    const [old, experiment_id] = [await logged(id, 'old', both(1, 1)), await logged(id, 'new', both(1, 0))];
    const baseline = { experiment_id: old };
    const metrics = [
      { metric: 'metrics/foo', max_drop: 0.1 },
      { metric: 'foo', max_drop: 0.1 },
    ];
    const found = await gate(id, { experiment_id, baseline, metrics });
    expect(found.checks.map(({ metric, status }) => [metric, status])).toEqual([
      ['metrics/foo', 'failed'],
      ['foo', 'passed'],
    ]);
  });

  test('takes the experiment with a tag that ended last, and never itself', async () => {
    const { id } = await service.project();
    await logged(id, 'main 1', right(40), { branch: 'main' });
    const newest = await logged(id, 'main 2 🚀', right(30), { branch: 'main', commit: 'c0ffee' });
    await logged(id, 'main without rows', [], { branch: 'main' });
    await logged(id, 'another branch', right(40), { branch: 'mainly' });
    const experiment_id = await logged(id, 'this', right(30), { branch: 'main' });
    await service.client.send(`/projects/${id}/experiments/${newest}`); // stored aggregates are those of the rows
    const body = {
      experiment_id,
      baseline: { tag: { key: 'branch', value: 'main' } },
      metrics: [{ metric: 'right', max_drop: 0 }],
    };
    await vi.waitFor(async () => expect((await gate(id, body)).baseline?.id).toBe(newest), { timeout: 240_000 });
    expect(await gate(id, body)).toMatchObject({
      status: 'passed',
      baseline: { name: 'main 2 🚀', tags: { branch: 'main', commit: 'c0ffee' } },
    });
    const none = { ...body, baseline: { tag: { key: 'branch', value: 'no such' } } };
    expect(await refusal(id, none)).toMatch(/^404 .*no other experiment of this project with the tag branch=no such has ended/);
  });

  test('what has not run to its end passes nothing', async () => {
    const { id } = await service.project();
    const old = await logged(id, 'old', right(36));
    const empty = await logged(id, 'empty', []);
    const failed = await logged(id, 'all failed', Array<Row>(3).fill({ failed: true }));
    const metrics = [{ metric: 'right', max_drop: 0.1, min: 0 }];
    expect(await refusal(id, { experiment_id: empty, max_failed: 1 })).toMatch(/^409 .*\\"empty\\" has no rows: run it first/);
    expect(await refusal(id, { experiment_id: old, baseline: { experiment_id: empty }, metrics })).toMatch(/^409 .*has no rows/);
    expect(await refusal(id, { experiment_id: old, baseline: { experiment_id: failed }, metrics })).toMatch(
      /^422 .*"baseline".*all 3 rows of the baseline \\"all failed\\" failed/,
    );
    const nothing = await gate(id, { experiment_id: failed, baseline: { experiment_id: old }, metrics, max_failed: 1 });
    expect(nothing.status).toBe('failed');
    expect(nothing.checks.map(({ rule, status }) => [rule, status])).toEqual([
      ['max_failed', 'failed'],
      ['max_drop', 'failed'],
      ['min', 'failed'],
    ]);

    const running = await createExperiment({ client: service.client, projectId: id, experimentName: 'running' });
    const at = `/projects/${id}/experiments/${running.id}`;
    await service.client.send(`${at}/run`, { body: { records: [{ input: 'x' }], runner: { kind: 'caller_function' } } });
    expect(await refusal(id, { experiment_id: running.id, max_failed: 1 })).toMatch(/^409 .*\\"running\\" has not ended/);
    expect(await refusal(id, { experiment_id: old, baseline: { experiment_id: running.id }, metrics })).toMatch(
      /^409 .*has not ended/,
    );
    await service.client.send(`${at}/cancel`, { method: 'POST' });
    await vi.waitFor(
      async () =>
        expect(await refusal(id, { experiment_id: running.id, max_failed: 1 })).toMatch(/^409 .*did not run to its end/),
      { timeout: 240_000 },
    );
  });

  test('what cannot be checked is refused, and says why', async () => {
    const { id } = await service.project();
    const [old, experiment_id] = [await logged(id, 'old', right(36)), await logged(id, 'new', right(36))];
    const baseline = { experiment_id: old };
    const right5 = [{ metric: 'right', max_drop: 0.05 }];
    for (const [body, sentence] of [
      [{}, /nothing to check: name metrics, or max_failed/],
      [
        { baseline, metrics: [{ metric: 'right' }] },
        /"metrics",0\].*say how far right may drop \(max_drop\), or what it must reach/,
      ],
      [{ baseline, metrics: [{ metric: 'right', min: 1 }] }, /say how far which metric may drop below the baseline: max_drop/],
      [{ baseline, max_failed: 1 }, /say how far which metric may drop/],
      [{ metrics: right5 }, /"max_drop"\].*a drop is one against a baseline: name it/],
      [{ baseline: {}, metrics: right5 }, /name one thing: experiment_id or tag/],
      [{ baseline: { experiment_id }, metrics: right5 }, /is the experiment itself/],
      [{ baseline, metrics: [...right5, { metric: 'metrics/right', min: 1 }] }, /"metrics",1,"metric"\].*right is named twice/],
      [
        { baseline, metrics: [{ metric: 'length', max_drop: 1 }] },
        /length has no direction, so nobody can say which change is a drop/,
      ],
      [
        { baseline, metrics: [{ metric: 'rihgt', max_drop: 1 }] },
        /no row of these experiments has a value of .*rihgt.*closest are right/,
      ],
      [{ metrics: [{ metric: 'seconds', max: 1 }], failed_rows: 'worst' }, /seconds has no range/],
      [{ metrics: [{ metric: 'right', min: 1, max: 0 }] }, /min is above max/],
      [{ metrics: [{ metric: 'right', max_drop: -1 }] }, /max_drop/],
      [{ metrics: [{ metric: 'right', maxDrop: 1 }] }, /no key .*maxDrop.*closest are max_drop/],
      [{ baseline: { tag: { key: 'a' } }, metrics: right5 }, /"value"/],
    ] as const)
      expect(await refusal(id, { experiment_id, ...body })).toMatch(new RegExp(`^422 .*${sentence.source}`));
    expect(await refusal(id, { experiment_id: id, max_failed: 1 })).toMatch(/^404 /);
  });

  test('runExperiment says whether what it ran is good enough, against the last run of a branch', async () => {
    const { id: projectId } = await service.project();
    const dataset = Array.from({ length: 12 }, (_, n) => ({ input: `q${n}`, output: `q${n}` }));
    const run = (answer: string | undefined, options: Partial<RunExperimentOptions<string, string>>) =>
      runExperiment<string, string>({
        ...{ client: service.client, projectId, experimentName: 'answers', dataset, metrics: ['exact_match'] },
        function: (input) => answer ?? input,
        ...options,
      });
    const baselineTag = { key: 'branch', value: 'main' };
    const gate = { baselineTag, metrics: { exact_match: { maxDrop: 0.1, min: 0.5 } }, maxFailed: 0 };
    const first = await run(undefined, { experimentTags: { branch: 'main' } });
    expect(first.gate).toBeUndefined();
    const same = await run(undefined, { gate });
    expect(same.gate).toMatchObject({ status: 'passed', baseline: { id: first.experiment.id }, reasons: [] });
    const worse = await run('wrong', { gate });
    expect(worse.gate?.checks.map(({ rule, status }) => [rule, status])).toEqual([
      ['max_failed', 'passed'],
      ['max_drop', 'failed'],
      ['min', 'failed'],
    ]);
    const named = await run(undefined, { baseline: worse.experiment.name, gate: { metrics: { exact_match: { maxDrop: 0 } } } });
    expect([named.gate?.status, named.comparison?.baseline.id]).toEqual(['passed', worse.experiment.id]);
    for (const [options, sentence] of [
      [{ gate: { metrics: { exact_match: { maxDrop: 0 } } } }, 'maxDrop needs a baseline or baselineTag'],
      [{ gate, baseline: 'answers' }, 'give baseline or baselineTag, not both'],
      [{ gate, wait: false }, 'a gate waits for the end'],
    ] as const)
      await expect(run(undefined, options)).rejects.toThrow(new ValueError(sentence));
    await expect(run(undefined, { gate: { metrics: { no_such_metric: { min: 1 } } } })).rejects.toThrow(/no_such_metric/);
    const experiments = await service.client.send<unknown[]>(`/projects/${projectId}/experiments`);
    expect(experiments).toHaveLength(5); // only the last of the refused ones has run
  });
});

describe('tags of a build', () => {
  const names = [
    'GITHUB_SHA',
    'GITHUB_HEAD_REF',
    'GITHUB_REF_NAME',
    'GITHUB_RUN_ID',
    'CI_COMMIT_SHA',
    'CI_COMMIT_REF_NAME',
    'CI_JOB_URL',
  ];
  const set = (variables: Record<string, string>): void => {
    for (const name of names) vi.stubEnv(name, variables[name]);
  };
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  async function tagsOf(experimentTags: Record<string, string> = {}): Promise<Record<string, string>> {
    const { id: projectId } = await service.project();
    const { experiment } = await runExperiment({
      ...{ client: service.client, projectId, experimentName: 'tagged', experimentTags },
      ...{ dataset: [{ input: 'a' }], function: () => 'a', metrics: [] },
    });
    const found = Object.values(experiment.tags).flat();
    return Object.fromEntries(found.map(({ key, value }) => [key, value]));
  }

  test('come from GitHub Actions and GitLab, of a pull request its own branch', async () => {
    vi.stubEnv('GITHUB_SERVER_URL', 'https://github.com');
    vi.stubEnv('GITHUB_REPOSITORY', 'shop/bot');
    set({ GITHUB_SHA: 'c0ffee', GITHUB_HEAD_REF: 'new-prompt', GITHUB_REF_NAME: '7/merge', GITHUB_RUN_ID: '42' });
    expect(await tagsOf({ branch: 'mine' })).toMatchObject({
      ...{ commit: 'c0ffee', branch: 'mine', build: 'https://github.com/shop/bot/actions/runs/42' },
    });
    set({ CI_COMMIT_SHA: 'decade', CI_COMMIT_REF_NAME: 'main', CI_JOB_URL: 'https://gitlab.example.com/jobs/7' });
    expect(await tagsOf()).toMatchObject({ commit: 'decade', branch: 'main', build: 'https://gitlab.example.com/jobs/7' });
  });

  test('come from git, and there are none where it is missing', async () => {
    set({});
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
    expect(await tagsOf()).toMatchObject({ commit, dirty: expect.stringMatching(/^(true|false)$/) });
    vi.stubEnv('PATH', '/nowhere');
    expect(await tagsOf({ note: 'without git' })).toEqual({ note: 'without git' });
  });
});

describe('the command', () => {
  const root = join(import.meta.dirname, '../..');

  /** A folder where the client library is found, with the address and key of the service in the environment. */
  async function folderOfProject(environment: Record<string, string> = {}): Promise<Typed & { projectId: string }> {
    const folder = mkdtempSync(join(tmpdir(), 'assay-gate-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    symlinkSync(join(root, 'client'), join(folder, 'client'));
    const { id: projectId } = await service.project();
    const reached = { SERVICE_API_URL: service.url, SERVICE_API_KEY: service.apiKey, SERVICE_PROJECT_ID: projectId };
    return { folder, projectId, environment: { ...reached, ...environment } };
  }

  /** So many of 30 answers are right. */
  const ran = async (projectId: string, experimentName: string, right: number, tags: Record<string, string> = {}) => {
    const dataset = Array.from({ length: 30 }, (_, n) => ({ input: `${n}`, output: n < right ? `${n}` : 'other' }));
    const metrics = ['exact_match'];
    const common = { client: service.client, projectId, experimentName, experimentTags: tags, metrics };
    return (await runExperiment<string, string>({ ...common, dataset, function: (input) => input })).experiment;
  };

  test('ends with 0, 10 and 11, and writes reports that hold any name', async () => {
    const typed = await folderOfProject();
    const odd = 'a "<b>" & \u{1f680} | *x*\n@all';
    await ran(typed.projectId, 'büro 🚀', 27, { branch: 'main', commit: 'c0ffee' });
    const worse = await ran(typed.projectId, odd, 10);
    const against = ['--baseline-tag', 'branch=main'];
    const drop = (by: number) => ['--max-drop', `exact_match=${by}`];

    const failed = await assay(
      ['gate', worse.id, ...against, ...drop(0.1), '--min', 'exact_match=0.2', '--max-failed', '0'],
      typed,
    );
    expect(failed.stdout).toMatch(/^gate failed: "a \\"<b>\\" .*" against "büro 🚀" \(branch main, commit c0ffee/);
    expect(failed.stdout).toMatch(/^ {2}failed {2}exact_match is worse by more than 10\.0 points: 33\.3 % against 90\.0 %/m);
    expect(failed.stdout).toMatch(/^ {2}passed {2}exact_match is 33\.3 % over 30 rows, and must be at least 20\.0 %$/m);
    expect(failed.exitCode).toBe(10);
    expect((await assay(['gate', 'büro 🚀', '--baseline', worse.id, ...drop(0)], typed)).exitCode).toBe(0);
    const unclear = await assay(['gate', worse.id, ...against, ...drop(0.55), '--json'], typed);
    expect(JSON.parse(unclear.stdout)).toMatchObject({ status: 'undecided', checks: [{ rows_to_decide: expect.any(Number) }] });
    expect(unclear.exitCode).toBe(11);

    const reportOf = async (file: string): Promise<string> => {
      const words = [
        'gate',
        worse.id,
        ...against,
        ...drop(0.55),
        '--min',
        'exact_match=0.9',
        '--max-failed',
        '0',
        '--output',
        file,
      ];
      const { exitCode, stdout } = await assay(words, typed);
      expect([exitCode, stdout]).toEqual([10, expect.stringMatching(/^gate failed/)]);
      return readFileSync(join(typed.folder, file), 'utf8');
    };
    const junit = await reportOf('gate.xml');
    expect(junit).toContain('<testsuites name="assay gate" tests="3" failures="2" errors="0" skipped="0">');
    expect(junit).toContain('classname="a &#34;&#60;b&#62;&#34; &#38; 🚀 | *x*&#10;@all" name="max_failed"/>');
    expect(junit).toMatch(/<failure type="not enough rows" message="30 rows do not tell whether exact_match/);
    const withoutTags = junit.replaceAll(/<[?/]?\w+( \w+="[^"<&]*(&#\d+;[^"<&]*)*")*[?/]?>/g, '');
    expect(withoutTags.trim()).toBe(''); // nothing but elements whose attributes are escaped
    const markdown = await reportOf('gate.md');
    expect(markdown).toContain('### ❌ Gate failed: [a "\\<b\\>" \\& 🚀 \\| \\*x\\* @\u200ball](');
    expect(markdown).toMatch(/^\| ❓ not enough rows \| exact\\_match worse by at most 0\.55 \| 0\.3333 \| 0\.9 \| -0\.5667 \|/m);
    expect(JSON.parse(await reportOf('gate.json'))).toMatchObject({ status: 'failed', experiment: { id: worse.id } });
  });

  test('never shares its statuses with an error', async () => {
    const typed = await folderOfProject();
    await ran(typed.projectId, 'done', 20);
    const running = await createExperiment({ client: service.client, projectId: typed.projectId, experimentName: 'running' });
    await service.client.send(`/projects/${typed.projectId}/experiments/${running.id}/run`, {
      body: { records: [{ input: 'x' }], runner: { kind: 'caller_function' } },
    });
    for (const [words, exitCode, sentence] of [
      [['no such', '--max-failed', '0'], 5, /no experiment "no such"/],
      [
        ['done', '--baseline-tag', 'branch=nowhere', '--max-drop', 'exact_match=0'],
        12,
        /assay: no other .*with the tag branch=nowhere has ended/,
      ],
      [['no such', '--baseline-tag', 'branch=nowhere', '--max-drop', 'exact_match=0'], 5, /no experiment "no such"/],
      [['done', '--baseline', 'renamed', '--max-drop', 'exact_match=0'], 5, /no experiment "renamed"/],
      [['running', '--max-failed', '0'], 6, /"running" has not ended/],
      [['done', '--max-drop', 'exact_match=0'], 2, /a drop is one against a baseline/],
      [['done', '--max-drop', 'exact_match'], 2, /Write it as metric=number/],
      [['done', '--min', 'exact_mach=1'], 2, /closest are exact_match/],
      [['done', '--max-failed', '0', '--output', 'gate.pdf'], 2, /gate\.pdf does not say what it is to hold/],
      [['done', '--max-failed', '0', '--output', 'no/folder/gate.md'], 7, /gate\.md cannot be/],
      [['done'], 2, /nothing to check/],
    ] as const) {
      const ended = await assay(['gate', ...words], typed);
      expect([ended.stderr, ended.exitCode]).toEqual([expect.stringMatching(sentence), exitCode]);
    }
    await service.client.send(`/projects/${typed.projectId}/experiments/${running.id}/cancel`, { method: 'POST' });
  });

  test('the script of the page makes a baseline on main, passes what is as good, and fails what is worse', async () => {
    const page = readFileSync(join(root, 'docs/gate.md'), 'utf8');
    const block = (start: string): string => page.split(`\`\`\`${start}`)[1]?.split('```')[0] as string;
    const script = block('sh\n# gate.sh\n');
    for (const pipeline of ['yaml\n# .github/workflows/quality.yml', 'yaml\n# .gitlab-ci.yml'])
      expect(block(pipeline)).toContain("npx -c 'bash gate.sh'");
    const typed = await folderOfProject({ SERVICE_PROJECT_ID: '' });
    const git = (...words: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...words], { cwd: typed.folder });
    const built = async (branch: string, variables: Record<string, string> = {}) => {
      git('checkout', '--quiet', '-B', branch);
      git('commit', '--quiet', '--allow-empty', '--message', branch);
      const ended = await inShell(script.replaceAll('--project shop', `--project 'shop of ${typed.projectId}'`), {
        ...typed,
        environment: { ...typed.environment, ...variables },
      });
      const report = join(typed.folder, 'gate.md');
      return { ...ended, report: existsSync(report) ? readFileSync(report, 'utf8') : '' };
    };
    const experiment = block('ts\n// quality.ts\n');
    writeFileSync(join(typed.folder, 'quality.ts'), experiment);
    git('init', '--quiet', '--initial-branch', 'main');
    const first = await built('main');
    expect([first.exitCode, first.stdout]).toEqual([0, expect.stringContaining('The first run of main')]);
    const renamed = experiment.replace(/dataset: \[.*\]/, "dataset: 'renamed'");
    writeFileSync(join(typed.folder, 'quality.ts'), renamed);
    expect(await built('main')).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('no dataset called "renamed"') });
    writeFileSync(join(typed.folder, 'quality.ts'), experiment);
    const same = await built('same', { CI_COMMIT_REF_NAME: 'same', CI_COMMIT_SHA: 'c0ffee' });
    expect([same.exitCode, same.report]).toEqual([0, expect.stringContaining('✅ Gate passed')]);
    writeFileSync(join(typed.folder, 'quality.ts'), experiment.replace('text.toUpperCase()', 'text'));
    const worse = await built('worse', { GITHUB_REF_NAME: '7/merge', GITHUB_HEAD_REF: 'worse' });
    expect([worse.exitCode, worse.report]).toEqual([10, expect.stringContaining('❌ Gate failed')]);
    expect(worse.stdout).toMatch(/^gate failed: "quality .*against "quality" \(branch main, commit /m);
    const asJson = await assay(['run', 'quality.ts', '--project', `shop of ${typed.projectId}`, '--json'], typed);
    expect(JSON.parse(asJson.stdout)).toMatchObject({ progress: { state: 'completed' }, gate: { status: 'failed' } });
    expect(asJson.exitCode).toBe(10);
  });
});
