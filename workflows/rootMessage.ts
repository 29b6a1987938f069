import { ApplicationFailure } from '@temporalio/workflow';

/** What an activity said, without what led to it: that is for the log. */
export function rootMessage(err: Error): string {
  let inner: Error = err;
  while (!(inner instanceof ApplicationFailure) && inner.cause instanceof Error) inner = inner.cause;
  return inner.message;
}
