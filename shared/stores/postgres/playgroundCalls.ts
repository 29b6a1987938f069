import { z } from 'zod';
import { ServiceError } from '../../errors/errors.ts';
import { CALL_GOOD_MS, type LimitedProject, type PlaygroundCallStore } from '../../playground/playgroundLimits.ts';
import type { Database, Queries } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';

const LimitsRow = z
  .object({ most_calls: z.number().nullable(), most_usd_per_day: z.number().nullable() })
  .transform((row): LimitedProject['limits'] => inCamelCase(row));

const UseRow = z
  .object({
    calls_now: z.number(),
    calls: z.number(),
    usd: z.number().nullable(),
    estimated_usd: z.number(),
    calls_without_cost: z.number(),
  })
  .transform((row): LimitedProject['use'] => inCamelCase(row));

const limitsSql =
  'SELECT playground_most_calls AS most_calls, playground_most_usd_per_day::float8 AS most_usd_per_day FROM projects WHERE id = $1';

// Calls of yesterday may still run. Times are the server's, one for all processes.
const useSql = `
  SELECT
    count(*) FILTER (WHERE ended_at IS NULL AND runs_until > clock_timestamp())::int AS calls_now,
    count(*) FILTER (WHERE day = $2)::int AS calls,
    (sum(coalesce(cost_usd, estimate_usd)) FILTER (WHERE day = $2))::float8 AS usd,
    coalesce(sum(estimate_usd) FILTER (WHERE day = $2 AND cost_usd IS NULL), 0)::float8 AS estimated_usd,
    count(*) FILTER (WHERE day = $2 AND coalesce(cost_usd, estimate_usd) IS NULL)::int AS calls_without_cost
  FROM playground_calls WHERE project_id = $1 AND day >= $2::date - 1`;

const runsUntil = `clock_timestamp() + interval '${CALL_GOOD_MS} milliseconds'`;

/** Owns `playground_calls` and the limits of playgrounds in `projects`. */
export function postgresPlaygroundCalls(database: Database): PlaygroundCallStore {
  const read = async (on: Queries, projectId: string, day: string, lock: string): Promise<LimitedProject | undefined> => {
    const limits = await on.maybeOne(`${limitsSql} ${lock}`, [projectId]);
    if (!limits) return undefined;
    const use = await on.maybeOne(useSql, [projectId, day]);
    return { limits: LimitsRow.parse(limits), use: UseRow.parse(use) };
  };
  return {
    get: (projectId, day) => read(database, projectId, day, ''),
    async set(projectId, { mostCalls, mostUsdPerDay }) {
      await database.query(
        'UPDATE projects SET playground_most_calls = $2, playground_most_usd_per_day = $3, updated_at = now() WHERE id = $1',
        [projectId, mostCalls, mostUsdPerDay],
      );
    },
    begin: ({ id, projectId, day, estimateUsd }, admit) =>
      database.transaction(async (tx) => {
        // Two calls at the edge of a limit are looked at one after the other; what refers to the project does not wait.
        const project = await read(tx, projectId, day, 'FOR NO KEY UPDATE');
        if (!project) throw new ServiceError('NotFound', 'no such project');
        admit(project);
        await tx.query('DELETE FROM playground_calls WHERE project_id = $1 AND day < $2::date - 1', [projectId, day]);
        await tx.query(
          `INSERT INTO playground_calls (id, project_id, day, runs_until, estimate_usd) VALUES ($1, $2, $3, ${runsUntil}, $4)`,
          [id, projectId, day, estimateUsd],
        );
      }),
    async keep(ids) {
      await database.query(`UPDATE playground_calls SET runs_until = ${runsUntil} WHERE id = ANY($1::uuid[])`, [ids]);
    },
    async end(id, usd) {
      await database.query('UPDATE playground_calls SET ended_at = clock_timestamp(), cost_usd = $2 WHERE id = $1', [id, usd]);
    },
    async drop(id) {
      await database.query('DELETE FROM playground_calls WHERE id = $1', [id]);
    },
  };
}
