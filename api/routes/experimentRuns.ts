import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Caller } from '../../shared/accounts/permissions.ts';
import type { FollowedStates } from '../../shared/concurrency/followedStates.ts';
import { limitsFrom } from '../../shared/coordination/callLimits.ts';
import type { CallerDeps } from '../../shared/experiments/callerRows.ts';
import type { ExperimentRun, Runner, RunSettings } from '../../shared/experiments/experiment.ts';
import type { FigureSoFar } from '../../shared/experiments/figuresSoFar.ts';
import type { FailureCause, WatchedState } from '../../shared/experiments/followedProgress.ts';
import { loggedMetricsOf } from '../../shared/experiments/metricScales.ts';
import type { RunRequest as ParsedRunRequest } from '../../shared/experiments/prepareRun.ts';
import { type RunProgressReport, untilEnded } from '../../shared/experiments/progress.ts';
import { runOfProject } from '../../shared/experiments/runOfProject.ts';
import type { RunControl } from '../../shared/experiments/steerRun.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import type { EnabledMetric } from '../../shared/scorers/resolveMetrics.ts';
import { NoKeys } from '../../shared/wire/common.ts';
import {
  ConcurrencyRequest,
  type LiveProgressEvent,
  ProgressQuery,
  ProgressReply,
  type RunnerRequest,
  RunReply,
  RunRequest,
  RunSettingsReply,
} from '../../shared/wire/experimentRuns.ts';
import { ExperimentParams } from '../../shared/wire/experiments.ts';
import { type Endpoint, endpoint, type Gate } from '../http/route.ts';
import { eventsReply, headOfEvents, serverEvent } from '../http/serverSentEvents.ts';
import { causeToWire, progressToWire, runSettingsToWire, runToWire } from '../views/experimentRun.ts';

export interface ExperimentRunDeps {
  find(experimentId: string): Promise<ExperimentRun | undefined>;
  request(experimentId: string, request: ParsedRunRequest): Promise<{ run: ExperimentRun; started: boolean }>;
  /** @throws ServiceError `NotFound` for a prompt version that the caller does not see. */
  mustSeePrompt(caller: Caller, versionId: string): Promise<void>;
  control: RunControl;
  caller: Pick<CallerDeps, 'offered' | 'notices'>;
  progress(run: ExperimentRun): Promise<RunProgressReport>;
  figuresSoFar(run: ExperimentRun): Promise<FigureSoFar[]>;
  failureCauses(run: RunRef): Promise<FailureCause[]>;
  /** The metrics that the values of a run are made by; of one that never ran, those of its settings. */
  metricsOf(run: ExperimentRun): Promise<EnabledMetric[]>;
  /** Where Temporal's own pages show a workflow; undefined where no address of them is known. */
  workflowLink(workflowId: string): string | undefined;
  live: Pick<FollowedStates<RunRef, WatchedState>, 'follow'>;
  gate: Gate;
  /** Aborts when the process is about to end. */
  stopping: AbortSignal;
}

const base = '/projects/{project_id}/experiments/{experiment_id}';

