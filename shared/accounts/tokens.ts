import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import type { AccountKeys } from './accountKeys.ts';

/** The user that a token names. It carries no rights: the user (and key) are looked up when it is used. */
export interface TokenSubject {
  userId: string;
  tokenVersion: number;
  /** Set for a login by API key: the token ends with the key. */
  apiKeyId?: string | undefined;
  /** The login that it comes from: the family of its refresh tokens. Tokens of former releases lack it. */
  sessionId?: string | undefined;
}

/** A token that was read: signed by us and not ended. */
type ReadToken = TokenSubject & { expiresAt: Date };
type ReadRefreshToken = ReadToken & { tokenId: string; sessionId: string };

/** A day: one existing client keeps its token for the life of its process. */
export const ACCESS_TOKEN_SECONDS = 86_400;
export const REFRESH_TOKEN_SECONDS = 30 * 86_400;
export const PAGE_TOKEN_SECONDS = 30 * 86_400;

export interface Tokens {
  /** @param notAfter the end of the API key behind it, where that comes earlier. */
  signAccess(subject: TokenSubject, notAfter: Date | null): Promise<string>;
  /** Undefined for a token that is not ours, altered or ended. */
  readAccess(token: string): Promise<ReadToken | undefined>;
  signRefresh(subject: Omit<ReadRefreshToken, 'expiresAt'>): Promise<string>;
  readRefresh(token: string): Promise<ReadRefreshToken | undefined>;
  /** Good for {@link PAGE_TOKEN_SECONDS}, however often it is used. @param notAfter as for `signAccess` */
  signPage(subject: TokenSubject, notAfter: Date | null): Promise<string>;
  readPage(token: string): Promise<ReadToken | undefined>;
}

type Purpose = 'accessToken' | 'refreshToken' | 'pageToken';

const Claims = z.object({
  sub: z.string(),
  ver: z.number(),
  key: z.string().optional(),
  sid: z.string().optional(),
  exp: z.number(),
});
const RefreshClaims = Claims.extend({ jti: z.string(), fam: z.string() });

/** JSON web tokens (HS256). Each kind has a key of its own, so none passes for another. */
export function createTokens(keys: readonly [AccountKeys, ...AccountKeys[]], now: () => Date): Tokens {
  const sign = (purpose: Purpose, { userId, tokenVersion, apiKeyId }: TokenSubject, more: JWTPayload) =>
    new SignJWT({ ver: tokenVersion, ...(apiKeyId ? { key: apiKeyId } : {}), ...more })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: keys[0].id })
      .setSubject(userId)
      .setIssuedAt(now())
      .sign(keys[0][purpose]);

  async function read<T>(purpose: Purpose, token: string, claims: z.ZodType<T>): Promise<T | undefined> {
    try {
      const keyOf = (header: { kid?: string }) => {
        const key = keys.find((one) => one.id === header.kid);
        if (!key) throw new errors.JWKSNoMatchingKey();
        return key[purpose];
      };
      const { payload } = await jwtVerify(token, keyOf, { algorithms: ['HS256'], currentDate: now(), requiredClaims: ['exp'] });
      return claims.safeParse(payload).data;
    } catch (err) {
      if (err instanceof errors.JOSEError) return undefined;
      throw err;
    }
  }

  const subject = (claims: z.output<typeof Claims>): ReadToken => ({
    userId: claims.sub,
    tokenVersion: claims.ver,
    apiKeyId: claims.key,
    sessionId: claims.sid,
    expiresAt: new Date(claims.exp * 1_000),
  });
  const secondsFromNow = (seconds: number) => Math.floor(now().getTime() / 1_000) + seconds;
  const signUntil = (purpose: Purpose, one: TokenSubject, seconds: number, notAfter: Date | null) =>
    sign(purpose, one, {
      ...(one.sessionId ? { sid: one.sessionId } : {}),
      exp: notAfter ? Math.min(secondsFromNow(seconds), Math.floor(notAfter.getTime() / 1_000)) : secondsFromNow(seconds),
    });

  return {
    signAccess: (one, notAfter) => signUntil('accessToken', one, ACCESS_TOKEN_SECONDS, notAfter),
    async readAccess(token) {
      const claims = await read('accessToken', token, Claims);
      return claims && subject(claims);
    },
    signRefresh: (one) =>
      sign('refreshToken', one, { jti: one.tokenId, fam: one.sessionId, exp: secondsFromNow(REFRESH_TOKEN_SECONDS) }),
    async readRefresh(token) {
      const claims = await read('refreshToken', token, RefreshClaims);
      return claims && { ...subject(claims), tokenId: claims.jti, sessionId: claims.fam };
    },
    signPage: (one, notAfter) => signUntil('pageToken', one, PAGE_TOKEN_SECONDS, notAfter),
    async readPage(token) {
      const claims = await read('pageToken', token, Claims);
      return claims && subject(claims);
    },
  };
}
