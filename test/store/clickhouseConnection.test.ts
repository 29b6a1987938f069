import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { metricColumn } from '../../shared/metrics/metricColumn.ts';
import { toxicity } from '../../shared/metrics/toxicity.ts';
import { columnFinder } from '../../shared/records/findColumn.ts';
import { type ClickHouse, type NativeInsert, SUBQUERIES_WITH_ROWS } from '../../shared/stores/clickhouse/clickHouse.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { clickhouseRecordStream } from '../../shared/stores/clickhouse/reads/recordStream.ts';
import { NativeBlock, nativeTypes } from '../../shared/stores/clickhouse/tables/nativeBlock.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { type ColumnFilter, FilterList } from '../../shared/wire/filters.ts';
import type { RecordKind } from '../../shared/wire/recordKinds.ts';
import { startClickHouseServer } from '../support/clickhouseServer.ts';

const Names = (row: unknown) => (row as { name: string }).name;

/** A proxy before the server that closes a connection instead of passing on what comes next over it, `drops.left` times. */
async function closingProxy(target: string): Promise<{ url: string; drops: { left: number; done: number } }> {
  const drops = { left: 0, done: 0 };
  const proxy = createServer((incoming) => {
    const outgoing = connect(Number(new URL(target).port), '127.0.0.1');
    const close = () => {
      incoming.destroy();
      outgoing.destroy();
    };
    incoming.on('data', (chunk) => {
      if (drops.left > 0) {
        drops.left--;
        drops.done++;
        close();
      } else outgoing.write(chunk);
    });
    outgoing.on('data', (chunk) => incoming.write(chunk));
    for (const socket of [incoming, outgoing]) socket.on('error', close).on('close', close);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, drops };
}

test('a statement whose connection is closed under it is sent once more; a store that stays away is told', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-clickhouse-'));
  const server = await startClickHouseServer({ dataDir });
  onTestFinished(async () => {
    await server.stop();
    await rm(dataDir, { recursive: true });
  });
  const { url, drops } = await closingProxy(server.url);
  const clickhouse = openClickHouse({ url });
  onTestFinished(() => clickhouse.close());

  const read = { name: 'names', sql: 'SELECT name FROM things ORDER BY name', row: Names };
  const statements: (() => Promise<unknown>)[] = [
    () =>
      clickhouse.command({
        name: 'make',
        sql: 'CREATE TABLE IF NOT EXISTS things (name String) ENGINE = MergeTree ORDER BY name',
      }),
    () => clickhouse.insert({ table: 'things', rows: [{ name: 'a' }, { name: 'b' }], token: 'first' }),
    async () => expect(await clickhouse.query(read)).toEqual(['a', 'b']),
    async () => expect(await clickhouse.page(read)).toEqual({ rows: ['a', 'b'], total: 2 }),
    async () => {
      const streamed: string[] = [];
      for await (const name of clickhouse.stream(read)) streamed.push(name);
      expect(streamed).toEqual(['a', 'b']);
    },
  ];
  for (const [index, statement] of statements.entries()) {
    await clickhouse.ping();
    drops.left = 1;
    await statement();
    expect(drops).toEqual({ left: 0, done: index + 1 });
  }
  drops.left = 2;
  await expect(clickhouse.query(read)).rejects.toMatchObject({
    code: 'Unavailable',
    message: expect.stringContaining('record store does not answer'),
  });
});

test('a server that does not answer ends no statement in silence: each ends in its time, and a write is stored once', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-clickhouse-'));
  const server = await startClickHouseServer({ dataDir });
  const told: string[] = [];
  const clickhouse = openClickHouse({
    url: server.url,
    limits: { insertSeconds: 0.5, statementSeconds: 0.5, readSlackSeconds: 0, cancelSeconds: 0.2 },
    onHang: (name, err) => told.push(`${name}: ${err.message}`),
  });
  onTestFinished(async () => {
    await clickhouse.close();
    process.kill(server.pid, 'SIGCONT');
    await server.stop();
    await rm(dataDir, { recursive: true });
  });
  const patient = openClickHouse({ url: server.url });
  onTestFinished(() => patient.close());
  const window = 'SETTINGS non_replicated_deduplication_window = 100';
  await patient.command({ name: 'make', sql: `CREATE TABLE things (name String) ENGINE = MergeTree ORDER BY name ${window}` });
  const many = { name: 'many', sql: 'SELECT toString(number) AS name FROM numbers(3000000)', row: Names };
  const rows = clickhouse.stream(many);
  expect((await rows.next()).value).toBe('0');

  process.kill(server.pid, 'SIGSTOP');
  const read = { name: 'names', sql: 'SELECT name FROM things', row: Names };
  const insert = { table: 'things', rows: [{ name: 'a' }], token: 'one' };
  const drained = async (stream: AsyncGenerator<unknown>) => {
    for await (const _ of stream);
  };
  const statements: [string, Promise<unknown>][] = [
    ['names', clickhouse.query(read)],
    ['names', clickhouse.page(read)],
    ['names', drained(clickhouse.stream(read))],
    ['insert into things', clickhouse.insert(insert)],
    ['change', clickhouse.command({ name: 'change', sql: 'OPTIMIZE TABLE things' })],
    ['many', drained(rows)],
  ];
  await Promise.all(
    statements.map(([, statement]) => expect(statement).rejects.toMatchObject({ code: 'Unavailable', retryAfterSeconds: 2 })),
  );
  const silent = 'the ClickHouse server did not answer within 0.5 s: nor to its cancellation, and the connection was closed';
  expect(told.sort()).toEqual(statements.map(([name]) => `${name}: ${silent}`).sort());

  process.kill(server.pid, 'SIGCONT');
  await patient.insert(insert);
  await expect.poll(() => patient.query(read)).toEqual(['a']);
});

