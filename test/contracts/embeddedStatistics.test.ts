import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Database, openDatabase } from '../../shared/stores/postgres/connect.ts';
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
