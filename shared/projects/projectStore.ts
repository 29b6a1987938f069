import type { z } from 'zod';
import type { Page, PageOf } from '../accounts/accountStore.ts';
import type { ProjectRole } from '../accounts/permissions.ts';
import type { LogStreamFilter, LogStreamSort, ProjectFilter, ProjectSort, projectTypes } from '../wire/projects.ts';
import type { MembershipSource } from './access.ts';
import type { Run, RunNames } from './runs.ts';

export type ProjectType = (typeof projectTypes)[number];

export interface Project {
  id: string;
  name: string;
  type: ProjectType;
  description: string | null;
  labels: string[];
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
}

/** The user whose view of the projects is asked for. */
export interface Viewer {
  userId: string;
  seesAll: boolean;
  /** Set for a key limited to a project. */
  onlyProjectId: string | undefined;
}

export interface ProjectQuery {
  filters: readonly z.output<typeof ProjectFilter>[];
  /** Absent: newest first. */
  sort?: z.output<typeof ProjectSort> | null | undefined;
}

interface Collaborator {
  id: string;
  role: ProjectRole;
  createdAt: Date;
}
export type UserCollaborator = Collaborator & {
  userId: string;
  email: string;
  firstName: string | null;
  lastName: string | null;
};
export type GroupCollaborator = Collaborator & { groupId: string; groupName: string };

/** A deletion whose metadata is gone and whose records may not be. */
/** A project that was deleted or, with `runId`, one run of it. */
export interface DeletedWhole {
  projectId: string;
  runId: string | undefined;
}

export interface PendingDeletion extends DeletedWhole {
  id: string;
  requestedAt: Date;
}

/** The user whose view of the groups of users is asked for. */
export interface GroupViewer {
  userId: string;
  seesHidden: boolean;
}

/** Stores the collaborators of a project, or of another thing that may be shared; `id` is that thing's. */
export interface CollaboratorStore {
  userCollaborators(id: string, page: Page): Promise<PageOf<UserCollaborator>>;
  /** Adds users, named by id or email, or changes their role. @throws ServiceError `NotFound` for an unknown user; nothing is changed then. */
  setUserCollaborators(
    id: string,
    given: readonly { userId: string | undefined; email: string | undefined; role: ProjectRole }[],
  ): Promise<UserCollaborator[]>;
  updateUserCollaborator(id: string, userId: string, role: ProjectRole): Promise<UserCollaborator | undefined>;
  removeUserCollaborator(id: string, userId: string): Promise<boolean>;

  /** @param by who asks: hidden groups are listed for their members, and where `seesHidden` */
  groupCollaborators(id: string, page: Page, by: GroupViewer): Promise<PageOf<GroupCollaborator>>;
  /**
   * Adds groups or changes their role.
   * @throws ServiceError `NotFound` for a group that is unknown, or hidden from who shares; nothing is changed then.
   */
  setGroupCollaborators(
    id: string,
    given: readonly { groupId: string; role: ProjectRole }[],
    by: GroupViewer,
  ): Promise<GroupCollaborator[]>;
  updateGroupCollaborator(id: string, groupId: string, role: ProjectRole): Promise<GroupCollaborator | undefined>;
  removeGroupCollaborator(id: string, groupId: string): Promise<boolean>;
}

export interface ProjectStore extends MembershipSource, CollaboratorStore {
  /** Inserts a project with its creator as owner. @throws ServiceError `Conflict` when a project that they see has the name. */
  insert(project: Pick<Project, 'id' | 'name' | 'type'>, creator: Viewer): Promise<Project>;
  /**
   * Projects that `viewer` sees; all of them without a page. `membership` is the viewer's role by name or through a group. Asked for by exact name and
   * without a sort, the one that the viewer has seen longest is the first.
   */
  find(viewer: Viewer, query: ProjectQuery, page?: Page): Promise<PageOf<Project & { membership: ProjectRole | undefined }>>;
  count(viewer: Viewer, query: ProjectQuery): Promise<number>;
  /**
   * Changes what is given. Undefined when there is no such project.
   * @throws ServiceError `Conflict` when another project that `viewer` sees has the name.
   */
  update(
    projectId: string,
    change: Partial<Pick<Project, 'name' | 'labels' | 'description'>>,
    viewer: Viewer,
  ): Promise<Project | undefined>;
  /** The newest `limit` runs of each project. */
  newestRuns(projectIds: readonly string[], limit: number): Promise<Run[]>;
}

/** Deleting in two stores: the metadata goes in one transaction that leaves a note, the note goes when the records are gone. */
export interface DeletionStore {
  /** Removes a project, or one run of it, with all its metadata. Undefined when there is none. */
  removeMetadata(deletionId: string, projectId: string, runId?: string): Promise<PendingDeletion | undefined>;
  pendingDeletions(): Promise<PendingDeletion[]>;
  recordsDeleted(deletionId: string): Promise<void>;
  /** The projects and runs that were deleted in the last `seconds`, or to which a write came late in that time. */
  deletedOfLate(seconds: number): Promise<DeletedWhole[]>;
}

export interface LogStream {
  id: string;
  projectId: string;
  name: string;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
}

export interface LogStreamQuery {
  filters: readonly z.output<typeof LogStreamFilter>[];
  /** Absent: newest first. */
  sort?: z.output<typeof LogStreamSort> | null | undefined;
}

export interface LogStreamStore extends RunNames {
  /** @throws ServiceError `Conflict` when the project has a log stream of this name. */
  insert(stream: Pick<LogStream, 'id' | 'projectId' | 'name' | 'createdBy'>): Promise<LogStream>;
  /** All of them without a page. */
  find(projectId: string, query: LogStreamQuery, page?: Page): Promise<PageOf<LogStream>>;
  get(projectId: string, logStreamId: string): Promise<LogStream | undefined>;
  /** @throws ServiceError `Conflict` when the project has another log stream of this name. */
  rename(projectId: string, logStreamId: string, name: string): Promise<LogStream | undefined>;
}
