import type { Domain } from '../shared/assemble.ts';
import type { CodeIsolation } from '../shared/childProcesses/codeIsolation.ts';
import type { Config } from '../shared/config/config.ts';
import { RowMemory } from '../shared/experiments/rowMemory.ts';
import { freezeRerun } from '../shared/scoring/freezeRerun.ts';
import { attemptLog, runSummary } from '../shared/stores/clickhouse/writes/experimentRecords.ts';
import { assembleScoring } from './assembleScoring.ts';
import { createRunner } from './runners/createRunner.ts';
import type { WorkerDeps } from './worker.ts';

/** Assembles the dependencies of the activities from the domain. @param isolation user and files of runner modules */
export function assembleActivities(
  domain: Domain,
  isolation: CodeIsolation,
  config: Pick<Config, 'JUDGE_ASKS_AGAIN' | 'RUNNERS_DIR' | 'RUNNER_MEMORY_MB' | 'ROW_MEMORY_MB' | 'SESSION_IDLE_SECONDS'>,
): WorkerDeps {
  const { log, stores, experiments, records, jobs, workflows } = domain;
  const { clickhouse, coordination, notices } = stores;
  const { ledger, rows, rowLog, offered, publishRunning } = experiments;
  const scoring = assembleScoring(domain, config);
  return {
    ledger,
    workflows,
    coordination,
    rows,
    rowLog,
    offered,
    notices,
    publishRunning,
    jobs,
    scoring,
    extensions: domain.extensions,
    log,
    rowMemory: new RowMemory(config.ROW_MEMORY_MB * 1024 * 1024),
    settleRecords: experiments.settle,
    sweeps: records.sweeps,
    freezeMetrics: async (run) => (await scoring.metrics.frozen(run)).metrics,
    freezeRerun: (run) => freezeRerun({ rows, ledger, marks: scoring.marking.marks, metrics: scoring.metrics }, run),
    attempts: attemptLog(clickhouse, (err) => log.warn({ err }, 'attempts of rows were not noted')),
    createRunner: createRunner({ ...domain, metrics: scoring.metrics, isolation, settings: config }),
    countRows: (run) => runSummary(clickhouse, run),
  };
}
