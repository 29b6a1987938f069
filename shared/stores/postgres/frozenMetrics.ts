import { z } from 'zod';
import type { FrozenMetricStore } from '../../scorers/frozenMetric.ts';
import type { Database, Queries } from './database.ts';
import { missingReference } from './missingReference.ts';

const FrozenRow = z
  .object({ version: z.string(), scorer_id: z.string(), definition: z.string() })
  .transform(({ version, scorer_id, definition }) => ({ version, scorerId: scorer_id, definition }));
const RunRow = z.object({
  workflow_number: z.number(),
  versions: z.array(z.string()),
  frozen_at: z.coerce.number(),
  looked_to: z.coerce.number(),
});

export function postgresFrozenMetrics(database: Database): FrozenMetricStore {
  // A log stream's are kept at every look for new records: what has not changed is not written again.
  const keep = async (queries: Queries, runId: string, metrics: Parameters<FrozenMetricStore['keep']>[1]) => {
    for (const { version, scorerId, definition } of metrics)
      await queries.query(
        `INSERT INTO frozen_metrics (run_id, version, scorer_id, definition) VALUES ($1, $2, $3, $4)
         ON CONFLICT (run_id, version) DO UPDATE SET definition = excluded.definition, frozen_at = excluded.frozen_at
         WHERE frozen_metrics.definition <> excluded.definition OR EXISTS (
           SELECT 1 FROM frozen_metrics newer WHERE newer.run_id = frozen_metrics.run_id
              AND newer.scorer_id = frozen_metrics.scorer_id AND newer.frozen_at > frozen_metrics.frozen_at)`,
        [runId, version, scorerId, definition],
      );
  };
  const where = async (condition: string, params: unknown[]) =>
    z
      .array(FrozenRow)
      .parse(
        await database.query(
          `SELECT DISTINCT ON (scorer_id) version, scorer_id, definition FROM frozen_metrics WHERE ${condition} ORDER BY scorer_id, frozen_at DESC`,
          params,
        ),
      );
  return {
    keep: (runId, metrics) => database.transaction((tx) => keep(tx, runId, metrics)).catch(missingReference('run')),

    find: async (runId, version) => (await where('run_id = $1 AND version = $2', [runId, version]))[0],

    newest: (runId) => where('run_id = $1', [runId]),

    async ofRun(runId) {
      const row = await database.maybeOne(
        'SELECT workflow_number, versions, frozen_at, looked_to FROM run_metrics WHERE run_id = $1',
        [runId],
      );
      if (!row) return undefined;
      const { workflow_number, versions, frozen_at, looked_to } = RunRow.parse(row);
      const found = await where('run_id = $1 AND version = ANY ($2::uuid[])', [runId, versions]);
      const metrics = versions.flatMap((version) => found.find((one) => one.version === version) ?? []);
      return { number: workflow_number, metrics, frozenAt: frozen_at, lookedTo: looked_to };
    },

    freeze: (runId, number, metrics, frozenAt) =>
      database
        .transaction(async (tx) => {
          const begun = await tx.query(
            `INSERT INTO run_metrics (run_id, workflow_number, versions, frozen_at) VALUES ($1, $2, $3::uuid[], $4)
             ON CONFLICT (run_id) DO UPDATE SET workflow_number = excluded.workflow_number, versions = excluded.versions,
               frozen_at = excluded.frozen_at, looked_to = 0
             WHERE run_metrics.workflow_number < excluded.workflow_number RETURNING run_id`,
            [runId, number, metrics.map(({ version }) => version), frozenAt],
          );
          if (begun.length > 0) await keep(tx, runId, metrics);
        })
        .catch(missingReference('run')),

    async looked(runId, number, lookedTo) {
      await database.query(
        'UPDATE run_metrics SET looked_to = greatest(looked_to, $3) WHERE run_id = $1 AND workflow_number = $2',
        [runId, number, lookedTo],
      );
    },
  };
}
