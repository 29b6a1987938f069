import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type CallLimits, type Coordination, type EnterOptions, PART_MS } from '../../shared/coordination/coordination.ts';
import { inProcessCoordination } from '../../shared/coordination/inProcess.ts';
import { untilStored } from '../../shared/experiments/untilStored.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { connectRedis } from '../../shared/stores/redis/connect.ts';
import { redisCoordination } from '../../shared/stores/redis/coordination.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { type Answer, fails, late, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { type RedisServer, redisProgram, startRedisServer } from '../support/redisServer.ts';

/** Tests the promises of every coordination. `open` gives what several processes of one service would have, one each. */
function contract(open: (processes: number) => Promise<Coordination[]>): void {
  let opened: Coordination[] = [];
  const processes = async (count: number): Promise<[Coordination, ...Coordination[]]> => {
    opened = await open(count);
    return opened as [Coordination, ...Coordination[]];
  };
  afterEach(async () => {
    await Promise.all(opened.map((one) => one.close()));
  });

  test('the rows in flight are those of all parts, in every process, by the newest word of each', async () => {
    const [worker, other = worker, api = worker] = await processes(3);
    const id = newId();
    expect(await api.progress.rowsRunning(id)).toBe(0);
    await worker.progress.publish(id, '0-100', 20);
    await other.progress.publish(id, '100-200', 7);
    await other.progress.publish(newId(), '0-100', 50);
    expect(await api.progress.rowsRunning(id)).toBe(27);
    await other.progress.publish(id, '0-100', 19); // it has taken the part over
    expect(await worker.progress.rowsRunning(id)).toBe(26);
    await other.progress.publish(id, '0-100', 0);
    await other.progress.publish(id, '100-200', 0);
    expect(await api.progress.rowsRunning(id)).toBe(0);
  });

  test('what the calls of a run wait for is known in every process until it is over, the newest first', async () => {
    const [worker, api = worker] = await processes(2);
    const id = newId();
    expect(await api.waits.of(id)).toBeUndefined();
    const wait = { reason: 'too much', until: Date.now() + 600_000 };
    await worker.waits.publish(id, { reason: 'before', until: Date.now() + 500_000 });
    await worker.waits.publish(id, wait);
    expect([await api.waits.of(id), await api.waits.of(newId())]).toEqual([wait, undefined]);
    await worker.waits.publish(id, { reason: 'short', until: Date.now() + 30 });
    await expect.poll(() => api.waits.of(id)).toBeUndefined();
  });

  test('an endpoint never sees more than the limit, from all processes together, and is kept busy', async () => {
    const all = await processes(4);
    const key = newId();
    let running = 0;
    let most = 0;
    let sum = 0;
    const done = new Map<Coordination, number>();
    const call = async (process: Coordination) => {
      const release = await process.concurrency.acquire(key, 5);
      running++;
      most = Math.max(most, running);
      sum += running;
      await wait(5);
      running--;
      done.set(process, (done.get(process) ?? 0) + 1);
      release();
    };
    await Promise.all(all.flatMap((process) => Array.from({ length: 40 }, () => call(process))));
    expect(most).toBe(5);
    expect([...done.values()].reduce((sum, n) => sum + n, 0)).toBe(160);
    expect(sum / 160).toBeGreaterThan(2); // one after the other it would be 1
  });

  test('within a process the first to wait is the first to be let in', async () => {
    const [process] = await processes(1);
    const key = newId();
    const release = await process.concurrency.acquire(key, 1);
    const order: number[] = [];
    const waiting = [1, 2, 3, 4].map(async (n) => {
      const done = await process.concurrency.acquire(key, 1);
      order.push(n);
      done();
    });
    await wait(30);
    expect(order).toEqual([]);
    release();
    await Promise.all(waiting);
    expect(order).toEqual([1, 2, 3, 4]);
  });

  test('a process that asks often does not shut out another', async () => {
    const [greedy, modest = greedy] = await processes(2);
    const key = newId();
    let isOver = false;
    const lanes = Array.from({ length: 10 }, async () => {
      while (!isOver) {
        const release = await greedy.concurrency.acquire(key, 2);
        await wait(2);
        release();
      }
    });
    await wait(50);
    for (let i = 0; i < 5; i++) (await modest.concurrency.acquire(key, 2))();
    isOver = true;
    await Promise.all(lanes);
  });

  test('who stops waiting gets no slot, and keeps none from others', async () => {
    const [one, other = one] = await processes(2);
    const key = newId();
    const release = await one.concurrency.acquire(key, 1);
    const abort = new AbortController();
    const leaving = other.concurrency.acquire(key, 1, { signal: abort.signal });
    const staying = one.concurrency.acquire(key, 1);
    await wait(20);
    abort.abort(new Error('the run was cancelled'));
    await expect(leaving).rejects.toThrow('the run was cancelled');
    await expect(other.concurrency.acquire(key, 1, { signal: abort.signal })).rejects.toThrow('the run was cancelled');
    release();
    (await staying)();
    (await other.concurrency.acquire(key, 1))();
  });

  test('releasing twice frees one slot', async () => {
    const [process] = await processes(1);
    const key = newId();
    const first = await process.concurrency.acquire(key, 1);
    first();
    const second = await process.concurrency.acquire(key, 1);
    first();
    const third = process.concurrency.acquire(key, 1);
    const isAdmitted = await Promise.race([third.then(() => true), wait(50).then(() => false)]);
    expect(isAdmitted).toBe(false);
    second();
    (await third)();
  });

  test('keys do not share their slots, and a raised limit lets more in', async () => {
    const [process] = await processes(1);
    const [a, b] = [newId(), newId()];
    const holds = [
      await process.concurrency.acquire(a, 1),
      await process.concurrency.acquire(b, 1),
      await process.concurrency.acquire(a, 2),
    ];
    for (const release of holds) release();
  });

  test('a party with a few waiters gets as much as one with a thousand, in whichever processes they wait', async () => {
    const [many, other = many, few = many] = await processes(3);
    const key = newId();
    const limit = 10;
    const counts = { crowd: 0, few: 0 };
    const inFlight = { crowd: 0, few: 0 };
    let most = 0;
    let isOver = false;
    const lane = async (process: Coordination, party: 'crowd' | 'few', ms: number) => {
      while (!isOver) {
        const release = await process.concurrency.acquire(key, limit, { party });
        inFlight[party]++;
        most = Math.max(most, inFlight.crowd + inFlight.few);
        await wait(ms);
        if (!isOver) counts[party]++;
        if (counts.crowd + counts.few >= 600) isOver = true;
        inFlight[party]--;
        release();
      }
    };
    await Promise.all([
      ...Array.from({ length: 1_000 }, (_, n) => lane(n % 2 === 0 ? many : other, 'crowd', 5)),
      // Some wait while others are on their way to the queue again, however busy the machine.
      ...Array.from({ length: 20 }, () => lane(few, 'few', 5)),
    ]);
    expect(most).toBe(limit);
    expect(counts.few).toBeGreaterThan(200); // half of them would be 300
    expect(counts.few).toBeLessThan(400);
  });

  test('what a party does not use is for the others', async () => {
    const [process, other = process] = await processes(2);
    const key = newId();
    const slow = await process.concurrency.acquire(key, 4, { party: 'slow' });
    const rest = await Promise.all([1, 2, 3].map(() => other.concurrency.acquire(key, 4, { party: 'quick' })));
    for (const release of [slow, ...rest]) release();
  });

  test('a limit that is raised or lowered while somebody waits holds as soon as that is said', async () => {
    const [process] = await processes(1);
    const key = newId();
    let slots = 1;
    const acquire = () => process.concurrency.acquire(key, () => slots);
    const first = await acquire();
    const [second, third] = [acquire(), acquire()];
    const isAdmitted = (one: Promise<unknown>) => Promise.race([one.then(() => true), wait(50).then(() => false)]);
    expect(await isAdmitted(second)).toBe(false);
    slots = 2;
    process.concurrency.changed(key);
    const release = await second;
    expect(await isAdmitted(third)).toBe(false);
    slots = 1;
    process.concurrency.changed(key);
    release();
    expect(await isAdmitted(third)).toBe(false); // one is held, and more are not to be
    first();
    (await third)();
    process.concurrency.changed(newId()); // of which no process holds or wants anything
  });

  test('a thousand who wait and leave together cost no more than moments', async () => {
    const [process] = await processes(1);
    const key = newId();
    const release = await process.concurrency.acquire(key, 1);
    const abort = new AbortController();
    const waiting = Array.from({ length: 1_000 }, () => process.concurrency.acquire(key, 1, { signal: abort.signal }));
    abort.abort(new Error('the run was cancelled'));
    const outcomes = await Promise.allSettled(waiting);
    expect(outcomes.filter((outcome) => outcome.status === 'rejected')).toHaveLength(1_000);
    release();
    (await process.concurrency.acquire(key, 1))();
  });

  describe('calls', () => {
    const signal = new AbortController().signal;
    const enter = (process: Coordination, key: string, limits: CallLimits, more: Partial<EnterOptions> = {}) =>
      process.calls.enter(key, () => limits, { signal, ...more });
    const isAdmitted = (one: Promise<unknown>, ms = 60) => Promise.race([one.then(() => true), wait(ms).then(() => false)]);

    test('per minute are no more than allowed, from all processes together, and spread over the minute', async () => {
      const all = await processes(3);
      const key = newId();
      const limits = { concurrency: 1_000, requestsPerMinute: 300 };
      const start = performance.now();
      const permits = await Promise.all(
        Array.from({ length: 30 }, (_, n) => enter(all[n % all.length] as Coordination, key, limits)),
      );
      // Those of one second may come at once, 5; the other 25 come 5 to a second, and some of them need not wait where a machine stalls.
      expect(performance.now() - start).toBeGreaterThan(4_700);
      expect(permits.filter(({ waitedFor }) => waitedFor === 'rate').length).toBeGreaterThan(10);
      for (const permit of permits) permit.leave({ result: 'ok' });
    });

    test('per minute are shared evenly by those who wait, however many they are', async () => {
      const [one, other = one] = await processes(2);
      const key = newId();
      const limits = { concurrency: 1_000, requestsPerMinute: 3_000 };
      const counts = { crowd: 0, few: 0 };
      let isOver = false;
      const lane = async (process: Coordination, party: 'crowd' | 'few') => {
        while (!isOver) {
          const permit = await enter(process, key, limits, { party });
          counts[party]++;
          if (counts.crowd + counts.few >= 200) isOver = true;
          permit.leave({ result: 'ok' });
        }
      };
      await Promise.all([
        ...Array.from({ length: 200 }, () => lane(one, 'crowd')),
        ...Array.from({ length: 5 }, () => lane(other, 'few')),
      ]);
      // The crowd had the first second's 50 to itself at worst, and those of a second in which the machine stood still; then both take turns.
      expect(counts.few).toBeGreaterThan(25);
    });

    test('reserve the tokens that they may use, and give back what they did not', async () => {
      const [one, other = one] = await processes(2);
      const key = newId();
      const limits = { concurrency: 10, tokensPerMinute: 60_000 };
      const first = await enter(one, key, limits, { tokens: 60_000 });
      const second = enter(other, key, limits, { tokens: 10 });
      expect(await isAdmitted(second)).toBe(false);
      first.leave({ result: 'ok', tokens: 500 });
      const permit = await second;
      expect(permit.waitedFor).toBe('rate');
      permit.leave({ result: 'ok', tokens: 60_000 }); // more than was thought
      const abort = new AbortController();
      // In the process that has just left, whose words come in order.
      const third = enter(other, key, limits, { tokens: 10, signal: abort.signal });
      expect(await isAdmitted(third, 200)).toBe(false);
      abort.abort(new Error('cancelled'));
      await expect(third).rejects.toThrow('cancelled');
    });

    test('slow down together when the other side has too much, and recover', async () => {
      const [one, other = one] = await processes(2);
      const key = newId();
      const limits = { concurrency: 100 };
      const start = performance.now();
      const under = await Promise.all(Array.from({ length: 20 }, (_, n) => enter(n % 2 ? one : other, key, limits)));
      for (const permit of under) permit.leave({ result: 'overloaded', retryAfterMs: 1_500 });
      // Those who were under way when the first was refused say nothing new: half of twenty are left, not one.
      const [tenth, eleventh] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
      let admitted = 0;
      const calls = Array.from({ length: 20 }, async (_, n) => {
        const permit = await enter(n % 2 ? one : other, key, limits);
        if (++admitted === 10) tenth.resolve(performance.now());
        if (admitted === 11) eleventh.resolve(performance.now());
        return permit;
      });
      expect((await tenth.promise) - start).toBeGreaterThan(1_490); // timers may be a little early
      expect(await isAdmitted(eleventh.promise, 200)).toBe(false);
      await Promise.all(calls.map(async (call) => (await call).leave({ result: 'ok' })));
      // One that asks before the refusals have arrived waits for a slot at first, and says so.
      expect((await Promise.all(calls)).map(({ waitedFor }) => waitedFor)).toContain('overload');

      let atOnce = 0;
      let most = 0;
      const call = async (n: number) => {
        const permit = await enter(n % 2 ? one : other, key, limits);
        most = Math.max(most, ++atOnce);
        await wait(20);
        atOnce--;
        permit.leave({ result: 'ok' });
      };
      await Promise.all(Array.from({ length: 200 }, (_, n) => call(n)));
      expect(most).toBeGreaterThanOrEqual(20);
    });

    test('stop for longer and longer where an overloaded side names no time, until one succeeds', async () => {
      const [process] = await processes(1);
      const key = newId();
      const refused = async () => (await enter(process, key, { concurrency: 1 })).leave({ result: 'overloaded' });
      const start = performance.now();
      await refused();
      await refused(); // after 0.5 s
      const permit = await enter(process, key, { concurrency: 1 }); // after 1 s more
      expect(performance.now() - start).toBeGreaterThan(1_450);
      expect(permit.refusedForMs).toBeGreaterThan(1_400);
      permit.leave({ result: 'ok' });
      const after = await enter(process, key, { concurrency: 1 });
      expect(after.refusedForMs).toBe(0);
      after.leave({ result: 'ok' });
    });

    test('by limits that are raised while somebody waits', async () => {
      const [process] = await processes(1);
      const key = newId();
      const limits: CallLimits = { concurrency: 10, requestsPerMinute: 1 };
      const first = await enter(process, key, limits);
      const second = enter(process, key, limits);
      expect(await isAdmitted(second)).toBe(false);
      limits.requestsPerMinute = 60_000;
      process.calls.changed(key);
      for (const permit of [first, await second]) permit.leave({ result: 'ok' });
    });
  });

  test('a remembered login is known to every process until its time is over', async () => {
    const [one, other = one] = await processes(2);
    const [kept, short] = [newId(), newId()];
    await one.logins.set(kept, 'user', 60_000);
    await one.logins.set(short, 'user', 30);
    expect(await other.logins.get(kept)).toBe('user');
    expect(await other.logins.get(newId())).toBeUndefined();
    await expect.poll(() => other.logins.get(short)).toBeUndefined();
  });

  test('failed logins are counted over all processes; a success begins anew, and what was not made is not counted', async () => {
    const [one, other = one] = await processes(2);
    let attempt = { account: newId(), address: '192.0.2.1' };
    const wait = (process: Coordination) => process.attempts.waitMs(attempt);
    const fail = async (times: number) => {
      for (let n = 0; n < times; n += 1) expect(await (n % 2 ? one : other).attempts.begin(attempt)).toBe(0);
    };
    const tenFailures = async () => {
      await fail(10);
      return [await wait(one), await wait(other), await other.attempts.begin(attempt)] as const;
    };
    let waits = await tenFailures();
    // The wait is of two seconds: a machine that stood still as long begins with another account.
    for (let tries = 1; tries < 5 && waits.includes(0); tries++) {
      attempt = { ...attempt, account: newId() };
      waits = await tenFailures();
    }
    expect(Math.min(...waits)).toBeGreaterThan(0);
    expect(Math.max(...waits)).toBeLessThanOrEqual(2_000);
    expect(await one.attempts.waitMs({ ...attempt, address: '192.0.2.2' })).toBe(0);
    expect(await one.attempts.waitMs({ ...attempt, account: newId() })).toBe(0);
    await other.attempts.takeBack(attempt, 'not made');
    expect(await wait(one)).toBe(0);
    await fail(1);
    await one.attempts.takeBack(attempt, 'right');
    await fail(9);
    expect(await wait(other)).toBe(0);
  });

  test('an address that fails for many accounts is slowed down for all of them', async () => {
    const [one, other = one] = await processes(2);
    const address = newId();
    await Promise.all(
      Array.from({ length: 300 }, (_, n) => (n % 2 ? one : other).attempts.begin({ account: `${newId()}`, address })),
    );
    expect(await other.attempts.waitMs({ account: newId(), address })).toBeGreaterThan(0);
    expect(await other.attempts.waitMs({ account: newId(), address: newId() })).toBe(0);
  });

  test('answers a ping', async () => {
    const [process] = await processes(1);
    await process.ping();
  });
}

