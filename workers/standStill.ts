import type { Context } from '@temporalio/activity';

const LOOK_MS = 1_000;

/** Notices that this process stood still for longer than its activity may be silent: another worker has the activity since. */
export interface StandStill {
  /** Aborts when that was noticed. */
  signal: AbortSignal;
  /** Looks now: an answer can be heard before any timer. */
  look(): void;
  stop(): void;
}

/** For activities that heartbeat. The server says so too, but only in answer to the next heartbeat, and until then new calls would be paid. */
export function watchStandStill(context: Pick<Context, 'info'>): StandStill {
  const limit = context.info.heartbeatTimeoutMs ?? Number.POSITIVE_INFINITY;
  const stoodStill = new AbortController();
  let seen = performance.now();
  const look = () => {
    const now = performance.now();
    if (now - seen > limit) stoodStill.abort(new Error('this process stood still, and another has its rows'));
    seen = now;
  };
  const timer = setInterval(look, LOOK_MS);
  return {
    signal: stoodStill.signal,
    look,
    stop: () => clearInterval(timer),
  };
}
