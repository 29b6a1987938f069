// A service of its own: it is on a disk that is full.

import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ServiceClient } from '../../client/http.ts';
import { folderProblem } from '../../shared/disk/diskProblem.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { openDatabase } from '../../shared/stores/postgres/connect.ts';
import { describeWithDisk, type OwnDisk, ownDisk } from '../support/ownDisk.ts';
import { openRecordTables } from '../support/recordRun.ts';
import { serviceFolder } from '../support/serviceProcess.ts';

/** The files below a folder, each with when it was last written and how long it is. */
const filesBelow = (folder: string): [string, number, number][] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const { mtimeMs, size } = statSync(path);
      return [path, mtimeMs, size] as [string, number, number];
    })
    .sort();

test('a start alters no table that is as declared', async () => {
  await using tables = await openRecordTables();
  const commands = vi.spyOn(tables.clickhouse, 'command');
  const altered = () =>
    commands.mock.calls.map(([{ sql }]) => sql).filter((sql) => !sql.startsWith('CREATE TABLE IF NOT EXISTS'));
  await migrateTables(tables.clickhouse);
  expect(altered()).toEqual([]);
  await tables.clickhouse.command({ name: 'alter', sql: 'ALTER TABLE records MODIFY SETTING merge_selector_base = 5' });
  await tables.clickhouse.command({ name: 'alter', sql: 'ALTER TABLE record_keys DROP INDEX by_session_id' });
  commands.mockClear();
  await migrateTables(tables.clickhouse);
  expect(altered()).toEqual([
    'ALTER TABLE records MODIFY SETTING merge_selector_base = 10',
    expect.stringContaining('ALTER TABLE record_keys ADD INDEX IF NOT EXISTS by_session_id'),
  ]);
});

describeWithDisk('on a full disk', () => {
  test('an embedded Postgres that cannot write its log ends its process, and holds up no event loop', async () => {
    using disk = ownDisk(300);
    const directory = join(disk.folder, 'postgres');
    const database = await openDatabase({ directory });
    // One row that is written anew over and over: only the log grows.
    await database.exec('CREATE TABLE written (value text); INSERT INTO written VALUES (NULL)');
    const write = async (): Promise<never> => {
      for (let n = 1; ; n++) {
        await database.query(
          'UPDATE written SET value = (SELECT string_agg(md5(random()::text), $1) FROM generate_series(1, 200))',
          [''],
        );
        if (n % 10 === 0) await database.exec('VACUUM written');
      }
    };
    disk.fill(9_000_000);
    await expect(write()).rejects.toMatchObject({ code: 'Unavailable', message: expect.stringContaining('the disk is full') });
    await expect(database.lost).rejects.toThrow(/could not write its log .*No space left on device.*: the process must end/);
    await expect(database.query('SELECT 1')).rejects.toMatchObject({ code: 'Unavailable' });
    await expect(database.transaction((tx) => tx.query('SELECT 1'))).rejects.toMatchObject({ code: 'Unavailable' });
    await database.close();

    disk.free();
    const again = await openDatabase({ directory });
    expect(await again.query('SELECT length(value) AS length FROM written')).toEqual([{ length: 6400 }]);
    await again.close();
  });

  test.each([
    ['room', 'the disk is full', (disk: OwnDisk) => disk.fill()],
    [
      'files',
      'the disk is full',
      (disk: OwnDisk) => {
        for (let n = 0; ; n++)
          try {
            writeFileSync(join(disk.folder, `file ${n}`), '');
          } catch {
            return;
          }
      },
    ],
    ['a disk that works', 'the disk fails', (disk: OwnDisk) => disk.cutPower()],
  ])('an insert without %s says that %s, and may be tried again', async (_what, reason, harm) => {
    using disk = ownDisk(200, { files: 2_000 });
    const clickhouse = openClickHouse({ dataDir: join(disk.folder, 'clickhouse') });
    onTestFinished(() => clickhouse.close());
    await clickhouse.command({ name: 'make', sql: 'CREATE TABLE kept (n UInt32, text String) ENGINE = MergeTree ORDER BY n' });
    const insert = (n: number) =>
      clickhouse.insert({
        table: 'kept',
        rows: Array.from({ length: 200 }, () => ({ n, text: crypto.randomUUID().repeat(50) })),
        token: newId(),
      });
    await insert(1);
    expect(folderProblem(disk.folder)).toBeUndefined();
    harm(disk);
    const refused = async () => {
      for (let n = 2; n < 1_000; n++) await insert(n);
    };
    await expect(refused()).rejects.toMatchObject({
      code: 'Unavailable',
      message: expect.stringContaining(reason),
      retryAfterSeconds: 2,
    });
    if (reason === 'the disk is full') expect(folderProblem(disk.folder)).toBe(reason);
  });

  test('a start says so and touches nothing, and with room again everything is there', async () => {
    using disk = ownDisk(700);
    const where = await serviceFolder(join(disk.folder, 'data'));
    const first = await where.start();
    const client = new ServiceClient({ apiUrl: first.url, apiKey: first.apiKey });
    const { id } = await client.send<{ id: string }>('/projects', { body: { name: 'full' } });
    const stream = await client.send<{ id: string }>(`/projects/${id}/log_streams`, { body: { name: 'main' } });
    const body = { log_stream_id: stream.id, traces: [{ name: 'kept', input: 'a', output: 'b' }] };
    await client.send(`/projects/${id}/traces`, { body });
    await first.kill('SIGTERM');

    disk.fill();
    const before = filesBelow(where.dataDir);
    for (let tries = 0; tries < 2; tries++)
      await expect(where.start()).rejects.toThrow(
        /has only \d+ MB of disk left, and a start needs 64 MB: free some and start again/,
      );
    expect(filesBelow(where.dataDir)).toEqual(before);

    disk.free();
    const again = await where.start();
    onTestFinished(() => again.kill('SIGKILL'));
    const found = await client.send<{ records: unknown[] }>(`/projects/${id}/traces/search`, {
      body: { log_stream_id: stream.id },
    });
    expect(found.records).toMatchObject([{ name: 'kept' }]);
    await again.kill('SIGKILL');
  });
});
