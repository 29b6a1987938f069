import type { groupRoles, groupVisibilities } from '../wire/accounts.ts';
import type { ProjectRole, UserRole } from './permissions.ts';

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

/** What proves a user: read on logins and for every token. */
export interface Login {
  userId: string;
  email: string;
  role: UserRole;
  passwordHash: string | null;
  tokenVersion: number;
}

export interface ApiKey {
  id: string;
  userId: string;
  truncated: string;
  description: string;
  projectId: string | null;
  projectRole: ProjectRole | null;
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
  projectRole: ProjectRole | null;
  expiresAt: Date | null;
}

export interface NewUser {
  id: string;
  email: string;
  role: UserRole;
  passwordHash: string;
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
  total: number;
}

export interface Page {
  offset: number;
  limit: number;
}

/** Why a change of users was refused. */
export type UserChange<T> = T | 'unknown' | 'last_administrator';

/** Users, keys and groups as the rules need them. Removed users are in none of the answers but `usersById`. */
export interface AccountStore {
  loginByEmail(email: string): Promise<Login | undefined>;
  loginById(userId: string): Promise<Login | undefined>;
  apiKeyByHash(keyHash: string): Promise<{ key: ApiKey; owner: Login } | undefined>;
  apiKeyById(keyId: string): Promise<{ key: ApiKey; owner: Login } | undefined>;
  /** Notes that a key was used, unless that was noted within the last minute. */
  touchApiKey(keyId: string): Promise<void>;
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
}
