import { z } from 'zod';
import type { Caller } from '../../shared/accounts/permissions.ts';
import { limitsFrom } from '../../shared/coordination/callLimits.ts';
import { givenInput } from '../../shared/datasets/experimentRow.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import type { CallerDeps, CallerResult } from '../../shared/experiments/callerRows.ts';
import { leaseRows, recordResults } from '../../shared/experiments/callerRows.ts';
import type { ExperimentRun, Runner, RunSettings } from '../../shared/experiments/experiment.ts';
import type { FigureSoFar } from '../../shared/experiments/figuresSoFar.ts';
import { loggedMetricsOf } from '../../shared/experiments/metricScales.ts';
import type { RunRequest as ParsedRunRequest } from '../../shared/experiments/prepareRun.ts';
import { type RunProgressReport, untilEnded } from '../../shared/experiments/progress.ts';
import { rerunToWire } from '../../shared/experiments/rerun.ts';
import { selectionToWire } from '../../shared/experiments/rowSelection.ts';
import { usageBody } from '../../shared/experiments/runUsage.ts';
import type { RunControl } from '../../shared/experiments/steerRun.ts';
import { closestNames } from '../../shared/identifiers/closestNames.ts';
import { resembles } from '../../shared/identifiers/resembles.ts';
import { NoKeys, Uuid } from '../../shared/wire/common.ts';
import {
  ConcurrencyRequest,
  HeartbeatReply,
  HeartbeatRequest,
  LeaseReply,
  LeaseRequest,
  ProgressQuery,
  ProgressReply,
  ResultsReply,
  ResultsRequest,
  RowResult,
  type RunnerRequest,
  RunReply,
  RunRequest,
} from '../../shared/wire/experimentRuns.ts';
import { KeptValues } from '../../shared/wire/mendFields.ts';
import { type Endpoint, endpoint } from '../route.ts';

export interface ExperimentRunDeps {
  find(experimentId: string): Promise<ExperimentRun | undefined>;
  request(experimentId: string, request: ParsedRunRequest): Promise<{ run: ExperimentRun; started: boolean }>;
  /** @throws ServiceError `NotFound` for a prompt version that the caller does not see. */
  mustSeePrompt(caller: Caller, versionId: string): Promise<void>;
  control: RunControl;
  caller: CallerDeps;
  progress(run: ExperimentRun): Promise<RunProgressReport>;
  figuresSoFar(run: ExperimentRun): Promise<FigureSoFar[]>;
}

const Params = z.object({ project_id: Uuid, experiment_id: Uuid });
const base = '/projects/{project_id}/experiments/{experiment_id}';

