import type { z } from 'zod';
import type { ProgressReply } from '../shared/wire/experimentRuns.ts';
import type { Experiment } from './experimentAggregates.ts';
import type { ExperimentComparison } from './experimentComparison.ts';
import type { GateResult } from './gateResult.ts';

/** Rows and scores of a run: how many there are, how many are done. */
export type ExperimentProgress = z.output<typeof ProgressReply>;

/** What `runExperiment` gives when the run has ended, or is left to itself. */
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
