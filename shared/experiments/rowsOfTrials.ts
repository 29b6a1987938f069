import type { RowReader } from '../datasets/rowsOfRun.ts';
import type { ExperimentRun } from './experiment.ts';
import type { RunRowReader } from './rowLog.ts';
import { rowTraceId } from './rowTrace.ts';
import type { RunLedger } from './runLedger.ts';

/**
 * The rows of a source, once for each trial. All rows of a trial come before those of the next, so that an ordinal stays what it is when further trials
 * are added, and a run that is stopped half-way has few trials of all rows rather than all trials of few.
 */
export const rowsOfTrials = (source: RowReader, ledger: Pick<RunLedger, 'chosenIn'>): RunRowReader => ({
  chosen: (run, from, to) => ledger.chosenIn(run.experimentId, from, to),
  async page(run, from, to) {
    const { trial, first, rows } = partOf(run, from, to);
    const page = await source.page(run, first, first + rows);
    return page.map((row, index) => ({ ...row, sourceOrdinal: row.ordinal, ordinal: from + index, trial }));
  },
  async traceIds(run, from, to) {
    const traceIds: string[] = [];
    for (let at = from; at < to; ) {
      const { trial, first, rows } = partOf(run, at, to);
      if (rows === 0) break;
      for (const rowId of await source.ids(run, first, first + rows)) traceIds.push(rowTraceId(run.experimentId, rowId, trial));
      at += rows;
    }
    return traceIds;
  },
});

/** Returns the part of [from, to) that belongs to one trial: the first one's rows from `first` on. */
function partOf({ rowCount, trials }: Pick<ExperimentRun, 'rowCount' | 'trials'>, from: number, to: number) {
  const rowsOfTrial = rowCount / trials;
  if (from >= rowCount) return { trial: 0, first: 0, rows: 0 };
  const trial = Math.floor(from / rowsOfTrial);
  return { trial, first: from - trial * rowsOfTrial, rows: Math.min(to, (trial + 1) * rowsOfTrial) - from };
}
