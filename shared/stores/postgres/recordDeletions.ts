import { z } from 'zod';
import type { DeletedRowDeps } from '../../experiments/withoutDeletedRows.ts';
import { newId } from '../../identifiers/ids.ts';
import type { RunRef } from '../../projects/runs.ts';
import type { DeletionRequest, DeletionRequests } from '../../records/delete.ts';
import type { AttendedDeletion } from '../../records/deletionAttendance.ts';
import type { Erasure, ErasureNotes } from '../../records/eraseRecords.ts';
import { recordKinds } from '../../wire/recordKinds.ts';
import type { Database } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';
import { NotedRuns, noteOutdatedSql } from './outdatedAggregates.ts';
import { readRunStates, runStatesSql } from './runStates.ts';

const Ref = z.object({ project_id: z.string(), run_id: z.string() });
const RefRow = Ref.transform((row): RunRef => inCamelCase(row));
const ErasureRow = Ref.extend({ id: z.string(), keys: z.array(z.object({ id: z.string(), created_at: z.string() })) }).transform(
  ({ id, keys, ...row }): Erasure => ({ id, keys, run: inCamelCase(row) }),
);
const AttendedRow = z.object({ id: z.string(), at: z.string() });
const DeletionRequestRow = Ref.extend({
  ...AttendedRow.shape,
  kinds: z.array(z.enum(recordKinds)),
  filter: z.custom<DeletionRequest['filter']>(), // as it was when its request was parsed
  requested_at: z.string(),
}).transform(({ project_id, run_id, ...row }): DeletionRequest & AttendedDeletion => ({
  ...inCamelCase(row),
  run: { projectId: project_id, runId: run_id },
}));
// Microseconds, which a Date does not hold.
const CANONICAL = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

/** Records on their way out of the other stores, and the markers of what was deleted as a whole. */
export function postgresErasures(database: Database): ErasureNotes {
  const noted = new NotedRuns();
  return {
    async add(run, keys) {
      const erasure: Erasure = { id: newId(), run, keys: keys.map(({ id, created_at }) => ({ id, created_at })) };
      await database.query(
        `WITH erasure AS (INSERT INTO record_erasures (id, project_id, run_id, keys) VALUES ($1, $2, $3, $4))
         INSERT INTO deleted_rows (run_id, record_id, workflow_number)
         SELECT run_id, unnest($5::uuid[]), workflow_number FROM experiments WHERE run_id = $3 AND state IN ('requested', 'running', 'paused')
         ON CONFLICT DO NOTHING`,
        [erasure.id, run.projectId, run.runId, JSON.stringify(erasure.keys), erasure.keys.map(({ id }) => id)],
      );
      return erasure;
    },
    async remove(id) {
      await database.query('DELETE FROM record_erasures WHERE id = $1', [id]);
    },
    async get(id) {
      const [row] = await database.query('SELECT * FROM record_erasures WHERE id = $1', [id]);
      return row && ErasureRow.parse(row);
    },
    async isNoted(id) {
      return (await database.query('SELECT FROM record_erasures WHERE id = $1', [id])).length > 0;
    },
    async takesOneOf(run, ids) {
      const rows = await database.query(
        `SELECT FROM record_erasures CROSS JOIN jsonb_array_elements(keys) AS key
         WHERE project_id = $1 AND run_id = $2 AND key ->> 'id' = ANY($3) LIMIT 1`,
        [run.projectId, run.runId, [...ids]],
      );
      return rows.length > 0;
    },
    async unfinished() {
      return z.array(RefRow).parse(await database.query('SELECT DISTINCT project_id, run_id FROM record_erasures'));
    },
    runStates: async (runs) => readRunStates(await database.query(runStatesSql(runs))),
    async noteLate(runs) {
      await database.query(
        `UPDATE deletion_markers AS m SET deleted_at = now() FROM unnest($1::uuid[], $2::uuid[]) AS late (project_id, run_id)
         WHERE m.project_id = late.project_id AND (m.run_id IS NULL OR m.run_id = late.run_id)`,
        [runs.map(({ projectId }) => projectId), runs.map(({ runId }) => runId)],
      );
    },
    async noteOutdated(logged) {
      const toNote = noted.lacking(logged);
      if (toNote.length > 0) {
        const now = performance.now();
        const sql = `${noteOutdatedSql('SELECT unnest($1::uuid[])')} RETURNING project_id, run_id`;
        const rows = await database.query(sql, [toNote.map(({ runId }) => runId)]);
        noted.remember(toNote, z.array(RefRow).parse(rows), now);
      }
      return noted.experiments(logged);
    },
  };
}

/** Finds the traces of an experiment that were deleted while its workflow ran. */
export const postgresDeletedRows =
  (database: Database): DeletedRowDeps['deleted'] =>
  async ({ experimentId, workflowNumber }, traceIds) => {
    const rows = await database.query(
      'SELECT record_id FROM deleted_rows WHERE run_id = $1 AND workflow_number = $2 AND record_id = ANY($3::uuid[])',
      [experimentId, workflowNumber, [...traceIds]],
    );
    return rows.map((row) => z.string().parse(row.record_id));
  };

/** Deletions by filter that are not done. */
export function postgresDeletionRequests(database: Database): DeletionRequests {
  return {
    async add({ run, kinds, filter, requestedAt }) {
      const id = newId();
      const rows = await database.query(
        `INSERT INTO record_deletions (id, project_id, run_id, kinds, filter, requested_at) VALUES ($1, $2, $3, $4, $5, $6)
         RETURNING id, attended_at::text AS at`,
        [id, run.projectId, run.runId, [...kinds], JSON.stringify(filter), requestedAt],
      );
      return AttendedRow.parse(rows[0]);
    },
    async attend({ id, at }) {
      const rows = await database.query(
        'UPDATE record_deletions SET attended_at = now() WHERE id = $1 AND attended_at = $2::timestamptz RETURNING id, attended_at::text AS at',
        [id, at],
      );
      return rows[0] && AttendedRow.parse(rows[0]).at;
    },
    async remove(id) {
      await database.query(
        `WITH done AS (DELETE FROM record_deletions WHERE id = $1 RETURNING run_id) ${noteOutdatedSql('SELECT run_id FROM done')}`,
        [id],
      );
    },
    async takeUnattended(ms) {
      const rows = await database.query(
        `UPDATE record_deletions SET attended_at = now() WHERE attended_at <= now() - $1 * interval '1 millisecond'
         RETURNING id, attended_at::text AS at, project_id, run_id, kinds, filter, to_char(requested_at AT TIME ZONE 'UTC', ${CANONICAL}) AS requested_at`,
        [ms],
      );
      return z.array(DeletionRequestRow).parse(rows);
    },
    async freeAll() {
      await database.query("UPDATE record_deletions SET attended_at = '-infinity'");
    },
  };
}
