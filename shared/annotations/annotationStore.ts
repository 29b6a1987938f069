import type { Page, PageOf } from '../accounts/accountStore.ts';
import type { ProjectRole } from '../accounts/permissions.ts';
import type { RunRef } from '../projects/runs.ts';
import type { Deleted } from '../records/eraseRecords.ts';
import type {
  AnnotationQueueExportRequest,
  AnnotationQueueFilter,
  AnnotationQueueSort,
  StoredConstraints,
} from '../wire/annotations.ts';
import type { UserInfo } from '../wire/datasets.ts';
import type { AnnotationSource } from './createAnnotationReads.ts';
import type { RatingValue, StoredAnnotations } from './summarize.ts';

export interface Queue {
  id: string;
  name: string;
  description: string | null;
  createdBy: UserInfo;
  createdAt: string;
  updatedAt: string;
  numRecords: number;
  /** Users whose role is annotator. */
  numAnnotators: number;
  numUsers: number;
  numTemplates: number;
  /** Records on which each tracked user has rated every template. */
  annotated: Record<string, number>;
  /** Fraction of the records on which every template has a rating; null while there is nothing to rate. */
  overallProgress: number | null;
  /** The caller's role; undefined for a caller who is no user of the queue. */
  membership: ProjectRole | undefined;
}

export interface AnnotationTemplate {
  id: string;
  queueId: string;
  name: string;
  includeExplanation: boolean;
  criteria: string | null;
  constraints: StoredConstraints;
  position: number;
  createdBy: string;
  createdAt: string;
  /** Ratings that answer it. */
  usageCount: number;
}
export type NewTemplate = Pick<AnnotationTemplate, 'id' | 'name' | 'includeExplanation' | 'criteria' | 'constraints'>;

export interface QueueUser {
  id: string;
  queueId: string;
  userId: string;
  email: string;
  firstName: string | null;
  lastName: string | null;
  role: ProjectRole;
  trackProgress: boolean;
  createdAt: string;
}
export interface NewQueueUser {
  userId: string | undefined;
  email: string | undefined;
  role: ProjectRole;
  trackProgress: boolean;
}

/** A user, and whether they see all queues or only their own. */
export interface QueueViewer {
  userId: string;
  seesAll: boolean;
}

export interface QueueQuery {
  filters: readonly AnnotationQueueFilter[];
  /** Absent: last changed first. */
  sort: AnnotationQueueSort | null;
}

export interface StoredRating {
  value: RatingValue;
  explanation: string | null;
  createdAt: string;
  createdBy: string;
}

export interface ExportLink {
  userId: string;
  request: AnnotationQueueExportRequest;
}

/** Queues, their users and templates. */
export interface AnnotationQueueStore {
  /**
   * Inserts a queue with its creator as owner, these annotators, and copies of the templates of another queue.
   * @throws ServiceError `Conflict` when a queue that its creator sees has the name, `NotFound` for an unknown annotator; nothing is stored then.
   */
  insertQueue(
    queue: Pick<Queue, 'id' | 'name' | 'description'>,
    creator: QueueViewer,
    more: { users: readonly NewQueueUser[]; templates: readonly NewTemplate[] },
  ): Promise<void>;
  findQueue(viewer: QueueViewer, queueId: string): Promise<Queue | undefined>;
  queues(viewer: QueueViewer, query: QueueQuery, page: Page): Promise<PageOf<Queue>>;
  countQueues(viewer: QueueViewer, query: QueueQuery): Promise<number>;
  /** Changes what is given. @throws ServiceError `Conflict` when another queue that `viewer` sees has the new name. */
  updateQueue(
    queueId: string,
    change: { name?: string | undefined; description?: string | undefined },
    viewer: QueueViewer,
  ): Promise<void>;
  removeQueue(queueId: string): Promise<void>;
  /** Names of queues that `viewer` sees. */
  queueNamesFrom(viewer: QueueViewer, prefix: string): Promise<string[]>;

  queueUsers(queueId: string, page: Page): Promise<PageOf<QueueUser>>;
  /** Adds users or changes their role. @throws ServiceError `NotFound` for an unknown user; nothing is changed then. */
  setQueueUsers(queueId: string, users: readonly NewQueueUser[]): Promise<QueueUser[]>;
  updateQueueUser(
    queueId: string,
    userId: string,
    change: { role: ProjectRole; trackProgress: boolean | undefined },
  ): Promise<QueueUser | undefined>;
  removeQueueUser(queueId: string, userId: string): Promise<boolean>;

  /** Returns the templates of each of these queues, by position. */
  templates(queueIds: readonly string[]): Promise<AnnotationTemplate[]>;
  /** Puts templates behind those that are there. */
  addTemplates(queueId: string, templates: readonly NewTemplate[], createdBy: string): Promise<AnnotationTemplate[]>;
  updateTemplate(
    queueId: string,
    templateId: string,
    change: { name: string; criteria: string | null },
  ): Promise<AnnotationTemplate | undefined>;
  removeTemplate(queueId: string, templateId: string): Promise<boolean>;
  /** False, and nothing changed, unless `ordering` names every template of the queue once. */
  orderTemplates(queueId: string, ordering: readonly string[]): Promise<boolean>;

  /** Keeps an export, which its id alone opens, until it expires. */
  insertExport(link: ExportLink & { id: string; queueId: string; expiresAt: string }): Promise<void>;
  findExport(queueId: string, exportId: string): Promise<ExportLink | undefined>;
}

/** All of it: queues, and the records in them with their ratings. */
export interface AnnotationStore extends AnnotationQueueStore, AnnotationSource {
  /** The records of a queue, or those of these ids that it holds. */
  queuedRecords(queueId: string, recordIds?: readonly string[]): Promise<(RunRef & { recordId: string })[]>;
  /** @returns the ids that were not there before. @throws ServiceError `Conflict` when the queue would hold more than it may; none is added then. */
  addRecords(queueId: string, run: RunRef, recordIds: readonly string[], addedBy: string): Promise<string[]>;
  removeRecords(queueId: string, recordIds: readonly string[]): Promise<number>;
  /** Takes deleted records out of every queue, with their ratings. */
  forgetRecords(deleted: Deleted): Promise<void>;

  /** Stores or replaces a rating. Undefined when the record is not in the queue. */
  rate(
    at: { queueId: string; recordId: string; templateId: string; userId: string },
    rating: { value: RatingValue; explanation: string | null },
  ): Promise<StoredRating | undefined>;
  removeRating(at: { queueId: string; recordId: string; templateId: string; userId: string }): Promise<boolean>;
  annotationsOfQueue(queueId: string): Promise<StoredAnnotations>;
}
