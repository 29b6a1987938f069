import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { axeViolations, type ConsoleBrowser } from '../support/consoleBrowser.ts';
import { consoleOthers } from '../support/consoleOthers.ts';
import { describeConsole } from '../support/describeConsole.ts';
import { openRow } from '../support/openRow.ts';
import type { TestProject, TestService } from '../support/testService.ts';

describeConsole('the table of records', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: TestProject;
  let page: Page;
  let stream: string;

  beforeAll(async () => {
    ({ service, pages } = await open());
    project = await service.project();
    const made = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
    stream = (made.body as { id: string }).id;
    const traces = Array.from({ length: 40 }, (_, index) => ({
      name: `answer ${index}`,
      created_at: new Date(Date.UTC(2026, 0, 2, 12, index)).toISOString(),
      input: `question ${index % 4}`,
      output: `reply ${index}`,
      status_code: index % 10 === 9 ? 500 : 200,
      tags: index % 2 === 0 ? ['even'] : ['odd'],
      user_metadata: { customer: `c${index % 5}` },
    }));
    const body = { log_stream_id: stream, traces };
    expect((await service.request('POST', `/projects/${project.id}/traces`, body)).status).toBe(200);
    page = await pages.signedIn({ key: service.apiKey });
  });

  const show = (query = '') => page.goto(`${service.url}/console/p/${project.id}/records${query}`);
  const total = (text: string, on = page) => on.getByRole('status').filter({ hasText: text }).waitFor();
  const row = (index: number) =>
    page
      .getByRole('grid')
      .getByRole('row')
      .nth(index + 1);
  const cell = (text: string) => page.getByRole('gridcell', { name: text, exact: true }).first();
  const heads = () => page.getByRole('columnheader').allInnerTexts();
  const filter = () => page.getByLabel('Filter', { exact: true });

  test('a cell filters by its value, or leaves it out; Back, reload and the link of another account show the same', async () => {
    await show();
    await total('40 traces');
    await cell('500').hover();
    await page.getByRole('button', { name: 'Only status_code = 500' }).click();
    await total('4 traces');
    await cell('question 1').hover();
    await page.getByRole('button', { name: 'Only input = "question 1"' }).click({ modifiers: ['Shift'] });
    await total('2 traces');
    await expect.poll(() => filter().inputValue()).toBe('status_code = 500 and not input = "question 1"');
    await page.reload();
    await total('2 traces');
    const link = page.url();
    await page.goBack();
    await total('4 traces');
    await consoleOthers(pages, service).openLink(project.id, link, (other) => total('2 traces', other));
  });

  test.each(['cols={"a":1}', 'pin=5&sort={"by":1}', 'q={"a":[1]}&from=[]&to=true', 'kind=5&open={}&live=7'])(
    'an address that says %s shows the table, as if that was not there',
    async (odd) => {
      await show(`?${odd}`);
      await total('40 traces');
      await cell('answer 39').waitFor();
    },
  );

  test('sorted rows are there while the time of the newest, which only later pages need, is still asked for', async () => {
    await show();
    await total('40 traces');
    const asked = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    await page.route('**/traces/partial_search', async (route) => {
      if (route.request().postDataJSON().limit === 1) {
        asked.resolve();
        await held.promise;
      }
      await route.continue();
    });
    await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click();
    await expect.poll(() => row(0).textContent()).toContain('answer 9');
    await asked.promise;
    held.resolve();
    await page.unrouteAll({ behavior: 'wait' });
    await openRow(row(0));
    await page.waitForURL(/open=/);
  });

  test('keys choose a cell of the open record and filter by it', async () => {
    await show();
    await openRow(row(0));
    await page.getByRole('complementary', { name: 'Record' }).getByRole('heading', { name: 'answer 39' }).waitFor();
    await page.getByRole('grid').focus();
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
    await page.keyboard.press('f');
    await total('10 traces');
    await expect.poll(() => filter().inputValue()).toBe('input = "question 3"');
  });

  test('a column is dragged to another place, by mouse, and stays there after a reload', async () => {
    await show();
    await total('40 traces');
    await page.getByRole('columnheader', { name: 'Output' }).dragTo(page.getByRole('columnheader', { name: 'Name' }));
    await expect
      .poll(heads)
      .toEqual(['', 'Time', 'Output', 'Name', 'Status', 'Input', 'Latency', 'Tokens in', 'Tokens out', 'Cost']);
    await page.reload();
    await total('40 traces');
    await expect.poll(async () => (await heads())[2]).toBe('Output');
  });

  test('the edge of a column makes it wider, by mouse and by keys, and stays after a reload', async () => {
    await show();
    await total('40 traces');
    const edge = page.getByRole('separator', { name: 'Width of Name' });
    const width = async () => Number(await edge.getAttribute('aria-valuenow'));
    const before = await width();
    await edge.hover({ position: { x: 4, y: 8 } }); // waits until it stays where it is
    const box = (await edge.boundingBox()) as { x: number; y: number };
    await page.mouse.down();
    await page.mouse.move(box.x + 64, box.y + 8, { steps: 3 });
    await page.mouse.up();
    await expect.poll(width).toBe(before + 60);
    await edge.press('ArrowLeft');
    await expect.poll(width).toBe(before + 44);
    await page.reload();
    await expect.poll(width).toBe(before + 44);
    const head = page.getByRole('columnheader', { name: 'Name' });
    await expect.poll(async () => (await head.boundingBox())?.width).toBe(before + 44);
  });

  test('a pinned column stays at the left while the others are scrolled', async () => {
    await show('?cols=["created_at","input","output","name","status_code","metrics/duration_ns","tags","metrics/cost"]');
    await total('40 traces');
    await page.setViewportSize({ width: 720, height: 700 });
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('button', { name: 'Keep Name at the left' }).click();
    await page.keyboard.press('Escape');
    await expect.poll(async () => (await heads()).slice(0, 3)).toEqual(['', 'Name', 'Time']);
    const grid = page.getByRole('grid');
    await grid.evaluate((element) => element.scrollTo(400, 0));
    await expect.poll(async () => (await page.getByRole('columnheader', { name: 'Name' }).boundingBox())?.x).toBe(40);
    await page.reload();
    await total('40 traces');
    await expect.poll(async () => (await heads())[1]).toBe('Name');
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  test('the times of the histogram narrow the table, by mouse and by keys; Back shows all', async () => {
    await show();
    await total('40 traces');
    const bars = page.getByRole('slider', { name: 'Records over time' });
    const areAnswered = () => page.locator('[role=slider][aria-busy=false]').waitFor();
    await areAnswered();
    const box = (await bars.boundingBox()) as { x: number; y: number; width: number };
    await page.mouse.move(box.x + 1, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2 - 2, box.y + 20, { steps: 3 });
    await page.mouse.up();
    await total('20 traces');
    await page.reload();
    await total('20 traces');
    await page.goBack();
    await total('40 traces');
    await areAnswered();
    await bars.focus();
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => bars.getAttribute('aria-valuetext')).toContain(': 1');
    await page.keyboard.press('Enter');
    await total('1 trace');
    await page.goBack();
    await total('40 traces');
  });

  test('the palette leads to pages, projects and pasted ids; the keys are shown', async () => {
    await show();
    await total('40 traces');
    const { body } = await service.request('POST', `/projects/${project.id}/traces/search`, {
      log_stream_id: stream,
      limit: 1,
    });
    const [{ id, name }] = (body as { records: [{ id: string; name: string }] }).records;
    await page.keyboard.press('Control+k');
    await page.getByLabel('Project, page or id').fill(id);
    await page.getByRole('option', { name }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/traces/${id}`);
    await page.getByRole('treegrid').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByLabel('Project, page or id').fill('fail');
    await page.getByRole('option', { name: 'Failures' }).waitFor();
    await page.keyboard.press('Enter');
    await total('4 traces');
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keys' });
    await help.waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
  });

  test('two moments in the zone that was chosen narrow the table; the address has them in UTC', async () => {
    await show();
    await total('40 traces');
    await page.getByRole('button', { name: /Time range/ }).click();
    await page.getByLabel('From').fill('2026-01-02T12:10:00');
    await page.getByLabel('Until').fill('2026-01-02T12:20:00');
    await page.getByRole('button', { name: 'Show these times' }).click();
    const utc = new Date(2026, 0, 2, 12, 10).toISOString();
    await page.waitForURL((url) => url.searchParams.get('from') === utc);
    await page
      .getByRole('button', { name: /Time range/ })
      .filter({ hasText: '12:10:00' })
      .waitFor();
    await page.goBack();
    await total('40 traces');
  });
});
