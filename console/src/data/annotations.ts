import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { AnnotationRating } from '../../../shared/wire/annotationRatings.ts';
import type {
  AnnotationConstraints,
  AnnotationQueueDetailsResponse,
  AnnotationQueueResponse,
  AnnotationTemplateDB,
  QueueUser,
} from '../../../shared/wire/annotations.ts';
import type { LogRecord, RecordNode, RecordsPage } from './records.ts';
import { filterOf, type Selection } from './selection.ts';
import { send, sendOutliving } from './service.ts';

export type Queue = z.output<typeof AnnotationQueueResponse>;
export type Template = z.output<typeof AnnotationTemplateDB>;
export type Rating = AnnotationRating;
export type Annotator = z.output<typeof QueueUser>;
export type QueueDetails = z.output<typeof AnnotationQueueDetailsResponse>;
/** The constraints of a new question. */
export type Constraints = z.input<typeof AnnotationConstraints>;

/** Queues that the account sees, the last changed first, whose name contains `name`. */
export const queuesQuery = (name: string) =>
  queryOptions({
    queryKey: ['queues', name],
    queryFn: async ({ signal }) => {
      const filters = name === '' ? [] : [{ name: 'name', operator: 'contains', value: name, case_sensitive: false }];
      const page = await send<{ annotation_queues: Queue[] }>('/annotation_queues/query', {
        ...{ body: { filters, sort: { name: 'updated_at', ascending: false } }, signal, repeatable: true },
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

export const mayDo = (queue: Queue, wanted: 'update' | 'delete' | 'share' | 'record_annotation'): boolean =>
  queue.permissions.some(({ action, allowed }) => action === wanted && allowed);

/** A queue that asks whether a record is good; other questions are added on its own page. @returns its id */
export async function createQueue(name: string): Promise<string> {
  const { id } = await send<Queue>('/annotation_queues', { body: { name: { value: name } } });
  await addQuestion(id, {
    name: 'Good?',
    criteria: null,
    include_explanation: true,
    constraints: { annotation_type: 'like_dislike' },
  });
  return id;
}

export interface NewQuestion {
  name: string;
  criteria: string | null;
  include_explanation: boolean;
  constraints: Constraints;
}

export const addQuestion = (queueId: string, template: NewQuestion) =>
  send(`/annotation_queues/${queueId}/templates`, { body: { template } });

export const changeQuestion = (queueId: string, templateId: string, to: { name: string; criteria: string | null }) =>
  send(`/annotation_queues/${queueId}/templates/${templateId}`, { method: 'PATCH', body: to });

export const orderQuestions = (queueId: string, ordering: readonly string[]) =>
  send(`/annotation_queues/${queueId}/templates/reorder`, { body: { ordering } });

export const annotatorsQuery = (queueId: string) =>
  queryOptions({
    queryKey: ['annotators', queueId],
    queryFn: async ({ signal }) => {
      const query = { limit: 100 };
      return (await send<{ collaborators: Annotator[] }>(`/annotation_queues/${queueId}/users`, { query, signal })).collaborators;
    },
  });

export const setAnnotator = (queueId: string, email: string, role: Annotator['role']) =>
  send(`/annotation_queues/${queueId}/users`, { body: [{ user_email: email, role }] });

export const removeAnnotator = (queueId: string, userId: string) =>
  send(`/annotation_queues/${queueId}/users/${userId}`, { method: 'DELETE' });

export const queueDetailsQuery = (queueId: string) =>
  queryOptions({
    queryKey: ['queue details', queueId],
    queryFn: ({ signal }) => send<QueueDetails>(`/annotation_queues/${queueId}/details`, { signal }),
  });

/**
 * The records of a queue in the order in which they are rated: all, or those that a person has not answered every question about, as they were when the
 * page was opened. Ratings do not change the list, so that the way back is the same.
 */
export const queueRecordsQuery = (queueId: string, openFor: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ['queue records', queueId, openFor ?? null],
    initialPageParam: undefined as RecordsPage | undefined,
    queryFn: ({ pageParam, signal }) =>
      send<RecordsPage>(`/annotation_queues/${queueId}/partial_search`, {
        body: {
          ...(openFor === undefined
            ? {}
            : { filter_tree: { not: { filter: { type: 'fully_annotated', user_ids: [openFor] } } } }),
          ...{ limit: 100, starting_token: pageParam?.next_starting_token ?? 0 },
          ...(pageParam?.last_row_id ? { previous_last_row_id: pageParam.last_row_id } : {}),
          select_columns: { column_ids: ['id', 'type', 'name'], include_all_metrics: false, include_all_feedback: false },
          truncate_fields: true,
        },
        ...{ signal, repeatable: true },
      }),
    getNextPageParam: (last) => (last.next_starting_token === null ? undefined : last),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnReconnect: false,
  });

export const queueRecordQuery = (queueId: string, recordId: string) =>
  queryOptions({
    queryKey: ['queue record', queueId, recordId],
    queryFn: ({ signal }) => send<RecordNode>(`/annotation_queues/${queueId}/records/${recordId}`, { signal }),
    gcTime: 60_000,
  });

type Given = Record<string, Record<string, { value: Rating['value']; explanation: string | null }>>;

/** Reads people's answers to a question about a record, by their ids. */
export const answersTo = (record: LogRecord, templateId: string): Given[string] =>
  ((record.annotations ?? {}) as Given)[templateId] ?? {};

/** True when a person has answered every question of a queue about a record. */
export const isRatedBy = (record: LogRecord, queue: Queue, userId: string): boolean =>
  queue.templates.length > 0 && queue.templates.every(({ id }) => userId in answersTo(record, id));

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
  sendOutliving(ratingPath(of), {
    ...{ method: 'PUT', query: { annotation_template_id: of.templateId } },
    body: { rating, ...(explanation ? { explanation } : {}) },
  });

export const unrate = (of: RatedBy) =>
  sendOutliving(ratingPath(of), { method: 'DELETE', query: { annotation_template_id: of.templateId } });
