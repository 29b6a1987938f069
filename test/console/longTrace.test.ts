import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ConsoleBrowser } from '../support/consoleBrowser.ts';
import { describeConsole } from '../support/describeConsole.ts';
import { keepsRowsInPlace } from '../support/scrolledRows.ts';
import type { TestProject, TestService } from '../support/testService.ts';

const AGENTS = 100;
const BELOW = 99;
describeConsole('the page of a trace of 10,000 spans', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: TestProject;
  let page: Page;
  const trace = newId();
  /** Paths of the API that the page asked since it was opened. */
  const asked: string[] = [];

  const spanOf = (agent: number, place: number) => {
    const n = agent * BELOW + place;
    return {
      ...{ type: place % 3 ? 'tool' : 'llm', name: `step ${n}`, input: `question ${n}`, output: `answer ${n} `.repeat(40) },
      created_at: new Date(Date.UTC(2026, 1, 1) + n * 10).toISOString(),
      metrics: { duration_ns: n === 7_000 ? 9e9 : 1e6 * (n % 50), num_total_tokens: n, cost: 0.002 },
      ...(n === 5_000 ? { status_code: 500 } : {}),
    };
  };
  beforeAll(async () => {
    ({ service, pages } = await open());
    project = await service.project();
    const { body } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
    const spans = Array.from({ length: AGENTS }, (_, agent) => ({
      ...{ type: 'agent', name: `agent ${agent}`, input: `plan ${agent}`, output: 'done' },
      created_at: new Date(Date.UTC(2026, 1, 1) + agent * BELOW * 10).toISOString(),
      spans: Array.from({ length: BELOW }, (_unused, place) => spanOf(agent, place)),
    }));
    const { status } = await service.request('POST', `/projects/${project.id}/traces`, {
      log_stream_id: (body as { id: string }).id,
      traces: [{ id: trace, name: 'long', input: 'q', output: 'a', created_at: '2026-02-01T00:00:00Z', spans }],
    });
    expect(status).toBe(200);
    page = await pages.signedIn({ key: service.apiKey });
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${service.url}/console/p/${project.id}/traces/${trace}`);
  });

  const detail = (name: string) => page.getByRole('article', { name, exact: true });
  const row = (name: string) => page.getByRole('treegrid').getByRole('row', { name });

  test('the tree has figures out of the outline; a span is read when it is opened, and the whole trace never', async () => {
    await page.getByText('10,000 spans').waitFor();
    expect(await page.getByRole('treegrid').getByRole('row').count()).toBeLessThan(100);
    await row('step 0').first().click();
    await detail('llm step 0').getByText('question 0').waitFor();
    expect(await row('step 3 ').first().textContent()).toContain('3 tok$0.002');
    const records = asked.filter((path) => /\/(?:traces|spans)\/[^/]+$/.test(path) && !path.includes('/console/'));
    expect(records.length).toBeLessThan(10);
    expect(asked.filter((path) => path.endsWith('/outline'))).toHaveLength(1);
  });

  test('while the tree scrolls no row is moved on the page', async () => {
    await row('step 0').first().waitFor();
    const tree = page.getByRole('treegrid');
    expect(await keepsRowsInPlace(tree, 15 * 32)).toBe(true);
    expect(await keepsRowsInPlace(tree, 15 * 32)).toBe(true);
    await tree.evaluate((element) => element.scrollTo(0, 0));
  });

  test('the span that a key leads to has been read before', async () => {
    await row('step 0').first().click();
    await detail('llm step 0').getByText('question 0').waitFor();
    await page.waitForLoadState('networkidle');
    asked.length = 0;
    await page.keyboard.press('j');
    await detail('tool step 1').getByText('question 1').waitFor();
    expect(await detail('tool step 1').getAttribute('aria-busy')).toBeNull();
    await page.keyboard.press('e');
    await detail('tool step 5000').getByText('question 5000').waitFor();
    await page.keyboard.press('s');
    await detail('tool step 7000').getByText('question 7000').waitFor();
    await page.reload();
    await detail('tool step 7000').getByText('question 7000').waitFor();
  });

  test('a text of an output is found among all spans, with how many have it', async () => {
    await page.getByLabel('Find in the trace').fill('answer 4242 answer');
    await page.getByLabel('Find in the trace').press('Enter');
    await detail('llm step 4242').getByText('question 4242').waitFor();
    await page.getByText('1 found in names, inputs, outputs, errors').waitFor();
    await page.getByLabel('Find in the trace').fill('AGENT 9');
    await page.getByLabel('Find in the trace').press('Enter');
    await page.getByText('11 found').waitFor();
    await page.reload();
    await page.getByText('11 found').waitFor();
  });

  test('names are found while somebody types and before the service has answered, and Enter leads to them', async () => {
    await page.goto(`${service.url}/console/p/${project.id}/traces/${trace}`);
    await page.getByText('10,000 spans').waitFor();
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
    await page.route('**/ids', async (route) => {
      await mayAnswer;
      await route.continue();
    });
    const find = page.getByLabel('Find in the trace');
    await find.fill('AGENT 9');
    await page.getByText('11 by name, searching').waitFor();
    expect(new URL(page.url()).searchParams.get('find')).toBeNull();
    await find.press('Enter');
    await detail('agent agent 9').waitFor();
    expect(new URL(page.url()).searchParams.get('find')).toBe('AGENT 9');
    answer();
    await page.getByText('11 found').waitFor();
    await page.unroute('**/ids');
    await find.fill('answer 4242 answer');
    await page.getByText('1 found').waitFor();
    await find.fill('');
    await page.getByText('1 found').waitFor({ state: 'detached' });
  });

  test('a text that nearly all spans have is answered as their ids alone', async () => {
    const answer = page.waitForResponse('**/spans/ids');
    await page.getByLabel('Find in the trace').fill('question');
    await page.getByText('9,900 found in names, inputs, outputs, errors').waitFor();
    expect((await (await answer).body()).length).toBeLessThan(400_000);
  });
});
