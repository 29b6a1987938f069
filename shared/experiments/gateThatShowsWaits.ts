import type { CallGate, RunWait } from '../coordination/coordination.ts';

/** How long a wait is shown where the other side does not say how long it is to be: calls are held back this long at most. */
const UNKNOWN_WAIT_MS = 30_000;
/** Shorter waits are over before anybody reads of them. */
const LEAST_SHOWN_MS = 1_000;

/**
 * The gate of calls, which says what a run waits for when the other side of its calls takes none for a while.
 * @param publish gets the run, which is the party of its calls
 */
export const gateThatShowsWaits = (calls: CallGate, publish: (runId: string, wait: RunWait) => void): CallGate => ({
  async enter(key, limits, options) {
    const permit = await calls.enter(key, limits, options);
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
  changed: calls.changed,
});
