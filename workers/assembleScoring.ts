import type { Domain } from '../shared/assemble.ts';
import type { Config } from '../shared/config/config.ts';
import { readRowValues } from '../shared/scoring/rowValues.ts';
import { clickhouseRollUpReads } from '../shared/stores/clickhouse/reads/rollUpReads.ts';
import { recordSizes, recordsToScore } from '../shared/stores/clickhouse/reads/scoredRecords.ts';
import type { WorkerDeps } from './worker.ts';

/** Assembles the dependencies of scoring from the domain. */
export function assembleScoring(
  { datasets, experiments, log, records, scoring, stores, telemetry, workflows }: Domain,
  config: Pick<Config, 'SESSION_IDLE_SECONDS'>,
): WorkerDeps['scoring'] {
  const { clickhouse } = stores;
  const { ledger, sumUpAtRest, renewAggregates } = experiments;
  const { scorings, marking, metrics } = scoring;
  return {
    scorings,
    ledger,
    workflows,
    log,
    marking,
    metrics,
    write: marking.write,
    sessionIdleMs: config.SESSION_IDLE_SECONDS * 1_000,
    records: (run, ids, spans) => recordsToScore({ clickhouse, files: records.reads }, run, ids, spans),
    recordSizes: (run, ids, spans) => recordSizes(clickhouse, run, ids, spans),
    rowValues: (run, ordinals) => readRowValues({ find: (id) => ledger.find(id), page: datasets.rowsOfRuns.page }, run, ordinals),
    rollUpReads: clickhouseRollUpReads(clickhouse),
    contextFor: scoring.contextFor,
    onStored(by, status) {
      if (status !== 'computing' && status !== 'pending' && status !== 'roll_up')
        telemetry.add('assay_scores_total', 1, { by, status });
    },
    aggregate: sumUpAtRest,
    renewAggregates,
  };
}
