import type { ExperimentAggregates } from './aggregates.ts';
import type { ExperimentRun } from './experiment.ts';
import { type SumDeps, sumUp } from './sumUp.ts';

export interface SettleRunDeps extends SumDeps {
  /** Removes spans that an attempt left behind whose trace a later attempt replaced. @returns how many */
  deleteStraySpans(run: ExperimentRun): Promise<number>;
  /** Takes back what is marked to be computed and was not: a run that has ended pays for nothing more. */
  unmark(run: ExperimentRun): Promise<void>;
}

/** The last step of a run: tidies what crashes may have left, then sums up. */
export async function settleRun(deps: SettleRunDeps, run: ExperimentRun): Promise<ExperimentAggregates> {
  await deps.unmark(run);
  // Strays are rare, and only their own scores go with them: the sums begin at once.
  const [strays, sums] = await Promise.all([deps.deleteStraySpans(run), sumUp(deps, run)]);
  return strays > 0 ? sumUp(deps, run) : sums;
}
