import { z } from 'zod';

const scorerType = z.string().nullish();
const alias = { scorer_type: scorerType, metric_key_alias: z.string().nullish() };
const failure = {
  ...alias,
  message: z.string().nullish(),
  ems_error_code: z.int().nullish(),
  standard_error: z.record(z.string(), z.unknown()).nullish(),
};
const value = {
  ...alias,
  value: z.unknown(),
  explanation: z.string().nullish(),
  cost: z.number().nullish(),
  model_alias: z.string().nullish(),
  num_judges: z.int().nullish(),
  multijudge_average: z.number().nullish(),
  input_tokens: z.int().nullish(),
  output_tokens: z.int().nullish(),
  total_tokens: z.int().nullish(),
  critique: z.record(z.string(), z.unknown()).nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
};

export const metricStatuses = [
  'not_computed',
  'pending',
  'computing',
  'not_applicable',
  'success',
  'error',
  'failed',
  'roll_up',
] as const;
export type MetricStatus = (typeof metricStatuses)[number];

/** One metric of one record: its value or the state of its scoring. */
export const MetricResult = z.discriminatedUnion('status_type', [
  z.object({ status_type: z.literal('not_computed'), ...alias, message: z.string() }),
  z.object({ status_type: z.literal('pending'), ...alias }),
  z.object({ status_type: z.literal('computing'), ...alias, message: z.string() }),
  z.object({ status_type: z.literal('not_applicable'), ...failure, message: z.string() }),
  z.object({ status_type: z.literal('success'), ...value, display_value: z.string().nullish(), rationale: z.string().nullish() }),
  z.object({ status_type: z.literal('error'), ...failure }),
  z.object({ status_type: z.literal('failed'), ...failure }),
  z.object({
    status_type: z.literal('roll_up'),
    ...value,
    roll_up_metrics: z.record(z.string(), z.union([z.number(), z.record(z.string(), z.int())])).nullish(),
  }),
]);
export type MetricResult = z.output<typeof MetricResult>;
