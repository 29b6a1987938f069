import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createDataset, createPrompt, getPrompt, listIntegrations, playgroundCall, runExperiment } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { beforeMidnight } from '../support/beforeMidnight.ts';
import { axeViolations, type ConsoleBrowser } from '../support/consoleBrowser.ts';
import { type ConsoleOthers, consoleOthers } from '../support/consoleOthers.ts';
import { describeConsole, type ProjectWithStream } from '../support/describeConsole.ts';
import { fails, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { openRow } from '../support/openRow.ts';
import { experimentOf, modelAt } from '../support/runs.ts';
import { streamedAnswer } from '../support/streamedAnswer.ts';
import type { TestService } from '../support/testService.ts';

describeConsole('the playground', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let others: ConsoleOthers;
  let projectWithStream: () => Promise<ProjectWithStream>;
  let endpoints: ModelEndpoint[];
  let project: ProjectWithStream;
  let page: Page;

  beforeAll(async () => {
    // The service refuses a call before it is paid, or beyond the limits of the project, and a browser notes that.
    ({ service, pages, projectWithStream } = await open({ expected: /status of 4(22|29)/ }));
    others = consoleOthers(pages, service);
    page = await pages.signedIn({ key: service.apiKey });
    endpoints = await Promise.all([startModelEndpoint(), startModelEndpoint()]);
    for (const [index, { url }] of endpoints.entries())
      await modelAt(service.client, `play-${index}`, `${url}/v1`, [`model-${index}`]);
  });
  afterAll(async () => {
    for (const endpoint of endpoints ?? []) await endpoint.close();
  });
  beforeEach(async () => {
    project = await projectWithStream();
  });

  const goTo = async (query = '') => {
    await page.goto(`${service.url}/console/p/${project.id}/playground${query}`);
    await page.getByRole('heading', { name: 'Playground' }).waitFor();
  };
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
  const message = (n: number) => page.getByLabel(`Message ${n}`, { exact: true });
  const model = (n: number) => page.getByRole('region', { name: new RegExp(`^Model ${n}`) });
  const state = (n: number, text: string) => model(n).getByRole('status').filter({ hasText: text }).waitFor();
  const figure = (n: number, name: string) => model(n).locator('dl > div').filter({ hasText: name }).locator('dd').textContent();
  const endpoint = (n: 0 | 1) => endpoints[n] as ModelEndpoint;

  async function twoModels() {
    await message(1).fill('Where is {{city}}?');
    await page.getByLabel('city').fill('Oslo');
    await model(1).getByLabel('Model', { exact: true }).fill('model-0');
    await button('Add a model').click();
    await model(2).getByLabel('Model', { exact: true }).fill('model-1');
  }

  test('two models answer side by side as they write, one is stopped, and the words of two outputs are compared', async () => {
    await goTo();
    await twoModels();
    const [first, second] = [streamedAnswer(), streamedAnswer()];
    endpoint(0).next(first.answer);
    endpoint(1).next(second.answer);
    await page.keyboard.press('Control+Enter');
    await Promise.all([first.asked, second.asked]);
    expect(endpoint(0).requests.at(-1)?.body).toMatchObject({ messages: [{ role: 'user', content: 'Where is Oslo?' }] });
    await first.say('In ', 'Norway');
    await model(1).getByText('In Norway').waitFor();
    await state(1, 'Writes');
    await state(2, 'Waits');
    await second.say('In the north');
    await model(2).getByText('In the north').waitFor();
    await model(2).getByRole('button', { name: 'Stop' }).click();
    await second.left;
    await state(2, 'Stopped');
    await first.say(', in the south.');
    await first.end();
    await state(1, 'Finished');
    await model(1).getByText('In Norway, in the south.').waitFor();
    expect(await Promise.all(['Tokens', 'Cost', 'Ended by'].map((name) => figure(1, name)))).toEqual(['7 → 5', '–', 'stop']);
    for (const name of ['Latency', 'First token']) expect(await figure(1, name)).toMatch(/^[\d.]+ m?s$/);
    expect(await figure(2, 'Tokens')).toBe('–');
    await button('Compare outputs').click();
    await page.locator('ins', { hasText: 'north' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await model(1).getByRole('link', { name: 'Its trace' }).click();
    await page.getByRole('article').getByText('Where is Oslo?').first().waitFor();
    await page.goBack();
    await model(1).getByText('In Norway, in the south.').waitFor();
    await model(2).getByRole('link', { name: 'Its trace' }).click();
    await page.getByRole('article').getByText('In the north').first().waitFor();
    // Its stream is the newest; the records of a project are those of its application all the same.
    await page.goto(project.records);
    const streams = page.getByLabel('Log stream or experiment');
    await streams.locator('option', { hasText: 'playground' }).waitFor({ state: 'attached' });
    expect(await streams.locator('option:checked').textContent()).toContain('main');
  });

  test('a long answer grows at its end alone, and what is read stays where it is', async () => {
    await goTo();
    await message(1).fill('Count');
    await model(1).getByLabel('Model', { exact: true }).fill('model-0');
    const answer = streamedAnswer();
    endpoint(0).next(answer.answer);
    await button('Run').click();
    const line = (n: number) => `${n}: one more line of a long answer that goes on and on\n`;
    await answer.say(...Array.from({ length: 500 }, (_, n) => line(n)));
    await model(1).getByText('499: one more line').waitFor();
    const first = await model(1).locator('pre').first().elementHandle();
    const place = async () => (await first?.boundingBox())?.y;
    const before = await place();
    await answer.say(...Array.from({ length: 4_500 }, (_, n) => line(500 + n)));
    await model(1).getByText('4999: one more line').waitFor({ state: 'attached' });
    expect(await first?.evaluate((element) => (element as unknown as { isConnected: boolean }).isConnected)).toBe(true);
    expect(await place()).toBe(before);
    await answer.end();
    await state(1, 'Finished');
    expect(await place()).toBe(before);
    const height = (await model(1).boundingBox())?.height;
    expect(height, 'what stands below the answer stays in sight').toBeLessThan(900);
    expect((await model(1).locator('pre').allTextContents()).join('')).toBe(
      Array.from({ length: 5_000 }, (_, n) => line(n)).join(''),
    );
  });

  test('a failed call says of what kind and what to do, and a model that there is not is refused with the closest name', async () => {
    await goTo();
    await twoModels();
    endpoint(0).next(fails(401));
    await model(2).getByLabel('Model', { exact: true }).fill('modl-1');
    await button('Run').click();
    await model(1).getByRole('alert').getByText('unauthorized', { exact: true }).waitFor();
    await model(1).getByRole('alert').getByText('whoever keeps the integration renews it').waitFor();
    await model(2).getByRole('alert').filter({ hasText: 'model-1' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await model(1).getByRole('link', { name: 'Its trace' }).waitFor();
    expect(await model(2).getByRole('link', { name: 'Its trace' }).count()).toBe(0);
  });

  test('limits of the project are set in the settings; the page shows what is left, and a refused call loses nothing typed', async () => {
    await beforeMidnight(120_000);
    const { client } = service;
    await modelAt(client, 'play-priced', `${endpoint(0).url}/v1`, ['model-of-a-price']);
    const house = (await listIntegrations({ client })).find(({ name }) => name === 'play-priced');
    const prices = [{ model: 'model-of-a-price', input: 1, output: 2 }];
    await client.send(`/integrations/${house?.id}/prices`, { method: 'PUT', body: { prices } });
    await page.goto(`${service.url}/console/settings/limits`);
    await page.getByLabel('Project', { exact: true }).selectOption({ label: project.name });
    const part = page.getByRole('region', { name: 'Limits of the playground' });
    await part.getByText('0 calls run now, not limited').waitFor();
    await part.getByLabel('Most calls at once').fill('0');
    await part.getByLabel('Most US dollars a day').fill('0.002 or so');
    await button('Save the limits').click();
    await part.getByText(/expected number to be >=1/).waitFor();
    await part.getByText(/expected number, received string/).waitFor();
    await part.getByLabel('Most calls at once').fill('1');
    await part.getByLabel('Most US dollars a day').fill('0.002');
    await button('Save the limits').click();
    await part.getByText('0 of 1 call at once').waitFor();
    await part.getByText('$0 of $0.002 used today (UTC), $0.002 left, in 0 calls').waitFor();
    expect(await axeViolations(page)).toEqual([]);

    const others = streamedAnswer();
    endpoint(0).next(others.answer);
    const call = playgroundCall({ client, projectId: project.id, template: 'x', settings: { modelAlias: 'model-of-a-price' } });
    await call.next();
    await others.asked;
    await goTo();
    await page.getByText('1 of 1 call at once').waitFor();
    await message(1).fill('Where is Oslo?');
    await model(1).getByLabel('Model', { exact: true }).fill('model-of-a-price');
    await button('Run').click();
    await model(1).getByRole('alert').getByText('may have 1 call at once, and 1 run now').waitFor();
    await expect.poll(() => message(1).inputValue()).toBe('Where is Oslo?');
    await others.end();
    for await (const _ of call);
    endpoint(0).next(says('In Norway'));
    await button('Run').click();
    await state(1, 'Finished');
    await page.getByText('0 of 1 call at once').waitFor();
    await page.getByText('$0.000035 of $0.002 used today (UTC), $0.001965 left').waitFor();
    // 12,000 characters are 3,000 tokens: with 500 of an answer they cost more than is left.
    await message(1).fill('word '.repeat(2_400));
    await button('Run').click();
    await model(1).getByRole('alert').getByText('Ask for fewer tokens, or for a higher limit').waitFor();
    await model(1).getByLabel('Model', { exact: true }).fill('model-1');
    await button('Run').click();
    await model(1).getByRole('alert').getByText('no price is known of the model "play-1/model-1": set one').waitFor();
    expect(await message(1).inputValue()).toContain('word word');
  });

  test('what is set of a model reaches it, what is out of range says so at once, and what is empty is not sent', async () => {
    await modelAt(service.client, 'play-thinks', `${endpoint(1).url}/v1`, ['gpt-5-mini']);
    await goTo();
    await message(1).fill('Where is Oslo? Answer in JSON.');
    const field = (name: string) => model(1).getByLabel(name);
    await field('Model').first().fill('model-0');
    await button('More settings').click();
    await field('Top p').fill('1.5');
    await model(1).getByText('A number from 0 to 1.').waitFor();
    await button('More settings, 1 set').click();
    const asked = endpoint(0).requests.length;
    await button('Run').click();
    await field('Top p').and(page.locator(':focus')).waitFor();
    expect(endpoint(0).requests.length).toBe(asked);
    await field('Top p').fill('0.25');
    await field('Frequency penalty').fill('-0.5');
    await field('Presence penalty').fill('0');
    await field('Seed of the model').fill('17');
    await field('Response format').selectOption('JSON');
    await field('Stop sequences').fill('END\n\\n\\n\n');
    expect(await axeViolations(page)).toEqual([]);
    await button('Run').click();
    await state(1, 'Finished');
    const sent = {
      ...{ top_p: 0.25, frequency_penalty: -0.5, seed: 17 },
      ...{ response_format: { type: 'json_object' }, stop: ['END', '\n\n'] },
    };
    expect(endpoint(0).requests.at(-1)?.body).toMatchObject(sent);
    for (const name of ['presence_penalty', 'temperature', 'max_tokens', 'reasoning_effort'])
      expect(endpoint(0).requests.at(-1)?.body).not.toHaveProperty(name);

    await page.reload();
    await button('More settings, 5 set').click();
    expect(await field('Stop sequences').inputValue()).toBe('END\n\\n\\n');
    for (const name of ['Top p', 'Frequency penalty', 'Seed of the model', 'Stop sequences']) await field(name).fill('');
    await field('Response format').selectOption('');
    await field('Most tokens').fill('0');
    await model(1).getByText('A whole number from 1 on.').waitFor();
    await field('Most tokens').fill('');
    await button('Run').click();
    await state(1, 'Finished');
    await expect
      .poll(() => Object.keys(endpoint(0).requests.at(-1)?.body ?? {}).sort())
      .toEqual([...['messages', 'model', 'stream', 'stream_options']]);
    await field('Model').first().fill('gpt-5-mini');
    await field('Reasoning effort').selectOption('low');
    await button('Run').click();
    await state(1, 'Finished');
    await expect.poll(() => endpoint(1).requests.at(-1)?.body).toMatchObject({ model: 'gpt-5-mini', reasoning_effort: 'low' });
  });

  test('what is typed is there after a reload, and when the token has ended; nothing runs without values', async () => {
    await goTo();
    await twoModels();
    await model(2).getByLabel('Temperature').fill('0.5');
    await page.reload();
    await expect.poll(() => message(1).inputValue()).toBe('Where is {{city}}?');
    await expect.poll(async () => page.getByLabel('city').inputValue()).toBe('Oslo');
    await expect.poll(() => model(2).getByLabel('Temperature').inputValue()).toBe('0.5');
    const asked = endpoint(0).requests.length;
    await page.getByLabel('city').fill('');
    await button('Run').click();
    await page.getByLabel('city').and(page.locator(':focus')).waitFor();
    await page.getByLabel('city').fill('Bergen');
    await page.context().request.post(`${service.url}/pages/logout`);
    await page.reload();
    await pages.signInOn(page, { key: service.apiKey });
    await expect.poll(async () => page.getByLabel('city').inputValue()).toBe('Bergen');
    expect(endpoint(0).requests.length).toBe(asked);
    await button('Start over').click();
    await expect.poll(() => message(1).inputValue()).toBe('');
    expect(await model(2).count()).toBe(0);
    await button('Bring back what was typed').click();
    await expect.poll(() => message(1).inputValue()).toBe('Where is {{city}}?');
    await expect.poll(() => model(2).getByLabel('Temperature').inputValue()).toBe('0.5');
  });

  test('five models stand side by side at any width of a screen, and a call says what was asked before a change', async () => {
    await goTo();
    await message(1).fill('Where is Oslo?');
    await model(1).getByLabel('Model', { exact: true }).fill('model-0');
    for (let n = 2; n <= 5; n++) await button('Add a model').click();
    const boxes = () => Promise.all([1, 2, 3, 4, 5].map(async (n) => model(n).boundingBox()));
    for (const width of [1_024, 1_440, 2_560]) {
      await page.setViewportSize({ width, height: 900 });
      expect(new Set((await boxes()).map((box) => box?.y)).size, `rows at ${width}`).toBe(1);
      const fields = await model(1)
        .locator('input')
        .evaluateAll((all) =>
          all.map((one) => {
            const { left, right, top } = (
              one as unknown as { getBoundingClientRect(): { left: number; right: number; top: number } }
            ).getBoundingClientRect();
            return { left, right, top };
          }),
        );
      const beside = fields.filter(({ top }) => top === fields.at(-1)?.top);
      for (const [index, { left }] of beside.slice(1).entries()) expect(left).toBeGreaterThan(beside[index]?.right ?? 0);
    }
    await page.setViewportSize({ width: 1_440, height: 900 });
    endpoint(0).next(...Array.from({ length: 5 }, () => says('In Norway')));
    await button('Run').click();
    for (const n of [1, 2, 3, 4, 5]) await model(n).getByText('Finished', { exact: true }).waitFor();
    await message(1).fill('Where is Bergen?');
    await state(5, 'Finished, before the last change');
    await message(1).fill('Where is Oslo?');
    await model(5).getByText('Finished', { exact: true }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Earlier calls' }).click();
    // They are stored a moment after they have finished.
    await expect
      .poll(async () => {
        await page.reload();
        await page.getByRole('grid').or(page.getByText('Nothing is logged here yet')).first().waitFor();
        return page.getByText('Where is Oslo?').count();
      })
      .toBeGreaterThan(0);
  });

  test('a call of tools in a conversation is asked again as it was, and pictures of a record are said to be text', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'find_city', arguments: '{"name":"Oslo"}' } };
    const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const input = [
      { role: 'user', content: [{ type: 'text', text: 'Where is it?' }, picture] },
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', content: 'Norway', tool_call_id: 'call_1' },
    ];
    const spans = [{ type: 'llm', name: 'ask', model: 'model-0', input, output: 'In Norway' }];
    const [trace] = await project.log([{ name: 'answer', input: 'q', output: 'a', spans }]);
    await page.goto(`${service.url}/console/p/${project.id}/traces/${trace}`);
    await page
      .getByRole('treeitem', { name: /ask/ })
      .or(page.getByRole('row', { name: /ask/ }))
      .first()
      .click();
    await page.getByRole('link', { name: 'Try in the playground' }).click();
    await page.getByText('Pictures and files of the record are text here').waitFor();
    await page.getByText('calls find_city({"name":"Oslo"})').waitFor();
    endpoint(0).next(says('In Norway'));
    await button('Run').click();
    await state(1, 'Finished');
    expect(endpoint(0).requests.at(-1)?.body).toMatchObject({
      messages: [{ role: 'user' }, { role: 'assistant', tool_calls: [call] }, input[2]],
    });
  });

  test('who is signed out by the time of a call finds the page as it was after signing in', async () => {
    await goTo();
    await twoModels();
    endpoint(0).next(says('In Norway'));
    endpoint(1).next(says('In the north'));
    await button('Run').click();
    await state(1, 'Finished');
    await state(2, 'Finished');
    await page.getByLabel('city').fill('Bergen');
    // Ended before the click, another question of the page may lead to the sign-in first.
    await page.route('**/playground_calls', async (route) => {
      await page.context().request.post(`${service.url}/pages/logout`);
      await route.fulfill({ status: 401, json: { detail: 'the token has ended' } });
    });
    await button('Run').click();
    await page.getByRole('heading', { name: 'Sign in to Assay' }).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await pages.signInOn(page, { key: service.apiKey });
    await model(1).getByText('In Norway').waitFor();
    await state(2, 'Finished, before the last change');
    await expect.poll(() => page.getByLabel('city').inputValue()).toBe('Bergen');
  });

  test('a model call of a trace brings its messages and its model, and becomes a prompt', async () => {
    const input = [
      { role: 'system', content: 'Answer in {{one}} word.' },
      { role: 'user', content: 'Where is Oslo?' },
    ];
    const spans = [{ type: 'llm', name: 'ask', model: 'model-0', input, output: { role: 'assistant', content: 'In Sweden' } }];
    const [trace] = await project.log([{ name: 'answer', input: 'q', output: 'a', spans }]);
    await page.goto(`${service.url}/console/p/${project.id}/traces/${trace}`);
    await page
      .getByRole('treeitem', { name: /ask/ })
      .or(page.getByRole('row', { name: /ask/ }))
      .first()
      .click();
    await page.getByRole('link', { name: 'Try in the playground' }).click();
    await expect.poll(() => message(1).inputValue()).toBe('Answer in \\{{one}} word.');
    await expect.poll(() => model(1).getByLabel('Model', { exact: true }).inputValue()).toBe('model-0');
    await page.getByText('None yet').waitFor();
    endpoint(0).next(says('In Norway'));
    await button('Run').click();
    await state(1, 'Finished');
    expect(endpoint(0).requests.at(-1)?.body).toMatchObject({ messages: input });
    await button('Compare outputs').click();
    await page.locator('del', { hasText: 'Sweden' }).waitFor();
    const name = `of a trace ${newId()}`;
    await button('Save as a prompt').click();
    await page.getByLabel('Find or name one').fill(name);
    await button(`Make “${name}”`).click();
    await page.getByRole('link', { name: `${name}, version 1` }).waitFor();
    await model(1).getByText('In Norway').waitFor();
    await page.reload();
    await page.getByRole('link', { name: `${name}, version 1` }).waitFor();
    expect(await getPrompt({ client: service.client, name })).toMatchObject({
      all_versions: [{ template: [{ content: 'Answer in \\{{one}} word.' }, {}], settings: { model_alias: 'model-0' } }],
    });
  });

  test('a row of a dataset fills in the variables, the next one too, and what is typed goes before it', async () => {
    const content = [
      { input: '{"city": "Oslo", "in": "one word"}', output: 'Norway' },
      { input: '{"city": "Rome", "in": "two words"}', output: 'Italy' },
    ];
    const name = `cities ${newId()}`;
    const { id } = await createDataset({ client: service.client, projectId: project.id, name, content });
    await page.goto(`${service.url}/console/datasets/${id}?project=${project.id}`);
    await page.getByRole('checkbox', { name: 'Choose row 2' }).click();
    await page.getByRole('link', { name: 'Try in the playground' }).click();
    await message(1).fill('Where is {{city}}, in {{in}}? Say it as {{language}}.');
    await expect.poll(async () => page.getByLabel('city').inputValue()).toBe('Rome');
    await page.getByLabel('language').fill('English');
    await page.getByLabel('in', { exact: true }).fill('short');
    await button('The row before').click();
    await expect.poll(async () => page.getByLabel('city').inputValue()).toBe('Oslo');
    await expect.poll(() => page.getByLabel('in', { exact: true }).inputValue()).toBe('short');
    await button('Take the row’s in').click();
    await expect.poll(() => page.getByLabel('in', { exact: true }).inputValue()).toBe('one word');
    await model(1).getByLabel('Model', { exact: true }).fill('model-0');
    endpoint(0).next(says('Norway'));
    await button('Run').click();
    await state(1, 'Finished');
    expect(endpoint(0).requests.at(-1)?.body).toMatchObject({
      messages: [{ content: 'Where is Oslo, in one word? Say it as English.' }],
    });
    await page.reload();
    await expect.poll(async () => page.getByLabel('city').inputValue()).toBe('Oslo');
  });

  test('from a failing row of an experiment to a changed prompt that runs on the dataset', async () => {
    const { client } = service;
    const content = ['Oslo', 'Rome'].map((city) => ({ input: JSON.stringify({ city }), output: 'x' }));
    const dataset = await createDataset({ client, projectId: project.id, name: `of failures ${newId()}`, content });
    const name = `where ${newId()}`;
    const template = [{ role: 'user', content: 'Where is {{city}}?' }];
    const prompt = await createPrompt({ client, projectId: project.id, name, template, settings: { modelAlias: 'model-0' } });
    endpoint(0).otherwise((request, response) =>
      (request.text.includes('Rome') ? fails(400) : says('In Norway'))(request, response),
    );
    const { experiment } = await runExperiment({
      client,
      projectId: project.id,
      experimentName: 'fails',
      dataset,
      promptTemplate: prompt,
    });
    await page.goto(`${service.url}/console/p/${project.id}/experiments/${experiment.id}?sort=-status_code`);
    endpoint(0).otherwise(says('ok'));

    let clicks = 0;
    const click = async (one: Locator) => {
      clicks++;
      await one.click();
    };
    clicks++;
    await openRow(page.getByRole('grid').getByRole('row').nth(1));
    await click(page.getByRole('link', { name: 'Try in the playground' }));
    await page.getByRole('link', { name: `${name}, version 1` }).waitFor();
    await expect.poll(async () => page.getByLabel('city').inputValue()).toBe('Rome');
    await message(1).fill('Which country is {{city}} in?');
    await page.keyboard.press('Control+Enter');
    await state(1, 'Finished');
    expect(endpoint(0).requests.at(-1)?.body).toMatchObject({ messages: [{ content: 'Which country is Rome in?' }] });
    await click(button('Save and run on a dataset'));
    await page.waitForURL(/experiments\/new/);
    await expect.poll(async () => page.getByLabel('Dataset', { exact: true }).inputValue()).toBe(dataset.id);
    expect(await getPrompt({ client, id: prompt.id })).toMatchObject({
      selected_version: { version: 1 },
      max_version: 2,
      all_versions: expect.arrayContaining([
        expect.objectContaining({ version: 2, settings: expect.objectContaining({ model_alias: 'model-0' }) }),
      ]),
    });
    await click(button('Start'));
    await page.waitForURL(/experiments\/[0-9a-f-]{36}/);
    const [, experimentId = ''] = /experiments\/([0-9a-f-]{36})/.exec(page.url()) ?? [];
    await experimentOf(client, project.id, experimentId).end();
    expect(await client.send(`/projects/${project.id}/experiments/${experimentId}`)).toMatchObject({
      dataset: { dataset_id: dataset.id },
      prompt: { prompt_template_id: prompt.id, version_index: 2 },
    });
    expect(clicks).toBe(4);
  });

  test('a viewer reads what is tried, and sees why nothing runs', async () => {
    const name = `shown ${newId()}`;
    const prompt = await createPrompt({ client: service.client, projectId: project.id, name, template: 'Where is {{city}}?' });
    await goTo(`?prompt=${prompt.id}`);
    await page.getByRole('link', { name: `${name}, version 1` }).waitFor();
    await others.openLink(project.id, page.url(), async (other) => {
      await other.getByText('only owners and editors of the project run them').waitFor();
      expect(await other.getByLabel('Message 1', { exact: true }).inputValue()).toBe('Where is {{city}}?');
      for (const one of ['Run', 'Save as a prompt', 'Save as version 2'])
        expect(await other.getByRole('button', { name: one, exact: true }).count()).toBe(0);
    });
  });
});
