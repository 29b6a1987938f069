import type { Page } from 'playwright-core';
import { createDataset, createExperiment, createJudge, createPrompt, ServiceClient } from '../client/index.ts';
import { CHROMIUM, consoleBrowser } from '../test/support/consoleBrowser.ts';
import { loggedExperiment } from '../test/support/loggedExperiments.ts';
import { openRow } from '../test/support/openRow.ts';
import { goals, note, noteAction, print, SLOW, type Times } from './consolePages.ts';
import { type LiveService, startLiveService } from './liveService.ts';
import { canTakeTimes, slowDown, timeAction, timeOpening } from './pageTimes.ts';

/** Rows of each of the two experiments that are compared, and of the dataset. */
const ROWS = 1_000;
/** Experiments, datasets and prompts of the project, and metrics beside those that are built in. */
const MANY = 100;
const JUDGES = 20;

interface TimedPage {
  name: string;
  /** Below the address of the console. */
  path: string;
  /** An expression that is true in the page when it can be used. */
  isUsable: string;
  /** One thing that people do on it, by the event that begins it; absent where they only read. */
  action?: {
    name: string;
    type: string;
    noted?: string;
    isThere: string;
    prepare?(page: Page): Promise<void>;
    act(page: Page): Promise<void>;
  };
}

/**
 * Times the pages of experiments, datasets, prompts, metrics, settings and the playground, over a project with many of each: `rounds` times each, first on
 * the machine as it is, then with the page's thread four times slower.
 */
export async function timeExperimentPages(rounds: number): Promise<void> {
  await using service = await startLiveService();
  const timed = pagesOf(service.target.projectId, await fillPages(service));
  await using pages = await consoleBrowser(CHROMIUM, service.url);
  const page = await pages.signedIn({ key: service.apiKey });
  await canTakeTimes(page);
  const all = async () => {
    const times: Times = new Map();
    for (const one of timed) for (let round = 0; round < rounds; round++) await timePage(page, service.url, one, times);
    return times;
  };
  print('as it is', await all());
  await slowDown(page, SLOW);
  print(`CPU ${SLOW} times slower`, await all());
}

async function timePage(page: Page, url: string, { name, path, isUsable, action }: TimedPage, times: Times): Promise<void> {
  note(times, `${name}, page usable`, goals.records, await timeOpening(page, `${url}/console${path}`, isUsable));
  if (!action) return;
  await action.prepare?.(page);
  noteAction(times, `${name}, ${action.name}`, await timeAction(page, { ...action, act: () => action.act(page) }));
}

interface Filled {
  baseline: string;
  candidate: string;
  dataset: string;
  prompt: string;
  judge: string;
}

/** Fills the project with what the pages show. */
export async function fillPages({ url, apiKey, target: { projectId } }: LiveService): Promise<Filled> {
  const client = new ServiceClient({ apiUrl: url, apiKey });
  const texts = (n: number) => ({ input: `What is ${n} times 7, and why?`, reference: String(n * 7) });
  const rows = (isRight: (n: number) => boolean) =>
    Array.from({ length: ROWS }, (_, n) => {
      const output = `It is ${isRight(n) ? n * 7 : n}, as it is a sum of ${n} sevens.`;
      const metrics = { is_right: isRight(n), score: (n % 10) / 10, duration_ns: 1e9 + n * 1e6, cost: 0.001 + n / 1e6 };
      return { ...texts(n), output, metrics };
    });
  const ids = { dataset: '', prompt: '', judge: '' };
  for (let n = 0; n < MANY; n++) {
    const { id } = await createExperiment({ client, projectId, experimentName: `experiment ${n}` });
    const traces = [{ name: 'row', input: 'q', output: 'a', metrics: { is_right: n % 2 === 0, score: n / MANY } }];
    await client.send(`/projects/${projectId}/traces`, { body: { experiment_id: id, traces, is_complete: true } });
    const content = Array.from({ length: n === 0 ? ROWS : 1 }, (_, row) => texts(row)).map(({ input, reference }) => ({
      ...{ input, output: reference },
    }));
    const dataset = await createDataset({ client, projectId, name: `dataset ${n}`, content });
    const prompt = await createPrompt({ client, projectId, name: `prompt ${n}`, template: 'What is {{input}}?' });
    if (n === 0) Object.assign(ids, { dataset: dataset.id, prompt: prompt.id });
  }
  for (let n = 0; n < JUDGES; n++)
    ids.judge = (await createJudge({ client, name: `judge ${n}`, instructions: 'Is it short?', direction: 'higher' })).id;
  const log = (name: string, isRight: (n: number) => boolean) => loggedExperiment({ client }, projectId, name, rows(isRight));
  return { ...ids, baseline: await log('baseline', () => true), candidate: await log('candidate', (n) => n % 4 !== 1) };
}

