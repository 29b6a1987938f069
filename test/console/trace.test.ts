import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { axeViolations, type ConsoleBrowser } from '../support/consoleBrowser.ts';
import { consoleOthers } from '../support/consoleOthers.ts';
import { describeConsole } from '../support/describeConsole.ts';
import type { TestProject, TestService } from '../support/testService.ts';

const dot = `data:image/png;base64,${'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='}`;
describeConsole('the page of a trace', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: TestProject;
  let page: Page;
  let trace: string;
  const asked = new Set<string>();

  beforeAll(async () => {
    ({ service, pages } = await open());
    project = await service.project();
    const { body: stream } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
    const run = (stream as { id: string }).id;
    const { body: session } = await service.request('POST', `/projects/${project.id}/sessions`, {
      log_stream_id: run,
      name: 'chat',
    });
    const call = { id: 'call_1', function: { name: 'weather', arguments: '{"city": "Oslo", "order": 9007199254740993}' } };
    const parts = [
      { type: 'text', text: 'What is on these?' },
      { type: 'image_url', image_url: { url: dot } },
      { type: 'image_url', image_url: { url: 'https://elsewhere.invalid/map.png' } },
      { type: 'file', file: { filename: 'plan.pdf', file_data: `data:application/pdf;base64,${btoa('plan')}` } },
    ];
    const spans = [
      {
        type: 'agent',
        name: 'planner',
        input: 'plan',
        output: 'done',
        spans: [
          {
            ...{ type: 'llm', name: 'ask', model: 'a-model', metrics: { duration_ns: 5e8, num_input_tokens: 12 } },
            input: [
              { role: 'user', content: parts },
              { role: 'assistant', content: '', tool_calls: [call] },
              { role: 'tool', content: '{"mean": 22}', tool_call_id: 'call_1' },
            ],
            output: { role: 'assistant', content: 'It is mild.' },
            user_metadata: { customer: 'c1' },
          },
          { type: 'tool', name: 'weather', input: '{"city": "Oslo"}', output: '22', status_code: 500 },
          { type: 'retriever', name: 'guides', input: 'Oslo', output: [{ content: 'Oslo is mild', metadata: { page: 3 } }] },
        ],
      },
    ];
    const logged = await service.request('POST', `/projects/${project.id}/traces`, {
      log_stream_id: run,
      session_id: (session as { id: string }).id,
      include_trace_ids: true,
      traces: [{ name: 'trip', input: 'plan', output: 'done', spans }],
    });
    [trace = ''] = (logged.body as { trace_ids: string[] }).trace_ids;
    page = await pages.signedIn({ key: service.apiKey }, { permissions: ['clipboard-read', 'clipboard-write'] });
    page.on('request', (request) => asked.add(new URL(request.url()).origin));
  });

  const show = async (query = '') => {
    await page.goto(`${service.url}/console/p/${project.id}/traces/${trace}${query}`);
    await page.getByRole('treegrid').waitFor();
  };
  const row = (name: RegExp) => page.getByRole('treegrid').getByRole('row', { name });
  const detail = (name: string) => page.getByRole('article', { name });
  const spanRows = () => page.getByRole('treegrid').getByRole('row').count();
  const copied = () => page.evaluate('navigator.clipboard.readText()') as Promise<string>;

  test('a conversation has its pictures and files, tools with what they answered, and fetches nothing from elsewhere', async () => {
    await show();
    await row(/ask/).click();
    const ask = detail('llm ask');
    const picture = ask.getByRole('img', { name: 'Logged with this message' });
    await expect.poll(() => picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth)).toBe(1);
    await ask.getByText('https://elsewhere.invalid/map.png').waitFor();
    await ask.getByText('not fetched').waitFor();
    await ask.getByRole('link', { name: 'Save plan.pdf (4 B)' }).waitFor();
    await ask.getByText('9007199254740993').waitFor();
    await ask.getByRole('listitem').filter({ hasText: 'tool · weather' }).filter({ hasText: 'mean: 22' }).waitFor();
    expect([...asked]).toEqual([service.url]);
  });

  test('text and JSON are views of their own, by keys too, and part of the link', async () => {
    await show();
    await row(/ask/).click();
    await page.keyboard.press('2');
    const ask = detail('llm ask');
    await ask.getByText('calls weather({"city": "Oslo", "order": 9007199254740993})').waitFor();
    await page.keyboard.press('3');
    await ask.getByText('a-model').last().waitFor();
    await page.reload();
    await ask.getByRole('tab', { name: 'JSON', selected: true }).waitFor();
    await ask.getByRole('tab', { name: 'JSON' }).press('ArrowRight');
    await ask.getByRole('tab', { name: 'Conversation', selected: true }).waitFor();
    expect(new URL(page.url()).searchParams.get('tab')).toBeNull();
  });

  test('a record is copied as a link, curl, client code and dataset row; the link shows another account the same', async () => {
    await show();
    await row(/ask/).click();
    const ask = detail('llm ask');
    await ask.waitFor();
    const copy = async (name: string) => {
      await ask.getByRole('button', { name: 'Copy' }).click();
      await page.getByRole('button', { name, exact: true }).click();
      await ask.getByRole('button', { name: 'Copied' }).waitFor();
      return copied();
    };
    const span = new URL(page.url()).searchParams.get('span') as string;
    const curl = await copy('As curl');
    expect(curl).toBe(`curl -sS ${service.url}/v2/projects/${project.id}/spans/${span} -H "Service-API-Key: $SERVICE_API_KEY"`);
    await page.reload();
    expect(await copy('As client code')).toContain(`client.send("/v2/projects/${project.id}/spans/${span}")`);
    await page.reload();
    expect(JSON.parse(await copy('As dataset row'))).toMatchObject({
      output: { content: 'It is mild.' },
      metadata: { customer: 'c1' },
    });
    await page.keyboard.press('y');
    await expect.poll(copied).toBe(span);
    await page.keyboard.press('Y');
    await expect.poll(copied).toBe(page.url());
    const others = consoleOthers(pages, service);
    await others.openLink(project.id, await copied(), (other) => other.getByRole('article', { name: 'llm ask' }).waitFor());
    await page.getByRole('link', { name: 'Session' }).click();
    await page.getByText('1 turn').waitFor();
    await others.openLink(project.id, page.url(), (other) => other.getByText('1 turn').waitFor());
  });

  test('spans are folded and hidden by kind; what is hidden is part of the link', async () => {
    await show();
    await expect.poll(spanRows).toBe(5);
    await page.getByRole('button', { name: 'Kinds' }).click();
    await page.getByRole('button', { name: 'Close each agent' }).click();
    await expect.poll(spanRows).toBe(2);
    await page.getByRole('button', { name: 'Open all' }).click();
    await page.getByLabel(/tool/).uncheck();
    await expect.poll(spanRows).toBe(4);
    await page.reload();
    await page.getByRole('button', { name: 'Kinds (1 hidden)' }).waitFor();
    await expect.poll(spanRows).toBe(4);
  });

  test('a text is found in the trace, and Back leads to where one came from', async () => {
    await page.goto(`${service.url}/console/p/${project.id}/records?kind=spans`);
    // The middle of the row may be the filter button of a cell.
    await page.getByRole('grid').getByText('planner', { exact: true }).click();
    await page.getByRole('link', { name: 'Open the trace' }).click();
    await page.getByLabel('Find in the trace').fill('Oslo is mild');
    await page.getByLabel('Find in the trace').press('Enter');
    await detail('retriever guides').waitFor();
    await page.getByText('1 found in names, inputs, outputs, errors').waitFor();
    await page.goBack();
    await page.getByRole('grid').waitFor();
  });

  describe.each(['light', 'dark'] as const)('in the %s theme', (colorScheme) => {
    test('neither the trace nor its session has a violation that axe finds, at 1,440 and 320 px', async () => {
      const themed = await pages.signedIn({ key: service.apiKey }, { colorScheme });
      for (const width of [1_440, 320]) {
        await themed.setViewportSize({ width, height: 900 });
        await themed.goto(`${service.url}/console/p/${project.id}/traces/${trace}`);
        await themed.getByRole('treegrid').getByRole('row', { name: /ask/ }).click();
        await themed.getByRole('article', { name: 'llm ask' }).waitFor();
        expect(await axeViolations(themed)).toEqual([]);
        expect(await themed.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
        await themed.getByRole('link', { name: 'Session' }).click();
        await themed.getByText('1 turn').waitFor();
        expect(await axeViolations(themed)).toEqual([]);
        expect(await themed.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      }
      await themed.context().close();
    });
  });
});
