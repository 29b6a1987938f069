import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import type { AccountStore, ApiKey, Page, PageOf } from './accountStore.ts';
import { apiKeyHash, newApiKeyText, truncatedApiKey } from './apiKeyText.ts';
import type { Credentials } from './credentials.ts';
import { type Caller, type KeyRole, mayGive, mayOnUser } from './permissions.ts';

export interface ApiKeyDeps {
  accounts: AccountStore;
  access: { visible(caller: Caller, projectId: string): Promise<{ role: KeyRole } | undefined> };
  credentials: Pick<Credentials, 'forget'>;
  newId: () => string;
  now: () => Date;
}

/**
 * Creates a key of the caller; `text` is the only sight of it. A key for a project gets the caller's own role there unless a lesser one is asked for.
 * @throws ServiceError `Forbidden` for a caller who is a project's key, or asks for more than their own role; `NotFound` for the project.
 */
export async function createApiKey(
  { accounts, access, newId, now }: ApiKeyDeps,
  caller: Caller,
  input: { description: string; expiresAt: Date | null; projectId: string | null; projectRole: KeyRole | null },
): Promise<{ key: ApiKey; text: string }> {
  // Or it could make itself a key without its limits.
  if (caller.projectKey) throw new ServiceError('Forbidden', 'a key limited to a project cannot create keys');
  if (input.expiresAt && input.expiresAt <= now())
    throw new RequestInvalid([{ loc: ['body', 'expires_at'], msg: 'must be in the future', type: 'date_future' }]);
  const projectRole = input.projectId === null ? null : await roleOfKey(access, caller, input.projectId, input.projectRole);
  const text = newApiKeyText();
  const key = await accounts.insertApiKey({
    id: newId(),
    userId: caller.userId,
    keyHash: apiKeyHash(text),
    truncated: truncatedApiKey(text),
    description: input.description,
    projectId: input.projectId,
    projectRole,
    expiresAt: input.expiresAt,
  });
  return { key, text };
}

async function roleOfKey(access: ApiKeyDeps['access'], caller: Caller, projectId: string, asked: KeyRole | null) {
  const project = await access.visible(caller, projectId);
  if (!project) throw new ServiceError('NotFound', 'no such project');
  if (asked && !mayGive(project.role, asked))
    throw new ServiceError('Forbidden', `not allowed: ${project.role} of this project cannot give the role ${asked}`);
  return asked ?? project.role;
}

/** The keys of a user: their own, or any user's for an administrator. */
export async function listApiKeys({ accounts }: ApiKeyDeps, caller: Caller, userId: string, page: Page): Promise<PageOf<ApiKey>> {
  if (!mayOnUser(caller, userId, 'read_api_keys'))
    throw new ServiceError('Forbidden', 'not allowed: these are the keys of another user');
  return accounts.apiKeys(userId, page);
}

/** Deletes a key; it and the tokens made with it end at once. @throws ServiceError `NotFound` for a key that the caller may not see. */
export async function deleteApiKey({ accounts, credentials }: ApiKeyDeps, caller: Caller, keyId: string): Promise<void> {
  const known = await accounts.apiKeyById(keyId);
  if (!known || !mayOnUser(caller, known.key.userId, 'read_api_keys')) throw new ServiceError('NotFound', 'no such API key');
  await accounts.deleteApiKey(keyId);
  credentials.forget();
}
