import { isDeepStrictEqual } from 'node:util';
import { type InvalidItem, RequestInvalid, ServiceError } from '../errors/errors.ts';
import { chosenDataset, type DatasetLookup, mustHaveTemplate } from '../experiments/create.ts';
import { type ExperimentRun, hasEnded, type RunState } from '../experiments/experiment.ts';
import type { DatasetVersionRef, Experiment, ExperimentStore, Job, JobStore } from '../experiments/experimentStore.ts';
import { type LaunchDeps, launch } from '../experiments/launch.ts';
import type { DefinedPrompt, RunRequest } from '../experiments/prepareRun.ts';
import type { ProgressOf } from '../experiments/response.ts';
import { parseJson } from '../json/parseJson.ts';
import type { RunCounts } from '../projects/runs.ts';
import { metricsForRun } from '../scorers/runSettings.ts';
import type { ScoringState, ScoringStatus, ScoringStore } from '../scoring/scoring.ts';
import { type CreateJobRequest, type jobStatuses, otherJobs, SCORER_JOB, startableJobs } from '../wire/jobs.ts';

export interface JobDeps extends LaunchDeps {
  experiments: ExperimentStore;
  datasets: DatasetLookup;
  countRecords: RunCounts;
}

/**
 * Starts the run of an experiment that is made from what the request gives, in one step: a request that is refused, or that comes beside another one,
 * changes nothing. A run that goes on is given back as it is: what it is made from is frozen.
 * @throws RequestInvalid for an unknown metric, and for a choice of traces, which is none of rows; ServiceError `NotFound` for an unknown experiment, dataset
 * or template, `Conflict` when rows that an ended run recorded would be shown under another definition; what `requestRun` refuses.
 */
export async function createJob(
  deps: JobDeps,
  request: CreateJobRequest,
): Promise<{ experiment: Experiment; jobId: string; run: ExperimentRun; started: boolean }> {
  const { project_id: projectId, run_id: id } = request;
  mustNameNoTraces(request);
  const experiment = await mustFind(deps, projectId, id);
  const idle = experiment.state === 'idle' || hasEnded(experiment.state);
  const { change, prompt } = idle ? await changeOf(deps, experiment, request) : { prompt: experiment };
  const launched = await launch(deps, { id, projectId, ...prompt }, request, {
    after: experiment.workflowNumber,
    ...(change ? { change } : {}),
  });
  if (launched.started && change?.dataset) await deps.datasets.link(change.dataset.id, projectId);
  return { experiment: await mustFind(deps, projectId, id), ...launched };
}

/** Returns what the request changes of the experiment, and the prompt that the experiment has then. */
async function changeOf(
  deps: JobDeps,
  experiment: Experiment,
  request: CreateJobRequest,
): Promise<{ change: NonNullable<RunRequest['change']>; prompt: DefinedPrompt }> {
  const { id, projectId } = experiment;
  const versionId = request.prompt_template_version_id ?? undefined;
  const promptSettings = request.prompt_settings ?? undefined;
  const metrics = request.scorers ? await metricsForRun(deps.scorers, projectId, id, request.scorers) : undefined;
  const template = versionId === undefined ? undefined : await mustHaveTemplate(deps.experiments, versionId);
  const dataset = await datasetOf(deps, experiment, request);
  await mustFitRecords(deps, experiment, request, dataset);
  const taskType = request.task_type === 16 || request.task_type === 17 ? request.task_type : undefined;
  return {
    change: {
      ...{ taskType, dataset, promptTemplateVersionId: versionId, promptSettings, metrics },
      ...(request.segment_filters ? { segmentFilters: request.segment_filters } : {}),
    },
    prompt: {
      prompt:
        versionId !== undefined && template ? { templateVersionId: versionId, settings: template.settings } : experiment.prompt,
      promptSettings: promptSettings ?? experiment.promptSettings,
    },
  };
}

