import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { axeViolations, type ConsoleBrowser } from '../support/consoleBrowser.ts';
import { describeConsole } from '../support/describeConsole.ts';
import { holdTimers, letTimersGo } from '../support/heldTimers.ts';
import type { TestProject, TestService } from '../support/testService.ts';

/** Milliseconds without a key before values are asked for. */
const PAUSE_MS = 150;

describeConsole('completion of values in the filter', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: TestProject;
  let page: Page;

  beforeAll(async () => {
    ({ service, pages } = await open());
    project = await service.project();
    const made = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
    const traces = Array.from({ length: 40 }, (_, index) => ({
      name: index % 4 === 0 ? 'say "hi", and go' : 'answer',
      input: 'question',
      status_code: index % 10 === 9 ? 500 : 200,
      user_metadata: { 'the plan': index % 5 === 0 ? 'New York' : 'Oslo' },
    }));
    const body = { log_stream_id: (made.body as { id: string }).id, traces };
    expect((await service.request('POST', `/projects/${project.id}/traces`, body)).status).toBe(200);
    page = await pages.signedIn({ key: service.apiKey });
  });

  const total = (text: string, on = page) => on.getByRole('status').filter({ hasText: text }).waitFor();
  const filter = (on = page) => on.getByRole('combobox', { name: 'Filter' });
  const list = (on = page) => on.getByRole('listbox', { name: 'Completions' });
  const option = (name: string) => list().getByRole('option', { name });
  const options = async (on = page) =>
    (await list(on).getByRole('option').allInnerTexts()).map((text) => text.split(/\s*\n/).join(': '));
  async function type(text: string, on = page) {
    await on.goto(`${service.url}/console/p/${project.id}/records`);
    await total('40 traces', on);
    await filter(on).fill(''); // what was typed before is kept
    await on.keyboard.type(text);
  }

  test('the most frequent values come with their counts, and the keyboard takes one, quoted where it must be', async () => {
    await type('name = ');
    await expect.poll(() => options()).toEqual(['answer: 30', '"say \\"hi\\", and go": 10']);
    await page.getByRole('status').filter({ hasText: 'Values, counted in 40 traces' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    const active = await filter().getAttribute('aria-activedescendant');
    expect(await page.locator(`[id="${active}"]`).getAttribute('aria-selected')).toBe('true');
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await expect.poll(() => filter().inputValue()).toBe('name = "say \\"hi\\", and go" ');
    await page.keyboard.press('Enter');
    await total('10 traces');
  });

  test('values of a further condition are counted among the records of the first', async () => {
    await type('name = answer and status_code = ');
    await expect.poll(() => options()).toEqual(['200: 26', '500: 4']);
    await page.keyboard.type('5');
    await expect.poll(() => options()).toEqual(['500: 4']);
    await option('500').click();
    await expect.poll(() => filter().inputValue()).toBe('name = answer and status_code = 500 ');
    await page.keyboard.press('Enter');
    await total('4 traces');
  });

  test('keys of the metadata are offered as columns, and their values as values', async () => {
    await type('plan');
    await expect.poll(() => options()).toEqual(['"user_metadata/the plan": metadata of 40']);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    await option('contains').waitFor();
    await page.keyboard.type('= york');
    await expect.poll(() => options()).toEqual(['"New York": 8']);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await total('8 traces');
  });

  test('a column of several words is found by its first ones, and replaces all of them', async () => {
    await type('status_code = 200 and user_metadata/the pla');
    await expect.poll(() => options()).toEqual(['"user_metadata/the plan": metadata of 40']);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    await expect.poll(() => filter().inputValue()).toBe('status_code = 200 and "user_metadata/the plan" ');
    await page.keyboard.type('= Oslo');
    await page.keyboard.press('Enter');
    await total('28 traces');
  });

  test('what is chosen right behind a letter stays chosen', async () => {
    await type('pla');
    await expect.poll(() => options()).toEqual(['"user_metadata/the plan": metadata of 40']);
    // All in one task, as keys come to a page that is slow.
    await page.evaluate(`{
      const input = document.querySelector('[role=combobox]');
      input.setRangeText('n', input.value.length, input.value.length, 'end');
      input.dispatchEvent(new Event('input', { bubbles: true }));
      input.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }));
      new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }`);
    await page.keyboard.press('Enter');
    await expect.poll(() => filter().inputValue()).toBe('"user_metadata/the plan" ');
  });

  test('typing on asks once, and long texts and times are never asked for', async () => {
    const typist = await pages.signedIn({ key: service.apiKey });
    await holdTimers(typist, PAUSE_MS);
    const pause = () => letTimersGo(typist, PAUSE_MS);
    const asked: string[] = [];
    typist.on('request', (request) => {
      if (request.url().endsWith('/column_values')) asked.push(request.postData() ?? '');
    });
    await type('name contains answer', typist);
    expect(asked).toEqual([]);
    await pause();
    const first = expect.stringContaining('"contains":"answer"');
    await expect.poll(() => asked).toEqual([first]);
    await filter(typist).fill('input = q');
    await pause();
    await filter(typist).fill('created_at > 1');
    await pause();
    await expect.poll(() => options(typist)).toEqual(['15m: ago', '1h: ago', '1d: ago']);
    // Had one of them been asked for, it would stand before this.
    await filter(typist).fill('name = say');
    await pause();
    await expect.poll(() => asked.length).toBeGreaterThan(1);
    expect(asked).toEqual([first, expect.stringContaining('"contains":"say"')]);
    await typist.context().close();
  });

  test('a count is said to be of the newest records only where it is', async () => {
    await page.route('**/column_values', async (route) => {
      const answer = await route.fetch();
      const body = (await answer.json()) as object;
      await route.fulfill({ json: { ...body, num_records: 1_204_000, num_records_counted: 100_000, has_more: true } });
    });
    await type('name = ');
    const text = 'The most frequent values, counted in the newest 100,000 of 1,204,000 traces';
    await page.getByRole('status').filter({ hasText: text }).waitFor();
    await page.unroute('**/column_values');
  });
});
