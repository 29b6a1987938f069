import type { Domain } from '../../shared/assemble.ts';
import { modelsOfUser, mustHaveJudges } from '../../shared/scorers/judge.ts';
import { scorersOfRun } from '../../shared/scorers/runSettings.ts';
import { scorersSeenBy } from '../../shared/scorers/scorersSeenBy.ts';
import type { ScoringJobDeps } from './scoringJob.ts';

/** Picks the dependencies of requests to score stored records. */
export function scoringJobDeps({ assets, models, projects, records, scorers, scoring }: Domain): ScoringJobDeps {
  const seenBy: ScoringJobDeps['seenBy'] = (caller) => scorersSeenBy(scorers.store, assets, caller);
  return {
    ...{ records: records.reads, findRun: projects.findUnexpiredRun, metrics: scorers.definitions },
    ...{ scorings: scoring.scorings, start: scoring.start, scorers: scorers.store, seenBy },
    async metricsOf(caller, run, scorerIds) {
      const metrics = await scorersOfRun(scorersSeenBy(scorers.store, assets, caller), run.projectId, run.runId, scorerIds);
      const userId = (await scoring.scorings.findRun(run.runId))?.createdBy ?? caller.userId;
      await mustHaveJudges(modelsOfUser(models, userId), metrics, () => scorers.defaultJudge(run.projectId));
      return metrics;
    },
  };
}
