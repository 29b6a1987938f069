import type { Caller, ProjectAction } from '../../shared/accounts/permissions.ts';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import { assetsSeenBy } from '../../shared/experiments/assetsSeenBy.ts';
import {
  createJob,
  findJob,
  type JobDeps,
  type JobView,
  type JobViewDeps,
  jobsOfRun,
  mustBeStartable,
} from '../../shared/jobs/jobs.ts';
import type { ScoredRun } from '../../shared/scoring/scoring.ts';
import {
  CreateJobRequest,
  CreateJobResponse,
  JobList,
  JobParams,
  JobResponse,
  JobsQuery,
  RunParams,
  scoringJobs,
} from '../../shared/wire/jobs.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import type { startScoringJob } from '../records/scoringJob.ts';

export interface JobRouteDeps extends JobDeps, JobViewDeps {
  experiments: JobDeps['experiments'];
  jobs: JobDeps['jobs'];
  assets: AssetAccess;
  /** @throws ServiceError `Forbidden`, or `NotFound` for a project that is unknown or not visible to the caller. */
  authorizeProject(caller: Caller, action: ProjectAction | 'read', projectId: string): Promise<unknown>;
  /** Where a person sees an experiment. */
  linkTo(projectId: string, experimentId: string): string;
  /** Has stored records of a run scored. */
  startScoring(caller: Caller, request: CreateJobRequest): ReturnType<typeof startScoringJob>;
}

const tag = 'Jobs';

/** The runs of experiments as jobs: the form in which one client starts and follows them. */
export function jobRoutes(deps: JobRouteDeps): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: '/jobs',
      errors: ['NotFound', 'Conflict'],
      summary: 'Start the run of an experiment, or the scoring of stored records',
      description:
        '`playground_run` sets dataset, template, settings, metrics and segment filters on the experiment where they are given, and starts the same run ' +
        'as creating an experiment with `trigger`. Asked again while the run goes on, it gives the job of that run. `prompt_run` is its older name. `log_stream_scorer` and `log_stream_run` have ' +
        'stored records of a log stream, experiment or metrics-testing run scored: by `scorers` and `scorer_config`, each as the settings of the run or else the scorer says, or by those that ' +
        'are switched on; of `trace_ids` where they are given; sessions alone with `is_session`; the share that `segment_filters` choose. Each metric has a job, and `job_id` is that of the first. ' +
        '`prompt_scorer`, `prompt_chain_run`, `monitor_scorer` and `monitor_run` are older names of it. Other jobs are refused with what does here what they did.',
      tag,
      access: 'signedIn',
      body: CreateJobRequest,
      response: CreateJobResponse,
      handle: async ({ body, caller }) => {
        mustBeStartable(body);
        if (scoringJobs.includes(body.job_name)) {
          await deps.authorizeProject(caller, 'set_metric', body.project_id);
          const { run, jobIds, records } = await deps.startScoring(caller, body);
          const link = recordsLink(run);
          return {
            ...body,
            job_id: jobIds[0] as string,
            message: `${records} records match; they are scored. Results: ${link}`,
            link,
          };
        }
        await deps.authorizeProject(caller, 'create_run', body.project_id);
        const { experiment, jobId, run, started } = await createJob(assetsSeenBy(deps, deps.assets, caller), body);
        const link = deps.linkTo(experiment.projectId, experiment.id);
        const message = `Experiment ${JSON.stringify(experiment.name)} ${started ? 'started' : 'is running'}: ${run.rowCount} rows. Results: ${link}`;
        return { ...body, job_id: jobId, message, link };
      },
    }),
    endpoint({
      method: 'get',
      path: '/jobs/{job_id}',
      summary: 'A job',
      tag,
      access: 'signedIn',
      params: JobParams,
      response: JobResponse,
      handle: async ({ params, caller }) => {
        const job = await findJob(deps, params.job_id);
        await deps.authorizeProject(caller, 'read', job.projectId);
        return toWire(job);
      },
    }),
    endpoint({
      method: 'get',
      path: '/projects/{project_id}/runs/{run_id}/jobs',
      summary: 'Jobs of a run',
      description:
        'Newest first: one of each run, one of each of its metrics, and one of each metric whose recomputing was asked for.',
      tag,
      access: { project: 'read' },
      params: RunParams,
      query: JobsQuery,
      response: JobList,
      handle: async ({ project, params, query }) => (await jobsOfRun(deps, project.id, params.run_id, query.status)).map(toWire),
    }),
    endpoint({
      method: 'get',
      path: '/projects/{project_id}/runs/{run_id}/jobs/latest',
      summary: 'The latest job of a run',
      description: 'Null when none was started.',
      tag,
      access: { project: 'read' },
      params: RunParams,
      response: JobResponse.nullable(),
      handle: async ({ project, params }) => {
        const [latest] = await jobsOfRun(deps, project.id, params.run_id);
        return latest ? toWire(latest) : null;
      },
    }),
  ];
}

/** Where a person sees the records of a run. */
const recordsLink = ({ projectId, runId, kind }: ScoredRun): string =>
  `/console/p/${projectId}/records?${kind === 'experiment' ? 'experiment' : 'run'}=${runId}`;

function toWire(job: JobView): JobResponse {
  const { status } = job;
  const ended = job.endedAt?.toISOString() ?? null;
  return {
    id: job.id,
    created_at: job.createdAt.toISOString(),
    updated_at: new Date(Math.max(job.createdAt.getTime(), job.endedAt?.getTime() ?? 0)).toISOString(),
    failed_at: status === 'failed' ? ended : null,
    completed_at: status === 'completed' ? ended : null,
    processing_started: status === 'pending' ? null : (job.startedAt?.toISOString() ?? null),
    job_name: job.name,
    migration_name: null,
    project_id: job.projectId,
    run_id: job.runId,
    monitor_batch_id: null,
    status,
    retries: 0,
    request_data: job.request,
    error_message: job.error,
    progress_message: job.note,
    steps_completed: job.stepsCompleted,
    steps_total: job.stepsTotal,
    progress_percent: job.progress,
  };
}
