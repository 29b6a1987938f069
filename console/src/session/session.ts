import { ConnectionError } from '../../../client/errors.ts';
import { home } from '../address/home.ts';

/** The sign-in of this tab: an access token in memory alone. The browser keeps a cookie that is good for asking for one. */

/** This browser is not signed in, or no longer. */
export class SignedOut extends Error {
  override readonly name = 'SignedOut';
}

/** Without it a browser asks for a password in a window of its own where the service answers 401. */
export const ofPage = { 'X-Requested-With': 'XMLHttpRequest' };

let current: Promise<string> | undefined;
const otherTabs = new BroadcastChannel('assay session');
const listeners = new Set<() => void>();

otherTabs.onmessage = signedOut;

function signedOut(): void {
  current = undefined;
  for (const listener of listeners) listener();
}

/** Calls `listener` when another tab signs out, and when the session was ended elsewhere. */
export function onSignedOut(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The token of this tab. @throws SignedOut */
export function accessToken(): Promise<string> {
  current ??= ask('pages/session').catch((err: unknown) => {
    if (err instanceof SignedOut) signedOut();
    current = undefined;
    throw err;
  });
  return current;
}

/** The token is refused: the next call asks for another. */
export function forgetToken(): void {
  current = undefined;
}

export type SignInFields = { email: string; password: string } | { api_key: string };

/** @throws Error with the sentence of the service, for wrong credentials */
export async function signIn(fields: SignInFields): Promise<void> {
  const token = await ask('pages/login', new URLSearchParams(fields));
  current = Promise.resolve(token);
}

/** Signs this browser out, in all of its tabs. */
export async function signOut(): Promise<void> {
  await fetch(new URL('pages/logout', home.service), { method: 'POST' });
  current = undefined;
  otherTabs.postMessage('signed out');
}

async function ask(path: string, body?: URLSearchParams): Promise<string> {
  const answer = await fetch(new URL(path, home.service), {
    method: 'POST',
    headers: { Accept: 'application/json', ...ofPage },
    body: body ?? null,
  }).catch((cause: unknown) => {
    throw new ConnectionError('the service does not answer', { cause });
  });
  const read = (await answer.json()) as { access_token?: string; detail?: unknown };
  if (answer.ok && read.access_token !== undefined) return read.access_token;
  const sentence = typeof read.detail === 'string' ? read.detail : `the service answers ${answer.status}`;
  if (answer.status === 401 && body === undefined) throw new SignedOut(sentence);
  throw new Error(sentence);
}
