import pRetry from 'p-retry';
import { ServiceError } from '../errors.ts';

/**
 * Runs a store operation again, with growing pauses of up to 5 s, until it succeeds or `signal` aborts: a store that is away or full stops the
 * work, it loses nothing and fails no row. Errors that can never pass (the request's own fault) are thrown at once.
 */
export function untilStored<T>(operation: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return pRetry(operation, {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: 100,
    maxTimeout: 5_000,
    factor: 2,
    randomize: true,
    signal,
    // What is too expensive right now is not so for ever: our own reads are small, and others use the store too.
    shouldRetry: ({ error }) => error instanceof ServiceError && (!error.permanent || error.code === 'QueryTooExpensive'),
  });
}
