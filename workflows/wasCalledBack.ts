import { ActivityFailure, isCancellation } from '@temporalio/workflow';

/** Whether an activity ended because it was called back; of one whose worker died meanwhile nothing more is known. */
export const wasCalledBack = (err: unknown): boolean =>
  isCancellation(err) || (err instanceof ActivityFailure && err.retryState === 'CANCEL_REQUESTED');
