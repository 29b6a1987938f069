import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { onBehalfOf } from '../../shared/concurrency/currentCaller.ts';
import { freeTurn, threadCpuMs } from '../../shared/concurrency/freeTurn.ts';
import { whilePresent } from '../../shared/concurrency/presentCallers.ts';
import type { ClickHouse } from '../../shared/stores/clickhouse/clickHouse.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { FairTurns } from '../../shared/stores/clickhouse/fairTurns.ts';
import { openSeededDatabase } from '../support/seedPostgres.ts';

/** Work that ends when the test says so, and what has begun. */
function works(turns: FairTurns) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const ended: Promise<void>[] = [];
  return {
    begun,
    async add(caller: string | undefined, name: string): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      const work = () => {
        begun.push(name);
        return promise;
      };
      ended.push(onBehalfOf(caller, () => turns.run(work)));
      await new Promise(setImmediate);
    },
    async end(name: string): Promise<void> {
      ends.get(name)?.();
      await new Promise(setImmediate);
    },
    allEnded: () => Promise.all(ended),
  };
}

test('callers take turns, and one has only its share', async () => {
  const { begun, add, end, allEnded } = works(new FairTurns(3, 2));
  for (const n of [1, 2, 3, 4]) await add('ada', `a${n}`);
  expect(begun).toEqual(['a1', 'a2']);
  for (const n of [1, 2]) await add('bob', `b${n}`);
  await add('cyd', 'c1');
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await end('a1');
  await end('a2');
  await end('a3');
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'c1']);
  for (const name of ['b1', 'b2', 'c1', 'a4']) await end(name);
  await allEnded();
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'c1', 'a4']);
});

test('what waits says for how long, what is let in at once does not', async () => {
  const waits: number[] = [];
  const { add, end, allEnded } = works(new FairTurns(1, 1, (seconds) => waits.push(seconds)));
  await add('ada', 'first');
  await add('ada', 'second');
  await end('first');
  await end('second');
  await allEnded();
  expect(waits).toHaveLength(1);
  expect(waits[0]).toBeGreaterThan(0);
});

test('work that fails ends its turn', async () => {
  const turns = new FairTurns(1);
  await expect(turns.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await turns.run(async () => 'next')).toBe('next');
});

test('long statements of one caller hold up neither another’s nor those of the service', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-turns-'));
  const clickhouse = openClickHouse({ dataDir });
  try {
    let done = 0;
    const ask = (read: Parameters<ClickHouse['query']>[0]) => clickhouse.query(read);
    const long = { name: 'long', sql: 'SELECT sleep(1)', row: (row: unknown) => row };
    const longs = Array.from({ length: 9 }, () => onBehalfOf('ada', () => ask(long)).then(() => ++done));
    const short = { name: 'short', sql: 'SELECT 1', row: (row: unknown) => row };
    await onBehalfOf('bob', () => ask(short));
    await ask(short);
    expect(done).toBeLessThan(9);
    await Promise.all(longs);
    const sql = "SELECT getSetting('max_threads') AS threads";
    const threads = async () => (await ask({ name: 'threads', sql, row: (row) => (row as { threads: string }).threads }))[0];
    const beside = whilePresent('bob', () => onBehalfOf('ada', threads));
    expect(Number(await beside)).toBe(Math.ceil(availableParallelism() / 2));
  } finally {
    await clickhouse.close();
    await rm(dataDir, { recursive: true, force: true });
  }
});

/** Work of a caller that takes the event loop for 200 ms, in pieces of 0.2 ms. @returns the milliseconds that the event loop had nothing to do meanwhile */
async function longWork(caller: string | undefined): Promise<number> {
  const { idle } = performance.eventLoopUtilization();
  const work = async () => {
    for (let piece = 0; piece < 1_000; piece++) {
      const until = performance.now() + 0.2;
      while (performance.now() < until);
      await freeTurn();
    }
  };
  await onBehalfOf(caller, () => (caller === undefined ? work() : whilePresent(caller, work)));
  return performance.eventLoopUtilization().idle - idle;
}

/** Milliseconds that the event loop waits at most where work leaves no time to others: on a busy machine it waits for its turn, too. */
const BUSY_MS = 150;

/** Measures anew while the figure is not as it should be: a machine that stalls makes it wrong now and then, a fault each time. */
async function measured(isRight: (figure: number) => boolean, measure: () => Promise<number>): Promise<number> {
  let figure = await measure();
  for (let tries = 1; tries < 5 && !isRight(figure); tries++) figure = await measure();
  return figure;
}
const waitsLittle = (idleMs: number) => idleMs < BUSY_MS;

test('long work leaves two thirds of the time to callers who are there, and none where there are none', async () => {
  expect(await measured(waitsLittle, () => longWork('ada'))).toBeLessThan(BUSY_MS);
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const request = whilePresent('bob', () => answered);
  expect(await longWork('ada')).toBeGreaterThan(250);
  // Work of the service itself belongs to no account.
  expect(await measured(waitsLittle, () => longWork(undefined))).toBeLessThan(BUSY_MS);
  answer();
  await request;
  // An account that got an answer a moment ago still counts.
  const afterAnswer = async () => {
    await whilePresent('bob', async () => undefined);
    const [first] = await Promise.all([longWork('ada'), longWork('ada')]);
    return first;
  };
  expect(await measured((idleMs) => idleMs > 20, afterAnswer)).toBeGreaterThan(20);
  expect(await measured(waitsLittle, () => longWork('ada'))).toBeLessThan(BUSY_MS);
});

test('after a long statement of the embedded Postgres its caller leaves time to others, where there are others', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'assay-turns-'));
  const database = await openSeededDatabase(join(folder, 'postgres'));
  const LONG = 'SELECT count(*) FROM generate_series(1, 3000000)';
  /** How often the CPU time of the work the event loop waited meanwhile. */
  const waited = async (work: () => Promise<unknown>) => {
    const [loop, cpu] = [performance.eventLoopUtilization(), threadCpuMs()];
    await onBehalfOf('ada', work);
    return performance.eventLoopUtilization(loop).idle / (threadCpuMs() - cpu);
  };
  const alone = () => database.query(LONG);
  const inTransaction = () => database.transaction((tx) => tx.query(LONG));
  try {
    const isShort = (times: number) => times < 0.5;
    expect(await measured(isShort, () => waited(alone))).toBeLessThan(0.5);
    expect(await whilePresent('bob', () => waited(alone))).toBeGreaterThan(1.5);
    // Others wait for its end.
    expect(await measured(isShort, () => whilePresent('bob', () => waited(inTransaction)))).toBeLessThan(0.5);
  } finally {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  }
});
