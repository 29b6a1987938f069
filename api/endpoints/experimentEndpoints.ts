import type { Caller, ProjectAction } from '../../shared/accounts/permissions.ts';
import type { Domain } from '../../shared/assemble.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { promptSeenBy } from '../../shared/prompts/prompts.ts';
import { postgresExperimentGroups } from '../../shared/stores/postgres/experimentGroups.ts';
import { postgresJobs } from '../../shared/stores/postgres/jobs.ts';
import { postgresRunTags } from '../../shared/stores/postgres/runTags.ts';
import type { Endpoint, Gate } from '../route.ts';
import { comparisonRoutes } from '../routes/comparisons.ts';
import { experimentGateRoutes } from '../routes/experimentGate.ts';
import { experimentGroupRoutes } from '../routes/experimentGroups.ts';
import { experimentRunRoutes } from '../routes/experimentRuns.ts';
import { experimentRoutes } from '../routes/experiments.ts';
import { experimentTagRoutes } from '../routes/experimentTags.ts';
import { jobRoutes } from '../routes/jobs.ts';

/** Experiments, their groups, tags and jobs, and their runs. */
export function experimentEndpoints(domain: Domain, gate: Gate): Endpoint[] {
  const { assets, datasets, experimentStore, experiments, projects, prompts, scorers, scoring, stores } = domain;
  const { database } = stores;
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
    linkTo: (projectId: string, experimentId: string) => `/projects/${projectId}/experiments/${experimentId}`,
  };
  const mayUpdate = (caller: Caller, projectId: string): Promise<boolean> =>
    gate.authorize(caller, { project: 'update' }, projectId).then(
      () => true,
      (err: unknown) => {
        if (err instanceof ServiceError && err.code === 'Forbidden') return false;
        throw err;
      },
    );
  return [
    ...experimentRoutes(deps),
    ...comparisonRoutes(domain.comparisons),
    ...experimentGateRoutes({ gate: domain.gateExperiment, experiments: experimentStore, mayUpdate }),
    ...experimentGroupRoutes(deps),
    ...experimentTagRoutes(deps),
    ...jobRoutes(deps),
    ...experimentRunRoutes({
      find,
      mustSeePrompt: async (caller, versionId) => void (await promptSeenBy(prompts, assets, caller, versionId)),
      request,
      control,
      caller: { rows, log: rowLog, offered, notices, find, signal: workflows.signal, workflowProgress: workflows.progress },
      progress,
      figuresSoFar,
    }),
  ];
}
