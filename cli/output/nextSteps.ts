import type { ExperimentResponse } from '../../client/index.ts';

/** Names the commands for a run that a person stops watching. */
export function nextSteps({ id, project_id }: Pick<ExperimentResponse, 'id' | 'project_id'>): string {
  const named = `${id} --project-id ${project_id}`;
  return `Watch it: assay watch ${named}   Cancel it: assay cancel ${named}`;
}
