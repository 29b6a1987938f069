import { z } from 'zod';
import { documentedAs, StandardError, Uuid } from './common.ts';
import { isExact } from './exactNumber.ts';
import { Document } from './recordParts.ts';

const scorerType = z.string().nullish();
const alias = { scorer_type: scorerType, metric_key_alias: z.string().nullish() };
const failure = {
  ...alias,
  message: z.string().nullish(),
  ems_error_code: z.int().nullish(),
  standard_error: StandardError.nullish(),
};

const Segment = z
  .object({
    start: z.int(),
    end: z.int(),
    value: z.union([z.number(), z.string()]),
    prob: z.number().nullish(),
  })
  .meta({ id: 'Segment' });
const HallucinationSegment = z
  .object({
    start: z.int(),
    end: z.int(),
    hallucination: z.number(),
    hallucination_severity: z.int().min(0).max(2).optional(),
  })
  .meta({ id: 'HallucinationSegment' });
const single = z.union([z.string(), z.number(), z.boolean(), Segment, HallucinationSegment, Document]).nullable();
/** The value of a metric: one, or lists of values. */
const MetricValue = z
  .union([single, z.array(z.union([single, z.array(z.union([single, z.array(single)]))]))])
  .meta({ id: 'MetricValue' });
/** A value as clients can read it: one of any other form, such as a map that a client has logged, as its JSON text. */
export const readableMetricValue = (value: unknown): unknown =>
  typeof value !== 'object' || isExact(value) || MetricValue.safeParse(value).success ? value : JSON.stringify(value);

const AnyMetricValue = z.unknown();
documentedAs.set(AnyMetricValue, MetricValue);

const Critique = z
  .object({
    id: Uuid,
    is_computed: z.boolean(),
    revised_explanation: z.string().nullable(),
    critique_info: z
      .object({ critique: z.string(), intended_value: z.boolean(), original_explanation: z.string() })
      .meta({ id: 'MetricCritiqueContent' }),
  })
  .meta({ id: 'MetricCritiqueColumnar' });
const value = {
  ...alias,
  value: AnyMetricValue,
  explanation: z.string().nullish(),
  cost: z.number().nullish(),
  model_alias: z.string().nullish(),
  judged_by_model_under_test: z.boolean().nullish(),
  sent_otherwise: z
    .array(z.string())
    .nullish()
    .describe('What the judge was not sent, or was sent otherwise, because its endpoint refuses it.'),
  num_judges: z.int().nullish(),
  multijudge_average: z.number().nullish(),
  input_tokens: z.int().nullish(),
  output_tokens: z.int().nullish(),
  total_tokens: z.int().nullish(),
  critique: Critique.nullish(),
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
export const MetricResult = z
  .discriminatedUnion('status_type', [
    z.object({ status_type: z.literal('not_computed'), ...alias, message: z.string() }).meta({ id: 'MetricNotComputed' }),
    z.object({ status_type: z.literal('pending'), ...alias }).meta({ id: 'MetricPending' }),
    z.object({ status_type: z.literal('computing'), ...alias, message: z.string() }).meta({ id: 'MetricComputing' }),
    z.object({ status_type: z.literal('not_applicable'), ...failure, message: z.string() }).meta({ id: 'MetricNotApplicable' }),
    z
      .object({
        status_type: z.literal('success'),
        ...value,
        display_value: z.string().nullish(),
        rationale: z.string().nullish(),
      })
      .meta({ id: 'MetricSuccess' }),
    z.object({ status_type: z.literal('error'), ...failure }).meta({ id: 'MetricError' }),
    z.object({ status_type: z.literal('failed'), ...failure }).meta({ id: 'MetricFailed' }),
    z
      .object({
        status_type: z.literal('roll_up'),
        ...value,
        roll_up_metrics: z.record(z.string(), z.union([z.number(), z.record(z.string(), z.int())])).nullish(),
      })
      .meta({ id: 'MetricRollUp' }),
  ])
  .meta({ id: 'MetricResult' });
export type MetricResult = z.output<typeof MetricResult>;
