import { decodeJwt } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ensureAdministrator } from '../../shared/accounts/administrator.ts';
import { isMistypedApiKey, newApiKeyText } from '../../shared/accounts/apiKeyText.ts';
import { createPasswords } from '../../shared/accounts/passwords.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { type AccountService, adminPassword, startAccountService } from '../support/accountService.ts';
import { overDatabases } from '../support/overDatabases.ts';

overDatabases(stories);

function stories(databaseUrl: () => Promise<string | undefined>): void {
  let service: AccountService;
  beforeAll(async () => {
    service = await startAccountService(await databaseUrl());
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const basic = (email: string, password: string) => ({
    authorization: `Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`,
  });
  const logIn = (username: string, password: string, more: Record<string, string> = {}) =>
    service.request('POST', '/login', { form: { username, password, ...more } });

  describe('the four schemes', () => {
    test('an API key in either header, a bearer token and Basic each tell who calls', async () => {
      const { apiKey } = service.administrator as { apiKey: string };
      const { body: token } = await logIn('admin@example.com', adminPassword);
      for (const headers of [
        { 'Service-API-Key': apiKey },
        { 'Service-AO-API-Key': apiKey },
        { authorization: `Bearer ${token.access_token}` },
        basic('admin@example.com', adminPassword),
      ]) {
        const { status, body } = await service.request('GET', '/v2/current_user', { headers });
        expect([status, body.email, body.role]).toEqual([200, 'admin@example.com', 'admin']);
      }
    });

    test('one valid credential is enough beside a wrong one', async () => {
      const { apiKey } = service.administrator as { apiKey: string };
      const headers = { 'Service-API-Key': apiKey, authorization: 'Bearer nonsense' };
      expect((await service.request('GET', '/current_user', { headers })).status).toBe(200);
      const swapped = { 'Service-API-Key': 'nonsense', ...basic('admin@example.com', adminPassword) };
      expect((await service.request('GET', '/current_user', { headers: swapped })).status).toBe(200);
    });

    test.each([
      [{}],
      [{ 'Service-API-Key': 'nonsense' }],
      [{ 'Service-API-Key': newApiKeyText() }],
      [{ authorization: 'Bearer nonsense' }],
      [{ authorization: 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4IiwiZXhwIjo5OTk5OTk5OTk5fQ.' }],
      [{ authorization: 'Basic bm9jb2xvbg==' }],
      [{ authorization: 'Basic' }],
    ])('credentials %j are refused with 401 and both error forms', async (headers) => {
      const { status, body, headers: replyHeaders } = await service.request('GET', '/current_user', { headers });
      expect(status).toBe(401);
      expect(body.detail).toBeTypeOf('string');
      expect(body.standard_error).toMatchObject({ error_type: 'credentials_error', http_status_code: 401 });
      expect(replyHeaders.get('www-authenticate')).toBe('Bearer, Basic realm="Assay", charset="UTF-8"');
    });
  });

  describe('logins', () => {
    test('a form login gives a token of a day with a numeric exp, and an HttpOnly refresh cookie', async () => {
      const { status, body, headers } = await logIn('ADMIN@example.com', adminPassword, { auth_method: 'email', scope: '' });
      expect(status).toBe(200);
      expect(body.token_type).toBe('bearer');
      const { exp } = decodeJwt(body.access_token);
      expect((exp as number) - Date.now() / 1_000).toBeGreaterThan(86_000);
      expect(headers.get('set-cookie')).toMatch(/^refresh_token=.*; HttpOnly; SameSite=Strict$/);
    });

    test('only a trusted proxy says that the refresh cookie travels over TLS', async () => {
      await using bare = await startAccountService(await databaseUrl(), []);
      const cookieOf = async ({ request, administrator }: AccountService, proto: string) => {
        const json = { api_key: administrator.apiKey };
        const { headers } = await request('POST', '/login/api_key', { json, headers: { 'X-Forwarded-Proto': proto } });
        return headers.get('set-cookie');
      };
      expect(await cookieOf(service, 'https')).toMatch(/; SameSite=Strict; Secure$/);
      expect(await cookieOf(service, 'http')).toMatch(/; SameSite=Strict$/);
      expect(await cookieOf(bare, 'https')).toMatch(/; SameSite=Strict$/);
    });

    test('a login by API key works without the prefix and with it', async () => {
      const { apiKey } = service.administrator as { apiKey: string };
      for (const path of ['/login/api_key', '/v2/login/api_key']) {
        const { status, body } = await service.request('POST', path, { json: { api_key: apiKey } });
        expect(status).toBe(200);
        expect((await service.withToken(body.access_token)('GET', '/current_user')).status).toBe(200);
      }
      expect((await service.request('POST', '/login/api_key', { json: { api_key: 'nonsense' } })).status).toBe(401);
    });

    test('a wrong password and an unknown email are refused alike', async () => {
      const { email } = await service.user('user');
      const wrong = await logIn(email, 'Wrong-Password-1');
      const unknown = await logIn(`${newId()}@example.com`, 'Wrong-Password-1');
      expect([wrong.status, unknown.status]).toEqual([401, 401]);
      expect(wrong.body).toEqual(unknown.body);
    });

    test('a new user is known at once, also where their email was tried before', async () => {
      const user = { email: `${newId()}@example.com`, password: 'Some-Password-1' };
      expect((await logIn(user.email, user.password)).status).toBe(401);
      await service.admin('POST', '/users', user);
      expect((await logIn(user.email, user.password)).status).toBe(200);
    });

    test('a login without a field is 422 and names it', async () => {
      const { status, body } = await service.request('POST', '/login', { form: { username: 'admin@example.com' } });
      expect(status).toBe(422);
      expect(body.detail[0].loc).toEqual(['body', 'password']);
    });

    describe('that fail', () => {
      let address = '';
      const logInFrom = (from: string, username: string, password: string) =>
        service.request('POST', '/login', { form: { username, password }, headers: { 'X-Forwarded-For': from } });
      const failures = async (count: number, username: string, from = address) => {
        for (let attempt = 0; attempt < count; attempt += 1)
          expect((await logInFrom(from, username, `Wrong-${attempt}`)).status).toBe(401);
      };
      let addresses = 0;
      const freshAddress = () => `198.51.${100 + Math.floor(++addresses / 250)}.${addresses % 250}`;
      beforeEach(() => {
        service.clock.at = Date.now();
        address = freshAddress();
      });
      afterEach(() => {
        Object.assign(service.clock, { at: undefined, offsetMs: 0 });
      });

      test('ten slow an account down from this address, even with the right password; other accounts and addresses go on', async () => {
        const victim = await service.user('user');
        const bystander = await service.user('user');
        await failures(10, victim.email);
        const refused = await logInFrom(address, victim.email, victim.password);
        expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '2']);
        const headers = { ...basic(victim.email, victim.password), 'X-Forwarded-For': address };
        expect((await service.request('GET', '/current_user', { headers })).status).toBe(429);
        expect((await logInFrom(address, bystander.email, bystander.password)).status).toBe(200);
        expect((await logInFrom(freshAddress(), victim.email, victim.password)).status).toBe(200);
        // A token that was there before goes on working.
        expect((await victim.call('GET', '/current_user')).status).toBe(200);
        // After the wait, and once no earlier login is remembered, the right password is let in, and what failed is forgotten.
        service.clock.offsetMs = 61_000;
        expect((await logInFrom(address, victim.email, victim.password)).status).toBe(200);
        await failures(9, victim.email);
      });

      test('wait twice as long after each, a minute at most, and are forgotten after a quarter of an hour', async () => {
        const { email } = await service.user('user');
        await failures(10, email);
        const waits: number[] = [];
        for (let more = 0; more < 7; more += 1) {
          const refused = await logInFrom(address, email, 'Wrong-again');
          waits.push(Number(refused.headers.get('retry-after')));
          service.clock.offsetMs += 1_000 * (waits.at(-1) ?? 0);
          await failures(1, email);
        }
        expect(waits).toEqual([2, 4, 8, 16, 32, 60, 60]);
        service.clock.offsetMs += 15 * 60_000;
        await failures(10, email);
      });

      test('cannot lock out an account from elsewhere, however many addresses they come from', async () => {
        const { email, password } = await service.user('user');
        for (let guess = 0; guess < 101; guess += 1) await failures(1, email, freshAddress());
        // From here on one failure of an address is enough to slow it down.
        await failures(1, email);
        expect((await logInFrom(address, email, 'Wrong-again')).status).toBe(429);
        expect((await logInFrom(freshAddress(), email, password)).status).toBe(200);
      });

      test('count for the network of an IPv6 address, and for accounts that do not exist as for those that do', async () => {
        for (const email of [(await service.user('user')).email, `${newId()}@example.com`]) {
          for (let guess = 0; guess < 10; guess += 1) await failures(1, email, `2001:db8:${addresses}:1::${guess + 1}`);
          expect((await logInFrom(`2001:db8:${addresses}:1:ffff::1`, email, 'Wrong-1')).status).toBe(429);
          await failures(1, email, `2001:db8:${addresses}:2::1`);
        }
      });

      test('do not slip past the limit in parallel', async () => {
        const { email } = await service.user('user');
        const answers = await Promise.all(Array.from({ length: 40 }, (_, guess) => logInFrom(address, email, `Guess-${guess}`)));
        expect(answers.filter(({ status }) => status === 401)).toHaveLength(10);
        expect(answers.filter(({ status }) => status === 429)).toHaveLength(30);
      });
    });

    test('a login through another provider is refused in words', async () => {
      const { status, body } = await service.request('POST', '/login/social', { json: { id_token: 'x', provider: 'okta' } });
      expect(status).toBe(400);
      expect(body.detail).toContain('okta');
    });
  });

  describe('refresh tokens', () => {
    const cookieOf = (headers: Headers) => (headers.get('set-cookie') as string).split(';')[0] as string;
    const refresh = (cookie: string) => service.request('POST', '/refresh_token', { headers: { cookie } });

    test('each is used once; using one twice ends those that came from it', async () => {
      const { headers } = await logIn('admin@example.com', adminPassword);
      const first = cookieOf(headers);
      const second = await refresh(first);
      expect(second.status).toBe(200);
      expect((await service.withToken(second.body.access_token)('GET', '/current_user')).status).toBe(200);
      expect((await refresh(first)).status).toBe(401);
      expect((await refresh(cookieOf(second.headers))).status).toBe(401);
    });

    test('neither token passes for the other', async () => {
      const { headers, body } = await logIn('admin@example.com', adminPassword);
      const refreshToken = cookieOf(headers).slice('refresh_token='.length);
      expect((await service.withToken(refreshToken)('GET', '/current_user')).status).toBe(401);
      expect((await refresh(`refresh_token=${body.access_token}`)).status).toBe(401);
      expect((await service.request('POST', '/refresh_token')).status).toBe(401);
    });
  });

  describe('API keys', () => {
    test('a key is shown once, listed in its short form, noted when used, and gone at once when deleted', async () => {
      const user = await service.user('user');
      const created = await user.call('POST', '/users/api_keys', { description: 'for the collector' });
      expect(created.status).toBe(200);
      const { id, api_key: text } = created.body;
      expect(text).toMatch(/^assay_/);
      const token = (await service.request('POST', '/login/api_key', { json: { api_key: text } })).body.access_token;
      expect((await service.withKey(text)('GET', '/current_user')).body.id).toBe(user.id);

      const { body: list } = await user.call('GET', `/users/${user.id}/api_keys`);
      expect(list.api_keys).toHaveLength(1);
      expect(list).toMatchObject({ paginated: false, next_starting_token: null });
      const [shown] = list.api_keys;
      expect(shown).toMatchObject({ id, description: 'for the collector', expires_at: null, project_id: null });
      expect(shown.last_used).toBeTypeOf('string');
      expect(JSON.stringify(list)).not.toContain(text);
      expect(shown.truncated).toMatch(/^assay_..\.\.\.....$/);

      expect((await user.call('DELETE', `/users/api_keys/${id}`)).status).toBe(204);
      expect((await service.withKey(text)('GET', '/current_user')).status).toBe(401);
      expect((await service.withToken(token)('GET', '/current_user')).status).toBe(401);
    });

    test('only the hash of a key is stored', async () => {
      const user = await service.user('user');
      const { body } = await user.call('POST', '/users/api_keys', { description: 'secret' });
      const rows = await service.database.query('SELECT * FROM api_keys WHERE id = $1', [body.id]);
      expect(JSON.stringify(rows)).not.toContain(body.api_key.slice(12, -6));
    });

    test('a key and its tokens end at its expiry', async () => {
      const user = await service.user('user');
      const expires_at = new Date(Date.now() + 3_600_000).toISOString();
      const { body } = await user.call('POST', '/users/api_keys', { description: 'short', expires_at });
      expect(body.expires_at).toBe(expires_at);
      const token = (await service.request('POST', '/login/api_key', { json: { api_key: body.api_key } })).body.access_token;
      expect((await service.withToken(token)('GET', '/current_user')).status).toBe(200);
      service.clock.offsetMs = 3_601_000;
      const afterwards = [
        await service.withKey(body.api_key)('GET', '/current_user'),
        await service.withToken(token)('GET', '/current_user'),
      ];
      service.clock.offsetMs = 0;
      expect(afterwards.map(({ status }) => status)).toEqual([401, 401]);
      const past = await user.call('POST', '/users/api_keys', { description: 'late', expires_at: '2020-01-01T00:00:00Z' });
      expect([past.status, past.body.detail[0].loc]).toEqual([422, ['body', 'expires_at']]);
    });

    test("nobody but an administrator reads or deletes another user's keys", async () => {
      const [owner, other] = [await service.user('user'), await service.user('manager')];
      const { body } = await owner.call('POST', '/users/api_keys', { description: 'mine' });
      expect((await other.call('GET', `/users/${owner.id}/api_keys`)).status).toBe(403);
      expect((await other.call('DELETE', `/users/api_keys/${body.id}`)).status).toBe(404);
      expect((await service.admin('GET', `/users/${owner.id}/api_keys`)).body.api_keys).toHaveLength(1);
      expect((await service.admin('DELETE', `/users/api_keys/${body.id}`)).status).toBe(204);
    });

    test('a key of a project reaches that project only, in its role, and cannot make itself another key', async () => {
      const [mine, theirs] = [await service.project(), await service.project()];
      const { body } = await service.admin('POST', '/users/api_keys', {
        description: 'one project',
        project_id: mine.id,
        project_role: 'viewer',
      });
      expect(body).toMatchObject({ project_id: mine.id, project_role: 'viewer' });
      const viewer = service.withKey(body.api_key);
      expect((await viewer('GET', `/projects/${mine.id}`)).status).toBe(200);
      expect((await viewer('GET', `/projects/${theirs.id}`)).status).toBe(404);
      expect((await viewer('GET', '/projects')).body.map((project: { id: string }) => project.id)).toEqual([mine.id]);
      expect((await viewer('PUT', `/projects/${mine.id}`, { name: 'stolen' })).status).toBe(403);
      expect((await viewer('POST', '/projects', { name: newId() })).status).toBe(403);
      expect((await viewer('POST', '/users/api_keys', { description: 'wider' })).status).toBe(403);
      expect((await viewer('GET', '/users')).status).toBe(403);
      expect((await viewer('POST', '/users', { email: 'x@example.com', password: 'Some-Password-1' })).status).toBe(403);
    });

    test('a key that only logs reads nothing of what it logged, and logs as long as its owner may', async () => {
      const project = await service.project();
      const user = await service.user('user');
      await service.admin('POST', `/projects/${project.id}/users`, [{ user_id: user.id, role: 'editor' }]);
      const ask = (body: object) => user.call('POST', '/users/api_keys', { description: 'logs', ...body });
      expect((await ask({ ingest_only: true })).body.detail).toMatchObject([{ loc: ['body', 'ingest_only'] }]);
      const both = await ask({ ingest_only: true, project_id: project.id, project_role: 'viewer' });
      expect(both.body.detail).toMatchObject([{ loc: ['body', 'project_role'] }]);
      const { body } = await ask({ ingest_only: true, project_id: project.id });
      expect(body).toMatchObject({ ingest_only: true, project_id: project.id, project_role: null });
      const listed = (await user.call('GET', `/users/${user.id}/api_keys`)).body.api_keys;
      expect(listed).toMatchObject([{ ingest_only: true, project_role: null }]);
      const key = service.withKey(body.api_key);
      const found = (await key('GET', '/projects')).body;
      expect(found).toMatchObject([
        { id: project.id, permissions: expect.arrayContaining([{ action: 'update', allowed: false }]) },
      ]);
      const allowed = found[0].permissions.filter((one: { allowed: boolean }) => one.allowed);
      expect(allowed).toEqual([{ action: 'log_data', allowed: true }]);
      expect((await key('POST', `/projects/${project.id}/log_streams`, { name: 'a' })).status).toBe(200);
      const read = await key('GET', `/projects/${project.id}/users`);
      expect([read.status, read.body.detail]).toEqual([403, 'not allowed: a key that only logs lacks read']);
      await service.admin('PATCH', `/projects/${project.id}/users/${user.id}`, { role: 'viewer' });
      expect((await key('POST', `/projects/${project.id}/log_streams`, { name: 'b' })).status).toBe(404);
    });

    test("a project's key asks for no more than its maker has, and keeps no more than they keep", async () => {
      const project = await service.project();
      const user = await service.user('user');
      await service.admin('POST', `/projects/${project.id}/users`, [{ user_id: user.id, role: 'editor' }]);
      const request = { description: 'k', project_id: project.id };
      expect((await user.call('POST', '/users/api_keys', { ...request, project_role: 'owner' })).status).toBe(403);
      const { body } = await user.call('POST', '/users/api_keys', request);
      expect(body.project_role).toBe('editor');
      const key = service.withKey(body.api_key);
      expect((await key('POST', `/projects/${project.id}/log_streams`, { name: 'a' })).status).toBe(200);
      await service.admin('PATCH', `/projects/${project.id}/users/${user.id}`, { role: 'viewer' });
      expect((await key('POST', `/projects/${project.id}/log_streams`, { name: 'b' })).status).toBe(403);
      await service.admin('DELETE', `/projects/${project.id}/users/${user.id}`);
      expect((await key('GET', `/projects/${project.id}`)).status).toBe(404);
    });

    test('a mistyped key is recognised by its checksum', () => {
      const key = newApiKeyText();
      expect(isMistypedApiKey(key)).toBe(false);
      expect(isMistypedApiKey(key.slice(0, -1))).toBe(true);
      expect(isMistypedApiKey(`${key.slice(0, 20)}${key[20] === 'a' ? 'b' : 'a'}${key.slice(21)}`)).toBe(true);
    });
  });

  describe('users', () => {
    test('an administrator creates users, lists them in pages and changes their role, which holds at once', async () => {
      const user = await service.user('read_only');
      expect((await user.call('POST', '/projects', { name: newId() })).status).toBe(403);
      const changed = await service.admin('PUT', `/users/${user.id}`, { role: 'user' });
      expect([changed.status, changed.body.role]).toEqual([200, 'user']);
      expect((await user.call('POST', '/projects', { name: newId() })).status).toBe(200);

      const seen = new Set<string>();
      for (let token: number | null = 0; token !== null; ) {
        const { body } = await service.admin('GET', `/users?starting_token=${token}&limit=3`);
        for (const one of body.users) seen.add(one.id);
        token = body.next_starting_token;
      }
      expect(seen.size).toBe((await service.admin('GET', '/users?limit=1000')).body.users.length);
      expect(seen).toContain(user.id);
    });

    test('only administrators manage users', async () => {
      const manager = await service.user('manager');
      const body = { email: 'new@example.com', password: 'Some-Password-1' };
      expect((await manager.call('POST', '/users', body)).status).toBe(403);
      expect((await manager.call('PUT', `/users/${manager.id}`, { role: 'admin' })).status).toBe(403);
      expect((await manager.call('DELETE', `/users/${manager.id}`)).status).toBe(403);
    });

    test('a removed user is out at once: tokens, keys and password; the email is free again', async () => {
      const user = await service.user('user');
      const { body: key } = await user.call('POST', '/users/api_keys', { description: 'k' });
      expect((await service.withKey(key.api_key)('GET', '/current_user')).status).toBe(200);
      expect((await service.admin('DELETE', `/users/${user.id}`)).status).toBe(204);
      expect((await user.call('GET', '/current_user')).status).toBe(401);
      expect((await service.withKey(key.api_key)('GET', '/current_user')).status).toBe(401);
      expect((await logIn(user.email, user.password)).status).toBe(401);
      expect((await service.admin('POST', '/users', { email: user.email, password: 'Other-Password-1' })).status).toBe(200);
    });

    test.each(['short-A', 'no-upper-case', 'NO-LOWER-CASE', 'NoSpecial123'])('the password %s is refused', async (password) => {
      const { status, body } = await service.admin('POST', '/users', { email: 'p@example.com', password });
      expect([status, body.detail[0].loc]).toEqual([422, ['body', 'password']]);
      expect(JSON.stringify(body)).not.toContain(password);
    });

    test('an email is taken whatever its case', async () => {
      const { email } = await service.user('user');
      const { status } = await service.admin('POST', '/users', { email: email.toUpperCase(), password: 'Some-Password-1' });
      expect(status).toBe(409);
    });

    test('the last administrator stays one', async () => {
      const { body: me } = await service.admin('GET', '/current_user');
      expect((await service.admin('PUT', `/users/${me.id}`, { role: 'user' })).status).toBe(409);
      expect((await service.admin('DELETE', `/users/${me.id}`)).status).toBe(403);
      expect((await service.admin('PUT', `/users/${newId()}`, { role: 'user' })).status).toBe(404);
    });

    test('an administrator is removed by another one, as the permissions say', async () => {
      const [one, other] = [await service.user('admin'), await service.user('admin')];
      const mayDelete = async (by: typeof one, whom: typeof one) => {
        const { body } = await by.call('GET', '/users?limit=1000');
        const { permissions } = body.users.find(({ id }: { id: string }) => id === whom.id);
        return permissions.find(({ action }: { action: string }) => action === 'delete').allowed;
      };
      expect([await mayDelete(one, one), (await one.call('DELETE', `/users/${one.id}`)).status]).toEqual([false, 403]);
      expect([await mayDelete(one, other), (await one.call('DELETE', `/users/${other.id}`)).status]).toEqual([true, 204]);
      expect((await service.admin('DELETE', `/users/${one.id}`)).status).toBe(204);
    });

    test('of starts at the same moment one creates the administrator', async () => {
      await using other = await startAccountService(await databaseUrl());
      await other.database.exec('DELETE FROM api_keys; DELETE FROM users');
      const start = (email: string) => ensureAdministrator({ accounts: other.accounts, passwords: other.passwords }, { email });
      const outcomes = await Promise.all(['a@example.com', 'b@example.com', 'c@example.com'].map(start));
      const created = outcomes.filter((outcome) => outcome.created);
      expect(created).toHaveLength(1);
      expect(new Set(outcomes.map(({ email }) => email))).toEqual(new Set([created[0]?.email]));
      const { apiKey } = created[0] as { apiKey: string };
      expect((await other.withKey(apiKey)('GET', '/current_user')).status).toBe(200);
    });

    test('two administrators who demote each other leave one', async () => {
      const [one, other] = [await service.user('admin'), await service.user('admin')];
      const { body: me } = await service.admin('GET', '/current_user');
      expect((await one.call('PUT', `/users/${me.id}`, { role: 'user' })).status).toBe(200);
      const answers = await Promise.all([
        one.call('PUT', `/users/${other.id}`, { role: 'user' }),
        other.call('PUT', `/users/${one.id}`, { role: 'user' }),
      ]);
      const admins = (await service.accounts.users({ offset: 0, limit: 1_000 })).items.filter(({ role }) => role === 'admin');
      expect(admins.length).toBeGreaterThanOrEqual(1);
      expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(1);
      // The first administrator is one again for the stories that follow.
      await service.accounts.setRole(me.id, 'admin');
      for (const { id } of admins) await service.accounts.setRole(id, 'user');
    });

    test('a later start creates no second administrator', async () => {
      const again = await ensureAdministrator(
        { accounts: service.accounts, passwords: service.passwords },
        { email: 'second@example.com', password: 'Another-One-1' },
      );
      expect(again).toEqual({ created: false, email: 'admin@example.com' });
      expect((await logIn('second@example.com', 'Another-One-1')).status).toBe(401);
    });
  });

  describe('groups of users', () => {
    test('a group gives its members its role in a project, pending ones excepted', async () => {
      const project = await service.project();
      const [member, pending] = [await service.user('user'), await service.user('user')];
      const { body: group } = await service.admin('POST', '/groups', { name: `g ${newId()}`, visibility: 'hidden' });
      const members = await service.admin('POST', `/groups/${group.id}/members`, [
        { user_id: member.id },
        { user_id: pending.id, role: 'pending' },
      ]);
      expect(members.body).toEqual([
        { user_id: member.id, group_role: 'member' },
        { user_id: pending.id, group_role: 'pending' },
      ]);
      const added = await service.admin('POST', `/projects/${project.id}/groups`, [{ group_id: group.id, role: 'editor' }]);
      expect(added.body).toMatchObject([{ group_id: group.id, group_name: group.name, role: 'editor' }]);
      expect((await member.call('POST', `/projects/${project.id}/log_streams`, { name: 'a' })).status).toBe(200);
      expect((await pending.call('GET', `/projects/${project.id}`)).status).toBe(404);
      const groupsSeenBy = async (call: typeof member.call) =>
        (await call('GET', '/groups?limit=1000')).body.groups.map((one: { id: string }) => one.id);
      expect(await groupsSeenBy(member.call)).toContain(group.id);
      expect(await groupsSeenBy(pending.call)).not.toContain(group.id);

      await service.admin('PATCH', `/projects/${project.id}/groups/${group.id}`, { role: 'viewer' });
      expect((await member.call('POST', `/projects/${project.id}/log_streams`, { name: 'b' })).status).toBe(403);
      expect((await service.admin('DELETE', `/projects/${project.id}/groups/${group.id}`)).status).toBe(200);
      expect((await member.call('GET', `/projects/${project.id}`)).status).toBe(404);
    });

    test('a hidden group cannot be shared by its id alone: to who does not see it, there is none', async () => {
      const [owner, member] = [await service.user('user'), await service.user('user')];
      const { body: group } = await service.admin('POST', '/groups', { name: `g ${newId()}`, visibility: 'hidden' });
      await service.admin('POST', `/groups/${group.id}/members`, [{ user_id: member.id }]);
      const shareBy = async (by: typeof owner, group_id: string) => {
        const { body: project } = await by.call('POST', '/projects', { name: newId() });
        const { status, body } = await by.call('POST', `/projects/${project.id}/groups`, [{ group_id, role: 'viewer' }]);
        return { status, detail: String(body.detail).replace(group_id, 'ID') };
      };
      const refused = await shareBy(owner, group.id);
      expect(refused.status).toBe(404);
      expect(refused).toEqual(await shareBy(owner, newId()));
      expect((await shareBy(member, group.id)).status).toBe(200);
    });

    test('an unknown member changes nothing', async () => {
      const user = await service.user('user');
      const { body: group } = await service.admin('POST', '/groups', { name: `g ${newId()}`, visibility: 'hidden' });
      const refused = await service.admin('POST', `/groups/${group.id}/members`, [{ user_id: user.id }, { user_id: newId() }]);
      expect(refused.status).toBe(404);
      const seen = (await user.call('GET', '/groups?limit=1000')).body.groups.map((one: { id: string }) => one.id);
      expect(seen).not.toContain(group.id);
    });
  });

  describe('passwords', () => {
    test('a hash is a PHC string of Argon2id that only its password fits', async () => {
      const passwords = createPasswords({ atOnce: 2, waiting: 10, waitingOfOne: 10 });
      const hash = await passwords.hash('päss wörd');
      expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
      expect(await passwords.verify('päss wörd', hash)).toBe(true);
      expect(await passwords.verify('pass word', hash)).toBe(false);
      expect(await passwords.verify('päss wörd', null)).toBe(false);
    });

    test('a line that is too long is refused, not grown', async () => {
      const passwords = createPasswords({ atOnce: 1, waiting: 1, waitingOfOne: 1 });
      const outcomes = await Promise.allSettled([passwords.hash('a'), passwords.hash('b'), passwords.hash('c')]);
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
      expect(outcomes[2]).toMatchObject({ reason: { code: 'TooManyRequests' } });
      await expect(passwords.hash('d')).resolves.toMatch(/^\$argon2id/);
    });

    test('one who fills the line leaves room for others, who take turns with them', async () => {
      const passwords = createPasswords({ atOnce: 1, waiting: 5, waitingOfOne: 3 });
      const hash = await passwords.hash('right');
      const order: string[] = [];
      const verify = (party: string) => passwords.verify('right', hash, party).then(() => void order.push(party));
      const outcomes = await Promise.allSettled([...Array.from({ length: 5 }, () => verify('many')), verify('few')]);
      expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1);
      expect(order).toEqual(['many', 'many', 'few', 'many', 'many']);
    });

    test('fifty logins at once cost one verification, and those of the next minute none', async () => {
      const user = { email: `${newId()}@example.com`, password: 'Some-Password-1' };
      await service.admin('POST', '/users', user);
      const before = service.verifications.count;
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => service.request('GET', '/current_user', { headers: basic(user.email, user.password) })),
      );
      expect(answers.every(({ status }) => status === 200)).toBe(true);
      expect((await logIn(user.email, user.password)).status).toBe(200);
      expect(service.verifications.count - before).toBe(1);
    });
  });

  test('the health route answers 200 while all is well and 503 with the reason otherwise', async () => {
    const well = await service.request('GET', '/v2/healthcheck');
    expect([well.status, well.body]).toEqual([200, { api_version: 'v2', message: 'ready', version: '0.1.0' }]);
    Object.assign(service.health, { ok: false, message: 'the record store does not answer' });
    const ill = await service.request('GET', '/healthcheck');
    Object.assign(service.health, { ok: true, message: 'ready' });
    expect([ill.status, ill.body.detail]).toEqual([503, 'the record store does not answer']);
  });
}
