import { z } from 'zod';

export const MetricDirection = z
  .enum(['higher', 'lower'])
  .describe('Which of two numbers is better.')
  .meta({ id: 'MetricDirection' });
export const MetricRange = z
  .object({ min: z.number(), max: z.number() })
  .refine(({ min, max }) => min < max, { path: ['max'], error: 'must be above min' })
  .describe('The numbers between which the values lie, both included.')
  .meta({ id: 'MetricRange' });

/** The meaning of a metric's numbers; a boolean counts as 0 or 1. Null where no number is better, or there are no such limits. */
export interface MetricScale {
  direction: z.output<typeof MetricDirection> | null;
  range: z.output<typeof MetricRange> | null;
}

/** Shares, and booleans, which count as 0 and 1. */
export const UNIT_RANGE = { min: 0, max: 1 } as const;

/** Scale of a metric of which nothing is known, or whose values are no numbers. */
export const noScale: MetricScale = { direction: null, range: null };
