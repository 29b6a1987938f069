import { z } from 'zod';
import { ServiceError } from '../../errors/errors.ts';
import type { NewView, SavedView, SavedViewStore } from '../../views/savedViews.ts';
import type { SavedViewContent } from '../../wire/savedViews.ts';
import type { Database } from './database.ts';
import { isUniqueViolation } from './databaseErrors.ts';
import { inCamelCase } from './inCamelCase.ts';
import { missingReference } from './missingReference.ts';

const SavedViewRow = z
  .object({
    id: z.string(),
    project_id: z.string(),
    created_by: z.string(),
    name: z.string(),
    is_shared: z.boolean(),
    // As it was checked when it was written.
    content: z.custom<SavedViewContent>(),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .transform((row): SavedView => inCamelCase(row));

const nameTaken = (err: unknown): never => {
  if (isUniqueViolation(err, 'saved_views_name'))
    throw new ServiceError('Conflict', 'another view of yours has this name', { cause: err });
  throw err;
};

const valuesOf = ({ id, projectId, name, isShared, content }: NewView) => [
  id,
  projectId,
  name,
  isShared,
  JSON.stringify(content),
];

/** How users show the records of projects. */
export function postgresSavedViews(database: Database): SavedViewStore {
  return {
    async list(projectId, userId) {
      const sql =
        'SELECT * FROM saved_views WHERE project_id = $1 AND (is_shared OR created_by = $2) ORDER BY lower(name), created_at, id';
      return z.array(SavedViewRow).parse(await database.query(sql, [projectId, userId]));
    },
    async find(projectId, id) {
      const row = await database.maybeOne('SELECT * FROM saved_views WHERE project_id = $1 AND id = $2', [projectId, id]);
      return row && SavedViewRow.parse(row);
    },
    async count(projectId, userId) {
      const sql = 'SELECT count(*)::int AS views FROM saved_views WHERE project_id = $1 AND created_by = $2';
      return z.number().parse((await database.maybeOne(sql, [projectId, userId]))?.views);
    },
    async insert(view) {
      const sql =
        'INSERT INTO saved_views (id, project_id, name, is_shared, content, created_by) VALUES ($1, $2, $3, $4, $5::jsonb, $6) RETURNING *';
      const row = await database
        .maybeOne(sql, [...valuesOf(view), view.createdBy])
        .catch(missingReference('project'))
        .catch(nameTaken);
      return SavedViewRow.parse(row);
    },
    async update(view) {
      const sql =
        'UPDATE saved_views SET name = $3, is_shared = $4, content = $5::jsonb, updated_at = now() WHERE id = $1 AND project_id = $2 RETURNING *';
      const row = await database.maybeOne(sql, valuesOf(view)).catch(nameTaken);
      return row && SavedViewRow.parse(row);
    },
    async remove(projectId, id) {
      const sql = 'DELETE FROM saved_views WHERE project_id = $1 AND id = $2 RETURNING id';
      return (await database.maybeOne(sql, [projectId, id])) !== undefined;
    },
  };
}
