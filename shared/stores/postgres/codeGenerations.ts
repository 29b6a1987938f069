import { z } from 'zod';
import type { CodeGenerationStore } from '../../scorers/generateCode.ts';
import type { Database } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';

const Row = z.object({
  id: z.string(),
  code: z.string().nullable(),
  problem: z.string().nullable(),
  is_done: z.boolean(),
  is_over: z.boolean(),
});

/** Owns `code_generations`. What is older than a day goes with the next one that is made. */
export function postgresCodeGenerations(database: Database): CodeGenerationStore {
  return {
    async begin(id, userId) {
      await database.query("DELETE FROM code_generations WHERE created_at < clock_timestamp() - interval '1 day'");
      await database.query('INSERT INTO code_generations (id, created_by) VALUES ($1, $2)', [id, userId]);
    },
    async end(id, { code, problem }) {
      await database.query('UPDATE code_generations SET code = $2, problem = $3, is_done = true WHERE id = $1', [
        id,
        code,
        problem,
      ]);
    },
    async find(id, userId) {
      const row = await database.maybeOne(
        `SELECT id, code, problem, is_done, created_at < clock_timestamp() - interval '10 minutes' AS is_over
         FROM code_generations WHERE id = $1 AND created_by = $2`,
        [id, userId],
      );
      return row && inCamelCase(Row.parse(row));
    },
  };
}
