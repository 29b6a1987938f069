import type { z } from 'zod';
import type { LogStream } from '../shared/wire/projects.ts';
import { type Pages, pagesOf } from './pages.ts';
import { clientOf, type OperationOptions, resolveProject } from './project.ts';

export type LogStreamResponse = z.output<typeof LogStream>;

/** The log streams of a project, newest first. */
export function listLogStreams(options: OperationOptions = {}): Pages<LogStreamResponse> {
  const client = clientOf(options);
  return pagesOf(client, async () => `/projects/${await resolveProject(client, options)}/log_streams/paginated`, 'log_streams');
}
