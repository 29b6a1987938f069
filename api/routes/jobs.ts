import type { Caller, ProjectAction } from '../../shared/accounts/permissions.ts';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import { assetsSeenBy } from '../../shared/experiments/assetsSeenBy.ts';
import { createJob, findJob, type JobDeps, type JobView, type JobViewDeps, jobsOfRun } from '../../shared/experiments/jobs.ts';
import {
  CreateJobRequest,
  CreateJobResponse,
  JobList,
  JobParams,
  JobResponse,
  JobsQuery,
  RunParams,
} from '../../shared/wire/jobs.ts';
import { type Endpoint, endpoint } from '../route.ts';

export interface JobRouteDeps extends JobDeps, JobViewDeps {
  experiments: JobDeps['experiments'];
  jobs: JobDeps['jobs'];
  assets: AssetAccess;
  /** @throws ServiceError `Forbidden`, or `NotFound` for a project that is unknown or not visible to the caller. */
  authorizeProject(caller: Caller, action: ProjectAction | 'read', projectId: string): Promise<unknown>;
  /** Where a person sees an experiment. */
  linkTo(projectId: string, experimentId: string): string;
}

const tag = 'Jobs';

/** The runs of experiments as jobs: the form in which one client starts and follows them. */
export function jobRoutes(deps: JobRouteDeps): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: '/jobs',
      errors: ['NotFound', 'Conflict'],
      summary: 'Start the run of an experiment',
      description:
        'Takes `job_name` `playground_run`. Sets dataset, template, settings and metrics on the experiment where they are given, and starts the same ' +
        'run as creating an experiment with `trigger`. Asked again while the run goes on, it gives the job of that run.',
      tag,
      access: 'signedIn',
      body: CreateJobRequest,
      response: CreateJobResponse,
      handle: async ({ body, caller }) => {
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
