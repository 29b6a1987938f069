import { DefaultLogger, Runtime, Worker, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { beforeAll, describe, expect, test } from 'vitest';
import { savedHistories, workflowBundle } from './historyFolder.ts';

let bundle: WorkflowBundleWithSourceMap;
beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  bundle = await workflowBundle();
}, 60_000);

test('the workflow code builds into a bundle, without anything of Node', () => {
  for (const workflow of ['runExperiment', 'scoreRun']) expect(bundle.code).toContain(workflow);
});

describe("today's workflow code takes every step that a recorded run took", () => {
  const histories = savedHistories();

  test('there are histories of every kind', () => {
    expect(histories.map(({ name }) => name).sort()).toEqual([
      'cancelled',
      'carriedOver',
      'carriedOverFrom',
      'concurrencyChanged',
      'failed',
      'paused',
      'plain',
      'resumedWhileRowsEnd',
      'scored',
      'scoredAlong',
      'scoredCarriedOverFrom',
    ]);
  });

  test.each(['paused', 'resumedWhileRowsEnd'])('the state is written in the history of a run that was %s', (kind) => {
    const events = histories.find(({ name }) => name === kind)?.history.events ?? [];
    const steps = events.map(({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name);
    const written = steps.filter((step) => step === 'markPaused').length;
    expect(written).toBe(kind === 'paused' ? 2 : 1);
  });

  test('rows are scored while others run, in the history that is to show it', () => {
    const events = histories.find(({ name }) => name === 'scoredAlong')?.history.events ?? [];
    const first = events.findIndex(
      ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name === 'scoreRows',
    );
    const rows = events.find(
      ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name === 'runRows',
    )?.eventId;
    const rowsEnd = events.findIndex(
      ({ activityTaskCompletedEventAttributes: completed }) => String(completed?.scheduledEventId) === String(rows),
    );
    expect(first).toBeGreaterThan(0);
    expect(rowsEnd).toBeGreaterThan(first);
  });

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
