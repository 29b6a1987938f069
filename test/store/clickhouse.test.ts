import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openChdbEngine } from '../../shared/stores/clickhouse/embedded/chdbEngine.ts';
import { chdbConnection } from '../support/chdbConnection.ts';
import { type ClickHouseServer, startClickHouseServer } from '../support/clickhouseServer.ts';

const log = { level: ClickHouseLogLevel.OFF }; // failures are what some cases are about

interface Store {
  client: ClickHouseClient;
  close(): Promise<void>;
}

const stores: Record<string, () => Promise<Store>> = {
  'the embedded engine': async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'assay-chdb-'));
    const engine = openChdbEngine(dataDir);
    const client = createClient({ connection: chdbConnection(engine), log });
    return { client, close: () => engine.close().then(() => rm(dataDir, { recursive: true })) };
  },
  'a server over HTTP': () => overHttp({}),
  'a server over HTTP with gzip both ways': () => overHttp({ compression: { request: true, response: true } }),
  'a server over HTTP with multipart parameters': () => overHttp({ use_multipart_params: true }),
};

async function overHttp(options: Parameters<typeof createClient>[0]): Promise<Store> {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-clickhouse-'));
  const server = await startClickHouseServer({ dataDir });
  const client = createClient({ url: server.url, username: 'someone', password: 'secret', log, ...options });
  return {
    client,
    async close() {
      await client.close();
      await server.stop();
      await rm(dataDir, { recursive: true });
    },
  };
}

