import type { groupRoles, groupVisibilities } from '../wire/accounts.ts';
import type { KeyRole, ProjectRole, UserRole } from './permissions.ts';

export interface User {
  id: string;
  email: string;
  firstName: string | null;
  lastName: string | null;
  role: UserRole;
  organizationId: string;
  organizationName: string;
  createdAt: Date;
  updatedAt: Date;
}

/** The facts that prove a user. They are read on logins and for every token. */
export interface Login {
  userId: string;
  email: string;
  role: UserRole;
  passwordHash: string | null;
  tokenVersion: number;
}

/** A login by password, from then until it ends. */
export interface LoginSession {
  id: string;
  /** Where it was last opened or refreshed from. */
  address: string | null;
  userAgent: string | null;
  createdAt: Date;
  /** To the minute. */
  lastUsed: Date;
  expiresAt: Date;
}

export interface ApiKey {
  id: string;
  userId: string;
  truncated: string;
  description: string;
  projectId: string | null;
  projectRole: KeyRole | null;
  expiresAt: Date | null;
  lastUsed: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

export interface NewApiKey {
  id: string;
  userId: string;
  keyHash: string;
  truncated: string;
  description: string;
  projectId: string | null;
  projectRole: KeyRole | null;
  expiresAt: Date | null;
}

export interface NewUser {
  id: string;
  email: string;
  role: UserRole;
  passwordHash: string;
}

export interface NewInvitation {
  email: string;
  tokenHash: string;
  expiresAt: Date;
}

type GroupVisibility = (typeof groupVisibilities)[number];
type GroupRole = (typeof groupRoles)[number];

export interface UserGroup {
  id: string;
  name: string;
  description: string | null;
  visibility: GroupVisibility;
  createdAt: Date;
}

export interface PageOf<T> {
  items: T[];
  /** True when items follow behind the page. */
  hasMore: boolean;
}

export interface Page {
  offset: number;
  limit: number;
}

/** Why a change of users was refused. */
export type UserChange<T> = T | 'unknown' | 'last_administrator';

/** A project, and the strongest role that it gives a user: by name or through a group. */
export interface ProjectMembership {
  id: string;
  name: string;
  membership: ProjectRole | undefined;
}

/** The project and the run of a request: read together with its caller, since the two are asked for one after the other else. */
export interface About {
  projectId: string;
  /** The id of a run in the project. */
  runId?: string | undefined;
}

/** The project and the run as they are stored, where they are there. */
export interface FoundAbout {
  project: ProjectMembership | undefined;
  run: { id: string; kind: string; name: string } | undefined;
}

interface KeyWithOwner {
  key: ApiKey;
  owner: Login;
}

/** Users, keys and groups as the rules need them. Removed users are in none of the answers but `usersById`. */
export interface AccountStore {
  loginByEmail(email: string): Promise<Login | undefined>;
  loginById(userId: string): Promise<Login | undefined>;
  /** Notes that the key is used, unless that was noted within the last minute. */
  apiKeyByHash(keyHash: string, about?: About): Promise<(KeyWithOwner & { about: FoundAbout }) | undefined>;
  apiKeyById(keyId: string): Promise<KeyWithOwner | undefined>;
  /**
   * The key that a token was made with. Undefined for a session that was ended, or whose refresh token was used twice. Notes that the key is used, unless
   * that was noted within the last minute.
   */
  apiKeyOfToken(
    keyId: string,
    sessionId: string | undefined,
    about?: About,
  ): Promise<(KeyWithOwner & { about: FoundAbout }) | undefined>;
  /**
   * The login of a token's user while its session has not ended. Notes that the session is used, unless that was noted within the last minute. Tokens of
   * former releases name no session.
   */
  loginOfSession(
    userId: string,
    tokenVersion: number,
    sessionId: string | undefined,
    about?: About,
  ): Promise<{ login: Login; about: FoundAbout } | undefined>;
  /** Notes a session that was opened or refreshed. Of a user's sessions the hundred last used are kept. */
  noteSession(session: Pick<LoginSession, 'id' | 'address' | 'userAgent' | 'expiresAt'> & { userId: string }): Promise<void>;
  sessions(userId: string, page: Page): Promise<PageOf<LoginSession>>;
  /** Ends a session; false when `userId` is given and it is none of theirs that is listed. */
  endSession(sessionId: string, userId?: string): Promise<boolean>;
  /** Ends all sessions of a user; false when there is no such user. */
  endSessions(userId: string): Promise<boolean>;
  /** Sets a user's password and ends all their sessions but `keep`, and their reset. */
  setPassword(userId: string, passwordHash: string, keep: string | undefined): Promise<void>;
  /** Replaces the one that the user may have. */
  insertPasswordReset(reset: { userId: string; tokenHash: string; createdBy: string; expiresAt: Date }): Promise<void>;
  isPasswordReset(tokenHash: string, now: Date): Promise<boolean>;
  /** Uses a reset to set its user's password; false when it was used meanwhile or has ended. */
  spendPasswordReset(tokenHash: string, now: Date, passwordHash: string): Promise<boolean>;
  /**
   * Replaces those of the same emails, and forgets those that have ended.
   * @throws ServiceError `Conflict` for emails of users, `NotFound` for a group that is not there; then none is stored
   */
  insertInvitations(
    invitations: readonly NewInvitation[],
    to: { role: UserRole; groupIds: readonly string[]; createdBy: string },
  ): Promise<void>;
  invitation(tokenHash: string, now: Date): Promise<{ email: string; role: UserRole } | undefined>;
  /**
   * Uses an invitation of the user's email to make that user, in the groups that it names; undefined when there is no such one, or no longer.
   * @throws ServiceError `Conflict` when the email is taken
   */
  spendInvitation(tokenHash: string, now: Date, user: NewUser): Promise<User | undefined>;
  /** Marks a token id as spent; false when it was already, or its family was ended. A token spent twice ends its family. */
  spendRefreshToken(tokenId: string, family: string, expiresAt: Date): Promise<boolean>;

