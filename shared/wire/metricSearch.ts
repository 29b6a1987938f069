import { z } from 'zod';
import { StandardError } from './common.ts';
import { FilterExpression, FilterList } from './filters.ts';
import { RunSelector } from './recordSearch.ts';
import { ComparedTime } from './time.ts';

const metricAggregations = [
  'Count',
  'Sum',
  'Average',
  'Min',
  'Max',
  'P50',
  'P90',
  'P95',
  'P99',
  'PercentageFalse',
  'PercentageTrue',
] as const;
export type MetricAggregation = (typeof metricAggregations)[number];

/** Minutes of a bucket, as clients send them who do not choose. */
export const DEFAULT_MINUTES = 5;
/** Longer than any range of times that the store holds: one bucket. */
const MAX_MINUTES = 1_000_000_000;
const minutes = z
  .int()
  .min(1)
  .nullish()
  .transform((given) => Math.min(given ?? DEFAULT_MINUTES, MAX_MINUTES));
const range = { start_time: ComparedTime, end_time: ComparedTime, group_by: z.string().nullish() };

export const LogRecordsMetricsQueryRequest = z
  .object({
    ...RunSelector,
    filters: FilterList.optional(),
    filter_tree: FilterExpression.nullish(),
    ...range,
    interval: minutes,
  })
  .meta({ id: 'LogRecordsMetricsQueryRequest' });

/** Fields of every bucket beside its figures. */
export const bucketKeys = ['start_bucket_time', 'end_bucket_time'] as const;

const MetricAggregationDetail = z
  .object({
    /** Key of the result: a figure under it takes no other's place. */
    id: z.string().refine((id) => !(bucketKeys as readonly string[]).includes(id), {
      error: ({ input }) => `${input} is a key of every bucket; take another id`,
    }),
    /** With or without the prefix `metrics/`. */
    metric_name: z.string(),
    aggregation: z.enum(metricAggregations),
  })
  .meta({ id: 'MetricAggregationDetail' });

export const LogRecordsCustomMetricsQueryRequest = z
  .object({
    ...RunSelector,
    filters: FilterList.optional(),
    filter_tree: FilterExpression.nullish(),
    ...range,
    interval_minutes: minutes,
    metric_details: z.array(MetricAggregationDetail).max(100),
  })
  .superRefine(({ metric_details }, context) => {
    for (const [index, { id }] of metric_details.entries())
      if (metric_details.findIndex((one) => one.id === id) < index)
        context.addIssue({ code: 'custom', path: ['metric_details', index, 'id'], message: 'the id of another figure' });
  })
  .meta({ id: 'LogRecordsCustomMetricsQueryRequest' });

/** A number, or how often each category came. */
const Figure = z.union([z.number(), z.record(z.string(), z.int())]);
export type Figure = z.output<typeof Figure>;
/** Beside its two times, a bucket has one key per metric that has a value in it. */
const BucketedMetrics = z
  .looseObject({ start_bucket_time: z.string(), end_bucket_time: z.string() })
  .meta({ id: 'BucketedMetrics' });
export type BucketedMetrics = z.output<typeof BucketedMetrics>;

export const LogRecordsMetricsResponse = z
  .object({
    group_by_columns: z.array(z.string()),
    aggregate_metrics: z.record(z.string(), Figure),
    bucketed_metrics: z.record(z.string(), z.array(BucketedMetrics)),
    ems_captured_error: z.boolean(),
    standard_errors: z.record(z.string(), StandardError).nullable(),
  })
  .meta({ id: 'LogRecordsMetricsResponse' });
