import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { AnnotationRating } from '../../../shared/wire/annotationRatings.ts';
import type { AnnotationQueueResponse, AnnotationTemplateDB } from '../../../shared/wire/annotations.ts';
import { filterOf, type Selection } from './selection.ts';
import { send } from './service.ts';

export type Queue = z.output<typeof AnnotationQueueResponse>;
export type Template = z.output<typeof AnnotationTemplateDB>;
export type Rating = AnnotationRating;

/** Queues that the account may change, whose name contains `name`. */
export const queuesQuery = (name: string) =>
  queryOptions({
    queryKey: ['queues', name],
    queryFn: async ({ signal }) => {
      const filters = name === '' ? [] : [{ name: 'name', operator: 'contains', value: name, case_sensitive: false }];
      const page = await send<{ annotation_queues: Queue[] }>('/annotation_queues/query', {
        ...{ body: { filters }, signal, repeatable: true },
      });
      return page.annotation_queues;
    },
  });

export const queueQuery = (id: string) =>
  queryOptions({
    queryKey: ['queue', id],
    queryFn: ({ signal }) => send<Queue>(`/annotation_queues/${id}`, { signal }),
    staleTime: 60_000,
  });

/** A queue that asks whether a record is good; other questions are added on its own page. */
export async function createQueue(name: string): Promise<string> {
  const { id } = await send<Queue>('/annotation_queues', { body: { name: { value: name } } });
  const template = { name: 'Good?', include_explanation: true, constraints: { annotation_type: 'like_dislike' } };
  await send(`/annotation_queues/${id}/templates`, { body: { template } });
  return id;
}

/** @returns how many were not in the queue before */
export async function addToQueue(queueId: string, selection: Selection): Promise<number> {
  const { run, records } = selection;
  const selector =
    'ids' in records
      ? { type: 'record_ids', record_ids: records.ids }
      : { type: 'filter_tree', filter_tree: filterOf(selection) ?? { and: [] } };
  const added = await send<{ num_records_added: number }>(`/annotation_queues/${queueId}/records`, {
    body: { project_id: run.projectId, run_id: run.runId, record_selector: selector },
    repeatable: true,
  });
  return added.num_records_added;
}

interface RatedBy {
  queueId: string;
  recordId: string;
  templateId: string;
}
const ratingPath = ({ queueId, recordId }: RatedBy) => `/annotation_queues/${queueId}/records/${recordId}/rating`;

export const rate = (of: RatedBy, rating: Rating, explanation?: string) =>
  send(ratingPath(of), {
    ...{ method: 'PUT', query: { annotation_template_id: of.templateId } },
    body: { rating, ...(explanation ? { explanation } : {}) },
  });

export const unrate = (of: RatedBy) =>
  send(ratingPath(of), { method: 'DELETE', query: { annotation_template_id: of.templateId } });
