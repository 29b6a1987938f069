import type { Logger } from 'pino';
import type { Domain } from '../shared/assemble.ts';
import type { CodeIsolation } from '../shared/childProcesses/codeIsolation.ts';
import type { Config } from '../shared/config.ts';
import type { Coordination } from '../shared/coordination/coordination.ts';
import { ServiceError } from '../shared/errors.ts';
import type { ExperimentRun } from '../shared/experiments/experiment.ts';
import { RowMemory } from '../shared/experiments/rowMemory.ts';
import { openHeaders } from '../shared/experiments/runnerHeaders.ts';
import { runnerModulePath } from '../shared/experiments/runnerModulePath.ts';
import { runnerThatEnds } from '../shared/experiments/runnerThatEnds.ts';
import type { RowRunner } from '../shared/experiments/runRows.ts';
import { attemptLog, runSummary } from '../shared/stores/clickhouse/experimentRecords.ts';
import type { ActivityDeps } from './activities.ts';
import { assembleScoring } from './assembleScoring.ts';
import { datasetOutputsRunner } from './runners/datasetOutputs.ts';
import { httpRunner } from './runners/httpEndpoint.ts';
import { moduleRunner } from './runners/module.ts';
import { promptTemplateRunner } from './runners/promptTemplate.ts';
import type { WorkerDeps } from './worker.ts';

/** What the activities need, over the domain. @param isolation what runner modules see and who they are */
export function assembleActivities(
  domain: Domain,
  isolation: CodeIsolation,
  config: Pick<Config, 'RUNNERS_DIR' | 'RUNNER_MEMORY_MB' | 'ROW_MEMORY_MB'>,
): WorkerDeps {
  const { log, stores, experiments, integrations, records } = domain;
  const { clickhouse, coordination } = stores;

  const createRunner = async (run: ExperimentRun): Promise<RowRunner> => {
    const { runner } = run;
    switch (runner.kind) {
      case 'prompt_template': {
        const version = await domain.prompts.version(runner.templateVersionId);
        if (!version) throw new ServiceError('NotFound', `prompt version ${runner.templateVersionId} is gone`);
        return promptTemplateRunner(run, version, runner.settings, domain.models);
      }
      case 'dataset_outputs':
        return datasetOutputsRunner;
      case 'module':
        return moduleRunner(run, await runnerModulePath(config.RUNNERS_DIR, runner.name), isolation, config.RUNNER_MEMORY_MB);
      case 'http':
        return httpRunner(
          run,
          runner.url,
          openHeaders(integrations.keyRing, run.experimentId, runner.headers ?? {}),
          integrations.outbound,
          domain.calls,
        );
      case 'caller_function':
        throw new Error("a function in its caller's process is run by the caller");
      default:
        return runner satisfies never;
    }
  };

  const scoring = assembleScoring(domain);

  return {
    ledger: experiments.ledger,
    workflows: domain.workflows,
    coordination,
    rows: experiments.rows,
    rowLog: experiments.rowLog,
    offered: experiments.offered,
    notices: domain.stores.notices,
    rowMemory: new RowMemory(config.ROW_MEMORY_MB * 1024 * 1024),
    settleRecords: experiments.settle,
    log,
    sweeps: records.sweeps,
    jobs: domain.jobs,
    scoring,
    freezeMetrics: async (run) => (await scoring.frozen(run)).metrics,
    attempts: attemptLog(clickhouse, (err) => log.warn({ err }, 'attempts of rows were not noted')),
    createRunner: async (run) => runnerThatEnds(await createRunner(run)),
    publishRunning: runningPublisher(coordination, log),
    countRows: (run) => runSummary(clickhouse, run),
  };
}

/** A word that does not get through is followed by the next. */
const runningPublisher =
  (coordination: Pick<Coordination, 'progress'>, log: Pick<Logger, 'debug'>): ActivityDeps['publishRunning'] =>
  ({ experimentId }, part, rowsRunning) =>
    void coordination.progress
      .publish(experimentId, part, rowsRunning)
      .catch((err: unknown) => log.debug({ err }, 'progress was not shown'));
