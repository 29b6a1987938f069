import type { CallGate, CallLimits, EnterOptions, RunWait } from '../coordination/coordination.ts';

/** How long a wait is shown where the other side does not say how long it is to be: calls are held back this long at most. */
const UNKNOWN_WAIT_MS = 30_000;
/** Shorter waits are over before anybody reads of them. */
const LEAST_SHOWN_MS = 1_000;

/**
 * The gate of calls, which says what a run waits for: the other side takes no calls for a while, or the calls of a minute are used up.
 * @param publish gets the run, which is the party of its calls
 */
export function gateThatShowsWaits(calls: CallGate, publish: (runId: string, wait: RunWait) => void): CallGate {
  /** Waits of each run at each key: they are the same wait, and shown once. */
  const waiting = new Map<string, { calls: number; timer: NodeJS.Timeout }>();

  const showRate = (key: string, limits: () => CallLimits, runId: string) => {
    const held = calls.heldBack(key);
    if (held?.reason !== 'rate') return;
    publish(runId, { reason: limitText(limits()), until: Math.max(held.until, Date.now() + 2 * LEAST_SHOWN_MS) });
  };

  /** @returns what ends the wait */
  const wait = (key: string, limits: () => CallLimits, runId: string): (() => void) => {
    const name = `${runId} ${key}`;
    const line = waiting.get(name) ?? {
      calls: 0,
      timer: setInterval(() => showRate(key, limits, runId), LEAST_SHOWN_MS).unref(),
    };
    waiting.set(name, line);
    line.calls++;
    return () => {
      if (--line.calls > 0) return;
      clearInterval(line.timer);
      waiting.delete(name);
    };
  };

  const enter = async (key: string, limits: () => CallLimits, options: EnterOptions) => {
    const { requestsPerMinute, tokensPerMinute } = limits();
    if (options.party === undefined || (requestsPerMinute ?? tokensPerMinute) === undefined)
      return calls.enter(key, limits, options);
    return calls.enter(key, limits, options).finally(wait(key, limits, options.party));
  };

  return {
    async enter(key, limits, options) {
      const permit = await enter(key, limits, options);
      return {
        ...permit,
        leave(outcome) {
          const { result, retryAfterMs = UNKNOWN_WAIT_MS, reason } = outcome;
          const isShown = result === 'overloaded' && reason !== undefined && retryAfterMs >= LEAST_SHOWN_MS;
          if (isShown && options.party !== undefined) publish(options.party, { reason, until: Date.now() + retryAfterMs });
          permit.leave(outcome);
        },
      };
    },
    heldBack: calls.heldBack,
    changed: calls.changed,
  };
}

function limitText({ requestsPerMinute, tokensPerMinute }: CallLimits): string {
  const limits = [
    ...(requestsPerMinute === undefined ? [] : [`${requestsPerMinute} requests`]),
    ...(tokensPerMinute === undefined ? [] : [`${tokensPerMinute} tokens`]),
  ];
  return `the limit of ${limits.join(' and ')} per minute is used up`;
}
