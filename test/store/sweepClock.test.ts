import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openSweepClock } from '../../shared/records/sweepClock.ts';
import type { Database } from '../../shared/stores/postgres/database.ts';
import { postgresSweepClock } from '../../shared/stores/postgres/sweepClock.ts';
import { openSeededDatabase } from '../support/seedPostgres.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.parse('2026-03-01T03:00:00Z');

let folder: string;
let database: Database;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-sweep-clock-'));
  database = await openSeededDatabase(join(folder, 'postgres'));
});
afterAll(async () => {
  await database?.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => database.query('DELETE FROM sweep_clock'));

/** The clock of sweeps over a Postgres whose own clock says `at`. */
function clockAt(at: { now: number }) {
  const stored = postgresSweepClock(database);
  const held: string[] = [];
  const read = async () => ({ ...(await stored.read()), now: new Date(at.now) });
  const clock = openSweepClock({ ...stored, read }, (reason) => void held.push(reason));
  return { held, clock };
}

test('sweeps go on day by day, some hours late, too', async () => {
  const at = { now: START };
  const { clock, held } = clockAt(at);
  await clock.begin();
  for (const days of [1, 2.2, 3, 4]) {
    at.now = START + days * DAY;
    expect(await clock.begin()).toBe(true);
    expect(await clock.mayGoOn()).toBe(true);
  }
  expect(held).toEqual([]);
  expect(await clock.held()).toBeUndefined();
});

test.each([
  ['ahead by a year', 365 * DAY],
  ['ahead by two days', 3 * DAY],
  ['back by a month', -30 * DAY],
])('a clock that jumps %s holds the sweep, which says so, until it has run evenly for a day', async (_, jump) => {
  const at = { now: START };
  const { clock, held } = clockAt(at);
  await clock.begin();
  at.now = START + jump;
  expect(await clock.mayGoOn()).toBe(false); // one that was under way
  expect(await clock.begin()).toBe(false);
  expect(held).toEqual([expect.stringContaining('the clock had moved by more than a day')]);
  // At once again, and some hours later: a schedule may make up for what it missed.
  for (const hours of [0, 3]) {
    at.now = START + jump + hours * HOUR;
    expect(await clock.begin()).toBe(false);
    expect(await clock.mayGoOn()).toBe(false);
    expect(await clock.held()).toBe(held[0]);
  }
  at.now = START + jump + DAY;
  expect(await clock.begin()).toBe(true);
  expect(await clock.held()).toBeUndefined();
});

test('a clock that jumps ahead and is set right the next hour deletes nothing', async () => {
  const at = { now: START };
  const { clock } = clockAt(at);
  await clock.begin();
  at.now = START + 365 * DAY;
  expect(await clock.begin()).toBe(false);
  at.now = START + HOUR;
  expect(await clock.begin()).toBe(false);
  at.now = START + DAY + HOUR;
  expect(await clock.begin()).toBe(true);
});

test('what the clock said before the first sweep is not known, so that one notes the time alone', async () => {
  const { clock, held } = clockAt({ now: START });
  expect(await clock.begin()).toBe(false);
  expect(await clock.begin()).toBe(true);
  expect(held).toEqual([]);
});
