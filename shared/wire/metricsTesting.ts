import { z } from 'zod';
import { flag, RunSelector } from './recordSearch.ts';
import { OutputType } from './scorers.ts';

/** The metric key of a scorer that is registered code; its columns follow from what it was validated to give. */
export const REGISTERED_SCORER = 'registered_scorer_validation';

export const MetricsTestingAvailableColumnsRequest = z
  .object({
    ...RunSelector,
    /** The metric under test. */
    name: z.string().min(1).max(1000),
    output_type: OutputType.nullish(),
    cot_enabled: flag,
    metric_key: z
      .string()
      .min(1)
      .max(255)
      .nullish()
      .transform((given) => given ?? 'generated_scorer_validation'),
    required_scorers: z
      .array(z.string().min(1).max(1000))
      .max(100)
      .nullish()
      .transform((given) => given ?? []),
    /** Of a registered scorer: `bool`, `int`, `float` or `str`. */
    score_type: z.string().nullish(),
  })
  .superRefine(({ metric_key, output_type }, context) => {
    if (metric_key !== REGISTERED_SCORER || output_type) return;
    const message = `output_type is needed when metric_key is ${REGISTERED_SCORER}`;
    context.addIssue({ code: 'custom', path: ['output_type'], message });
  })
  .meta({ id: 'MetricsTestingAvailableColumnsRequest' });