test('the event loop turns while a stream of the embedded engine finds what its rows must be among', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-clickhouse-'));
  const clickhouse = openClickHouse({ dataDir });
  onTestFinished(async () => {
    await clickhouse.close();
    await rm(dataDir, { recursive: true });
  });
  await clickhouse.command({ name: 'make', sql: 'CREATE TABLE things (name String) ENGINE = MergeTree ORDER BY name' });
  await clickhouse.insert({ table: 'things', rows: [{ name: 'a' }, { name: 'b' }], token: 'first' });
  let turns = 0;
  const counting = setInterval(() => turns++, 20);
  onTestFinished(() => clearInterval(counting));
  const streamed: string[] = [];
  // The engine would look up the key by what the subquery finds, which it asks before it answers anything.
  const sql = 'SELECT name FROM things WHERE name IN (SELECT name FROM things WHERE sleepEachRow(1) = 0) ORDER BY name';
  const slow = { name: 'slow to begin', sql, row: Names, settings: SUBQUERIES_WITH_ROWS };
  for await (const name of clickhouse.stream(slow)) streamed.push(name);
  expect(streamed).toEqual(['a', 'b']);
  expect(turns).toBeGreaterThan(20); // of 100
});

test('an export asks for that where its filter looks through other records, not where it names some', async () => {
  const settingsOf = async (
    leaves: object[],
    { isEmbedded = true, kinds = ['trace', 'llm'] as RecordKind[], by = 'and' as 'and' | 'or' } = {},
  ) => {
    const filter = { [by]: FilterList.parse(leaves) } as unknown as ColumnFilter;
    const asked: (object | undefined)[] = [];
    const stream = ({ settings }: { settings?: object }) => {
      asked.push(settings);
      return (async function* () {})();
    };
    const exported = clickhouseRecordStream({ isEmbedded, query: async () => [], stream } as unknown as ClickHouse);
    const query = {
      run: { projectId: newId(), runId: newId() },
      kinds,
      filter,
      findColumn: columnFinder([metricColumn(toxicity)]),
      finishedSessionsOnly: false,
    };
    for await (const _ of exported.keys(query));
    for await (const _ of exported.members(query, 'trace_id'));
    return asked;
  };
  const byMetric = { type: 'number', column_id: 'metrics/toxicity', operator: 'gt', value: 0.5 };
  const later = expect.objectContaining(SUBQUERIES_WITH_ROWS);
  expect(await settingsOf([byMetric])).toEqual([later, later]);
  const ofServer = await settingsOf([byMetric], { isEmbedded: false });
  expect(ofServer).toEqual([expect.not.objectContaining(SUBQUERIES_WITH_ROWS), expect.anything()]);
  const byTrace = (...value: string[]) => ({ type: 'id', column_id: 'trace_id', operator: 'one_of', value });
  const ids = Array.from({ length: 2_400 }, newId);
  expect(await settingsOf([byTrace(newId())])).not.toContainEqual(later);
  expect(await settingsOf([byTrace(...ids)])).toEqual([later, later]);
  // Conditions that become one list count as one.
  const halves = [byTrace(...ids.slice(0, 1_200)), byTrace(...ids.slice(1_200))];
  expect(await settingsOf(halves, { by: 'or' })).toEqual([later, later]);
  // A trace says by itself whether it is complete, a span by its trace.
  const complete = { type: 'boolean', column_id: 'is_complete', operator: 'eq', value: true };
  expect(await settingsOf([complete], { kinds: ['trace'] })).not.toContainEqual(later);
  expect(await settingsOf([complete])).toEqual([later, later]);
});

