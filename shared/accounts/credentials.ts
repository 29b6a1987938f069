import { createHash, createHmac } from 'node:crypto';
import { BriefCache } from '../concurrency/briefCache.ts';
import { ServiceError } from '../errors/errors.ts';
import type { AccountKeys } from './accountKeys.ts';
import type { About, AccountStore, ApiKey, FoundAbout, Login } from './accountStore.ts';
import { apiKeyHash, isMistypedApiKey } from './apiKeyText.ts';
import type { LoginAttempt, LoginAttempts } from './loginAttempts.ts';
import type { LoginCache } from './loginCache.ts';
import type { Passwords } from './passwords.ts';
import type { Caller } from './permissions.ts';
import { PAGE_TOKEN_SECONDS, REFRESH_TOKEN_SECONDS, type TokenSubject, type Tokens } from './tokens.ts';

/** The two tokens that a login gives. Both are secrets of the caller. */
export interface Session {
  accessToken: string;
  refreshToken: string;
}

/** A login of the pages: the token of its cookie, and one for the calls that they make. Both are secrets of the caller. */
export interface PageSession {
  accessToken: string;
  pageToken: string;
}

/** The origin of a login, by which users distinguish their sessions. */
export interface LoginClient {
  address: string;
  userAgent: string | null;
}

/** The project and the run of a request, and a listener that gets what is read of them with the caller. Nothing is read where the caller is remembered. */
export interface Asked extends About {
  found(userId: string, about: FoundAbout): void;
}

/** Turns what a caller shows into who they are. Every method throws ServiceError `Unauthenticated` for credentials that do not hold. */
export interface Credentials {
  ofApiKey(key: string, asked?: Asked): Promise<Caller>;
  ofToken(token: string, asked?: Asked): Promise<Caller>;
  /** @throws ServiceError `TooManyRequests` after many failures of this account from this address, until some seconds have passed. */
  ofPassword(email: string, password: string, address: string): Promise<Caller>;
  logInWithPassword(email: string, password: string, client: LoginClient): Promise<Session>;
  logInWithApiKey(key: string): Promise<Session>;
  /** A new session for a refresh token, which is spent by it. */
  refresh(refreshToken: string, client: LoginClient): Promise<Session>;
  /** The pages' session of a login that has just been made. */
  openPages(login: Pick<Session, 'accessToken'>): Promise<PageSession>;
  /**
   * New tokens for a page token, which stays good to its end: two tabs, or one whose answer was lost, may ask at once. The session goes on with it.
   */
  renewPages(pageToken: string, client: LoginClient): Promise<PageSession>;
  /** Ends the sessions of these tokens, in this process at once; what is no token of ours, or has ended, is left out. */
  logOut(tokens: { access?: string | undefined; refresh?: string | undefined; page?: string | undefined }): Promise<void>;
  /** Drops what is remembered of users and keys: call after changing one, so that it holds at once in this process. */
  forget(): void;
}

const REMEMBERED_LOGIN_MS = 60_000;

interface KnownKey {
  key: ApiKey;
  owner: Login;
}

