import { z } from 'zod';
import { type Caller, type ProjectRole, queuePermissions } from '../../shared/accounts/permissions.ts';
import type * as stored from '../../shared/annotations/annotationStore.ts';
import {
  createQueue,
  progressOf,
  type QueueDeps,
  queueFor,
  queueViewerOf,
  roleIn,
  withFreeName,
} from '../../shared/annotations/queues.ts';
import { summarizeQueue } from '../../shared/annotations/summarize.ts';
import { inPieces } from '../../shared/concurrency/inPieces.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import {
  AnnotationQueueCountResponse,
  AnnotationQueueDetailsResponse,
  AnnotationQueueResponse,
  CreateAnnotationQueueRequest,
  ListAnnotationQueueParams,
  ListAnnotationQueueResponse,
  QueueParams,
  QueueUser,
  QueueUserParams,
  QueueUsersCreate,
  QueueUsersPage,
  QueueUserUpdate,
  UpdateAnnotationQueueRequest,
} from '../../shared/wire/annotations.ts';
import { Message, PageQuery, type PageRequest, pageFields } from '../../shared/wire/common.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { toTemplateResponse } from '../views/annotationTemplates.ts';

const tag = 'Annotations';
const access = { organization: 'use_queues' } as const;
const one = '/annotation_queues/{queue_id}';
const toPage = ({ starting_token, limit }: PageRequest) => ({ offset: starting_token, limit });

/** Queues of records that people rate. */
export function annotationQueueRoutes(deps: QueueDeps): Endpoint[] {
  const { annotations } = deps;
  const answer = async (caller: Caller, queueId: string) => {
    const { queue, role } = await queueFor(deps, caller, queueId, 'read');
    return toQueueResponse(queue, role, await annotations.templates([queueId]));
  };
  return [
    endpoint({
      method: 'post',
      path: '/annotation_queues',
      errors: ['NotFound', 'Conflict'],
      summary: 'Create an annotation queue',
      description: 'The caller owns it. `annotator_emails` become its annotators; they must be users already.',
      tag,
      access: { organization: 'create_queue' },
      body: CreateAnnotationQueueRequest,
      response: AnnotationQueueResponse,
      async handle({ caller, body }) {
        const id = await createQueue(deps, caller, {
          name: body.name,
          description: body.description ?? null,
          annotatorEmails: body.annotator_emails ?? [],
          copyTemplatesFrom: body.copy_templates_from_queue_id ?? undefined,
        });
        return answer(caller, id);
      },
    }),
    endpoint({
      method: 'post',
      path: '/annotation_queues/query',
      summary: 'Find annotation queues, last changed first unless sorted',
      tag,
      access,
      query: PageQuery,
      body: ListAnnotationQueueParams,
      response: ListAnnotationQueueResponse,
      async handle({ caller, query, body }) {
        const { items, hasMore } = await annotations.queues(queueViewerOf(caller), body, toPage(query));
        const templates = Map.groupBy(
          await inPieces(items, (piece) => annotations.templates(piece.map(({ id }) => id))),
          ({ queueId }) => queueId,
        );
        return {
          ...pageFields(query, items.length, hasMore),
          annotation_queues: items.map((queue) =>
            toQueueResponse(queue, roleIn(caller, queue) ?? 'viewer', templates.get(queue.id) ?? []),
          ),
        };
      },
    }),
    endpoint({
      method: 'post',
      path: '/annotation_queues/count',
      summary: 'Count annotation queues',
      tag,
      access,
      body: ListAnnotationQueueParams,
      response: AnnotationQueueCountResponse,
      handle: async ({ caller, body }) => ({ total_count: await annotations.countQueues(queueViewerOf(caller), body) }),
    }),
    endpoint({
      method: 'get',
      path: one,
      summary: 'An annotation queue',
      tag,
      access,
      params: QueueParams,
      response: AnnotationQueueResponse,
      handle: ({ caller, params }) => answer(caller, params.queue_id),
    }),
    endpoint({
      method: 'patch',
      path: one,
      errors: ['Conflict'],
      summary: 'Rename or describe an annotation queue',
      tag,
      access,
      params: QueueParams,
      body: UpdateAnnotationQueueRequest,
      response: AnnotationQueueResponse,
      async handle({ caller, params, body }) {
        const { queue } = await queueFor(deps, caller, params.queue_id, 'update');
        const description = body.description ?? undefined;
        const named = body.name ?? { value: queue.name, appendSuffix: false };
        await withFreeName(deps, caller, named, queue.name, (name) =>
          annotations.updateQueue(queue.id, { name, description }, queueViewerOf(caller)),
        );
        return answer(caller, queue.id);
      },
    }),
    endpoint({
      method: 'delete',
      path: one,
      summary: 'Delete an annotation queue with its templates and ratings; the records stay',
      tag,
      access,
      params: QueueParams,
      response: Message,
      async handle({ caller, params }) {
        await queueFor(deps, caller, params.queue_id, 'delete');
        await annotations.removeQueue(params.queue_id);
        return { message: 'annotation queue deleted' };
      },
    }),
    endpoint({
      method: 'get',
      path: `${one}/details`,
      summary: 'What the ratings of an annotation queue add up to',
      tag,
      access,
      params: QueueParams,
      response: AnnotationQueueDetailsResponse,
      async handle({ caller, params }) {
        await queueFor(deps, caller, params.queue_id, 'read');
        const summary = summarizeQueue(await annotations.annotationsOfQueue(params.queue_id));
        return {
          num_logs_fully_annotated: summary.fullyAnnotated,
          annotation_aggregates: summary.aggregates,
          annotation_aggregates_by_annotator: summary.byAnnotator,
          overall_annotation_agreement: summary.agreement,
        };
      },
    }),
    ...userRoutes(deps),
  ];
}

