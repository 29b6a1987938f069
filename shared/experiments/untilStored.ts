import pRetry from 'p-retry';
import { RequestInvalid, ServiceError } from '../errors.ts';

/**
 * Runs a store operation again, with growing pauses of up to 5 s, until it succeeds or `signal` aborts: a store that is away or full stops the
 * work, it loses nothing and fails no row. Only what is known to be the request's own fault is thrown at once.
 * @param onUnknown gets errors that nobody has classed, a mistake of ours among them: they are tried again as well, but not in silence
 */
export function untilStored<T>(operation: () => Promise<T>, signal: AbortSignal, onUnknown: (err: unknown) => void): Promise<T> {
  const attempt = async (): Promise<T> => {
    try {
      return await operation();
    } catch (err) {
      if (isKnown(err)) throw err;
      if (!signal.aborted) onUnknown(err);
      // pRetry itself would not try again after a TypeError.
      throw new Error('a store operation failed for an unknown reason', { cause: err });
    }
  };
  return pRetry(attempt, {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: 100,
    maxTimeout: 5_000,
    factor: 2,
    randomize: true,
    signal,
    shouldRetry: ({ error }) => !isKnown(error) || mayPass(error),
  });
}

const isKnown = (err: unknown): boolean => err instanceof ServiceError || isTooMuch(err) || err instanceof RequestInvalid;

/** What is too expensive right now is not so for ever: our own reads are small, and others use the store too. */
export const mayPass = (err: unknown): boolean =>
  err instanceof ServiceError && (!err.permanent || err.code === 'QueryTooExpensive');

const dataFaults = new Set([400, 413, 422]);

/** Whether the store refuses what the data holds: it will not take it later either. An error that nobody has classed is none of these. */
export const isRefusal = (err: unknown): boolean =>
  err instanceof RequestInvalid || isTooMuch(err) || (err instanceof ServiceError && dataFaults.has(err.status) && !mayPass(err));

/** Nested too deep for the stack, or too long for one string. */
const isTooMuch = (err: unknown): boolean => err instanceof RangeError && /call stack|Invalid string length/.test(err.message);
