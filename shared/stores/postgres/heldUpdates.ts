import pg from 'pg';
import { z } from 'zod';
import { ServiceError } from '../../errors/errors.ts';
import { parseJson } from '../../json/parseJson.ts';
import type { RunRef } from '../../projects/runs.ts';
import type { OnRecordsDeleted } from '../../records/eraseRecords.ts';
import type { ForgetHeldUpdates, HeldUpdate, HeldUpdates, HeldUpdateUsage, StoredHeldUpdate } from '../../records/heldUpdates.ts';
import type { RecordUpdate } from '../../records/recordChange.ts';
import type { Database, Queries } from './database.ts';

const HeldRow = z
  .object({ number: z.number(), record_id: z.string(), kind: z.enum(['trace', 'span']), change: z.string() })
  .transform(
    ({ number, record_id, kind, change }): StoredHeldUpdate => ({
      number,
      id: record_id,
      of: kind,
      update: parseJson(change) as RecordUpdate, // as it was when its request was parsed
    }),
  );
const SizeRow = z.object({ number: z.number(), bytes: z.number() });
const UsageRow = z.object({ updates: z.number(), bytes: z.number() });

// By the clock of Postgres, one for all processes.
const EXPIRED = `held_at <= now() - interval '1 day'`;
// A record that is on its way comes within seconds, or within the minutes for which a client tries again.
const MAKES_ROOM = `held_at <= now() - interval '10 minutes'`;

export interface HeldUpdateLimits {
  /** The most that a project may have. */
  updates: number;
  bytes: number;
}

/** Updates and bytes: those that are taken up, or those that are allowed. */
type Room = HeldUpdateLimits;

interface NewRow {
  one: HeldUpdate;
  /** JSON. */
  change: string;
  bytes: number;
}

/** Returns the room that the rows need beyond the free one. Rows that would not fit into an empty project are left out. */
function lacking(rows: readonly NewRow[], free: Room, limits: Room): Room {
  const sizes = rows.map(({ bytes }) => bytes).filter((bytes) => bytes <= limits.bytes);
  return { updates: sizes.length - free.updates, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) - free.bytes };
}

/** Returns the oldest updates that may be dropped, as many as make this much room. */
async function oldest(queries: Queries, projectId: string, { updates, bytes }: Room): Promise<z.output<typeof SizeRow>[]> {
  if (updates <= 0 && bytes <= 0) return [];
  const rows = await queries.query(
    `SELECT number, bytes FROM (
       SELECT number, bytes, row_number() OVER by_age AS place, sum(bytes) OVER by_age - bytes AS bytes_before
       FROM held_updates WHERE project_id = $1 AND ${MAKES_ROOM} WINDOW by_age AS (ORDER BY held_at, number)
     ) AS aged WHERE place <= $2 OR bytes_before < $3 ORDER BY place`,
    [projectId, updates, bytes],
  );
  return z.array(SizeRow).parse(rows);
}

/** Takes each row for which there is room, or enough can be dropped. */
function fitting(rows: readonly NewRow[], free: Room, droppable: readonly z.output<typeof SizeRow>[]) {
  const taken: NewRow[] = [];
  let { updates, bytes } = free;
  let dropped = 0;
  for (const row of rows) {
    let [updatesThen, bytesThen, droppedThen] = [updates, bytes, dropped];
    for (; (updatesThen < 1 || bytesThen < row.bytes) && droppedThen < droppable.length; droppedThen++) {
      updatesThen++;
      bytesThen += droppable[droppedThen]?.bytes ?? 0;
    }
    if (updatesThen < 1 || bytesThen < row.bytes) continue;
    taken.push(row);
    [updates, bytes, dropped] = [updatesThen - 1, bytesThen - row.bytes, droppedThen];
  }
  return { taken, dropped: droppable.slice(0, dropped).map(({ number }) => number) };
}

const usageSql = (projectId: string) =>
  `SELECT count(*) AS updates, coalesce(sum(bytes), 0)::bigint AS bytes FROM held_updates WHERE project_id = ${projectId} AND NOT ${EXPIRED}`;

