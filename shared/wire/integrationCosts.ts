import { z } from 'zod';
import { Timestamp, Uuid } from './common.ts';
import { ComparedTime } from './time.ts';

export const costIntervals = ['hourly', 'daily', 'weekly', 'monthly'] as const;
export type CostInterval = (typeof costIntervals)[number];

export const IntegrationCostsQuery = z.object({
  start_time: ComparedTime,
  end_time: ComparedTime,
  interval: z.enum(costIntervals).describe('Hours, days, weeks from Monday on, or months, in UTC.'),
});

/** In US dollars. */
const Cost = z.number();

export const IntegrationCostsResponse = z
  .object({
    features: z.array(
      z.object({
        feature_name: z.string().describe('What the models were called for: `experiments`, `playground` or `metrics`.'),
        total_cost: Cost,
        projects: z.array(
          z.object({
            project_id: Uuid,
            project_name: z.string(),
            total_cost: Cost,
            data_points: z
              .array(z.object({ timestamp: Timestamp.describe('Where the interval starts.'), cost: Cost }))
              .describe('Intervals with a known cost, in their order; the others are left out.'),
          }),
        ),
      }),
    ),
  })
  .meta({ id: 'IntegrationCostsResponse' });
export type IntegrationCostsResponse = z.output<typeof IntegrationCostsResponse>;
