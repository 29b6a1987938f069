/** The counts of `metrics` that have a column of their own: nine by the interface, and what else a price depends on. */
export const systemCounts = [
  'duration_ns',
  'num_input_tokens',
  'num_output_tokens',
  'num_total_tokens',
  'time_to_first_token_ns',
  'num_image_input_tokens',
  'num_audio_input_tokens',
  'num_audio_output_tokens',
  'num_image_output_tokens',
  // Input tokens: those that were read from a cache and those that were written to one; of the output tokens, the reasoning.
  'num_cached_input_tokens',
  'num_cache_write_input_tokens',
  'num_reasoning_output_tokens',
] as const;
export type SystemCount = (typeof systemCounts)[number];

/** The numbers of `metrics` that have a column of their own; every other key of `metrics` goes to `metrics_extra`. The cost is in US dollars. */
export const systemMetrics = [...systemCounts, 'cost'] as const;

/** The same to look names up. */
export const systemMetricNames: ReadonlySet<string> = new Set(systemMetrics);
export type SystemMetric = (typeof systemMetrics)[number];
