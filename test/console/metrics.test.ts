import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createDataset } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { builtinIdOf } from '../../shared/scorers/presets.ts';
import { axeViolations, type ConsoleBrowser } from '../support/consoleBrowser.ts';
import { type ConsoleOthers, consoleOthers } from '../support/consoleOthers.ts';
import { describeConsole, type ProjectWithStream } from '../support/describeConsole.ts';
import { fails, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { modelAt } from '../support/runs.ts';
import type { TestService } from '../support/testService.ts';

describeConsole('metrics', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let others: ConsoleOthers;
  let projectWithStream: () => Promise<ProjectWithStream>;
  let project: ProjectWithStream;
  let page: Page;
  let endpoint: ModelEndpoint;
  const model = `judge-${newId()}`;

  beforeAll(async () => {
    ({ service, pages, projectWithStream } = await open({ expected: /status of 422/ }));
    endpoint = await startModelEndpoint();
    await modelAt(service.client, model, endpoint.url, [model]);
    others = consoleOthers(pages, service);
    page = await pages.signedIn({ key: service.apiKey });
  });
  afterAll(() => endpoint?.close());
  beforeEach(async () => {
    endpoint.otherwise(says('{"explanation": "It is short.", "verdict": true}'));
    project = await projectWithStream();
  });

  const send = async (path: string, body: object, method = 'POST') => {
    const { status, body: answer } = await service.request(method, path, body);
    expect([path, status, answer]).toEqual([path, 200, expect.anything()]);
    return answer as { id: string };
  };
  const catalogue = () => `${service.url}/console/p/${project.id}/metrics`;
  const row = (name: string | RegExp, on = page) => on.getByRole('row').filter({ hasText: name });
  const cells = (name: string | RegExp, on = page) => row(name, on).getByRole('cell').allInnerTexts();

  test('the catalogue finds a metric by a need, and says what it gives and where it is on', async () => {
    const name = `grounded ${newId()}`;
    const definition = { scorer_type: 'llm', output_type: 'discrete', range: { min: 1, max: 5 }, direction: 'lower' };
    const { id } = await send('/scorers', { name, ...definition, description: 'Counts claims without a source.' });
    const version = { user_prompt: 'How far is {{output}} from {{context}}?', num_judges: 3 };
    await send(`/scorers/${id}/version/llm`, version);
    await send(`/scorers/${id}/version/llm`, version);
    const scorers = [
      { id: builtinIdOf('context_precision'), scorer_type: 'preset' },
      { id, scorer_type: 'llm' },
    ];
    await send(`/projects/${project.id}/log_streams/${project.stream}/metric_settings`, { scorers }, 'PATCH');
    await page.goto(project.records);
    await page.getByRole('navigation').getByRole('link', { name: 'Metrics' }).click();
    await row('Exact Match').waitFor();
    await page.getByLabel('Find a metric').fill('retriever 0 to 1');
    await row('Exact Match').waitFor({ state: 'detached' });
    await row('Context Precision').filter({ hasText: 'main' }).waitFor();
    await expect
      .poll(() => cells('Context Precision'))
      .toEqual([
        expect.stringContaining('ranked before the others'),
        'Judge',
        'judge model\nretriever span',
        'score from 0 to 1\n\nhigher is better',
        'main',
        'built in',
        '1',
      ]);
    await expect.poll(() => cells('Precision@K')).toMatchObject({ 4: 'none' });
    await page.getByLabel('Kind').selectOption('Your own');
    await page.getByLabel('Find a metric').fill(name);
    await row(name).waitFor();
    await expect
      .poll(() => cells(name))
      .toEqual([
        `${name}\n\nCounts claims without a source.`,
        'Own judge',
        'judge model\nretriever span',
        'grade from 1 to 5\n\nlower is better',
        'main',
        '2',
        '3',
      ]);
    expect(await axeViolations(page)).toEqual([]);
    await page.reload();
    await expect.poll(() => page.getByLabel('Find a metric').inputValue()).toBe(name);
    await page.getByLabel('Kind').selectOption('Built-in code');
    await page.getByRole('heading', { name: `No metric has “${name}”` }).waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await row('Exact Match').waitFor();
    await expect.poll(() => cells('Exact Match')).toMatchObject({ 1: 'Code', 2: 'reference output', 6: 'none' });
    await others.openLink(project.id, catalogue(), (other) => row('Exact Match', other).waitFor());
  });

  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
  const field = (name: string) => page.getByLabel(name, { exact: true });
  const samples = () => page.getByRole('region', { name: 'Try it out' }).getByRole('row');
  const said = (text: string) => page.getByRole('status').filter({ hasText: text }).first().waitFor();
  const traces = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ name: `turn ${at}`, input: 'Why?', output: `Because ${at}` }));
  const judge = async (user_prompt: string) => {
    const name = `judge ${newId()}`;
    const definition = { name, scorer_type: 'llm', output_type: 'boolean', direction: 'higher', project_ids: [project.id] };
    const { id } = await send('/scorers', definition);
    await send(`/scorers/${id}/version/llm`, { user_prompt, model_name: model, scoreable_node_types: ['trace'] });
    return { id, name, link: `${catalogue()}/${id}` };
  };

  test('a metric of code is written, tried on records with its errors, saved, and given a new version', async () => {
    await project.log(traces(3));
    const name = `digits ${newId()}`;
    await page.goto(catalogue());
    await page.getByRole('link', { name: 'New code metric' }).click();
    await field('Name').fill(name);
    const source = field('Source code');
    await source.fill('def scorer_fn(:');
    await button('Save the metric').click();
    await page.getByText('The code cannot be used: SyntaxError').waitFor();
    const code = "def scorer_fn(*, step_object, **kwargs) -> int:\n    return {'Because 1': 7}[step_object.output]\n";
    await source.fill(code);
    expect(await axeViolations(page)).toEqual([]);
    await page.reload();
    expect(await source.inputValue()).toBe(code);
    await field('How many').fill('3');
    await button('Try it').click();
    await page.getByText('1 of 3 samples have a value.', { exact: true }).waitFor();
    await samples().filter({ hasText: "KeyError: 'Because 0' (line 2)" }).waitFor();
    await samples().filter({ hasText: '7' }).first().waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await source.fill(code.replace('[step_object.output]', '.get(step_object.output)'));
    await said('You changed the code since');
    await button('Save the metric').click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await page.getByRole('region', { name: 'Source code' }).getByText('.get(step_object.output)').waitFor();
    await button('Write a new version').click();
    await source.fill(`# again\n${code}`);
    await button('Save as version 2').click();
    await page.getByRole('heading', { name: 'Version 2' }).waitFor();
    await page.getByRole('region', { name: 'Source code' }).getByText('# again').waitFor();
    expect(await axeViolations(page)).toEqual([]);
  });

  test('a model writes the code of a metric from a sentence, and what cannot be used says why', async () => {
    const written = 'def scorer_fn(*, step_object, **kwargs) -> int:\n    return len(step_object.output)\n';
    await page.goto(`${catalogue()}/new-code`);
    await field('In words').fill('How long the answer is');
    await field('Model').fill(model);
    endpoint.otherwise(says(`\`\`\`python\n${written}\`\`\``));
    await button('Have a model write it').click();
    await expect.poll(() => field('Source code').inputValue()).toBe(written);
    expect(await axeViolations(page)).toEqual([]);
    endpoint.otherwise(says('```python\ndef scorer_fn(**kwargs) -> int:\n    return "long"\n```'));
    await button('Have a model write it').click();
    await page
      .getByText("What the model wrote cannot be used: on the test record of the kind trace: scorer_fn gave 'long'")
      .waitFor();
    await expect.poll(() => field('Source code').inputValue()).toContain('return "long"');
    await button('Discard').click();
  });

  test('a judge is written with completion, tried on five records before it is saved, and used as it was tried', async () => {
    await project.log(traces(6));
    const name = `brief ${newId()}`;
    await page.goto(catalogue());
    await page.getByRole('link', { name: 'New judge' }).click();
    await field('Name').fill(name);
    const prompt = field('What the judge is asked');
    await prompt.pressSequentially('Is {{OU');
    await page.getByRole('option', { name: '{{output}}' }).waitFor();
    await page.keyboard.press('Tab');
    await prompt.pressSequentially(' brief for {{');
    await page.getByRole('option', { name: '{{input}}' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => prompt.inputValue()).toBe('Is {{output}} brief for {{query}}');
    await field('Model').fill(model);
    expect(await axeViolations(page)).toEqual([]);
    await page.reload();
    expect([await field('Name').inputValue(), await prompt.inputValue()]).toEqual([name, 'Is {{output}} brief for {{query}}']);
    await field('How many').fill('5');
    const before = endpoint.requests.length;
    endpoint.next(says('{"explanation": "It is long.", "verdict": false}'));
    await button('Try it').click();
    await page.getByText('5 of 5 samples have a value. 5 calls answered, cost not known.').waitFor();
    expect(endpoint.requests.length - before).toBe(5);
    expect(await samples().count()).toBe(6);
    const values = await page.getByRole('region', { name: 'Try it out' }).locator('tbody td:nth-child(2)').allInnerTexts();
    expect(values.sort()).toEqual(['no', 'yes', 'yes', 'yes', 'yes']);
    await samples().filter({ hasText: 'It is long.' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await button('Save the judge').click();
    await page.getByRole('heading', { name }).waitFor();
    await page.getByRole('region', { name: 'Prompt' }).getByText('Is {{output}} brief for {{query}}').waitFor();
    const { body } = await service.request('GET', `/scorers/${page.url().split('/').at(-1)}`);
    expect(body).toMatchObject({
      name,
      direction: 'higher',
      scope_projects: [{ id: project.id }],
      default_version: { version: 1, model_name: model, num_judges: 1, scoreable_node_types: ['trace'] },
    });
    await field('main').click();
    await page.getByRole('checkbox', { name: 'main', checked: true, disabled: false }).waitFor();
    const { body: settings } = await service.request(
      'GET',
      `/projects/${project.id}/log_streams/${project.stream}/metric_settings`,
    );
    expect(settings).toMatchObject({ scorers: [{ name }] });
  });

  test('a second version is compared word by word, a default is chosen, the judge is renamed, deleted and brought back', async () => {
    const { id, name, link } = await judge('Is {{output}} short?');
    await page.goto(link);
    await button('Write a new version').click();
    await field('What the judge is asked').fill('Is {{output}} polite and short?');
    await page.reload();
    expect(await field('What the judge is asked').inputValue()).toBe('Is {{output}} polite and short?');
    await page.getByRole('combobox', { name: 'Better is' }).selectOption('no');
    await button('Save as version 2').click();
    await said('Saved as version 2');
    await page.getByRole('tab', { name: 'Versions' }).click();
    await button('What changed in version 2').click();
    const changes = page.getByRole('region', { name: 'What changed' });
    await changes.locator('ins', { hasText: 'polite and' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await others.openLink(project.id, page.url(), async (other) => {
      await other.getByRole('region', { name: 'What changed' }).locator('ins', { hasText: 'polite and' }).waitFor();
      await other.getByRole('tab', { name: 'Judge' }).click();
      await other.getByText('Name in filters').waitFor();
      for (const text of ['Write a new version', 'Rename', 'Delete', 'Make default'])
        expect([text, await other.getByRole('button', { name: text }).count()]).toEqual([text, 0]);
      expect(await other.getByRole('checkbox').count()).toBe(0);
      await other.goto(catalogue());
      await row(name, other).waitFor();
      expect(await other.getByRole('link', { name: 'New judge' }).count()).toBe(0);
      expect(await other.getByRole('button', { name: 'Set the default judge' }).count()).toBe(0);
    });
    await button('Make default of version 1').click();
    await page.getByRole('row').filter({ hasText: '1 default' }).waitFor();
    const { body } = await service.request('GET', `/scorers/${id}`);
    expect(body).toMatchObject({ direction: 'lower', default_version: { version: 1 }, latest_version: { version: 2 } });
    await button('Rename').click();
    await field('Name').fill(`renamed ${name}`);
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('heading', { name: `renamed ${name}` }).waitFor();
    await button('Delete').click();
    await row('Exact Match').waitFor();
    expect(await row(`renamed ${name}`).count()).toBe(0);
    await button('Undo').click();
    await row(`renamed ${name}`).waitFor();
  });

  test('a judge that fails on every chosen record says why once, and loses nothing', async () => {
    await project.log(traces(3));
    endpoint.otherwise(fails(400, { error: { message: 'no such deployment' } }));
    await page.goto(project.records);
    for (const at of [0, 1, 2]) await page.getByRole('checkbox', { name: `Choose turn ${at}` }).click();
    await page.getByRole('link', { name: 'Try a judge' }).click();
    await field('What the judge is asked').fill('Is {{output}} good?');
    await field('Model').fill(model);
    await page.getByRole('option', { name: '3 chosen records', selected: true }).waitFor({ state: 'attached' });
    await button('Try it').click();
    await page.getByRole('alert').filter({ hasText: 'None of 3 samples has a value.' }).waitFor();
    const causes = page.getByRole('list', { name: 'Causes' }).getByRole('listitem');
    expect(await causes.allInnerTexts()).toEqual([
      expect.stringMatching(/^3 of 3: the judge could not be asked: .*400 Bad Request/),
    ]);
    expect(await axeViolations(page)).toEqual([]);
    await field('What the judge is asked').fill('Is {{outputs}} good?');
    await button('Try it').click();
    await page.getByRole('alert').filter({ hasText: 'the closest are {{output}}' }).waitFor();
    await field('Name').fill(`good ${newId()}`);
    await button('Save the judge').click();
    await page.getByRole('alert').filter({ hasText: 'the closest are {{output}}' }).first().waitFor();
    expect(await field('What the judge is asked').inputValue()).toBe('Is {{outputs}} good?');
  });

  test('a judge of labels is tried on rows of a dataset, and on records that fit a filter', async () => {
    await project.log(traces(4));
    const content = [
      { input: 'Why?', output: 'Because' },
      { input: 'How?', output: 'So' },
    ];
    const called = `rows ${newId()}`;
    await createDataset({ client: service.client, projectId: project.id, name: called, content });
    endpoint.otherwise(says('{"explanation": "No warmth in it.", "label": "cold"}'));
    await page.goto(`${catalogue()}/new`);
    await field('What the judge is asked').fill('What is the tone of {{output}}?');
    await page.getByRole('combobox', { name: 'It answers' }).selectOption('one of several labels');
    await page.getByLabel('Labels, one a line').fill('warm\ncold\n');
    await field('Model').fill(model);
    await page.getByRole('combobox', { name: 'On' }).selectOption('the first rows of');
    await page.getByRole('combobox', { name: 'Dataset' }).selectOption(called);
    await button('Try it').click();
    await page.getByText('2 of 2 samples have a value.').waitFor();
    expect(await samples().filter({ hasText: 'cold' }).allInnerTexts()).toEqual([
      expect.stringMatching(/^row 1\s+Because\s+cold\s+No warmth in it\.\s+–$/),
      expect.stringMatching(/^row 2\s+So\s+cold\s+No warmth in it\.\s+–$/),
    ]);
    endpoint.otherwise(says('{"explanation": "It burns.", "label": "hot"}'));
    await page.getByRole('combobox', { name: 'On' }).selectOption('the newest records of');
    await field('Only where').fill('nme = "turn 2"');
    await page.getByRole('alert').filter({ hasText: 'nme' }).waitFor();
    await expect.poll(() => button('Try it').isDisabled()).toBe(true);
    await field('Only where').fill('name = "turn 2"');
    await button('Try it').click();
    await page.getByRole('alert').filter({ hasText: 'The one sample has no value.' }).waitFor();
  });

  test('Enter among the samples tries the judge and saves nothing, and an answer of the judge before a change says so', async () => {
    await project.log(traces(2));
    const name = `tried ${newId()}`;
    await page.goto(`${catalogue()}/new`);
    await field('Name').fill(name);
    await field('What the judge is asked').fill('Is {{output}} good?');
    await field('Model').fill(model);
    await field('Only where').fill('name = "turn 1"');
    await page.getByRole('button', { name: 'Try it', disabled: false }).waitFor();
    await field('Only where').press('Enter');
    await said('1 of 1 samples have a value.');
    const outdated = page.getByText('You changed the judge since');
    expect(await outdated.count()).toBe(0);
    await field('What the judge is asked').fill('Is {{output}} bad?');
    await outdated.waitFor();
    await button('Try it').click();
    await outdated.waitFor({ state: 'detached' });
    await said('1 of 1 samples have a value.');
    await page.goto(`${catalogue()}?kind=own`);
    await page.getByRole('button', { name: 'Show all' }).or(row('Own judge')).first().waitFor();
    expect(await row(name).count()).toBe(0);
  });

  test('a judge that sees is tried with the images of a record, and a new version takes its sight away', async () => {
    const image = 'data:image/png;base64,Y2F0';
    await project.log([{ name: 'drawn', input: 'Draw a cat', output: `Here: ${image}` }]);
    const name = `seeing ${newId()}`;
    await page.goto(`${catalogue()}/new`);
    await field('Name').fill(name);
    await field('What the judge is asked').fill('Does {{output}} show a cat?');
    await field('Model').fill(model);
    await field('It sees images').check();
    await button('Try it').click();
    await said('1 of 1 samples have a value.');
    expect(endpoint.requests.at(-1)?.text).toContain(JSON.stringify({ type: 'image_url', image_url: { url: image } }));
    await button('Save the judge').click();
    await page.getByRole('definition').filter({ hasText: 'the images of the record' }).waitFor();
    const stored = async () => (await service.request('GET', `/scorers/${page.url().split('/').at(-1)}`)).body;
    expect(await stored()).toMatchObject({ name, multimodal_capabilities: ['vision'] });
    await button('Write a new version').click();
    await field('It sees images').uncheck();
    await button('Save as version 2').click();
    await said('Saved as version 2');
    expect(await stored()).toMatchObject({ multimodal_capabilities: [] });
  });

  test('a range with one end is not saved as none, nor a judge that looks at nothing', async () => {
    await page.goto(`${catalogue()}/new`);
    await field('Name').fill(`graded ${newId()}`);
    await field('What the judge is asked').fill('How good is {{output}}?');
    await page.getByRole('combobox', { name: 'It answers' }).selectOption('grade');
    await field('To').fill('');
    await button('Save the judge').click();
    await page.locator('input:invalid').and(field('To')).waitFor();
    await page.getByRole('heading', { name: 'New judge' }).waitFor();
    await field('trace').uncheck();
    await page.getByRole('alert').filter({ hasText: 'Choose at least one' }).waitFor();
    await expect.poll(() => button('Save the judge').isDisabled()).toBe(true);
  });

  test('a new version begins with the labels that the judge may give, and keeps them', async () => {
    const name = `tone ${newId()}`;
    const { id } = await send('/scorers', {
      ...{ name, scorer_type: 'llm', output_type: 'categorical', project_ids: [project.id] },
      categories: ['warm', 'cold'],
    });
    const prompt = {
      user_prompt: 'What is the tone of {{output}}?',
      output_type: 'categorical',
      scoreable_node_types: ['trace'],
    };
    await send(`/scorers/${id}/version/llm`, prompt);
    await page.goto(`${catalogue()}/${id}`);
    await page.getByText('one of warm, cold').waitFor();
    await page.getByText(`"metrics/${name}"`, { exact: true }).waitFor();
    await button('Write a new version').click();
    await expect.poll(() => page.getByLabel('Labels, one a line').inputValue()).toBe('warm\ncold');
    await button('Save as version 2').click();
    await said('Saved as version 2');
    const { body } = await service.request('GET', `/scorers/${id}`);
    expect(body).toMatchObject({ categories: ['warm', 'cold'] });
  });

  test('the agreement of a judge without values says what is missing, and a project of experiments alone has theirs', async () => {
    const { link } = await judge('Is {{output}} short?');
    await project.log(traces(2));
    await page.goto(`${link}?tab=agreement`);
    await said('No record has a value of this metric');
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.goto(`${catalogue()}/${builtinIdOf('correctness')}?tab=agreement`);
    await said('None of 2 records has a value of this metric');
    const { id } = await service.project();
    await send(`/projects/${id}/experiments`, { name: 'by night' });
    await page.goto(`${service.url}/console/p/${id}/metrics/${builtinIdOf('correctness')}?tab=agreement`);
    await said('None of 0 records has a value of this metric');
    await expect
      .poll(() => page.getByRole('combobox', { name: 'Records of' }).locator('option:checked').textContent())
      .toContain('by night');
  });

  test('the default judge is set, and a model that there is not is refused with the closest', async () => {
    await page.goto(catalogue());
    await button('Set the default judge').click();
    await field('Model').fill(`${model}x`);
    await button('Set').click();
    await page.getByRole('dialog').getByRole('alert').filter({ hasText: model }).waitFor();
    await field('Model').fill(model);
    await button('Set').click();
    await page.getByText(`Default judge: ${model}/${model}`).waitFor();
    await button('No default judge').click();
    await page.getByText('Default judge: none').waitFor();
  });

  test('the agreement with people is in words, with interval and table, and is not known where one side says one thing alone', async () => {
    const ids = Array.from({ length: 7 }, () => newId());
    // Values of the metric and of people. Both yes 2, yes and no 1, no and yes 1, both no 2: 4 of 6 agree, and 1 of 2 would by chance.
    const said = [
      [true, true],
      [true, true],
      [true, false],
      [false, true],
      [false, false],
      [false, false],
    ] as const;
    await project.log(
      traces(7).map((trace, at) => ({
        ...{ ...trace, id: ids[at] },
        metrics: { correctness: said[at]?.[0] ?? true, completeness: true },
      })),
    );
    const queue = (await send('/annotation_queues', { name: `queue ${newId()}` })).id;
    const question = { template: { name: 'Right?', constraints: { annotation_type: 'like_dislike' } } };
    const [template] = (await send(`/annotation_queues/${queue}/templates`, question)) as unknown as [{ id: string }];
    await send(`/annotation_queues/${queue}/records`, {
      ...{ project_id: project.id, run_id: project.stream },
      record_selector: { type: 'record_ids', record_ids: ids },
    });
    for (const [at, [, value]] of said.entries())
      await send(
        `/annotation_queues/${queue}/records/${ids[at]}/rating?annotation_template_id=${template.id}`,
        { rating: { annotation_type: 'like_dislike', value } },
        'PUT',
      );
    await page.goto(`${catalogue()}/${builtinIdOf('correctness')}`);
    await page.getByRole('tab', { name: 'Agreement' }).click();
    const found = page.getByRole('region', { name: 'Right?' });
    await found.getByText('Fair agreement.').waitFor();
    // Kappa (4/6 - 1/2) / (1 - 1/2) = 1/3. Its variance is 0.148: plus and minus 1.96 times the root of that.
    expect(await found.textContent()).toContain('Kappa 0.33, 95 % interval -0.42 to 1.00, of 6 records.');
    expect(await found.textContent()).toContain('They agree on 66.7 % of 6; by chance it would be 50.0 %.');
    expect(await found.getByRole('row').allInnerTexts()).toEqual(['\tyes\tno', 'yes\t2\t1', 'no\t1\t2']);
    expect(await found.textContent()).toContain('Left out: 1 with a value and no rating.');
    expect(await axeViolations(page)).toEqual([]);
    const differ = found.getByRole('list', { name: 'Where they differ' });
    expect((await differ.getByRole('listitem').allInnerTexts()).sort()).toEqual(
      [`${ids[2]} metric yes, people no`, `${ids[3]} metric no, people yes`].sort(),
    );
    const link = page.url();
    await others.openLink(project.id, link, (other) => other.getByText('Fair agreement.').waitFor());
    await differ.getByRole('link', { name: ids[2] as string }).click();
    await page.getByRole('article').getByText('Because 2').first().waitFor();
    await page.goto(`${catalogue()}/${builtinIdOf('completeness')}?tab=agreement`);
    await found.getByText('Not known:').waitFor();
    expect(await found.textContent()).not.toContain('Kappa');
  });
});
