import { existsSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeViolations, CHROMIUM, type ConsoleBrowser, consoleBrowser } from '../support/consoleBrowser.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

/** As a measurement, with 100000. */
const RECORDS = Number(process.env.CONSOLE_RECORDS ?? 4_000);
const A_REQUEST = 1_000;

const program = { name: 'chromium', path: existsSync(CHROMIUM) ? CHROMIUM : undefined };
describeWithServer('a table of thousands of records', program, (executablePath) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: TestProject;
  let page: Page;

  beforeAll(async () => {
    service = await sharedTestService();
    pages = await consoleBrowser(executablePath, service.url);
    project = await service.project();
    const made = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
    const log_stream_id = (made.body as { id: string }).id;
    for (let start = 0; start < RECORDS; start += A_REQUEST) {
      const traces = Array.from({ length: A_REQUEST }, (_, index) => ({
        name: `answer ${start + index}`,
        created_at: new Date(Date.UTC(2026, 0, 2) - (start + index) * 1_000).toISOString(),
        input: `question ${start + index}`,
      }));
      const logged = await service.request('POST', `/projects/${project.id}/traces`, { log_stream_id, traces });
      expect(logged.status).toBe(200);
    }
    page = await pages.signedIn({ key: service.apiKey });
  }, 600_000);
  afterAll(async () => {
    await pages?.[Symbol.asyncDispose]();
    await service?.[Symbol.asyncDispose]();
  });

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
    await expect.poll(() => grid().locator('[aria-selected="true"]').count()).toBe(1);
    const at = Number(await grid().locator('[aria-selected="true"]').getAttribute('aria-rowindex'));
    expect(at).toBeLessThan(RECORDS - 5);
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
});
