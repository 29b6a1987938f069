import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workflowBundle } from '../../workers/workflowBundle.ts';
import { savedHistories } from '../replay/historyFolder.ts';

let folder: string;
let bundle: { code: string };
beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  folder = await mkdtemp(join(tmpdir(), 'assay-bundle-'));
  bundle = await workflowBundle(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('the workflow code builds into a bundle, without anything of Node', () => {
  for (const workflow of ['extendDataset', 'runExperiment', 'runJob', 'scoreRun', 'sweepExpired'])
    expect(bundle.code).toContain(workflow);
});

test('the process that asks for the bundle does not load the compiler, whose memory it would keep', () => {
  const { sharedObjects } = process.report.getReport() as unknown as { sharedObjects: string[] };
  expect(sharedObjects.filter((path) => path.includes('swc'))).toEqual([]);
});

test('the bundle is kept for the next start, and one that was not written to its end is made anew', async () => {
  const [name, ...others] = await readdir(folder);
  expect(others).toEqual([]);
  const path = join(folder, name as string);
  const whole = await readFile(path, 'utf8');
  await writeFile(path, whole.replace('runExperiment', 'keptExperiment'));
  expect((await workflowBundle(folder)).code).toBe(bundle.code.replace('runExperiment', 'keptExperiment'));
  await truncate(path, Math.floor(whole.length / 2));
  expect((await workflowBundle(folder)).code).toBe(bundle.code);
  await writeFile(join(folder, 'workflows-of-former-code.js'), '');
  await truncate(path);
  await workflowBundle(folder);
  expect(await readdir(folder)).toEqual([name]);
  expect(await workflowBundle(join(path, 'is a file'))).toEqual(bundle);
});

describe("today's workflow code takes every step that a recorded run took", () => {
  const histories = savedHistories();
  const ofScores = ['scored', 'scoredCarriedOverFrom'];
  const ofRuns = [
    'cancelled',
    'carriedOver',
    'carriedOverFrom',
    'concurrencyChanged',
    'failed',
    'paused',
    'plain',
    'resumedWhileRowsEnd',
    'scoredAlong',
  ];

  test('there are histories of every kind', () => {
    expect(histories.map(({ name }) => name).sort()).toEqual(
      [
        'extended',
        'idleSession',
        'recurringJob',
        'scoredBesideJudge',
        'scoredByHundreds/scoredAlong',
        'sweep',
        ...ofRuns,
        ...ofScores,
      ].sort(),
    );
  });

  test('the state is written in the history of a run that was paused', () => {
    const events = histories.find(({ name }) => name === 'paused')?.history.events ?? [];
    const steps = events.map(({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name);
    expect(steps.filter((step) => step === 'markPaused')).toHaveLength(2);
  });

  test.each(['scoredAlong', 'scoredBesideJudge', 'scoredByHundreds/scoredAlong'])(
    'rows are scored while others run, in the history that is to show it: %s',
    (kind) => {
      const events = histories.find(({ name }) => name === kind)?.history.events ?? [];
      const first = events.findIndex(
        ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name === 'prepareScoring',
      );
      const rows = events.find(
        ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name === 'runRows',
      )?.eventId;
      const rowsEnd = events.findIndex(
        ({ activityTaskCompletedEventAttributes: completed }) => String(completed?.scheduledEventId) === String(rows),
      );
      expect(first).toBeGreaterThan(0);
      expect(rowsEnd).toBeGreaterThan(first);
    },
  );

  test.each(histories)('$name', async ({ workflowId, history }) => {
    await Worker.runReplayHistory({ workflowBundle: bundle }, history, workflowId);
  });

  test('a step that the code does not take is noticed', async () => {
    const plain = histories.find(({ name }) => name === 'plain');
    if (!plain) throw new Error('no plain history');
    const changed = structuredClone(plain.history);
    for (const { activityTaskScheduledEventAttributes: scheduled } of changed.events ?? [])
      if (scheduled?.activityType?.name === 'finishExperiment') scheduled.activityType.name = 'somethingElse';
    await expect(Worker.runReplayHistory({ workflowBundle: bundle }, changed, plain.workflowId)).rejects.toThrow(
      DeterminismViolationError,
    );
  });
});
