import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ServiceClient } from '../../client/http.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables.ts';
import { describeWithDisk, ownDisk } from '../support/ownDisk.ts';
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
