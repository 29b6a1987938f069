import type { OpenMetricsTesting } from '../../projects/openRun.ts';
import type { Database } from './connect.ts';
import { goneMeanwhile } from './missingReference.ts';

/** Metrics-testing runs: opened by their first ingest, several of which may come at once. */
export const postgresMetricsTestingRuns =
  (database: Database): OpenMetricsTesting =>
  async (projectId, runId, openedBy) => {
    await database
      .query(
        `INSERT INTO runs (id, project_id, kind, name, created_by) VALUES ($1, $2, 'metrics_testing', 'Metrics testing', $3) ON CONFLICT (id) DO NOTHING`,
        [runId, projectId, openedBy],
      )
      .catch(goneMeanwhile('project'));
    const sql = `SELECT 1 AS yes FROM runs WHERE id = $1 AND project_id = $2 AND kind = 'metrics_testing'`;
    return (await database.maybeOne(sql, [runId, projectId])) !== undefined;
  };
