import { ServiceError } from '../errors/errors.ts';
import type { AccountStore, LoginSession, Page, PageOf } from './accountStore.ts';
import type { Credentials } from './credentials.ts';
import type { Caller } from './permissions.ts';

export interface SessionDeps {
  accounts: AccountStore;
  credentials: Pick<Credentials, 'forget'>;
}

/** @throws ServiceError `Forbidden` for a key limited to a project: it has no part in accounts. */
export function refuseProjectKey({ projectKey }: Caller): void {
  if (projectKey)
    throw new ServiceError('Forbidden', 'not allowed: a key limited to a project has no part in its owner’s account');
}

/** The caller's logins by password that have not ended, the last used first. */
export async function listSessions({ accounts }: SessionDeps, caller: Caller, page: Page): Promise<PageOf<LoginSession>> {
  refuseProjectKey(caller);
  return accounts.sessions(caller.userId, page);
}

/** Ends one of the caller's sessions: its tokens, and those made from them, are refused from now on. @throws ServiceError `NotFound` */
export async function endSession({ accounts, credentials }: SessionDeps, caller: Caller, sessionId: string): Promise<void> {
  refuseProjectKey(caller);
  if (!(await accounts.endSession(sessionId, caller.userId))) throw new ServiceError('NotFound', 'no such session');
  credentials.forget();
}

/** Ends every session of a user, those that are not listed included. API keys, and the tokens made with them, stay. @throws ServiceError `NotFound` */
export async function endAllSessions({ accounts, credentials }: SessionDeps, userId: string): Promise<void> {
  if (!(await accounts.endSessions(userId))) throw new ServiceError('NotFound', 'no such user');
  credentials.forget();
}
