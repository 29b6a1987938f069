import { z } from 'zod';
import { BodyFlag, Uuid } from './common.ts';
import { RunSelector, StepType } from './recordSearch.ts';
import { OutputType } from './scorers.ts';

/** The metric key of a scorer that is registered code; its columns follow from what it was validated to give. */
export const REGISTERED_SCORER = 'registered_scorer_validation';

/** The metric key of a judge that is tried out. */
export const GENERATED_SCORER = 'generated_scorer_validation';
/** Under which the values of a metric under test stand, when not under its own name. */
export const testedMetricKeys = [REGISTERED_SCORER, GENERATED_SCORER] as const;

export const MetricsTestingAvailableColumnsRequest = z
  .object({
    ...RunSelector,
    /** The metric under test. */
    name: z.string().min(1).max(1000),
    output_type: OutputType.nullish(),
    cot_enabled: BodyFlag(false),
    metric_key: z
      .string()
      .min(1)
      .max(255)
      .nullish()
      .transform((given) => given ?? GENERATED_SCORER),
    required_scorers: z
      .array(z.string().min(1).max(1000))
      .max(100)
      .nullish()
      .transform((given) => given ?? []),
    /** Type of the value of a registered scorer: `bool`, `int`, `float` or `str`. */
    score_type: z.string().nullish(),
  })
  .superRefine(({ metric_key, output_type }, context) => {
    if (metric_key !== REGISTERED_SCORER || output_type) return;
    const message = `output_type is needed when metric_key is ${REGISTERED_SCORER}`;
    context.addIssue({ code: 'custom', path: ['output_type'], message });
  })
  .meta({ id: 'MetricsTestingAvailableColumnsRequest' });

export const ComputeHealthScoreRequest = z
  .object({
    scorer_id: Uuid,
    output_type: OutputType,
    scoreable_node_types: z.array(StepType).nullish(),
    /** Ground truth that is not stored yet, by row. */
    mgt_overlay: z
      .record(z.string(), z.string().nullable())
      .nullish()
      .transform((given) => given ?? {}),
  })
  .meta({ id: 'ComputeHealthScoreRequest' });

const HealthScoreType = z.enum(['macro_f1', 'micro_f1', 'mse', 'mae']).meta({ id: 'HealthScoreType' });
export type HealthScoreType = z.output<typeof HealthScoreType>;

export const HealthScoreResult = z
  .object({
    health_score_type: HealthScoreType.nullable(),
    value: z.number().nullable(),
    skipped_rows: z.int(),
    secondary: z.record(z.string(), z.number().nullable()),
    total_scored_rows: z.int(),
    total_mgt_rows: z.int(),
    joined_rows: z.int(),
  })
  .meta({ id: 'HealthScoreResult' });