for (const [name, open] of Object.entries(stores)) {
  describe(name, () => {
    let store: Store;
    let client: ClickHouseClient;
    beforeAll(async () => {
      store = await open();
      client = store.client;
    });
    afterAll(() => store.close());

    const rows = async <T>(query: string, query_params: Record<string, unknown> = {}, settings = {}): Promise<T[]> =>
      (await client.query({ query, query_params, clickhouse_settings: settings, format: 'JSONEachRow' })).json<T>();
    let tables = 0;
    const table = async (columns: string, settings = ''): Promise<string> => {
      const created = `t${++tables}`;
      await client.command({ query: `CREATE TABLE ${created} (${columns}) ENGINE = MergeTree ORDER BY tuple() ${settings}` });
      return created;
    };
    const count = async (from: string): Promise<number> =>
      Number((await rows<{ n: string }>(`SELECT toString(count()) AS n FROM ${from}`))[0]?.n);

    test('answers a ping', async () => {
      expect(await client.ping()).toEqual({ success: true });
      expect(await client.ping({ select: true })).toEqual({ success: true });
    });

    test.each([
      ['String', "it's a \\ back\\nslash", "it's a \\ back\\nslash"],
      ['String', 'tab\t line\n return\r nul\0 — ünïcödé 🙂', 'tab\t line\n return\r nul\0 — ünïcödé 🙂'],
      ['String', '', ''],
      ['String', "'; DROP TABLE x; --", "'; DROP TABLE x; --"],
      ['UInt8', 255, 255],
      ['Int64', '-9223372036854775808', '-9223372036854775808'],
      ['UInt64', 18446744073709551615n, '18446744073709551615'],
      ['Float64', -1.5e-7, -1.5e-7],
      ['Bool', true, true],
      ['UUID', '0a1b2c3d-0000-4000-8000-000000000001', '0a1b2c3d-0000-4000-8000-000000000001'],
      ["DateTime64(6, 'UTC')", '2026-01-02 03:04:05.123456', '2026-01-02 03:04:05.123456'],
      ['Nullable(String)', null, null],
      ['Nullable(Int32)', 7, 7],
      ['Array(String)', ['a', "b's", 'c\\d', 'tab\t', '', '],['], ['a', "b's", 'c\\d', 'tab\t', '', '],[']],
      ['Array(UInt64)', [1, 2, 18446744073709551615n], ['1', '2', '18446744073709551615']],
      ['Array(Nullable(String))', ['a', null], ['a', null]],
      ['Array(Array(String))', [['a'], [], ["'"]], [['a'], [], ["'"]]],
      ["Array(DateTime64(6, 'UTC'))", ['2026-01-02 03:04:05.000001'], ['2026-01-02 03:04:05.000001']],
      ['Array(String)', [], []],
    ])('binds %s, case %#', async (type, value, expected) => {
      const settings = { output_format_json_quote_64bit_integers: 1 };
      expect(await rows(`SELECT {v:${type}} AS v`, { v: value }, settings)).toEqual([{ v: expected }]);
    });

    test('many statements at once each see their own parameters and settings', async () => {
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          rows(
            "SELECT {v:String} AS v, getSetting('max_block_size') AS size, count() AS n FROM numbers(10000)",
            { v: `v${i}` },
            { max_block_size: `${1000 + i}` },
          ),
        ),
      );
      const plain = (answer: unknown) =>
        JSON.parse(JSON.stringify(answer), (_, value) =>
          typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value,
        );
      expect(plain(answers)).toEqual(Array.from({ length: 100 }, (_, i) => [{ v: `v${i}`, size: 1000 + i, n: 10_000 }]));
    });

    test('a value bound for one statement is not there for the next', async () => {
      expect(await rows('SELECT {secret:String} AS v', { secret: 'x' })).toEqual([{ v: 'x' }]);
      await expect(rows('SELECT {secret:String} AS v')).rejects.toMatchObject({ code: '456' });
    });

    test('a setting of one statement is not there for the next', async () => {
      await rows('SELECT 1', {}, { log_comment: 'mine' });
      expect(await rows("SELECT getSetting('log_comment') AS v")).toEqual([{ v: '' }]);
    });

    test('an unknown setting is refused by name', async () => {
      await expect(rows('SELECT 1', {}, { no_such_setting: '1' })).rejects.toMatchObject({
        code: '115',
        type: 'UNKNOWN_SETTING',
      });
      expect(await rows('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });

    test.each([
      ['SELEC 1', '62', 'SYNTAX_ERROR'],
      ['SELECT * FROM no_such_table', '60', 'UNKNOWN_TABLE'],
      ['SELECT no_such_column', '47', 'UNKNOWN_IDENTIFIER'],
      ["SELECT throwIf(1, 'stop')", '395', 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO'],
    ])('%s fails with code %s', async (query, code, type) => {
      await expect(client.query({ query, format: 'JSONEachRow' }).then((result) => result.text())).rejects.toMatchObject({
        code,
        type,
      });
    });

    test('a query that fails half way leaves nothing for the next', async () => {
      for (const format of ['JSON', 'JSONEachRow', 'TabSeparated'] as const) {
        const failing = client.query({ query: 'SELECT throwIf(number = 900000) FROM numbers(1000000)', format });
        await expect(
          failing.then((result) => result.text()).then((text) => (text.includes('__exception__') ? Promise.reject(text) : text)),
        ).rejects.toBeDefined();
        expect(await rows('SELECT 7 AS a')).toEqual([{ a: 7 }]);
      }
    });

    test('a memory limit fails the one query', async () => {
      const greedy = rows('SELECT groupArray(number) AS a FROM numbers(50000000)', {}, { max_memory_usage: '10000000' });
      await expect(greedy).rejects.toMatchObject({ code: '241', type: 'MEMORY_LIMIT_EXCEEDED' });
      expect(await rows('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });

    test('inserts rows with every awkward character and reads them back', async () => {
      const into = await table('id UInt32, text String');
      const texts = [
        'plain',
        'quote \' and "',
        'back\\slash',
        'semi; colon; DROP TABLE x',
        'line\n\nfeed\n',
        'tab\t',
        '{"json": true}',
        '{p0:String}',
        '',
        '🙂',
      ];
      await client.insert({ table: into, values: texts.map((text, id) => ({ id, text })), format: 'JSONEachRow' });
      expect(await rows(`SELECT id, text FROM ${into} ORDER BY id`)).toEqual(texts.map((text, id) => ({ id, text })));
    });

    test('blank lines in data are data, never SQL', async () => {
      const into = await table('id UInt32, text String');
      const csv = '1,"first\n\nSELECT throwIf(1)"\n2,"second;\n\nDROP TABLE x"\n';
      await client.insert({ table: into, values: Readable.from([csv], { objectMode: false }), format: 'CSV' });
      await client.exec({
        query: `INSERT INTO ${into} FORMAT JSONEachRow`,
        values: Readable.from(['{"id":3,"text":"a"}\n\n{"id":4,"text":"b"}\n'], { objectMode: false }),
      });
      expect((await rows<{ text: string }>(`SELECT text FROM ${into} ORDER BY id`)).map((row) => row.text)).toEqual([
        'first\n\nSELECT throwIf(1)',
        'second;\n\nDROP TABLE x',
        'a',
        'b',
      ]);
    });

    test('inserts into named columns only', async () => {
      const into = await table("id UInt32, text String DEFAULT 'none'");
      await client.insert({ table: into, values: [{ id: 1 }], columns: ['id'], format: 'JSONEachRow' });
      expect(await rows(`SELECT * FROM ${into}`)).toEqual([{ id: 1, text: 'none' }]);
    });

    test('inserts Native data that it gave out itself', async () => {
      const into = await table('number UInt64');
      const given = await client.exec({ query: 'SELECT number FROM numbers(70000) FORMAT Native' });
      await client.exec({ query: `INSERT INTO ${into} FORMAT Native`, values: given.stream });
      expect(await count(into)).toBe(70_000);
    });

    test('a row that does not fit refuses the insert, and nothing is written', async () => {
      const into = await table('id UInt32');
      await expect(
        client.insert({ table: into, values: [{ id: 1 }, { id: 'two' }], format: 'JSONEachRow' }),
      ).rejects.toMatchObject({ code: expect.stringMatching(/^(27|72|117)$/) });
      expect(await count(into)).toBe(0);
      await client.insert({ table: into, values: [{ id: 1 }], format: 'JSONEachRow' });
      expect(await count(into)).toBe(1);
    });

    test('an empty insert writes nothing', async () => {
      const into = await table('id UInt32');
      await client.insert({ table: into, values: [], format: 'JSONEachRow' });
      expect(await count(into)).toBe(0);
    });

    test('a big insert arrives whole, and its summary says so', async () => {
      const into = await table('id UInt32, text String');
      const values = Readable.from(Array.from({ length: 200_000 }, (_, id) => ({ id, text: `row ${id} `.repeat(5) })));
      const { summary } = await client.insert({ table: into, values, format: 'JSONEachRow' });
      expect(Number(summary?.written_rows)).toBe(200_000);
      expect(await rows(`SELECT toUInt32(count()) AS n, toUInt32(max(id)) AS last FROM ${into}`)).toEqual([
        { n: 200_000, last: 199_999 },
      ]);
    });

    test('a block sent again with its token is stored once; the token does not reach the next insert', async () => {
      const into = await table('id UInt32', 'SETTINGS non_replicated_deduplication_window = 1000');
      const block = (first: number, size: number) => Array.from({ length: size }, (_, i) => ({ id: first + i }));
      const insert = (values: { id: number }[], token?: string) =>
        client.insert({
          table: into,
          values,
          format: 'JSONEachRow',
          ...(token && { clickhouse_settings: { insert_deduplication_token: token } }),
        });
      await insert(block(0, 500), 'first');
      await insert(block(0, 500), 'first');
      expect(await count(into)).toBe(500);
      await insert(block(0, 500), 'second');
      await insert([{ id: 7 }]);
      await insert([{ id: 8 }]);
      expect(await count(into)).toBe(1002);
    });

    test('a failed insert may be sent again with the same token', async () => {
      const into = await table('id UInt32', 'SETTINGS non_replicated_deduplication_window = 1000');
      const clickhouse_settings = { insert_deduplication_token: 'again' };
      await expect(
        client.insert({ table: into, values: [{ id: 'x' }], format: 'JSONEachRow', clickhouse_settings }),
      ).rejects.toThrow();
      await client.insert({ table: into, values: [{ id: 1 }], format: 'JSONEachRow', clickhouse_settings });
      expect(await count(into)).toBe(1);
    });

    test('streams a long result, and can be left in the middle', async () => {
      const query = "SELECT toUInt32(number) AS n, repeat('x', 50) AS text FROM numbers(300000)";
      let seen = 0;
      for await (const part of (await client.query({ query, format: 'JSONEachRow' })).stream()) seen += part.length;
      expect(seen).toBe(300_000);
      const left = await client.query({ query, format: 'JSONEachRow' });
      for await (const part of left.stream()) {
        expect(part[0]?.json()).toMatchObject({ n: 0 });
        break;
      }
      expect(await rows('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });

    test('a document format is one document', async () => {
      const result = await client.query({ query: 'SELECT toUInt32(number) AS n FROM numbers(100000)', format: 'JSON' });
      const document = await result.json<{ n: number }>();
      expect(document.rows).toBe(100_000);
      expect(document.data.at(-1)).toEqual({ n: 99_999 });
    });

    test('a parameter of 100 kB is bound', async () => {
      const long = 'é\\\'"\n'.repeat(20_000);
      expect(await rows('SELECT length({v:String}) AS n', { v: long }, { output_format_json_quote_64bit_integers: 0 })).toEqual([
        { n: Buffer.byteLength(long) },
      ]);
    });

    test('DDL: add a column, drop a table', async () => {
      const into = await table('id UInt32');
      await client.command({ query: `ALTER TABLE ${into} ADD COLUMN IF NOT EXISTS text String DEFAULT 'new'` });
      await client.insert({ table: into, values: [{ id: 1 }], format: 'JSONEachRow' });
      expect(await rows(`SELECT * FROM ${into}`)).toEqual([{ id: 1, text: 'new' }]);
      await client.command({ query: `DROP TABLE ${into} SYNC` });
      await expect(rows(`SELECT * FROM ${into}`)).rejects.toMatchObject({ code: '60' });
    });
  });
}

describe('the folder of the embedded engine', () => {
  test('has no rows of an insert beside the tables, also not those that a killed process left', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'assay-chdb-'));
    const bodies = join(dataDir, 'insert_bodies');
    await mkdir(bodies);
    await writeFile(join(bodies, '1-left'), 'half a block');
    await writeFile(join(bodies, `${process.pid}-left`), 'by the main process of a container, which always has this id');
    const engine = openChdbEngine(dataDir);
    try {
      expect(await readdir(bodies)).toEqual([]);
      await engine.query({ sql: 'CREATE TABLE t (a String, n UInt8) ENGINE = MergeTree ORDER BY a' });
      const insert = (text: string) => engine.insert({ sql: 'INSERT INTO t FORMAT CSV', body: `${text}\n` });
      await insert('a longer text,1');
      await insert('short,2');
      await expect(insert('x,many')).rejects.toThrow();
      const stored = await engine.query({ sql: 'SELECT a FROM t ORDER BY a' });
      expect(Buffer.from(stored.bytes).toString()).toBe('a longer text\nshort\n');
      const files = await readdir(bodies);
      expect(files.length).toBeGreaterThan(0);
      for (const file of files) await expect.poll(async () => (await stat(join(bodies, file))).size).toBe(0);
    } finally {
      await engine.close();
    }
    expect(await readdir(bodies)).toEqual([]);
    await rm(dataDir, { recursive: true });
  });

  test('takes inserts again when there is room for their rows', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'assay-chdb-'));
    const bodies = join(dataDir, 'insert_bodies');
    const engine = openChdbEngine(dataDir);
    try {
      await engine.query({ sql: 'CREATE TABLE t (a String) ENGINE = MergeTree ORDER BY a' });
      const insert = (text: string) => engine.insert({ sql: 'INSERT INTO t FORMAT CSV', body: `${text}\n` });
      await rm(bodies, { recursive: true });
      await expect(insert('lost')).rejects.toMatchObject({ code: 'ENOENT' });
      await mkdir(bodies);
      await insert('first');
      await insert('second');
      const stored = await engine.query({ sql: 'SELECT a FROM t ORDER BY a' });
      expect(Buffer.from(stored.bytes).toString()).toBe('first\nsecond\n');
    } finally {
      await engine.close();
      await rm(dataDir, { recursive: true });
    }
  });

  test.runIf(process.platform === 'linux')('takes no half of an insert when the room ends amid its rows', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'assay-chdb-'));
    const engine = openChdbEngine(dataDir);
    // Room for one of the two pieces: the system writes what fits, and says no more than how much that was.
    const limitFiles = (bytes: string) => execFileSync('prlimit', [`--pid=${process.pid}`, `--fsize=${bytes}:`]);
    try {
      await engine.query({ sql: 'CREATE TABLE t (a UInt32) ENGINE = MergeTree ORDER BY a' });
      const rows = Array.from({ length: 200_000 }, (_, n) => `${n}\n`).join('');
      const insert = () => engine.insert({ sql: 'INSERT INTO t FORMAT CSV', body: [Buffer.from(rows), Buffer.from(rows)] });
      limitFiles(`${Math.round(rows.length * 1.5)}`);
      await expect(insert()).rejects.toMatchObject({ code: 'ENOSPC', message: expect.stringMatching(/^\d+ of \d+ bytes/) });
      limitFiles('unlimited');
      const count = async () => Number(Buffer.from((await engine.query({ sql: 'SELECT count() FROM t' })).bytes));
      expect(await count()).toBe(0);
      await insert();
      expect(await count()).toBe(400_000);
    } finally {
      limitFiles('unlimited');
      await engine.close();
      await rm(dataDir, { recursive: true });
    }
  });

  test.runIf(process.platform === 'linux')(
    'is left by every thread of the engine when that is closed amid statements',
    async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'assay-chdb-'));
      const engine = openChdbEngine(dataDir);
      await engine.query({ sql: 'CREATE TABLE t (a UInt32) ENGINE = MergeTree ORDER BY a' });
      let ended = 0;
      const again = async (statement: () => Promise<unknown>): Promise<void> => {
        for (;;) {
          await statement();
          ended++;
        }
      };
      const under = Array.from({ length: 6 }, () => [
        again(() => engine.insert({ sql: 'INSERT INTO t FORMAT JSONEachRow', body: '{"a":1}\n'.repeat(1_000) })),
        again(() => engine.query({ sql: 'SELECT a, count() FROM t GROUP BY a' })),
      ]).flat();
      const all = Promise.allSettled(under);
      await expect.poll(() => ended).toBeGreaterThan(20);
      await engine.close();
      // A process that ends while they run was seen to crash.
      const threads = readdirSync('/proc/self/task').map((id) => readFileSync(`/proc/self/task/${id}/comm`, 'utf8').trim());
      expect(threads.filter((name) => /^(?:BgSchPool|MergeMutate|Query)/.test(name))).toEqual([]);
      for (const end of await all) expect(end).toMatchObject({ reason: { message: 'the embedded ClickHouse engine is closed' } });
      await rm(dataDir, { recursive: true });
    },
  );
});