test.for(['embedded', 'server'] as const)('a deletion takes what was stored when it was submitted (%s)', async (kind) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-clickhouse-'));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  const server = kind === 'server' ? await startClickHouseServer({ dataDir }) : undefined;
  onTestFinished(() => server?.stop());
  const open = () => openClickHouse(server ? { url: server.url } : { dataDir });
  let clickhouse = open();
  onTestFinished(() => clickhouse.close());
  await clickhouse.command({ name: 'make', sql: 'CREATE TABLE things (name String) ENGINE = MergeTree ORDER BY name' });
  const add = (name: string) => clickhouse.insert({ table: 'things', rows: [{ name }], token: newId() });
  const names = () => clickhouse.query({ name: 'names', sql: 'SELECT name FROM things ORDER BY name', row: Names });
  await add('a');
  await add('b');

  await clickhouse.command({ name: 'merges', sql: 'SYSTEM STOP MERGES things' });
  const { submitted, gone } = clickhouse.deleteFrom({ table: 'things', where: 'name = {name:String}', params: { name: 'a' } });
  await submitted;
  await add('a');
  expect(await names()).toEqual(['a', 'a', 'b']);
  await clickhouse.command({ name: 'merges', sql: 'SYSTEM START MERGES things' });
  await gone;
  expect(await names()).toEqual(['a', 'b']);

  const refused = clickhouse.deleteFrom({ table: 'things', where: 'no_such_column = 1' });
  await expect(refused.submitted).rejects.toThrow();
  await expect(refused.gone).rejects.toThrow();
  await expect(clickhouse.deleteFrom({ table: 'no_such_table', where: 'true' }).gone).rejects.toThrow();

  if (server) return;
  // Submitted by a process that closes its store before it is carried out.
  await clickhouse.command({ name: 'merges', sql: 'SYSTEM STOP MERGES things' });
  const last = clickhouse.deleteFrom({ table: 'things', where: "name = 'b'" });
  await last.submitted;
  await clickhouse.close();
  await last.gone.catch(() => {}); // its look at a closed store
  clickhouse = open();
  await clickhouse.command({ name: 'merges', sql: 'SYSTEM START MERGES things' });
  await expect.poll(names).toEqual(['a']);
});

test('an export finds the keys of more records than the memory of a statement holds', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-clickhouse-'));
  const clickhouse = openClickHouse({ dataDir, queryMemoryBytes: 96 * 1024 ** 2 });
  onTestFinished(async () => {
    await clickhouse.close();
    await rm(dataDir, { recursive: true });
  });
  await migrateTables(clickhouse);
  const run = { projectId: newId(), runId: newId() };
  const count = 600_000;
  await clickhouse.command({
    name: 'make records',
    sql: `INSERT INTO records (project_id, run_id, created_at, id, type, trace_id, session_id, input, short_columns, version)
          SELECT {project:UUID}, {run:UUID}, toDateTime64('2026-01-01', 6, 'UTC') + number % 1000, generateUUIDv4(number), 'llm', generateUUIDv4(intDiv(number, 8)), generateUUIDv4(), 'text', '{}', 1
          FROM numbers({count:UInt64})`,
    params: { project: run.projectId, run: run.runId, count },
    settings: { max_memory_usage: 2 * 1024 ** 3 },
  });
  const query = { run, kinds: ['llm'] as const, filter: { and: [] }, findColumn: columnFinder([]), finishedSessionsOnly: false };
  const found = new Set<string>();
  let last: string | undefined;
  for await (const { id, createdAt } of clickhouseRecordStream(clickhouse).keys(query)) {
    if (last !== undefined && createdAt > last) expect.fail(`${createdAt} comes after ${last}`);
    last = createdAt;
    found.add(id);
  }
  expect(found.size).toBe(count);
});

describe('a stream that is called off before its first row', () => {
  const endless = {
    ...{ name: 'called off', sql: 'SELECT sum(sleepEachRow(1)) AS name FROM numbers(60)', row: Names, maxSeconds: 36_000 },
    settings: { function_sleep_max_microseconds_per_block: 0 },
  };
  const folder = async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'assay-clickhouse-'));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    return dataDir;
  };
  const runningIn = async (clickhouse: ClickHouse) => {
    const sql = "SELECT count() AS name FROM system.processes WHERE Settings['log_comment'] = 'called off'";
    return Number((await clickhouse.query({ name: 'running', sql, row: Names }))[0]);
  };
  const calledOff = async (clickhouse: ClickHouse, hasBegun: () => Promise<void>) => {
    const leaving = new AbortController();
    const first = clickhouse.stream({ ...endless, signal: leaving.signal }).next();
    await hasBegun();
    leaving.abort(new Error('the caller left'));
    await expect(first).rejects.toThrow('the caller left');
  };

  test('ends in the embedded engine', async () => {
    const clickhouse = openClickHouse({ dataDir: await folder() });
    onTestFinished(() => clickhouse.close());
    for (let time = 0; time < 3; time++) {
      await calledOff(clickhouse, () => expect.poll(() => runningIn(clickhouse)).toBe(1));
      await expect.poll(() => runningIn(clickhouse)).toBe(0);
    }
    const late = clickhouse.stream({ ...endless, signal: AbortSignal.abort(new Error('left before')) });
    await expect(late.next()).rejects.toThrow('left before');
  });

  test('gives back its connection to a server', async () => {
    const server = await startClickHouseServer({ dataDir: await folder() });
    onTestFinished(() => server.stop());
    const [clickhouse, other] = [openClickHouse({ url: server.url, connections: 1 }), openClickHouse({ url: server.url })];
    onTestFinished(async () => {
      await clickhouse.close();
      await other.close();
    });
    await calledOff(clickhouse, () => expect.poll(() => runningIn(other)).toBe(1));
    await clickhouse.ping();
  });
});

