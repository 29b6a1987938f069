import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDataset } from '../../client/index.ts';
import { builtinByName } from '../../shared/scorers/presets.ts';
import { axeViolations, CHROMIUM, type ConsoleBrowser, consoleBrowser } from '../support/consoleBrowser.ts';
import { consoleOthers } from '../support/consoleOthers.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { openRow } from '../support/openRow.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

const program = { name: 'chromium', path: existsSync(CHROMIUM) ? CHROMIUM : undefined };
describeWithServer('the page of an experiment', program, (executablePath) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let page: Page;
  let project: TestProject;
  let endpoint: Server;
  /** The endpoint that runs the rows: an answer to each waits until it is let go; `fails` are answered 400. */
  const rows = { waiting: [] as { input: string; go(): void }[], isOpen: false, fails: new Set<string>() };

  beforeAll(async () => {
    service = await sharedTestService();
    pages = await consoleBrowser(executablePath, service.url);
    page = await pages.signedIn({ key: service.apiKey });
    project = await service.project();
    endpoint = createServer(async (request, response) => {
      let text = '';
      for await (const part of request) text += String(part);
      const { input } = JSON.parse(text) as { input: string };
      const go = () =>
        rows.fails.has(input)
          ? response.writeHead(400, { 'content-type': 'text/plain' }).end(`no answer to ${input}`)
          : response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ output: input }));
      if (rows.isOpen) go();
      else rows.waiting.push({ input, go });
    });
    // A row is called once here: a busy process that closes an idle connection resets the call that has come on it.
    endpoint.keepAliveTimeout = 0;
    await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    await pages?.[Symbol.asyncDispose]();
    endpoint?.closeAllConnections();
    await new Promise((resolve) => endpoint?.close(resolve));
    await service?.[Symbol.asyncDispose]();
  });

  const letGo = async (count: number) => {
    await expect.poll(() => rows.waiting.length).toBeGreaterThanOrEqual(count);
    for (const { go } of rows.waiting.splice(0, count)) go();
  };
  const letAllGo = () => {
    rows.isOpen = true;
    for (const { go } of rows.waiting.splice(0)) go();
  };

  async function started(name: string, count: number, concurrency: number, fails: string[] = []) {
    Object.assign(rows, { waiting: [], isOpen: false, fails: new Set(fails) });
    const scorers = [{ id: builtinByName('exact_match')?.scorerId, scorer_type: 'preset' }];
    const made = await service.request('POST', `/projects/${project.id}/experiments`, { name, scorers });
    const { id } = made.body as { id: string };
    const path = `/projects/${project.id}/experiments/${id}`;
    const run = await service.request('POST', `${path}/run`, {
      runner: { kind: 'http', url: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/` },
      records: Array.from({ length: count }, (_, index) => ({ input: `question ${index}`, output: `question ${index}` })),
      ...{ concurrency, max_call_attempts: 1 },
    });
    expect(run).toMatchObject({ status: 200 });
    return { id, path };
  }
  const at = (id: string, query = '') => `${service.url}/console/p/${project.id}/experiments/${id}${query}`;
  const state = (text: string) => page.getByRole('status').filter({ hasText: text }).first().waitFor();
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const settled = async (path: string, is: object) =>
    expect.poll(async () => (await service.request('GET', `${path}/run`)).body).toMatchObject(is);

  test('a run is watched, paused, slowed, resumed to its end, and its failed rows are run again', async () => {
    const { id, path } = await started('watched', 8, 2, ['question 3', 'question 5']);
    await page.goto(at(id));
    await page.getByRole('heading', { name: 'watched' }).waitFor();
    await state('running');
    await page.getByText('2 running').waitFor();
    await letGo(2);
    await page.getByText('2 of 8 rows').waitFor();
    await page.getByRole('gridcell', { name: 'question 0', exact: true }).first().waitFor();

    await page.keyboard.press('.');
    await state('paused');
    await settled(path, { state: 'paused' });
    await button('One row less at a time').click();
    await settled(path, { settings: { concurrency: 1 } });
    await expect.poll(() => page.getByLabel('Rows at a time').inputValue()).toBe('1');
    await button('Resume').click();
    await state('running');
    letAllGo();
    await state('completed');
    await page.getByText('8 of 8 rows').waitFor();

    const failures = page.getByRole('region', { name: 'Failures' });
    await expect.poll(() => failures.textContent()).toMatch(/2 failed rows.*2 ×.*answered 400/s);
    await failures.getByRole('link', { name: 'row 3' }).waitFor();
    await failures.getByRole('button', { name: 'Show these rows' }).click();
    await page.getByRole('status').filter({ hasText: '2 rows' }).waitFor();
    await page.goBack();
    rows.fails.clear();
    await button('Retry 2 failed').click();
    await page.getByText('0 failed').waitFor();
    await state('completed');
    await failures.waitFor({ state: 'detached' });
    await button(/new$|^Show changes$/).click();
    await page.getByText('Exact Match').first().waitFor();
    expect(await axeViolations(page)).toEqual([]);

    await button('Approve as baseline').click();
    await page.getByText('approved baseline').waitFor();
    await button('Take approval back').click();
    await button('Approve as baseline').waitFor();
    await button('Score again').click();
    await page.getByRole('link', { name: 'Temporal' }).waitFor();
    expect(await page.getByRole('link', { name: 'Temporal' }).getAttribute('href')).toContain(service.temporalUiUrl);
  });

  test('a run is cancelled after a question, and the rows that are left can be run', async () => {
    const { id, path } = await started('cancelled', 5, 1);
    await page.goto(at(id));
    await letGo(1);
    await page.getByText('1 of 5 rows').waitFor();
    await button('Cancel').click();
    await button('Let it run').click();
    await state('running');
    await button('Cancel').click();
    await page.getByRole('dialog').getByText('4 rows are not run.').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await button('Cancel the run').click();
    await state('cancelled');
    await settled(path, { state: 'cancelled' });
    letAllGo();
    await button(/^Run the \d left$/).click();
    await state('completed');
    await page.getByText('5 of 5 rows').waitFor();
  });

  test('a row leads to its trace; reload, Back and the link of another account show the same', async () => {
    const { id } = await started('read', 6, 3, ['question 4']);
    letAllGo();
    await page.goto(at(id));
    await state('completed');
    await page.getByRole('button', { name: 'Failed first' }).click();
    await expect.poll(() => page.getByRole('row').nth(1).textContent()).toContain('question 4');
    await openRow(page.getByRole('row').nth(1));
    const panel = page.getByRole('complementary', { name: 'Record' });
    await panel.getByText('answered 400').first().waitFor();
    await page.keyboard.press('j');
    await panel.getByText('2 of 6').waitFor();
    await panel
      .getByRole('table')
      .getByText('exact_match', { exact: false })
      .or(panel.getByText('Exact Match'))
      .first()
      .waitFor();
    const link = page.url();
    await page.reload();
    await panel.getByText('2 of 6').waitFor();
    await panel.getByRole('link', { name: 'Open the trace' }).click();
    await page.getByRole('treegrid').waitFor();
    await page.goBack();
    await panel.getByText('2 of 6').waitFor();
    expect(page.url()).toBe(link);
    const others = consoleOthers(pages, service);
    await others.openLink(project.id, link, async (other) => {
      await other.getByRole('complementary', { name: 'Record' }).getByText('2 of 6').waitFor();
      for (const name of ['Score again', 'Approve as baseline', /^Retry/])
        expect(await other.getByRole('button', { name }).count()).toBe(0);
    });
  });

  test('the figures say what they are made of, and the setup what ran', async () => {
    const { id } = await started('made of', 4, 2, ['question 1']);
    letAllGo();
    await page.goto(at(id));
    await state('completed');
    await page.getByRole('tab', { name: 'Figures' }).click();
    const line = page.getByRole('row', { name: /Exact Match/ });
    await expect.poll(() => line.textContent()).toMatch(/100(\.0)? %.*1 left out/s);
    expect(page.url()).toContain('tab=figures');
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press('ArrowRight');
    await page.getByRole('region', { name: 'Run', exact: true }).getByText('a call of http://127.0.0.1').waitFor();
    await expect
      .poll(() => page.getByRole('region', { name: 'Run', exact: true }).textContent())
      .toContain('Attempts of a call1');
    expect(await axeViolations(page)).toEqual([]);
    await page.goBack();
    await line.waitFor();
  });

  test('the dataset that it ran over is one click away, in its version', async () => {
    const name = `questions ${project.id}`;
    const { id: datasetId } = await createDataset({
      client: service.client,
      projectId: project.id,
      name,
      content: [{ input: 'a' }],
    });
    const made = await service.request('POST', `/projects/${project.id}/experiments`, {
      ...{ name: 'over a dataset', dataset: { dataset_id: datasetId, version_index: 1 } },
    });
    await page.goto(at((made.body as { id: string }).id));
    await page.getByRole('link', { name: `${name}, version 1` }).click();
    await page.getByRole('heading', { name }).waitFor();
    expect(page.url()).toContain(`/datasets/${datasetId}?`);
    expect(page.url()).toContain('version=1');
  });

  test('an experiment that is deleted while it is watched gets a page of its own', async () => {
    const { id, path } = await started('deleted', 3, 1);
    await page.goto(at(id));
    await page.getByText('1 running').waitFor();
    expect((await service.request('DELETE', path)).status).toBe(204);
    letAllGo();
    await page.getByRole('heading', { name: 'This experiment is gone' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.reload();
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
  });
});