/** Starts, watches and steers the run of an experiment. */
export function experimentRunRoutes(deps: ExperimentRunDeps): Endpoint[] {
  const inProject = ({ project_id, experiment_id }: z.output<typeof ExperimentParams>) =>
    runOfProject(deps.find, { projectId: project_id, runId: experiment_id });
  const steer = (path: string, summary: string, act: (run: ExperimentRun) => Promise<ExperimentRun>) =>
    endpoint({
      method: 'post',
      path: `${base}/${path}`,
      errors: ['Conflict'],
      summary,
      tag: 'Experiment runs',
      access: { project: 'create_run' },
      params: ExperimentParams,
      body: NoKeys,
      response: RunReply,
      handle: async ({ params }) => runToWire(await act(await inProject(params)), false),
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
      params: ExperimentParams,
      body: RunRequest,
      bodyLimit: 128 * 1024 * 1024,
      response: RunReply,
      handle: async ({ params, body, caller }) => {
        await inProject(params);
        if (body.runner?.kind === 'prompt_template') await deps.mustSeePrompt(caller, body.runner.prompt_template_version_id);
        const { run, started } = await deps.request(params.experiment_id, parsedRunRequest(body));
        if (body.process) await deps.caller.offered.takeOver(run.experimentId, body.process);
        return runToWire(run, started);
      },
    }),
    endpoint({
      method: 'get',
      path: `${base}/progress`,
      summary: 'Rows done, failed, running and total, scores done, and the rate',
      tag: 'Experiment runs',
      access: { project: 'read' },
      params: ExperimentParams,
      query: ProgressQuery,
      waits: true,
      response: ProgressReply,
      handle: async ({ params, query, signal }) => {
        const { notices } = deps.caller;
        const run = await untilEnded({ find: deps.find, notices }, await inProject(params), query.wait_ms, signal);
        const [report, figures, failures] = await Promise.all([
          deps.progress(run),
          query.figures ? deps.figuresSoFar(run) : undefined,
          query.failures ? deps.failureCauses({ projectId: run.projectId, runId: run.experimentId }) : undefined,
        ]);
        return {
          ...progressToWire(report, run),
          ...(figures && { figures }),
          ...(failures && { failures: failures.map(causeToWire) }),
        };
      },
    }),
    endpoint({
      method: 'get',
      path: `${base}/run`,
      summary: 'What a run does, and its settings',
      tag: 'Experiment runs',
      access: { project: 'read' },
      params: ExperimentParams,
      response: RunSettingsReply,
      async handle({ params }) {
        const run = await inProject(params);
        return runSettingsToWire(run, await deps.metricsOf(run), deps.workflowLink);
      },
    }),
    endpoint({
      method: 'get',
      path: `${base}/live_progress`,
      summary: 'Follow how far a run is',
      description:
        'A stream of server-sent events. An event `progress` has what `progress` answers, with figures and failures: the first one at once, then one a second at most while something changes. Between them come comments. The stream goes on when the run ends, since it may be started again. An event `end` says why the stream ends.',
      tag: 'Experiment runs',
      access: { project: 'read' },
      params: ExperimentParams,
      waits: true,
      produces: ['text/event-stream'],
      response: z.string(),
      errors: ['TooManyRequests'],
      async handle({ params, caller, request, signal }) {
        const { projectId, experimentId: runId } = await inProject(params);
        if (request.method === 'HEAD') return headOfEvents();
        const seen = request.headers['last-event-id'];
        return eventsReply(
          await deps.live.follow({ projectId, runId }, caller.userId),
          (state, before) => progressEvent(state, before ? undefined : seen),
          {
            async mayGoOn() {
              await deps.gate.authorize(await deps.gate.authenticate(request, projectId), { project: 'read' }, projectId);
              await inProject(params);
            },
            ...{ stopping: deps.stopping, signal },
          },
        );
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
      params: ExperimentParams,
      body: ConcurrencyRequest,
      response: RunReply,
      handle: async ({ params, body }) =>
        runToWire(await deps.control.setConcurrency(await inProject(params), body.concurrency), false),
    }),
  ];
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

/** Empty where the caller has seen just this. */
function progressEvent(state: WatchedState, seen: unknown): string {
  const { run, report, failures, figures, recentRate } = state;
  const data: LiveProgressEvent = {
    ...progressToWire(report, run),
    failures: failures.map(causeToWire),
    ...(figures && { figures: [...figures] }),
    ...{ seconds_left: state.secondsLeft, recent_rows_per_second: recentRate },
  };
  const id = createHash('sha256').update(JSON.stringify(data)).digest('base64url').slice(0, 22);
  return id === seen ? '' : serverEvent('progress', data, id);
}
