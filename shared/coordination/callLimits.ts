import type { CallLimitsBody } from '../wire/callLimits.ts';
import type { CallLimits } from './coordination.ts';

/** Limits as a request names them. */
export const limitsFrom = ({ concurrency, requests_per_minute, tokens_per_minute }: CallLimitsBody): Partial<CallLimits> => ({
  ...(concurrency != null && { concurrency }),
  ...(requests_per_minute != null && { requestsPerMinute: requests_per_minute }),
  ...(tokens_per_minute != null && { tokensPerMinute: tokens_per_minute }),
});

/** Limits as an answer names them. */
export const limitsBody = (limits: Partial<CallLimits> | null): CallLimitsBody => ({
  concurrency: limits?.concurrency ?? null,
  requests_per_minute: limits?.requestsPerMinute ?? null,
  tokens_per_minute: limits?.tokensPerMinute ?? null,
});
