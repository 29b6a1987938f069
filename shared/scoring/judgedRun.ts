import { defaultRunSettings, type ExperimentRun, jobIdOf, type RunSettings } from '../experiments/experiment.ts';
import type { ScoredRun } from './scoring.ts';

/** For whom a judge is asked, and how often when it does not answer. */
export interface JudgedRun {
  projectId: string;
  runId: string;
  userId: string;
  jobId: string;
  /** The run's own model. */
  modelAlias: string | null;
  maxCallAttempts: number;
  limits: RunSettings['limits'];
}

export function judgedExperiment(run: ExperimentRun): JudgedRun {
  const ofRun = run.runner.kind === 'prompt_template' ? run.runner.settings.model_alias : undefined;
  return {
    projectId: run.projectId,
    runId: run.experimentId,
    userId: run.createdBy,
    jobId: jobIdOf(run),
    modelAlias: typeof ofRun === 'string' ? ofRun : null,
    maxCallAttempts: run.settings.maxCallAttempts,
    limits: run.settings.limits,
  };
}

/** A log stream, or a run whose experiment is not known. */
export const judgedLogs = ({ projectId, runId, createdBy }: ScoredRun): JudgedRun => ({
  projectId,
  runId,
  userId: createdBy,
  jobId: `scoring/${runId}`,
  modelAlias: null,
  maxCallAttempts: defaultRunSettings.maxCallAttempts,
  limits: undefined,
});
