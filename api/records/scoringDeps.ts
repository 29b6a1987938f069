import type { Caller } from '../../shared/accounts/permissions.ts';
import type { Domain } from '../../shared/assemble.ts';
import { modelsOfUser, mustHaveJudges } from '../../shared/scorers/judge.ts';
import { metricsForRun, scorersOfRun } from '../../shared/scorers/runSettings.ts';
import { scorersSeenBy } from '../../shared/scorers/scorersSeenBy.ts';
import type { ScoringJobDeps } from './scoringJob.ts';

/** Picks the dependencies of requests to score stored records. */
export function scoringJobDeps({ assets, models, projects, records, scorers, scoring }: Domain): ScoringJobDeps {
  const seenBy = (caller: Caller) => scorersSeenBy(scorers.store, assets, caller);
  return {
    ...{ records: records.reads, findRun: projects.findUnexpiredRun, metrics: scorers.definitions },
    ...{ scorings: scoring.scorings, start: scoring.start, scorers: scorers.store },
    named: (caller, run, configs) => metricsForRun(seenBy(caller), run.projectId, run.runId, configs),
    async metricsOf(caller, run, scorerIds) {
      const metrics = await scorersOfRun(seenBy(caller), run.projectId, run.runId, scorerIds);
      const userId = (await scoring.scorings.findRun(run.runId))?.createdBy ?? caller.userId;
      await mustHaveJudges(modelsOfUser(models, userId), metrics, () => scorers.defaultJudge(run.projectId));
      return metrics;
    },
  };
}