describe('the server', () => {
  let dataDir: string;
  let server: ClickHouseServer;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'assay-clickhouse-'));
    server = await startClickHouseServer({ dataDir });
  });
  afterAll(async () => {
    await server.stop();
    await rm(dataDir, { recursive: true });
  });

  test('keeps every acknowledged row through SIGKILL, and starts again on the same folder and port', async () => {
    const client = createClient({ url: server.url, log });
    await client.command({ query: 'CREATE TABLE kept (id UInt32) ENGINE = MergeTree ORDER BY id' });
    let acknowledged = 0;
    const writing = (async () => {
      for (;;) {
        await client.insert({ table: 'kept', values: [{ id: acknowledged }], format: 'JSONEachRow' });
        acknowledged++;
      }
    })().catch(() => undefined);
    await expect.poll(() => acknowledged).toBeGreaterThan(20);
    const port = Number(new URL(server.url).port);
    await server.kill();
    await writing;
    server = await startClickHouseServer({ dataDir, port });
    const result = await client.query({ query: 'SELECT toUInt32(uniqExact(id)) AS n FROM kept', format: 'JSONEachRow' });
    const [row] = await result.json<{ n: number }>();
    expect(row?.n).toBeGreaterThanOrEqual(acknowledged);
    expect(row?.n).toBeLessThanOrEqual(acknowledged + 1); // one insert may have been written and not answered
    await client.close();
  });

  test('a session keeps its temporary table and settings; others do not see them', async () => {
    const client = createClient({ url: server.url, log });
    const mine = { session_id: 'mine' };
    await client.command({ query: 'CREATE TEMPORARY TABLE scratch (a UInt8)', ...mine });
    await client.command({ query: "SET log_comment = 'kept'", ...mine });
    const inside = await client.query({
      query: "SELECT count() AS n, getSetting('log_comment') AS c FROM scratch",
      format: 'TabSeparated',
      ...mine,
    });
    expect(await inside.text()).toBe('0\tkept\n');
    await expect(
      client.query({ query: 'SELECT * FROM scratch', format: 'TabSeparated' }).then((result) => result.text()),
    ).rejects.toMatchObject({ code: '60' });
    await client.close();
  });

  test('ends with the process that started it', async () => {
    const otherDir = await mkdtemp(join(tmpdir(), 'assay-clickhouse-'));
    const support = JSON.stringify(new URL('../support/clickhouseServer.ts', import.meta.url).href);
    const source = `const { startClickHouseServer } = await import(${support});
      const server = await startClickHouseServer({ dataDir: ${JSON.stringify(otherDir)} });
      console.log(server.url);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [printed] = await once(parent.stdout, 'data');
    const isUp = () =>
      fetch(`${String(printed).trim()}/ping`).then(
        () => true,
        () => false,
      );
    expect(await isUp()).toBe(true);
    parent.kill('SIGKILL');
    await expect.poll(isUp).toBe(false);
    await rm(otherDir, { recursive: true });
  });

  test('speaks as ClickHouse does to other clients', async () => {
    const get = (path: string, init?: RequestInit) => fetch(server.url + path, init);
    expect(await (await get('/ping')).text()).toBe('Ok.\n');
    expect((await get('/elsewhere')).status).toBe(404);
    const plain = await get('/?query=SELECT%201&query_id=q1');
    expect([plain.headers.get('x-clickhouse-query-id'), plain.headers.get('x-clickhouse-format'), await plain.text()]).toEqual([
      'q1',
      'TabSeparated',
      '1\n',
    ]);
    const both = await get('/?query=SELECT%201&default_format=JSONCompact', { method: 'POST', body: '+ 1' });
    expect(await both.json()).toMatchObject({ data: [[2]] });
    await get('/?query=CREATE%20DATABASE%20other', { method: 'POST' });
    expect(await (await get('/?query=SELECT%20currentDatabase()&database=other')).text()).toBe('other\n');
    expect(await (await get('/?query=SELECT%20currentDatabase()')).text()).toBe('default\n');
    const wrong = await get('/', { method: 'POST', body: 'SELECT * FROM nowhere' });
    expect([wrong.status, wrong.headers.get('x-clickhouse-exception-code')]).toEqual([404, '60']);
    const unknown = await get('/?database=nowhere', { method: 'POST', body: 'SELECT 1' });
    expect([unknown.status, unknown.headers.get('x-clickhouse-exception-code')]).toEqual([404, '81']);
  });
});