  user(userId: string): Promise<User | undefined>;
  users(page: Page): Promise<PageOf<User>>;
  /** Those of `userIds` that were ever here, removed users included: what they made still names them. */
  usersById(userIds: readonly string[]): Promise<ReadonlyMap<string, User>>;
  /** @throws ServiceError `Conflict` when the email is taken. */
  insertUser(user: NewUser): Promise<User>;
  setRole(userId: string, role: UserRole): Promise<UserChange<User>>;
  /** Removes a user with their keys, tokens and memberships; what they made stays. */
  removeUser(userId: string): Promise<UserChange<'removed'>>;
  /** The email of the oldest administrator. */
  firstAdministrator(): Promise<string | undefined>;
  /** Inserts the first administrator with a key, unless there is an administrator already; answers the email of the one that is. */
  insertFirstAdministrator(user: NewUser, key: NewApiKey): Promise<{ created: boolean; email: string }>;

  insertApiKey(key: NewApiKey): Promise<ApiKey>;
  apiKeys(userId: string, page: Page): Promise<PageOf<ApiKey>>;
  deleteApiKey(keyId: string): Promise<void>;

  /** @throws ServiceError `Conflict` when the name is taken. */
  insertGroup(group: Omit<UserGroup, 'createdAt'> & { createdBy: string }): Promise<UserGroup>;
  /** Groups that `viewerId` may see: hidden ones only as a member, unless `seesHidden`. */
  groups(viewerId: string, seesHidden: boolean, page: Page): Promise<PageOf<UserGroup>>;
  /** Adds members or changes their role. @throws ServiceError `NotFound` for an unknown group or user; nothing is changed then. */
  setGroupMembers(groupId: string, members: readonly { userId: string; role: GroupRole }[]): Promise<void>;
  /** By their e-mail. @throws ServiceError `NotFound` for an unknown group. */
  groupMembers(groupId: string, page: Page): Promise<PageOf<{ userId: string; email: string; role: GroupRole }>>;
  /** @returns false where the user was none. */
  removeGroupMember(groupId: string, userId: string): Promise<boolean>;
}
