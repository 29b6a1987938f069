import type { Caller, ProjectAction } from '../../shared/accounts/permissions.ts';
import type { Domain } from '../../shared/assemble.ts';
import { FollowedStates } from '../../shared/concurrency/followedStates.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { assetsSeenBy } from '../../shared/experiments/assetsSeenBy.ts';
import { readWatchedProgress } from '../../shared/experiments/followedProgress.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import { promptSeenBy } from '../../shared/prompts/prompts.ts';
import { failureCauses } from '../../shared/stores/clickhouse/reads/failureCauses.ts';
import { postgresExperimentGroups } from '../../shared/stores/postgres/experimentGroups.ts';
import { postgresJobs } from '../../shared/stores/postgres/jobs.ts';
import { postgresRunTags } from '../../shared/stores/postgres/runTags.ts';
import type { CreateJobRequest } from '../../shared/wire/jobs.ts';
import type { Endpoint, Gate } from '../http/route.ts';
import type { Following } from '../http/serverSentEvents.ts';
import { scoringJobDeps } from '../records/scoringDeps.ts';
import { startScoringJob } from '../records/scoringJob.ts';
import { callerRowRoutes } from '../routes/callerRows.ts';
import { comparisonRoutes } from '../routes/comparisons.ts';
import { experimentEstimateRoutes } from '../routes/experimentEstimate.ts';
import { experimentGateRoutes } from '../routes/experimentGate.ts';
import { experimentGroupRoutes } from '../routes/experimentGroups.ts';
import { experimentRunRoutes } from '../routes/experimentRuns.ts';
import { experimentRoutes } from '../routes/experiments.ts';
import { experimentTagRoutes } from '../routes/experimentTags.ts';
import { jobRoutes } from '../routes/jobs.ts';
import { type TemporalPagesPlace, workflowLink } from '../temporalPages/workflowLink.ts';

/** Experiments, their groups, tags and jobs, and their runs. */
export function experimentEndpoints(
  domain: Domain,
  gate: Gate,
  around: Following & { temporal: TemporalPagesPlace },
): Endpoint[] {
  const { assets, datasets, experimentStore, experiments, projects, prompts, scorers, scoring, stores } = domain;
  const { database, clickhouse } = stores;
  const { ledger, rows, rowLog, offered, notices, workflows, request, control, progress, figuresSoFar } = experiments;
  const find = ledger.find.bind(ledger);
  const deps = {
    experiments: experimentStore,
    groups: postgresExperimentGroups(database),
    tags: postgresRunTags(database),
    jobs: postgresJobs(database),
    scorings: scoring.scorings,
    scorers: scorers.store,
    datasets: datasets.deps.datasets,
    assets,
    requestRun: request,
    newId,
    progressOf: experiments.progressOf,
    countRecords: projects.runCounts,
    ratingsOfRuns: domain.annotations.ratingsOfRuns,
    findScorers: scorers.store.findEver,
    cancelRun: experiments.endRun,
    deleteRun: projects.deleteRun,
    metricColumns: scorers.metricColumns,
    metricBuckets: experiments.metricBuckets,
    changeFigures: experiments.changeFigures,
    authorizeProject: (caller: Caller, action: ProjectAction | 'read', projectId: string) =>
      gate.authorize(caller, { project: action }, projectId),
    startScoring: (caller: Caller, body: CreateJobRequest) => startScoringJob(scoringJobDeps(domain), caller, body),
    linkTo: (projectId: string, experimentId: string) => `/console/p/${projectId}/experiments/${experimentId}`,
  };
  const failuresOf = (run: RunRef) => failureCauses(clickhouse, run);
  const live = new FollowedStates({
    streams: around.streams,
    nameOf: ({ projectId, runId }: RunRef) => `${projectId} ${runId}`,
    read: readWatchedProgress({ find, progress, figuresSoFar, failureCauses: failuresOf, now: () => performance.now() }),
    log: domain.log,
  });
  const mayUpdate = (caller: Caller, projectId: string): Promise<boolean> =>
    gate.authorize(caller, { project: 'update' }, projectId).then(
      () => true,
      (err: unknown) => {
        if (err instanceof ServiceError && err.code === 'Forbidden') return false;
        throw err;
      },
    );
  const mustSeePrompt = async (caller: Caller, versionId: string) =>
    void (await promptSeenBy(prompts, assets, caller, versionId));
  const callers = { rows, log: rowLog, offered, notices, find, signal: workflows.signal, workflowProgress: workflows.progress };
  return [
    ...experimentRoutes(deps),
    ...experimentEstimateRoutes({
      seenBy: (caller) => assetsSeenBy(deps, assets, caller),
      estimate: experiments.estimate,
      mustSeePrompt,
    }),
    ...comparisonRoutes(domain.comparisons),
    ...experimentGateRoutes({ gate: domain.gateExperiment, experiments: experimentStore, mayUpdate }),
    ...experimentGroupRoutes(deps),
    ...experimentTagRoutes(deps),
    ...jobRoutes(deps),
    ...experimentRunRoutes({
      find,
      mustSeePrompt,
      request,
      control,
      caller: callers,
      progress,
      figuresSoFar,
      failureCauses: failuresOf,
      metricsOf: scorers.scoredMetrics,
      workflowLink: (workflowId) => workflowLink(around.temporal, workflowId),
      ...{ live, gate, stopping: around.stopping },
    }),
    ...callerRowRoutes(callers),
  ];
}
