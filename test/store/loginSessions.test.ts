import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { type AccountService, startAccountService } from '../support/accountService.ts';
import { overDatabases } from '../support/overDatabases.ts';

overDatabases(stories);

function stories(databaseUrl: () => Promise<string | undefined>): void {
  let service: AccountService;
  beforeAll(async () => {
    service = await startAccountService(await databaseUrl());
  });
  afterAll(() => service[Symbol.asyncDispose]());

  /** A login with what it gave: its calls, its token and its cookie. */
  async function session({ email, password }: { email: string; password: string }, userAgent = 'a browser') {
    const headers = { 'User-Agent': userAgent, 'X-Forwarded-For': '192.0.2.44' };
    const answer = await service.request('POST', '/login', { form: { username: email, password }, headers });
    expect(answer.status).toBe(200);
    return sessionOf(answer.body.access_token, answer.headers);
  }
  const sessionOf = (token: string, headers: Headers) => ({
    token,
    call: service.withToken(token),
    cookie: String(headers.get('set-cookie')).split(';')[0] as string,
    status: async () => (await service.withToken(token)('GET', '/current_user')).status,
  });
  const refresh = (cookie: string) => service.request('POST', '/refresh_token', { headers: { cookie } });
  const statuses = (...those: { status(): Promise<number> }[]) => Promise.all(those.map((one) => one.status()));
  const newPassword = 'Another-Password-2';

  describe('sessions', () => {
    test('are listed with where they come from; one of them ends with its tokens and those made from them', async () => {
      const user = await service.user('user');
      const [laptop, phone] = [await session(user, 'a laptop'), await session(user, 'a phone')];
      const refreshed = await refresh(phone.cookie);
      const second = sessionOf(refreshed.body.access_token, refreshed.headers);
      const { body } = await laptop.call('GET', '/current_user/sessions');
      expect(body.sessions).toHaveLength(3); // the first is that of the test's user
      const [current] = body.sessions.filter((one: { is_current: boolean }) => one.is_current);
      expect(current).toMatchObject({ user_agent: 'a laptop', address: '192.0.2.44' });
      const other = (await second.call('GET', '/current_user/sessions')).body.sessions.find(
        (one: { is_current: boolean }) => one.is_current,
      );

      expect((await laptop.call('DELETE', `/current_user/sessions/${other.id}`)).status).toBe(204);
      expect(await statuses(laptop, phone, second)).toEqual([200, 401, 401]);
      expect((await refresh(second.cookie)).status).toBe(401);
      expect((await laptop.call('GET', '/current_user/sessions')).body.sessions).toHaveLength(2);
      expect((await laptop.call('DELETE', `/current_user/sessions/${other.id}`)).status).toBe(404);
    });

    test("another user's are not theirs to see or end", async () => {
      const [mine, theirs] = [await session(await service.user('user')), await session(await service.user('admin'))];
      const [one] = (await mine.call('GET', '/current_user/sessions')).body.sessions;
      expect((await theirs.call('DELETE', `/current_user/sessions/${one.id}`)).status).toBe(404);
      expect(await mine.status()).toBe(200);
    });

    test('end by a logout with the token or the cookie, which is taken away; a second one changes nothing', async () => {
      const user = await service.user('user');
      const [one, other, third] = [await session(user), await session(user), await session(user)];
      const out = await one.call('POST', '/logout');
      expect([out.status, out.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('refresh_token=; Max-Age=0')]);
      expect((await service.request('POST', '/logout', { headers: { cookie: other.cookie } })).status).toBe(204);
      expect(await statuses(one, other, third)).toEqual([401, 401, 200]);
      expect((await refresh(one.cookie)).status).toBe(401);
      expect((await one.call('POST', '/logout')).status).toBe(204);
      expect((await service.request('POST', '/logout')).status).toBe(204);
    });

    test('end all at once, by their user or an administrator; API keys and their tokens stay', async () => {
      const user = await service.user('user');
      const { body: key } = await user.call('POST', '/users/api_keys', { description: 'k' });
      const login = await service.request('POST', '/login/api_key', { json: { api_key: key.api_key } });
      const ofKey = sessionOf(login.body.access_token, login.headers);
      const [one, other] = [await session(user), await session(user)];
      expect((await one.call('DELETE', '/current_user/sessions')).status).toBe(204);
      expect(await statuses(one, other, ofKey)).toEqual([401, 401, 200]);
      expect((await refresh(other.cookie)).status).toBe(401);
      expect((await service.withKey(key.api_key)('GET', '/current_user/sessions')).body.sessions).toEqual([]);

      const again = await session(user);
      expect((await again.call('DELETE', `/users/${user.id}/sessions`)).status).toBe(403);
      expect((await service.admin('DELETE', `/users/${user.id}/sessions`)).status).toBe(204);
      expect(await statuses(again, ofKey)).toEqual([401, 200]);
      expect((await refresh(ofKey.cookie)).status).toBe(200);
      expect((await service.admin('DELETE', `/users/${newId()}/sessions`)).status).toBe(404);
    });

    test('of a key are logged out by themselves: the key goes on', async () => {
      const user = await service.user('user');
      const { body: key } = await user.call('POST', '/users/api_keys', { description: 'k' });
      const logIn = async () => {
        const answer = await service.request('POST', '/login/api_key', { json: { api_key: key.api_key } });
        return sessionOf(answer.body.access_token, answer.headers);
      };
      const [one, other] = [await logIn(), await logIn()];
      expect((await one.call('POST', '/logout')).status).toBe(204);
      expect(await statuses(one, other)).toEqual([401, 200]);
      expect((await refresh(one.cookie)).status).toBe(401);
    });

    test('are no more than a hundred in the list, however often a client logs in; all of them work', async () => {
      const user = await service.user('user');
      const first = await session(user);
      await Promise.all(Array.from({ length: 110 }, () => session(user)));
      const { body } = await first.call('GET', '/current_user/sessions?limit=1000');
      expect(body.sessions).toHaveLength(100);
      expect(await first.status()).toBe(200);
      expect((await first.call('DELETE', '/current_user/sessions')).status).toBe(204);
      expect(await first.status()).toBe(401);
    });

    test('a refresh token that is used twice ends its session', async () => {
      const user = await service.user('user');
      const one = await session(user);
      const refreshed = await refresh(one.cookie);
      const next = sessionOf(refreshed.body.access_token, refreshed.headers);
      expect((await refresh(one.cookie)).status).toBe(401);
      expect(await statuses(one, next)).toEqual([401, 401]);
    });

    test('a key limited to a project has no part in them', async () => {
      const project = await service.project();
      const { body } = await service.admin('POST', '/users/api_keys', { description: 'k', project_id: project.id });
      const key = service.withKey(body.api_key);
      const change = { old_password: 'x', new_password: newPassword };
      expect((await key('GET', '/current_user/sessions')).status).toBe(403);
      expect((await key('DELETE', '/current_user/sessions')).status).toBe(403);
      expect((await key('DELETE', `/current_user/sessions/${newId()}`)).status).toBe(403);
      expect((await key('PUT', '/current_user/password', change)).status).toBe(403);
    });
  });

  describe('a new password', () => {
    test('ends all sessions but the one that asks, which goes on and is refreshed; API keys stay', async () => {
      const user = await service.user('user');
      const { body: key } = await user.call('POST', '/users/api_keys', { description: 'k' });
      const [mine, other] = [await session(user), await session(user)];
      const change = { old_password: user.password, new_password: newPassword };
      expect((await mine.call('PUT', '/current_user/password', change)).status).toBe(204);
      expect(await statuses(mine, other)).toEqual([200, 401]);
      expect((await refresh(other.cookie)).status).toBe(401);
      const refreshed = await refresh(mine.cookie);
      const next = sessionOf(refreshed.body.access_token, refreshed.headers);
      expect(await statuses(mine, next)).toEqual([200, 200]);
      expect((await next.call('GET', '/current_user/sessions')).body.sessions).toHaveLength(1);
      expect((await service.withKey(key.api_key)('GET', '/current_user')).status).toBe(200);
      expect((await service.request('POST', '/login', { form: { username: user.email, password: user.password } })).status).toBe(
        401,
      );
      await session({ email: user.email, password: newPassword });

      // The session that stayed ends with the next change.
      const elsewhere = await session({ email: user.email, password: newPassword });
      const again = { old_password: newPassword, new_password: user.password };
      expect((await elsewhere.call('PUT', '/current_user/password', again)).status).toBe(204);
      expect(await statuses(mine, next, elsewhere)).toEqual([401, 401, 200]);
    });

    test('needs the old one, and a wrong one counts as a failed login; a weak one is refused', async () => {
      service.clock.at = Date.now();
      const user = await service.user('user');
      const change = (old_password: string, new_password = newPassword) =>
        user.call('PUT', '/current_user/password', { old_password, new_password });
      expect((await change(user.password, 'weak')).body.detail[0].loc).toEqual(['body', 'new_password']);
      for (let attempt = 0; attempt < 10; attempt += 1) {
        const { status, body } = await change(`Wrong-${attempt}`);
        expect([status, body.detail[0].loc]).toEqual([422, ['body', 'old_password']]);
      }
      expect((await change(user.password)).status).toBe(429);
      service.clock.offsetMs = 2_000;
      expect((await change(user.password)).status).toBe(204);
      Object.assign(service.clock, { at: undefined, offsetMs: 0 });
    });
  });

  describe('a reset', () => {
    const start = (userId: string) => service.admin('POST', `/users/${userId}/password_reset`);
    const finish = (reset_token: string, new_password = newPassword) =>
      service.request('POST', '/password_reset', { json: { reset_token, new_password } });

    test('by an administrator gives a token that sets a password once, and ends all sessions', async () => {
      const user = await service.user('user');
      const one = await session(user);
      const { status, body } = await start(user.id);
      expect([status, body.user_id, body.email]).toEqual([200, user.id, user.email]);
      // Nothing has changed yet.
      expect(await one.status()).toBe(200);
      const weak = await finish(body.reset_token, 'weak');
      expect(weak.status).toBe(422);
      const used = await Promise.all([finish(body.reset_token), finish(body.reset_token)]);
      expect(used.map((answer) => answer.status).sort()).toEqual([204, 401]);
      expect(await one.status()).toBe(401);
      await session({ email: user.email, password: newPassword });
      const rows = await service.database.query('SELECT * FROM password_resets');
      expect(JSON.stringify(rows)).not.toContain(body.reset_token);
    });

    test('is replaced by another, ends after a day, and with a change of the password', async () => {
      const user = await service.user('user');
      const first = (await start(user.id)).body.reset_token;
      const second = (await start(user.id)).body.reset_token;
      expect((await finish(first)).status).toBe(401);
      service.clock.offsetMs = 24 * 3_600_000 + 1_000;
      expect((await finish(second)).status).toBe(401);
      service.clock.offsetMs = 0;
      const change = { old_password: user.password, new_password: newPassword };
      expect((await user.call('PUT', '/current_user/password', change)).status).toBe(204);
      expect((await finish(second)).status).toBe(401);
    });

    test('is for administrators alone, and for users that there are', async () => {
      const [manager, user] = [await service.user('manager'), await service.user('user')];
      expect((await manager.call('POST', `/users/${user.id}/password_reset`)).status).toBe(403);
      expect((await start(newId())).status).toBe(404);
      const { body } = await start(user.id);
      expect((await service.admin('DELETE', `/users/${user.id}`)).status).toBe(204);
      expect((await finish(body.reset_token)).status).toBe(401);
      expect((await finish('nonsense')).status).toBe(401);
    });
  });
}
