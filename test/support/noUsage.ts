import type { RunUsage } from '../../shared/experiments/runUsage.ts';

const none = { inputTokens: null, outputTokens: null, totalTokens: null, cost: null, withoutCost: 0 };

/** The usage of a run whose calls do not matter. */
export const noUsage: RunUsage = { run: none, judges: { ...none, scores: 0 } };
