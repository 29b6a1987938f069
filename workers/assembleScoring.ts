import type { Domain } from '../shared/assemble.ts';
import type { Config } from '../shared/config/config.ts';
import { readRowValues } from '../shared/scoring/rowValues.ts';
import { clickhouseRollUpReads } from '../shared/stores/clickhouse/reads/rollUpReads.ts';
import { recordSizes, recordsToScore } from '../shared/stores/clickhouse/reads/scoredRecords.ts';
import { judgeContext } from './judgeContext.ts';
import type { WorkerDeps } from './worker.ts';

/** What the scoring of runs needs, over the domain. */
export function assembleScoring(
  { datasets, experiments, log, models, scoring, stores, telemetry, workflows }: Domain,
  config: Pick<Config, 'JUDGE_ASKS_AGAIN' | 'SESSION_IDLE_SECONDS'>,
): WorkerDeps['scoring'] {
  const { clickhouse } = stores;
  const { ledger, rows, sumUpAtRest, renewAggregates } = experiments;
  const { scorings, marking, metrics } = scoring;
  return {
    scorings,
    ledger,
    workflows,
    rows,
    log,
    marking,
    metrics,
    write: marking.write,
    sessionIdleMs: config.SESSION_IDLE_SECONDS * 1_000,
    records: (run, ids, spans) => recordsToScore(clickhouse, run, ids, spans),
    recordSizes: (run, ids, spans) => recordSizes(clickhouse, run, ids, spans),
    rowValues: (run, ordinals) => readRowValues({ find: (id) => ledger.find(id), page: datasets.rowsOfRuns.page }, run, ordinals),
    rollUpReads: clickhouseRollUpReads(clickhouse),
    contextFor: (run, metric, ...signals) => judgeContext(models, run, metric, ...signals, config.JUDGE_ASKS_AGAIN),
    onStored(by, status) {
      if (status !== 'computing' && status !== 'pending' && status !== 'roll_up')
        telemetry.add('assay_scores_total', 1, { by, status });
    },
    aggregate: sumUpAtRest,
    renewAggregates,
  };
}
