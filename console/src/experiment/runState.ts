import type { LiveProgress } from '../data/experiment.ts';

export type RunState = LiveProgress['state'];

export const hasEnded = (state: RunState): boolean => state === 'completed' || state === 'failed' || state === 'cancelled';

/** Says whether the run goes on, or is about to. */
export const isUnderWay = (state: RunState): boolean => state !== 'idle' && !hasEnded(state);

const words: Record<RunState, string> = {
  idle: 'no run',
  requested: 'starting',
  running: 'running',
  paused: 'paused',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

export const stateText = (state: RunState): string => words[state];
