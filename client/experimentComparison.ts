import type { z } from 'zod';
import type { CompareReply } from '../shared/wire/comparisons.ts';

/** Experiments beside a baseline, as the service gives it: keys in snake_case, one entry of `comparisons` for each experiment and metric. */
export type ExperimentComparison = z.output<typeof CompareReply>;
