import { z } from 'zod';
import type { SweepStateStore } from '../../records/sweepClock.ts';
import type { Database } from './database.ts';

const Row = z.object({ now: z.date(), last_at: z.date().nullable(), held_at: z.date().nullable() });

/** Keeps what the clock of Postgres, by which records expire, said at the last sweep. */
export const postgresSweepClock = (database: Database): SweepStateStore => ({
  async read() {
    const row = await database.maybeOne(
      'SELECT clock_timestamp() AS now, last_at, held_at FROM (SELECT 1) AS one LEFT JOIN sweep_clock ON true',
    );
    const { now, last_at, held_at } = Row.parse(row);
    return { now, state: last_at === null ? undefined : { lastAt: last_at, heldAt: held_at } };
  },
  async write({ lastAt, heldAt }) {
    await database.query(
      `INSERT INTO sweep_clock (last_at, held_at) VALUES ($1, $2)
       ON CONFLICT (only_row) DO UPDATE SET last_at = excluded.last_at, held_at = excluded.held_at`,
      [lastAt, heldAt],
    );
  },
});