/**
 * Rows that are recorded are not run again, so a run of another definition would show its prompt over outputs that it did not make, or mix the
 * rows of two datasets.
 * @throws ServiceError `Conflict`
 */
async function mustFitRecords(
  deps: JobDeps,
  experiment: Experiment,
  request: CreateJobRequest,
  dataset: DatasetVersionRef | undefined,
): Promise<void> {
  if (!hasEnded(experiment.state)) return;
  const changes = changesOf(experiment, request, dataset);
  if (changes.length === 0) return;
  const counts = await deps.countRecords(experiment.projectId, [experiment.id]);
  const rows = counts.get(experiment.id)?.traces ?? 0;
  // The list of chosen rows is one of the dataset's.
  if (experiment.selectedRows && changes.includes('dataset'))
    throw new ServiceError(
      'Conflict',
      `the rows of the experiment ${JSON.stringify(experiment.name)} are chosen from another dataset: make a new experiment`,
    );
  if (rows > 0)
    throw new ServiceError(
      'Conflict',
      `the experiment ${JSON.stringify(experiment.name)} has ${rows} rows recorded with another ${changes.join(' and ')}: make a new experiment`,
    );
}

/** Returns what of the definition the request would change; `settings` are compared as JSON, in which they are stored. */
function changesOf(experiment: Experiment, request: CreateJobRequest, dataset: DatasetVersionRef | undefined): string[] {
  const { prompt } = experiment;
  const templateId = request.prompt_template_version_id ?? prompt?.templateVersionId;
  const settings = experiment.promptSettings ?? prompt?.settings;
  const changes: string[] = [];
  if (dataset && (dataset.id !== experiment.dataset?.id || dataset.versionIndex !== experiment.dataset.versionIndex))
    changes.push('dataset');
  if (templateId !== prompt?.templateVersionId) changes.push('prompt template');
  if (prompt && request.prompt_settings && !isDeepStrictEqual(asStored(request.prompt_settings), settings))
    changes.push('settings');
  return changes;
}

const asStored = (value: unknown): unknown => parseJson(JSON.stringify(value));

/** The version is the experiment's own where it has this dataset, else the current one. */
async function datasetOf(deps: JobDeps, experiment: Experiment, request: CreateJobRequest) {
  if (!request.dataset_id) return undefined;
  const versionIndex =
    request.dataset_version_index ??
    (experiment.dataset?.id === request.dataset_id ? experiment.dataset.versionIndex : undefined);
  return chosenDataset(deps.datasets, request.dataset_id, versionIndex);
}

/** @throws RequestInvalid for a job that is not run here */
export function mustBeStartable({ job_name }: Pick<CreateJobRequest, 'job_name'>): void {
  if (startableJobs.includes(job_name)) return;
  const instead = Object.hasOwn(otherJobs, job_name) ? otherJobs[job_name] : undefined;
  const item: InvalidItem = {
    loc: ['body', 'job_name'],
    msg:
      instead === undefined
        ? `there is no such job; those that can be started: ${startableJobs.join(', ')}`
        : `this job is not run here: ${instead}`,
    type: 'enum',
    input: job_name,
  };
  throw new RequestInvalid([item]);
}

/** A run of an experiment makes traces: it has none to choose from. */
function mustNameNoTraces({ trace_ids, is_session }: CreateJobRequest): void {
  const key = trace_ids.length > 0 ? 'trace_ids' : is_session ? 'is_session' : undefined;
  if (key === undefined) return;
  const msg = `a playground_run runs rows of a dataset: ${key} is for ${SCORER_JOB}, which scores what is stored`;
  throw new RequestInvalid([{ loc: ['body', key], msg, type: 'value_error' }]);
}

async function mustFind(deps: JobDeps, projectId: string, experimentId: string): Promise<Experiment> {
  const experiment = await deps.experiments.find(projectId, experimentId);
  if (!experiment) throw new ServiceError('RunNotFound', `no experiment with the id ${experimentId} in this project`);
  return experiment;
}

type JobStatus = (typeof jobStatuses)[number];

