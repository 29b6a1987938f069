import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  addPromptVersion,
  createDataset,
  createPrompt,
  deleteDataset,
  getExperiments,
  getRunSettings,
  watchExperiment,
} from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ExperimentResponse } from '../../shared/wire/experiments.ts';
import { axeViolations, type ConsoleBrowser } from '../support/consoleBrowser.ts';
import { type ConsoleOthers, consoleOthers } from '../support/consoleOthers.ts';
import { describeConsole } from '../support/describeConsole.ts';
import { type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { startRecordingProxy } from '../support/recordingProxy.ts';
import type { TestProject, TestService } from '../support/testService.ts';
import { typedIn } from '../support/typedIn.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

describeConsole('the form that starts an experiment', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let others: ConsoleOthers;
  let endpoint: ModelEndpoint;
  let project: TestProject;
  let page: Page;
  let dataset: { id: string; name: string };
  let prompt: { id: string; name: string };
  let clicks: number;
  const house = `house-${newId()}`;
  const [priced, unpriced] = [`${house}-priced`, `${house}-unpriced`];

  beforeAll(async () => {
    // An unknown model is refused, and one test has answers get lost.
    ({ service, pages } = await open({ expected: /status of 422|ERR_FAILED/ }));
    others = consoleOthers(pages, service);
    endpoint = await startModelEndpoint();
    endpoint.otherwise(says('Paris'));
    const { id } = await service.client.send<{ id: string }>(`/integrations/custom/${house}`, {
      method: 'PUT',
      body: { endpoint: endpoint.url, authentication_type: 'none', models: [priced, unpriced] },
    });
    const prices = [{ model: priced, input: 10, output: 100 }];
    await service.client.send(`/integrations/${id}/prices`, { method: 'PUT', body: { prices } });
    page = await pages.signedIn({ key: service.apiKey }, { permissions: ['clipboard-read', 'clipboard-write'] });
  });
  afterAll(() => endpoint?.close());
  beforeEach(async () => {
    const { client } = service;
    project = await service.project();
    clicks = 0;
    const content = Array.from({ length: 12 }, (_, index) => ({
      input: `question ${index}`,
      output: 'Paris',
      level: `${index % 3}`,
    }));
    dataset = await createDataset({ client, projectId: project.id, name: `capitals ${newId()}`, content });
    const settings = { modelAlias: priced, maxTokens: 50 };
    prompt = await createPrompt({
      client,
      projectId: project.id,
      name: `ask ${newId()}`,
      template: 'Answer: {{input}}',
      settings,
    });
  });

  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
  const link = (name: string) => page.getByRole('link', { name, exact: true });
  const label = (name: string) => page.getByLabel(name, { exact: true });
  const cost = () => page.getByRole('region', { name: 'What it will cost' });
  const show = (query = '') => page.goto(`${service.url}/console/p/${project.id}/experiments/new${query}`);
  /** As somebody with a mouse does it: a list opens with one click, and a second one chooses. */
  const click = async (on: ReturnType<typeof link>) => {
    clicks++;
    await on.click();
  };
  const choose = async (name: string, value: string) => {
    clicks += 2;
    await label(name).selectOption(value);
  };
  const started = async () => {
    await page.waitForURL(/experiments\/[0-9a-f-]{36}/);
    const experimentId = page.url().split('/').at(-1)?.slice(0, 36) ?? '';
    const of = { client: service.client, projectId: project.id, experimentId };
    await watchExperiment(of);
    const experiment = await service.client.send<ExperimentResponse>(`/projects/${project.id}/experiments/${experimentId}`);
    return { experiment, run: await getRunSettings(of) };
  };
  const count = async () => (await getExperiments({ client: service.client, projectId: project.id })).length;

  test('six clicks lead from the list to a run that goes on, with its cost before it starts', async () => {
    await page.goto(`${service.url}/console/p/${project.id}/experiments`);
    await click(link('New experiment').first());
    await choose('Dataset', dataset.id);
    await choose('Prompt', prompt.id);
    // 12 × (19 or 20 characters → 5 tokens in, 5 characters → 2 tokens out).
    await cost().getByText('12 rows × 1 trial = 12 executions').waitFor();
    await cost().getByText('About $0.003').waitFor();
    await cost()
      .getByRole('row', { name: new RegExp(`${priced} 12 60 → 24`) })
      .waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await click(button('Start'));
    const { experiment, run } = await started();
    expect(clicks).toBe(6);
    expect(experiment).toMatchObject({ state: 'completed', name: `${prompt.name} on ${dataset.name}`, prompt_model: priced });
    expect(run).toMatchObject({ row_count: 12, trials: 1, settings: { concurrency: 20 } });
    await page.getByRole('heading', { name: experiment.name }).waitFor();
    expect(endpoint.requests.at(-1)?.body).toMatchObject({ model: priced, max_tokens: 50 });
  });

  test('the button to start stays in its place as the cost comes', async () => {
    const held = Promise.withResolvers<void>();
    await page.route('**/experiments/estimate', async (route) => {
      await held.promise;
      await route.continue();
    });
    await show(`?dataset=${dataset.id}&prompt=${prompt.id}`);
    await cost().getByText('Estimating …').waitFor();
    const before = await button('Start').boundingBox();
    held.resolve();
    await cost().getByText('About $0.003').waitFor();
    expect(await button('Start').boundingBox()).toEqual(before);
    await page.unroute('**/experiments/estimate');
  });

  test('a dataset and a version of a prompt are run from their pages, and an experiment again with changes', async () => {
    await addPromptVersion({
      client: service.client,
      id: prompt.id,
      template: 'In one word: {{input}}',
      settings: { modelAlias: priced },
    });
    await page.goto(`${service.url}/console/datasets/${dataset.id}?project=${project.id}`);
    await click(link('Run on this dataset'));
    await choose('Prompt', prompt.id);
    await label('Which rows').selectOption('sample');
    await label('How many').fill('4');
    await label('Trials of each row').fill('2');
    await page.getByRole('checkbox', { name: /^Exact match/i }).check();
    await page.getByText('Speed, limits and failures').click();
    await label('Rows at a time').fill('3');
    await button('Add a tag').click();
    await label('Key of tag 1').fill('branch');
    await label('Value of tag 1').fill('main');
    await button('Add a tag').click();
    await label('Key of tag 2').fill('why');
    await label('Value of tag 2').fill('a try');
    await button('Start').click();
    const first = await started();
    expect(first.run).toMatchObject({
      row_count: 8,
      trials: 2,
      settings: { concurrency: 3 },
      metrics: [{ name: 'exact_match' }],
    });
    expect(first.experiment.row_selection).toMatchObject({ selected: 4, sample: { size: 4, seed: 0 } });

    await link('Run again with changes').click();
    await expect.poll(() => label('Trials of each row').inputValue()).toBe('2');
    await expect.poll(() => label('Which rows').inputValue()).toBe('same');
    await expect.poll(() => label('Key of tag 1').inputValue()).toBe('why');
    await expect.poll(() => page.getByRole('checkbox', { name: /^Exact match/i }).isChecked()).toBe(true);
    await label('Trials of each row').fill('1');
    await button('Start').click();
    const again = await started();
    expect(again.experiment.series).toBe(first.experiment.series);
    expect(again.experiment.id).not.toBe(first.experiment.id);
    expect(again.experiment.row_selection).toMatchObject({ selected: 4, same_as: first.experiment.id });
    expect(Object.keys(again.experiment.tags)).toEqual(['why']);

    await page.goto(`${service.url}/console/prompts/${prompt.id}?project=${project.id}&version=2`);
    await link('Run this version on a dataset').click();
    await expect.poll(() => label('Version of the prompt').inputValue()).toBe('2');
    await label('Dataset').selectOption(dataset.id);
    await button('Start').click();
    expect((await started()).experiment.prompt?.version_index).toBe(2);
  });

  test('code and command, copied, compile and send the same as the form', async () => {
    await show(`?dataset=${dataset.id}&prompt=${prompt.id}`);
    await label('Name').fill(`it's "quoted" ${newId()}`);
    await label('Group').fill('tries');
    await label('Which rows').selectOption('filter');
    await label('Column').selectOption('level');
    await label('Text').fill('2');
    await label('Model').fill(unpriced);
    await page.getByText('Settings of the model').click();
    await label('Temperature').fill('0.5');
    await page.getByText('Speed, limits and failures').click();
    await label('Seconds for a row').fill('30');
    await label('Model calls a minute').fill('600');
    await page.getByRole('checkbox', { name: /^Exact match/i }).check();
    await cost().getByText('Not known').waitFor();
    await cost().getByText(`no price is known of the model "${house}/${unpriced}"`).waitFor();
    const copied = async (tab: string, copy: string) => {
      await page.getByRole('tab', { name: tab }).click();
      await button(copy).click();
      await button('Copied').waitFor();
      return (await page.evaluate('navigator.clipboard.readText()')) as string;
    };
    const code = await copied('TypeScript', 'Copy the code');
    const command = await copied('Command line', 'Copy the command');
    const sent: { path: string; body: unknown }[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST' && /\/(experiments|run)$/.test(request.url()))
        sent.push({ path: request.url(), body: request.postDataJSON() });
    });
    await button('Start').click();
    await started();
    const [created, begun] = sent.map(({ body }) => body);
    expect(created).toMatchObject({ prompt_settings: { model_alias: unpriced, temperature: 0.5, max_tokens: 50 } });
    expect(begun).toMatchObject({ row_time_limit_ms: 30_000, limits: { requests_per_minute: 600 } });

    const { folder, environment } = typedIn(service, project);
    mkdirSync(join(folder, 'bin'));
    writeFileSync(join(folder, 'bin/assay'), `#!/bin/sh\nexec "${process.execPath}" "${root}/cli/main.ts" "$@"\n`);
    chmodSync(join(folder, 'bin/assay'), 0o755);
    const env = { ...environment, HOME: folder, PATH: `${join(folder, 'bin')}:${process.env.PATH}` };
    const named = (bodies: unknown[]) => {
      const [body] = bodies as { name?: string }[];
      return { ...body, ...(body?.name === undefined ? {} : { name: body.name.replace(/ \d{4}-\d\d-\d\d at [\d:.]+$/, '') }) };
    };
    for (const starts of [asProgram, asCommand]) {
      await using proxy = await startRecordingProxy(service.url);
      await starts(proxy.url);
      expect(named(proxy.sent(/\/experiments$/))).toEqual(created);
      expect(named(proxy.sent(/\/run$/))).toEqual(begun);
    }
    const options = { strict: true, noEmit: true, module: 'nodenext', target: 'es2024', skipLibCheck: true, types: ['node'] };
    const paths = { '@assay/client': [join(root, 'client/index.ts')] };
    const compilerOptions = {
      ...options,
      paths,
      allowImportingTsExtensions: true,
      typeRoots: [join(root, 'node_modules/@types')],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    const compiled = run(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).catch((err: { stdout: string }) => err);
    expect((await compiled).stdout).toBe('');

    async function asProgram(url: string) {
      const file = join(folder, 'program.ts');
      writeFileSync(file, code);
      writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
      const there = code.replaceAll(service.url, url).replace('@assay/client', './client/index.ts');
      const moved = join(folder, 'moved.mts');
      writeFileSync(moved, there);
      const { stdout } = await run(process.execPath, [moved], { env });
      expect(stdout).toContain('/experiments/');
    }
    async function asCommand(url: string) {
      await run('bash', ['-c', command.replaceAll(service.url, url)], { cwd: folder, env });
    }
  });

  test('what is missing or wrong stands beside its field, and nothing that was typed is lost', async () => {
    await show();
    await button('Start').click();
    await page.getByText('Choose the dataset whose rows are run.').waitFor();
    await label('Dataset').and(page.locator(':focus')).waitFor();
    await label('Dataset').selectOption(dataset.id);
    await label('Prompt').selectOption(prompt.id);
    await label('Trials of each row').fill('101');
    await page.getByText('A whole number from 1 to 100.').waitFor();
    await label('Trials of each row').fill('1');
    await label('Model').fill(`${house}-price`);
    await page.getByRole('alert').filter({ hasText: priced }).waitFor();
    await expect.poll(() => label('Model').getAttribute('aria-invalid')).toBe('true');
    await label('Model').fill('');
    await label('Which rows').selectOption('filter');
    await label('Text').fill('no row has this');
    await page.getByText('none of the 12 rows is selected').waitFor();
    await label('Which rows').selectOption('first');
    await page.reload();
    await expect.poll(() => label('Which rows').inputValue()).toBe('first');
    await expect.poll(() => label('Dataset').inputValue()).toBe(dataset.id);
    await label('Name').fill('kept');
    await page.context().request.post(`${service.url}/pages/logout`);
    await page.reload();
    await pages.signInOn(page, { key: service.apiKey });
    await expect.poll(() => label('Name').inputValue()).toBe('kept');
    await cost().getByText('10 executions').waitFor();
    await deleteDataset({ client: service.client, id: dataset.id });
    await button('Start').click();
    await page
      .getByRole('alert')
      .filter({ hasText: /dataset/ })
      .first()
      .waitFor();
    await expect.poll(() => label('Dataset').getAttribute('aria-invalid')).toBe('true');
    expect(await label('Name').inputValue()).toBe('kept');
    expect(await count()).toBe(0);
  });

  test('a mistake in a closed part is shown, a dataset without answers is no runner, and discarded changes come back', async () => {
    await show(`?dataset=${dataset.id}`);
    const focused = page.locator(':focus');
    await label('Runner').selectOption('http');
    await label('Address').fill('http://127.0.0.1:9/answer');
    const limits = page.getByText('Speed, limits and failures');
    await limits.click();
    await label('Rows at a time').fill('0');
    await limits.click();
    await button('Start').click();
    await label('Rows at a time').and(focused).waitFor();
    await page.getByText('A whole number from 1 to 1,000.').waitFor();
    await label('Rows at a time').fill('20');
    await button('Add a tag').click();
    await page.getByLabel('Key of tag 1').and(focused).fill('reason');
    await button('Start').click();
    await page.getByLabel('Value of tag 1').and(focused).waitFor();
    await page.getByLabel('Value of tag 1').fill('a try');
    await cost().getByText('12 executions').waitFor();
    await label('Runner').selectOption('dataset_outputs');
    await page.getByText('The dataset has no column generated_output').waitFor();
    await expect.poll(() => label('Runner').getAttribute('aria-invalid')).toBe('true');
    await cost().getByText('once the marked fields are right').waitFor();
    await button('Discard changes').click();
    await expect.poll(() => label('Runner').inputValue()).toBe('prompt_template');
    await button('Bring changes back').click();
    await expect.poll(() => label('Runner').inputValue()).toBe('dataset_outputs');
    expect(await page.getByLabel('Value of tag 1').inputValue()).toBe('a try');
  });

  test('a metric that is chosen stays where it is, and is named above the list', async () => {
    await show();
    const metric = page.getByRole('checkbox', { name: /^BLEU/ });
    const named = page.getByText('1 chosen: BLEU');
    const place = () => metric.evaluate((box) => [...box.ownerDocument.querySelectorAll('[type=checkbox]')].indexOf(box));
    const before = await place();
    await metric.check();
    await named.waitFor();
    expect(await place()).toBe(before);
    await page.reload();
    await named.waitFor();
    await expect.poll(place).toBe(0);
  });

  test('who has no dataset, prompt or model is told where they come from', async () => {
    const [email, password] = [`${newId()}@example.com`, 'A-Password-of-a-beginner-1'];
    const { body } = await service.request('POST', '/users', { email, password, role: 'user' });
    const { id } = await service.project();
    await service.request('POST', `/projects/${id}/users`, [{ user_id: (body as { id: string }).id, role: 'owner' }]);
    const beginner = await pages.signedIn({ email, password });
    // Other tests have integrations, datasets and prompts that every account sees.
    await beginner.route('**/llm_integrations', (route) => route.fulfill({ json: {} }));
    const none = { datasets: [], templates: [], starting_token: 0, limit: 100, paginated: false, next_starting_token: null };
    await beginner.route(/\/(datasets|templates)\/query/, (route) => route.fulfill({ json: none }));
    await beginner.goto(`${service.url}/console/p/${id}/experiments/new`);
    await beginner.getByText('There is no dataset yet').getByRole('link', { name: 'make one' }).waitFor();
    await beginner.getByText('No model can be called yet').waitFor();
    expect(await axeViolations(beginner)).toEqual([]);
    await beginner.getByText('There is no prompt yet').getByRole('link', { name: 'playground' }).click();
    await beginner.getByText('whoever manages integrations connects a provider').waitFor();
  });

  test('a double click starts one run, and so does the same form after an answer that was lost', async () => {
    await show(`?dataset=${dataset.id}&prompt=${prompt.id}`);
    await cost().getByText('12 executions').waitFor();
    await page.route(/\/run$/, (route) => route.fetch().then(() => route.abort()));
    await button('Start').dblclick();
    await page.getByRole('alert').filter({ hasText: 'The service does not answer' }).waitFor();
    await page.unroute(/\/run$/);
    await page.reload();
    await cost().getByText('12 executions').waitFor();
    await button('Start').dblclick();
    await started();
    expect(await count()).toBe(1);
  });

  test('a metric that needs a reference says so before, and who may only read finds no way to start', async () => {
    const bare = await createDataset({
      client: service.client,
      projectId: project.id,
      name: `bare ${newId()}`,
      content: [{ input: 'a' }],
    });
    await show(`?dataset=${bare.id}&prompt=${prompt.id}`);
    await page.getByLabel('Find a metric').fill('exact');
    await page.getByLabel('Find a metric').press('Enter'); // which starts nothing
    await page.getByText('needs a reference: the dataset has no column').first().waitFor();
    await page.getByRole('checkbox', { name: /^Exact match/i }).check();
    await page.getByText('1 of 1 sampled rows get no value: the row has no reference output').waitFor();
    await others.openLink(project.id, `${service.url}/console/p/${project.id}/experiments/new`, async (other) => {
      await other.getByText('Your account starts no experiments here').waitFor();
      await other.goto(`${service.url}/console/p/${project.id}/experiments`);
      await other.getByText('No experiments yet').waitFor();
      expect(await other.getByRole('link', { name: 'New experiment' }).count()).toBe(0);
    });
  });
});
