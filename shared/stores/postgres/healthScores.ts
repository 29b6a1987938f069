import { z } from 'zod';
import type { HealthScoreStore, NotedHealthScore } from '../../scorers/healthScores.ts';
import type { Database } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';

const Row = z
  .object({
    id: z.string(),
    scorer_version_id: z.string(),
    version: z.number(),
    dataset_id: z.string(),
    health_score_type: z.string(),
    score: z.number(),
    secondary: z.record(z.string(), z.number().nullable()).nullable(),
    computed_at: z.date(),
  })
  .transform(
    ({ scorer_version_id: versionId, version: versionNumber, health_score_type: type, ...row }): NotedHealthScore => ({
      ...inCamelCase(row),
      versionId,
      versionNumber,
      type,
    }),
  );

/** Owns `scorer_health_scores`. */
export function postgresHealthScores(database: Database): HealthScoreStore {
  return {
    async add({ id, versionId, datasetId, type, score, secondary }) {
      const row = await database.maybeOne(
        `INSERT INTO scorer_health_scores (id, scorer_version_id, dataset_id, health_score_type, score, secondary)
         VALUES ($1, $2, $3, $4, $5, $6) RETURNING computed_at`,
        [id, versionId, datasetId, type, score, secondary === null ? null : JSON.stringify(secondary)],
      );
      return z.object({ computed_at: z.date() }).parse(row).computed_at;
    },
    async list(scorerId, datasetId, limit) {
      const rows = await database.query(
        `SELECT h.*, v.version FROM scorer_versions v JOIN scorer_health_scores h ON h.scorer_version_id = v.id
         WHERE v.scorer_id = $1 AND h.dataset_id = $2 ORDER BY h.computed_at DESC, h.id DESC LIMIT $3`,
        [scorerId, datasetId, limit],
      );
      return rows.map((row) => Row.parse(row)).reverse();
    },
  };
}
