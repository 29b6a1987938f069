import type { ExperimentRun } from '../experiments/experiment.ts';
import { openChoice, rangesOf } from '../experiments/rerun.ts';
import type { RunRowReader } from '../experiments/rowLog.ts';
import type { RunLedger } from '../experiments/runLedger.ts';
import { versionsOf } from './markRecords.ts';
import type { ScoredRunMetrics } from './runMetrics.ts';
import type { MarkStore } from './scoring.ts';

export interface FreezeRerunDeps {
  rows: Pick<RunRowReader, 'traceIds'>;
  marks: Pick<MarkStore, 'lacking'>;
  metrics: Pick<ScoredRunMetrics, 'frozen'>;
  ledger: Pick<RunLedger, 'freezeChosen'>;
}

/** Rows that are looked at together. */
const ROWS_AT_ONCE = 5_000;

/**
 * Chooses the recorded rows whose values of a metric are in the states that the run was asked for, and freezes which they are: once rows run again,
 * their values are others. Safe to repeat: what is frozen stays.
 */
export async function freezeRerun({ rows, marks, metrics, ledger }: FreezeRerunDeps, run: ExperimentRun): Promise<void> {
  const of = openChoice(run);
  if (!of) return;
  const frozen = await metrics.frozen(run);
  const query = {
    // One that is logged with the rows has no version.
    ...versionsOf(frozen.metrics.filter(({ name }) => name === of.metric)),
    failedBefore: frozen.frozenAt,
    unknownCounts: false,
    states: of.states,
  };
  if (query.metrics.length === 0) query.metrics.push({ name: of.metric, version: '' });
  const chosen: number[] = [];
  for (let from = 0; from < run.rowCount; from += ROWS_AT_ONCE) {
    const traceIds = await rows.traceIds(run, from, Math.min(from + ROWS_AT_ONCE, run.rowCount));
    const found = new Set<string>();
    for await (const { id } of marks.lacking({ projectId: run.projectId, runId: run.experimentId }, { ...query, traceIds }))
      found.add(id);
    for (const [index, id] of traceIds.entries()) if (found.has(id)) chosen.push(from + index);
  }
  await ledger.freezeChosen(run.experimentId, run.workflowNumber, rangesOf(chosen));
}
