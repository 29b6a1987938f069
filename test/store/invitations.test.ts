import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { type AccountService, startAccountService } from '../support/accountService.ts';
import { overDatabases } from '../support/overDatabases.ts';

overDatabases(stories);

const WEEK_MS = 7 * 24 * 3_600_000;
const password = 'Chosen-Password-1';

function stories(databaseUrl: () => Promise<string | undefined>): void {
  let service: AccountService;
  beforeAll(async () => {
    service = await startAccountService(await databaseUrl());
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const newEmail = () => `${newId()}@example.com`;
  const invite = (body: object) => service.admin('POST', '/invite_users', body);
  const link = (email: string) => service.admin('POST', `/signup_link?user_email=${encodeURIComponent(email)}`);
  const tokenIn = (url: string) => new URL(url).searchParams.get('token');
  const tokensOf = (answer: { body: { invitations: { signup_url: string }[] } }) =>
    answer.body.invitations.map(({ signup_url }) => tokenIn(signup_url));
  const signUp = (signup_token: unknown, chosen = password) =>
    service.request('POST', '/signup', { json: { signup_token, password: chosen } });
  const logIn = (username: string) => service.request('POST', '/login', { form: { username, password } });

  test('who is invited chooses a password, once, and has the role and the groups of the invitation', async () => {
    const { body: group } = await service.admin('POST', '/groups', { name: `team ${newId()}` });
    const emails = [newEmail(), newEmail()];
    const invited = await invite({ emails, role: 'manager', group_ids: [group.id] });
    expect(invited.body.invitations.map(({ email }: { email: string }) => email)).toEqual(emails);
    expect(invited.body.invitations[0].signup_url).toMatch(/^http:.*\/console\/sign-up\?token=[\w-]{43}&email=/);
    const [token] = tokensOf(invited);
    const weak = await signUp(token, 'weak');
    expect([weak.status, weak.body.detail[0].loc]).toEqual([422, ['body', 'password']]);
    const used = await Promise.all([signUp(token), signUp(token)]);
    expect(used.map(({ status }) => status).sort()).toEqual([200, 401]);
    expect(used.find(({ status }) => status === 200)?.body).toEqual({ email: emails[0] });
    const { body } = await logIn(emails[0] as string);
    const me = await service.request('GET', '/current_user', { headers: { authorization: `Bearer ${body.access_token}` } });
    expect([me.body.email, me.body.role]).toEqual([emails[0], 'manager']);
    const { body: page } = await service.admin('GET', `/groups/${group.id}/members`);
    expect(page.members).toEqual([{ user_id: me.body.id, group_role: 'member', email: emails[0] }]);
    const rows = await service.database.query('SELECT * FROM invitations');
    expect(rows.map((row) => row.email)).toEqual([emails[1]]);
    expect(JSON.stringify(rows)).not.toContain(tokensOf(invited)[1]);
  });

  test('a link is replaced by the next of the same email, whatever its case, and ends after a week', async () => {
    const email = newEmail();
    const first = tokenIn((await link(email)).body.signup_url);
    const second = tokenIn((await link(email.toUpperCase())).body.signup_url);
    expect((await signUp(first)).status).toBe(401);
    service.clock.offsetMs = WEEK_MS + 1_000;
    expect((await signUp(second)).status).toBe(401);
    service.clock.offsetMs = WEEK_MS - 1_000;
    expect((await signUp(second)).status).toBe(200);
    service.clock.offsetMs = 0;
    expect((await logIn(email)).status).toBe(200);
  });

  test('a client sends the token back as it makes the account, of that email alone', async () => {
    const email = newEmail();
    const token = tokenIn((await link(email)).body.signup_url);
    const create = (of: string, signup_token: unknown) =>
      service.admin('POST', `/users?signup_token=${signup_token}`, { email: of, password, role: 'user' });
    const other = await create(newEmail(), token);
    expect([other.status, other.body.detail[0].loc]).toEqual([422, ['query', 'signup_token']]);
    const made = await create(email, token);
    expect([made.status, made.body.email, made.body.role]).toEqual([200, email, 'user']);
    expect((await create(email, token)).status).toBe(422);
  });

  test('no invitation is made where one has an account or a group is not there', async () => {
    const [email, user] = [newEmail(), await service.user('user')];
    const taken = await invite({ emails: [email, user.email] });
    expect([taken.status, taken.body.detail]).toEqual([409, expect.stringContaining(user.email)]);
    expect((await link(user.email)).status).toBe(409);
    expect((await invite({ emails: [email], group_ids: [newId()] })).status).toBe(404);
    const odd = await invite({ emails: [email, 'no-address'] });
    expect([odd.status, odd.body.detail[0].loc]).toEqual([422, ['body', 'emails', 1]]);
    expect((await invite({ emails: [email], auth_method: 'okta' })).status).toBe(400);
    expect((await service.database.query('SELECT 1 FROM invitations WHERE email = $1', [email])).length).toBe(0);
    expect((await invite({})).body).toEqual({ invitations: [] });
  });

  test("an account that was made meanwhile is no one else's", async () => {
    const email = newEmail();
    const token = tokenIn((await link(email)).body.signup_url);
    expect((await service.admin('POST', '/users', { email, password: 'Other-Password-1' })).status).toBe(200);
    expect((await signUp(token)).status).toBe(409);
    expect((await logIn(email)).status).toBe(401);
  });
}
