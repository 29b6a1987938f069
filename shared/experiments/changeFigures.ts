import { ServiceError } from '../errors/errors.ts';
import type { RunRef } from '../projects/runs.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import type { ExperimentAggregates } from './aggregates.ts';
import { type ExperimentRun, type FigureSettings, isUnderWay } from './experiment.ts';
import { mustSuitFailedRows } from './failedRows.ts';
import type { RunLedger } from './runLedger.ts';

export interface FigureDeps {
  ledger: Pick<RunLedger, 'find' | 'setFigureSettings' | 'setAggregates'>;
  enabledMetrics(run: ExperimentRun): Promise<EnabledMetric[]>;
  sumUp(run: ExperimentRun): Promise<ExperimentAggregates>;
  /** Has the aggregates computed that are noted as outdated: those of a run that goes on, after its end. */
  renew(run: RunRef): void;
}

/**
 * Takes over how the figures of an experiment are made, and computes them anew; while a run goes on its end does that.
 * @throws ServiceError `NotFound`; RequestInvalid where failed rows cannot count as the worst value.
 */
export async function changeFigures(deps: FigureDeps, { projectId, runId }: RunRef, change: FigureSettings): Promise<void> {
  const run = await deps.ledger.find(runId);
  if (run?.projectId !== projectId) throw new ServiceError('NotFound', `no experiment ${runId} in this project`);
  const changed = { ...run, ...change, loggedMetrics: { ...run.loggedMetrics, ...change.loggedMetrics } };
  mustSuitFailedRows(changed.failedRows, await deps.enabledMetrics(run), changed.loggedMetrics);
  await deps.ledger.setFigureSettings(runId, change);
  if (!isUnderWay(run.state)) await deps.ledger.setAggregates(runId, await deps.sumUp(changed));
  deps.renew({ projectId, runId });
}
