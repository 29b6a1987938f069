import type { IncomingMessage } from 'node:http';

/** The refresh token of a login session, for the routes of the API that renew or end it. */
export const REFRESH_COOKIE = 'refresh_token';
/** A page token. The routes of the API do not read it, so that no page of another site can use it there. */
export const PAGE_COOKIE = 'assay_page';

export const cookieOf = (request: IncomingMessage, name: string): string | undefined =>
  cookies(request)
    .find((cookie) => nameOf(cookie) === name)
    ?.slice(name.length + 1);

/** The `Cookie` header for another server on this host: a browser sends the cookies of one port to all others. Undefined when nothing is left. */
export function withoutLoginCookies(request: IncomingMessage): string | undefined {
  const others = cookies(request).filter((cookie) => ![REFRESH_COOKIE, PAGE_COOKIE].includes(nameOf(cookie)));
  return others.length === 0 ? undefined : others.join('; ');
}

const cookies = (request: IncomingMessage): string[] =>
  (request.headers.cookie ?? '').split(';').flatMap((cookie) => cookie.trim() || []);
const nameOf = (cookie: string): string => cookie.split('=', 1)[0] as string;
