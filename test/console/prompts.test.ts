import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { addPromptVersion, createDataset, createPrompt, getPrompt } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { axeViolations, type ConsoleBrowser } from '../support/consoleBrowser.ts';
import { type ConsoleOthers, consoleOthers } from '../support/consoleOthers.ts';
import { describeConsole } from '../support/describeConsole.ts';
import type { TestProject, TestService } from '../support/testService.ts';

describeConsole('prompts', (openConsole) => {
  let service: TestService;
  let others: ConsoleOthers;
  let project: TestProject;
  let pages: ConsoleBrowser;
  let page: Page;
  let name: string;
  let prompt: string;

  beforeAll(async () => {
    ({ service, pages } = await openConsole());
    others = consoleOthers(pages, service);
    page = await pages.signedIn({ key: service.apiKey });
  });
  beforeEach(async () => {
    project = await service.project();
    name = `explain ${newId()}`;
    const template = [
      { role: 'system', content: 'You explain things to {{audience}}.' },
      { role: 'user', content: 'What is {{input}}?' },
    ];
    const settings = { modelAlias: 'a-model', temperature: 0.5, seed: 7 };
    prompt = (await createPrompt({ client: service.client, projectId: project.id, name, template, settings })).id;
    await page.goto(`${service.url}/console/prompts/${prompt}?project=${project.id}`);
    await page.getByRole('heading', { name }).waitFor();
  });

  const button = (text: string | RegExp) => page.getByRole('button', { name: text, exact: typeof text === 'string' });
  const said = (text: string) => page.getByRole('status').filter({ hasText: text }).first().waitFor();
  const now = async () => getPrompt({ client: service.client, id: prompt });

  test('the list finds a prompt, leads to it and back, and makes one whose variables are shown', async () => {
    await page.getByRole('navigation').getByRole('link', { name: 'Prompts' }).click();
    await page.getByLabel('Find a prompt').fill(name);
    await page.getByRole('link', { name }).click();
    for (const variable of ['audience', 'input']) await page.locator('code', { hasText: variable }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.goBack();
    await page.reload();
    await expect.poll(() => page.getByLabel('Find a prompt').inputValue()).toBe(name);
    await button('New prompt').click();
    await page.getByLabel('What the model is asked').fill('Translate {{text}}.');
    await page.reload();
    await button('New prompt').click();
    await expect.poll(() => page.getByLabel('What the model is asked').inputValue()).toBe('Translate {{text}}.');
    await page.getByLabel('Name', { exact: true }).fill(`translate ${newId()}`);
    await button('Make it').click();
    await page.locator('code', { hasText: 'text' }).waitFor();
  });

  test('a new version is kept while it is written, keeps settings without a field, and is selected', async () => {
    await button('Write a new version').click();
    await page.getByLabel('Message 2', { exact: true }).fill('In one sentence: what is {{topic}}?');
    await page.locator('code', { hasText: 'topic' }).waitFor();
    await page.getByLabel('Temperature').fill('0');
    expect(await axeViolations(page)).toEqual([]);
    await page.reload();
    await expect
      .poll(() => page.getByLabel('Message 2', { exact: true }).inputValue())
      .toBe('In one sentence: what is {{topic}}?');
    await addPromptVersion({ client: service.client, id: prompt, template: 'Meanwhile: {{input}}' });
    await page.reload();
    await page.getByRole('alert').filter({ hasText: 'Somebody has added version 2' }).waitFor();
    await button('Save as version 3').click();
    await said('Saved as version 3');
    await page.getByRole('heading', { name: 'Version 3 selected' }).waitFor();
    expect((await now())?.selected_version).toMatchObject({
      version: 3,
      template: [{ role: 'system' }, { role: 'user', content: 'In one sentence: what is {{topic}}?' }],
      settings: { temperature: 0, seed: 7, model_alias: 'a-model' },
    });
  });

  test('a token that ends while a version is written loses nothing', async () => {
    await button('Write a new version').click();
    await page.getByLabel('Message 1', { exact: true }).fill('You are brief.');
    // Ended before the click, another question of the page may lead to the sign-in first.
    await page.route('**/templates/*/versions', async (route) => {
      if (route.request().method() === 'POST') await page.context().request.post(`${service.url}/pages/logout`);
      await route.continue();
    });
    await button('Save as version 2').click();
    await page.getByRole('heading', { name: 'Sign in to Assay' }).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await pages.signInOn(page, { key: service.apiKey });
    await expect.poll(() => page.getByLabel('Message 1', { exact: true }).inputValue()).toBe('You are brief.');
    await button('Save as version 2').click();
    await said('Saved as version 2');
    await button('Write a new version').click();
    await button('Discard').click();
    await button('Write a new version').waitFor();
  });

  test('versions say what changed by words; the link shows others the same, and an older one can be selected', async () => {
    const template = [
      { role: 'system', content: 'You explain things to {{audience}}.' },
      { role: 'user', content: 'What exactly is {{input}}?' },
    ];
    await addPromptVersion({ client: service.client, id: prompt, template, settings: { modelAlias: 'another' }, select: true });
    await page.reload();
    await page.getByRole('tab', { name: 'Versions' }).click();
    await button('text, model, settings').click();
    const changes = page.getByRole('region', { name: 'What changed' });
    await changes.locator('ins', { hasText: 'exactly' }).waitFor();
    await changes.locator('ins', { hasText: 'another' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await others.openLink(project.id, page.url(), async (other) => {
      await other.getByRole('region', { name: 'What changed' }).locator('ins', { hasText: 'exactly' }).waitFor();
      await other.getByRole('tab', { name: 'Text' }).click();
      await other.getByText('Variables').waitFor();
      for (const text of ['Write a new version', 'Rename', 'Delete', 'Select this version'])
        expect(await other.getByRole('button', { name: text }).count()).toBe(0);
    });
    await page.goBack();
    await changes.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Its text' }).last().click();
    await button('Select this version').click();
    await page.getByRole('heading', { name: 'Version 1 selected' }).waitFor();
    expect((await now())?.selected_version.version).toBe(1);
  });

  test('experiments that use a prompt and a dataset are found', async () => {
    const content = [{ input: 'a', audience: 'b' }];
    const dataset = await createDataset({ client: service.client, projectId: project.id, name: `of ${name}`, content });
    const make = async (called: string, body: object) =>
      service.request('POST', `/projects/${project.id}/experiments`, { name: called, ...body });
    const { selected_version } = (await now()) ?? { selected_version: { id: '' } };
    await make('uses both', {
      prompt_template_version_id: selected_version.id,
      dataset: { dataset_id: dataset.id, version_index: 1 },
    });
    await make('uses none', {});
    await page.getByRole('tab', { name: 'Used by' }).click();
    await page.getByRole('link', { name: 'uses both' }).waitFor();
    expect(await page.getByRole('link', { name: 'uses none' }).count()).toBe(0);
    await page.goto(`${service.url}/console/datasets/${dataset.id}?tab=uses`);
    await page.getByRole('link', { name: 'uses both' }).waitFor();
    expect(await page.getByRole('link', { name: 'uses none' }).count()).toBe(0);
  });

  test('a deleted prompt can be brought back for some seconds', async () => {
    await button('Delete').click();
    await page.getByRole('heading', { name: 'Prompts' }).waitFor();
    await button('Undo').click();
    await page.getByRole('link', { name }).waitFor();
  });
});
