import { createHash, createHmac } from 'node:crypto';
import { BriefCache } from '../briefCache.ts';
import { ServiceError } from '../errors.ts';
import type { AccountKeys } from './accountKeys.ts';
import type { AccountStore, ApiKey, Login } from './accountStore.ts';
import { apiKeyHash, isMistypedApiKey } from './apiKeyText.ts';
import { FailureLimit } from './failureLimit.ts';
import type { LoginCache } from './loginCache.ts';
import type { Passwords } from './passwords.ts';
import type { Caller } from './permissions.ts';
import type { TokenSubject, Tokens } from './tokens.ts';

/** What a login gives: both are secrets of the caller. */
export interface Session {
  accessToken: string;
  refreshToken: string;
}

/** Turns what a caller shows into who they are. Every method throws ServiceError `Unauthenticated` for credentials that do not hold. */
export interface Credentials {
  ofApiKey(key: string): Promise<Caller>;
  ofToken(token: string): Promise<Caller>;
  /** @throws ServiceError `TooManyRequests` after too many failures of this account from this address. */
  ofPassword(email: string, password: string, address: string): Promise<Caller>;
  logInWithPassword(email: string, password: string, address: string): Promise<Session>;
  logInWithApiKey(key: string): Promise<Session>;
  /** A new session for a refresh token, which is spent by it. */
  refresh(refreshToken: string): Promise<Session>;
  /** Drops what is remembered of users and keys: call after changing one, so that it holds at once in this process. */
  forget(): void;
}

const REMEMBERED_LOGIN_MS = 60_000;
const TOUCH_MS = 60_000;
const FAILURE_WINDOW_MS = 5 * 60_000;

interface KnownKey {
  key: ApiKey;
  owner: Login;
}

