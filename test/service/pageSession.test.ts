// A service of its own: it ends every session of the administrator, by whose key other files call.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService } from '../support/service.ts';
import type { TestService } from '../support/testService.ts';

const EMAIL = 'admin@example.com';
const PASSWORD = 'a-password-of-the-service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ ADMIN_EMAIL: EMAIL, ADMIN_PASSWORD: PASSWORD });
});
afterAll(() => service?.[Symbol.asyncDispose]());

const post = (path: string, headers: Record<string, string>, fields?: Record<string, string>) =>
  fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { Accept: 'application/json', ...headers },
    ...(fields ? { body: new URLSearchParams(fields) } : {}),
  });
const cookieOf = (answer: Response): string => (answer.headers.getSetCookie()[0] ?? '').split(';', 1)[0] as string;
const ownPage = { 'Sec-Fetch-Site': 'same-origin' };

/** Signs in as the console does. */
async function signIn(fields: Record<string, string> = { email: EMAIL, password: PASSWORD }) {
  const answer = await post('/pages/login', {}, fields);
  expect(answer.status).toBe(200);
  expect(answer.headers.getSetCookie()[0]).toMatch(/^assay_page=.*; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/);
  return { token: ((await answer.json()) as { access_token: string }).access_token, cookie: cookieOf(answer) };
}
const session = (cookie: string, headers: Record<string, string> = ownPage) =>
  post('/pages/session', { Cookie: cookie, ...headers });
const statusWith = async (token: string) =>
  (await fetch(`${service.url}/current_user`, { headers: { Authorization: `Bearer ${token}` } })).status;

test.each([
  ['a password', { email: EMAIL, password: PASSWORD }],
  ['an API key', { api_key: 'test-administrator-key' }],
])('a login by %s gives a token for calls, and a cookie that gives more of them', async (_by, fields) => {
  const { token, cookie } = await signIn(fields);
  expect(await statusWith(token)).toBe(200);
  const again = await session(cookie);
  expect(again.status).toBe(200);
  expect(await statusWith(((await again.json()) as { access_token: string }).access_token)).toBe(200);
});

test('two tabs that ask at once both go on, and so does one whose answer was lost', async () => {
  const { cookie } = await signIn();
  const [one, other] = await Promise.all([session(cookie), session(cookie)]);
  expect([one.status, other.status]).toEqual([200, 200]);
  expect((await session(cookie)).status).toBe(200);
  expect((await session(cookieOf(one))).status).toBe(200);
});

test.each([
  ['another site', { 'Sec-Fetch-Site': 'cross-site' }],
  ['another service of the same site', { 'Sec-Fetch-Site': 'same-site' }],
  ['another origin', { Origin: 'http://evil.example' }],
  ['a program that names no origin', {}],
])('%s gets no token with the cookie', async (_who, headers) => {
  const { cookie } = await signIn();
  const answer = await session(cookie, headers);
  expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []]);
});

test('a browser that names the origin alone, as over plain HTTP, gets one', async () => {
  const { cookie } = await signIn();
  expect((await session(cookie, { Origin: service.url })).status).toBe(200);
});

test('no kind of token passes for another', async () => {
  const { token, cookie } = await signIn();
  const pageToken = cookie.slice('assay_page='.length);
  expect((await session(cookie)).status).toBe(200);
  expect(await statusWith(pageToken)).toBe(401);
  expect((await session(`assay_page=${token}`)).status).toBe(401);
  expect((await session('other=1')).status).toBe(401);
  expect((await fetch(`${service.url}/current_user`, { headers: { Cookie: cookie } })).status).toBe(401); // the API reads no cookie
});

test('signing out ends the session in every tab, and so do a removal of all sessions', async () => {
  const { token, cookie } = await signIn();
  expect((await post('/pages/logout', { Cookie: cookie })).status).toBe(204);
  expect([(await session(cookie)).status, await statusWith(token)]).toEqual([401, 401]);

  const other = await signIn();
  const ended = await service.request('DELETE', '/current_user/sessions');
  expect(ended.status).toBe(204);
  expect([(await session(other.cookie)).status, await statusWith(other.token)]).toEqual([401, 401]);
});

test('a script of a page gets no challenge, for which its browser would open a window', async () => {
  const asked = (headers: Record<string, string>) => fetch(`${service.url}/current_user`, { headers });
  expect((await asked({})).headers.get('www-authenticate')).toMatch(/Basic/);
  expect((await asked({ 'X-Requested-With': 'XMLHttpRequest' })).headers.get('www-authenticate')).toBeNull();
});

test('a wrong password is an error of the API, in words', async () => {
  const answer = await post('/pages/login', {}, { email: EMAIL, password: 'wrong' });
  expect([answer.status, ((await answer.json()) as { detail: string }).detail]).toEqual([401, 'wrong email or password']);
});

test('a page of another site signs nobody in or out', async () => {
  const { token, cookie } = await signIn();
  const foreign = { Origin: 'https://evil.example.com' };
  const login = await post('/pages/login', foreign, { email: EMAIL, password: PASSWORD });
  expect([login.status, login.headers.getSetCookie()]).toEqual([403, []]);
  expect((await post('/pages/logout', { ...foreign, Cookie: cookie })).status).toBe(403);
  expect(await statusWith(token)).toBe(200);
});
