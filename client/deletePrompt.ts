import { type CallOptions, clientOf } from './project.ts';

/** Deletes a prompt template. Experiments keep the version that they ran. @throws NotFoundError when there is none. */
export async function deletePrompt(options: CallOptions & { id: string }): Promise<void> {
  await clientOf(options).send(`/templates/${encodeURIComponent(options.id)}`, { method: 'DELETE' });
}
