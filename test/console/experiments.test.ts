import { existsSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { approveExperiment, createExperiment, runExperiment } from '../../client/index.ts';
import type { ExperimentResponse } from '../../shared/wire/experiments.ts';
import { axeViolations, CHROMIUM, type ConsoleBrowser, consoleBrowser } from '../support/consoleBrowser.ts';
import { consoleOthers } from '../support/consoleOthers.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

const program = { name: 'chromium', path: existsSync(CHROMIUM) ? CHROMIUM : undefined };
describeWithServer('the page of experiments', program, (executablePath) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: TestProject;
  let page: Page;
  let nightly: string;

  /** An experiment with so many rows of which so many are right; one row has no value of the score. */
  async function filled(name: string, rows: number, right: number, tags: Record<string, string> = {}, group = 'answers') {
    const { client } = service;
    const at = `/projects/${project.id}`;
    const { id } = await createExperiment({ client, projectId: project.id, experimentName: name, experimentGroup: group });
    for (const [key, value] of Object.entries(tags))
      await client.send(`${at}/experiments/${id}/tags`, { body: { key, value, tag_type: 'generic' } });
    const traces = Array.from({ length: rows }, (_, index) => ({
      ...{ name: 'row', input: `q${index}`, output: 'a' },
      metrics: { is_right: index < right, duration_ns: 2.5e8, cost: 0.02, ...(index === 0 ? {} : { score: index / rows }) },
    }));
    await client.send(`${at}/traces`, { body: { experiment_id: id, traces, is_complete: true } });
    await vi.waitFor(
      async () =>
        expect((await client.send<ExperimentResponse>(`${at}/experiments/${id}`)).aggregate_metrics.is_right).toBe(right / rows),
      { timeout: 240_000, interval: 200 },
    );
    return id;
  }

  beforeAll(async () => {
    service = await sharedTestService();
    pages = await consoleBrowser(executablePath, service.url);
    project = await service.project();
    nightly = await filled('nightly', 20, 10, { commit: 'a1', branch: 'main' });
    await approveExperiment({ client: service.client, projectId: project.id, experimentId: nightly });
    await filled('nightly 2026-11-28 at 05:30:00.000', 20, 15, { commit: 'b2', branch: 'main' });
    await filled('weekly', 8, 8, { commit: 'b2' }, 'others');
    page = await pages.signedIn({ key: service.apiKey });
  });
  afterAll(async () => {
    await using _service = service;
    await pages?.[Symbol.asyncDispose]();
  });

  const show = (query = '', on = project.id) => page.goto(`${service.url}/console/p/${on}/experiments${query}`);
  const total = (text: string, on = page) => on.getByRole('status').filter({ hasText: text }).waitFor();
  const names = (on = page) => on.getByRole('rowheader').getByRole('link').allInnerTexts();
  const rowOf = (name: string, on = page) => on.getByRole('row').filter({ has: on.getByRole('link', { name, exact: true }) });
  const ask = async (filter: string) => {
    await page.getByLabel('Filter', { exact: true }).fill(filter);
    await page.keyboard.press('Enter');
  };
  const sortBy = (label: string) => page.getByRole('columnheader', { name: label }).getByRole('button').click();

  test('figures say their interval and what they are made of; sort, filter, Back, reload and the link of another account show the same', async () => {
    await show();
    await total('3 experiments');
    await expect.poll(() => names()).toEqual(['weekly', 'nightly 2026-11-28 at 05:30:00.000', 'nightly']);
    const text = async () => ((await rowOf('nightly').textContent()) ?? '').replace(/\s+/g, ' ');
    for (const part of ['baseline', '50.0 %', '20', '19/20', '$0.4', '250 ms', 'commit a1'])
      await expect.poll(text).toContain(part);
    const figures = rowOf('nightly').getByRole('img');
    await figures
      .and(page.getByRole('img', { name: /^is_right 50\.0 %.*95 % interval 29\.9 % to 70\.1 %.*made of 20 values/ }))
      .waitFor();
    await figures.and(page.getByRole('img', { name: /^score.*19 of 20 values, 1 missing/ })).waitFor();

    await sortBy('is_right');
    await expect.poll(() => names()).toEqual(['weekly', 'nightly 2026-11-28 at 05:30:00.000', 'nightly']);
    await sortBy('is_right');
    await expect.poll(() => names()).toEqual(['nightly', 'nightly 2026-11-28 at 05:30:00.000', 'weekly']);
    await ask('metrics/is_right < 1 and tags = "branch=main"');
    await total('2 experiments');
    const link = page.url();
    await ask('tags = "commit=a1" or name = weekly');
    await expect.poll(() => names()).toEqual(['nightly', 'weekly']);
    await page.goBack();
    await total('2 experiments');
    await page.reload();
    await expect.poll(() => names()).toEqual(['nightly', 'nightly 2026-11-28 at 05:30:00.000']);
    await consoleOthers(pages, service).openLink(project.id, link, async (other) => {
      await total('2 experiments', other);
      await expect.poll(() => names(other)).toEqual(['nightly', 'nightly 2026-11-28 at 05:30:00.000']);
      await other.keyboard.press('j');
      await other.keyboard.press('x');
      await other.getByRole('region', { name: 'Chosen experiments' }).waitFor();
      expect(await other.getByRole('button', { name: /Delete|Name and tags/ }).count()).toBe(0);
    });
    await ask('stat = completed');
    await page.getByRole('alert').filter({ hasText: 'the closest is state' }).waitFor();
  });

  test('a filter is completed by columns and the values that there are', async () => {
    await show();
    await total('3 experiments');
    const field = page.getByLabel('Filter', { exact: true });
    await field.pressSequentially('stat');
    await page.getByRole('option', { name: /^state/ }).click();
    await field.pressSequentially('= run');
    await page.getByRole('option', { name: /^running/ }).waitFor();
    await field.fill('');
    await field.pressSequentially('tags contains bra');
    await page.getByRole('option', { name: /branch=main/ }).waitFor();
  });

  test('experiments are chosen by keys and boxes, and stay chosen in the link', async () => {
    await show();
    await total('3 experiments');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByRole('checkbox', { name: 'Choose nightly', exact: true }).check();
    const bar = page.getByRole('region', { name: 'Chosen experiments' });
    await bar.getByText('2 chosen').waitFor();
    await page.reload();
    await bar.getByText('2 chosen').waitFor();
    await expect.poll(() => rowOf('weekly').getByRole('checkbox').isChecked()).toBe(true);
    await page.keyboard.press('Escape');
    await expect.poll(() => bar.count()).toBe(0);
    await page.getByRole('grid').focus();
    await page.keyboard.press('ArrowDown');
    await expect
      .poll(() => page.getByRole('row', { selected: true }).getByRole('link').textContent())
      .toBe('nightly 2026-11-28 at 05:30:00.000');
  });

  test('the trend of a group has its baseline, and a mark where a tag changed', async () => {
    await show();
    await total('3 experiments');
    await page.getByRole('combobox', { name: 'Group', exact: true }).selectOption({ label: 'answers · 2' });
    await total('2 experiments');
    const trend = page.getByRole('region', { name: 'Trend' });
    const points = trend.getByRole('link');
    await expect.poll(() => points.count()).toBe(2);
    await expect
      .poll(() => points.first().getAttribute('aria-label'))
      .toMatch(/^nightly, .* · 50.0 % · 29\.9 % to 70\.1 % · baseline$/);
    await expect.poll(() => points.last().getAttribute('aria-label')).toMatch(/75.0 % · .* · commit b2$/);
    await expect.poll(() => trend.locator('svg text').allTextContents()).toContain('commit b2');
    expect(await points.first().getAttribute('href')).toMatch(new RegExp(`/experiments/${nightly}$`));
    await trend.getByLabel('Trend of').selectOption({ label: 'Latency' });
    await expect.poll(() => points.first().getAttribute('aria-label')).toContain('250 ms');
    expect(await axeViolations(page)).toEqual([]);
    await page.reload();
    await expect.poll(() => points.first().getAttribute('aria-label')).toContain('250 ms');
    await page.goBack();
    await total('3 experiments');
    await show('?cols=%5B%22name%22%2C%22series%22%5D');
    await page.getByRole('button', { name: 'nightly', exact: true }).first().click();
    await total('2 experiments');
    await trend.waitFor();
    await page.getByRole('button', { name: /^series nightly/ }).click();
    await total('3 experiments');
  });

  test('a run that goes on is followed in its place, and what is new waits until it is asked for', async () => {
    const { id: projectId, name: projectName } = await service.project();
    const { client } = service;
    await createExperiment({ client, projectId, experimentName: 'before' });
    let release: () => void = () => undefined;
    const held = new Promise<void>((done) => {
      release = done;
    });
    const run = runExperiment({
      ...{ client, projectName, experimentName: 'going on', metrics: ['exact_match'] },
      dataset: Array.from({ length: 4 }, (_, index) => ({ input: `${index}`, output: `${index}` })),
      function: async (input: string) => {
        if (Number(input) > 1) await held;
        return input;
      },
    });
    await expect
      .poll(async () => (await client.send<ExperimentResponse[]>(`/projects/${projectId}/experiments`)).map(({ state }) => state))
      .toContain('running');
    await show('', projectId);
    await total('2 experiments');
    await expect.poll(() => rowOf('going on').textContent()).toMatch(/2\/4/);
    await expect.poll(() => rowOf('going on').textContent()).toContain('running');
    await createExperiment({ client, projectId, experimentName: 'after' });
    const fresh = page.getByRole('button', { name: '1 new' });
    await fresh.waitFor();
    release();
    await run;
    await expect.poll(() => rowOf('going on').textContent()).toContain('completed');
    await expect.poll(() => names()).toEqual(['going on', 'before']);
    await fresh.click();
    await expect.poll(() => names()).toEqual(['after', 'going on', 'before']);
  });

  test('an experiment that is logged while its row is shown has its figures without a reload', async () => {
    const { id: projectId } = await service.project();
    const { client } = service;
    const { id } = await createExperiment({ client, projectId, experimentName: 'logged' });
    await show('', projectId);
    await total('1 experiment');
    const traces = [{ name: 'row', input: 'q', output: 'a', metrics: { is_right: true, duration_ns: 2.5e8 } }];
    await client.send(`/projects/${projectId}/traces`, { body: { experiment_id: id, traces, is_complete: true } });
    await expect.poll(() => rowOf('logged').textContent()).toContain('250 ms');
    await page.getByRole('columnheader', { name: 'is_right' }).waitFor();
  });

  test('a run that is deleted while it is watched goes from the table', async () => {
    const { id: projectId, name: projectName } = await service.project();
    const { client } = service;
    await createExperiment({ client, projectId, experimentName: 'stays' });
    let release: () => void = () => undefined;
    const held = new Promise<void>((done) => {
      release = done;
    });
    const run = runExperiment({
      ...{ client, projectName, experimentName: 'goes', dataset: [{ input: '1' }] },
      function: () => held,
    }).catch((err: unknown) => err);
    const all = () => client.send<ExperimentResponse[]>(`/projects/${projectId}/experiments`);
    await expect.poll(async () => (await all()).map(({ state }) => state)).toContain('running');
    await show('', projectId);
    await expect.poll(() => names()).toEqual(['goes', 'stays']);
    const id = (await all()).find(({ name }) => name === 'goes')?.id;
    expect((await service.request('DELETE', `/projects/${projectId}/experiments/${id}`)).status).toBe(204);
    await expect.poll(() => names()).toEqual(['stays']);
    await total('1 experiment');
    release();
    expect(await run).toBeInstanceOf(Error);
  });

  test('a name, a group and tags are changed; a deletion can be undone', async () => {
    await filled('to change', 2, 1, { branch: 'old', stays: 'yes' });
    await show();
    await rowOf('to change').getByRole('checkbox').check();
    await page.getByRole('button', { name: /^Name and tags/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Name and tags' });
    await dialog.waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await dialog.getByLabel('Name', { exact: true }).fill('changed');
    await dialog.getByLabel('Group').fill('new group');
    await dialog.getByRole('button', { name: 'Remove tag branch' }).click();
    await dialog.getByLabel('Value of tag 1').fill('no');
    await dialog.getByRole('button', { name: 'Add a tag' }).click();
    await dialog.getByLabel('Key of tag 2').fill('deploy');
    await dialog.getByLabel('Value of tag 2').fill('14');
    await page.context().request.post(`${service.url}/pages/logout`);
    await page.reload();
    await pages.signInOn(page, { key: service.apiKey });
    await page.getByRole('button', { name: /^Name and tags/ }).click();
    await expect.poll(() => dialog.getByLabel('Value of tag 2').inputValue()).toBe('14');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('“changed” is saved.').waitFor();
    await expect
      .poll(async () => (await rowOf('changed').textContent())?.replace(/\s+/g, ' '))
      .toMatch(/new group.*stays no.*deploy 14/);

    await page.getByRole('button', { name: 'Delete' }).click();
    await total('3 experiments');
    await page.getByRole('button', { name: 'Undo' }).click();
    await total('4 experiments');
    await rowOf('changed').getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Now', exact: true }).click();
    await expect
      .poll(async () =>
        (await service.client.send<ExperimentResponse[]>(`/projects/${project.id}/experiments`)).map(({ name }) => name),
      )
      .not.toContain('changed');
    await total('3 experiments');
  });

  test('a project without experiments shows the code that makes one; of many all can be reached', async () => {
    const { id: projectId, name } = await service.project();
    await show('', projectId);
    await page.getByRole('heading', { name: 'No experiments yet' }).waitFor();
    const code = await page.locator('pre').textContent();
    expect(code).toContain(JSON.stringify(name));
    expect(code).toContain(service.url);
    expect(await axeViolations(page)).toEqual([]);
    const make = (index: number) =>
      createExperiment({ client: service.client, projectId, experimentName: `experiment ${String(index).padStart(3, '0')}` });
    await make(0);
    for (let from = 1; from < 121; from += 20) await Promise.all(Array.from({ length: 20 }, (_, index) => make(from + index)));
    await show('?sort=name', projectId);
    await total('121 experiments');
    await page.getByRole('grid').focus();
    for (const reached of ['experiment 049', 'experiment 099', 'experiment 120']) {
      await expect
        .poll(async () => {
          await page.keyboard.press('End');
          return names();
        })
        .toContain(reached);
    }
    expect(await page.getByRole('rowheader').count()).toBeLessThan(80);
  });
});
