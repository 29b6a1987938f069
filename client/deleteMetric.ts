import { type CallOptions, clientOf } from './project.ts';

/** Deletes a metric of yours. Experiments keep the values that it gave. @throws NotFoundError when there is none. */
export async function deleteMetric(options: CallOptions & { id: string }): Promise<void> {
  await clientOf(options).send(`/scorers/${encodeURIComponent(options.id)}`, { method: 'DELETE' });
}
