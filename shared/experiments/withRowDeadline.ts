import { onAbort } from '../concurrency/onAbort.ts';
import type { RowResult } from './rowTrace.ts';

/** The limits that a runner gets with its row. */
export interface RowLimit {
  /** Aborts when the run gives the row up, and when the row's time is over. */
  signal: AbortSignal;
  /** Says that the row waits for something that is not its own work: a rate limit, a free slot. The function that it gives ends the wait. */
  waiting(): () => void;
}

export interface RowDeadline {
  /** Milliseconds of work that a row may take; waits do not count. */
  limitMs: number;
  /** Gives the row up: then the result is a rejection with the signal's reason. */
  signal: AbortSignal;
  /** Gets the milliseconds of work of a row whose runner did not end it in time. */
  onLate(workedMs: number): void;
  /** Milliseconds beyond the limit: most runners keep the limit themselves, and say more about the row than this function can. */
  graceMs?: number;
  /** Milliseconds that a runner has to end a row that is given up. */
  leaveMs?: number;
}

const GRACE_MS = 10_000;
const LEAVE_MS = 2_000;

/**
 * Runs a row so that it ends, whatever its runner does: heartbeats say that the process lives, not that a promise will be kept. A row whose runner has
 * not ended it soon after its time is a failed row; what the runner says later is ignored.
 */
export function withRowDeadline(run: (limit: RowLimit) => Promise<RowResult>, deadline: RowDeadline): Promise<RowResult> {
  const { limitMs, signal, onLate, graceMs = GRACE_MS, leaveMs = LEAVE_MS } = deadline;
  const { promise, resolve, reject } = Promise.withResolvers<RowResult>();
  const startedAt = new Date();
  // A controller of the row's own, and no AbortSignal.any: Node.js keeps such a signal and its listeners as long as its sources live.
  const ending = new AbortController();
  let workedMs = 0;
  let workingSince = performance.now();
  let waits = 0;
  let hasEnded = false;
  let timer: NodeJS.Timeout | undefined;
  let leaving: NodeJS.Timeout | undefined;

  const onDeadline = () => {
    stopWork();
    const durationNs = Math.round(workedMs * 1e6);
    // The runner's attempts are unknown: it has not answered.
    resolve({ output: null, error: tooLong(limitMs), spans: [], startedAt, durationNs, attempts: null });
    onLate(workedMs);
    ending.abort(new Error(tooLong(limitMs)));
  };
  const startWork = () => {
    workingSince = performance.now();
    timer = setTimeout(onDeadline, limitMs + graceMs - workedMs);
  };
  const stopWork = () => {
    clearTimeout(timer);
    workedMs += performance.now() - workingSince;
  };
  const waiting = () => {
    if (waits++ === 0 && !hasEnded) stopWork();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--waits === 0 && !hasEnded) startWork();
    };
  };
  startWork();
  const stopListening = onAbort(signal, () => {
    leaving = setTimeout(() => reject(signal.reason), leaveMs);
    ending.abort(signal.reason);
  });
  const work = async () => run({ signal: ending.signal, waiting });
  work().then(resolve, reject);
  return promise.finally(() => {
    hasEnded = true;
    clearTimeout(timer);
    clearTimeout(leaving);
    stopListening();
  });
}

const tooLong = (limitMs: number): string => `the row took longer than its time limit of ${limitMs} ms`;
