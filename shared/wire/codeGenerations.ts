import { z } from 'zod';
import { Uuid } from './common.ts';

export const CreateCodeMetricGenerationRequest = z
  .object({
    user_message: z.string().min(1).max(10_000).describe('What the metric is to measure, in words.'),
    node_type: z.string().max(64).nullish().describe('The kind of records that it scores: `trace` where it is absent.'),
    model_name: z.string().max(128).nullish().describe('The model that writes. Absent: the default of the first integration.'),
  })
  .meta({ id: 'CreateCodeMetricGenerationRequest' });

const status = z.enum(['generating', 'completed', 'failed']);

export const CreateCodeMetricGenerationResponse = z
  .object({ id: Uuid, status })
  .meta({ id: 'CreateCodeMetricGenerationResponse' });

export const CodeMetricGenerationStatusResponse = z
  .object({
    id: Uuid,
    status,
    generated_code: z.string().nullable().describe('Of a generation that failed: the last draft, where there is one.'),
    error_message: z.string().nullable(),
  })
  .meta({ id: 'CodeMetricGenerationStatusResponse' });
