import { type Request, type Response, Router } from 'express';
import { z } from 'zod';
import type { Credentials, PageSession, Session } from '../../shared/accounts/credentials.ts';
import type { Caller } from '../../shared/accounts/permissions.ts';
import { PAGE_TOKEN_SECONDS } from '../../shared/accounts/tokens.ts';
import { ServiceError } from '../../shared/errors/errors.ts';

import type { ClientAddresses } from '../clientAddress.ts';
import { cookieOf, PAGE_COOKIE } from '../loginCookies.ts';
import { LOGIN_BODY_BYTES, loginClient } from '../loginRequest.ts';
import { publicPathOf } from '../publicHost.ts';
import { type BodyPace, readBody } from '../readBody.ts';
import { html } from './html.ts';
import { pageHeaders, pageLayout } from './pageLayout.ts';

export interface PageLoginDeps {
  credentials: Credentials;
  clients: ClientAddresses;
  pace: BodyPace;
}

const PATH = '/pages/login';

/** Who reads a page: the caller of the cookie. Undefined without one, or when it has ended. */
export async function pageCaller(credentials: Credentials, request: Request): Promise<Caller | undefined> {
  const token = cookieOf(request, PAGE_COOKIE);
  if (token === undefined) return undefined;
  try {
    return await credentials.ofPageToken(token);
  } catch (err) {
    if (err instanceof ServiceError && err.code === 'Unauthenticated') return undefined;
    throw err;
  }
}

/** Sends whoever is not logged in to the login, and from there back. */
export function toLogin(request: Request, response: Response): void {
  // A browser that follows a link of another site does not send the cookie. The page that leads on is this site's own, so it does then.
  if (request.headers['sec-fetch-site'] === 'cross-site')
    response.set(pageHeaders).send(onwardPage(publicPathOf(request) + request.url));
  else redirect(response, `${publicPathOf(request)}${PATH}?next=${encodeURIComponent(request.url)}`);
}

const Form = z.object({
  next: z.string().default('/'),
  email: z.string().default(''),
  password: z.string().default(''),
  api_key: z.string().default(''),
});

/**
 * Login and logout of the pages, by password or API key. The cookie is good for these routes and the pages alone: the console asks for an access
 * token with it and keeps that in memory, so every call that it makes is one that any program could make. Answers allow no other origin, and no other
 * site's page gets a token, since a browser says which site a request is from.
 */
export function pageLoginRoutes({ credentials, clients, pace }: PageLoginDeps): Router {
  const router = Router();

  const logIn = (request: Request, { api_key, email, password }: z.output<typeof Form>): Promise<Session> =>
    api_key === ''
      ? credentials.logInWithPassword(email, password, loginClient(clients, request))
      : credentials.logInWithApiKey(api_key.trim());

  const setCookie = (request: Request, response: Response, { pageToken }: PageSession) => {
    const secure = clients.isTls(request) ? '; Secure' : '';
    response.setHeader(
      'Set-Cookie',
      `${PAGE_COOKIE}=${pageToken}; Max-Age=${PAGE_TOKEN_SECONDS}; Path=${publicPathOf(request) || '/'}; HttpOnly; SameSite=Strict${secure}`,
    );
  };

  router.get(PATH, (request, response) => {
    response.set(pageHeaders).send(loginPage(request, String(request.query.next ?? '/')));
  });

  router.post(PATH, async (request, response) => {
    refuseForeign(request);
    const { value: body } = await readBody(request, 'urlencoded', { limit: LOGIN_BODY_BYTES, share: undefined, pace });
    const form = Form.parse(body);
    const asJson = request.accepts(['html', 'json']) === 'json';
    try {
      const session = await credentials.openPages(await logIn(request, form));
      setCookie(request, response, session);
      if (asJson) response.json({ access_token: session.accessToken });
      else redirect(response, publicPathOf(request) + ownPath(form.next));
    } catch (err) {
      const isTheirs = err instanceof ServiceError && (err.code === 'Unauthenticated' || err.code === 'TooManyRequests');
      if (!isTheirs || asJson) throw err;
      response
        .status(err.status)
        .set(pageHeaders)
        .send(loginPage(request, form.next, err.message));
    }
  });

  router.post('/pages/session', async (request, response) => {
    requireOwnPage(request);
    const token = cookieOf(request, PAGE_COOKIE);
    if (token === undefined) throw new ServiceError('Unauthenticated', 'this browser is not signed in');
    const session = await credentials.renewPages(token, loginClient(clients, request));
    setCookie(request, response, session);
    response.json({ access_token: session.accessToken });
  });

  router.post('/pages/logout', async (request, response) => {
    refuseForeign(request);
    await credentials.logOut({ page: cookieOf(request, PAGE_COOKIE) });
    response.setHeader(
      'Set-Cookie',
      `${PAGE_COOKIE}=; Max-Age=0; Path=${publicPathOf(request) || '/'}; HttpOnly; SameSite=Strict`,
    );
    redirect(response, publicPathOf(request) + PATH);
  });

  return router;
}

const onwardPage = (url: string): string =>
  pageLayout({
    title: 'One moment',
    below: '',
    main: html`<meta http-equiv="refresh" content="0; url=${url}"><p><a href="${url}">Go on</a></p>`,
  });

const loginPage = (request: Request, next: string, problem?: string): string =>
  pageLayout({
    title: 'Log in',
    below: publicPathOf(request),
    main: html`<h1>Log in</h1>
${problem !== undefined && html`<p class="error" role="alert">${problem}</p>`}
<form class="login" method="post" action="${publicPathOf(request)}${PATH}">
<input type="hidden" name="next" value="${next}">
<label>E-mail address <input name="email" type="email" autocomplete="username"></label>
<label>Password <input name="password" type="password" autocomplete="current-password"></label>
<p class="quiet">or</p>
<label>API key <input name="api_key" type="password" autocomplete="off"></label>
<button>Log in</button>
</form>`,
  });

function redirect(response: Response, location: string): void {
  response.writeHead(303, { Location: location }).end();
}

/** A path of this service, never an address of another site, whatever the form says. */
function ownPath(next: string): string {
  const base = 'http://service.invalid';
  if (!next.startsWith('/') || !URL.canParse(next, base)) return '/';
  const url = new URL(next, base);
  // `/.//host` is a path here, whose normalized form `//host` a browser would take for another site.
  return url.origin === base && !url.pathname.startsWith('//') ? url.pathname + url.search : '/';
}

/** A browser says which site a form is from. */
function refuseForeign(request: Request): void {
  if (request.headers.origin !== undefined && !isOwnOrigin(request))
    throw new ServiceError('Forbidden', 'the form of this page is taken from this service alone');
}

/** A browser names the relation of the sites where it trusts the connection, and else the origin of every POST. */
function requireOwnPage(request: Request): void {
  const relation = request.headers['sec-fetch-site'];
  if (relation === undefined ? !isOwnOrigin(request) : relation !== 'same-origin')
    throw new ServiceError('Forbidden', 'pages of this service alone ask for their session; programs send POST /login');
}

function isOwnOrigin({ headers: { origin, host } }: Request): boolean {
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host;
}
