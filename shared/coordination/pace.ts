import type { CallLimits, CallOutcome, WaitReason } from './coordination.ts';

/**
 * How calls of one key slow down and recover. docs/model-calls.md gives the reasons; the script for Redis takes the same figures.
 */
export const paceFigures = {
  /** Part of the calls in flight that is left after an answer that says "too much". */
  decrease: 0.5,
  /** Rounds of calls without such an answer after which a pace that had gone to nothing is back. */
  rounds: 10,
  /** Milliseconds without calls where such an answer names no wait; doubled until a call succeeds, up to the longest. */
  firstPauseMs: 500,
  longestPauseMs: 30_000,
  /** Calls and tokens are spread evenly over the minute; those of this time may come at once, so that a late timer costs no pace. */
  togetherMs: 1_000,
  /** Calls that the pace holds back are looked at this often at most. */
  stepMs: 20,
  /** The pace is forgotten after so many milliseconds without a call. */
  rememberedMs: 600_000,
};

const SPREAD_MS = 60_000 + paceFigures.togetherMs;

/** When the next call may start by one of the limits, in milliseconds since the epoch, and the limit by which that was computed. */
interface Meter {
  at: number;
  perMinute: number;
}

/** The pace of one key. Times are milliseconds since the epoch. */
export interface Pace {
  /** Calls in flight that the other side is believed to bear; undefined where it never complained. */
  window: number | undefined;
  /** Calls that were in flight when the window was cut last. */
  peak: number;
  cutAt: number;
  notBefore: number;
  /** Answers that said "too much" since the last success, of calls that started after the one before. */
  refusals: number;
  /** When the first of them came. */
  refusedSince: number | undefined;
  requests: Meter;
  tokens: Meter;
}

export const newPace = (): Pace => ({
  window: undefined,
  peak: 0,
  cutAt: 0,
  notBefore: 0,
  refusals: 0,
  refusedSince: undefined,
  requests: { at: 0, perMinute: 0 },
  tokens: { at: 0, perMinute: 0 },
});

/** Calls that may be in flight. */
export const slotsAllowed = (pace: Pace, limits: CallLimits): number =>
  Math.min(limits.concurrency, pace.window === undefined ? Number.POSITIVE_INFINITY : Math.floor(pace.window));

/** When a call may start as far as time goes, and what holds it back until then. */
export function startsAt(pace: Pace, limits: CallLimits, now: number): { at: number; reason: WaitReason } {
  const rate = Math.max(
    limits.requestsPerMinute === undefined ? 0 : rescale(pace.requests, limits.requestsPerMinute, now),
    limits.tokensPerMinute === undefined ? 0 : rescale(pace.tokens, limits.tokensPerMinute, now),
  );
  return pace.notBefore >= rate ? { at: pace.notBefore, reason: 'overload' } : { at: rate, reason: 'rate' };
}

/** Where the limit has changed, what was used up is paid back at the new one. */
function rescale(meter: Meter, limit: number, now: number): number {
  if (meter.at > now && meter.perMinute > 0) meter.at = now + ((meter.at - now) * meter.perMinute) / limit;
  meter.perMinute = limit;
  return meter.at;
}

export function noteStart(pace: Pace, limits: CallLimits, tokens: number, now: number): void {
  if (limits.requestsPerMinute !== undefined) use(pace.requests, limits.requestsPerMinute, 1, now);
  if (limits.tokensPerMinute !== undefined) use(pace.tokens, limits.tokensPerMinute, tokens, now);
}

function use(meter: Meter, limit: number, amount: number, now: number): void {
  meter.at = Math.max(rescale(meter, limit, now), now - paceFigures.togetherMs) + (amount * SPREAD_MS) / limit;
}

/**
 * Learns from the end of a call.
 * @param call when it started, the tokens that were reserved for it, and the calls in flight with it
 */
export function noteEnd(
  pace: Pace,
  outcome: CallOutcome,
  call: { startedAt: number; tokens: number; inFlight: number },
  now: number,
): void {
  if (outcome.tokens !== undefined && pace.tokens.perMinute > 0)
    pace.tokens.at += ((outcome.tokens - call.tokens) * SPREAD_MS) / pace.tokens.perMinute;
  if (outcome.result === 'ok') {
    pace.refusals = 0;
    pace.refusedSince = undefined;
    if (pace.window === undefined) return;
    const step = pace.window < pace.peak ? Math.max(1, pace.peak / paceFigures.rounds) : 1;
    pace.window += step / pace.window;
  } else if (outcome.result === 'overloaded') {
    pace.refusedSince ??= now;
    // Calls that were under way when the pace was cut say nothing new; the wait that they are asked for still counts.
    if (call.startedAt > pace.cutAt) {
      pace.peak = Math.min(call.inFlight, pace.window ?? call.inFlight);
      pace.window = Math.max(1, pace.peak * paceFigures.decrease);
      pace.cutAt = now;
      pace.refusals++;
    }
    const pauseMs =
      outcome.retryAfterMs ??
      Math.min(paceFigures.longestPauseMs, paceFigures.firstPauseMs * 2 ** Math.min(pace.refusals - 1, 20));
    pace.notBefore = Math.max(pace.notBefore, now + pauseMs);
  }
}
