import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { axeViolations, type ConsoleBrowser } from '../support/consoleBrowser.ts';
import { consoleOthers } from '../support/consoleOthers.ts';
import { describeConsole, type ProjectWithStream } from '../support/describeConsole.ts';
import type { TestService } from '../support/testService.ts';

const TRACES = 105;
describeConsole('a trace that was opened from a list', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: ProjectWithStream;
  let page: Page;

  const traceOf = (n: number, created_at = new Date(Date.UTC(2026, 0, 2, 12, n)).toISOString()) => ({
    ...{ name: `answer ${n}`, input: 'q', output: 'a', created_at, status_code: n % 2 === 0 ? 200 : 500 },
    metrics: { duration_ns: ((n * 7) % TRACES) * 1e6 },
    spans: [1, 2].map((step) => ({
      ...{ type: 'tool', name: `step ${n}.${step}`, input: 'x', output: 'y' },
      created_at: new Date(Date.UTC(2026, 0, 2, 12, n, step)).toISOString(),
    })),
  });

  beforeAll(async () => {
    const opened = await open();
    ({ service, pages } = opened);
    project = await opened.projectWithStream();
    await project.log(Array.from({ length: TRACES }, (_, n) => traceOf(n)));
    page = await pages.signedIn({ key: service.apiKey });
  });

  const total = (text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();
  const place = (text: string, on = page) =>
    on
      .getByRole('status')
      .filter({ hasText: `${text} in the list` })
      .waitFor();
  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  const button = (name: RegExp) => page.getByRole('button', { name });
  const openTrace = async (name: string) => {
    await page.getByRole('grid').getByText(name, { exact: true }).first().click();
    await page.getByRole('link', { name: 'Open the trace' }).click();
  };

  test('keys and buttons lead on under its filter and order to both ends; reload and a link keep them, Back leads to the list', async () => {
    await page.goto(`${project.records}?q=status_code+%3D+500&sort=-metrics/duration_ns&from=2026-01-01`);
    await total('52 traces');
    await page.locator('[role=row][aria-rowindex="4"]').filter({ hasText: 'answer' }).waitFor();
    const names = await page.getByRole('row').locator('[role=gridcell]:nth-child(3)').allInnerTexts();
    const [first = '', second = '', third = ''] = names;
    await openTrace(second);
    await heading(second);
    await place('2 of 52');
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press(']');
    await heading(third);
    await place('3 of 52');
    // A trace that arrives meanwhile is not in the list.
    await project.log([{ ...traceOf(1, new Date().toISOString()), spans: [], metrics: { duration_ns: 1e12 } }]);
    await page.reload();
    await heading(third);
    await place('3 of 52');
    await consoleOthers(pages, service).openLink(project.id, page.url(), (other) => place('3 of 52', other));
    await button(/^Previous trace/).click();
    await place('2 of 52');
    await button(/^Previous trace/).click();
    await heading(first);
    await place('1 of 52');
    await expect.poll(() => button(/^Previous trace/).isDisabled()).toBe(true);
    await page.keyboard.press('[');
    await place('1 of 52');
    await page.goBack();
    await page.getByRole('complementary', { name: 'Record' }).waitFor();
    await expect.poll(() => page.getByLabel('Filter', { exact: true }).inputValue()).toBe('status_code = 500');
    await page.goForward();
    await heading(first);
    await place('1 of 52');
  });

  test('the end of a list is its end, also beyond its first page', async () => {
    await page.goto(`${project.records}?to=2026-01-03`);
    await total(`${TRACES} traces`);
    await page.getByRole('grid').press('ArrowDown');
    await page.getByRole('grid').press('End');
    await page.getByRole('complementary', { name: 'Record' }).getByText(`${TRACES} of ${TRACES}`).waitFor();
    await page.getByRole('grid').press('Enter');
    await heading('answer 0');
    await place(`${TRACES} of ${TRACES}`);
    await expect.poll(() => button(/^Next trace/).isDisabled()).toBe(true);
    for (let at = TRACES - 1; at >= 98; at -= 1) {
      await page.keyboard.press('[');
      await place(`${at} of ${TRACES}`);
    }
    await heading('answer 7');
  });

  test('a trace is found where its place in the address is another, and said not to be there where the filter has none of it', async () => {
    await page.goto(`${project.records}?to=2026-01-03`);
    await openTrace('answer 100');
    await place(`5 of ${TRACES}`);
    const address = new URL(page.url());
    const list = JSON.parse(address.searchParams.get('list') ?? '') as object;
    const at = async (changed: object) => {
      address.searchParams.set('list', JSON.stringify({ ...list, ...changed }));
      await page.goto(address.href);
      await heading('answer 100');
    };
    await at({ at: 104 });
    await place(`5 of ${TRACES}`);
    await page.keyboard.press(']');
    await heading('answer 99');
    await place(`6 of ${TRACES}`);
    await at({ q: 'name = "answer 3"' });
    await page.getByText('It is not among the first 10,000 of the list now').waitFor();
    await expect.poll(() => button(/^Next trace/).isDisabled()).toBe(true);
    await at({ q: 'name >' });
    await page.getByText(/^The list cannot be read: /).waitFor();
  });

  test('of a list of spans each opens in its trace, and the tree may be walked meanwhile', async () => {
    await page.goto(`${project.records}?kind=spans&to=2026-01-03`);
    await total('210 spans');
    await openTrace('step 104.1');
    await page.getByRole('article', { name: 'tool step 104.1' }).waitFor();
    await place('2 of 210');
    await page.keyboard.press('k');
    await page.keyboard.press(']');
    await page.getByRole('article', { name: 'tool step 103.2' }).waitFor();
    await heading('answer 103');
    await place('3 of 210');
  });

  test('without a list there are no buttons, and the keys say why', async () => {
    const [id] = await project.log([traceOf(200, '2026-02-01T00:00:00Z')]);
    await page.goto(`${project.records.replace('/records', '/traces')}/${id}`);
    await heading('answer 200');
    expect(await button(/^Next trace/).count()).toBe(0);
    await page.keyboard.press(']');
    await page.getByText('This trace was opened without a list').waitFor();
  });
});
