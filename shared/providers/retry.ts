import { onAbort } from '../onAbort.ts';
import { AttemptFailure } from './failures.ts';

/** How often and how long a call is tried; data, so that an experiment can carry its own. */
export interface RetryRules {
  /** Tries of a call that fails in a way that may pass. Being asked to wait (429, or any error with Retry-After) does not use them up. */
  maxAttempts: number;
  /** No further try starts this long after the first; a wait that was asked for is always waited out first. */
  maxElapsedMs: number;
  /** Wait before the second try; doubled for each further one, up to the maximum, where the other side names no wait. */
  minDelayMs: number;
  maxDelayMs: number;
}

export const defaultRetryRules: RetryRules = { maxAttempts: 6, maxElapsedMs: 6 * 3_600_000, minDelayMs: 500, maxDelayMs: 30_000 };

export interface WaitInfo {
  reason: 'rate_limited' | 'retry' | 'slot';
  /** Milliseconds still to wait; undefined while waiting for a free slot. */
  remainingMs?: number;
  status?: number;
}

/** At least this often `onWaiting` is called during a wait: heartbeats are due every few seconds. */
const TELL_EVERY_MS = 2_000;
/** A crowd that was told to wait the same time must not come back in the same instant. */
const JITTER = 0.1;

/**
 * Runs `attempt` until it succeeds, fails for good, or the rules end it: the one place where calls are tried again.
 * @throws the last AttemptFailure, or the signal's reason.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  rules: RetryRules,
  signal: AbortSignal,
  onWaiting?: (info: WaitInfo) => void,
): Promise<T> {
  const startedAt = performance.now();
  let failures = 0;
  let counted = 0;
  for (;;) {
    signal.throwIfAborted();
    let failure: AttemptFailure;
    try {
      return await attempt();
    } catch (err) {
      signal.throwIfAborted();
      if (!(err instanceof AttemptFailure) || !err.retry) throw err;
      failure = err;
    }
    failures++;
    const askedToWait = failure.status === 429 || failure.retryAfterMs !== undefined;
    if (!askedToWait) counted++;
    const spent = performance.now() - startedAt;
    if (counted >= rules.maxAttempts || spent >= rules.maxElapsedMs) throw failure;
    const backoffMs = Math.min(rules.maxDelayMs, rules.minDelayMs * 2 ** Math.min(failures - 1, 30));
    const waitMs = Math.max(backoffMs, failure.retryAfterMs ?? 0) * (1 + Math.random() * JITTER);
    const told = {
      reason: askedToWait ? ('rate_limited' as const) : ('retry' as const),
      ...(failure.status && { status: failure.status }),
    };
    await wait(waitMs, signal, (remainingMs) => onWaiting?.({ ...told, remainingMs }));
  }
}

function wait(ms: number, signal: AbortSignal, tell: (remainingMs: number) => void): Promise<void> {
  const until = performance.now() + ms;
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout;
    let forget = () => {};
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const step = () => {
      const remaining = until - performance.now();
      if (remaining <= 0) {
        forget();
        resolve();
        return;
      }
      tell(remaining);
      timer = setTimeout(step, Math.min(remaining, TELL_EVERY_MS));
    };
    if (signal.aborted) return reject(signal.reason);
    forget = onAbort(signal, stop);
    step();
  });
}

/** Waits for `work` while telling `onWaiting` as often as {@link withRetries} does. */
export async function whileTelling<T>(work: Promise<T>, tell: () => void): Promise<T> {
  const timer = setInterval(tell, TELL_EVERY_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
