import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeViolations, type ConsoleBrowser } from '../support/consoleBrowser.ts';
import { describeConsole } from '../support/describeConsole.ts';
import { sharedTestService } from '../support/sharedService.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcpProxy.ts';
import type { TestProject, TestService } from '../support/testService.ts';

describeConsole('the live switch', (open) => {
  let service: TestService;
  let proxy: TcpProxy;
  let pages: ConsoleBrowser;
  let page: Page;
  let project: TestProject;
  let stream: string;

  beforeAll(async () => {
    service = await sharedTestService();
    proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(service.url).port) });
    // While nothing answers, browsers note each question that failed.
    ({ pages } = await open({ service, at: `http://127.0.0.1:${proxy.port}`, expected: /net::ERR/ }));
    page = await pages.signedIn({ key: service.apiKey });
  });
  afterAll(() => proxy?.close());

  async function newStream() {
    project = await service.project();
    const made = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
    stream = (made.body as { id: string }).id;
  }
  async function log(count: number, name: string, more: object = {}) {
    const traces = Array.from({ length: count }, (_, index) => ({ name: `${name} ${index}`, input: 'a', ...more }));
    const answer = await service.request('POST', `/projects/${project.id}/traces`, { log_stream_id: stream, traces });
    expect(answer.status).toBe(200);
  }
  const show = (query: string) => page.goto(`http://127.0.0.1:${proxy.port}/console/p/${project.id}/records${query}`);
  const total = (text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();
  const live = () => page.getByRole('switch', { name: 'Live' });
  const connected = () => page.locator('[data-state="connected"]').waitFor();
  const fresh = (count: string) => page.getByRole('button', { name: `${count} new`, exact: true });
  const cell = (text: string) => page.getByRole('gridcell', { name: text, exact: true });

  test('new records are counted while what is read stays, and come to the top when somebody presses', async () => {
    await newStream();
    await log(149, 'old', { created_at: '2026-03-01T10:00:00Z' });
    await log(1, 'old', { created_at: '2026-03-01T10:00:01Z' });
    await show('');
    await total('150 traces');
    await page.getByRole('slider', { name: 'Records over time' }).waitFor();
    await live().check();
    await page.waitForURL(/live=on/);
    await connected();
    await page.getByRole('grid').evaluate((element) => element.scrollTo(0, 1_600));
    await page.locator('[role=row][aria-rowindex="60"]').filter({ hasText: 'old' }).waitFor();
    const rows = page.getByRole('row').filter({ hasText: 'old' });
    const names = () => rows.evaluateAll((all) => all.map((row) => [Number(row.ariaRowIndex), row.textContent]));
    // While the table scrolls its elements have another order, and some are filled later than others.
    const isStill = async () => {
      const places = (await names()).map(([at]) => Number(at));
      return places.includes(60) && places.every((at, place) => at === Number(places[0]) + place);
    };
    await expect.poll(isStill).toBe(true);
    const before = { names: await names(), box: await page.getByRole('grid').boundingBox() };
    await log(12, 'fresh');
    await fresh('12').waitFor();
    expect({ names: await names(), box: await page.getByRole('grid').boundingBox() }).toEqual(before);
    await total('12 new traces');
    await fresh('12').press('Enter');
    await total('162 traces');
    await cell('fresh 0').waitFor();
    await expect.poll(() => page.getByRole('grid').evaluate((element) => element.scrollTop)).toBe(0);
    await page.getByRole('button', { name: /new$/ }).waitFor({ state: 'hidden' });
    await expect.poll(() => live().evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await page.reload();
    await total('162 traces');
    await expect.poll(() => live().isChecked()).toBe(true);
    await connected();
    await log(1, 'later');
    await fresh('1').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await live().uncheck();
    await fresh('1').waitFor({ state: 'detached' });
    await page.waitForURL((url) => !url.href.includes('live'));
  });

  test('under a filter only what fits it is counted', async () => {
    await newStream();
    await log(2, 'failed', { status_code: 500 });
    await show('?q=status_code+%3D+500&live=on');
    await total('2 traces');
    await connected();
    await log(5, 'fine', { status_code: 200 });
    await log(3, 'failed again', { status_code: 500, metrics: { quality: 0.5 } });
    await fresh('3').click();
    await total('5 traces');
    await cell('failed again 0').waitFor();
    // They are the first with this metric.
    await page.getByLabel('Filter', { exact: true }).fill('metrics/quality > 0.1');
    await page.keyboard.press('Enter');
    await total('3 traces');
  });

  test('a lost connection is a banner, and what came meanwhile is counted when it is back', async () => {
    await newStream();
    await log(2, 'first');
    await show('?live=on');
    await total('2 traces');
    await connected();
    proxy.set('reset');
    const banner = page.getByText('The connection is lost');
    await banner.waitFor();
    await log(4, 'meanwhile');
    proxy.set('open');
    await banner.waitFor({ state: 'detached' });
    await fresh('4').waitFor();
    await total('2 traces');
  });

  test('what is asked while the service is away is answered when it is back', async () => {
    await newStream();
    await log(3, 'first');
    await show('');
    await total('3 traces');
    proxy.set('reset');
    await page.getByLabel('Filter', { exact: true }).fill('name = "first 1"');
    await page.keyboard.press('Enter');
    const banner = page.getByText('The connection is lost');
    await banner.waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    proxy.set('open');
    await total('1 trace');
    await banner.waitFor({ state: 'detached' });
  });

  test('the list of runs says when the newest record of each came', async () => {
    await newStream();
    await log(1, 'old', { created_at: '2026-03-01T10:00:00Z' });
    await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'empty' });
    await show('');
    const runs = page.getByLabel('Log stream or experiment');
    await runs.focus();
    await expect
      .poll(async () => (await runs.locator('option').allInnerTexts()).sort())
      .toEqual(['empty · no records', expect.stringMatching(/^main · 2026-03-01 \d\d:00:00$/)]);
  });
});
