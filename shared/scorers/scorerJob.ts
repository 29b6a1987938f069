import { SCORER_JOB } from '../wire/jobs.ts';
import type { ScorerConfig } from '../wire/scorers.ts';

/** Returns what the job of one scorer says about itself: clients read the scorer's name from it. */
export const scorerJobRequest = (projectId: string, runId: string, config: ScorerConfig): Record<string, unknown> => ({
  job_name: SCORER_JOB,
  project_id: projectId,
  run_id: runId,
  scorer_config: config,
});
