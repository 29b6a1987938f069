import { onAbort } from '../concurrency/onAbort.ts';
import type { CallGate, CallLimits, CallOutcome, CallPermit } from '../coordination/coordination.ts';
import { AttemptFailure } from '../providers/failures.ts';
import type { Attempt } from './modelCall.ts';
import { type TimeLimit, timeLimit } from './timeLimit.ts';

/** How often a call is tried; data, so that an experiment can carry its own. */
export interface RetryRules {
  /** Tries of a call that fails in a way that may pass. One that was refused as too much (429, or any error with Retry-After) is not counted. */
  maxAttempts: number;
  /** A call is given up when all calls to its other side have been refused as too much for so long, without one success between. */
  maxRefusedMs: number;
  /** Wait before the second try; doubled for each further one, up to the maximum. */
  minDelayMs: number;
  maxDelayMs: number;
}

export const defaultRetryRules: RetryRules = { maxAttempts: 6, maxRefusedMs: 6 * 3_600_000, minDelayMs: 500, maxDelayMs: 30_000 };

/** Waits are this much longer at most, by chance, so that many calls that failed together do not come back together. */
const JITTER = 0.25;

export interface LimitedCall {
  /** Gates that the call needs a permit of, in this order. */
  gates: readonly { key: string; limits: () => CallLimits }[];
  /** The run, which shares the gates evenly with others. */
  party: string | undefined;
  /** Tokens that it will use, by estimate. */
  tokens: number;
  rules: RetryRules;
  /** For all tries together; waits do not count. */
  timeLimitMs: number;
  /** Text of the failure when that time is over. */
  overdue: string;
  signal: AbortSignal;
  /** Called when a wait begins; what it gives, when that wait is over. */
  waiting?: (() => () => void) | undefined;
  /** Ends waits alone; where it is absent `signal` does. */
  stopping?: AbortSignal | undefined;
  /** Asked before each try that has its permits: the call rejects as this does. */
  confirm?: (() => Promise<void>) | undefined;
  /** True when a failure is to be followed by one more try at once, which is not counted. */
  again?: (failure: AttemptFailure) => boolean;
  /** False when the answer has begun to reach the caller: there is no further try then. */
  mayRepeat?: (() => boolean) | undefined;
  /** Gets every try as it ends. */
  attempts: Attempt[];
  /** Hears of every try as it ends. */
  onAttempt?: (attempt: Attempt) => void;
  /** False when the reason for which the other side failed must not be shown: asked when the call is given up. */
  mayExplain: () => boolean;
}

/**
 * Calls another side, and again where it fails in a way that may pass: the one rule for model calls and runner URLs. Each try waits for its permits;
 * what an overloaded side asks to wait is waited for there, by all calls to it in all processes. Waiting is no part of a try, uses up none, and
 * takes nothing of the time limit.
 * @param attempt one try; `tokens` are those it really used, where they are known. What it waits for by `wait` is no part of it either
 * @throws AttemptFailure of the last try; the reason of a signal when it aborts; what else `attempt` throws
 */
