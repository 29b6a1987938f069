import type { z } from 'zod';
import type {
  AddRecordsToQueueResponse,
  AnnotationTemplateCreate,
  AnnotationQueueResponse as QueueSchema,
} from '../shared/wire/annotations.ts';
import { type CallOptions, clientOf } from './callOptions.ts';
import { noneOf, ValueError } from './errors.ts';
import { type Pages, pagesOf } from './pages.ts';

export type AnnotationQueueResponse = z.output<typeof QueueSchema>;
/** A question to the annotators: its name, and by `constraints.annotation_type` what may be answered. */
export type AnnotationTemplate = z.input<typeof AnnotationTemplateCreate>;

export interface CreateAnnotationQueueOptions extends CallOptions {
  name: string;
  description?: string | undefined;
  /** Users of the service who are to rate. */
  annotatorEmails?: string[] | undefined;
  templates?: AnnotationTemplate[] | undefined;
}

/**
 * Creates an annotation queue with these templates, in their order.
 * @throws ValueError without a name; HttpStatusError 409 when the name is taken, 422 for a template that is none (the queue is there then, with the
 * templates before it); NotFoundError for an email that is no user's.
 */
export async function createAnnotationQueue(options: CreateAnnotationQueueOptions): Promise<AnnotationQueueResponse> {
  const { name, description, annotatorEmails, templates = [] } = options;
  if (!name) throw new ValueError('an annotation queue needs a name');
  const client = clientOf(options);
  const queue = await client.send<AnnotationQueueResponse>('/annotation_queues', {
    body: { name: { value: name }, description, annotator_emails: annotatorEmails },
  });
  const path = `/annotation_queues/${queue.id}`;
  for (const template of templates) await client.send(`${path}/templates`, { body: { template } });
  return templates.length > 0 ? client.send<AnnotationQueueResponse>(path) : queue;
}

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

/** The annotation queues that the caller can see. */
export const listAnnotationQueues = (options: CallOptions = {}): Pages<AnnotationQueueResponse> =>
  pagesOf(clientOf(options), '/annotation_queues/query', 'annotation_queues', { filters: [] });

export interface AddToAnnotationQueueOptions extends CallOptions {
  queueId: string;
  projectId: string;
  /** The log stream or experiment that holds the records. */
  runId: string;
  /** Traces, spans or sessions. */
  recordIds: string[];
}

/** Puts records in an annotation queue; those that are in it already stay as they are. @returns how many were not */
export async function addToAnnotationQueue(options: AddToAnnotationQueueOptions): Promise<number> {
  const { queueId, projectId, runId, recordIds } = options;
  const added = await clientOf(options).send<z.output<typeof AddRecordsToQueueResponse>>(
    `/annotation_queues/${encodeURIComponent(queueId)}/records`,
    {
      body: { project_id: projectId, run_id: runId, record_selector: { type: 'record_ids', record_ids: recordIds } },
      repeatable: true,
    },
  );
  return added.num_records_added;
}

/** Deletes an annotation queue. Ratings stay with their records. @throws NotFoundError when there is none. */
export async function deleteAnnotationQueue(options: CallOptions & { id: string }): Promise<void> {
  await clientOf(options).send(`/annotation_queues/${encodeURIComponent(options.id)}`, { method: 'DELETE' });
}
