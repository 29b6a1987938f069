import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import type { RunRef } from '../../projects/runs.ts';
import type { OnRecordsDeleted } from '../../records/eraseRecords.ts';
import type { ForgetHeldUpdates, HeldUpdates, HeldUpdateUsage, StoredHeldUpdate } from '../../records/heldUpdates.ts';
import type { RecordUpdate } from '../../records/recordChange.ts';
import type { Database, Queries } from './connect.ts';

const HeldRow = z
  .object({ number: z.number(), record_id: z.string(), kind: z.enum(['trace', 'span']), change: z.string() })
  .transform(
    ({ number, record_id, kind, change }): StoredHeldUpdate => ({
      number,
      id: record_id,
      of: kind,
      update: JSON.parse(change) as RecordUpdate, // as it was when its request was parsed
    }),
  );
const UsageRow = z.object({ updates: z.number(), bytes: z.number() });

// By the clock of Postgres, one for all processes.
const EXPIRED = `held_at <= now() - interval '1 day'`;

export interface HeldUpdateLimits {
  /** The most that a project may have. */
  updates: number;
  bytes: number;
}

/** Updates whose records have not come, for a day. */
export function postgresHeldUpdates(database: Database, limits: HeldUpdateLimits) {
  const usage = async (queries: Queries, projectId: string) => {
    const row = await queries.maybeOne(
      `SELECT count(*) AS updates, coalesce(sum(bytes), 0)::bigint AS bytes FROM held_updates WHERE project_id = $1 AND NOT ${EXPIRED}`,
      [projectId],
    );
    return UsageRow.parse(row);
  };
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
        .transaction(async (tx) => {
          // Other runs of the project wait, so that no two take the same room.
          await tx.query('SELECT FROM projects WHERE id = $1 FOR NO KEY UPDATE', [run.projectId]);
          await tx.query(`DELETE FROM held_updates WHERE project_id = $1 AND ${EXPIRED}`, [run.projectId]);
          const held = await usage(tx, run.projectId);
          const rows = updates.map(({ id, of, update }) => ({ id, of, change: JSON.stringify(update) }));
          const sizes = rows.map(({ change }) => Buffer.byteLength(change));
          let [count, bytes] = [0, held.bytes];
          while (count < rows.length && held.updates + count < limits.updates && bytes + (sizes[count] as number) <= limits.bytes)
            bytes += sizes[count++] as number;
          const taken = rows.slice(0, count);
          await tx.query(
            `INSERT INTO held_updates (project_id, run_id, record_id, kind, change, bytes)
             SELECT $1, $2, record_id, kind, change, bytes
             FROM unnest($3::uuid[], $4::text[], $5::text[], $6::integer[]) WITH ORDINALITY AS held (record_id, kind, change, bytes, place)
             ORDER BY place`,
            [
              run.projectId,
              run.runId,
              taken.map(({ id }) => id),
              taken.map(({ of }) => of),
              taken.map(({ change }) => change),
              sizes.slice(0, count),
            ],
          );
          return count;
        })
        .catch((err: unknown) => {
          // The foreign key: the run went after the write was let in.
          if ((err as { code?: unknown }).code === '23503') throw new ServiceError('RunNotFound', 'the run was deleted');
          throw err;
        }),
    async release(numbers) {
      await database.query('DELETE FROM held_updates WHERE number = ANY($1::bigint[])', [[...numbers]]);
    },
  };
  const forget: ForgetHeldUpdates = async (run: RunRef, kinds, ids) => {
    await database.query(
      'DELETE FROM held_updates WHERE run_id = $1 AND kind = ANY($2::text[]) AND ($3::uuid[] IS NULL OR record_id = ANY($3))',
      [run.runId, [...kinds], ids === undefined ? null : [...ids]],
    );
  };
  const forgetRecords: OnRecordsDeleted = async ({ projectId, runId, ids }) => {
    // Those of a whole run or project have gone with its row.
    if (runId !== undefined && ids !== undefined) await forget({ projectId, runId }, ['trace', 'span'], ids);
  };
  return {
    ...store,
    forget,
    forgetRecords,
    async usage(projectId: string): Promise<HeldUpdateUsage> {
      const held = await usage(database, projectId);
      return { ...held, updatesLimit: limits.updates, bytesLimit: limits.bytes };
    },
    /** Removes those that have waited for a day. @returns how many these were */
    async removeExpired(): Promise<number> {
      return (await database.query(`DELETE FROM held_updates WHERE ${EXPIRED} RETURNING number`)).length;
    },
  };
}
