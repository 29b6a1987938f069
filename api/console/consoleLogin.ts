import { type Request, type Response, Router } from 'express';
import { z } from 'zod';
import type { Credentials, PageSession, Session } from '../../shared/accounts/credentials.ts';
import { PAGE_TOKEN_SECONDS } from '../../shared/accounts/tokens.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import type { ClientAddresses } from '../callers/clientAddress.ts';
import { cookieOf, PAGE_COOKIE } from '../callers/loginCookies.ts';
import { LOGIN_BODY_BYTES, loginClient } from '../callers/loginRequest.ts';
import { publicPathOf } from '../http/publicHost.ts';
import { type BodyPace, readBody } from '../http/readBody.ts';

export interface ConsoleLoginDeps {
  credentials: Credentials;
  clients: ClientAddresses;
  pace: BodyPace;
}

const Form = z.object({
  email: z.string().default(''),
  password: z.string().default(''),
  api_key: z.string().default(''),
});

/**
 * Login and logout of the console, by password or API key. The cookie is good for these routes alone: the console asks for an access token with it and
 * keeps that in memory, so every call that it makes is one that any program could make. Answers allow no other origin, and no other site's page gets a
 * token, since a browser says which site a request is from.
 */
export function consoleLogin({ credentials, clients, pace }: ConsoleLoginDeps): Router {
  const router = Router();

  const logIn = (request: Request, { api_key, email, password }: z.output<typeof Form>): Promise<Session> =>
    api_key === ''
      ? credentials.logInWithPassword(email, password, loginClient(clients, request))
      : credentials.logInWithApiKey(api_key.trim());

  const setCookie = (request: Request, response: Response, token: string, seconds: number) => {
    const secure = clients.isTls(request) ? '; Secure' : '';
    response.setHeader(
      'Set-Cookie',
      `${PAGE_COOKIE}=${token}; Max-Age=${seconds}; Path=${publicPathOf(request) || '/'}; HttpOnly; SameSite=Strict${secure}`,
    );
  };
  const open = (request: Request, response: Response, { accessToken, pageToken }: PageSession) => {
    setCookie(request, response, pageToken, PAGE_TOKEN_SECONDS);
    response.json({ access_token: accessToken });
  };

  router.post('/pages/login', async (request, response) => {
    refuseForeign(request);
    const { value: body } = await readBody(request, 'urlencoded', { limit: LOGIN_BODY_BYTES, share: undefined, pace });
    open(request, response, await credentials.openPages(await logIn(request, Form.parse(body))));
  });

  router.post('/pages/session', async (request, response) => {
    requireOwnPage(request);
    const token = cookieOf(request, PAGE_COOKIE);
    if (token === undefined) throw new ServiceError('Unauthenticated', 'this browser is not signed in');
    open(request, response, await credentials.renewPages(token, loginClient(clients, request)));
  });

  router.post('/pages/logout', async (request, response) => {
    refuseForeign(request);
    await credentials.logOut({ page: cookieOf(request, PAGE_COOKIE) });
    setCookie(request, response, '', 0);
    response.status(204).end();
  });

  return router;
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
