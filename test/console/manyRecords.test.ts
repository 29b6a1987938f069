import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { axeViolations, type ConsoleBrowser } from '../support/consoleBrowser.ts';
import { describeConsole } from '../support/describeConsole.ts';
import { keepsRowsInPlace, rowNumbers } from '../support/scrolledRows.ts';
import type { TestProject, TestService } from '../support/testService.ts';

/** As a measurement, with 100000. */
const RECORDS = Number(process.env.CONSOLE_RECORDS ?? 4_000);
const A_REQUEST = 1_000;

describeConsole('a table of thousands of records', (open) => {
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
    for (let start = 0; start < RECORDS; start += A_REQUEST) {
      const traces = Array.from({ length: A_REQUEST }, (_, index) => ({
        name: `answer ${start + index}`,
        created_at: new Date(Date.UTC(2026, 0, 2) - (start + index) * 1_000).toISOString(),
        input: `question ${start + index}`,
      }));
      const logged = await service.request('POST', `/projects/${project.id}/traces`, { log_stream_id: stream, traces });
      expect(logged.status).toBe(200);
    }
    page = await pages.signedIn({ key: service.apiKey });
  }, 600_000);

  const grid = () => page.getByRole('grid');
  const row = (number: number) => grid().getByRole('gridcell', { name: `question ${number}`, exact: true });
  async function show() {
    await page.goto(`${service.url}/console/p/${project.id}/records`);
    const total = `${RECORDS.toLocaleString('en-US')} traces`;
    await page.getByRole('status').filter({ hasText: total }).waitFor();
    await row(0).waitFor();
  }

  test('the scroll bar leads to any place, and only what is in sight is loaded and on the page', async () => {
    await show();
    expect(await grid().getAttribute('aria-rowcount')).toBe(String(RECORDS + 1));
    let asked = 0;
    page.on('request', (request) => request.url().endsWith('/partial_search') && asked++);
    const started = performance.now();
    await grid().evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await row(RECORDS - 1).waitFor();
    console.info(`the last of ${RECORDS} records after ${Math.round(performance.now() - started)} ms`);
    expect(asked).toBeLessThan(5);
    expect(await grid().getByRole('row').count()).toBeLessThan(80);
    await grid().evaluate((element) => element.scrollTo(0, element.scrollHeight / 2));
    await row(RECORDS / 2).waitFor();
    await grid().evaluate((element) => element.scrollTo(0, 0));
    await row(0).waitFor();
    expect(await axeViolations(page)).toEqual([]);
  });

  test('End, Home and the page keys lead the open record there, and the arrows go on from it', async () => {
    await show();
    await row(0).click();
    const panel = page.getByRole('complementary', { name: 'Record' });
    const is = (number: number) =>
      panel.getByText(`${(number + 1).toLocaleString('en-US')} of ${RECORDS.toLocaleString('en-US')}`).waitFor();
    await is(0);
    await grid().focus();
    await page.keyboard.press('End');
    await is(RECORDS - 1);
    await page.keyboard.press('ArrowUp');
    await is(RECORDS - 2);
    await page.keyboard.press('PageUp');
    await expect
      .poll(async () => Number(await grid().locator('[aria-selected="true"]').getAttribute('aria-rowindex')))
      .toBeLessThan(RECORDS - 5);
    await page.keyboard.press('PageDown');
    await is(RECORDS - 2);
    await page.keyboard.press('Home');
    await is(0);
    await page.keyboard.press('k');
    await is(0);
  });

  test('scrolled through row by row, frames come on time', async () => {
    await show();
    const frames = await grid().evaluate(
      (element) =>
        new Promise<number[]>((resolve) => {
          const { requestAnimationFrame } = globalThis as unknown as { requestAnimationFrame(work: () => void): void };
          const times: number[] = [];
          let before = performance.now();
          const step = () => {
            times.push(performance.now() - before);
            before = performance.now();
            element.scrollBy(0, 120);
            if (times.length < 200) requestAnimationFrame(step);
            else resolve(times.sort((a, b) => a - b));
          };
          requestAnimationFrame(step);
        }),
    );
    console.info(`frames while scrolling: p50 ${frames[100]?.toFixed(1)} ms, p95 ${frames[190]?.toFixed(1)} ms`);
    const place = Math.round((await grid().evaluate((element) => element.scrollTop)) / 32);
    await row(place + 5).waitFor();
  });

  test('while it scrolls no row is moved on the page, and at rest they are read out in their order', async () => {
    await show();
    expect(await keepsRowsInPlace(grid(), 15 * 32)).toBe(true);
    await row(15).waitFor();
    expect(await keepsRowsInPlace(grid(), 15 * 32)).toBe(true);
    const isInOrder = async () => {
      const numbers = await rowNumbers(grid());
      return numbers.every((number, at) => at === 0 || number > (numbers[at - 1] as number));
    };
    await expect.poll(isInOrder).toBe(true);
  });

  test('keys never act on a record that took the place of another', async () => {
    await show();
    const first = page.getByRole('checkbox', { name: 'Choose answer 0', exact: true });
    await first.click();
    await grid().evaluate((element) => element.scrollTo(0, 40 * 32));
    await row(45).waitFor();
    await expect.poll(() => grid().evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await page.keyboard.press('Space');
    await page.getByText(/^1 .*chosen/).waitFor();
    // The space scrolls the table, and the browser may still do so.
    await expect
      .poll(async () => {
        await grid().evaluate((element) => element.scrollTo(0, 0));
        return first.isChecked({ timeout: 1_000 }).catch(() => undefined);
      })
      .toBe(true);
  });

  test('the table has the focus while the record that takes the place of another is being loaded', async () => {
    await show();
    await page.getByRole('checkbox', { name: 'Choose answer 0', exact: true }).click();
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
    await page.route('**/partial_search', async (route) => {
      await mayAnswer;
      await route.continue();
    });
    await grid().evaluate((element) => element.scrollTo(0, element.scrollHeight / 2));
    await expect.poll(() => grid().evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    answer();
    await row(RECORDS / 2).waitFor();
    expect(await grid().evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await page.unroute('**/partial_search');
  });

  const NEW = 150;
  const answers = Array.from({ length: RECORDS }, (_, number) => `answer ${number}`);

  // They log more records: the last ones.
  test.each([
    ['newest first', '', answers],
    ['by name', '?sort=name', [...Array(NEW).fill('a new one'), ...answers.toSorted()]],
  ])('%s, records that are logged meanwhile move no row of the table that is read', async (_order, query, names) => {
    await page.goto(`${service.url}/console/p/${project.id}/records${query}`);
    await page
      .getByRole('status')
      .filter({ hasText: `${names.length.toLocaleString('en-US')} traces` })
      .waitFor();
    await grid().getByRole('row').nth(1).waitFor();
    const traces = Array.from({ length: NEW }, () => ({ name: 'a new one', input: 'a' }));
    await service.request('POST', `/projects/${project.id}/traces`, { log_stream_id: stream, traces });
    await grid().evaluate((element) => element.scrollTo(0, element.scrollHeight / 2));
    const shown = () =>
      grid()
        .getByRole('row')
        .filter({ hasText: 'answer' })
        .evaluateAll((rows) =>
          rows.map((row) => [Number(row.ariaRowIndex) - 2, /answer \d+/.exec(row.textContent ?? '')?.[0]] as const),
        );
    await expect.poll(async () => (await shown())[0]?.[0] ?? 0).toBeGreaterThan(RECORDS / 4);
    for (const [index, name] of await shown()) expect([index, name]).toEqual([index, names[index]]);
  });
});
