import { z } from 'zod';

/** A small call that shows whether a model can be reached. */
export const IntegrationTestRequest = z
  .strictObject({
    model: z.string().min(1).max(512).nullish().describe('Name or alias; without it, the default model of the integration.'),
    prompt: z.string().trim().min(1).max(4_000).nullish(),
  })
  .meta({ id: 'IntegrationTestRequest' });

/** The outcomes of a try that failed, and two that come before any try. */
export const integrationTestFailures = [
  'model_unknown',
  'waited_too_long',
  'rate_limited',
  'http_error',
  'unauthorized',
  'timeout',
  'connection_error',
  'malformed_answer',
  'refused',
  'handler_error',
] as const;

export const IntegrationTestResult = z
  .object({
    /** As the endpoint names it; as it was asked for where the call failed, and null where none was named. */
    model: z.string().nullable(),
    /** The model's answer, cut to 4,000 characters; null where the call failed. */
    text: z.string().nullable(),
    /** Milliseconds of the last try alone; null where there was none. */
    latency_ms: z.number().nullable(),
    num_input_tokens: z.number().nullable(),
    num_output_tokens: z.number().nullable(),
    /** In US dollars; null where the price or the tokens are unknown. */
    cost: z.number().nullable(),
    /** Notes on parameters that the service changed or left out because the endpoint does not accept them. */
    sent_otherwise: z.array(z.string()),
    error: z
      .object({
        kind: z.enum(integrationTestFailures),
        /** HTTP status of the endpoint's answer; null where it gave none, or the caller may not see it. */
        status: z.number().nullable(),
        message: z.string(),
      })
      .nullable(),
  })
  .meta({ id: 'IntegrationTestResult' });
export type IntegrationTestResult = z.output<typeof IntegrationTestResult>;
