import type { OpenMetricsTesting } from '../../projects/openRun.ts';
import type { Database } from './database.ts';
import { missingReference } from './missingReference.ts';

/** Metrics-testing runs: opened by their first ingest, several of which may come at once. The id of a deleted run opens none. */
export const postgresMetricsTestingRuns =
  (database: Database): OpenMetricsTesting =>
  async (projectId, runId, openedBy) => {
    await database
      .query(
        `INSERT INTO runs (id, project_id, kind, name, created_by) SELECT $1::uuid, $2::uuid, 'metrics_testing', 'Metrics testing', $3::uuid
         WHERE NOT EXISTS (SELECT FROM deletion_markers WHERE run_id = $1) ON CONFLICT (id) DO NOTHING`,
        [runId, projectId, openedBy],
      )
      .catch(missingReference('project'));
    const sql = `SELECT 1 AS yes FROM runs WHERE id = $1 AND project_id = $2 AND kind = 'metrics_testing'`;
    return (await database.maybeOne(sql, [runId, projectId])) !== undefined;
  };