export function createCredentials(deps: {
  accounts: AccountStore;
  passwords: Passwords;
  tokens: Tokens;
  loginCache: LoginCache;
  keys: readonly [AccountKeys, ...AccountKeys[]];
  now: () => Date;
  newId: () => string;
}): Credentials {
  const { accounts, passwords, tokens, loginCache, now, newId } = deps;
  // At most a second old: a change made by another process holds after that.
  const knownKeys = new BriefCache<KnownKey>({ ttlMs: 1_000, maxEntries: 10_000 });
  const knownTokens = new BriefCache<{ caller: Caller; expiresAt: Date }>({ ttlMs: 1_000, maxEntries: 10_000 });
  const knownLogins = new BriefCache<Login>({ ttlMs: 1_000, maxEntries: 10_000 });
  // Ten wrong passwords for one account from one address, and three hundred from one address for any (many people may share it).
  const ofAccount = new FailureLimit({ limit: 10, windowMs: FAILURE_WINDOW_MS, maxKeys: 50_000 });
  const ofAddress = new FailureLimit({ limit: 300, windowMs: FAILURE_WINDOW_MS, maxKeys: 50_000 });
  const verifying = new Map<string, Promise<boolean>>();

  async function knownKey(text: string): Promise<KnownKey> {
    if (isMistypedApiKey(text)) throw wrongKey();
    const hash = apiKeyHash(text);
    const found = await knownKeys.get(hash, async () => {
      const known = await accounts.apiKeyByHash(hash);
      if (known) await touch(known.key);
      return known;
    });
    if (!found || hasEnded(found.key.expiresAt)) throw wrongKey();
    return found;
  }

  async function touch(key: ApiKey): Promise<void> {
    if (key.lastUsed === null || now().getTime() - key.lastUsed.getTime() > TOUCH_MS) await accounts.touchApiKey(key.id);
  }

  const hasEnded = (at: Date | null): boolean => at !== null && at <= now();

  /** The caller a token stands for, as they are today. */
  async function callerOf(subject: TokenSubject): Promise<{ caller: Caller; expiresAt: Date | null } | undefined> {
    if (subject.apiKeyId === undefined) {
      const login = await accounts.loginById(subject.userId);
      return login && login.tokenVersion === subject.tokenVersion ? { caller: callerOfLogin(login), expiresAt: null } : undefined;
    }
    const known = await accounts.apiKeyById(subject.apiKeyId);
    if (!known || known.owner.userId !== subject.userId || known.owner.tokenVersion !== subject.tokenVersion) return undefined;
    await touch(known.key);
    return { caller: callerOfKey(known), expiresAt: known.key.expiresAt };
  }

  async function verifiedLogin(email: string, password: string, address: string): Promise<Login> {
    const account = email.toLowerCase();
    const pair = JSON.stringify([account, address]);
    const refuseIfLimited = () => {
      const wait = Math.max(ofAccount.waitSeconds(pair) ?? 0, ofAddress.waitSeconds(address) ?? 0);
      if (wait > 0)
        throw new ServiceError('TooManyRequests', 'too many failed logins: wait before you try again', {
          retryAfterSeconds: wait,
        });
    };
    refuseIfLimited();
    const login = await knownLogins.get(account, () => accounts.loginByEmail(account));
    // The stored hash is part of the key, so a new password, or none any more, ends what is remembered.
    const remembered = createHmac('sha256', deps.keys[0].rememberedLogin)
      .update(JSON.stringify([login?.userId ?? account, login?.passwordHash ?? null, password]))
      .digest('base64url');
    if (login && (await loginCache.get(remembered)) === login.userId) return login;
    // Equal attempts at the same moment are one: a client that starts fifty logins pays for one.
    const underWay = verifying.get(remembered) ?? verify(password, login, refuseIfLimited);
    verifying.set(remembered, underWay);
    const right = await underWay.finally(() => verifying.delete(remembered));
    if (!right || !login) {
      ofAccount.count(pair);
      ofAddress.count(address);
      throw new ServiceError('Unauthenticated', 'wrong email or password');
    }
    ofAccount.clear(pair);
    await loginCache.set(remembered, login.userId, REMEMBERED_LOGIN_MS);
    return login;
  }

  const verify = (password: string, login: Login | undefined, stillAllowed: () => void) =>
    passwords.verify(password, login?.passwordHash ?? null, stillAllowed);

  async function newSession(subject: TokenSubject, notAfter: Date | null, family: string): Promise<Session> {
    const [accessToken, refreshToken] = await Promise.all([
      tokens.signAccess(subject, notAfter),
      tokens.signRefresh({ ...subject, tokenId: newId(), family }),
    ]);
    return { accessToken, refreshToken };
  }

  return {
    ofApiKey: async (key) => callerOfKey(await knownKey(key)),
    async ofToken(token) {
      // The signature too is checked once a second only: it costs more than the rest of the gate.
      const known = await knownTokens.get(createHash('sha256').update(token).digest('base64'), async () => {
        const subject = await tokens.readAccess(token);
        const current = subject && (await callerOf(subject));
        // A token never outlives its key: its own end was set so when it was signed.
        return current && { caller: current.caller, expiresAt: subject.expiresAt };
      });
      if (!known || hasEnded(known.expiresAt)) throw endedToken();
      return known.caller;
    },
    ofPassword: async (email, password, address) => callerOfLogin(await verifiedLogin(email, password, address)),
    async logInWithPassword(email, password, address) {
      const { userId, tokenVersion } = await verifiedLogin(email, password, address);
      return newSession({ userId, tokenVersion }, null, newId());
    },
    async logInWithApiKey(text) {
      const { key, owner } = await knownKey(text);
      const subject = { userId: owner.userId, tokenVersion: owner.tokenVersion, apiKeyId: key.id };
      return newSession(subject, key.expiresAt, newId());
    },
    async refresh(refreshToken) {
      const subject = await tokens.readRefresh(refreshToken);
      if (!subject) throw endedToken();
      const known = await callerOf(subject);
      if (!known || hasEnded(known.expiresAt)) throw endedToken();
      if (!(await accounts.spendRefreshToken(subject.tokenId, subject.family, subject.expiresAt))) throw endedToken();
      const { userId, tokenVersion, apiKeyId } = subject;
      return newSession({ userId, tokenVersion, apiKeyId }, known.expiresAt, subject.family);
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

const wrongKey = () => new ServiceError('Unauthenticated', 'this API key is unknown, has ended or was deleted');
const endedToken = () => new ServiceError('Unauthenticated', 'this token is not valid, has ended or was revoked: log in again');
