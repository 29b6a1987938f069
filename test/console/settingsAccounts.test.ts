import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { Logger } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ConsoleBrowser } from '../support/consoleBrowser.ts';
import { describeConsole } from '../support/describeConsole.ts';
import type { TestService } from '../support/testService.ts';

const PASSWORD = 'A-Password-of-settings-1';

describeConsole('keys, users and sessions in the settings', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let page: Page;

  beforeAll(async () => {
    ({ service, pages } = await open({ expected: /status of 4(03|22)/ }));
    page = await pages.signedIn({ key: service.apiKey });
  });

  const goTo = (path: string, on = page) => on.goto(`${service.url}/console/settings/${path}`);
  async function account(role = 'user'): Promise<{ id: string; email: string; password: string }> {
    const email = `${newId()}@example.com`;
    const { id } = await service.client.send<{ id: string }>('/users', { body: { email, password: PASSWORD, role } });
    return { id, email, password: PASSWORD };
  }
  /** The status of a request with a key. */
  const statusWith = async (key: string, method: string, path: string, body?: object) =>
    (await service.request(method, path, body, { 'Service-API-Key': key })).status;

  test('who is invited opens the link, chooses a password and is signed in; the link is good for once', async () => {
    const email = `${newId()}@example.com`;
    await goTo('users');
    await page.getByLabel('E-mail').fill(email);
    await page.getByRole('button', { name: 'Invite by a link' }).click();
    const shown = page.getByRole('status', { name: 'The link of the invitation' });
    const link = (await shown.locator('code').textContent()) ?? '';
    const invited = await pages.open();
    await invited.goto(link);
    await invited.getByLabel('Password').fill('weak');
    await invited.getByRole('button', { name: 'Sign up' }).click();
    await invited.getByText('must have at least 8 characters').waitFor();
    await invited.getByLabel('Password').fill(PASSWORD);
    await invited.getByRole('button', { name: 'Sign up' }).click();
    await invited.getByRole('button', { name: email }).waitFor();
    const second = await pages.open();
    await second.goto(link);
    await second.getByLabel('Password').fill(PASSWORD);
    await second.getByRole('button', { name: 'Sign up' }).click();
    await second.getByText('this sign-up token is unknown, was used or has ended').waitFor();
    await second.goto(`${service.url}/console/sign-up`);
    await second.getByText('open the whole link').waitFor();
    for (const one of [invited, second]) await one.context().close();
  });

  test('a key is shown once, reaches its project alone, and is refused once it is revoked', async () => {
    const [mine, other] = [await service.project(), await service.project()];
    const purpose = `nightly ${newId()}`;
    await goTo('keys');
    await page.getByLabel('What it is for').fill(purpose);
    await page.getByLabel('Reaches').selectOption({ label: mine.name });
    await page.getByLabel('Role there').selectOption('viewer');
    await page.getByLabel('Last day').fill('2001-01-01');
    await page.getByRole('button', { name: 'Make the key' }).click();
    await page.getByText('must be in the future').waitFor();
    await page.getByLabel('Last day').fill('2099-12-31');
    await page.getByRole('button', { name: 'Make the key' }).click();
    const shown = page.getByRole('status', { name: 'The new key' });
    const key = (await shown.locator('code').textContent()) ?? '';
    expect(await statusWith(key, 'GET', `/projects/${mine.id}`)).toBe(200);
    expect(await statusWith(key, 'GET', `/projects/${other.id}`)).toBe(404);
    expect(await page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')).not.toContain(key);
    await shown.getByRole('button', { name: 'I have it' }).click();
    await page.reload();
    const row = page.getByRole('row').filter({ hasText: purpose });
    await row.getByText(`viewer of ${mine.name}`).waitFor();
    await row.getByText('2099-12-31').waitFor();
    expect(await page.content()).not.toContain(key);
    await row.getByRole('button', { name: /^Revoke/ }).click();
    await page.getByRole('dialog').getByText('Every program that calls with').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect(await statusWith(key, 'GET', `/projects/${mine.id}`)).toBe(200);
    await row.getByRole('button', { name: /^Revoke/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke it' }).click();
    await row.waitFor({ state: 'detached' });
    expect(await statusWith(key, 'GET', `/projects/${mine.id}`)).toBe(401);
  });

  test('a key that has ended says so', async () => {
    const description = `brief ${newId()}`;
    const expires = Date.now() + 3_600_000;
    const body = { description, expires_at: new Date(expires).toISOString() };
    await service.client.send('/users/api_keys', { body });
    const later = await pages.signedIn({ key: service.apiKey });
    const row = later.getByRole('row').filter({ hasText: description });
    await goTo('keys', later);
    await row.getByText('all that you may').waitFor();
    await later.clock.setFixedTime(expires);
    await goTo('keys', later);
    await row.getByText('nothing: it has ended').waitFor();
    await later.context().close();
  });

  test('a key that only logs can log to its project and read nothing there', async () => {
    const project = await service.project();
    const purpose = `on devices ${newId()}`;
    await goTo('keys');
    await page.getByLabel('What it is for').fill(purpose);
    await page.getByLabel('Reaches').selectOption({ label: project.name });
    await page.getByLabel('Role there').selectOption('Only log');
    await page.getByText('It reads no record and starts nothing.').waitFor();
    await page.getByRole('button', { name: 'Make the key' }).click();
    const shown = page.getByRole('status', { name: 'The new key' });
    const key = (await shown.locator('code').textContent()) ?? '';
    await shown.getByRole('button', { name: 'I have it' }).click();
    await page.getByRole('row').filter({ hasText: purpose }).getByText(`only log to ${project.name}`).waitFor();
    const logger = new Logger({
      client: { apiUrl: service.url, apiKey: key },
      projectName: project.name,
      logStream: 'devices',
    });
    logger.startTrace('question', { name: 'from a device' }).conclude('done');
    await logger.flush();
    const streams = await service.client.send<{ id: string; name: string }[]>(`/projects/${project.id}/log_streams`);
    const log_stream_id = streams.find(({ name }) => name === 'devices')?.id;
    const found = await service.request('POST', `/projects/${project.id}/traces/search`, { log_stream_id });
    expect(found.body).toMatchObject({ records: [{ name: 'from a device' }] });
    expect(await statusWith(key, 'POST', `/projects/${project.id}/traces/search`, {})).toBe(403);
    expect(await statusWith(key, 'GET', `/projects/${project.id}/experiments`)).toBe(403);
  });

  test('a user is made, and sees another role at once', async () => {
    const email = `${newId()}@example.com`;
    await goTo('users');
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('First password').fill('short');
    await page.getByRole('button', { name: 'Make the account' }).click();
    await page.getByText('must have at least 8 characters').waitFor();
    await page.getByLabel('First password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Make the account' }).click();
    const role = page.getByLabel(`Role of ${email}`);
    await role.waitFor();
    await expect.poll(() => role.inputValue()).toBe('user');

    const theirs = await pages.signedIn({ email, password: PASSWORD });
    await goTo('users', theirs);
    await theirs.getByRole('listitem').filter({ hasText: email }).getByText('User', { exact: true }).waitFor();
    expect(await theirs.getByRole('region', { name: 'New user' }).count()).toBe(0);
    expect(await theirs.getByRole('combobox').filter({ visible: true }).count()).toBe(0);

    await role.selectOption('read_only');
    await expect
      .poll(async () => {
        const { users } = await service.client.send<{ users: { email: string; role: string }[] }>('/users?limit=1000');
        return users.find((one) => one.email === email)?.role;
      })
      .toBe('read_only');
    await goTo('account', theirs);
    await theirs.getByText('Read-only: Reads what is shared').waitFor();
    await page.getByRole('button', { name: `Remove ${email}` }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await role.waitFor();
  });

  test('a session is ended elsewhere, and so are all others', async () => {
    const one = await account();
    const here = await pages.signedIn(one);
    const logIn = () =>
      service.request('POST', '/login', new URLSearchParams({ username: one.email, password: PASSWORD }).toString(), {
        'content-type': 'application/x-www-form-urlencoded',
        'user-agent': 'nightly-script/1',
      });
    const tokens = [await logIn(), await logIn()].map(({ body }) => (body as { access_token: string }).access_token);
    const statusOf = async (token: string) =>
      (await fetch(`${service.url}/current_user`, { headers: { authorization: `Bearer ${token}` } })).status;
    await goTo('account', here);
    const sessions = here.getByRole('region', { name: 'Sessions' });
    await sessions.getByText('This one').waitFor();
    await expect.poll(() => sessions.getByRole('button', { name: 'End the session of nightly-script/1' }).count()).toBe(2);
    await sessions.getByRole('button', { name: 'End the session of nightly-script/1' }).first().click();
    await expect.poll(() => sessions.getByRole('listitem').count()).toBe(2);
    const statuses = async () => (await Promise.all(tokens.map(statusOf))).sort();
    await expect.poll(statuses).toEqual([200, 401]);
    await sessions.getByRole('button', { name: 'End all others' }).click();
    await here.getByText('One session is ended').waitFor();
    await expect.poll(statuses).toEqual([401, 401]);

    const password = here.getByRole('region', { name: 'Password' });
    await password.getByLabel('Password now').fill('wrong');
    await password.getByLabel('New password').fill(`${PASSWORD}2`);
    await password.getByRole('button', { name: 'Change the password' }).click();
    await password.getByRole('alert').waitFor();
    await password.getByLabel('Password now').fill(PASSWORD);
    await password.getByRole('button', { name: 'Change the password' }).click();
    await here.getByText('The password is changed').waitFor();
  });

  test('a group is made and shared with; a project’s key has no part in accounts', async () => {
    const name = `reviewers ${newId()}`;
    const one = await account();
    await goTo('groups');
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByRole('button', { name: 'Make the group' }).click();
    await page.getByLabel(`Who is added to ${name}`).selectOption({ label: one.email });
    await page
      .getByRole('form', { name: `Add to ${name}` })
      .getByRole('button', { name: 'Add' })
      .click();
    await page.getByText(`${one.email} is member of ${name}`).waitFor();
    const members = page.getByRole('list', { name: `Members of ${name}` }).getByRole('listitem');
    await members.filter({ hasText: one.email }).getByText('member', { exact: true }).waitFor();
    await page.getByRole('button', { name: `Take out ${one.email} of ${name}` }).click();
    await expect.poll(() => members.count()).toBe(0);

    const project = await service.project();
    const made = await service.client.send<{ api_key: string }>('/users/api_keys', {
      body: { description: 'of the project', project_id: project.id, project_role: 'viewer' },
    });
    const limited = await pages.signedIn({ key: made.api_key });
    await goTo('keys', limited);
    await limited.getByText('it has no part in keys').waitFor();
    expect(await limited.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'API keys' }).count()).toBe(0);
    await goTo('integrations', limited);
    await limited.getByText('Your account may not do this').waitFor();
  });
});
