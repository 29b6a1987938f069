import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ExperimentRun, RunState } from '../../shared/experiments/experiment.ts';
import { readWatchedProgress } from '../../shared/experiments/followedProgress.ts';
import type { RunProgressReport } from '../../shared/experiments/progress.ts';

const ref = { projectId: 'project', runId: 'run' };

/** A run whose rows and clock a test sets. */
function watched() {
  const now = { ms: 0, rows: 0, failed: 0, scores: 0, state: 'running' as RunState, workflowNumber: 1 };
  const calls = { progress: 0, causes: 0, figures: 0 };
  const read = readWatchedProgress({
    find: async () =>
      ({
        ...ref,
        experimentId: ref.runId,
        state: now.state,
        workflowNumber: now.workflowNumber,
        settings: {},
      }) as unknown as ExperimentRun,
    async progress() {
      calls.progress++;
      const counts = { rowsTotal: 100, rowsDone: now.rows, rowsFailed: now.failed, scoresTotal: 100, scoresDone: now.scores };
      return { state: now.state, rowsPerSecond: now.rows / (now.ms / 1_000 || 1), ...counts } as RunProgressReport;
    },
    async figuresSoFar() {
      calls.figures++;
      return [{ metric: 'm', figure: now.rows, values: now.rows }];
    },
    async failureCauses() {
      calls.causes++;
      return [{ message: 'x', statusCode: null, isSame: true, rows: now.failed, examples: [] }];
    },
    now: () => now.ms,
  });
  return { now, calls, read };
}

test('the rate is that of the last half minute, and the time left follows it, through pauses and scores', async () => {
  const { now, read } = watched();
  let state = await read(ref, undefined);
  expect([state.recentRate, state.secondsLeft]).toEqual([null, null]);
  const pass = async (seconds: number, rowsPerSecond: number) => {
    for (let second = 0; second < seconds; second++) {
      now.ms += 1_000;
      now.rows = Math.min(100, now.rows + rowsPerSecond);
      state = await read(ref, state);
    }
  };
  await pass(10, 2);
  expect([state.recentRate, state.secondsLeft]).toEqual([2, 40]);
  now.state = 'paused';
  await pass(600, 0);
  expect([state.recentRate, state.secondsLeft]).toEqual([null, null]);
  now.state = 'running';
  await pass(20, 1);
  expect(state.recentRate).toBe(1);
  expect(state.secondsLeft).toBe(60);
  await pass(60, 1);
  now.scores = 50;
  await pass(1, 0);
  expect(state.secondsLeft).toBe(Math.ceil(50 / (50 / 30)));
});

test('nothing new is the same state, a run at rest is hardly read, and failures and figures only when they may differ', async () => {
  const { now, calls, read } = watched();
  now.rows = 10;
  now.failed = 1;
  now.state = 'paused';
  const begun = await read(ref, undefined);
  await nextTurn(); // until the figures are read
  const first = await read(ref, begun);
  for (let second = 0; second < 5; second++) {
    now.ms += 1_000;
    expect(await read(ref, first)).toBe(first);
  }
  expect(calls).toEqual({ progress: 7, causes: 1, figures: 1 });
  now.state = 'completed';
  const ended = await read(ref, first);
  expect(ended.figures).toEqual([{ metric: 'm', figure: 10, values: 10 }]);
  const before = calls.progress;
  now.ms += 9_000;
  expect(await read(ref, ended)).toBe(ended);
  expect(calls.progress).toBe(before);
  now.ms += 2_000;
  expect(await read(ref, ended)).toBe(ended);
  expect(calls.progress).toBe(before + 1);
  now.workflowNumber++;
  now.state = 'running';
  expect(await read(ref, ended)).not.toBe(ended);
});

test('a run that is gone is not found', async () => {
  const { read } = watched();
  await expect(read({ ...ref, projectId: 'another' }, undefined)).rejects.toMatchObject({ code: 'NotFound' });
});
