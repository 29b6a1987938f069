import { z } from 'zod';
import { ServiceError } from '../../errors/errors.ts';
import type { RunTag, RunTagStore } from '../../experiments/experimentStore.ts';
import type { Database } from './database.ts';
import { isUniqueViolation } from './databaseErrors.ts';
import { inCamelCase } from './inCamelCase.ts';
import { missingReference } from './missingReference.ts';

export const RunTagRow = z
  .object({
    id: z.string(),
    project_id: z.string(),
    run_id: z.string(),
    key: z.string(),
    value: z.string(),
    tag_type: z.string(),
    created_by: z.string(),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .transform((row): RunTag => inCamelCase(row));

export function postgresRunTags(database: Database): RunTagStore {
  return {
    async list(runId) {
      const rows = await database.query('SELECT * FROM run_tags WHERE run_id = $1 ORDER BY created_at, id', [runId]);
      return z.array(RunTagRow).parse(rows);
    },
    async find(runId, tagId) {
      const row = await database.maybeOne('SELECT * FROM run_tags WHERE run_id = $1 AND id = $2', [runId, tagId]);
      return row && RunTagRow.parse(row);
    },
    async put({ id, projectId, runId, key, value, tagType, createdBy }) {
      const row = await database
        .maybeOne(
          `INSERT INTO run_tags (id, project_id, run_id, key, value, tag_type, created_by) VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT ON CONSTRAINT run_tags_key DO UPDATE SET value = excluded.value, tag_type = excluded.tag_type, updated_at = now()
         RETURNING *`,
          [id, projectId, runId, key, value, tagType, createdBy],
        )
        .catch(missingReference('experiment'));
      return RunTagRow.parse(row);
    },
    async update(runId, tagId, { key, value, tagType }) {
      const row = await database
        .maybeOne(
          'UPDATE run_tags SET key = $3, value = $4, tag_type = $5, updated_at = now() WHERE run_id = $1 AND id = $2 RETURNING *',
          [runId, tagId, key, value, tagType],
        )
        .catch((err: unknown) => {
          if (isUniqueViolation(err, 'run_tags_key'))
            throw new ServiceError('Conflict', 'another tag of the experiment has this key', { cause: err });
          throw err;
        });
      return row && RunTagRow.parse(row);
    },
    async remove(runId, tagId) {
      const sql = 'DELETE FROM run_tags WHERE run_id = $1 AND id = $2 RETURNING id';
      return (await database.maybeOne(sql, [runId, tagId])) !== undefined;
    },
  };
}
