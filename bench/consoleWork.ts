import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CDPSession, Page } from 'playwright-core';
import { CHROMIUM, consoleBrowser } from '../test/support/consoleBrowser.ts';
import { openRow } from '../test/support/openRow.ts';
import { fillPages } from './consoleExperiments.ts';
import { logLongTrace } from './consolePages.ts';
import { startLiveService } from './liveService.ts';

const TIMES = 10;
const SPANS = 20_000;

/** The work of the page's thread for one action, in milliseconds of its own CPU: waiting and other programs count nothing. */
const counters = ['TaskDuration', 'ScriptDuration', 'RecalcStyleDuration', 'LayoutDuration'] as const;
type Work = Record<(typeof counters)[number], number>;

/**
 * Counts the work of the page's thread for each action on the records, on a trace of 10,000 spans and on lists. It says where a change helps also on a machine that is
 * busy with other things, where times on the clock do not.
 * @param profiles a folder for a CPU profile of each action
 */
export async function countConsoleWork(profiles: string | undefined): Promise<void> {
  await using service = await startLiveService();
  await service.fill(SPANS);
  const traceId = await logLongTrace(service);
  await using pages = await consoleBrowser(CHROMIUM, service.url);
  const page = await pages.signedIn({ key: service.apiKey });
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  await session.send('Profiler.enable');
  await session.send('Profiler.setSamplingInterval', { interval: 200 });
  if (profiles !== undefined) mkdirSync(profiles, { recursive: true });

  const project = `${service.url}/console/p/${service.target.projectId}`;
  const count = (name: string, act: () => Promise<unknown>, prepare: () => Promise<unknown> = async () => undefined) =>
    counted(page, session, { name, act, prepare, profiles });
  console.log(
    `${'ms of CPU of the page, mean'.padEnd(34)}${['all', 'script', 'style', 'layout'].map((it) => it.padStart(8)).join('')}`,
  );
  const records = () => page.goto(`${project}/records`).then(() => page.getByRole('row').nth(5).waitFor());
  const away = () => page.goto('about:blank');
  await count('open the traces', records, away);
  const spans = () => page.goto(`${project}/records?kind=spans`).then(() => page.getByRole('row').nth(5).waitFor());
  await count('open the spans', spans, away);
  const filter = page.getByLabel('Filter', { exact: true });
  let figure = 0;
  await count(
    'filter',
    () => filter.press('Enter'),
    () => filter.fill(`metrics/duration_ns > ${1e6 + figure++}`),
  );
  await count(
    'type in the filter',
    async () => {
      for (const letter of 'name') await filter.press(letter);
    },
    () => filter.fill(''),
  );
  await filter.fill('');
  await filter.press('Enter');
  const head = page.getByRole('columnheader', { name: 'Latency' }).getByRole('button').first();
  await count('sort', () => head.click());
  await records();
  const first = () => openRow(page.getByRole('grid').getByRole('row').nth(1));
  await count('open a record', first, () => page.keyboard.press('Escape'));
  await count('next record', () => page.keyboard.press('j'));
  for (const [key, name] of [
    ['2', 'tab of text'],
    ['3', 'tab of JSON'],
    ['1', 'tab of the conversation'],
  ] as const)
    await count(
      name,
      () => page.keyboard.press(key),
      () => page.keyboard.press(key === '1' ? '3' : '1'),
    );
  await count('scroll the spans by 12,000 px', () => wheel(page, '[role=grid]', 600), spans);

  const trace = () =>
    page.goto(`${project}/traces/${traceId}`).then(() => page.getByRole('treegrid').getByRole('row').nth(10).waitFor());
  await count('open the trace', trace, away);
  await page.getByRole('treegrid').getByText('step 0').click();
  await count(
    'close a span',
    () => page.keyboard.press('ArrowLeft'),
    () => page.keyboard.press('ArrowRight'),
  );
  await count(
    'expand a span',
    () => page.keyboard.press('ArrowRight'),
    () => page.keyboard.press('ArrowLeft'),
  );
  await count('next span of the trace', () => page.keyboard.press('j'));
  await count('scroll the trace by 18,000 px', () => wheel(page, '[role=treegrid]', 900));

  const { baseline, candidate } = await fillPages(service);
  const experiments = () => page.goto(`${project}/experiments`).then(() => page.getByRole('row').nth(5).waitFor());
  await count('open the experiments', experiments, away);
  const metric = page.getByRole('columnheader', { name: 'is_right' }).getByRole('button').first();
  await count('sort the experiments', () => metric.click());
  const comparison = `${project}/compare?base=${baseline}&with=${candidate}`;
  await count('open a comparison', () => page.goto(comparison).then(() => page.getByRole('article').waitFor()), away);
  await count('next row of the comparison', () => page.keyboard.press('j'));
  for (const kind of ['datasets', 'prompts']) {
    const open = () => page.goto(`${project}/${kind}`).then(() => page.locator('main tbody tr').nth(5).waitFor());
    await count(`open the ${kind}`, open, away);
    const find = page.getByLabel(`Find a ${kind.slice(0, -1)}`, { exact: true });
    await count(
      `find ${kind}`,
      () => find.press('7'),
      () => find.fill(''),
    );
  }
}

interface Action {
  name: string;
  act: () => Promise<unknown>;
  prepare: () => Promise<unknown>;
  profiles: string | undefined;
}

async function counted(page: Page, session: CDPSession, { name, act, prepare, profiles }: Action): Promise<void> {
  const sum = new Map<string, number>();
  for (let time = -2; time < TIMES; time++) {
    await prepare();
    await isStill(page);
    const before = await workOf(session);
    await act();
    await isStill(page);
    const after = await workOf(session);
    if (time >= 0) for (const counter of counters) sum.set(counter, (sum.get(counter) ?? 0) + after[counter] - before[counter]);
  }
  console.log(`${name.padEnd(34)}${counters.map((it) => ((sum.get(it) ?? 0) / TIMES).toFixed(1).padStart(8)).join('')}`);
  if (profiles === undefined) return;
  const nodes: unknown[] = [];
  for (let time = 0; time < TIMES; time++) {
    await prepare();
    await isStill(page);
    await session.send('Profiler.start');
    await act();
    await isStill(page);
    nodes.push((await session.send('Profiler.stop')).profile);
  }
  writeFileSync(join(profiles, `${name}.json`), JSON.stringify(nodes));
}

async function workOf(session: CDPSession): Promise<Work> {
  const { metrics } = await session.send('Performance.getMetrics');
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value * 1_000])) as Work;
}

/** Resolves when no question is open and what its answer shows is painted. */
async function isStill(page: Page): Promise<void> {
  if (page.url() === 'about:blank') return;
  await page.evaluate(`new Promise((resolve) => {
    let still = 0;
    const look = () => {
      still = document.querySelector('[data-busy=true]') ? 0 : still + 1;
      if (still > 12) resolve();
      else requestAnimationFrame(look);
    };
    look();
  })`);
}

async function wheel(page: Page, selector: string, pixels: number): Promise<void> {
  await page.locator(selector).hover();
  for (let turned = 0; turned < 20; turned++) {
    await page.mouse.wheel(0, pixels);
    await page.evaluate('new Promise(requestAnimationFrame)');
  }
}
