import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { assumeRole } from './assumedRole.ts';
import { isByRole, type SignedByRole } from './awsAuthentication.ts';
import { AttemptFailure, httpFailure } from './failures.ts';
import { passwordForm } from './passwordGrant.ts';
import type { Authentication } from './provider.ts';
import { assertionForm } from './serviceAccount.ts';
import { postTokenForm } from './tokenRequest.ts';

type OAuth2 = Extract<Authentication, { kind: 'oauth2' }>;

/**
 * Access tokens by client credentials (RFC 6749 section 4.4), a password (section 4.3) or the key of a service account (RFC 7523), and credentials of roles of
 * AWS: one request for all callers that need the same one.
 */
export interface AccessTokens {
  /** @throws AttemptFailure */
  get(key: string, authentication: OAuth2 | SignedByRole): Promise<string>;
  /** Forgets a token that the endpoint refused, unless it has been replaced already. */
  forget(key: string, token: string): void;
}

/** Lifetime where the answer names none: short, because a dead token costs only one more try. */
const UNSTATED_LIFETIME_S = 300;
/** A token is not used in the last part of its life, at most this long, so that it does not end on the way. */
const MARGIN_S = 30;
const MAX_TOKENS = 1_000;

const TokenAnswer = z.object({
  access_token: z
    .string()
    .min(1)
    .regex(/^[\x20-\x7e]+$/),
  expires_in: z.coerce.number().positive().optional().catch(undefined),
});

interface Held {
  token: Promise<string>;
  /** The token once it is there, for {@link AccessTokens.forget}. */
  value?: string;
  expiresAt: number;
}

/** @param fetchGuarded the outbound guard's `fetch`: a token URL is user-supplied like any endpoint. */
export function createAccessTokens(fetchGuarded: typeof fetch): AccessTokens {
  const held = new LRUCache<string, Held>({ max: MAX_TOKENS });
  return {
    get(key, authentication) {
      const known = held.get(key);
      if (known && Date.now() < known.expiresAt) return known.token;
      const fresh: Held = { token: Promise.resolve(''), expiresAt: Number.POSITIVE_INFINITY };
      const asked = isByRole(authentication)
        ? assumeRole(fetchGuarded, authentication)
        : requestToken(fetchGuarded, authentication);
      fresh.token = asked.then(
        ({ token, lifetimeS }) => {
          fresh.value = token;
          fresh.expiresAt = Date.now() + (lifetimeS - Math.min(MARGIN_S, lifetimeS / 10)) * 1_000;
          return token;
        },
        (err) => {
          if (held.get(key) === fresh) held.delete(key);
          throw err;
        },
      );
      held.set(key, fresh);
      return fresh.token;
    },
    forget(key, token) {
      if (held.get(key)?.value === token) held.delete(key);
    },
  };
}

async function requestToken(
  fetchGuarded: typeof fetch,
  { tokenUrl, scope, credentials, grant }: OAuth2,
): Promise<{ token: string; lifetimeS: number }> {
  if (credentials === null)
    throw new AttemptFailure('refused', 'the integration has no OAuth2 client credentials: save it again with `token`', {
      retry: false,
    });
  const answer =
    grant === 'service_account'
      ? await postForm(fetchGuarded, tokenUrl, await assertionForm(credentials, tokenUrl, scope ?? ''), {})
      : grant === 'password'
        ? await postForm(fetchGuarded, tokenUrl, passwordForm(credentials, scope), {})
        : await byClientCredentials(fetchGuarded, { tokenUrl, scope, credentials });
  if (answer.status < 200 || answer.status > 299) throw httpFailure('the OAuth2 token endpoint', answer.status, answer.headers);
  const parsed = TokenAnswer.safeParse(answer.body);
  if (!parsed.success)
    throw new AttemptFailure('malformed_answer', "the OAuth2 token endpoint's answer holds no access_token", { retry: false });
  return { token: parsed.data.access_token, lifetimeS: parsed.data.expires_in ?? UNSTATED_LIFETIME_S };
}

async function byClientCredentials(
  fetchGuarded: typeof fetch,
  { tokenUrl, scope, credentials }: Pick<OAuth2, 'tokenUrl' | 'scope'> & { credentials: string },
): Promise<FormReply> {
  const client = parseCredentials(credentials);
  const form = { grant_type: 'client_credentials', ...(scope !== null && scope !== '' && { scope }) };
  // Servers must take Basic (RFC 6749 section 2.3.1), yet some take only the form; never both at once.
  const basic = `Basic ${Buffer.from(`${encodeURIComponent(client.id)}:${encodeURIComponent(client.secret)}`).toString('base64')}`;
  const first = await postForm(fetchGuarded, tokenUrl, form, { authorization: basic });
  return first.status === 400 || first.status === 401
    ? postForm(fetchGuarded, tokenUrl, { ...form, client_id: client.id, client_secret: client.secret }, {})
    : first;
}

interface FormReply {
  status: number;
  headers: Headers;
  body: unknown;
}

async function postForm(
  fetchGuarded: typeof fetch,
  url: string,
  form: Record<string, string>,
  headers: Record<string, string>,
): Promise<FormReply> {
  const { text, ...reply } = await postTokenForm(fetchGuarded, 'the OAuth2 token endpoint', {
    ...{ url, body: new URLSearchParams(form).toString() },
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
  });
  return { ...reply, body: parseJson(text) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const Credentials = z.object({ client_id: z.string().min(1), client_secret: z.string().min(1) });

/**
 * Client credentials in one text: `client_id:client_secret`, the same in base64, or JSON `{"client_id": …, "client_secret": …}`.
 * @throws AttemptFailure naming the forms.
 */
export function parseCredentials(text: string): { id: string; secret: string } {
  const json = Credentials.safeParse(parseJson(text));
  if (json.success) return { id: json.data.client_id, secret: json.data.client_secret };
  const plain = text.includes(':') ? text : Buffer.from(text, 'base64').toString('utf8');
  const colon = plain.indexOf(':');
  if (colon > 0 && colon < plain.length - 1 && /^[\x20-\x7e]+$/.test(plain))
    return { id: plain.slice(0, colon), secret: plain.slice(colon + 1) };
  throw new AttemptFailure(
    'refused',
    'the OAuth2 client credentials in `token` must be client_id:client_secret, the same in base64, or JSON with client_id and client_secret',
    { retry: false },
  );
}
