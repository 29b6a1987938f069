import { z } from 'zod';

const most = (max: number) => z.number().int().min(1).max(max).nullish();

/** Limits of the calls to one provider, over all workers. An absent or null limit does not hold. */
export const CallLimitsBody = z
  .strictObject({
    concurrency: most(10_000).describe('Calls in flight.'),
    requests_per_minute: most(10_000_000),
    tokens_per_minute: most(1_000_000_000).describe('Input and output; reserved by estimate, corrected by what was used.'),
  })
  .meta({ id: 'CallLimits' });
export type CallLimitsBody = z.output<typeof CallLimitsBody>;
