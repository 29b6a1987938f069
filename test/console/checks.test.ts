import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { createDataset } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { axeViolations } from '../support/consoleBrowser.ts';
import { type ConsoleOthers, consoleOthers } from '../support/consoleOthers.ts';
import { describeConsole, type ProjectWithStream } from '../support/describeConsole.ts';
import type { TestService } from '../support/testService.ts';

describeConsole('checks', (open) => {
  let service: TestService;
  let page: Page;
  let others: ConsoleOthers;
  let project: ProjectWithStream;

  beforeAll(async () => {
    const { service: opened, pages, projectWithStream } = await open({ expected: /status of 422/ });
    service = opened;
    others = consoleOthers(pages, service);
    page = await pages.signedIn({ key: service.apiKey });
    project = await projectWithStream();
  });

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const field = (name: string) => page.getByLabel(name, { exact: true });
  const choose = (label: string, option: string) => page.getByRole('combobox', { name: label }).selectOption(option);
  const address = () => `${service.url}/console/p/${project.id}/metrics/new-check`;
  const begun = async (words: string) => {
    const name = `check ${newId()}`;
    await page.goto(address());
    await field('Name').fill(name);
    await choose('It is true where', words);
    return name;
  };
  const saved = async (name: string) => {
    await button('Save the check').click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    return stored();
  };
  const stored = async () => {
    const { body } = await service.request('GET', `/scorers/${page.url().split('/').at(-1)}`);
    return body as { check: object; [field: string]: unknown };
  };

  test('a pattern that cannot be used is refused with the reason and kept, and the check is used by an experiment', async () => {
    await page.goto(`${service.url}/console/p/${project.id}/metrics`);
    await page.getByRole('link', { name: 'New check' }).click();
    const name = `ticket ${newId()}`;
    await field('Name').fill(name);
    await field('What it measures').fill('Answers with the number of a ticket.');
    await field('Pattern').fill('(');
    await button('Save the check').click();
    await page.getByRole('alert').filter({ hasText: 'the pattern cannot be used' }).waitFor();
    await page.reload();
    expect(await field('Pattern').inputValue()).toBe('(');
    await field('Pattern').fill('^AB-[0-9]+$');
    await field('Upper and lower case are alike').check();
    expect(await axeViolations(page)).toEqual([]);
    expect(await saved(name)).toMatchObject({
      ...{ scorer_type: 'code', direction: 'higher', scoreable_node_types: ['trace'], scope_projects: [{ id: project.id }] },
      ...{ description: 'Answers with the number of a ticket.', output_type: 'boolean' },
      check: { type: 'regex', pattern: '^AB-[0-9]+$', ignore_case: true },
    });
    await page.getByRole('heading', { name: 'True where the output matches a pattern' }).waitFor();
    await page.getByRole('region', { name: 'Settings of the check' }).getByText('pattern: ^AB-[0-9]+$').waitFor();
    await page.getByText('Own check', { exact: false }).first().waitFor();
    expect(await axeViolations(page)).toEqual([]);

    const content = [
      { input: 'a', generated_output: 'ab-12' },
      { input: 'b', generated_output: 'none' },
    ];
    const called = `tickets ${newId()}`;
    const { id } = await createDataset({ client: service.client, projectId: project.id, name: called, content });
    await page.goto(`${service.url}/console/p/${project.id}/experiments/new?dataset=${id}`);
    await choose('Runner', 'Nothing: the dataset has the answers');
    await page.getByLabel('Find a metric').fill(name);
    await page.getByRole('checkbox', { name: new RegExp(`^${name}`) }).check();
    await button('Start').click();
    await page.waitForURL(/experiments\/[0-9a-f-]{36}/);
    await page.getByText('50.0 %').first().waitFor();
  });

  test('calls and steps are expected of all records or of each row, and a list that is none is not sent', async () => {
    const called = await begun('the expected tools were called');
    expect(await field('Expected calls').count()).toBe(0);
    await choose('Expected calls are', 'the same of all records');
    await choose('It made', 'these in any order, maybe others');
    await field('Expected calls').fill('[{"name": "search"');
    await page.getByRole('alert').filter({ hasText: 'A JSON list of calls' }).waitFor();
    expect(await button('Save the check').isDisabled()).toBe(true);
    expect(await axeViolations(page)).toEqual([]);
    await field('Expected calls').fill('[{"name": "search", "arguments": {"order": 9007199254740993}}]');
    expect((await saved(called)).check).toMatchObject({ type: 'tool_calls', mode: 'subset', calls: [{ name: 'search' }] });
    const settings = page.getByRole('region', { name: 'Settings of the check' });
    await settings.getByText('"order": 9007199254740993').waitFor();

    const stepped = await begun('the agent took the expected steps');
    await choose('Expected steps are', 'the same of all records');
    for (const [at, name] of ['plan', 'extra', 'book a\ntable'].entries()) {
      await button('Add a step').click();
      await field(`Step ${at + 1}`).fill(name);
    }
    await button('Remove step 2').click();
    await page.getByRole('group', { name: 'Spans that are steps' }).getByLabel('retriever').check();
    expect(await axeViolations(page)).toEqual([]);
    expect((await saved(stepped)).check).toEqual({
      ...{ type: 'trajectory', mode: 'in_order', steps: ['plan', 'book a\ntable'] },
      kinds: ['agent', 'tool', 'retriever'],
    });

    const ofRows = await begun('the agent took the expected steps');
    expect((await saved(ofRows)).check).not.toHaveProperty('steps');
  });

  test.each([
    ['the output has one of these texts', { 'Text 1': 'sorry' }, { type: 'contains_any', texts: ['sorry'], ignore_case: false }],
    [
      'the output is JSON that fits a schema',
      { 'JSON Schema': '{"type": "array"}' },
      { type: 'json_schema', schema: { type: 'array' } },
    ],
    ['the output is spelled like the reference output', { 'Characters that may differ': '3' }, { type: 'edit_distance', max: 3 }],
    [
      'the output means what the reference output means',
      { 'Embedding model': 'embed-3', 'Least cosine similarity': '0.8' },
      { type: 'embedding_similarity', model: 'embed-3', threshold: 0.8 },
    ],
    ['it took no longer than a limit', { 'Most milliseconds': '1500' }, { type: 'latency', max_ms: 1500 }],
    ['it cost no more than a limit', { 'Most US dollars': '0.002' }, { type: 'cost', max_usd: 0.002 }],
  ])('%s', async (words, written, check) => {
    const name = await begun(words);
    for (const [label, text] of Object.entries(written)) await field(label).fill(text);
    expect(await axeViolations(page)).toEqual([]);
    expect((await saved(name)).check).toEqual(check);
  });

  test('a check is changed by those who may, and what was typed outlives a reload', async () => {
    const name = await begun('the output has all of these texts');
    await field('Text 1').fill('two\nlines');
    await saved(name);
    await button('Change the check').click();
    expect(await field('Text 1').inputValue()).toBe('two\nlines');
    await button('Add a text').click();
    await field('Text 2').fill(' and a space');
    await page.reload();
    expect(await field('Text 2').inputValue()).toBe(' and a space');
    await choose('Better is', 'no');
    expect(await axeViolations(page)).toEqual([]);
    await button('Save the check').click();
    await page.getByRole('status').filter({ hasText: 'Saved the check' }).waitFor();
    const texts = ['two\nlines', ' and a space'];
    expect(await stored()).toMatchObject({ name, direction: 'lower', check: { type: 'contains_all', texts } });
    await others.openLink(project.id, page.url(), async (other) => {
      await other.getByRole('region', { name: 'Settings of the check' }).getByText('and a space').waitFor();
      expect(await other.getByRole('button', { name: 'Change the check' }).count()).toBe(0);
      await other.goto(address());
      await other.getByText('Your account may not make metrics in this project.').waitFor();
    });
  });
});
