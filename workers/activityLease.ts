import type { Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import type { RunWorkflows } from '../shared/experiments/startRun.ts';
import { untilStored } from '../shared/experiments/untilStored.ts';

/** Milliseconds after an answer of the server in which it is not asked again. */
const FRESH_MS = 1_000;
/**
 * Milliseconds for which an answer is good, so that work goes on while the next one is on its way. The server gives an activity to another worker after 10 s
 * without a heartbeat.
 */
const GOOD_MS = 5_000;

export interface LeaseDeps {
  workflows: Pick<RunWorkflows, 'keepActivity'>;
  log: Pick<Logger, 'error'>;
}

/** Shows an execution of an activity whether it still counts. A process that was suspended cannot know this by itself. */
export interface ActivityLease {
  /** Aborts when the server says that it is not. */
  lost: AbortSignal;
  /**
   * Resolves when it is, for what costs money and must not begin beside another worker. Asks the server where its last answer is old, at the begin too: what
   * a poll brought may have waited in a process that stood still. A server that is away is waited for.
   * @throws the reason of `signal`, which aborts with `lost`
   */
  confirm(signal: AbortSignal): Promise<void>;
}

/** The lease of an activity that heartbeats. */
export function activityLease({ info }: Pick<Context, 'info'>, { workflows, log }: LeaseDeps): ActivityLease {
  const lost = new AbortController();
  let confirmed: { monotonic: number; wall: number } | undefined;
  let asking: Promise<void> | undefined;
  // In a virtual machine that was paused one of the clocks may have stood still as well.
  const now = () => ({ monotonic: performance.now(), wall: Date.now() });
  const age = () => {
    if (!confirmed) return Number.POSITIVE_INFINITY;
    const { monotonic, wall } = now();
    return Math.max(monotonic - confirmed.monotonic, Math.abs(wall - confirmed.wall));
  };
  const ask = async () => {
    const asked = now();
    if (await workflows.keepActivity(info.taskToken)) confirmed = asked;
    else lost.abort(new Error('this process stood still, and the activity was given to another worker'));
  };
  const confirmOnce = async () => {
    const before = age();
    if (before < FRESH_MS) return;
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    if (before < GOOD_MS)
      asking.catch(() => {}); // who needs the answer asks again
    else await asking;
    lost.signal.throwIfAborted();
  };
  return {
    lost: lost.signal,
    confirm: (signal) =>
      untilStored(confirmOnce, signal, (err) => log.error({ err }, 'the workflow service was asked in vain; it is asked again')),
  };
}
