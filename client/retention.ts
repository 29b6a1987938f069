import type { z } from 'zod';
import type { RetentionResponse } from '../shared/wire/retention.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import { ValueError } from './errors.ts';

export type Retention = z.output<typeof RetentionResponse>;

/** How long a project keeps its records. */
export async function getRetention(options: OperationOptions = {}): Promise<Retention> {
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/retention`);
}

/**
 * Changes how long a project keeps its records. What is older is gone at once, and does not come back.
 * @param options.days of 24 hours; null: for ever
 * @throws ValueError for days that are none.
 */
export async function setRetention(options: OperationOptions & { days: number | null }): Promise<Retention> {
  const { days } = options;
  if (days !== null && !(Number.isInteger(days) && days > 0))
    throw new ValueError('days must be a whole number from 1 on, or null');
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/retention`, {
    method: 'PUT',
    body: { retention_days: days },
  });
}
