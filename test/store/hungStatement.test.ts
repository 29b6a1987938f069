import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ClickHouse } from '../../shared/stores/clickhouse/clickHouse.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { namedPipe } from '../support/namedPipe.ts';

const unavailable = { code: 'Unavailable', retryAfterSeconds: 2 };

describe('a statement of the embedded engine that does not come back', () => {
  let folder: string;
  let clickhouse: ClickHouse;
  const told: [name: string, message: string][] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'assay-hung-'));
    clickhouse = openClickHouse({
      dataDir: join(folder, 'clickhouse'),
      // What is to hang is ended by them, and nothing else, on a machine that stalls as well.
      limits: { insertSeconds: 4, statementSeconds: 4, readSlackSeconds: 0.5, cancelSeconds: 4 },
      onHang: (name, err) => told.push([name, err.message]),
    });
    await clickhouse.command({ name: 'rows', sql: 'CREATE TABLE rows (n UInt64) ENGINE = MergeTree ORDER BY n' });
  });
  afterAll(async () => {
    await clickhouse.close();
    await rm(folder, { recursive: true });
  });

  const insert = (table: string, n: number) => clickhouse.insert({ table, rows: [{ n }], token: `${table}-${n}` });
  const stored = () =>
    clickhouse.query({ name: 'stored', sql: 'SELECT n FROM rows ORDER BY n', row: (row) => Number((row as { n: string }).n) });
  const wellAgain = () =>
    expect
      .poll(() =>
        clickhouse.ping().then(
          () => 'well',
          (err: Error) => err.message,
        ),
      )
      .toBe('well');

  test('is cancelled where the engine can do it, and the engine is well', async () => {
    await expect(
      clickhouse.command({
        name: 'sleep',
        sql: 'SELECT sleepEachRow(1) FROM numbers(60)',
        settings: { function_sleep_max_microseconds_per_block: 0 },
      }),
    ).rejects.toMatchObject(unavailable);
    expect(told.splice(0)).toEqual([['sleep', 'the embedded engine did not answer within 4 s: it was cancelled']]);
    await clickhouse.ping();
  });

  test('is given up where it cannot be cancelled: later ones go on, the health says so until it has come back', async () => {
    const pipe = namedPipe(join(folder, 'pipe')); // the engine waits for somebody at its other end
    await clickhouse.command({ name: 'piped', sql: `CREATE TABLE piped (n UInt64) ENGINE = File(JSONEachRow, '${pipe}')` });

    const hangs = insert('piped', 1);
    const waits = insert('rows', 2);
    await expect(hangs).rejects.toMatchObject(unavailable);
    await waits;
    expect(await stored()).toEqual([2]);
    expect(told.splice(0)).toEqual([['insert into piped', expect.stringContaining('cannot be cancelled')]]);
    await expect(clickhouse.ping()).rejects.toMatchObject(unavailable);

    await readFile(pipe);
    await wellAgain();
    await insert('rows', 3);
    expect(await stored()).toEqual([2, 3]);

    const read = clickhouse.query({ name: 'read piped', sql: 'SELECT n FROM piped', maxSeconds: 1, row: (row) => row });
    await expect(read).rejects.toMatchObject(unavailable);
    expect(told.splice(0)).toEqual([['read piped', expect.stringContaining('within 1.5 s')]]);
    await expect(clickhouse.ping()).rejects.toMatchObject(unavailable);
    expect(await stored()).toEqual([2, 3]);
    await writeFile(pipe, '{"n":1}');
    await wellAgain();
  });
});

describe('a process whose engine hangs', () => {
  const run = async (statements: number, onReady: (pid: number) => void) => {
    const folder = await mkdtemp(join(tmpdir(), 'assay-hung-'));
    const script = fileURLToPath(new URL('../support/hungProcess.ts', import.meta.url));
    const child = spawn(process.execPath, [script, folder, `${statements}`], { stdio: ['ignore', 'pipe', 'pipe'] });
    const said = text(child.stderr);
    child.stdout.once('data', () => onReady(child.pid as number));
    const [code, signal] = await once(child, 'exit');
    await rm(folder, { recursive: true });
    return { wellEnded: code === 0 && signal === null, said: await said };
  };

  test('ends by itself with a sentence when too many statements hang', async () => {
    const { wellEnded, said } = await run(3, () => undefined);
    expect(wellEnded).toBe(false);
    expect(said).toContain('the embedded ClickHouse engine does not come back from 3 statements; start the service again');
  });

  test('goes on with one, and stops when it is told to', async () => {
    const began = performance.now();
    const { said } = await run(1, (pid) => process.kill(pid, 'SIGTERM'));
    expect(said).toBe('');
    expect(performance.now() - began).toBeLessThan(30_000);
  });
});