test('other work goes on while the rows of a long answer are read, and each row is there once', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-clickhouse-'));
  const clickhouse = openClickHouse({ dataDir });
  onTestFinished(async () => {
    await clickhouse.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  let turns = 0;
  const counting = setInterval(() => turns++);
  onTestFinished(() => clearInterval(counting));
  const read = await clickhouse.query({
    name: 'long answer',
    sql: "SELECT concat(toString(number), repeat('ß', 500)) AS name FROM numbers(20000)",
    row: (row) => ({ name: Names(row), turns }),
  });
  expect(read.map(({ name }) => name)).toEqual(Array.from({ length: 20_000 }, (_, n) => `${n}${'ß'.repeat(500)}`));
  expect(read.at(-1)?.turns).toBeGreaterThan(read[0]?.turns ?? 0);
});

describe.each(['embedded engine', 'server'])('inserts in order into the %s', (engine) => {
  let clickhouse: ClickHouse;
  beforeAll(async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'assay-in-order-'));
    const server = engine === 'server' ? await startClickHouseServer({ dataDir }) : undefined;
    clickhouse = openClickHouse(server ? { url: server.url } : { dataDir });
    for (const table of ['first', 'second']) {
      const sql = `CREATE TABLE ${table} (n UInt32, text String) ENGINE = MergeTree ORDER BY n SETTINGS non_replicated_deduplication_window = 100`;
      await clickhouse.command({ name: 'make', sql });
    }
    return async () => {
      await clickhouse.close();
      await server?.stop();
      await rm(dataDir, { recursive: true });
    };
  });
  beforeEach(async () => {
    for (const table of ['first', 'second']) await clickhouse.command({ name: 'empty', sql: `TRUNCATE TABLE ${table}` });
  });

  const types = nativeTypes([
    { name: 'n', sqlType: 'UInt32' },
    { name: 'text', sqlType: 'String' },
  ]);
  const rows = (table: string, numbers: readonly number[], text = "it's; INSERT\n\n", token = newId()): NativeInsert => {
    const block = new NativeBlock(types);
    for (const n of numbers) block.add({ n, text });
    return { table, native: block.finish(), token };
  };
  const stored = (table: string) =>
    clickhouse.query({ name: 'rows', sql: `SELECT n FROM ${table} ORDER BY n`, row: (row) => (row as { n: number }).n });

  test('all are stored, each in its table, and a repeat of some or all of them is stored once', async () => {
    const [a, b] = [rows('first', [1, 2]), rows('second', [3])];
    await clickhouse.insertInOrder([[a]]);
    await clickhouse.insertInOrder([[a], [b]]);
    await clickhouse.insertInOrder([[a, b]]);
    await clickhouse.insertInOrder([[rows('first', [1, 2])], [rows('second', [3]), rows('second', [4])]]);
    expect([await stored('first'), await stored('second')]).toEqual([
      [1, 1, 2, 2],
      [3, 3, 4],
    ]);
    await clickhouse.insertInOrder([]);
  });

  test('what comes after one that fails is not stored, what comes before it is', async () => {
    const [a, c] = [rows('first', [1]), rows('second', [3])];
    await expect(clickhouse.insertInOrder([[a], [rows('missing', [2])], [c]])).rejects.toThrow();
    expect([await stored('first'), await stored('second')]).toEqual([[1], []]);
    await clickhouse.insertInOrder([[a], [c]]);
    expect([await stored('first'), await stored('second')]).toEqual([[1], [3]]);
  });

  test('bodies of any size, one after the other', async () => {
    const text = 'x'.repeat(1_000);
    for (const count of [1, 6_000, 2, 9_000, 1])
      await clickhouse.insertInOrder([[rows('first', Array(count).fill(count), text)], [rows('second', [count], text)]]);
    expect((await stored('first')).length).toBe(15_004);
    expect(await stored('second')).toEqual([1, 1, 2, 6_000, 9_000]);
  });
});
