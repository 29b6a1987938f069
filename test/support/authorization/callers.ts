import { createHmac, randomBytes } from 'node:crypto';
import { accountKeys } from '../../../shared/accounts/accountKeys.ts';
import { createTokens } from '../../../shared/accounts/tokens.ts';
import { newId } from '../../../shared/identifiers/ids.ts';
import { parseSecretKeys } from '../../../shared/integrations/secrets.ts';
import type { TestService } from '../testService.ts';
import type { Column } from './expectations.ts';

/** Somebody who calls, with the headers that show who they are. */
export interface TestCaller {
  name: string;
  /** The column of the table that says what they may do. */
  column: Column;
  headers: Record<string, string>;
  /** The id of the account behind them; undefined for credentials that do not hold. */
  userId?: string;
  /** Sees the project of the table, so that what lies in it may be in an answer. */
  seesProject: boolean;
  seesOtherProject: boolean;
}

export interface Account {
  id: string;
  email: string;
  token: string;
  headers: Record<string, string>;
}

export const PASSWORD = 'Some-Password-1';
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const keyed = (key: string) => ({ 'Service-API-Key': key });
const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });

/** A new account of an organization role that does not log in: 30 ms of CPU less. */
export async function newUser(service: TestService, role: string): Promise<{ id: string; email: string }> {
  const email = `${role.replace('_', '-')}-${newId()}@example.com`;
  const { id } = await made<{ id: string }>(service, '/users', { email, password: PASSWORD, role });
  return { id, email };
}

/** A new account of an organization role, with a token from a login with its password. */
export async function newAccount(service: TestService, role: string): Promise<Account> {
  const { id, email } = await newUser(service, role);
  const login = await fetch(`${service.url}/login`, {
    method: 'POST',
    body: new URLSearchParams({ username: email, password: PASSWORD }),
  });
  const { access_token: token } = (await login.json()) as { access_token: string };
  return { id, email, token, headers: bearer(token) };
}

/** A new account with a project of its own. `ask` calls the service with it. */
export async function newOwner(service: TestService) {
  const account = await newAccount(service, 'user');
  const { id: project } = await made<{ id: string }>(service, '/projects', { name: newId() }, account.headers);
  const ask = (method: string, path: string, body?: unknown) => service.request(method, path, body, only(account.headers));
  return { ...account, project, ask };
}

/** Headers that take the place of the administrator's key, which is sent otherwise. */
export const only = (headers: Record<string, string>): Record<string, string> => ({ 'Service-API-Key': '', ...headers });

