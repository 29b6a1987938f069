import { z } from 'zod';
import type { JudgeDraftStore } from '../../scorers/draftJudge.ts';
import { DraftedJudge } from '../../wire/judgeDrafts.ts';
import type { Database } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';

const Row = z.object({
  id: z.string(),
  judge: DraftedJudge.nullable(),
  problem: z.string().nullable(),
  is_over: z.boolean(),
});

/** Owns `judge_drafts`. What is older than a day goes with the next one that is made. */
export function postgresJudgeDrafts(database: Database): JudgeDraftStore {
  return {
    async begin(id, userId) {
      await database.query("DELETE FROM judge_drafts WHERE created_at < clock_timestamp() - interval '1 day'");
      await database.query('INSERT INTO judge_drafts (id, created_by) VALUES ($1, $2)', [id, userId]);
    },
    async end(id, { judge, problem }) {
      await database.query('UPDATE judge_drafts SET judge = $2, problem = $3 WHERE id = $1', [
        id,
        judge === null ? null : JSON.stringify(judge),
        problem,
      ]);
    },
    async find(id, userId) {
      const row = await database.maybeOne(
        `SELECT id, judge, problem, created_at < clock_timestamp() - interval '10 minutes' AS is_over
         FROM judge_drafts WHERE id = $1 AND created_by = $2`,
        [id, userId],
      );
      return row && inCamelCase(Row.parse(row));
    },
  };
}
