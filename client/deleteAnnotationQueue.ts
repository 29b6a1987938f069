import { type CallOptions, clientOf } from './project.ts';

/** Deletes an annotation queue. Ratings stay with their records. @throws NotFoundError when there is none. */
export async function deleteAnnotationQueue(options: CallOptions & { id: string }): Promise<void> {
  await clientOf(options).send(`/annotation_queues/${encodeURIComponent(options.id)}`, { method: 'DELETE' });
}