export async function limitedCall<T>(
  calls: CallGate,
  call: LimitedCall,
  attempt: (
    limit: TimeLimit,
    wait: <W>(work: () => Promise<W>) => Promise<W>,
  ) => Promise<{ value: T; tokens?: number | undefined }>,
): Promise<T> {
  const { rules, signal, attempts } = call;
  let spentMs = 0;
  let failures = 0;
  let retryWaitMs = 0;
  for (;;) {
    const permits = await asWait(call, () => enterAll(calls, call));
    const startedAt = Date.now();
    const start = performance.now();
    const limit = timeLimit(signal, call.timeLimitMs - spentMs);
    const waited = retryWaitMs > 0 ? { ms: Math.round(retryWaitMs), reason: 'retry' as const } : permits.waited;
    let outcome: CallOutcome = { result: 'other' };
    let failure: AttemptFailure;
    const record = (result: Attempt['outcome'], status?: number) => {
      const one: Attempt = {
        startedAt,
        endedAt: Date.now(),
        outcome: result,
        ...(status !== undefined && { status }),
        ...(waited && { waited }),
      };
      attempts.push(one);
      call.onAttempt?.(one);
    };
    try {
      const { value, tokens } = await attempt(limit, (work) => limit.suspend(() => asWait(call, work)));
      outcome = { result: 'ok', tokens };
      record('ok', 200);
      return value;
    } catch (err) {
      if (signal.aborted) {
        record('cancelled');
        throw signal.reason;
      }
      const isOverdue = limit.signal.aborted;
      // A timer may end a little early by this clock; its time is over all the same.
      if (isOverdue) spentMs = call.timeLimitMs;
      failure = isOverdue ? new AttemptFailure('timeout', call.overdue, { retry: true }) : asFailure(err);
      record(failure.outcome, failure.status);
      // A refused call used no tokens; a call that broke on the way may have.
      outcome = failure.isOverload
        ? { result: 'overloaded', retryAfterMs: failure.retryAfterMs, reason: shownReason(call, failure), tokens: 0 }
        : { result: 'other', ...(failure.status !== undefined && { tokens: 0 }) };
    } finally {
      spentMs += performance.now() - start - limit.waitedMs();
      limit.clear();
      permits.leave(outcome);
    }
    retryWaitMs = 0;
    if (call.mayRepeat?.() === false) throw failureOf(call, failure);
    if (call.again?.(failure)) continue;
    if (!failure.retry || spentMs >= call.timeLimitMs) throw failureOf(call, failure);
    if (failure.isOverload) {
      if (permits.refusedForMs >= rules.maxRefusedMs) throw failureOf(call, failure);
      continue;
    }
    failures++;
    if (failures >= rules.maxAttempts) throw failureOf(call, failure);
    retryWaitMs = Math.min(rules.maxDelayMs, rules.minDelayMs * 2 ** Math.min(failures - 1, 30)) * (1 + Math.random() * JITTER);
    await asWait(call, () => pause(retryWaitMs, call.stopping ?? signal));
  }
}

/** Failures that come of our own rules, limits and code: they say nothing of the other side. */
const isOurs: ReadonlySet<Attempt['outcome']> = new Set(['refused', 'timeout', 'handler_error']);

/** The failure of a call that is given up, and its tries, as far as they may be shown. */
function failureOf({ attempts, mayExplain }: LimitedCall, failure: AttemptFailure): AttemptFailure {
  if (isOurs.has(failure.outcome) || mayExplain()) return failure;
  for (const [index, { status: _status, ...attempt }] of attempts.entries())
    attempts[index] = isOurs.has(attempt.outcome) ? attempt : { ...attempt, outcome: 'connection_error' };
  return failure.untold();
}

/** Why the other side takes no call, as far as it may be shown. */
const shownReason = ({ mayExplain }: LimitedCall, failure: AttemptFailure): string =>
  mayExplain() ? failure.message : failure.untold().message;

async function asWait<T>({ waiting }: Pick<LimitedCall, 'waiting'>, work: () => Promise<T>): Promise<T> {
  const isOver = waiting?.();
  return work().finally(isOver);
}

/** Mistakes of ours are no failures of the call. */
function asFailure(err: unknown): AttemptFailure {
  if (err instanceof AttemptFailure) return err;
  throw err;
}

/** The permits of all gates. The last is that of the other side itself, and the only one that learns how the call ended. */
async function enterAll(calls: CallGate, { gates, party, tokens, signal: ofCall, stopping, confirm }: LimitedCall) {
  const signal = stopping ?? ofCall;
  const start = performance.now();
  const permits: CallPermit[] = [];
  const leave = (outcome: CallOutcome) => {
    const { tokens } = outcome;
    for (const [index, permit] of permits.entries())
      permit.leave(index === gates.length - 1 ? outcome : { result: 'other', tokens });
  };
  try {
    for (const { key, limits } of gates) permits.push(await calls.enter(key, limits, { party, tokens, signal }));
    await confirm?.();
  } catch (err) {
    leave({ result: 'other', tokens: 0 });
    throw err;
  }
  const reason = permits.findLast((permit) => permit.waitedFor)?.waitedFor;
  return {
    leave,
    refusedForMs: permits.at(-1)?.refusedForMs ?? 0,
    waited: reason && { ms: Math.round(performance.now() - start), reason },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      forget();
      resolve();
    }, ms);
    const forget = onAbort(signal, () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