/** Statements before updates are held. Other runs of the project wait, so that no two take the same room. */
const begin = (projectId: string) => [
  `SELECT FROM projects WHERE id = ${projectId} FOR NO KEY UPDATE`,
  `DELETE FROM held_updates WHERE project_id = ${projectId} AND ${EXPIRED} RETURNING number`,
  usageSql(projectId),
];

/** Updates whose records have not come, for a day. */
export function postgresHeldUpdates(database: Database, limits: HeldUpdateLimits) {
  const store: HeldUpdates = {
    async of({ runId }, ids) {
      const rows = await database.query(
        `SELECT number, record_id, kind, change FROM held_updates
         WHERE run_id = $1 AND record_id = ANY($2::uuid[]) AND NOT ${EXPIRED} ORDER BY number`,
        [runId, [...ids]],
      );
      return z.array(HeldRow).parse(rows);
    },
    hold: (run, updates) =>
      database
        .transaction(
          async (tx, [, expired = [], usage = []]) => {
            const held = UsageRow.parse(usage[0]);
            const free = { updates: limits.updates - held.updates, bytes: limits.bytes - held.bytes };
            const rows = updates.map((one): NewRow => {
              const change = JSON.stringify(one.update);
              return { one, change, bytes: Buffer.byteLength(change) };
            });
            const { taken, dropped } = fitting(rows, free, await oldest(tx, run.projectId, lacking(rows, free, limits)));
            if (dropped.length > 0) await tx.query('DELETE FROM held_updates WHERE number = ANY($1::bigint[])', [dropped]);
            await tx.query(
              `INSERT INTO held_updates (project_id, run_id, record_id, kind, change, bytes)
             SELECT $1, $2, record_id, kind, change, bytes
             FROM unnest($3::uuid[], $4::text[], $5::text[], $6::integer[]) WITH ORDINALITY AS held (record_id, kind, change, bytes, place)
             ORDER BY place`,
              [
                run.projectId,
                run.runId,
                taken.map(({ one }) => one.id),
                taken.map(({ one }) => one.of),
                taken.map(({ change }) => change),
                taken.map(({ bytes }) => bytes),
              ],
            );
            const refused = rows.filter((row) => !taken.includes(row)).map(({ one }) => one);
            return { refused, dropped: expired.length + dropped.length };
          },
          begin(pg.escapeLiteral(run.projectId)),
        )
        .catch((err: unknown) => {
          // The foreign key: the run went after the write was let in.
          if ((err as { code?: unknown }).code === '23503') throw new ServiceError('RunNotFound', 'the run was deleted');
          throw err;
        }),
    async release(numbers) {
      await database.query('DELETE FROM held_updates WHERE number = ANY($1::bigint[])', [[...numbers]]);
    },
  };
  const forget: ForgetHeldUpdates = async (run: RunRef, { kinds, ids, until }) => {
    await database.query(
      `DELETE FROM held_updates WHERE run_id = $1 AND kind = ANY($2::text[]) AND ($3::uuid[] IS NULL OR record_id = ANY($3))
       AND ($4::timestamptz IS NULL OR held_at <= $4)`,
      [run.runId, [...kinds], ids === undefined ? null : [...ids], until ?? null],
    );
  };
  const forgetRecords: OnRecordsDeleted = async ({ projectId, runId, ids }) => {
    // Those of a whole run or project have gone with its row.
    if (runId !== undefined && ids !== undefined) await forget({ projectId, runId }, { kinds: ['trace', 'span'], ids });
  };
  return {
    ...store,
    forget,
    forgetRecords,
    async usage(projectId: string): Promise<HeldUpdateUsage> {
      const held = UsageRow.parse(await database.maybeOne(usageSql('$1'), [projectId]));
      return { ...held, updatesLimit: limits.updates, bytesLimit: limits.bytes };
    },
    /** Removes those that have waited for a day. @returns the projects that they were of, each once for every update */
    async removeExpired(): Promise<string[]> {
      const rows = await database.query(`DELETE FROM held_updates WHERE ${EXPIRED} RETURNING project_id`);
      return rows.map((row) => z.string().parse(row.project_id));
    },
  };
}
