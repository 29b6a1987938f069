import { Context } from '@temporalio/activity';
import { beating } from './activities.ts';

export interface SweepActivityDeps {
  /** Projects with a retention, in order, those behind `after`. */
  projects(after: string | undefined, limit: number): Promise<string[]>;
  sweep(projectId: string, signal: AbortSignal): Promise<number>;
}

/** Creates the activities of the sweep of expired records. */
export function createSweepActivities(deps: SweepActivityDeps) {
  return {
    projectsToSweep: ({ after, limit }: { after?: string; limit: number }): Promise<string[]> =>
      beating(() => deps.projects(after, limit)),

    /** Deletes what has expired in a project; a second run goes on where the first was cut off. @returns how many records went */
    sweepProject: ({ projectId }: { projectId: string }): Promise<number> =>
      beating(() => deps.sweep(projectId, Context.current().cancellationSignal)),
  };
}
export type SweepActivities = ReturnType<typeof createSweepActivities>;
