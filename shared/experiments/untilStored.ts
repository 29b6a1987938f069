import { setTimeout as delay } from 'node:timers/promises';
import { RequestInvalid, ServiceError } from '../errors.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Runs a store operation again, with growing pauses of up to 5 s (and as much again by chance, so that a crowd does not come back at once), until it
 * succeeds or `signal` aborts: a store that is away or full stops the work, it loses nothing and fails no row. Only what is known to be the
 * request's own fault is thrown at once.
 * @param onUnknown gets errors that nobody has classed, a mistake of ours among them: they are tried again as well, but not in silence
 * @throws the request's own fault, or the signal's reason
 */
export async function untilStored<T>(
  operation: () => Promise<T>,
  signal: AbortSignal,
  onUnknown: (err: unknown) => void,
): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    signal.throwIfAborted();
    try {
      return await operation();
    } catch (err) {
      signal.throwIfAborted();
      if (!isKnown(err)) onUnknown(err);
      else if (!mayPass(err)) throw err;
    }
    await delay(pauseMs * (1 + Math.random()), undefined, { signal }).catch(() => signal.throwIfAborted());
  }
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