const userRoutes = (deps: QueueDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: `${one}/users`,
    summary: 'Add users to an annotation queue, or change their role; answers in the order given',
    tag,
    access,
    params: QueueParams,
    body: QueueUsersCreate,
    response: z.array(QueueUser),
    async handle({ caller, params, body }) {
      await queueFor(deps, caller, params.queue_id, 'share');
      const users = await deps.annotations.setQueueUsers(
        params.queue_id,
        body.map(({ user_id, user_email, role, track_progress }) => ({
          userId: user_id ?? undefined,
          email: user_email ?? undefined,
          role,
          trackProgress: track_progress,
        })),
      );
      return describeUsers(deps, caller, params.queue_id, users);
    },
  }),
  endpoint({
    method: 'get',
    path: `${one}/users`,
    summary: "An annotation queue's users",
    tag,
    access,
    params: QueueParams,
    query: PageQuery,
    response: QueueUsersPage,
    async handle({ caller, params, query }) {
      await queueFor(deps, caller, params.queue_id, 'read');
      const { items, hasMore } = await deps.annotations.queueUsers(params.queue_id, toPage(query));
      return {
        ...pageFields(query, items.length, hasMore),
        collaborators: await describeUsers(deps, caller, params.queue_id, items),
      };
    },
  }),
  endpoint({
    method: 'patch',
    path: `${one}/users/{user_id}`,
    summary: "Change a user's role in an annotation queue",
    tag,
    access,
    params: QueueUserParams,
    body: QueueUserUpdate,
    response: QueueUser,
    async handle({ caller, params, body }) {
      await queueFor(deps, caller, params.queue_id, 'share');
      const change = { role: body.role, trackProgress: body.track_progress ?? undefined };
      const user = foundUser(await deps.annotations.updateQueueUser(params.queue_id, params.user_id, change));
      return (await describeUsers(deps, caller, params.queue_id, [user]))[0] as z.input<typeof QueueUser>;
    },
  }),
  endpoint({
    method: 'delete',
    path: `${one}/users/{user_id}`,
    summary: 'Remove a user from an annotation queue; their ratings stay',
    tag,
    access,
    params: QueueUserParams,
    response: Message,
    async handle({ caller, params }) {
      await queueFor(deps, caller, params.queue_id, 'share');
      foundUser((await deps.annotations.removeQueueUser(params.queue_id, params.user_id)) || undefined);
      return { message: 'user removed from the annotation queue' };
    },
  }),
];

function foundUser<T>(user: T | undefined): T {
  if (user === undefined) throw new ServiceError('NotFound', 'no such user in this annotation queue');
  return user;
}

const toQueueResponse = (
  queue: stored.Queue,
  role: ProjectRole,
  templates: readonly stored.AnnotationTemplate[],
): z.input<typeof AnnotationQueueResponse> => {
  const progress = Object.keys(queue.annotated).map((userId) => [userId, progressOf(queue, userId)] as const);
  return {
    id: queue.id,
    permissions: queuePermissions(role),
    name: queue.name,
    description: queue.description,
    created_at: queue.createdAt,
    updated_at: queue.updatedAt,
    created_by_user: queue.createdBy,
    num_log_records: queue.numRecords,
    num_annotators: queue.numAnnotators,
    num_users: queue.numUsers,
    num_templates: queue.numTemplates,
    num_logs_annotated: queue.annotated,
    progress: Object.fromEntries(progress.flatMap(([userId, done]) => (done === null ? [] : [[userId, done]]))),
    overall_progress: queue.overallProgress,
    templates: templates.map(toTemplateResponse),
  };
};

async function describeUsers(
  deps: QueueDeps,
  caller: Caller,
  queueId: string,
  users: readonly stored.QueueUser[],
): Promise<z.input<typeof QueueUser>[]> {
  const { queue, role } = await queueFor(deps, caller, queueId, 'read');
  const permissions = (['update', 'delete'] as const).map((action) => ({ action, allowed: role === 'owner' }));
  return users.map((user) => ({
    id: user.id,
    permissions,
    role: user.role,
    created_at: user.createdAt,
    user_id: user.userId,
    first_name: user.firstName,
    last_name: user.lastName,
    email: user.email,
    annotation_queue_id: queueId,
    track_progress: user.trackProgress,
    progress: progressOf(queue, user.userId),
  }));
}
