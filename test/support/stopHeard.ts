import { Client, Connection } from '@temporalio/client';
import { expect } from 'vitest';

/** `PENDING_ACTIVITY_STATE_CANCEL_REQUESTED` of temporal.api.enums.v1. */
const CANCEL_REQUESTED = 3;
/** Activities that have rows or values in flight. */
const WORKS = ['runRows', 'scoreMarked'];

/**
 * Waits until the worker knows that it is to start no further row or value of a run, after a pause or a cancel and while some are still in flight. That
 * travels on the answer to a heartbeat, which no API shows: Temporal says when the last heartbeats were.
 * @param address Temporal's
 */
export async function stopHeard(address: string, workflowId: string): Promise<void> {
  const connection = await Connection.connect({ address });
  try {
    const handle = new Client({ connection }).workflow.getHandle(workflowId);
    /** The heartbeat that was the last one when the cancel of an activity was seen: a later one was answered with it. */
    const seenAfter = new Map<string, string>();
    const hasHeard = async () => {
      const { raw } = await handle.describe();
      const works = (raw.pendingActivities ?? []).filter(({ activityType }) => WORKS.includes(String(activityType?.name)));
      const heard = works.map(({ activityId, state, lastHeartbeatTime }) => {
        const [id, last] = [String(activityId), `${lastHeartbeatTime?.seconds} ${lastHeartbeatTime?.nanos}`];
        if (state !== CANCEL_REQUESTED) return false;
        if (!seenAfter.has(id)) seenAfter.set(id, last);
        return seenAfter.get(id) !== last;
      });
      return heard.length > 0 && heard.every(Boolean);
    };
    await expect.poll(hasHeard).toBe(true);
  } finally {
    await connection.close();
  }
}
