import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exitCodes } from '../../cli/terminal/exitCodes.ts';
import {
  approveExperiment,
  type ExperimentResponse,
  ExperimentRunError,
  gateExperiment,
  type RunExperimentOptions,
  runExperiment,
} from '../../client/index.ts';
import { assay } from '../support/assay.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';
import { typedIn } from '../support/typedIn.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service[Symbol.asyncDispose]());

const dataset = Array.from({ length: 6 }, (_, index) => ({ input: `${index}`, output: `${index}` }));

/** Runs in one project, each of which came to another end. */
function runsIn(project: TestProject, experimentName = 'nightly') {
  const options = (more: Partial<RunExperimentOptions>): RunExperimentOptions => ({
    ...{
      client: service.client,
      projectId: project.id,
      experimentName,
      dataset,
      metrics: ['exact_match'],
      pauseAfterFailures: 0,
    },
    ...more,
  });
  const run = async (
    answer: (input: unknown) => unknown,
    more: Partial<RunExperimentOptions> = {},
  ): Promise<ExperimentResponse> => (await runExperiment(options({ function: answer, ...more }))).experiment;
  return {
    run,
    good: () => run((input) => input),
    allFailed: () =>
      run(() => {
        throw new Error('down');
      }),
    async cancelled(): Promise<ExperimentResponse> {
      let made: ExperimentResponse | undefined;
      const cancel = () => service.client.send(`/projects/${project.id}/experiments/${made?.id}/cancel`, { method: 'POST' });
      const ended = run(
        async () => {
          await cancel();
          throw new Error('never recorded');
        },
        { concurrency: 1, onExperiment: (experiment) => (made = experiment) },
      );
      await expect(ended).rejects.toThrow(ExperimentRunError);
      return made as ExperimentResponse;
    },
  };
}

const drop = { exact_match: { maxDrop: 0.1 } };

test('a name is the newest earlier run that can be compared, and the report says which', async () => {
  const project = await service.project();
  const runs = runsIn(project);
  const first = await runs.good();
  const second = await runs.good();
  await runs.allFailed();
  await runs.cancelled();
  const gated = await runs.good();
  const later = await runs.good();
  const at = (experimentId: string, baselineName: string) =>
    gateExperiment({ client: service.client, projectId: project.id, experimentId, baselineName, metrics: drop });
  expect(await at(gated.id, 'nightly')).toMatchObject({
    status: 'passed',
    baseline: { id: second.id },
    baseline_choice: 'the one of the earlier runs of the series "nightly" that ended last',
  });
  expect((await at(later.id, 'nightly')).baseline?.id).toBe(gated.id);
  await expect(at(first.id, 'nightly')).rejects.toMatchObject({ errorCode: 3511 });
  expect((await at(first.id, later.name)).baseline?.id).toBe(later.id); // by its whole name it may be a later one
  const other = await runsIn(project, 'weekly').good();
  expect(await at(other.id, 'nightly')).toMatchObject({
    baseline: { id: later.id },
    baseline_choice: 'the one of the runs of the name "nightly" that ended last',
  });
  expect((await at(gated.id, 'weekly')).baseline?.id).toBe(other.id); // no earlier one has that name

  const typed = typedIn(service, project);
  const { stdout, exitCode } = await assay(['gate', gated.id, '--baseline', 'nightly', '--max-drop', 'exact_match=0.1'], typed);
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining(`against ${JSON.stringify(second.name)}`)]);
  const none = await assay(['gate', first.id, '--baseline', 'nightly', '--max-drop', 'exact_match=0.1'], typed);
  expect([none.exitCode, none.stderr]).toEqual([exitCodes.noBaseline, expect.stringContaining('no earlier run of the series')]);
});

