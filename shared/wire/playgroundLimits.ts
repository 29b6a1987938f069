import { z } from 'zod';

const MostCalls = z.int().min(1).max(1_000).nullable();
const MostCost = z.number().positive().max(1_000_000).nullable();

/** Absent would be taken for null, and null limits nothing: a change says both. */
export const PlaygroundLimitsRequest = z.strictObject({
  most_calls: MostCalls.describe('Calls at once in the playground of the project, by everybody together. Null: no limit.'),
  most_cost_per_day: MostCost.describe('US dollars a day (UTC) in the playground of the project. Null: no limit.'),
});

/** The limits of a project's playground, with what is used of them. A null figure is unknown, but for limits and for what is left without one. */
export const PlaygroundLimitsResponse = z
  .object({
    project_id: z.string(),
    most_calls: MostCalls,
    most_cost_per_day: MostCost,
    used: z.object({
      /** Calls that run now. */
      calls_now: z.int(),
      /** The day (UTC) that the figures below are of. */
      day: z.string(),
      /** When the next day begins. */
      resets_at: z.string(),
      /** Calls that were started on the day, those that run included. */
      calls: z.int(),
      /** US dollars of these calls; null where nothing is known of any of them. */
      cost: z.number().nullable(),
      /** The part of it that is estimated: of calls that run, and of those that ended without saying what they used. */
      estimated_cost: z.number(),
      /** Calls of the day of which neither the cost nor an estimate is known: they are not in `cost`. */
      calls_without_cost: z.int(),
    }),
    /** Null where there is no limit. */
    left: z.object({ calls: z.int().nullable(), cost: z.number().nullable() }),
  })
  .meta({ id: 'PlaygroundLimits' });
export type PlaygroundLimitsResponse = z.output<typeof PlaygroundLimitsResponse>;
