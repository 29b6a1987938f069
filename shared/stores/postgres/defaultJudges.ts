import { z } from 'zod';
import type { DefaultJudge, DefaultJudgeStore } from '../../scorers/defaultJudge.ts';
import type { Database, Row } from './database.ts';

const JudgeRow = z.object({ model: z.string().nullable() });
const parsed = (row: Row | undefined): DefaultJudge | undefined => row && JudgeRow.parse(row);

/** Reads and sets the models that judge where the metrics of a project name none. */
export const postgresDefaultJudges = (database: Database): DefaultJudgeStore => ({
  get: async (projectId) =>
    parsed(await database.maybeOne('SELECT default_judge AS model FROM projects WHERE id = $1', [projectId])),
  set: async (projectId, model) =>
    parsed(
      await database.maybeOne(
        'UPDATE projects SET default_judge = $2, updated_at = now() WHERE id = $1 RETURNING default_judge AS model',
        [projectId, model],
      ),
    ),
});
