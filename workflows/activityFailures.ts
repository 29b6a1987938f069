import { ActivityFailure, ApplicationFailure, isCancellation } from '@temporalio/workflow';

/** True when an activity ended because the workflow cancelled it. If its worker died meanwhile, the outcome of the activity is unknown. */
export const wasCancelled = (err: unknown): boolean =>
  isCancellation(err) || (err instanceof ActivityFailure && err.retryState === 'CANCEL_REQUESTED');

/** The message of the innermost failure, without the chain around it: that is for the log. */
export function rootMessage(err: Error): string {
  let inner: Error = err;
  while (!(inner instanceof ApplicationFailure) && inner.cause instanceof Error) inner = inner.cause;
  return inner.message;
}
