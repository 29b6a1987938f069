import {
  type Caller,
  mayInQueue,
  type ProjectRole,
  type QueueAction,
  roleInQueue,
  seesAllProjects,
} from '../accounts/permissions.ts';
import { ServiceError } from '../errors/errors.ts';
import { freeName, nameStem } from '../identifiers/freeName.ts';
import type { AnnotationStore, NewTemplate, Queue, QueueViewer } from './annotationStore.ts';
import { copiedTemplate } from './templates.ts';

export interface QueueDeps {
  annotations: AnnotationStore;
  newId: () => string;
}

/** Returns the view that this caller has of the queues: administrators and managers see all of them, others those that they are users of. */
export const queueViewerOf = (caller: Caller): QueueViewer => ({ userId: caller.userId, seesAll: seesAllProjects(caller) });

/**
 * A queue, for a caller who may do this with it.
 * @throws ServiceError `NotFound` for one that is unknown or not theirs to see, `Forbidden`
 */
export async function queueFor(
  { annotations }: Pick<QueueDeps, 'annotations'>,
  caller: Caller,
  queueId: string,
  action: QueueAction | 'read',
): Promise<{ queue: Queue; role: ProjectRole }> {
  const queue = await annotations.findQueue(queueViewerOf(caller), queueId);
  const role = queue && roleIn(caller, queue);
  if (!role) throw new ServiceError('NotFound', `there is no annotation queue ${queueId}`);
  if (!mayInQueue(role, action))
    throw new ServiceError('Forbidden', `not allowed: ${role} of this annotation queue lacks ${action}`);
  return { queue, role };
}

/** The caller's role in a queue that was read for them. */
export const roleIn = (caller: Caller, queue: Queue): ProjectRole | undefined => roleInQueue(caller, queue.membership);

interface WantedName {
  value: string;
  appendSuffix: boolean;
}

/** Runs `store` with the name, or with one like it that is free among the queues that the caller sees; another request may take that one in between. @throws ServiceError `Conflict` */
export async function withFreeName<T>(
  { annotations }: Pick<QueueDeps, 'annotations'>,
  caller: Caller,
  { value, appendSuffix }: WantedName,
  except: string | undefined,
  store: (name: string) => Promise<T>,
): Promise<T> {
  for (;;) {
    const names = await annotations.queueNamesFrom(queueViewerOf(caller), nameStem(value));
    const name = freeName(names, { what: 'annotation queue', name: value, appendSuffix, except });
    try {
      return await store(name);
    } catch (err) {
      if (!appendSuffix || !(err instanceof ServiceError) || err.code !== 'Conflict') throw err;
    }
  }
}

/**
 * Creates a queue, owned by its creator.
 * @throws ServiceError `Conflict` when the name is taken; `NotFound` for an email that is no user's, or a queue to copy from that the caller cannot see.
 */
export async function createQueue(
  deps: QueueDeps,
  caller: Caller,
  input: {
    name: WantedName;
    description: string | null;
    annotatorEmails: readonly string[];
    copyTemplatesFrom: string | undefined;
  },
): Promise<string> {
  const templates = input.copyTemplatesFrom === undefined ? [] : await templatesToCopy(deps, caller, input.copyTemplatesFrom);
  const users = input.annotatorEmails.map((email) => ({
    userId: undefined,
    email,
    role: 'annotator' as const,
    trackProgress: true,
  }));
  const id = deps.newId();
  await withFreeName(deps, caller, input.name, undefined, (name) =>
    deps.annotations.insertQueue({ id, name, description: input.description }, queueViewerOf(caller), { users, templates }),
  );
  return id;
}

/** Copies of the templates of a queue that the caller sees. @throws ServiceError `NotFound` */
export async function templatesToCopy(deps: QueueDeps, caller: Caller, queueId: string): Promise<NewTemplate[]> {
  const { queue } = await queueFor(deps, caller, queueId, 'read');
  return (await deps.annotations.templates([queue.id])).map((template) => copiedTemplate(template, deps.newId));
}

/** The fraction of the queue's records on which a tracked user has rated every template; null while there is nothing to rate. */
export function progressOf({ annotated, numRecords, numTemplates }: Queue, userId: string): number | null {
  const done = annotated[userId];
  return done === undefined || numRecords === 0 || numTemplates === 0 ? null : done / numRecords;
}
