import type { Client, WorkflowExecutionDescription } from '@temporalio/client';

/** Events at the end of a history that are looked at. */
const LAST_EVENTS = 50;
/** Tries of one workflow task from which on it does not fail by chance. */
const FAILING_FROM = 3;
/** Seconds after which a task that no worker has taken is worth a word. */
const UNTAKEN_SECONDS = 60;

/** Returns the reason that an execution ended with; null where its end has none. */
export async function endReason(client: Client, workflowId: string, runId: string): Promise<string | null> {
  const [last] = await lastEvents(client, workflowId, runId, 1);
  const said =
    last?.workflowExecutionTerminatedEventAttributes?.reason ?? last?.workflowExecutionFailedEventAttributes?.failure?.message;
  return said || null;
}

/** Why an open execution does not get on: its tasks fail again and again, or no worker takes them. Null when it does. */
export async function taskProblem(
  client: Client,
  { workflowId, runId, raw }: WorkflowExecutionDescription,
): Promise<string | null> {
  const task = raw.pendingWorkflowTask;
  if (!task) return null;
  if ((task.attempt ?? 1) >= FAILING_FROM) {
    // Only the first failure of a task is in the history; the others say the same.
    const events = await lastEvents(client, workflowId, runId, LAST_EVENTS);
    const failed = events.find((event) => event.workflowTaskFailedEventAttributes)?.workflowTaskFailedEventAttributes;
    const why = failed?.failure?.message ?? 'they run into their time limit';
    return `the tasks of its workflow fail (${task.attempt} tries): ${why}`;
  }
  const waited = Date.now() / 1_000 - Number(task.originalScheduledTime?.seconds ?? 0);
  const isUntaken = !task.startedTime && task.originalScheduledTime && waited > UNTAKEN_SECONDS;
  return isUntaken ? 'no worker takes the tasks of its workflow: start one' : null;
}

/** Newest first. */
async function lastEvents(client: Client, workflowId: string, runId: string, count: number) {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: count,
  });
  return history?.events ?? [];
}
