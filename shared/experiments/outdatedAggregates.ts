import type { RunRef } from '../projects/runs.ts';
import type { ExperimentAggregates } from './aggregates.ts';

/** Experiments whose stored aggregates may lack what clients have written, in the metadata store. Writes note them before they begin. */
export interface OutdatedAggregates {
  /** Notes that values were written. Nothing happens where there is no such experiment. */
  note(run: RunRef): Promise<void>;
  /**
   * Makes the aggregates of an experiment the caller's to compute.
   * @returns the claim; `later` while somebody else has it or it rests, `running` while a run of it goes on, whose end computes them; `gone` where
   * there is no such experiment
   */
  claim(run: RunRef): Promise<{ claim: string } | 'later' | 'running' | 'gone'>;
  /**
   * Stores what was computed and gives the claim back.
   * @param restMs milliseconds before which no process computes them again
   * @returns false, and nothing is stored, when the claim was lost or a run has begun since
   */
  store(run: RunRef, claim: string, computed: ComputedAggregates, restMs: number): Promise<boolean>;
  /** Gives the claim back without a result. */
  release(run: RunRef, claim: string, restMs: number): Promise<void>;
  /**
   * Those of which no run goes on and that were noted before any write that may be under way, which are no longer noted once they are computed;
   * with `fresh` all that are noted. What is left of deleted experiments is removed.
   */
  left(fresh: boolean): Promise<RunRef[]>;
  /** Takes every claim back: for the start of the only process, whose predecessor has died. */
  freeAll(): Promise<void>;
}

export interface ComputedAggregates {
  aggregates: ExperimentAggregates;
  /** The newest workflow of the experiment before they were computed. */
  workflowNumber: number;
}