/** Returns what a POST answers, which must be 200. @param headers the administrator's key when absent */
export async function made<T>(service: TestService, path: string, body: unknown, headers?: Record<string, string>): Promise<T> {
  const answer = await service.request('POST', path, body, headers && only(headers));
  if (answer.status !== 200) throw new Error(`POST ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** A key of the account; of a project with a role when they are given. */
export async function newKey(
  service: TestService,
  headers: Record<string, string>,
  project?: string,
  role?: string,
): Promise<string> {
  const body = { description: 'of the matrix', project_id: project, project_role: role };
  return (await made<{ api_key: string }>(service, '/users/api_keys', body, headers)).api_key;
}

/** The people of a project: one of each role, and the credentials that count as that role. */
export interface Members {
  owner: Account;
  editor: Account;
  annotator: Account;
  viewer: Account;
  /** An account of the organization role `read_only`, which makes a viewer of an editor. */
  readOnlyEditor: Account;
  /** Editor through a group. */
  grouped: Account;
}

/** Everybody who calls in the matrix, but for those whose credentials do not hold. */
export async function validCallers(
  service: TestService,
  members: Members,
  project: string,
  otherOwner: Account,
  otherProject: string,
): Promise<TestCaller[]> {
  const [manager, user, readOnly] = [
    await newAccount(service, 'manager'),
    await newAccount(service, 'user'),
    await newAccount(service, 'read_only'),
  ];
  const admin = (await service.request('GET', '/current_user')).body as { id: string };
  const token = async (api_key: string) =>
    (await made<{ access_token: string }>(service, '/login/api_key', { api_key })).access_token;
  const ofAdmin = keyed(service.apiKey);
  const editorKey = await newKey(service, members.editor.headers, project);
  const { owner, editor, annotator, viewer, readOnlyEditor, grouped } = members;
  const all = { seesProject: true, seesOtherProject: true };
  const inside = { seesProject: true, seesOtherProject: false };
  const outside = { seesProject: false, seesOtherProject: false };
  const elsewhere = { seesProject: false, seesOtherProject: true };
  return [
    { name: 'admin by key', column: 'admin', headers: ofAdmin, userId: admin.id, ...all },
    { name: 'admin by token', column: 'admin', headers: bearer(await token(service.apiKey)), userId: admin.id, ...all },
    { name: 'manager', column: 'manager', headers: manager.headers, userId: manager.id, ...all },
    { name: 'user', column: 'user', headers: user.headers, userId: user.id, ...outside },
    { name: 'read_only', column: 'readOnly', headers: readOnly.headers, userId: readOnly.id, ...outside },
    { name: 'owner', column: 'owner', headers: owner.headers, userId: owner.id, ...inside },
    { name: 'owner by Basic', column: 'owner', headers: basic(`${owner.email}:${PASSWORD}`), userId: owner.id, ...inside },
    { name: 'editor', column: 'editor', headers: editor.headers, userId: editor.id, ...inside },
    { name: 'editor through a group', column: 'editor', headers: grouped.headers, userId: grouped.id, ...inside },
    { name: 'annotator', column: 'annotator', headers: annotator.headers, userId: annotator.id, ...inside },
    { name: 'viewer', column: 'viewer', headers: viewer.headers, userId: viewer.id, ...inside },
    {
      ...{
        name: 'read_only user who is editor',
        column: 'readOnlyEditor',
        headers: readOnlyEditor.headers,
        userId: readOnlyEditor.id,
      },
      ...inside,
    },
    { name: 'owner of another project', column: 'other', headers: otherOwner.headers, userId: otherOwner.id, ...elsewhere },
    {
      ...{ name: "admin's key of the project", column: 'ownerKey', userId: admin.id },
      ...{ headers: keyed(await newKey(service, ofAdmin, project)), ...inside },
    },
    { name: "editor's key", column: 'editorKey', headers: keyed(editorKey), userId: editor.id, ...inside },
    {
      ...{ name: "token of the editor's key", column: 'editorKey', headers: bearer(await token(editorKey)), userId: editor.id },
      ...inside,
    },
    {
      ...{ name: "owner's annotator key", column: 'annotatorKey', userId: owner.id },
      ...{ headers: keyed(await newKey(service, owner.headers, project, 'annotator')), ...inside },
    },
    {
      ...{ name: "owner's viewer key", column: 'viewerKey', userId: owner.id },
      ...{ headers: keyed(await newKey(service, owner.headers, project, 'viewer')), ...inside },
    },
    {
      ...{ name: "admin's key of another project", column: 'otherKey', userId: admin.id },
      ...{ headers: keyed(await newKey(service, ofAdmin, otherProject)), ...elsewhere },
    },
    { name: 'owner with ids of another project', column: 'mixed', headers: owner.headers, userId: owner.id, ...inside },
    {
      ...{ name: "admin's key with ids of another project", column: 'mixedKey', userId: admin.id },
      ...{ headers: keyed(await newKey(service, ofAdmin, project)), ...inside },
    },
  ] satisfies TestCaller[];
}

/** Makes callers without credentials, and with credentials that are malformed, forged, ended, or of a deleted account. */
export async function invalidCallers(service: TestService, secretKeys: string): Promise<TestCaller[]> {
  const gone = await newAccount(service, 'admin');
  const goneKey = await newKey(service, gone.headers);
  const live = await newAccount(service, 'admin');
  const deletedKey = await made<{ id: string; api_key: string }>(service, '/users/api_keys', { description: 'x' }, live.headers);
  await service.request('DELETE', `/users/api_keys/${deletedKey.id}`);
  const ended = await service.request('DELETE', `/users/${gone.id}`);
  if (ended.status !== 204) throw new Error(`the account could not be removed: ${ended.status}`);
  const keys = accountKeys(parseSecretKeys(secretKeys));
  const subject = { userId: live.id, tokenVersion: versionOf(live.token) };
  const ours = createTokens(keys, () => new Date());
  const monthAgo = createTokens(keys, () => new Date(Date.now() - 40 * 86_400_000));
  const strangers = createTokens(accountKeys([{ id: keys[0].id, key: randomBytes(32) }]), () => new Date());
  const claims = JSON.stringify({ ver: subject.tokenVersion, sub: live.id, exp: Math.floor(Date.now() / 1_000) + 3_600 });
  const headers: Record<string, Record<string, string>> = {
    'no credentials': {},
    'an empty key': keyed(''),
    'a key that is none': keyed('wrong'),
    'a deleted key': keyed(deletedKey.api_key),
    'the key of a removed account': keyed(goneKey),
    'the token of a removed account': gone.headers,
    'a Basic header without a colon': basic('admin'),
    'a malformed token': bearer('a.b.c'),
    'an expired token': bearer(await monthAgo.signAccess(subject, null)),
    'a token signed by a stranger': bearer(await strangers.signAccess(subject, null)),
    'a token signed by no one': bearer(`${encoded('{"alg":"none","typ":"JWT"}')}.${encoded(claims)}.`),
    'a token whose claims were changed': bearer(live.token.replace(/\.[^.]+\./, `.${encoded(claims)}.`)),
    'a token signed with an empty secret': bearer(signedWith('', keys[0].id, claims)),
    'a refresh token': bearer(
      await ours.signRefresh({ ...subject, tokenId: crypto.randomUUID(), sessionId: crypto.randomUUID() }),
    ),
  };
  return Object.entries(headers).map(([name, one]) => ({
    ...{ name, column: 'none' as const, headers: one, seesProject: false, seesOtherProject: false },
  }));
}

const encoded = (text: string): string => Buffer.from(text).toString('base64url');

function signedWith(secret: string, kid: string, claims: string): string {
  const signed = `${encoded(JSON.stringify({ alg: 'HS256', typ: 'JWT', kid }))}.${encoded(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

const versionOf = (token: string): number =>
  (JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()) as { ver: number }).ver;
