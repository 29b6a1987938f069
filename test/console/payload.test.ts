import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ConsoleBrowser } from '../support/consoleBrowser.ts';
import { describeConsole } from '../support/describeConsole.ts';
import type { TestProject, TestService } from '../support/testService.ts';

const MEGABYTES = 20;
/** Characters of a page at first. */
const SEEN = 60_000;
const markdown = `# A title
line one
line two with <b>bold</b> and [a link](javascript:alert(1))
<script>document.title = 'taken'</script><img src="https://elsewhere.invalid/x.png" onerror="document.title = 'taken'">
![picture](https://elsewhere.invalid/y.png) \u202Egnitirw\u202C <svg onload="document.title='taken'"></svg>`;
const row = (n: number) => `{"id": "row ${n}", "big": 9007199254740993, "note": "a \\"quoted\\" text, and more of it"}`;
const rows = Array.from({ length: (MEGABYTES * 1e6) / row(0).length }, (_, n) => row(n));
const longText = 'All work and no play makes a long text.\n'.repeat((MEGABYTES * 1e6) / 40);
const levels = 1_000;
const oddJson =
  '{"b": 1e400, "10": 0.1234567890123456789, "a": -9223372036854775809, "2": 1.50, "a": "again", "__proto__": {"x": null}, "": null}';

