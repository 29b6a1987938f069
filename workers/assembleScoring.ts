import type { Domain } from '../shared/assemble.ts';
import { clickhouseRollUpReads } from '../shared/stores/clickhouse/rollUpReads.ts';
import { recordSizes, recordsToScore } from '../shared/stores/clickhouse/scoredRecords.ts';
import { judgeContext } from './judgeContext.ts';
import type { WorkerDeps } from './worker.ts';

/** What the scoring of runs needs, over the domain. */
export function assembleScoring({
  experiments,
  log,
  models,
  scoring,
  stores,
  telemetry,
  workflows,
}: Domain): WorkerDeps['scoring'] {
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
    records: (run, ids, withSpans) => recordsToScore(clickhouse, run, ids, withSpans),
    recordSizes: (run, ids, withSpans) => recordSizes(clickhouse, run, ids, withSpans),
    rollUpReads: clickhouseRollUpReads(clickhouse),
    contextFor: (run, metric, signal, stopping) => judgeContext(models, run, metric, signal, stopping),
    onStored(by, status) {
      if (status !== 'computing' && status !== 'pending' && status !== 'roll_up')
        telemetry.add('assay_scores_total', 1, { by, status });
    },
    aggregate: sumUpAtRest,
    renewAggregates,
  };
}