export function createCredentials(deps: {
  accounts: AccountStore;
  passwords: Passwords;
  tokens: Tokens;
  loginCache: LoginCache;
  attempts: LoginAttempts;
  keys: readonly [AccountKeys, ...AccountKeys[]];
  now: () => Date;
  newId: () => string;
}): Credentials {
  const { accounts, passwords, tokens, loginCache, attempts, now, newId } = deps;
  // At most a second old: a change made by another process holds after that.
  const knownKeys = new BriefCache<KnownKey>({ ttlMs: 1_000, maxEntries: 10_000 });
  const knownTokens = new BriefCache<{ caller: Caller; expiresAt: Date }>({ ttlMs: 1_000, maxEntries: 10_000 });
  // Unknown accounts have entries, too: a login must take the same time whether the account exists or not.
  const knownLogins = new BriefCache<{ login: Login | undefined }>({ ttlMs: 1_000, maxEntries: 10_000 });
  const verifying = new Map<string, Promise<boolean>>();

  async function knownKey(text: string, asked?: Asked): Promise<KnownKey> {
    if (isMistypedApiKey(text)) throw wrongKey();
    const hash = apiKeyHash(text);
    const found = await knownKeys.get(hash, async () => {
      const known = await accounts.apiKeyByHash(hash, asked);
      if (known) asked?.found(known.owner.userId, known.about);
      return known;
    });
    if (!found || hasEnded(found.key.expiresAt)) throw wrongKey();
    return found;
  }

  const hasEnded = (at: Date | null): boolean => at !== null && at <= now();

  interface Known {
    caller: Caller;
    tokenVersion: number;
    /** The end of the API key behind it. */
    expiresAt: Date | null;
  }

  /** Returns the caller of a token, as the account is today. */
  const callerOf = (subject: TokenSubject, asked?: Asked): Promise<Known | undefined> =>
    subject.apiKeyId === undefined ? callerOfSession(subject, asked) : callerOfApiKey(subject, subject.apiKeyId, asked);

  async function callerOfSession({ userId, tokenVersion, sessionId }: TokenSubject, asked?: Asked): Promise<Known | undefined> {
    const known = await accounts.loginOfSession(userId, tokenVersion, sessionId, asked);
    if (!known) return undefined;
    const { login, about } = known;
    asked?.found(userId, about);
    const caller = { ...callerOfLogin(login), ...(sessionId === undefined ? {} : { sessionId }) };
    return { caller, tokenVersion: login.tokenVersion, expiresAt: null };
  }

  /** A token made with a key ends with the key, or when it is logged out; a new password leaves both. */
  async function callerOfApiKey(
    { userId, sessionId }: TokenSubject,
    apiKeyId: string,
    asked?: Asked,
  ): Promise<Known | undefined> {
    const known = await accounts.apiKeyOfToken(apiKeyId, sessionId, asked);
    if (!known || known.owner.userId !== userId) return undefined;
    asked?.found(userId, known.about);
    return { caller: callerOfKey(known), tokenVersion: known.owner.tokenVersion, expiresAt: known.key.expiresAt };
  }

  async function callerOfToken(token: string, asked?: Asked): Promise<Caller> {
    // The signature too is checked once a second only: it costs more than the rest of the gate.
    const known = await knownTokens.get(createHash('sha256').update(token).digest('base64'), async () => {
      const subject = await tokens.readAccess(token);
      const current = subject && (await callerOf(subject, asked));
      // A token never outlives its key: its own end was set so when it was signed.
      return current && { caller: current.caller, expiresAt: subject.expiresAt };
    });
    if (!known || hasEnded(known.expiresAt)) throw endedToken();
    return known.caller;
  }

  async function verifiedLogin(email: string, password: string, address: string): Promise<Login> {
    const attempt = { account: email.toLowerCase(), address };
    refuseFor(await attempts.waitMs(attempt));
    const found = await knownLogins.get(createHash('sha256').update(attempt.account).digest('base64'), async () => ({
      login: await accounts.loginByEmail(attempt.account),
    }));
    const login = found?.login;
    // The stored hash is part of the key, so a new password, or none any more, ends what is remembered.
    const remembered = createHmac('sha256', deps.keys[0].rememberedLogin)
      .update(JSON.stringify([login?.userId ?? attempt.account, login?.passwordHash ?? null, password]))
      .digest('base64url');
    if ((await loginCache.get(remembered)) === login?.userId && login) return login;
    // Equal attempts at the same moment are one: a client that starts fifty logins pays for one.
    const underWay = verifying.get(remembered) ?? verify(password, login, attempt);
    verifying.set(remembered, underWay);
    const right = await underWay.finally(() => verifying.delete(remembered));
    if (!right || !login) throw new ServiceError('Unauthenticated', 'wrong email or password');
    await loginCache.set(remembered, login.userId, REMEMBERED_LOGIN_MS);
    return login;
  }

  async function verify(password: string, login: Login | undefined, attempt: LoginAttempt): Promise<boolean> {
    refuseFor(await attempts.begin(attempt));
    let isRight: boolean;
    try {
      isRight = await passwords.verify(password, login?.passwordHash ?? null, attempt.address);
    } catch (err) {
      await attempts.takeBack(attempt, 'not made');
      throw err;
    }
    if (isRight) await attempts.takeBack(attempt, 'right');
    return isRight;
  }

  /** Notes that a session begins or goes on. A login by API key has none: it ends with its key. */
  async function noteSession(
    { userId, sessionId, apiKeyId }: TokenSubject,
    seconds: number,
    client: LoginClient | undefined,
  ): Promise<void> {
    if (!client || sessionId === undefined || apiKeyId !== undefined) return;
    await accounts.noteSession({ id: sessionId, userId, expiresAt: new Date(now().getTime() + seconds * 1_000), ...client });
  }

  /** Tokens of a session, which begins or goes on with them. */
  async function newTokens(
    subject: TokenSubject & { sessionId: string },
    notAfter: Date | null,
    client: LoginClient | undefined,
  ): Promise<Session> {
    await noteSession(subject, REFRESH_TOKEN_SECONDS, client);
    const [accessToken, refreshToken] = await Promise.all([
      tokens.signAccess(subject, notAfter),
      tokens.signRefresh({ ...subject, tokenId: newId() }),
    ]);
    return { accessToken, refreshToken };
  }

  return {
    ofApiKey: async (key, asked) => callerOfKey(await knownKey(key, asked)),
    ofToken: (token, asked) => callerOfToken(token, asked),
    ofPassword: async (email, password, address) => callerOfLogin(await verifiedLogin(email, password, address)),
    async logInWithPassword(email, password, client) {
      const { userId, tokenVersion } = await verifiedLogin(email, password, client.address);
      return newTokens({ userId, tokenVersion, sessionId: newId() }, null, client);
    },
    async logInWithApiKey(text) {
      const { key, owner } = await knownKey(text);
      const subject = { userId: owner.userId, tokenVersion: owner.tokenVersion, apiKeyId: key.id, sessionId: newId() };
      return newTokens(subject, key.expiresAt, undefined);
    },
    async refresh(refreshToken, client) {
      const subject = await tokens.readRefresh(refreshToken);
      if (!subject) throw endedToken();
      const known = await callerOf(subject);
      if (!known || hasEnded(known.expiresAt)) throw endedToken();
      if (!(await accounts.spendRefreshToken(subject.tokenId, subject.sessionId, subject.expiresAt))) {
        knownTokens.clear(); // its session ends, if it was used twice
        throw endedToken();
      }
      const { userId, apiKeyId, sessionId } = subject;
      return newTokens({ userId, tokenVersion: known.tokenVersion, apiKeyId, sessionId }, known.expiresAt, client);
    },
    async openPages({ accessToken }) {
      const subject = await tokens.readAccess(accessToken);
      const known = subject && (await callerOf(subject));
      if (!known) throw endedToken();
      return { accessToken, pageToken: await tokens.signPage(subject, known.expiresAt) };
    },
    async renewPages(pageToken, client) {
      const read = await tokens.readPage(pageToken);
      const known = read && (await callerOf(read));
      if (!known || hasEnded(known.expiresAt)) throw endedToken();
      const subject = { ...read, tokenVersion: known.tokenVersion };
      await noteSession(subject, PAGE_TOKEN_SECONDS, client);
      const [accessToken, renewed] = await Promise.all([
        tokens.signAccess(subject, known.expiresAt),
        tokens.signPage(subject, known.expiresAt),
      ]);
      return { accessToken, pageToken: renewed };
    },
    async logOut({ access, refresh, page }) {
      const read = await Promise.all([
        access && tokens.readAccess(access),
        refresh && tokens.readRefresh(refresh),
        page && tokens.readPage(page),
      ]);
      const ending = new Set(read.flatMap((token) => (token && token.sessionId !== undefined ? [token.sessionId] : [])));
      for (const sessionId of ending) await accounts.endSession(sessionId);
      knownTokens.clear();
    },
    forget() {
      knownKeys.clear();
      knownTokens.clear();
      knownLogins.clear();
    },
  };
}

const callerOfLogin = ({ userId, email, role }: Login): Caller => ({ userId, email, role });

const callerOfKey = ({ key, owner }: KnownKey): Caller => ({
  ...callerOfLogin(owner),
  ...(key.projectId && key.projectRole ? { projectKey: { projectId: key.projectId, role: key.projectRole } } : {}),
});

function refuseFor(waitMs: number): void {
  if (waitMs > 0)
    throw new ServiceError('TooManyRequests', 'too many failed logins: wait before you try again', {
      retryAfterSeconds: waitMs / 1_000,
    });
}

const wrongKey = () => new ServiceError('Unauthenticated', 'this API key is unknown, has ended or was deleted');
const endedToken = () => new ServiceError('Unauthenticated', 'this token is not valid, has ended or was revoked: log in again');
