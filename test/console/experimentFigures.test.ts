import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  approveExperiment,
  createExperiment,
  createJudge,
  createPrompt,
  Logger,
  runExperiment,
  type ServiceClient,
} from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ConsoleBrowser } from '../support/consoleBrowser.ts';
import { type ConsoleOthers, consoleOthers } from '../support/consoleOthers.ts';
import { describeConsole } from '../support/describeConsole.ts';
import { fails, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import type { TestService } from '../support/testService.ts';

describeConsole('what the console says of a run that has ended', (open) => {
  let service: TestService;
  let client: ServiceClient;
  let pages: ConsoleBrowser;
  let others: ConsoleOthers;
  let page: Page;
  let endpoint: ModelEndpoint;
  let projectId: string;

  beforeAll(async () => {
    ({ service, pages } = await open());
    ({ client } = service);
    others = consoleOthers(pages, service);
    endpoint = await startModelEndpoint();
    endpoint.otherwise(says('{"reason": "it is", "verdict": true}'));
    page = await pages.signedIn({ key: service.apiKey });
    projectId = (await service.project()).id;
  });
  afterAll(() => endpoint?.close());

  const failing = () =>
    runExperiment({
      ...{ client, projectId, experimentName: 'every second <b>fails</b>' },
      dataset: [
        { input: 'one', output: 'ONE' },
        { input: '<script>two</script>', output: 'TWO' },
      ],
      function: (text: string) => {
        if (text.includes('two')) throw new Error('no <i>two</i>');
        return text.toUpperCase();
      },
      metrics: ['exact_match'],
    });
  const figuresOf = (id: string) => page.goto(`${service.url}/console/p/${projectId}/experiments/${id}?tab=figures`);
  const notes = () => page.getByRole('tabpanel').getByRole('listitem').allTextContents();

  test('the link of a result leads to its figures, its failed rows and Temporal, for who may see them', async () => {
    const { link } = await failing();
    await page.goto(link);
    await page.getByRole('heading', { name: 'every second <b>fails</b>' }).waitFor();
    await page.getByRole('heading', { name: '1 failed row' }).waitFor();
    await page.getByRole('region', { name: 'Failures' }).getByText('no <i>two</i>').first().waitFor();
    await page.getByText('<script>two</script>').first().waitFor();
    expect(await page.getByRole('link', { name: 'Temporal' }).getAttribute('href')).toContain(service.temporalUiUrl);
    await page.getByRole('tab', { name: 'Figures' }).click();
    await expect.poll(() => page.getByRole('row', { name: /Exact Match/ }).textContent()).toMatch(/100(\.0)? %.*1 left out/s);
    await others.openLink(projectId, link, (shown) =>
      shown.getByRole('heading', { name: 'every second <b>fails</b>' }).waitFor(),
    );
  });

  test('an old link, with the baseline that it names, leads to the comparison', async () => {
    const [first, second] = [await failing(), await failing()];
    const old = `${service.url}/projects/${projectId}/experiments/${second.experiment.id}`;
    await page.goto(`${old}?baseline=${first.experiment.id}`);
    await page
      .getByRole('row', { name: /exact.match.*no difference shown/is })
      .first()
      .waitFor();
    expect(new URL(page.url()).pathname).toBe(`/console/p/${projectId}/compare`);
    await page.goto(`${old}?tab=figures`);
    await page.getByRole('region', { name: 'Figures' }).waitFor();
    await page.goto(`${old}?baseline=${newId()}`);
    await page.getByRole('alert').first().waitFor();
  });

  test('a metric without a value has its reason', async () => {
    const { experiment } = await runExperiment({
      ...{ client, projectId, experimentName: 'misnamed' },
      dataset: [{ input: 'one', expected: 'one' }],
      function: (text: string) => text,
      metrics: ['exact_match'],
    });
    await figuresOf(experiment.id);
    await page.getByRole('region', { name: 'Figures' }).waitFor();
    await expect
      .poll(notes)
      .toEqual([
        expect.stringMatching(/^Exact Match has no value: the row has no reference output: .*, so rename "expected"\.$/),
      ]);
  });

  test('a model that judged its own answers is marked, and one that judged those of another is not', async () => {
    await client.send('/integrations/custom/local', {
      method: 'PUT',
      body: { endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: ['small-model', 'large-model'] },
    });
    const judge = (modelName: string) =>
      createJudge({
        client,
        name: `by ${modelName} ${newId()}`,
        instructions: 'Is it right?',
        direction: 'higher',
        settings: { model_name: modelName },
      });
    const [own, other] = await Promise.all([judge('small-model'), judge('large-model')]);
    const prompt = await createPrompt({
      ...{ client, projectId, name: `answers ${newId()}`, template: 'Answer {{input}}' },
      settings: { modelAlias: 'small-model' },
    });
    const { experiment } = await runExperiment({
      ...{ client, projectId, experimentName: 'judged', promptTemplate: { id: prompt.id } },
      dataset: [{ input: 'one' }],
      metrics: [own.id, other.id],
    });
    await figuresOf(experiment.id);
    await page.getByText('* judged by local/small-model, which gave the answers itself').waitFor();
    const figure = (name: string) => page.getByRole('row', { name }).getByRole('cell').first();
    await expect.poll(() => figure('by small-model').textContent()).toContain('*');
    expect(await figure('by large-model').textContent()).not.toContain('*');
    await page.goto(`${service.url}/console/p/${projectId}/experiments?q=name+%3D+judged`);
    const marked = page
      .getByRole('img', { name: /^by small-model/ })
      .locator('span')
      .first();
    await marked.filter({ hasText: '100.0 %*' }).waitFor();
    const cut = await marked.evaluate((element) => {
      const { scrollWidth, clientWidth } = element as unknown as { scrollWidth: number; clientWidth: number };
      return scrollWidth - clientWidth;
    });
    expect(cut).toBeLessThanOrEqual(0);
  });

  test('the rows say how often they were tried, in a column that sorts and where one is open, and a dash where nothing was run', async () => {
    await client.send('/integrations/custom/local', {
      method: 'PUT',
      body: { endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: ['small-model'] },
    });
    const prompt = await createPrompt({
      ...{ client, projectId, name: `tried ${newId()}`, template: 'Answer {{input}}' },
      settings: { modelAlias: 'small-model' },
    });
    endpoint.next(fails(500));
    const options = { client, projectId, concurrency: 1, dataset: [{ input: 'one' }, { input: 'two' }] };
    const tried = await runExperiment({
      ...options,
      experimentName: 'tried',
      promptTemplate: { versionId: prompt.selected_version_id },
    });
    const logged = await createExperiment({ client, projectId, experimentName: 'not run' });
    const logger = new Logger({ client, projectId, experimentId: logged.id });
    logger.startTrace('one').conclude('done');
    await logger.flush();
    const grid = page.getByRole('grid');
    const cellOf = (row: string) =>
      grid
        .getByRole('row')
        .filter({ has: page.getByRole('gridcell', { name: row, exact: true }) })
        .getByRole('gridcell')
        .last();
    const goTo = async (id: string) => {
      await page.goto(`${service.url}/console/p/${projectId}/experiments/${id}`);
      await grid.getByRole('columnheader', { name: 'Attempts' }).waitFor();
    };
    await goTo(tried.experiment.id);
    await cellOf('one').filter({ hasText: /^2$/ }).waitFor();
    await cellOf('two').filter({ hasText: /^1$/ }).waitFor();
    await grid.getByRole('columnheader', { name: 'Attempts' }).getByRole('button').first().click();
    await grid.locator('[aria-rowindex="2"]').filter({ hasText: 'one' }).waitFor();
    await cellOf('one').click();
    await page
      .getByRole('article')
      .locator('dl > div')
      .filter({ hasText: /^Attempts2$/ })
      .waitFor();
    await goTo(logged.id);
    await cellOf('one').click();
    await page
      .getByRole('article')
      .locator('dl > div')
      .filter({ hasText: /^Attempts–$/ })
      .waitFor();
  });

  test('rows that were logged and failed are counted with what they failed of', async () => {
    const { id } = await createExperiment({ client, projectId, experimentName: 'logged' });
    const logger = new Logger({ client, projectId, experimentId: id });
    for (const statusCode of [500, 404, 302])
      logger.startTrace('of a status', { metrics: { score: 1 } }).conclude('done', { statusCode });
    await logger
      .trace('broken', () => {
        throw new Error('no such thing');
      })
      .catch(() => undefined);
    await logger.flush();
    await page.goto(`${service.url}/console/p/${projectId}/experiments/${id}`);
    await page.getByRole('heading', { name: '3 failed rows' }).waitFor();
    const failures = page.getByRole('region', { name: 'Failures' });
    for (const cause of ['no such thing', 'status 404', 'status 500'])
      await expect.poll(() => failures.textContent()).toContain(cause);
  });

  test('the runs of its series are listed in order, with the one that was approved', async () => {
    const names = ['nightly', 'nightly 2026-11-01 at 10:00:00.000', 'nightly 2026-11-02 at 10:00:00.000', 'weekly'];
    const ids: string[] = [];
    for (const experimentName of names) ids.push((await createExperiment({ client, projectId, experimentName })).id);
    await approveExperiment({ client, projectId, experimentId: ids[1] as string });
    await figuresOf(ids[2] as string);
    const series = page.getByRole('region', { name: 'Runs of the series' });
    await expect.poll(() => series.getByRole('rowheader').allTextContents()).toEqual(names.slice(0, 3));
    const approved = series.getByRole('row').filter({ has: page.locator('td:last-child time') });
    await expect.poll(() => approved.getByRole('rowheader').allTextContents()).toEqual([names[1]]);
    await series.getByRole('link', { name: names[0] as string, exact: true }).click();
    await page.getByRole('heading', { name: names[0] as string, exact: true, level: 1 }).waitFor();
    await figuresOf(ids[3] as string);
    await page.getByText('There are no figures yet.').waitFor();
    expect(await series.count()).toBe(0);
  });
});
