import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createCodeMetric } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { axeViolations } from '../support/consoleBrowser.ts';
import { describeConsole, type ProjectWithStream } from '../support/describeConsole.ts';
import { type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { modelAt } from '../support/runs.ts';
import type { TestService } from '../support/testService.ts';

const kinds = ['trace'];

describeConsole('metrics that use values of others', (open) => {
  let service: TestService;
  let page: Page;
  let project: ProjectWithStream;
  let endpoint: ModelEndpoint;
  /** Has a space, as names of metrics may. */
  const length = `length of ${newId()}`;
  const model = `asked-${newId()}`;

  beforeAll(async () => {
    const { service: opened, pages, projectWithStream } = await open();
    service = opened;
    endpoint = await startModelEndpoint();
    await modelAt(service.client, model, endpoint.url, [model]);
    page = await pages.signedIn({ key: service.apiKey });
    page.setDefaultTimeout(150_000); // the first value of code waits for its interpreter
    project = await projectWithStream();
    const code = 'def scorer_fn(*, step_object, **kwargs) -> int:\n    return len(step_object.output)\n';
    await createCodeMetric({ client: service.client, name: length, code, kinds, direction: 'higher' });
    await createCodeMetric({ client: service.client, name: `calls ${length}`, code, kinds: ['llm'], direction: 'higher' });
    await project.log([{ name: 'turn', input: 'Why?', output: 'Because' }]);
  });
  afterAll(() => endpoint?.close());
  beforeEach(() => endpoint.otherwise(says('{"explanation": "It is short.", "verdict": true}')));

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const field = (name: string) => page.getByLabel(name, { exact: true });
  const makes = async (title: string, link: string) => {
    await page.goto(`${service.url}/console/p/${project.id}/metrics`);
    await page.getByRole('link', { name: link }).click();
    await page.getByRole('heading', { name: title, level: 1 }).waitFor();
    await field('Name').fill(`${title} ${newId()}`);
  };
  const offered = () => page.getByRole('region', { name: 'Metrics to choose from' }).getByRole('checkbox');
  const requires = async (name: string) => {
    await page.getByText('It uses values of other metrics').click();
    await page.getByLabel('Find a metric').fill(name);
    await offered().nth(2).waitFor({ state: 'detached' });
    await page.getByLabel('Find a metric').press('Enter');
    await page.getByRole('checkbox', { name: new RegExp(`^${name}`) }).check();
  };
  const scorer = async () => (await service.request('GET', `/scorers/${page.url().split('/').at(-1)}`)).body;

  test('a judge is shown the values of a metric that its prompt names, tried out and saved', async () => {
    await makes('New judge', 'New judge');
    await requires(length);
    await page.getByRole('checkbox', { name: new RegExp(`^calls ${length} .*looks at others alone: llm`) }).waitFor();
    const prompt = field('What the judge is asked');
    await prompt.pressSequentially('Is {{output}} fine, with {{required_scores.length O');
    await page.getByRole('option', { name: `{{required_scores.${length}}}` }).waitFor();
    await page.keyboard.press('Tab');
    const written = `Is {{output}} fine, with {{required_scores.${length}}}`;
    expect(await prompt.inputValue()).toBe(written);
    await field('Model').fill(model);
    expect(await axeViolations(page)).toEqual([]);
    await page.reload();
    expect(await page.getByRole('checkbox', { name: new RegExp(`^${length}`) }).isChecked()).toBe(true);
    await button('Try it').click();
    await page.getByText('1 of 1 samples have a value.').waitFor();
    expect(endpoint.requests.at(-1)?.text).toContain(`name=\\"required scores: ${length}\\">\\n7\\n`);
    await button('Save the judge').click();
    await page.getByRole('region', { name: 'Prompt' }).getByText(written).waitFor();
    expect(await scorer()).toMatchObject({ required_scorers: [length] });
    await page
      .getByRole('definition')
      .filter({ hasText: new RegExp(`^${length}$`) })
      .waitFor();
    await button('Write a new version').click();
    expect(await page.getByText('It uses values of other metrics').count()).toBe(0);
    await button('Try it').click();
    await page.getByText('1 of 1 samples have a value.').waitFor();
    await button('Save as version 2').click();
    await page.getByRole('heading', { name: 'Version 2' }).waitFor();
  });

  test('code gets the values of a metric when it is tried, saved and given a new version', async () => {
    await makes('New code metric', 'New code metric');
    const code = `def scorer_fn(*, required_scores, **kwargs) -> int:\n    return 6 * required_scores['${length}']\n`;
    await field('Source code').fill(code);
    await requires(length);
    await button('Try it').click();
    const samples = page.getByRole('region', { name: 'Try it out' }).getByRole('row');
    await samples.filter({ hasText: '42' }).waitFor();
    await button('Save the metric').click();
    await page
      .getByRole('definition')
      .filter({ hasText: new RegExp(`^${length}$`) })
      .waitFor();
    expect(await scorer()).toMatchObject({ required_scorers: [length] });
    await button('Write a new version').click();
    await field('Source code').fill(code.replace('6', '7'));
    await button('Try it').click();
    await samples.filter({ hasText: '49' }).waitFor();
    await button('Save as version 2').click();
    await page.getByRole('heading', { name: 'Version 2' }).waitFor();
  });
});