/** Starting, watching and steering the run of an experiment, and the rows of a function in its caller's process. */
export function experimentRunRoutes(deps: ExperimentRunDeps): Endpoint[] {
  const inProject = async ({ project_id, experiment_id }: z.output<typeof Params>): Promise<ExperimentRun> => {
    const run = await deps.find(experiment_id);
    if (run?.projectId !== project_id) throw new ServiceError('NotFound', `no experiment ${experiment_id} in this project`);
    return run;
  };
  const steer = (path: string, summary: string, act: (run: ExperimentRun) => Promise<ExperimentRun>) =>
    endpoint({
      method: 'post',
      path: `${base}/${path}`,
      errors: ['Conflict'],
      summary,
      tag: 'Experiment runs',
      access: { project: 'create_run' },
      params: Params,
      body: NoKeys,
      response: RunReply,
      handle: async ({ params }) => toReply(await act(await inProject(params)), false),
    });

  return [
    endpoint({
      method: 'post',
      path: `${base}/run`,
      errors: ['Conflict'],
      summary: 'Start the run of an experiment',
      description:
        'Asking again while the run goes on answers that run. A run that has ended is started again for the rows named by `rows_to_run`.',
      tag: 'Experiment runs',
      access: { project: 'create_run' },
      params: Params,
      body: RunRequest,
      bodyLimit: 128 * 1024 * 1024,
      response: RunReply,
      handle: async ({ params, body, caller }) => {
        await inProject(params);
        if (body.runner?.kind === 'prompt_template') await deps.mustSeePrompt(caller, body.runner.prompt_template_version_id);
        const { run, started } = await deps.request(params.experiment_id, parsedRunRequest(body));
        if (body.process) await deps.caller.offered.takeOver(run.experimentId, body.process);
        return toReply(run, started);
      },
    }),
    endpoint({
      method: 'get',
      path: `${base}/progress`,
      summary: 'Rows done, failed, running and total, scores done, and the rate',
      tag: 'Experiment runs',
      access: { project: 'read' },
      params: Params,
      query: ProgressQuery,
      waits: true,
      response: ProgressReply,
      handle: async ({ params, query, signal }) => {
        const { notices } = deps.caller;
        const run = await untilEnded({ find: deps.find, notices }, await inProject(params), query.wait_ms, signal);
        const [report, figures] = await Promise.all([deps.progress(run), query.figures ? deps.figuresSoFar(run) : undefined]);
        return { ...toProgress(report, run), ...(figures && { figures }) };
      },
    }),
    steer('pause', 'Start no new row; rows in flight end', (run) => deps.control.pause(run)),
    steer('resume', 'Go on with a paused run', (run) => deps.control.resume(run)),
    steer('cancel', 'End a run early; what is recorded stays', (run) => deps.control.cancel(run)),
    endpoint({
      method: 'post',
      path: `${base}/concurrency`,
      errors: ['Conflict'],
      summary: 'Change how many rows may be in flight',
      tag: 'Experiment runs',
      access: { project: 'create_run' },
      params: Params,
      body: ConcurrencyRequest,
      response: RunReply,
      handle: async ({ params, body }) =>
        toReply(await deps.control.setConcurrency(await inProject(params), body.concurrency), false),
    }),
    endpoint({
      method: 'post',
      path: `${base}/rows/lease`,
      errors: ['Conflict'],
      summary: "Take rows for a function in the caller's process",
      description:
        'Waits up to `wait_ms` for rows. Asking keeps the rows that this process holds. 409: another process has taken over.',
      tag: 'Experiment runs',
      access: { project: 'log_data' },
      params: Params,
      body: LeaseRequest,
      waits: true,
      response: LeaseReply,
      handle: async ({ params, body, signal }) => {
        const run = await inProject(params);
        const { state, attempt, rows } = await leaseRows(
          deps.caller,
          run,
          { ...body, waitMs: body.wait_ms, holding: body.holding ?? undefined },
          signal,
        );
        return {
          state,
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
      path: `${base}/rows/results`,
      errors: ['Conflict'],
      summary: 'Record results of rows that this process holds',
      tag: 'Experiment runs',
      access: { project: 'log_data' },
      params: Params,
      body: ResultsRequest,
      bodyLimit: 128 * 1024 * 1024,
      response: ResultsReply,
      handle: async ({ params, body }) => {
        const run = await inProject(params);
        return { recorded: await recordResults(deps.caller, run, body.process, body.results.map(toResult)) };
      },
    }),
    endpoint({
      method: 'post',
      path: `${base}/rows/heartbeat`,
      errors: ['Conflict'],
      summary: 'Keep the rows that this process holds',
      tag: 'Experiment runs',
      access: { project: 'log_data' },
      params: Params,
      body: HeartbeatRequest,
      response: HeartbeatReply,
      handle: async ({ params, body }) => {
        const run = await inProject(params);
        if (!(await deps.caller.offered.seen(run.experimentId, body.process)))
          throw new ServiceError('Conflict', `another process runs experiment ${run.experimentId} now; this one must stop`);
        await deps.caller.offered.renew(run.experimentId, body.process, run.settings.rowTimeLimitMs, body.holding ?? undefined);
        return { state: run.state };
      },
    }),
  ];
}

/** What is under a key that results do not have is kept with the row, which fails where that key is a known one misspelt. */
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

function parsedRunRequest(body: z.output<typeof RunRequest>): ParsedRunRequest {
  return {
    ...(body.runner ? { runner: toRunner(body.runner) } : {}),
    ...(body.records ? { records: body.records } : {}),
    ...(body.rows_to_run ? { rowsToRun: body.rows_to_run } : {}),
    ...(body.logged_metrics ? { loggedMetrics: loggedMetricsOf(body.logged_metrics) } : {}),
    ...(body.rows ? { rows: body.rows } : {}),
    ...(body.trials ? { trials: body.trials } : {}),
    ...(body.failed_rows ? { failedRows: body.failed_rows } : {}),
    ...(body.process ? { callerProcess: body.process } : {}),
    settings: toSettings(body),
  };
}

function toRunner(runner: z.output<typeof RunnerRequest>): Runner {
  switch (runner.kind) {
    case 'prompt_template':
      return { kind: runner.kind, templateVersionId: runner.prompt_template_version_id, settings: runner.prompt_settings ?? {} };
    case 'http':
      return { kind: runner.kind, url: runner.url, ...(runner.headers ? { headers: runner.headers } : {}) };
    default:
      return runner;
  }
}

function toSettings(body: z.output<typeof RunRequest>): Partial<RunSettings> {
  const settings: Partial<RunSettings> = {};
  if (body.concurrency != null) settings.concurrency = body.concurrency;
  if (body.row_time_limit_ms != null) settings.rowTimeLimitMs = body.row_time_limit_ms;
  if (body.max_call_attempts != null) settings.maxCallAttempts = body.max_call_attempts;
  if (body.pause_after_failures != null) settings.pauseAfterFailures = body.pause_after_failures;
  if (body.pause_after_provider_failures != null) settings.pauseAfterProviderFailures = body.pause_after_provider_failures;
  if (body.limits != null) settings.limits = limitsFrom(body.limits);
  return settings;
}

const toReply = (run: ExperimentRun, started: boolean): z.input<typeof RunReply> => ({
  experiment_id: run.experimentId,
  state: run.state,
  started,
  row_count: run.rowCount,
  trials: run.trials,
  row_selection: selectionToWire(run.selectedRows),
  rerun: rerunToWire(run),
  workflow_id: run.workflowId,
  concurrency: run.settings.concurrency,
});

const toProgress = (view: RunProgressReport, run: ExperimentRun): z.input<typeof ProgressReply> => ({
  experiment_id: view.experimentId,
  state: view.state,
  runner: run.runner.kind,
  rows_total: view.rowsTotal,
  rows_done: view.rowsDone,
  rows_failed: view.rowsFailed,
  rows_running: view.rowsRunning,
  trials: run.trials,
  row_selection: selectionToWire(run.selectedRows),
  rerun: rerunToWire(run),
  scores_total: view.scoresTotal,
  scores_done: view.scoresDone,
  usage: usageBody(view.usage),
  rows_per_second: view.rowsPerSecond,
  started_at: view.startedAt,
  ended_at: view.endedAt,
  error: view.error,
  message: view.message,
  settings_not_sent: view.settingsNotSent,
});
