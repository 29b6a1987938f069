import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { createDataset } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { axeViolations, type ConsoleBrowser, endUndo } from '../support/consoleBrowser.ts';
import { describeConsole } from '../support/describeConsole.ts';
import { openRow } from '../support/openRow.ts';
import { pressInTurn } from '../support/pressInTurn.ts';
import type { TestProject, TestService } from '../support/testService.ts';

describeConsole('what is done with several records', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: TestProject;
  let stream: string;
  let page: Page;

  beforeAll(async () => {
    ({ service, pages } = await open());
    page = await pages.signedIn({ key: service.apiKey });
  });
  beforeEach(async () => {
    project = await service.project();
    const { body } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
    stream = (body as { id: string }).id;
    const at = (index: number) => new Date(Date.UTC(2026, 0, 2, 12, index)).toISOString();
    const traces = Array.from({ length: 120 }, (_, index) => ({
      ...{ name: `answer ${index}`, created_at: at(119 - index), input: `question ${index}`, output: `reply ${index}` },
    }));
    await service.request('POST', `/projects/${project.id}/traces`, { log_stream_id: stream, traces });
    await page.goto(`${service.url}/console/p/${project.id}/records`);
    await total('120 traces');
  });

  const said = (text: string | RegExp) => page.getByRole('status').filter({ hasText: text }).waitFor();
  const total = (text: string) => said(text);
  const choose = (name: string) => page.getByRole('checkbox', { name: `Choose ${name}`, exact: true });
  const bar = () => page.getByRole('region', { name: 'Chosen records' });
  const kept = async () => {
    const { body } = await service.request('POST', `/projects/${project.id}/traces/count`, { log_stream_id: stream });
    return (body as { total_count: number }).total_count;
  };

  test('records are chosen one by one, from one to another, and all that fit', async () => {
    await choose('answer 2').click();
    await choose('answer 5').click({ modifiers: ['Shift'] });
    await bar().getByText('4 traces chosen').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await bar().getByRole('button', { name: 'All 120' }).click();
    await bar().getByText('120 traces chosen').waitFor();
    await page.keyboard.press('Escape');
    await bar().waitFor({ state: 'detached' });
  });

  test('keys choose the open record, make a queue and put it there; its question is answered by keys', async () => {
    const queue = `Tone ${newId()}`;
    await openRow(page.getByRole('grid').getByRole('row').nth(1));
    const panel = page.getByRole('complementary', { name: 'Record' });
    await panel.getByRole('heading', { name: 'answer 0' }).waitFor();
    await panel.getByRole('button', { name: 'To a queue' }).waitFor();
    for (const key of ['x', 'j', 'x']) await page.keyboard.press(key);
    await pressInTurn(page, 'a', 'q');
    const dialog = page.getByRole('dialog', { name: 'Add to an annotation queue' });
    await dialog.waitFor();
    await page.keyboard.type(queue);
    await dialog.getByRole('button', { name: `Make “${queue}”` }).waitFor();
    await page.keyboard.press('Enter');
    await said(`2 traces added to ${queue}`);
    await dialog.waitFor({ state: 'detached' });
    const question = panel.getByRole('group', { name: 'Good?' });
    await question.waitFor();
    await pressInTurn(page, 'r', '2');
    // It is shown before it is stored, and stored although the page is left.
    await expect.poll(() => question.getByLabel('No').isChecked()).toBe(true);
    await page.reload();
    const { body: queues } = await service.request('POST', '/annotation_queues/query', {
      filters: [{ name: 'name', operator: 'eq', value: queue }],
    });
    const { id } = (queues as { annotation_queues: [{ id: string }] }).annotation_queues[0];
    const progress = async () => (await service.request('GET', `/annotation_queues/${id}`)).body;
    await expect.poll(progress).toMatchObject({ overall_progress: 0.5 });
    await page.reload();
    await expect.poll(() => question.getByLabel('No').isChecked()).toBe(true);
    expect(await axeViolations(page)).toEqual([]);
  });

  test('records become rows of a new dataset', async () => {
    const dataset = `Hard ones ${newId()}`;
    await choose('answer 1').click();
    await choose('answer 3').click();
    await pressInTurn(page, 'a', 'd');
    await page.getByRole('dialog', { name: 'Add to a dataset' }).getByLabel('Find or name one').fill(dataset);
    await page.keyboard.press('Enter');
    await said(`2 rows added to ${dataset}`);
    const { body } = await service.request('POST', '/datasets/query', {
      filters: [{ name: 'name', operator: 'eq', value: dataset }],
    });
    expect((body as { datasets: { num_rows: number }[] }).datasets.map((one) => one.num_rows)).toEqual([2]);
  });

  test('Enter that comes before the list takes the dataset that has the name already', async () => {
    const name = `Known ones ${newId()}`;
    const { id } = await createDataset({ client: service.client, projectId: project.id, name, content: [{ input: 'a' }] });
    await choose('answer 1').click();
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
    await page.route(/\/datasets\/query/, async (route) => {
      await mayAnswer;
      await route.continue();
    });
    await pressInTurn(page, 'a', 'd');
    await page.getByRole('dialog', { name: 'Add to a dataset' }).getByLabel('Find or name one').fill(name);
    await page.keyboard.press('Enter');
    answer();
    await said(`1 row added to ${name}`);
    await page.unroute(/\/datasets\/query/);
    expect((await service.request('GET', `/datasets/${id}`)).body).toMatchObject({ num_rows: 2 });
  });

  test('chosen records are saved as a file', async () => {
    await choose('answer 1').click();
    await bar().getByRole('button', { name: 'Export' }).click();
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'JSON lines' }).click()]);
    expect(file.suggestedFilename()).toBe('traces.jsonl');
    const lines = (await readFile((await file.path()) as string, 'utf8')).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).name)).toEqual(['answer 1']);
  });

  test('a deletion waits, can be taken back, and goes when its time is over', async () => {
    await choose('answer 0').click();
    await bar().getByRole('button', { name: 'Delete' }).click();
    await total('119 traces');
    await page.getByRole('button', { name: 'Undo' }).click();
    await total('120 traces');
    await choose('answer 0').waitFor();
    expect(await kept()).toBe(120);
    await page.getByLabel('Filter', { exact: true }).fill('name = "answer 7"');
    await page.keyboard.press('Enter');
    await total('1 trace');
    await page.getByLabel('Choose all that are loaded').click();
    await bar().getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    expect(await kept()).toBe(120);
    await endUndo(page);
    await expect.poll(kept).toBe(119);
    await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' });
  });

  test('whoever leaves the page before has deleted what was asked for', async () => {
    await choose('answer 0').click();
    await bar().getByRole('button', { name: 'All 120' }).click();
    await bar().getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    await page.goto('about:blank');
    await expect.poll(kept).toBe(0);
  });
});
