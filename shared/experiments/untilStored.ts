import { setTimeout as delay } from 'node:timers/promises';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** Tries of an operation that fails with an unknown class of error: with the pauses between them 2 to 4 minutes. */
const MAX_UNKNOWN_FAILURES = 30;
/** A store that is replaced is away for less. */
const SILENT_MS = 30_000;
const REPORT_EVERY_MS = 60_000;

/**
 * Runs a store operation again, with growing pauses of up to 5 s (and as much again by chance, so that a crowd does not come back at once), until it
 * succeeds or `signal` aborts: a store that is away or full stops the work, it loses nothing and fails no row. Only what is known to be the
 * request's own fault is thrown at once.
 * @param onTrouble gets each error of unknown class, such as a mistake of ours (the operation is tried again for some minutes); and any other error
 * that keeps the operation from succeeding, after 30 s and then every minute
 * @throws the request's own fault, an error of which no try was without, or the signal's reason
 */
export async function untilStored<T>(
  operation: () => Promise<T>,
  signal: AbortSignal,
  onTrouble: (err: unknown) => void,
  silentMs = SILENT_MS,
): Promise<T> {
  let unknownFailures = 0;
  let reportAt = performance.now() + silentMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    signal.throwIfAborted();
    try {
      return await operation();
    } catch (err) {
      signal.throwIfAborted();
      if (!isKnown(err)) {
        onTrouble(err);
        if (++unknownFailures >= MAX_UNKNOWN_FAILURES)
          throw new ServiceError('BadRequest', `a store operation failed ${unknownFailures} times: ${reasonOf(err)}`, {
            cause: err,
          });
      } else {
        if (!mayPass(err)) throw err;
        unknownFailures = 0;
        if (performance.now() >= reportAt) {
          onTrouble(err);
          reportAt = performance.now() + REPORT_EVERY_MS;
        }
      }
    }
    await delay(pauseMs * (1 + Math.random()), undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

/** Returns whether an error says by its class what it is: a store's absence, a refusal. */
export const isKnown = (err: unknown): boolean => err instanceof ServiceError || isTooMuch(err) || err instanceof RequestInvalid;

/** Returns whether an error may pass. A read that is too expensive now is not so for ever: our own reads are small, and others use the store too. */
export const mayPass = (err: unknown): boolean =>
  err instanceof ServiceError && (!err.permanent || err.code === 'QueryTooExpensive');

const dataFaults = new Set([400, 413, 422]);

/** Returns whether the store refuses what the data holds: it will not take it later either. An error of no known class is none of these. */
export const isRefusal = (err: unknown): boolean =>
  err instanceof RequestInvalid || isTooMuch(err) || (err instanceof ServiceError && dataFaults.has(err.status) && !mayPass(err));

/** Nested too deep for the stack, or too long for one string. */
const isTooMuch = (err: unknown): boolean => err instanceof RangeError && /call stack|Invalid string length/.test(err.message);

/** Returns the reason of an error for people. The text of an engine's error is left out, since it may hold values. */
export function reasonOf(err: unknown): string {
  if (!(err instanceof Error)) return String(err);
  const { type } = err as { type?: unknown };
  return typeof type === 'string' ? `an error of the engine (${type})` : err.message;
}
