import type { Client, Connection } from '@temporalio/client';
import { ensureSearchAttributes } from './connect.ts';
import { scheduleSweeps } from './sweepSchedule.ts';

const PATIENCE_MS = 10_000;

/**
 * Sees to what our workflows find in their namespace: search attributes, without which they wait at their first step, and the daily sweep.
 * To be repeated: the server may have been replaced by an empty one.
 */
export async function prepareNamespace(connection: Connection, client: Client, namespace: string): Promise<void> {
  await connection.withDeadline(Date.now() + PATIENCE_MS, () => ensureSearchAttributes(connection, namespace));
  await scheduleSweeps(client);
}
