import { ActivityFailure, ApplicationFailure, isCancellation } from '@temporalio/workflow';

/** Whether an activity ended because it was called back; of one whose worker died meanwhile nothing more is known. */
export const wasCalledBack = (err: unknown): boolean =>
  isCancellation(err) || (err instanceof ActivityFailure && err.retryState === 'CANCEL_REQUESTED');

/** What an activity said, without what led to it: that is for the log. */
export function rootMessage(err: Error): string {
  let inner: Error = err;
  while (!(inner instanceof ApplicationFailure) && inner.cause instanceof Error) inner = inner.cause;
  return inner.message;
}
