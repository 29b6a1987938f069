import { z } from 'zod';
import type { CodeValidationStore } from '../../scorers/validateCode.ts';
import { ValidateRegisteredScorerResult } from '../../wire/codeScorers.ts';
import type { Database } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';

const Row = z.object({
  id: z.string(),
  result: ValidateRegisteredScorerResult.nullable(),
  created_at: z.date(),
  updated_at: z.date(),
  is_over: z.boolean(),
});

/** Owns `code_validations`. What is older than a day goes with the next one that is made. */
export function postgresCodeValidations(database: Database): CodeValidationStore {
  return {
    async begin(id, userId) {
      await database.query("DELETE FROM code_validations WHERE created_at < clock_timestamp() - interval '1 day'");
      await database.query('INSERT INTO code_validations (id, created_by) VALUES ($1, $2)', [id, userId]);
    },
    async end(id, result) {
      await database.query('UPDATE code_validations SET result = $2, updated_at = clock_timestamp() WHERE id = $1', [
        id,
        JSON.stringify(result),
      ]);
    },
    async find(id, userId) {
      const row = await database.maybeOne(
        `SELECT id, result, created_at, updated_at, created_at < clock_timestamp() - interval '10 minutes' AS is_over
         FROM code_validations WHERE id = $1 AND created_by = $2`,
        [id, userId],
      );
      if (!row) return undefined;
      const { result, createdAt, updatedAt, isOver } = inCamelCase(Row.parse(row));
      return { id, result, createdAt, updatedAt, isOver };
    },
  };
}
