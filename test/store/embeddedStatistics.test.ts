import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../../shared/stores/postgres/connect.ts';
import type { Database } from '../../shared/stores/postgres/database.ts';
import { clearDead } from '../../shared/stores/postgres/statistics.ts';
import { openSeededDatabase } from '../support/seedPostgres.ts';

const addUsers = (database: Database, count: number) =>
  database.query(
    `INSERT INTO users (id, email, role) SELECT gen_random_uuid(), gen_random_uuid() || '@example.com', 'user' FROM generate_series(1, $1::int)`,
    [count],
  );
/** How many users the planner expects. */
const expected = async (database: Database) =>
  (await database.maybeOne(`SELECT reltuples::int AS count FROM pg_class WHERE relname = 'users'`))?.count;

test('the embedded Postgres knows how large its tables are, at its start and while they grow', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const folder = await mkdtemp(join(tmpdir(), 'assay-statistics-'));
  onTestFinished(async () => {
    vi.useRealTimers();
    await rm(folder, { recursive: true, force: true });
  });
  const directory = join(folder, 'postgres');
  const first = await openSeededDatabase(directory);
  await addUsers(first, 200);
  vi.advanceTimersByTime(60_000);
  await expect.poll(() => expected(first)).toBe(200);
  await addUsers(first, 400);
  await first.close();

  const second = await openDatabase({ directory });
  expect(await expected(second)).toBe(600);
  await second.close();
});

test('the embedded Postgres frees what is left of changed rows', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'assay-dead-rows-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const database = await openSeededDatabase(join(folder, 'postgres'));
  const size = async () => (await database.maybeOne(`SELECT pg_relation_size('users')::int AS size`))?.size as number;
  const changeAll = async () => {
    await database.query('UPDATE users SET updated_at = now()');
    await database.query('SELECT pg_stat_force_next_flush()'); // counted at once, and not within a second
  };
  await addUsers(database, 2_000);
  await changeAll();
  await clearDead(database);
  const before = await size();
  for (let round = 0; round < 5; round++) {
    await changeAll();
    await clearDead(database);
  }
  // Without it each change of all takes the place of all once more.
  expect(await size()).toBeLessThan(2 * before);
  await database.close();
});
