import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { onAbort } from '../../shared/concurrency/onAbort.ts';
import type { RowResult } from '../../shared/experiments/rowTrace.ts';
import { type RowLimit, withRowDeadline } from '../../shared/experiments/withRowDeadline.ts';

const result: RowResult = { output: 'an answer', spans: [], startedAt: new Date(), durationNs: 5, attempts: 1 };
const LIMIT = 50;

function withDeadline(run: (limit: RowLimit) => Promise<RowResult>, given: { signal?: AbortSignal; limitMs?: number } = {}) {
  const late: number[] = [];
  const ended = withRowDeadline(run, {
    limitMs: given.limitMs ?? LIMIT,
    signal: given.signal ?? new AbortController().signal,
    onLate: (ms) => late.push(ms),
    graceMs: 10,
    leaveMs: 10,
  });
  return { ended, late };
}

test('a row that ends in time is what its runner says, a rejection included', async () => {
  const { ended, late } = withDeadline(async () => result);
  expect(await ended).toBe(result);
  await expect(withDeadline(() => Promise.reject(new Error('no'))).ended).rejects.toThrow('no');
  const throwing = () => {
    throw new Error('at once');
  };
  await expect(withDeadline(throwing).ended).rejects.toThrow('at once');
  expect(late).toEqual([]);
});

test('a runner that does not come back fails its row, is aborted, and is not heard later', async () => {
  const answer = Promise.withResolvers<RowResult>();
  let signal: AbortSignal | undefined;
  const { ended, late } = withDeadline((limit) => {
    signal = limit.signal;
    return answer.promise;
  });
  const failed = await ended;
  expect(failed).toMatchObject({ output: null, error: `the row took longer than its time limit of ${LIMIT} ms`, spans: [] });
  expect(failed.durationNs).toBeGreaterThanOrEqual(LIMIT * 1e6);
  expect(late).toEqual([expect.any(Number)]);
  expect(signal?.aborted).toBe(true);
  answer.reject(new Error('much later')); // an unhandled rejection would fail the test
  await answer.promise.catch(() => undefined);
  expect(await ended).toBe(failed);
});

test('waiting does not count, however many waits overlap and however often one is ended', async () => {
  const { ended, late } = withDeadline(async ({ waiting }) => {
    const [one, other] = [waiting(), waiting()];
    await delay(3 * LIMIT);
    one();
    one();
    await delay(LIMIT);
    other();
    return result;
  });
  expect(await ended).toBe(result);
  expect(late).toEqual([]);
});

test('work after a wait counts again', async () => {
  const { ended, late } = withDeadline(async ({ waiting }) => {
    waiting()();
    return new Promise(() => undefined);
  });
  expect(await ended).toMatchObject({ output: null });
  expect(late).toHaveLength(1);
});

test('a row that is given up ends, also when its runner does not heed it', async () => {
  const run = new AbortController();
  const reason = new Error('the row was given up');
  const heeding = withDeadline(
    ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('I stop')))),
    { signal: run.signal, limitMs: 1e6 },
  );
  const deaf = withDeadline(() => new Promise(() => undefined), { signal: run.signal, limitMs: 1e6 });
  run.abort(reason);
  await expect(heeding.ended).rejects.toThrow('I stop');
  await expect(deaf.ended).rejects.toBe(reason);
  await expect(withDeadline(() => new Promise(() => undefined), { signal: run.signal }).ended).rejects.toBe(reason);
  expect([...heeding.late, ...deaf.late]).toEqual([]);
});

test('a row that has ended leaves nothing in memory, though its run goes on and its runner listened', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const run = new AbortController();
  const signals: WeakRef<AbortSignal>[] = [];
  for (let row = 0; row < 100; row++) {
    await withDeadline(
      async ({ signal }) => {
        signals.push(new WeakRef(signal));
        onAbort(signal, () => undefined);
        return result;
      },
      { signal: run.signal, limitMs: 60_000 },
    ).ended;
  }
  // An object that a WeakRef returned lives until the end of this turn of the event loop.
  await delay(0);
  collect();
  const kept = signals.filter((signal) => signal.deref() !== undefined);
  expect(kept.length).toBeLessThan(5);
  expect(run.signal.aborted).toBe(false);
});