describeConsole('large and hostile inputs', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: TestProject;
  let page: Page;
  const ids = { text: newId(), json: newId(), hostile: newId(), metadata: newId(), odd: newId() };
  const asked = new Set<string>();

  beforeAll(async () => {
    ({ service, pages } = await open());
    project = await service.project();
    const { body } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
    const log = async (trace: object) => {
      const logged = { log_stream_id: (body as { id: string }).id, traces: [trace] };
      expect((await service.request('POST', `/projects/${project.id}/traces`, logged)).status).toBe(200);
    };
    await log({ id: ids.text, name: 'long', input: longText, output: 'ok' });
    await log({ id: ids.json, name: 'rows', input: `{"rows": [${rows.join(', ')}]}`, output: 'ok' });
    await log({ id: ids.metadata, name: 'metadata', input: 'q', output: 'ok', user_metadata: { note: longText.slice(0, 5e6) } });
    const nested = `${'{"level":'.repeat(levels)}9007199254740993${'}'.repeat(levels)}`;
    const spans = [
      { type: 'llm', name: markdown, input: [{ role: 'user', content: markdown }], output: { role: 'assistant', content: 'ok' } },
      { type: 'tool', name: 'deep', input: nested, output: markdown, user_metadata: { [markdown]: markdown } },
    ];
    await log({ id: ids.hostile, name: markdown, input: markdown, output: markdown, spans });
    await log({ id: ids.odd, name: 'odd', input: oddJson, output: 'ok' });
    page = await pages.signedIn({ key: service.apiKey });
    page.on('request', (request) => asked.add(new URL(request.url()).origin));
    page.on('dialog', () => pages.problems.push('a dialog'));
  });
  afterAll(() => expect([...asked]).toEqual([service.url]));

  const input = () => page.getByRole('article').getByRole('region', { name: 'Input' });
  const characters = () => page.evaluate('document.body.textContent.length') as Promise<number>;
  const tab = async (name: string) => {
    await page.getByRole('tab', { name }).click();
    await page.getByRole('tab', { name, selected: true }).waitFor();
  };

  const places = [
    ['the page of a trace', (id: string) => `traces/${id}`],
    ['the side panel', (id: string) => `records?open=${id}`],
  ] as const;
  test.each(places)('%s builds of a text of 20 MB what is seen, and more when asked', async (_, path) => {
    await page.goto(`${service.url}/console/p/${project.id}/${path(ids.text)}`);
    await input().getByText('All work').first().waitFor();
    expect(await characters()).toBeLessThan(SEEN);
    await input().getByRole('button', { name: 'Show more (19,980,000 characters are left)' }).click();
    await input().getByRole('button', { name: 'Show more (19,780,000 characters are left)' }).waitFor();
    await page.reload();
    await input().waitFor();
    await tab('JSON');
    expect(await characters()).toBeLessThan(SEEN);
    await page.getByRole('button', { name: /^Show more .* characters are left/ }).click();
    expect(await characters()).toBeLessThan(4 * SEEN);
  });

  test.each(places)('%s opens JSON of 20 MB entry by entry, with all digits', async (_, path) => {
    await page.goto(`${service.url}/console/p/${project.id}/${path(ids.json)}`);
    await input()
      .getByRole('button', { name: /^▸? ?rows: a list of \d\d,\d{3},\d{3} characters/ })
      .click();
    await input().getByRole('button', { name: '0: 3 keys', exact: true }).click();
    await input().getByText('"row 0"').waitFor();
    await input().getByText('9007199254740993').first().waitFor();
    await input().getByText('"a \\"quoted\\" text, and more of it"').first().waitFor();
    await input()
      .getByRole('button', { name: `Show more (${(rows.length - 100).toLocaleString('en-US')} are left)` })
      .waitFor();
    expect(await characters()).toBeLessThan(SEEN);
    await tab('Text');
    expect(await characters()).toBeLessThan(SEEN);
  });

  test('JSON is shown as it is written: keys in their order, also one that comes twice, and numbers with all their digits', async () => {
    await page.goto(`${service.url}/console/p/${project.id}/traces/${ids.odd}`);
    await input().getByText('1e400').waitFor();
    const shown = async () =>
      (await input().locator('div:not(:has(div))').allTextContents()).map((line) => line.replace(/^[▸▾] /, ''));
    await expect
      .poll(shown)
      .toEqual([
        'b: 1e400',
        '10: 0.1234567890123456789',
        'a: -9223372036854775809',
        '2: 1.50',
        'a: "again"',
        'x: null',
        ': null',
      ]);
    await input().getByText('__proto__').waitFor();
  });

  test('metadata of 5 MB are cut, too', async () => {
    await page.goto(`${service.url}/console/p/${project.id}/traces/${ids.metadata}`);
    await page
      .getByRole('region', { name: 'Metadata', exact: true })
      .getByRole('button', { name: /Show more/ })
      .waitFor();
    expect(await characters()).toBeLessThan(SEEN);
  });

  test('Markdown is a text with its lines; HTML, links and pictures in it do nothing in any view', async () => {
    await page.goto(`${service.url}/console/p/${project.id}/traces/${ids.hostile}`);
    const spans = page.getByRole('treegrid').getByRole('row');
    for (const place of [0, 1, 2]) {
      await spans.nth(place).click();
      await page.locator('article:not([aria-busy=true])').waitFor();
      for (const name of ['Text', 'JSON', 'Conversation']) {
        await tab(name);
        expect(await page.getByRole('article').locator('script, svg[onload], b, img, a[href^="javascript:"]').count()).toBe(0);
      }
    }
    await spans.nth(1).click();
    await input().getByText('line two with <b>bold</b> and [a link](javascript:alert(1))').waitFor();
    const lines = await input()
      .getByText('line one')
      .evaluate((element) => {
        const scope = globalThis as unknown as { getComputedStyle(of: unknown): { whiteSpace: string } };
        return [(element as unknown as { textContent: string }).textContent, scope.getComputedStyle(element).whiteSpace];
      });
    expect(lines[1]).toBe('pre-wrap');
    expect(lines[0]).toContain('# A title\nline one\nline two');
    expect(await page.title()).not.toBe('taken');
  });

  test('a thousand levels are opened one by one, a hundred on the page at a time', async () => {
    await page.goto(`${service.url}/console/p/${project.id}/traces/${ids.hostile}`);
    await page.getByRole('treegrid').getByRole('row', { name: 'deep' }).click();
    await input().getByRole('button', { expanded: true }).first().waitFor();
    await page.evaluate(`(async () => {
      const input = document.querySelector('article section[aria-label="Input"]');
      for (let level = 0; level < 2 * ${levels} && !input.textContent.includes('9007199254740993'); ) {
        const closed = [...input.querySelectorAll('button[aria-expanded="false"]')].find((one) => !one.closest('[hidden]'));
        closed?.click();
        if (closed) level += 1;
        await new Promise((done) => setTimeout(done));
      }
    })()`);
    await input().getByText('9007199254740993').waitFor();
    expect(await input().getByRole('button', { expanded: true }).count()).toBeLessThanOrEqual(101);
    await input().getByRole('button', { name: 'Back up 100 levels' }).click();
    await input().getByText('9007199254740993').waitFor({ state: 'hidden' });
    await expect.poll(() => input().getByRole('button', { expanded: true }).count()).toBe(99);
  });
});