/** How what a job follows stands. */
interface JobProgress {
  status: JobStatus;
  note: string | null;
  error: string | null;
  startedAt: Date | null;
  endedAt: Date | null;
  /** 0 to 1. */
  progress: number;
  stepsCompleted: number;
  stepsTotal: number;
}

/** A job with how its run or its scoring stands. One of an earlier start shows the run as it stands now, since that goes on with the same rows. */
export interface JobView extends Job, JobProgress {}

export interface JobViewDeps {
  experiments: Pick<ExperimentStore, 'find'>;
  jobs: JobStore;
  scorings: Pick<ScoringStore, 'find' | 'findRun'>;
  progressOf: ProgressOf;
}

/** @throws ServiceError `NotFound` */
export async function findJob(deps: JobViewDeps, jobId: string): Promise<JobView> {
  const job = await deps.jobs.find(jobId);
  const [view] = job ? await views(deps, job.projectId, job.runId, [job]) : [];
  if (!view) throw new ServiceError('NotFound', `no job ${jobId}`);
  return view;
}

/**
 * The jobs of a run, newest first, those with a status where one is given.
 * @throws ServiceError `RunNotFound` when the project has no such run.
 */
export async function jobsOfRun(deps: JobViewDeps, projectId: string, runId: string, status?: string): Promise<JobView[]> {
  if ((await deps.scorings.findRun(runId))?.projectId !== projectId)
    throw new ServiceError('RunNotFound', `no run with the id ${runId} in this project`);
  const all = await views(deps, projectId, runId, await deps.jobs.ofRun(projectId, runId));
  return status === undefined ? all : all.filter((job) => job.status === status);
}

const statusOf: Record<RunState, JobStatus> = {
  idle: 'pending',
  requested: 'pending',
  running: 'processing',
  paused: 'processing',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

const scoringStatusOf: Record<ScoringState, JobStatus> = {
  requested: 'pending',
  running: 'processing',
  completed: 'completed',
  failed: 'failed',
};

/** The jobs of one run with how they stand; one whose run or scoring was deleted meanwhile is left out. */
async function views(deps: JobViewDeps, projectId: string, runId: string, jobs: readonly Job[]): Promise<JobView[]> {
  const scoringIds = new Set(jobs.flatMap(({ scoringId }) => scoringId ?? []));
  const ofScorings = new Map(
    await Promise.all([...scoringIds].map(async (id) => [id, progressOfScoring(await deps.scorings.find(id))] as const)),
  );
  const ofRun = jobs.some(({ scoringId }) => scoringId === null)
    ? await progressOfExperiment(deps, await deps.experiments.find(projectId, runId))
    : undefined;
  return jobs.flatMap((job) => {
    const progress = job.scoringId === null ? ofRun : ofScorings.get(job.scoringId);
    return progress ? [{ ...job, ...progress }] : [];
  });
}

async function progressOfExperiment(deps: JobViewDeps, experiment: Experiment | undefined): Promise<JobProgress | undefined> {
  if (!experiment) return undefined;
  const progress = (await deps.progressOf([experiment])).get(experiment.id) ?? 0;
  const { state, error, startedAt, endedAt } = experiment;
  const stepsTotal = experiment.rowCount ?? 0;
  return {
    status: statusOf[state],
    note: state === 'paused' ? 'paused' : null,
    error,
    startedAt,
    endedAt,
    progress,
    stepsTotal,
    stepsCompleted: Math.floor(progress * stepsTotal),
  };
}

function progressOfScoring(scoring: ScoringStatus | undefined): JobProgress | undefined {
  if (!scoring) return undefined;
  const { state, total, done, error, startedAt, endedAt } = scoring;
  return {
    status: scoringStatusOf[state],
    note: state === 'running' ? `${done} of ${total} values computed` : null,
    error,
    startedAt,
    endedAt,
    progress: state === 'completed' ? 1 : total > 0 ? done / total : 0,
    stepsCompleted: done,
    stepsTotal: total,
  };
}
