import { z } from 'zod';
import type { CostSources } from '../../integrations/costs.ts';
import { PLAYGROUND_STREAM } from '../../playground/openPlayground.ts';
import type { Database } from './database.ts';

const Row = z.object({ id: z.string(), kind: z.enum(['experiment', 'log_stream']) });

/** Finds experiments that a prompt template runs, and the log streams of playgrounds. */
export const postgresRunsWithCalls =
  (database: Database): CostSources['runsWithCalls'] =>
  async (projectIds) => {
    const rows = await database.query(
      `SELECT r.id, r.kind FROM runs r JOIN experiments e ON e.run_id = r.id
         WHERE e.project_id = ANY ($1::uuid[]) AND e.runner ->> 'kind' = 'prompt_template'
       UNION ALL SELECT r.id, r.kind FROM runs r WHERE r.project_id = ANY ($1::uuid[]) AND r.kind = 'log_stream' AND r.name = $2`,
      [projectIds, PLAYGROUND_STREAM],
    );
    const runs = z.array(Row).parse(rows);
    const idsOf = (kind: z.output<typeof Row>['kind']) => runs.filter((run) => run.kind === kind).map(({ id }) => id);
    return { experiments: idsOf('experiment'), playground: idsOf('log_stream') };
  };
