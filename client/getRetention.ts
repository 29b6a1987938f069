import type { z } from 'zod';
import type { RetentionResponse } from '../shared/wire/retention.ts';
import { clientOf, type OperationOptions, resolveProject } from './project.ts';

export type Retention = z.output<typeof RetentionResponse>;

/** How long a project keeps its records. */
export async function getRetention(options: OperationOptions = {}): Promise<Retention> {
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/retention`);
}
