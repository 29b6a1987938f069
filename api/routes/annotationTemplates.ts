import { z } from 'zod';
import { type QueueDeps, queueFor, templatesToCopy } from '../../shared/annotations/queues.ts';
import { newTemplate } from '../../shared/annotations/templates.ts';
import { RequestInvalid, ServiceError } from '../../shared/errors/errors.ts';
import {
  AnnotationTemplateDB,
  AnnotationTemplateReorder,
  AnnotationTemplateUpdate,
  CreateQueueTemplateRequest,
  QueueParams,
  QueueTemplateParams,
} from '../../shared/wire/annotations.ts';
import { Message } from '../../shared/wire/common.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { toTemplateResponse } from '../views/annotationTemplates.ts';

const tag = 'Annotations';
const access = { organization: 'use_queues' } as const;
const path = '/annotation_queues/{queue_id}/templates';

/** The questions that a queue asks of each record. */
export const annotationTemplateRoutes = (deps: QueueDeps): Endpoint[] => [
  endpoint({
    method: 'get',
    path,
    summary: "An annotation queue's templates, in their order",
    tag,
    access,
    params: QueueParams,
    response: z.array(AnnotationTemplateDB),
    async handle({ caller, params }) {
      await queueFor(deps, caller, params.queue_id, 'read');
      return (await deps.annotations.templates([params.queue_id])).map(toTemplateResponse);
    },
  }),
  endpoint({
    method: 'post',
    path,
    summary: 'Add a template to an annotation queue, or copies of those of another queue; answers the templates added',
    tag,
    access,
    params: QueueParams,
    body: CreateQueueTemplateRequest,
    response: z.array(AnnotationTemplateDB),
    async handle({ caller, params, body }) {
      await queueFor(deps, caller, params.queue_id, 'update');
      const added = body.template
        ? [newTemplate(body.template, deps.newId)]
        : await templatesToCopy(deps, caller, body.copy_from_queue_id as string);
      return (await deps.annotations.addTemplates(params.queue_id, added, caller.userId)).map(toTemplateResponse);
    },
  }),
  endpoint({
    method: 'post',
    path: `${path}/reorder`,
    summary: 'Put the templates of an annotation queue in another order',
    description: '`ordering` names every template of the queue once.',
    tag,
    access,
    params: QueueParams,
    body: AnnotationTemplateReorder,
    response: Message,
    async handle({ caller, params, body }) {
      await queueFor(deps, caller, params.queue_id, 'update');
      if (await deps.annotations.orderTemplates(params.queue_id, body.ordering)) return { message: 'templates reordered' };
      const msg = 'the ordering must name every template of the queue once, and no other';
      throw new RequestInvalid([{ loc: ['body', 'ordering'], msg, type: 'ordering_invalid' }]);
    },
  }),
  endpoint({
    method: 'patch',
    path: `${path}/{template_id}`,
    summary: 'Rename a template, or change its criteria',
    tag,
    access,
    params: QueueTemplateParams,
    body: AnnotationTemplateUpdate,
    response: AnnotationTemplateDB,
    async handle({ caller, params, body }) {
      await queueFor(deps, caller, params.queue_id, 'update');
      return toTemplateResponse(orNotFound(await deps.annotations.updateTemplate(params.queue_id, params.template_id, body)));
    },
  }),
  endpoint({
    method: 'delete',
    path: `${path}/{template_id}`,
    summary: 'Delete a template with its ratings',
    tag,
    access,
    params: QueueTemplateParams,
    response: Message,
    async handle({ caller, params }) {
      await queueFor(deps, caller, params.queue_id, 'update');
      orNotFound((await deps.annotations.removeTemplate(params.queue_id, params.template_id)) || undefined);
      return { message: 'template deleted' };
    },
  }),
];

function orNotFound<T>(template: T | undefined): T {
  if (template === undefined) throw new ServiceError('NotFound', 'no such template in this annotation queue');
  return template;
}
