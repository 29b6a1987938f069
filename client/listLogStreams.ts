import type { z } from 'zod';
import type { LogStream } from '../shared/wire/projects.ts';
import { type Pages, pagesOf } from './pages.ts';
import { clientOf, type OperationOptions, resolveProject } from './project.ts';

export type LogStreamResponse = z.output<typeof LogStream>;

/** The log streams of a project, newest first; with `includeCounts`, how many records they hold and when the newest was made. */
export function listLogStreams(options: OperationOptions & { includeCounts?: boolean } = {}): Pages<LogStreamResponse> {
  const client = clientOf(options);
  const path = async () => `/projects/${await resolveProject(client, options)}/log_streams/paginated`;
  return pagesOf(client, path, 'log_streams', undefined, { include_counts: options.includeCounts ?? false });
}
