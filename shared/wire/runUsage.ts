import { z } from 'zod';

const usage = {
  num_input_tokens: z.int().nullable(),
  num_output_tokens: z.int().nullable(),
  num_total_tokens: z.int().nullable(),
  cost: z.number().nullable().describe('US dollars, of those whose cost is known; null where that is none.'),
};

/** Tokens and cost of an experiment, its judges apart. */
export const RunUsageBody = z
  .object({
    run: z
      .object({ ...usage, num_spans_without_cost: z.int().describe('Model calls whose cost is not known.') })
      .describe('The model calls of its traces.'),
    judges: z
      .object({
        ...usage,
        num_scores: z.int().describe('Scores that a judge was asked for: of each the newest.'),
        num_scores_without_cost: z.int().describe('Those of them whose cost is not known.'),
      })
      .describe('The calls of judges.'),
  })
  .meta({ id: 'ExperimentUsage' });
export type RunUsageBody = z.output<typeof RunUsageBody>;
