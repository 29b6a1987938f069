import type { z } from 'zod';
import type { LogStream } from '../shared/wire/projects.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import { ValueError } from './errors.ts';
import { type Pages, pagesOf } from './pages.ts';

/** Creates a log stream. A logger makes its own. @throws ValueError without a name; HttpStatusError 409 when the name is taken. */
export async function createLogStream(options: OperationOptions & { name: string }): Promise<LogStreamResponse> {
  const { name } = options;
  if (!name) throw new ValueError('a log stream needs a name');
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/log_streams`, { body: { name } });
}

export type LogStreamResponse = z.output<typeof LogStream>;

/** The log streams of a project, newest first; with `includeCounts`, how many records they hold and when the newest was made. */
export function listLogStreams(options: OperationOptions & { includeCounts?: boolean } = {}): Pages<LogStreamResponse> {
  const client = clientOf(options);
  const path = async () => `/projects/${await resolveProject(client, options)}/log_streams/paginated`;
  return pagesOf(client, path, 'log_streams', undefined, { include_counts: options.includeCounts ?? false });
}

/** Deletes a log stream with its records. @throws NotFoundError when the project has none of this id. */
export async function deleteLogStream(options: OperationOptions & { id: string }): Promise<void> {
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  await client.send(`/projects/${projectId}/log_streams/${encodeURIComponent(options.id)}`, { method: 'DELETE' });
}
