import { ValueError } from './errors.ts';
import type { LogStreamResponse } from './listLogStreams.ts';
import { clientOf, type OperationOptions, resolveProject } from './project.ts';

/** Creates a log stream. A logger makes its own. @throws ValueError without a name; HttpStatusError 409 when the name is taken. */
export async function createLogStream(options: OperationOptions & { name: string }): Promise<LogStreamResponse> {
  const { name } = options;
  if (!name) throw new ValueError('a log stream needs a name');
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/log_streams`, { body: { name } });
}
