import type { RunRef } from '../projects/runs.ts';

export type OfSorts<T> = Record<'traces' | 'spans' | 'sessions', T>;

/** The records of a run at a moment. */
export interface RunState {
  counts: OfSorts<number>;
  /** Canonical times of the newest trace, span and session; null where there is none. */
  newest: Readonly<OfSorts<string | null>>;
}

/** @param before the state that is known: the same object is returned where the run still has the same numbers of records */
export type ReadRunState = (run: RunRef, before: RunState | undefined) => Promise<RunState>;
