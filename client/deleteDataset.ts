import { type CallOptions, clientOf } from './project.ts';

/** Deletes a dataset. Experiments keep the rows that they ran. @throws NotFoundError when there is none. */
export async function deleteDataset(options: CallOptions & { id: string }): Promise<void> {
  await clientOf(options).send(`/datasets/${encodeURIComponent(options.id)}`, { method: 'DELETE' });
}
