import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { ServiceError } from '../../shared/errors/errors.ts';
import { defaultRunSettings } from '../../shared/experiments/experiment.ts';
import { RowMemory } from '../../shared/experiments/rowMemory.ts';
import { type RowContext, type RunRowsDeps, runRows } from '../../shared/experiments/runRows.ts';
import { untilStored } from '../../shared/experiments/untilStored.ts';
import { activityLease } from '../../workers/activityLease.ts';
import { aRun, chunkOf, idsOf, rowsOf } from '../support/runInMemory.ts';

const never = new AbortController().signal;

describe('the lease of an activity', () => {
  let asked = 0;
  let answer: () => Promise<boolean> = async () => true;
  beforeEach(() => {
    asked = 0;
    answer = async () => true;
    vi.useFakeTimers({ toFake: ['performance', 'Date', 'setTimeout', 'clearTimeout'] });
    return () => void vi.useRealTimers();
  });
  const open = () =>
    activityLease({ info: { taskToken: new Uint8Array() } } as never, {
      log: { error: () => undefined } as never,
      workflows: {
        keepActivity() {
          asked++;
          return answer();
        },
      },
    });

  test('is asked for before the first call, and once a second at most, beside the work', async () => {
    const lease = open();
    await Promise.all([lease.confirm(never), lease.confirm(never)]);
    expect(asked).toBe(1);
    vi.advanceTimersByTime(900);
    await lease.confirm(never);
    expect(asked).toBe(1);
    vi.advanceTimersByTime(200);
    const later = Promise.withResolvers<boolean>();
    answer = () => later.promise;
    await lease.confirm(never); // the answer is on its way
    expect(asked).toBe(2);
    later.resolve(true);
  });

  test.each([
    ['of the process alone', () => vi.advanceTimersByTime(6_000)],
    ['of the time of day, as in a virtual machine', () => vi.setSystemTime(Date.now() + 6_000)],
  ])('of a process that stood still, by the clock %s, lets nothing begin before it is confirmed', async (_clock, standStill) => {
    const lease = open();
    await lease.confirm(never);
    standStill();
    answer = async () => false;
    await expect(lease.confirm(AbortSignal.any([never, lease.lost]))).rejects.toThrow('stood still');
    await expect(lease.confirm(AbortSignal.any([never, lease.lost]))).rejects.toThrow('stood still');
    expect(lease.lost.aborted).toBe(true);
    expect(asked).toBe(2);
  });

  test('is waited for while the server is away', async () => {
    vi.useRealTimers();
    const lease = open();
    let isAway = true;
    answer = async () => {
      if (isAway) throw new ServiceError('Unavailable', 'the server does not answer');
      return true;
    };
    let began = false;
    const beginning = lease.confirm(never).then(() => {
      began = true;
    });
    await expect.poll(() => asked).toBeGreaterThanOrEqual(3);
    expect(began).toBe(false);
    isAway = false;
    await beginning;
  });
});

/** A run of rows that take some milliseconds, whose store and lease are given. */
function rowsThat({
  rowMs,
  lanes,
  ...given
}: { rowMs: number; lanes: number } & Pick<Partial<RunRowsDeps>, 'confirm'> & { write(): Promise<void> }) {
  const seen = { begun: 0, ended: 0, recorded: 0, mostOpen: 0 };
  const deps = {
    rows: { page: rowsOf, traceIds: idsOf },
    log: {
      recorded: async () => new Map(),
      async write(_run: unknown, traces: readonly unknown[]) {
        await given.write();
        seen.recorded += traces.length;
      },
    },
    attempts: { note: () => undefined, flush: async () => undefined },
    runner: {
      async run(_row: unknown, { signal }: RowContext) {
        seen.mostOpen = Math.max(seen.mostOpen, ++seen.begun - seen.recorded);
        await delay(rowMs, undefined, { signal });
        seen.ended++;
        return { output: 'answer', spans: [], startedAt: new Date(), durationNs: 1 };
      },
      close: async () => undefined,
    },
    memory: new RowMemory(1_000),
    takeSlot: slotsOf(lanes),
    lanes: () => lanes,
    confirm: given.confirm ?? (async () => undefined),
    handOver: async () => undefined,
    untilStored: <T>(operation: () => Promise<T>, signal: AbortSignal) => untilStored(operation, signal, () => undefined),
    onProgress: () => undefined,
  } as unknown as RunRowsDeps;
  return { deps, seen };
}

function slotsOf(limit: number): RunRowsDeps['takeSlot'] {
  let taken = 0;
  return async (signal) => {
    while (taken >= limit) await delay(2, undefined, { signal });
    taken++;
    return () => void taken--;
  };
}

test('where the store is slow, rows do not pile up that would be paid again if this process died', async () => {
  const run = aRun({ rowCount: 110, settings: { ...defaultRunSettings, concurrency: 2 } });
  const { deps, seen } = rowsThat({ rowMs: 50, lanes: 2, write: () => delay(3_000) });
  await runRows(deps, run, chunkOf(run), 1, never, async () => undefined);
  expect(seen).toMatchObject({ begun: 110, recorded: 110 });
  // Two at a time end within two seconds of the first that is not recorded, which are 80; without a bound all 110 are.
  expect(seen.mostOpen).toBeLessThanOrEqual(90);
});

test('a worker that has lost its rows starts none, and records those that have ended', async () => {
  const run = aRun({ rowCount: 60 });
  const lost = new AbortController();
  let isAway = true;
  const { deps, seen } = rowsThat({
    rowMs: 20,
    lanes: 4,
    async confirm() {
      if (seen.ended < 12) return;
      lost.abort(new Error('lost'));
      throw lost.signal.reason;
    },
    async write() {
      if (!isAway) return;
      isAway = false;
      throw new ServiceError('Unavailable', 'the connection broke meanwhile');
    },
  });
  await runRows(deps, run, chunkOf(run), 1, lost.signal, async () => 0);
  expect(seen.begun).toBeLessThanOrEqual(12 + 4);
  expect(seen.recorded).toBe(seen.ended);
});
