import { RequestInvalid } from '../errors/errors.ts';
import type { ExperimentRun } from './experiment.ts';

/** Rows times trials: an ordinal is kept in 32 bits, and every execution is a trace. */
const MAX_EXECUTIONS = 10_000_000;

/**
 * How often each row of a run is executed: as asked, else as before. Trials can be added later, and are never taken away: what they recorded is there.
 * @throws RequestInvalid
 */
export function chosenTrials(
  run: Pick<ExperimentRun, 'trials' | 'workflowNumber'>,
  asked: number | undefined,
  { rows, addsTrials }: { rows: number; addsTrials: boolean },
): number {
  const trials = asked ?? run.trials;
  const before = run.workflowNumber > 0 ? run.trials : 0;
  if (trials < before) throw invalid(`the experiment has ${before} trials already; there can only be more of them`, trials);
  if (before > 0 && trials > before && !addsTrials)
    throw invalid('further trials are run: they go with rows_to_run missing or failed alone', trials);
  if (rows * trials > MAX_EXECUTIONS)
    throw invalid(`${rows} rows times ${trials} trials are more than ${MAX_EXECUTIONS} executions`, trials);
  return trials;
}

const invalid = (msg: string, input: number): RequestInvalid =>
  new RequestInvalid([{ loc: ['body', 'trials'], msg, type: 'trials', input }]);
