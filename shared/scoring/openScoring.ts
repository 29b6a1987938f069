import { MINUTE_MS, type RecurringJob } from '../maintenance/recurringJob.ts';
import type { MarkStore, ScoringStore } from './scoring.ts';
import { createScoringStarter, type ScoringStarter, type StartScoringDeps } from './startScoring.ts';

export interface ScoringDeps extends StartScoringDeps {
  scorings: ScoringStore;
  marks: MarkStore;
}

export interface Scoring extends Pick<ScoringStarter, 'start' | 'written' | 'stop'> {
  scorings: ScoringStore;
  marks: MarkStore;
  jobs: RecurringJob[];
}

/** Scores of log streams, and scores that are computed anew: what is to be done, and its start. */
export function openScoring(deps: ScoringDeps): Scoring {
  const { start, written, stop, reconcile, findUnseen } = createScoringStarter(deps);
  return {
    scorings: deps.scorings,
    marks: deps.marks,
    start,
    written,
    stop,
    jobs: [
      { name: 'start-waiting-scorings', every: MINUTE_MS, atStart: true, run: reconcile },
      { name: 'find-unscored-records', every: 5 * MINUTE_MS, atStart: true, run: findUnseen },
    ],
  };
}