describe('in one process', () => {
  contract(async (count) => {
    const shared = inProcessCoordination();
    return Array.from({ length: count }, () => shared);
  });

  test('rows of a worker that says no more count no longer', async () => {
    let now = 0;
    const { progress } = inProcessCoordination({ now: () => now });
    await progress.publish('run', '0-100', 20);
    now = PART_MS - 1;
    await progress.publish('run', '100-200', 7);
    expect(await progress.rowsRunning('run')).toBe(27);
    now = PART_MS;
    expect(await progress.rowsRunning('run')).toBe(7);
  });
});

describeWithServer('through Redis', redisProgram, (program) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedisServer(program);
  });
  afterAll(() => server.stop());
  const open = async (leaseMs = 10_000) => redisCoordination(await connectRedis(server.url), { leaseMs });

  contract((count) => Promise.all(Array.from({ length: count }, () => open())));

  describe('when something dies', () => {
    /** Far more than a machine stalls: who lives has renewed it in time. */
    const LEASE_MS = 3_000;
    let mine: Coordination;
    beforeEach(async () => {
      mine = await open(LEASE_MS);
    });
    afterEach(() => mine.close());

    test('the slots of a killed holder come back, those of a live one are kept', async () => {
      const key = newId();
      const url = (path: string) => JSON.stringify(new URL(`../../shared/stores/redis/${path}`, import.meta.url).href);
      const source = `
        const { connectRedis } = await import(${url('connect.ts')});
        const { redisCoordination } = await import(${url('coordination.ts')});
        const { concurrency } = redisCoordination(await connectRedis(${JSON.stringify(server.url)}), { leaseMs: ${LEASE_MS} });
        for (let i = 0; i < 2; i++) await concurrency.acquire(${JSON.stringify(key)}, 3);
        void concurrency.acquire(${JSON.stringify(key)}, 3); // waits, with a ticket in the queue
        console.log('held');`;
      const live = await mine.concurrency.acquire(key, 3);
      const holder = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'inherit'] });
      onTestFinished(() => void holder.kill('SIGKILL'));
      await once(holder.stdout, 'data');
      const waiting = mine.concurrency.acquire(key, 3);
      const admittedWhileAlive = await Promise.race([waiting.then(() => true), wait(1.5 * LEASE_MS).then(() => false)]);
      expect(admittedWhileAlive).toBe(false); // longer than a lease: both processes have renewed
      holder.kill('SIGKILL');
      const killed = performance.now();
      const releases = [await waiting, await mine.concurrency.acquire(key, 3)];
      expect(performance.now() - killed).toBeLessThan(30_000);
      const tooMany = mine.concurrency.acquire(key, 3);
      expect(await Promise.race([tooMany.then(() => true), wait(1.2 * LEASE_MS).then(() => false)])).toBe(false);
      live();
      (await tooMany)();
      for (const release of releases) release();
    });

    test('while Redis is down every operation that needs it names it; afterwards all work again', async () => {
      const lost = await startRedisServer(program);
      const other = redisCoordination(await connectRedis(lost.url), { leaseMs: 600 });
      const [id, key] = [newId(), newId()];
      const held = await other.concurrency.acquire(key, 1);
      const waiting = other.concurrency.acquire(key, 1);
      waiting.catch(() => undefined);
      await lost.kill();
      const unavailable = { code: 'Unavailable', message: expect.stringContaining('Redis') };
      await expect(waiting).rejects.toMatchObject(unavailable);
      await expect(other.progress.publish(id, '0-1', 1)).rejects.toMatchObject(unavailable);
      await expect(other.progress.rowsRunning(id)).rejects.toMatchObject(unavailable);
      await expect(other.concurrency.acquire(key, 1)).rejects.toMatchObject(unavailable);
      await expect(other.ping()).rejects.toMatchObject(unavailable);
      expect(await other.logins.get('x')).toBeUndefined();
      await other.logins.set('x', 'user', 1_000);
      const attempt = { account: 'x', address: '192.0.2.1' };
      for (let failure = 0; failure < 10; failure += 1) expect(await other.attempts.begin(attempt)).toBe(0);
      expect(await other.attempts.waitMs(attempt)).toBeGreaterThan(0);

      const again = await startRedisServer(program, { port: lost.port });
      await expect
        .poll(() =>
          other.ping().then(
            () => true,
            () => false,
          ),
        )
        .toBe(true);
      await other.progress.publish(id, '0-1', 1);
      expect(await other.progress.rowsRunning(id)).toBe(1);
      held();
      (await other.concurrency.acquire(key, 1))();
      await other.close();
      await again.stop();
    });

    test('a process that is the first to reach a Redis that lost everything gets no slot that another one holds', async () => {
      const lost = await startRedisServer(program);
      const [holder, first] = [redisCoordination(await connectRedis(lost.url)), redisCoordination(await connectRedis(lost.url))];
      const key = newId();
      const release = await holder.concurrency.acquire(key, 1);
      await lost.kill();
      const again = await startRedisServer(program, { port: lost.port });
      const waiting = untilStored(
        () => first.concurrency.acquire(key, 1),
        new AbortController().signal,
        () => undefined,
      );
      // The process with the lease renews it every 3.3 s; by then a slot would be given twice.
      expect(await Promise.race([waiting.then(() => true), wait(5_000).then(() => false)])).toBe(false);
      release();
      (await waiting)();
      await Promise.all([holder.close(), first.close()]);
      await again.stop();
    });

    test('a held slot is entered again in a Redis that lost everything', async () => {
      const lost = await startRedisServer(program);
      const [one, other] = [
        redisCoordination(await connectRedis(lost.url), { leaseMs: LEASE_MS }),
        redisCoordination(await connectRedis(lost.url), { leaseMs: LEASE_MS }),
      ];
      const key = newId();
      const release = await one.concurrency.acquire(key, 1);
      await lost.kill();
      const again = await startRedisServer(program, { port: lost.port });
      await expect
        .poll(() =>
          Promise.all([one.ping(), other.ping()]).then(
            () => true,
            () => false,
          ),
        )
        .toBe(true);
      await wait(LEASE_MS);
      const waiting = other.concurrency.acquire(key, 1);
      expect(await Promise.race([waiting.then(() => true), wait(1.2 * LEASE_MS).then(() => false)])).toBe(false);
      release();
      (await waiting)();
      await Promise.all([one.close(), other.close()]);
      await again.stop();
    });

    test('a closing process gives its slots back at once', async () => {
      const key = newId();
      const leaving = await open(60_000);
      await leaving.concurrency.acquire(key, 1);
      await leaving.close();
      const started = performance.now();
      (await mine.concurrency.acquire(key, 1))();
      expect(performance.now() - started).toBeLessThan(30_000); // its lease is twice as long
    });
  });

  test('an endpoint sees no more than the limit from two processes, and none of them while it has too much', async () => {
    await using stack = new AsyncDisposableStack();
    const endpoint = await startModelEndpoint();
    stack.defer(() => endpoint.close());
    endpoint.otherwise(late(10, says('ok')));
    const url = (path: string) => JSON.stringify(new URL(`../../shared/stores/redis/${path}`, import.meta.url).href);
    const source = (party: string, lanes: number) => `
      const { connectRedis } = await import(${url('connect.ts')});
      const { redisCoordination } = await import(${url('coordination.ts')});
      const coordination = redisCoordination(await connectRedis(${JSON.stringify(server.url)}));
      const { signal } = new AbortController();
      const call = async () => {
        const permit = await coordination.calls.enter('endpoint', () => ({ concurrency: 4 }), { signal, party: '${party}' });
        const { status, headers } = await fetch('${endpoint.url}', { method: 'POST', body: '${party}' });
        const retryAfterMs = Number(headers.get('retry-after-ms'));
        permit.leave(status === 429 ? { result: 'overloaded', retryAfterMs } : { result: 'ok' });
      };
      let left = 100;
      await Promise.all(Array.from({ length: ${lanes} }, async () => { while (left-- > 0) await call(); }));
      await coordination.close();`;
    let refusedAt = 0;
    let next = Number.POSITIVE_INFINITY;
    const refuse: Answer = (request, response) => {
      refusedAt = performance.now();
      endpoint.otherwise((request, response) => {
        // Those that were on their way already are none that were started since.
        if (performance.now() - refusedAt > 2_500) next = Math.min(next, performance.now());
        return late(10, says('ok'))(request, response);
      });
      return fails(429, {}, { 'retry-after-ms': '4000' })(request, response);
    };
    endpoint.next(...Array.from({ length: 30 }, () => late(10, says('ok'))), refuse);
    const ended = [100, 5].map(async (lanes) => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', source(`of ${lanes}`, lanes)], { stdio: 'inherit' });
      onTestFinished(() => void child.kill('SIGKILL'));
      expect(await once(child, 'exit')).toEqual([0, null]);
    });
    await Promise.all(ended);
    expect(endpoint.requests).toHaveLength(200);
    expect(endpoint.mostAtOnce()).toBeLessThanOrEqual(4);
    expect(next - refusedAt).toBeGreaterThan(3_990);
  });

  test('a URL where no Redis answers is refused in one sentence that names the setting', async () => {
    await expect(connectRedis('redis://:hunter2@127.0.0.1:1')).rejects.toThrow(
      /^REDIS_URL: no Redis answers at redis:\/\/127\.0\.0\.1:1 \(.*ECONNREFUSED.*\)$/,
    );
  });
});
