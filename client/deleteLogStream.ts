import { clientOf, type OperationOptions, resolveProject } from './project.ts';

/** Deletes a log stream with its records. @throws NotFoundError when the project has none of this id. */
export async function deleteLogStream(options: OperationOptions & { id: string }): Promise<void> {
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  await client.send(`/projects/${projectId}/log_streams/${encodeURIComponent(options.id)}`, { method: 'DELETE' });
}
