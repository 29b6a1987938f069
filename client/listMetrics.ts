import type { z } from 'zod';
import type { ScorerResponse } from '../shared/wire/scorers.ts';
import { type Pages, pagesOf } from './pages.ts';
import { type CallOptions, clientOf } from './project.ts';

/** A metric that the service computes: built in, or one of yours. */
export type Metric = z.output<typeof ScorerResponse>;

/** The metrics that experiments and log streams can have computed. */
export const listMetrics = (options: CallOptions = {}): Pages<Metric> =>
  pagesOf(clientOf(options), '/scorers/list', 'scorers', { filters: [] });