const FIRST = `document.querySelector('[role=grid] [aria-rowindex="2"]')?.textContent`;
const IS_NEW = `document.querySelector('[role=grid]')?.ariaBusy !== 'true'`;
const ARTICLE = `document.querySelector('article')?.textContent`;
const LINES = `document.querySelectorAll('main tbody tr').length`;
const VALUE = `document.activeElement?.value`;

const tab = (name: string, isThere: string) => ({
  ...{ name: `tab ${name}`, type: 'click', isThere },
  act: (page: Page) => page.getByRole('tab', { name }).click(),
});
/** Finds what has a seven in its name. */
const find = (label: string) => ({
  ...{ name: 'find', type: 'keydown', noted: LINES, isThere: `${LINES} > 0 && ${LINES} !== before` },
  prepare: (page: Page) => page.getByLabel(label, { exact: true }).focus(),
  act: (page: Page) => page.keyboard.press('7'),
});
const type = (label: string) => ({
  ...{ name: 'type a letter', type: 'keydown', noted: VALUE, isThere: `${VALUE} !== before` },
  prepare: (page: Page) => page.getByLabel(label, { exact: true }).focus(),
  act: (page: Page) => page.keyboard.press('x'),
});
const nextRow = { name: 'next row', type: 'keydown', noted: ARTICLE, isThere: `${ARTICLE} && ${ARTICLE} !== before` };

function pagesOf(projectId: string, { baseline, candidate, dataset, prompt, judge }: Filled): TimedPage[] {
  const project = `/p/${projectId}`;
  const press = (key: string) => (page: Page) => page.keyboard.press(key);
  const has = (label: string) =>
    `[...document.querySelectorAll('main label')].some((it) => it.textContent.startsWith('${label}'))`;
  return [
    {
      ...{ name: 'experiments', path: `${project}/experiments`, isUsable: FIRST },
      action: {
        ...{ name: 'sort', type: 'click', isThere: `${IS_NEW} && document.querySelector('[aria-sort=descending]') && ${FIRST}` },
        act: (page) => page.getByRole('columnheader', { name: 'is_right' }).getByRole('button').first().click(),
      },
    },
    {
      ...{ name: 'experiment', path: `${project}/experiments/${candidate}`, isUsable: FIRST },
      action: {
        ...nextRow,
        async prepare(page) {
          await openRow(page.getByRole('grid').getByRole('row').nth(1));
          await page.getByRole('article').waitFor();
        },
        act: press('j'),
      },
    },
    {
      ...{ name: 'comparison', path: `${project}/compare?base=${baseline}&with=${candidate}`, isUsable: ARTICLE },
      action: { ...nextRow, act: press('j') },
    },
    {
      ...{ name: 'start', path: `${project}/experiments/new?dataset=${dataset}`, isUsable: has('Which rows') },
      action: type('Name'),
    },
    {
      ...{ name: 'playground', path: `${project}/playground`, isUsable: has('Temperature') },
      action: type('Message 1'),
    },
    { ...{ name: 'metrics', path: `${project}/metrics`, isUsable: `${LINES} > 10` }, action: find('Find a metric') },
    { name: 'metric', path: `${project}/metrics/${judge}`, isUsable: `document.querySelector('main h1')` },
    { ...{ name: 'datasets', path: `${project}/datasets`, isUsable: `${LINES} > 10` }, action: find('Find a dataset') },
    {
      ...{ name: 'dataset', path: `/datasets/${dataset}?project=${projectId}`, isUsable: FIRST },
      action: tab('Versions', `${LINES} > 0`),
    },
    { ...{ name: 'prompts', path: `${project}/prompts`, isUsable: `${LINES} > 10` }, action: find('Find a prompt') },
    {
      ...{
        name: 'prompt',
        path: `/prompts/${prompt}?project=${projectId}`,
        isUsable: `/What is/.test(document.querySelector('main')?.textContent)`,
      },
      action: tab('Versions', `${LINES} > 0`),
    },
    {
      ...{ name: 'settings', path: '/settings/users', isUsable: `document.querySelector('main section li')` },
      action: {
        ...{ name: 'next section', type: 'click', isThere: `document.querySelector('main h1')?.textContent === 'Your account'` },
        act: (page) => page.getByRole('link', { name: 'Your account' }).click(),
      },
    },
  ];
}
