import { type CallOptions, clientOf } from './project.ts';

/** Deletes a project with all its log streams, experiments and records. @throws NotFoundError when there is none. */
export async function deleteProject(options: CallOptions & { id: string }): Promise<void> {
  await clientOf(options).send(`/projects/${encodeURIComponent(options.id)}`, { method: 'DELETE' });
}
