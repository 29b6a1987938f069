import type { z } from 'zod';
import { givenInput } from '../../shared/datasets/experimentRow.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { type CallerDeps, type CallerResult, leaseRows, recordResults } from '../../shared/experiments/callerRows.ts';
import { runOfProject } from '../../shared/experiments/runOfProject.ts';
import { closestNames } from '../../shared/identifiers/closestNames.ts';
import { resembles } from '../../shared/identifiers/resembles.ts';
import { KeptValues } from '../../shared/recordSchemas/mendFields.ts';
import { ResultsRequest, RowResult } from '../../shared/recordSchemas/rowResults.ts';
import { HeartbeatReply, HeartbeatRequest, LeaseReply, LeaseRequest, ResultsReply } from '../../shared/wire/experimentRuns.ts';
import { ExperimentParams } from '../../shared/wire/experiments.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

/** Rows of an experiment's run for a function in its caller's process. */
export function callerRowRoutes(callers: CallerDeps): Endpoint[] {
  const base = '/projects/{project_id}/experiments/{experiment_id}/rows';
  const inProject = ({ project_id, experiment_id }: z.output<typeof ExperimentParams>) =>
    runOfProject(callers.find, { projectId: project_id, runId: experiment_id });
  return [
    endpoint({
      method: 'post',
      path: `${base}/lease`,
      errors: ['Conflict'],
      summary: "Take rows for a function in the caller's process",
      description:
        'Waits up to `wait_ms` for rows. Asking keeps the rows that this process holds. 409: another process has taken over.',
      tag: 'Experiment runs',
      access: { project: 'create_run' },
      params: ExperimentParams,
      body: LeaseRequest,
      waits: true,
      response: LeaseReply,
      handle: async ({ params, body, signal }) => {
        const { run, attempt, rows } = await leaseRows(
          callers,
          await inProject(params),
          { ...body, waitMs: body.wait_ms, holding: body.holding ?? undefined },
          signal,
        );
        return {
          state: run.state,
          attempt,
          concurrency: run.settings.concurrency,
          row_time_limit_ms: run.settings.rowTimeLimitMs,
          rows: rows.map((row) => ({
            ordinal: row.ordinal,
            dataset_row_ordinal: row.sourceOrdinal,
            trial: row.trial,
            row_id: row.rowId,
            input: givenInput(row),
            expected: row.expected,
            metadata: row.metadata,
            values: row.variables,
          })),
        };
      },
    }),
    endpoint({
      method: 'post',
      path: `${base}/results`,
      errors: ['Conflict'],
      summary: 'Record results of rows that this process holds',
      tag: 'Experiment runs',
      access: { project: 'create_run' },
      params: ExperimentParams,
      body: ResultsRequest,
      bodyLimit: 128 * 1024 * 1024,
      response: ResultsReply,
      handle: async ({ params, body }) => {
        const run = await inProject(params);
        return { recorded: await recordResults(callers, run, body.process, body.results.map(toResult)) };
      },
    }),
    endpoint({
      method: 'post',
      path: `${base}/heartbeat`,
      errors: ['Conflict'],
      summary: 'Keep the rows that this process holds',
      tag: 'Experiment runs',
      access: { project: 'create_run' },
      params: ExperimentParams,
      body: HeartbeatRequest,
      response: HeartbeatReply,
      handle: async ({ params, body }) => {
        const run = await inProject(params);
        if (!(await callers.offered.seen(run.experimentId, body.process)))
          throw new ServiceError('Conflict', `another process runs experiment ${run.experimentId} now; this one must stop`);
        await callers.offered.renew(run.experimentId, body.process, run.settings.rowTimeLimitMs, body.holding ?? undefined);
        return { state: run.state, concurrency: run.settings.concurrency };
      },
    }),
  ];
}

/** Keeps the values of unknown keys with the row. The row fails when such a key is a misspelt known one. */
function toResult(given: z.output<typeof ResultsRequest>['results'][number]): CallerResult {
  const { ordinal, output, error, spans, started_at, duration_ns, metrics, tags, ...others } = given;
  const kept = new KeptValues();
  for (const [key, value] of Object.entries(others)) kept.keep(key, value);
  return {
    ...{ ordinal, output, error: error || misspeltKey(Object.keys(others)), spans, tags, asText: kept.beside(undefined) },
    ...{ startedAt: started_at, durationNs: duration_ns, localMetrics: metrics },
  };
}

const resultKeys = Object.keys(RowResult.shape);
/** Unknown keys of a result that are compared with the known ones: a body may hold millions. */
const MAX_LOOKED_AT = 100;

function misspeltKey(keys: readonly string[]): string | undefined {
  const key = keys
    .slice(0, MAX_LOOKED_AT)
    .find((one) => resembles(one, resultKeys))
    ?.slice(0, 200);
  return (
    key && `the result has a key ${JSON.stringify(key)}, which is not known; the closest is ${closestNames(key, resultKeys, 1)}`
  );
}
