import type { AnnotationQueueResponse } from './createAnnotationQueue.ts';
import { noneOf, ValueError } from './errors.ts';
import { type CallOptions, clientOf } from './project.ts';

/**
 * The annotation queue of a name or id; undefined when there is none that the caller may see.
 * @throws ValueError unless exactly one of them is given.
 */
export async function getAnnotationQueue(
  options: CallOptions & { name?: string | undefined; id?: string | undefined },
): Promise<AnnotationQueueResponse | undefined> {
  const { name, id } = options;
  if (!name === !id) throw new ValueError('name the annotation queue: by its name or by its id');
  const client = clientOf(options);
  if (id) return client.send<AnnotationQueueResponse>(`/annotation_queues/${encodeURIComponent(id)}`).catch(noneOf);
  const found = await client.send<{ annotation_queues: AnnotationQueueResponse[] }>('/annotation_queues/query', {
    body: { filters: [{ name: 'name', operator: 'eq', value: name }], sort: { name: 'updated_at', ascending: false } },
    query: { limit: 1 },
    repeatable: true,
  });
  return found.annotation_queues[0];
}
