import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ConsoleBrowser } from '../support/consoleBrowser.ts';
import { describeConsole, type ProjectWithStream } from '../support/describeConsole.ts';
import type { TestService } from '../support/testService.ts';

const EMAIL = `${newId()}@example.com`;
const PASSWORD = 'A-Password-of-the-service-1';

describeConsole('what is typed when a session is ended elsewhere', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: ProjectWithStream;
  let page: Page;
  let trace: string;

  beforeAll(async () => {
    const opened = await open({
      expected: /status of 401/,
    });
    ({ service, pages } = opened);
    await service.client.send('/users', { body: { email: EMAIL, password: PASSWORD, role: 'admin' } });
    project = await opened.projectWithStream();
    const traces = [200, 500, 500].map((status_code, n) => ({ name: `answer ${n}`, input: 'q', output: 'a', status_code }));
    [trace = ''] = await project.log(traces);
    page = await pages.signedIn({ email: EMAIL, password: PASSWORD });
  });

  async function signOutEverywhere() {
    const body = new URLSearchParams({ username: EMAIL, password: PASSWORD });
    const login = await fetch(`${service.url}/login`, { method: 'POST', body });
    const { access_token: token } = (await login.json()) as { access_token: string };
    await fetch(`${service.url}/current_user/sessions`, { method: 'DELETE', headers: { Authorization: `Bearer ${token}` } });
  }
  async function signInAgain() {
    await page.getByRole('heading', { name: 'Sign in to Assay' }).waitFor();
    await pages.signInOn(page, { email: EMAIL, password: PASSWORD });
  }
  /** Opens a page until it asks nothing more: an answer 401 to what it still asks would lead to the sign-in before the test types. */
  const openWhole = (address: string) => page.goto(address, { waitUntil: 'networkidle' });
  const total = (text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();
  const filter = () => page.getByLabel('Filter', { exact: true });

  test('a filter stands in its bar again, not asked for, and the list is as it was', async () => {
    await openWhole(`${project.records}?q=status_code+%3D+500`);
    await total('2 traces');
    await signOutEverywhere();
    // The completion asks the service as soon as the field has the focus: on a busy machine the sign-in would take the letters.
    const typed = Promise.withResolvers<void>();
    const keys = '**/metadata_keys';
    await page.route(keys, async (route) => {
      await typed.promise;
      await route.continue();
    });
    await filter().fill('name = "answer 1"');
    typed.resolve();
    await signInAgain();
    await page.unroute(keys);
    await total('2 traces');
    await expect.poll(() => filter().inputValue()).toBe('name = "answer 1"');
    await page.reload();
    await total('2 traces');
    await expect.poll(() => filter().inputValue()).toBe('name = "answer 1"');
    await page.locator('kbd', { hasText: 'Enter' }).waitFor();
    await expect.poll(() => filter().getAttribute('aria-description')).toBe('not asked yet: Enter asks');
    await filter().press('Enter');
    await total('1 trace');
    await page.locator('kbd', { hasText: 'Enter' }).waitFor({ state: 'detached' });
    await page.goBack();
    await total('2 traces');
    await expect.poll(() => filter().inputValue()).toBe('status_code = 500');
  });

  test('a filter that is typed while the next page is loaded stays with the page that it is typed on', async () => {
    await page.goto(project.records);
    await total('3 traces');
    const held = Promise.withResolvers<void>();
    const code = /\/MetricsPage[^/]*\.js$/;
    await page.route(code, async (route) => {
      await held.promise;
      await route.continue();
    });
    const asked = page.waitForRequest(code);
    await page.getByRole('link', { name: 'Metrics' }).click();
    await asked;
    await filter().fill('name = "answer 2"');
    held.resolve();
    await page.getByRole('heading', { name: 'Metrics', exact: true }).waitFor();
    await page.goBack();
    await total('3 traces');
    await expect.poll(() => filter().inputValue()).toBe('name = "answer 2"');
    await page.unroute(code);
  });

  test('a text to find in a trace', async () => {
    await openWhole(`${project.records.replace('/records', '/traces')}/${trace}`);
    await page.getByRole('treegrid').waitFor();
    await signOutEverywhere();
    await page.getByLabel('Find in the trace').fill('answer');
    await signInAgain();
    await page.getByText('1 found in names, inputs, outputs, errors').waitFor();
    await expect.poll(() => page.getByLabel('Find in the trace').inputValue()).toBe('answer');
    await page.getByLabel('Find in the trace').fill('');
  });

  test('the name of a view', async () => {
    await openWhole(project.records);
    await total('3 traces');
    const views = page.getByRole('button', { name: /^Saved view/ });
    await views.click();
    await page.getByLabel('Name', { exact: true }).fill('Failures');
    await signOutEverywhere();
    await page.getByRole('button', { name: 'Save as a new view' }).click();
    await signInAgain();
    await views.click();
    await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe('Failures');
    await page.getByRole('button', { name: 'Save as a new view' }).click();
    await page.getByText('The view “Failures” is saved.').waitFor();
  });

  test('an answer to a question, with its reason', async () => {
    const post = async (path: string, body: object) => (await service.request('POST', path, body)).body as { id: string };
    const { id: queue } = await post('/annotation_queues', { name: { value: 'Remarks' } });
    const template = { name: 'Remark', include_explanation: true, constraints: { annotation_type: 'text' } };
    await post(`/annotation_queues/${queue}/templates`, { template });
    const record_selector = { type: 'record_ids', record_ids: [trace] };
    await post(`/annotation_queues/${queue}/records`, { project_id: project.id, run_id: project.stream, record_selector });
    await openWhole(`${project.records.replace('/records', '/traces')}/${trace}`);
    await page.getByLabel('Answer', { exact: true }).fill('Too short');
    await signOutEverywhere();
    await page.getByLabel('Answer', { exact: true }).press('Enter');
    await signInAgain();
    await page.getByLabel('Answer', { exact: true }).waitFor();
    await expect.poll(() => page.getByLabel('Answer', { exact: true }).inputValue()).toBe('Too short');
    await page.getByLabel('Answer', { exact: true }).press('Enter');
    const why = page.getByLabel('Why? (optional)');
    await why.fill('It names no city');
    await page.reload();
    await expect.poll(() => why.inputValue()).toBe('It names no city');
  });

  test('the name of a project, to find one and to make one', async () => {
    await openWhole(`${service.url}/console/`);
    await page.getByRole('button', { name: 'New project' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Weather');
    await page.keyboard.press('Escape');
    await signOutEverywhere();
    await page.getByLabel('Find a project').fill('nothing like it');
    await signInAgain();
    await page.getByText('No project is called like “nothing like it”').waitFor();
    await page.getByRole('button', { name: 'New project' }).click();
    await expect.poll(() => page.getByRole('dialog').getByLabel('Name').inputValue()).toBe('Weather');
    await page.getByRole('dialog').getByRole('button', { name: 'Make it' }).click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  });
});
