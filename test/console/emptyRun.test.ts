import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import type { LoggerOptions } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { axeViolations, type ConsoleBrowser } from '../support/consoleBrowser.ts';
import { describeConsole } from '../support/describeConsole.ts';
import type { TestService } from '../support/testService.ts';
import { typedIn } from '../support/typedIn.ts';

const PASSWORD = 'A-Password-of-the-service-1';
describeConsole('the page of an empty run', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  beforeAll(async () => {
    // Browsers note that an answer was 403, which one of the tests is about.
    ({ service, pages } = await open({ expected: /status of 403/ }));
  });

  const makeKey = (page: Page) => page.getByRole('button', { name: 'Make an API key' });
  const code = async (page: Page) => (await page.locator('pre').textContent()) ?? '';
  /** The options of the logger that the code on the page makes. */
  const optionsOn = async (page: Page): Promise<LoggerOptions> => {
    const written = /new Logger\((\{.*\})\);/.exec(await code(page))?.[1] as string;
    return JSON.parse(written.replaceAll(/([{ ])(\w+): /g, '$1"$2": ')) as LoggerOptions;
  };

  /** A user with a role in a new project, and a page of theirs on its records. */
  async function member(role: 'editor' | 'viewer') {
    const project = await service.project();
    const email = `${role}${project.id}@example.com`;
    const made = await service.request('POST', '/users', { email, password: PASSWORD, role: 'user' });
    const userId = (made.body as { id: string }).id;
    await service.request('POST', `/projects/${project.id}/users`, [{ user_id: userId, role }]);
    const page = await pages.signedIn({ email, password: PASSWORD });
    await page.goto(`${service.url}/console/p/${project.id}/records`);
    await page.getByText('Nothing is logged here yet').waitFor();
    return { page, project, userId };
  }

  test('a new project shows code that fills it once a key is made, and the key reaches that project alone', async () => {
    const page = await pages.signedIn({ key: service.apiKey });
    await page.getByRole('button', { name: 'New project' }).click();
    const name = `an "odd" name ${newId()}`;
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Make it' }).click();
    await page.getByText('Nothing is logged here yet').waitFor();
    expect(await code(page)).toContain('YOUR_API_KEY');
    await makeKey(page).click();
    await page.getByRole('status').filter({ hasText: 'shown this once' }).waitFor();
    expect(await makeKey(page).count()).toBe(0);
    expect(await axeViolations(page)).toEqual([]);
    expect((await code(page)).split('\n')).toHaveLength(3);

    const options = await optionsOn(page);
    expect(options).toMatchObject({ projectName: name, logStream: 'default', client: { apiUrl: service.url } });
    const lines = (await code(page)).replace('@assay/client', './client/index.ts');
    const { folder } = typedIn(service, { id: '', name }, { 'lines.mts': lines });
    await promisify(execFile)(process.execPath, [join(folder, 'lines.mts')]);
    const { apiKey } = options.client as { apiKey: string };
    const other = await service.project();
    const asKey = await fetch(`${service.url}/v2/projects/${other.id}`, { headers: { 'Service-API-Key': apiKey } });
    expect(asKey.status).toBe(404);

    await page.reload();
    await page.getByRole('gridcell', { name: 'answer', exact: true }).waitFor();
    expect(await page.content()).not.toContain(apiKey);
  });

  test('an editor makes a key; an editor no more is shown why not', async () => {
    const { page, project, userId } = await member('editor');
    await makeKey(page).waitFor();
    await service.request('PATCH', `/projects/${project.id}/users/${userId}`, { role: 'viewer' });
    await makeKey(page).click();
    await page.getByRole('alert').filter({ hasText: 'Your account may not do this' }).waitFor();
    await service.request('PATCH', `/projects/${project.id}/users/${userId}`, { role: 'editor' });
    await makeKey(page).click();
    await page.getByRole('status').filter({ hasText: 'shown this once' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await code(page)).toMatch(/apiKey: "assay_\w+"/);
  });

  test('an account that may not log sees a placeholder, and who can make a key', async () => {
    const { page } = await member('viewer');
    await page.getByText('Its owners and editors can make an API key').waitFor();
    expect(await makeKey(page).count()).toBe(0);
    expect(await code(page)).toContain('YOUR_API_KEY');
  });

  test('a key of one project, which makes no keys, is said to log by itself', async () => {
    const project = await service.project();
    const body = { description: 'limited', project_id: project.id, project_role: 'editor' };
    const made = await service.request('POST', '/users/api_keys', body);
    const page = await pages.signedIn({ key: (made.body as { api_key: string }).api_key });
    await page.goto(`${service.url}/console/p/${project.id}/records`);
    await page.getByText('You signed in with a key of this project').waitFor();
    expect(await makeKey(page).count()).toBe(0);
  });
});
