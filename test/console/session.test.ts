import { existsSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { axeViolations, CHROMIUM, type ConsoleBrowser, consoleBrowser } from '../support/consoleBrowser.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

const TURNS = 500;
/** Turns on the page at a time: those in sight and their neighbours. */
const MOST_SHOWN = 20;
/** Characters of an output that is not worth reading ahead. */
const LARGE = 2_000_000;

const program = { name: 'chromium', path: existsSync(CHROMIUM) ? CHROMIUM : undefined };
describeWithServer('a session of 500 turns', program, (executablePath) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: TestProject;
  let stream: string;
  let session: string;
  let page: Page;
  /** Paths and queries of the records that the page read since it was opened. */
  const asked: string[] = [];

  const log = (traces: object[], session_id?: string) =>
    service.client.send(`/projects/${project.id}/traces`, {
      body: { log_stream_id: stream, ...(session_id ? { session_id } : {}), traces },
    });

  beforeAll(async () => {
    service = await sharedTestService();
    pages = await consoleBrowser(executablePath, service.url);
    project = await service.project();
    const of = { body: { name: 'main' } };
    stream = (await service.client.send<{ id: string }>(`/projects/${project.id}/log_streams`, of)).id;
    const opened = { body: { log_stream_id: stream, name: 'long chat' } };
    session = (await service.client.send<{ id: string }>(`/projects/${project.id}/sessions`, opened)).id;
    const turns = Array.from({ length: TURNS }, (_, turn) => ({
      ...{ name: `turn ${turn}`, input: `question ${turn}`, output: `answer ${turn} `.repeat(1 + (turn % 7) * 60) },
      created_at: new Date(Date.UTC(2026, 1, 1) + turn * 60_000).toISOString(),
      metrics: { duration_ns: 1e9 },
      ...(turn === 3 ? { status_code: 500, error_message: 'timed out' } : {}),
    }));
    await log(turns, session);
    page = await pages.signedIn({ key: service.apiKey });
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url());
      if (/\/(?:traces|sessions)\/[0-9a-f-]{36}$/.test(pathname) && !pathname.includes('/console/'))
        asked.push(pathname + search);
    });
  });
  afterAll(async () => {
    await using _service = service;
    await pages?.[Symbol.asyncDispose]();
  });

  const turnsRead = () => new Set(asked.filter((path) => path.includes('/traces/'))).size;
  const question = (turn: number) => page.getByText(`question ${turn}`, { exact: true });

  test('turns are read where somebody looks, and lead to their traces', async () => {
    const begun = performance.now();
    await page.goto(`${service.url}/console/p/${project.id}/sessions/${session}`);
    await question(0).waitFor();
    console.info(`the first of ${TURNS} turns after ${Math.round(performance.now() - begun)} ms`);
    await page.getByText('500 turns').waitFor();
    await page.getByText('timed out').waitFor({ state: 'attached' });
    expect(turnsRead()).toBeLessThan(MOST_SHOWN);
    expect(await axeViolations(page)).toEqual([]);
    const scroller = page.getByRole('region', { name: 'Session' });
    asked.length = 0;
    await expect
      .poll(async () => {
        await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
        return question(TURNS - 1).isVisible();
      })
      .toBe(true);
    // The end moves as turns take their height: a slow page stops on its way there a few times.
    expect(turnsRead()).toBeLessThan(TURNS / 4);
    expect(await page.getByRole('listitem').count()).toBeLessThan(MOST_SHOWN);
    await scroller.evaluate((element) => element.scrollTo(0, 0));
    await question(0).waitFor();
    await page.getByRole('link', { name: 'turn 1', exact: true }).click();
    await page.getByRole('treegrid').getByRole('row', { name: 'turn 1' }).waitFor();
  });

  test('the panel of a session and the page read the session alone', async () => {
    asked.length = 0;
    await page.goto(`${service.url}/console/p/${project.id}/records?kind=sessions&open=${session}`);
    await page.getByRole('article', { name: 'session long chat' }).waitFor();
    await page.getByRole('link', { name: 'Open the session' }).click();
    await question(0).waitFor();
    const sessions = asked.filter((path) => path.includes('/sessions/'));
    expect(sessions.length).toBeGreaterThan(0);
    for (const path of asked) expect(path).toMatch(/\?include_children=false$/);
  });

  test('beside an open record the next one has been read, unless it is large', async () => {
    const [small, large] = [newId(), newId()];
    const at = (time: string) => ({ input: 'q', created_at: `2026-03-01T00:00:0${time}Z` });
    await log([
      { ...at('0'), id: small, name: 'small' },
      { ...at('2'), id: newId(), name: 'opened' },
      { ...at('4'), id: large, name: 'large', output: 'long '.repeat(LARGE / 5) },
    ]);
    // An answer is asked for anew after 10 s, which a slow page may take for a step.
    await page.clock.setFixedTime(Date.now());
    await page.goto(`${service.url}/console/p/${project.id}/records`);
    const panel = page.getByRole('complementary', { name: 'Record' });
    const article = (name: string) => panel.getByRole('article', { name: `trace ${name}` });
    const brokenOff = page.waitForEvent('requestfailed', (request) => request.url().includes(large));
    await page.getByRole('gridcell', { name: 'opened', exact: true }).click();
    await article('opened').waitFor();
    await brokenOff;
    await expect.poll(() => asked.filter((path) => path.includes(small)).length).toBe(1);
    asked.length = 0;
    await page.keyboard.press('j');
    await article('small').waitFor();
    expect(asked.filter((path) => path.includes(small))).toEqual([]);
    await page.keyboard.press('k');
    await article('opened').waitFor();
    await page.keyboard.press('k');
    await article('large').waitFor();
    for (const path of asked) expect(path).toMatch(/\?include_children=false$/);
  });
});
