import type { z } from 'zod';
import type { CompareReply } from '../shared/wire/comparisons.ts';
import type { GateReply } from '../shared/wire/experimentGate.ts';
import type { ProgressReply } from '../shared/wire/experimentRuns.ts';
import type { Experiment } from './experimentAggregates.ts';

/** Rows and scores of a run: how many there are, how many are done. */
export type ExperimentProgress = z.output<typeof ProgressReply>;

/** Experiments beside a baseline, as the service gives it: keys in snake_case, one entry of `comparisons` for each experiment and metric. */
export type ExperimentComparison = z.output<typeof CompareReply>;

/** As the service gives it. `undecided`: the rows do not decide it. */
export type GateResult = z.output<typeof GateReply>;

/** The result of `runExperiment` when the run has ended, or goes on without the caller. */
export interface ExperimentRunResults {
  /** As the service gives it, with keys in snake_case; in `aggregates` the figures of each metric and how many rows they are of. */
  experiment: Experiment;
  progress: ExperimentProgress;
  /** One line for people. */
  message: string;
  /** Where the results are shown. */
  link: string;
  /** With `baseline`: whether it is better than that one. */
  comparison?: ExperimentComparison | undefined;
  /** With `gate`: whether it keeps its limits. */
  gate?: GateResult | undefined;
  /** True when an unfinished experiment was gone on with. */
  resumed: boolean;
}
