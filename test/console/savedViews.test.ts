import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { saveView } from '../../client/index.ts';
import { axeViolations, type ConsoleBrowser } from '../support/consoleBrowser.ts';
import { describeConsole } from '../support/describeConsole.ts';
import type { TestProject, TestService } from '../support/testService.ts';

describeConsole('saved views on the page of records', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: TestProject;
  let page: Page;
  let viewerKey: string;

  beforeAll(async () => {
    ({ service, pages } = await open());
    project = await service.project();
    const { body: stream } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
    const traces = Array.from({ length: 12 }, (_, index) => ({
      name: `n${index % 3}`,
      input: 'q',
      status_code: index % 4 ? 200 : 500,
    }));
    const body = { log_stream_id: (stream as { id: string }).id, traces };
    expect((await service.request('POST', `/projects/${project.id}/traces`, body)).status).toBe(200);
    const key = await service.request('POST', '/users/api_keys', {
      description: 'sees',
      project_id: project.id,
      project_role: 'viewer',
    });
    viewerKey = (key.body as { api_key: string }).api_key;
    page = await pages.signedIn({ key: service.apiKey });
  });

  const at = (query = '') => `${service.url}/console/p/${project.id}/records${query}`;
  const total = (text: string, on = page) => on.getByRole('status').filter({ hasText: text }).waitFor();
  const menu = (on = page) => on.getByRole('button', { name: /^Saved view:/ });
  const nameField = () => page.getByRole('textbox', { name: 'Name', exact: true });
  const shown = async (on = page) => ((await menu(on).textContent()) ?? '').replace(/\s+/g, ' ');
  const ask = async (filter: string, on = page) => {
    await on.getByLabel('Filter', { exact: true }).fill(filter);
    await on.keyboard.press('Enter');
  };
  const saveAs = async (name: string, shared = false) => {
    await menu().click();
    await nameField().fill(name);
    if (shared) await page.getByLabel('Shared with all who see the project').check();
    await page.getByRole('button', { name: 'Save as a new view' }).click();
    await page.getByText(`The view “${name}” is saved.`).waitFor();
  };

  test('what the page shows is kept under a name, opened again, changed and shared by its link', async () => {
    await page.goto(at());
    await total('12 traces');
    await ask('status_code >= 400');
    await total('3 traces');
    await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').first().click();
    await saveAs('failures', true);
    await expect.poll(() => shown()).toBe('Saved view: failures');
    await ask('status_code >= 200');
    await total('12 traces');
    await expect.poll(() => shown()).toContain('changed');
    await page.goto(at());
    await total('12 traces');
    await menu().click();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'failures shared' }).click();
    await total('3 traces');
    expect(page.url()).toContain('sort=');
    await page.reload();
    await total('3 traces');
    await expect.poll(() => shown()).toBe('Saved view: failures');

    const viewer = await pages.signedIn({ key: viewerKey });
    await viewer.goto(page.url());
    await total('3 traces', viewer);
    await expect.poll(() => shown(viewer)).toBe('Saved view: failures');
    await menu(viewer).click();
    expect(await viewer.getByRole('button', { name: 'Save the changes' }).count()).toBe(0);
    expect(await viewer.getByRole('button', { name: /^Delete/ }).count()).toBe(0);
    expect(await viewer.getByLabel('Shared with all who see the project').count()).toBe(0);
    await viewer.context().close();

    await ask('status_code = 200');
    await total('9 traces');
    await menu().click();
    await nameField().fill('fine ones');
    await page.getByRole('button', { name: 'Save the changes' }).click();
    await expect.poll(() => shown()).toBe('Saved view: fine ones');
    const { body } = await service.request('GET', `/projects/${project.id}/views`);
    expect(body).toMatchObject({ views: [{ name: 'fine ones', is_shared: true, kind: 'traces' }] });
  });

  test('a name that is taken is refused beside what was typed; a deletion can be undone; a link to a deleted view says so', async () => {
    await page.goto(at('?q=name%20%3D%20n1'));
    await total('4 traces');
    await saveAs('ones');
    const link = page.url();
    await menu().click();
    await page.getByRole('button', { name: 'Save as a new view' }).click();
    await page.locator('#views').getByRole('alert').waitFor();
    expect(await nameField().inputValue()).toBe('ones');
    await page.getByRole('button', { name: 'Delete “ones”' }).click();
    await expect.poll(() => shown()).toBe('Saved view: Views');
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => shown()).toBe('Saved view: ones');
    await menu().click();
    await page.getByRole('button', { name: 'Delete “ones”' }).click();
    await page.getByRole('button', { name: 'Now' }).click();
    const names = async () =>
      ((await service.request('GET', `/projects/${project.id}/views`)).body as { views: { name: string }[] }).views.map(
        (one) => one.name,
      );
    await expect.poll(names).not.toContain('ones');
    await page.goto(link);
    await total('4 traces');
    await menu().click();
    await page.getByText('The view of this link was deleted, or is not yours to see.').waitFor();
  });

  test('a view whose filter says more than the bar can write is not shown as something else', async () => {
    const { client } = service;
    const leaf = { type: 'text', column_id: 'name', operator: 'eq', value: 'N1', case_sensitive: false } as const;
    await saveView({ client, projectId: project.id, view: { name: 'any case', kind: 'traces', filter_tree: { filter: leaf } } });
    const plain = { type: 'text', column_id: 'name', operator: 'eq', value: 'n1' } as const;
    const last = { start: '24h', kind: 'traces', filter_tree: { filter: plain } } as const;
    await saveView({ client, projectId: project.id, view: { name: 'plain', ...last } });
    await page.goto(at());
    await total('12 traces');
    await menu().click();
    await page.getByRole('button', { name: 'any case yours' }).click();
    await page.getByText('The filter of “any case” cannot be written in the filter bar').waitFor();
    await total('12 traces');
    await page.getByRole('button', { name: 'plain yours' }).click();
    await total('4 traces');
    await expect.poll(() => shown()).toBe('Saved view: plain');
  });
});