test('a run that names its baseline is compared with one that ended, or refused before it starts', async () => {
  const project = await service.project();
  const runs = runsIn(project);
  const first = await runs.good();
  await runs.allFailed();
  await runs.cancelled();
  const { comparison, gate } = await runExperiment({
    ...{ client: service.client, projectId: project.id, experimentName: 'nightly', dataset, metrics: ['exact_match'] },
    ...{
      function: (input: unknown) => input,
      baseline: 'nightly',
      resume: false,
      gate: { metrics: { exact_match: { min: 0.5 } } },
    },
  });
  expect(comparison?.baseline.id).toBe(first.id);
  expect(gate).toMatchObject({ status: 'passed', baseline: null });

  const failed = runsIn(project, 'broken');
  await failed.allFailed();
  let calls = 0;
  const counting = () => calls++;
  await expect(failed.run(counting, { baseline: 'broken' })).rejects.toThrow(
    'there is no run of "broken" to compare with: none of 1 has ended with rows that did not fail',
  );
  await expect(failed.run(counting, { baseline: 'nigthly' })).rejects.toThrow('the nearest is "nightly"');
  await expect(failed.run(counting, { baseline: 'aproved' })).rejects.toThrow('the nearest is "approved"');
  expect(calls).toBe(0);
});

describe('a gate that could not be asked', () => {
  test.each([
    [{ baselinePick: 'passed', metrics: { exact_match: { min: 0.5 } } }, /no metric says how far it may drop/],
    [{ baselineTag: { key: 'branch', value: 'main' }, maxFailed: 0 }, /no metric says how far it may drop/],
    [{ baselinePick: 'pased', metrics: drop }, /one of newest, approved, passed, and not "pased"; the nearest is passed/],
    [{ metrics: drop }, /maxDrop needs a baseline/],
    [{}, /gate checks nothing/],
    [{ metrics: { exact_match: {} } }, /has no limit/],
    [{ metrics: { exact_match: { min: 2, max: 1 } } }, /min is above max/],
    [{ maxFailed: 5 }, /gate.maxFailed must be a number from 0 to 1, and not 5/],
    [{ maxFailed: 0, level: 95 }, /gate.level must be a number from 0.5 to 0.9999/],
    [{ maxFailed: 0, failedRows: 'skip' }, /gate.failedRows is/],
  ])('is refused before the run: %j', async (gate, why) => {
    let calls = 0;
    const options = { projectName: 'none', experimentName: 'x', dataset, function: () => calls++, gate: gate as never };
    await expect(runExperiment({ ...options, client: service.client })).rejects.toThrow(why);
    expect(calls).toBe(0);
  });

  test('as is a pick beside it that no limit needs', async () => {
    const options = { projectName: 'none', experimentName: 'x', dataset, function: () => 1, client: service.client };
    await expect(runExperiment({ ...options, baseline: 'passed', gate: { maxFailed: 0 } })).rejects.toThrow(
      'a baseline passed is for a metric that may drop below it',
    );
  });
});

test('only a run that can be a baseline is approved', async () => {
  const project = await service.project();
  const runs = runsIn(project);
  const place = { client: service.client, projectId: project.id };
  const cancelled = await runs.cancelled();
  const failed = await runs.allFailed();
  const good = await runs.good();
  await expect(approveExperiment({ ...place, experimentId: cancelled.id })).rejects.toMatchObject({
    status: 409,
    message: expect.stringMatching(/did not run to its end \(cancelled/),
  });
  await expect(approveExperiment({ ...place, experimentId: failed.id })).rejects.toThrow(/all 6 rows of .* failed/);
  let whileRunning: unknown;
  await runs.run(
    async (input) => {
      const [newest] = await service.client.send<ExperimentResponse[]>(`/projects/${project.id}/experiments`);
      whileRunning ??= await approveExperiment({ ...place, experimentId: newest?.id as string }).catch((err: unknown) => err);
      return input;
    },
    { concurrency: 1, resume: false },
  );
  expect(whileRunning).toMatchObject({ status: 409, message: expect.stringContaining('has not ended (running)') });
  await approveExperiment({ ...place, experimentId: good.id });
  await approveExperiment({ ...place, experimentId: cancelled.id, approved: false });
  const typed = typedIn(service, project);
  const slip = await assay(['gate', good.id, '--baseline', 'aproved', '--max-drop', 'exact_match=0.1'], typed);
  expect([slip.exitCode, slip.stderr]).toEqual([exitCodes.notFound, expect.stringContaining('the closest is "approved"')]);
  const refused = await assay(['approve', failed.id], typed);
  expect([refused.exitCode, refused.stderr]).toEqual([exitCodes.runFailed, expect.stringContaining('all 6 rows of')]);
});
