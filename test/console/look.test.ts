import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { axeViolationsInBothThemes, type ConsoleBrowser } from '../support/consoleBrowser.ts';
import { type ConsoleOthers, consoleOthers } from '../support/consoleOthers.ts';
import { describeConsole } from '../support/describeConsole.ts';
import { openRow } from '../support/openRow.ts';
import type { TestProject, TestService } from '../support/testService.ts';

const EMAIL = `${newId()}@example.com`;
const PASSWORD = 'A-Password-of-the-service-1';

describeConsole('the console', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let others: ConsoleOthers;
  let project: TestProject;
  beforeAll(async () => {
    // Browsers note that the text in the place of an id is refused.
    ({ service, pages } = await open({
      expected: /status of 422/,
    }));
    await service.client.send('/users', { body: { email: EMAIL, password: PASSWORD, role: 'admin' } });
    others = consoleOthers(pages, service);
    project = await service.project();
    await logTraces();
  });

  const hostile = '<script>top.hacked = 1</script><img src=x onerror="top.hacked = 1">';

  /** 150 traces of a question, a tool and a model call; each tenth failed. One has what pages may choke on. */
  async function logTraces() {
    const { body } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
    const at = (index: number) => new Date(Date.now() - index * 60_000).toISOString();
    const traces = Array.from({ length: 150 }, (_, index) => ({
      ...{
        name: `answer ${index}`,
        created_at: at(index),
        input: `question ${index}`,
        status_code: index % 10 === 9 ? 500 : 200,
      },
      output: index === 3 ? hostile : `reply ${index}`,
      ...(index % 10 === 9 ? { error_message: 'timed out' } : {}),
      metrics: { duration_ns: (index + 1) * 1e6 },
      user_metadata: { customer: `c${index % 5}` },
      spans: [
        {
          ...{ type: 'llm', name: 'ask', created_at: at(index), model: 'a-model', metrics: { duration_ns: 5e5 } },
          input: [{ role: 'user', content: `question ${index}` }],
          output: {
            role: 'assistant',
            content: '',
            tool_calls: [{ id: 'c', function: { name: 'add', arguments: '{"order": 9007199254740993}' } }],
          },
        },
        {
          type: 'tool',
          name: 'add',
          created_at: at(index),
          input: '{"a": 1}',
          output: 'done',
          status_code: index % 10 === 9 ? 500 : 200,
        },
      ],
    }));
    const logged = await service.request('POST', `/projects/${project.id}/traces`, {
      log_stream_id: (body as { id: string }).id,
      traces,
    });
    expect(logged.status).toBe(200);
  }

  const signedIn = (options = {}): Promise<Page> => pages.signedIn({ email: EMAIL, password: PASSWORD }, options);

  const recordsUrl = () => `${service.url}/console/p/${project.id}/records`;
  const rows = (page: Page) => page.getByRole('grid').getByRole('row');
  const total = (page: Page, text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();

  test('a wrong password keeps what was typed; a right one leads where the address meant', async () => {
    const page = await pages.open();
    await page.goto(`${recordsUrl()}?q=status_code+%3D+500`);
    await page.getByLabel('E-mail').fill(EMAIL);
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').filter({ hasText: 'wrong email or password' }).waitFor();
    expect(await page.getByLabel('E-mail').inputValue()).toBe(EMAIL);
    await pages.signInOn(page, { email: EMAIL, password: PASSWORD });
    await total(page, '15 traces');
    await expect.poll(() => page.getByLabel('Filter').inputValue()).toBe('status_code = 500');
  });

  test('the code of a page is asked for while the session is, not behind it', async () => {
    const page = await pages.signedIn({ key: service.apiKey });
    const code = page.waitForRequest(/RecordsPage-[^/]*\.js$/);
    await page.route('**/pages/session', async (route) => {
      await code;
      await route.continue();
    });
    await page.goto(`${service.url}/console/p/${project.id}/records`);
    await page.getByRole('grid').waitFor();
    await page.close();
  });

  test('failures of a run are three steps from the first page; reload, Back and the link show the same', async () => {
    const page = await signedIn();
    await page.getByRole('link', { name: project.name }).click();
    await total(page, '150 traces');
    await page.keyboard.press('/');
    await page.keyboard.type('status_code >= 400');
    await page.keyboard.press('Enter');
    await total(page, '15 traces');
    await openRow(rows(page).filter({ hasText: 'answer 9' }).first());
    const panel = page.getByRole('complementary', { name: 'Record' });
    await panel.getByText('timed out').waitFor();
    await panel.getByText('1 of 15').waitFor();
    await page.keyboard.press('j');
    await panel.getByText('2 of 15').waitFor();
    await panel.getByRole('heading', { name: 'answer 19' }).waitFor();

    const link = page.url();
    await page.reload();
    await panel.getByText('2 of 15').waitFor();
    await panel.getByRole('link', { name: 'Open the trace' }).click();
    await page.getByRole('treegrid').waitFor();
    await page.keyboard.press('e');
    await page.getByRole('article', { name: 'tool add' }).waitFor();
    await page.goBack();
    await panel.getByText('2 of 15').waitFor();
    await total(page, '15 traces');

    await others.openLink(project.id, link, async (other) => {
      const shown = other.getByRole('complementary', { name: 'Record' });
      await shown.getByRole('heading', { name: 'answer 19' }).waitFor();
      await shown.getByText('2 of 15').waitFor();
      await other.getByRole('checkbox', { name: 'Choose answer 19' }).click();
      const bar = other.getByRole('region', { name: 'Chosen records' });
      await bar.getByRole('button', { name: 'Export' }).waitFor();
      for (const name of ['Delete', 'To a queue'])
        expect([name, await other.getByRole('button', { name }).count()]).toEqual([name, 0]);
    });
  });

  test('the window is titled by what it shows and the project', async () => {
    const page = await signedIn();
    await expect.poll(() => page.title()).toBe('Projects · Assay');
    await page.getByRole('link', { name: project.name }).click();
    await expect.poll(() => page.title()).toBe(`Traces · ${project.name} · Assay`);
    await page.getByRole('button', { name: 'Spans', exact: true }).click();
    await expect.poll(() => page.title()).toBe(`Spans · ${project.name} · Assay`);
    await openRow(rows(page).nth(1));
    await page.getByRole('link', { name: 'Open the trace' }).click();
    await expect.poll(() => page.title()).toMatch(/^answer \d+ · .* · Assay$/);
    await page.goto(`${service.url}/console/nowhere`);
    await expect.poll(() => page.title()).toBe('Not found · Assay');
  });

  test.each([
    ['a project', () => '/p/nonsense/records'],
    ['a trace', () => `/p/${project.id}/traces/nonsense`],
    ['a session', () => `/p/${project.id}/sessions/nonsense`],
    ['a run', () => `/p/${project.id}/records?run=nonsense`],
    ['an experiment', () => `/p/${project.id}/records?experiment=00000000-0000-4000-8000-000000000000`],
  ])('the address of %s that is none is a page that leads on', async (_what, at) => {
    const page = await signedIn();
    await page.goto(`${service.url}/console${at()}`);
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    await page.getByText('There is nothing here').waitFor();
    expect(await page.getByText(/^Loading/).count()).toBe(0);
    await page.getByRole('link', { name: 'All projects' }).click();
    await page.getByRole('heading', { name: 'Projects' }).waitFor();
  });

  test('what cannot be read of a filter is shown at its place, and stays', async () => {
    const page = await signedIn();
    await page.goto(`${recordsUrl()}?q=nme+%3D+x`);
    await page.getByRole('alert').filter({ hasText: 'there is no column "nme" here; the closest is name' }).waitFor();
    expect(await page.getByLabel('Filter').inputValue()).toBe('nme = x');
  });

  test('the filter completes columns, operators and values', async () => {
    const page = await signedIn();
    await page.goto(`${recordsUrl()}?kind=spans`);
    await total(page, '300 spans');
    const filter = page.getByLabel('Filter');
    await filter.click();
    await page.keyboard.type('typ');
    const option = (name: RegExp) => page.getByRole('option', { name });
    await option(/^type /).click();
    await option(/^= /).click();
    await option(/^tool /).click();
    await expect.poll(() => filter.inputValue()).toBe('type = tool ');
    await page.keyboard.press('Enter');
    await total(page, '150 spans');
  });

  test('the table sorts by a column, and loads what is scrolled to', async () => {
    const page = await signedIn();
    await page.goto(recordsUrl());
    await total(page, '150 traces');
    await page.getByRole('columnheader', { name: 'Latency' }).getByRole('button').click();
    await rows(page).nth(1).filter({ hasText: 'answer 149' }).waitFor();
    await expect.poll(() => page.getByRole('columnheader', { name: 'Latency' }).getAttribute('aria-sort')).toBe('descending');
    const grid = page.getByRole('grid');
    expect(await grid.getAttribute('aria-rowcount')).toBe('151');
    expect(await rows(page).count()).toBeLessThan(80);
    await expect
      .poll(async () => {
        await grid.evaluate((element) => element.scrollTo(0, 1e6));
        return rows(page).last().textContent();
      })
      .toContain('answer 0');
  });

  test('columns are chosen, keys of the metadata too, and are part of the address', async () => {
    const page = await signedIn();
    await page.goto(recordsUrl());
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByLabel('Find a column').fill('user_metadata/customer');
    await page.getByRole('button', { name: 'Show user_metadata/customer' }).click();
    await page.getByRole('columnheader', { name: 'customer' }).waitFor();
    await page.reload();
    await rows(page).nth(1).getByRole('gridcell', { name: 'c0', exact: true }).waitFor();
  });

  test('a trace shows conversation, tool calls and whole numbers exactly; a hostile record does nothing', async () => {
    const page = await signedIn();
    await page.goto(`${recordsUrl()}?q=name+%3D+%22answer+3%22`);
    await openRow(rows(page).nth(1));
    const panel = page.getByRole('complementary', { name: 'Record' });
    await panel.getByText(hostile).waitFor();
    expect(await page.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined();
    await panel.getByRole('link', { name: 'Open the trace' }).click();
    await page.getByRole('treegrid').getByRole('row', { name: /ask/ }).click();
    const detail = page.getByRole('article', { name: 'llm ask' });
    await detail.getByText('9007199254740993').waitFor();
    await detail.getByText('question 3').first().waitFor();
    const span = new URL(page.url()).searchParams.get('span');
    await page.reload();
    await detail.getByText('9007199254740993').waitFor();
    expect(new URL(page.url()).searchParams.get('span')).toBe(span);
    await page.keyboard.press('k');
    await page.getByRole('article', { name: 'trace answer 3' }).waitFor();
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => page.getByRole('treegrid').getByRole('row').count()).toBe(1);
  });

  test('signing out in one tab signs the others out', async () => {
    const page = await signedIn();
    const other = await pages.open(page.context());
    await other.goto(recordsUrl());
    await total(other, '150 traces');
    await page.getByRole('button', { name: EMAIL }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    for (const each of [page, other]) await each.getByRole('heading', { name: 'Sign in to Assay' }).waitFor();
  });

  test('a session that was ended elsewhere leads to the sign-in, and from there back', async () => {
    const page = await signedIn();
    await page.goto(recordsUrl());
    await total(page, '150 traces');
    await page.getByLabel('Filter').fill('status_code = 500');
    // Asked for later, its values would be refused, and the page gone before Enter is pressed.
    await total(page, 'Values, counted in 150 traces');
    const body = new URLSearchParams({ username: EMAIL, password: PASSWORD });
    const { access_token: token } = (await (await fetch(`${service.url}/login`, { method: 'POST', body })).json()) as {
      access_token: string;
    };
    await fetch(`${service.url}/current_user/sessions`, { method: 'DELETE', headers: { Authorization: `Bearer ${token}` } });
    await page.getByLabel('Filter').press('Enter');
    await page.getByRole('heading', { name: 'Sign in to Assay' }).waitFor();
    await pages.signInOn(page, { email: EMAIL, password: PASSWORD });
    await total(page, '15 traces');
  });

  test.each([
    ['sign-in', () => `${service.url}/console/sign-in`],
    ['sign-up', () => `${service.url}/console/sign-up?token=x&email=a@example.com`],
    ['projects', () => `${service.url}/console/`],
    ['records', recordsUrl],
  ])('the page of %s has no violation that axe finds, in both themes at 1,440 and 320 px', async (name, url) => {
    const options = { reducedMotion: 'reduce' } as const;
    const page = name.startsWith('sign-') ? await pages.open(await pages.context(options)) : await signedIn(options);
    for (const width of [1_440, 320]) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(url());
      await (name === 'records' ? total(page, '150 traces') : page.getByRole('heading').first().waitFor());
      expect(await axeViolationsInBothThemes(page)).toEqual({ light: [], dark: [] });
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect(overflow).toBeLessThanOrEqual(0);
    }
  });

  test('files have a year and a policy; a missing one and a place below any path are answered', async () => {
    const page = await fetch(`${service.url}/console/p/x/records`);
    expect(page.headers.get('content-security-policy')).toMatch(/script-src 'self';.*frame-ancestors 'none'/);
    expect(page.headers.get('cache-control')).toBe('no-store');
    const [, script = ''] = /src="\.\.\/\.\.\/(assets\/[^"]+)"/.exec(await page.text()) ?? [];
    const file = await fetch(`${service.url}/console/${script}`, { headers: { 'Accept-Encoding': 'br' } });
    expect([file.status, file.headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable']);
    expect((await fetch(`${service.url}/console/assets/none.js`)).status).toBe(404);
    const home = await fetch(service.url, { redirect: 'manual', headers: { Accept: 'text/html' } });
    expect([home.status, home.headers.get('location')]).toEqual([302, 'console/']);
  });
});
