import type { z } from 'zod';
import type { StoredRating } from '../../shared/annotations/annotationStore.ts';
import { type QueueDeps, queueFor } from '../../shared/annotations/queues.ts';
import { checkRating } from '../../shared/annotations/templates.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import type { AnnotationRating } from '../../shared/wire/annotationRatings.ts';
import { AnnotationRatingCreate, AnnotationRatingDB, QueueRecordParams, RatingQuery } from '../../shared/wire/annotations.ts';
import { Message } from '../../shared/wire/common.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { notInQueue } from '../records/queueSelection.ts';

const tag = 'Annotations';
const access = { organization: 'use_queues' } as const;
const path = '/annotation_queues/{queue_id}/records/{record_id}/rating';

/** Ratings of a queue's records. */
export const annotationRatingRoutes = (deps: QueueDeps): Endpoint[] => [
  endpoint({
    method: 'put',
    path: path,
    summary: "Rate a record by one template, in place of the caller's rating before",
    tag,
    access,
    params: QueueRecordParams,
    query: RatingQuery,
    body: AnnotationRatingCreate,
    response: AnnotationRatingDB,
    async handle({ caller, params, query, body }) {
      await queueFor(deps, caller, params.queue_id, 'record_annotation');
      const templates = await deps.annotations.templates([params.queue_id]);
      const template = templates.find(({ id }) => id === query.annotation_template_id);
      if (!template) throw notInQueue('template');
      checkRating(template.constraints, body.rating);
      const rating = await deps.annotations.rate(
        { queueId: params.queue_id, recordId: params.record_id, templateId: template.id, userId: caller.userId },
        { value: body.rating.value, explanation: body.explanation ?? null },
      );
      if (!rating) throw notInQueue('record');
      return toRatingResponse(body.rating.annotation_type, rating);
    },
  }),
  endpoint({
    method: 'delete',
    path: path,
    summary: "Take back the caller's rating of a record by one template",
    tag,
    access,
    params: QueueRecordParams,
    query: RatingQuery,
    response: Message,
    async handle({ caller, params, query }) {
      await queueFor(deps, caller, params.queue_id, 'record_annotation');
      const at = { queueId: params.queue_id, recordId: params.record_id, templateId: query.annotation_template_id };
      if (!(await deps.annotations.removeRating({ ...at, userId: caller.userId })))
        throw new ServiceError('NotFound', 'you have not rated this record by this template');
      return { message: 'rating deleted' };
    },
  }),
];

const toRatingResponse = (
  type: AnnotationRating['annotation_type'],
  { value, explanation, createdAt, createdBy }: StoredRating,
): z.input<typeof AnnotationRatingDB> => ({
  explanation,
  rating: { annotation_type: type, value } as AnnotationRating,
  created_at: createdAt,
  created_by: createdBy,
});
