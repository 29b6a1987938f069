import type { TraceOutline } from '../shared/wire/traceOutline.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';

export type { TraceOutline };

/**
 * The tree of a trace in columns, without inputs and outputs: one array each of ids, parents, names, times and figures.
 * @throws NotFoundError for a trace that is not in the project.
 */
export async function traceOutline(options: OperationOptions & { traceId: string }): Promise<TraceOutline> {
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  return client.send(`/projects/${projectId}/traces/${encodeURIComponent(options.traceId)}/outline`);
}
