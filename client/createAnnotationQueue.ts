import type { z } from 'zod';
import type { AnnotationTemplateCreate, AnnotationQueueResponse as QueueSchema } from '../shared/wire/annotations.ts';
import { ValueError } from './errors.ts';
import { type CallOptions, clientOf } from './project.ts';

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
