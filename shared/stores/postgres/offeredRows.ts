import { z } from 'zod';
import type { LeasedRow, OfferedRows } from '../../experiments/offeredRows.ts';
import type { Database } from './database.ts';

const Leased = z.object({ ordinal: z.number(), attempt: z.number() });

/** Rows offered to the process that hosts a runner function. Statements are small: at most a lease's rows each. */
export function postgresOfferedRows(database: Database): OfferedRows {
  return {
    async offer(experimentId, { from, to, ordinals, attempt, since }) {
      await database.transaction(async (tx) => {
        await tx.query(
          'DELETE FROM offered_rows WHERE run_id = $1 AND ordinal >= $2 AND ordinal < $3 AND ordinal <> ALL($4::int[])',
          [experimentId, from, to, ordinals],
        );
        await tx.query(
          `INSERT INTO offered_rows AS had (run_id, ordinal, attempt) SELECT $1, ordinal, $3 FROM unnest($2::int[]) AS ordinal
           ON CONFLICT (run_id, ordinal) DO UPDATE SET attempt = excluded.attempt, process = NULL, leased_until = NULL, done = false
           WHERE CASE WHEN had.done THEN had.attempt < $4 ELSE had.process IS NULL OR had.leased_until < now() END`,
          [experimentId, ordinals, attempt, since],
        );
      });
    },

    async lease(experimentId, process, limit, leaseMs) {
      const rows = await database.query(
        `UPDATE offered_rows SET process = $2, leased_until = now() + $4 * interval '1 millisecond'
          WHERE run_id = $1 AND ordinal IN (
            SELECT ordinal FROM offered_rows WHERE run_id = $1 AND NOT done AND (process IS NULL OR leased_until < now())
             ORDER BY ordinal LIMIT $3 FOR UPDATE SKIP LOCKED)
          RETURNING ordinal, attempt`,
        [experimentId, process, limit, leaseMs],
      );
      return rows.map((row): LeasedRow => Leased.parse(row)).sort((a, b) => a.ordinal - b.ordinal);
    },

    async held(experimentId, process, ordinals) {
      const rows = await database.query(
        'SELECT ordinal, attempt FROM offered_rows WHERE run_id = $1 AND process = $2 AND NOT done AND ordinal = ANY($3::int[])',
        [experimentId, process, ordinals],
      );
      return rows.map((row) => Leased.parse(row));
    },

    async renew(experimentId, process, leaseMs, ordinals) {
      await database.query(
        `UPDATE offered_rows SET leased_until = now() + $3 * interval '1 millisecond'
          WHERE run_id = $1 AND process = $2 AND NOT done AND ($4::int[] IS NULL OR ordinal = ANY($4))`,
        [experimentId, process, leaseMs, ordinals ?? null],
      );
    },

    async free(experimentId, process, ordinals) {
      await database.query(
        'UPDATE offered_rows SET process = NULL, leased_until = NULL WHERE run_id = $1 AND process = $2 AND NOT done AND ordinal = ANY($3::int[])',
        [experimentId, process, ordinals],
      );
    },

    async freeAllBut(experimentId, process, holding) {
      await database.query(
        'UPDATE offered_rows SET process = NULL, leased_until = NULL WHERE run_id = $1 AND process = $2 AND NOT done AND ordinal <> ALL($3::int[])',
        [experimentId, process, holding],
      );
    },

    async takeOver(experimentId, process) {
      return database.transaction(async (tx) => {
        const before = await tx.maybeOne('SELECT caller_process FROM experiments WHERE run_id = $1 FOR UPDATE', [experimentId]);
        await tx.query('UPDATE experiments SET caller_process = $2, caller_seen_at = now() WHERE run_id = $1', [
          experimentId,
          process,
        ]);
        if (before?.caller_process === process) return false;
        await tx.query('UPDATE offered_rows SET process = NULL, leased_until = NULL WHERE run_id = $1 AND NOT done', [
          experimentId,
        ]);
        return true;
      });
    },

    async seen(experimentId, process) {
      // Seconds decide whether a caller is gone; each note of one is a new version of the row.
      const rows = await database.query(
        `WITH noted AS (UPDATE experiments SET caller_seen_at = now()
           WHERE run_id = $1 AND caller_process = $2 AND (caller_seen_at IS NULL OR caller_seen_at < now() - interval '1 second'))
         SELECT 1 FROM experiments WHERE run_id = $1 AND caller_process = $2`,
        [experimentId, process],
      );
      return rows.length > 0;
    },

    async secondsSinceCaller(experimentId) {
      const row = await database.maybeOne(
        'SELECT extract(epoch FROM now() - caller_seen_at)::float8 AS seconds FROM experiments WHERE run_id = $1',
        [experimentId],
      );
      return typeof row?.seconds === 'number' ? row.seconds : Number.POSITIVE_INFINITY;
    },

    async finish(experimentId, ordinals) {
      await database.query('UPDATE offered_rows SET done = true WHERE run_id = $1 AND ordinal = ANY($2::int[])', [
        experimentId,
        ordinals,
      ]);
    },

    async takeFinished(experimentId, from, to) {
      const rows = await database.query(
        'DELETE FROM offered_rows WHERE run_id = $1 AND done AND ordinal >= $2 AND ordinal < $3 RETURNING ordinal',
        [experimentId, from, to],
      );
      return rows.map((row) => Number(row.ordinal));
    },

    async withdraw(experimentId, from, to) {
      await database.query('DELETE FROM offered_rows WHERE run_id = $1 AND ordinal >= $2 AND ordinal < $3', [
        experimentId,
        from,
        to,
      ]);
    },

    async withdrawUnheld(experimentId, from, to) {
      await database.query(
        'DELETE FROM offered_rows WHERE run_id = $1 AND ordinal >= $2 AND ordinal < $3 AND (done OR process IS NULL OR leased_until < now())',
        [experimentId, from, to],
      );
    },

    async running(experimentId) {
      const row = await database.maybeOne(
        'SELECT count(*)::int AS count FROM offered_rows WHERE run_id = $1 AND NOT done AND leased_until > now()',
        [experimentId],
      );
      return Number(row?.count ?? 0);
    },
  };
}
