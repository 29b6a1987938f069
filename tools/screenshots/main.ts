import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { ServiceClient } from '../../client/http.ts';
import { listIntegrations } from '../../client/index.ts';
import { builtinIdOf } from '../../shared/scorers/presets.ts';
import { CHROMIUM, type ConsoleBrowser, consoleBrowser } from '../../test/support/consoleBrowser.ts';
import { fails, says, startModelEndpoint } from '../../test/support/modelEndpoint.ts';
import { modelAt } from '../../test/support/runs.ts';
import { serviceFolder } from '../../test/support/serviceProcess.ts';
import { type Filled, fillProjects } from './fillProjects.ts';

/**
 * `npm run screenshots -- FOLDER [PART OF A NAME]`: pictures of every page of the console, or of those with such a name, in both themes and three widths,
 * for a person to look at.
 */

const widths = [320, 1_024, 1_920];
const themes = ['light', 'dark'] as const;

/** A page, with what is opened on it. */
interface View {
  path(filled: Filled): string;
  open?(page: Page): Promise<unknown>;
  /** Waits until all is there; without it, until nothing is loaded any more, which a page with a stream of events never is. */
  ready?(page: Page): Promise<unknown>;
}

const [folder, part = ''] = process.argv.slice(2);
const records = ({ projectId }: Filled) => `/p/${projectId}/records`;
const trace = ({ projectId, traceId }: Filled) => `/p/${projectId}/traces/${traceId}`;
const experiments = ({ projectId }: Filled) => `/p/${projectId}/experiments`;
const dataset = ({ projectId, datasetId }: Filled) => `/datasets/${datasetId}?project=${projectId}`;
const comparison = ({ comparison: filled }: Filled, sides: readonly ('worse' | 'close' | 'others')[]) =>
  `/p/${filled.projectId}/compare?base=${filled.base}&with=${JSON.stringify(sides.flatMap((side) => filled[side]))}`;
const prompt = ({ projectId, promptId }: Filled) => `/prompts/${promptId}?project=${projectId}`;
const experiment = ({ comparison: { projectId, worse } }: Filled) => `/p/${projectId}/experiments/${worse}`;
const button = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click();

async function dense(page: Page): Promise<void> {
  await page.locator('[popovertarget=preferences]').click();
  await page.getByLabel('Rows').selectOption('dense');
  await page.keyboard.press('Escape');
}

const metrics = ({ projectId }: Filled) => `/p/${projectId}/metrics`;

const views: Record<string, View> = {
  metrics: { path: metrics },
  'metric, new judge': {
    path: (filled) => `${metrics(filled)}/new`,
    open: (page) => page.getByLabel('What the judge is asked').pressSequentially('Does {{output}} answer {{in'),
  },
  'metric, built in': { path: (filled) => `${metrics(filled)}/${builtinIdOf('context_precision')}` },
  'metrics, found': { path: (filled) => `${metrics(filled)}?q=retriever&kind=judge` },
  projects: { path: () => '/' },
  'records of an empty project': { path: ({ emptyProjectId }) => `/p/${emptyProjectId}/records` },
  records: { path: records },
  spans: { path: (filled) => `${records(filled)}?kind=spans` },
  sessions: { path: (filled) => `${records(filled)}?kind=sessions` },
  'records, nothing fits': { path: (filled) => `${records(filled)}?q=name+%3D+nothing` },
  'records, filter with a mistake': { path: (filled) => `${records(filled)}?q=status_cod+%3D+500` },
  'records, completion': {
    path: records,
    open: (page) => page.getByLabel('Filter', { exact: true }).pressSequentially('status_code '),
  },
  'records, columns': { path: records, open: button('Columns') },
  'records, views': { path: records, open: button(/^Saved view/) },
  'records, times': { path: records, open: button(/^Time range/) },
  'records, chosen': {
    path: records,
    open: async (page) => {
      for (const index of [0, 1, 2])
        await page
          .getByRole('checkbox', { name: /^Choose (?!all)/ })
          .nth(index)
          .click();
    },
  },
  'record at the side': { path: (filled) => `${records(filled)}?open=${filled.traceId}` },
  trace: { path: trace },
  'trace, opened from the table': {
    path: (filled) => `${records(filled)}?open=${filled.traceId}`,
    open: (page) => page.getByRole('link', { name: 'Open the trace' }).click(),
  },
  'trace, a model call': { path: (filled) => `${trace(filled)}?span=${filled.spanId}` },
  'trace, JSON': { path: (filled) => `${trace(filled)}?span=${filled.spanId}&tab=json` },
  session: { path: ({ projectId, sessionId }) => `/p/${projectId}/sessions/${sessionId}` },
  'experiments of an empty project': { path: ({ emptyProjectId }) => `/p/${emptyProjectId}/experiments` },
  experiments: { path: experiments },
  'experiments, a series': { path: (filled) => `${experiments(filled)}?series=nightly` },
  'experiments, chosen': {
    path: experiments,
    open: async (page) => {
      for (const index of [1, 2])
        await page
          .getByRole('checkbox', { name: /^Choose / })
          .nth(index)
          .click();
    },
  },
  'experiments, name and tags': {
    path: (filled) => `${experiments(filled)}?series=nightly`,
    open: async (page) => {
      await page.getByRole('rowheader').first().waitFor();
      await page.keyboard.press('j');
      await page.getByRole('row', { selected: true }).waitFor();
      await page.keyboard.press('e');
      await page.getByRole('dialog').waitFor();
    },
  },
  datasets: { path: ({ projectId }) => `/p/${projectId}/datasets` },
  dataset: { path: dataset },
  'dataset, a cell': { path: dataset, open: (page) => page.getByRole('gridcell').first().dblclick() },
  'dataset, versions': { path: (filled) => `${dataset(filled)}&tab=versions&version=2` },
  'dataset, import': {
    path: dataset,
    async open(page) {
      await button('Import rows')(page);
      const text = 'question;expected;level\nWhat is 1,5 + 1?;2,5;easy\nshort;7\n';
      await page.getByLabel('File').setInputFiles({ name: 'quiz.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
      await page.getByRole('region', { name: 'Preview' }).waitFor();
    },
  },
  experiment: { path: experiment, ready: (page) => page.getByRole('grid').getByRole('row').nth(1).waitFor() },
  'experiment, a failed row': {
    path: (filled) => `${experiment(filled)}?sort=-status_code`,
    ready: (page) => page.getByRole('grid').getByRole('row').nth(1).waitFor(),
    open: async (page) => {
      await page.keyboard.press('j');
      await page.getByRole('article').waitFor();
    },
  },
  'experiment, figures': {
    path: (filled) => `${experiment(filled)}?tab=figures`,
    ready: (page) => page.getByRole('table').first().waitFor(),
  },
  'experiment, setup': {
    path: (filled) => `${experiment(filled)}?tab=setup`,
    ready: (page) => page.getByRole('region', { name: 'Data' }).waitFor(),
  },
  'comparison, chosen': { path: ({ comparison: { projectId } }) => `/p/${projectId}/compare` },
  comparison: { path: (filled) => comparison(filled, ['worse']) },
  'comparison, rows': {
    path: (filled) => comparison(filled, ['worse']),
    open: (page) => page.getByRole('article', { name: 'Row' }).scrollIntoViewIfNeeded(),
  },
  'comparison, what would decide it': { path: (filled) => comparison(filled, ['close']) },
  'comparison, slices': {
    path: (filled) => `${comparison(filled, ['worse'])}&slice=dataset_metadata/topic`,
    open: (page) => page.getByRole('region', { name: /^Slices by/ }).scrollIntoViewIfNeeded(),
  },
  'comparison, several': { path: (filled) => comparison(filled, ['worse', 'close', 'others']) },
  'comparison, nothing there': {
    path: ({ comparison: { projectId, base } }) => `/p/${projectId}/compare?base=${base}&with=none`,
  },
  'start, empty': { path: ({ projectId }) => `/p/${projectId}/experiments/new` },
  'start, filled in': {
    path: ({ projectId, datasetId }) => `/p/${projectId}/experiments/new?dataset=${datasetId}`,
    open: async (page) => {
      await page.getByLabel('Runner').selectOption('http');
      await page.getByLabel('Address').fill('http://127.0.0.1:9/answer');
      await page.getByRole('checkbox', { name: /^Correctness/ }).check();
      await page.getByRole('checkbox', { name: /^Exact match/i }).check();
      await page.getByText('Speed, limits and failures').click();
      await page.getByRole('button', { name: 'Add a tag' }).click();
      await page.getByRole('tab', { name: 'Command line' }).click();
    },
  },
  'start, with mistakes': {
    path: ({ projectId, promptId }) => `/p/${projectId}/experiments/new?prompt=${promptId}`,
    open: async (page) => {
      await page.getByLabel('Trials of each row').fill('101');
      await page.getByRole('button', { name: 'Start' }).click();
    },
  },
  prompts: { path: ({ projectId }) => `/p/${projectId}/prompts` },
  prompt: { path: prompt },
  'prompt, a new version': { path: prompt, open: button('Write a new version') },
  'prompt, versions': { path: (filled) => `${prompt(filled)}&tab=versions&version=2` },
  playground: { path: ({ projectId }) => `/p/${projectId}/playground` },
  'playground, answers': {
    path: ({ projectId, spanId }) => `/p/${projectId}/playground?from=span/${spanId}`,
    async open(page) {
      const model = (n: number) => page.getByRole('region', { name: new RegExp(`^Model ${n}`) });
      await model(1).getByLabel('Model', { exact: true }).fill('small');
      await button('Add a model')(page);
      await model(2).getByLabel('Model', { exact: true }).fill('large');
      await button('Run')(page);
      for (const n of [1, 2])
        await model(n)
          .getByRole('status')
          .filter({ hasText: /Finished|Failed/ })
          .waitFor();
    },
  },
  'playground, more settings': {
    path: ({ projectId }) => `/p/${projectId}/playground`,
    async open(page) {
      await button(/^More settings/)(page);
      await page.getByLabel('Top p').fill('2');
    },
  },
  'playground, a prompt': {
    path: ({ projectId, promptId, datasetId }) => `/p/${projectId}/playground?prompt=${promptId}&from=row/${datasetId}/1/0`,
    async open(page) {
      await page.getByLabel('Message 1', { exact: true }).fill('Answer in one sentence: {{input}} {{tone}}');
      await page.getByLabel('tone').waitFor();
      await button('Add a model')(page);
    },
  },
  queues: { path: () => '/queues' },
  'queue, a record': { path: ({ queueId }) => `/queues/${queueId}` },
  'queue, results': { path: ({ queueId }) => `/queues/${queueId}?tab=results` },
  'queue, questions': { path: ({ queueId }) => `/queues/${queueId}?tab=questions` },
  'queue, people': { path: ({ queueId }) => `/queues/${queueId}?tab=people` },
  'session of many turns': { path: ({ projectId, talkId }) => `/p/${projectId}/sessions/${talkId}` },
  'media and tools': {
    path: ({ projectId, mediaTraceId, mediaSpanId }) => `/p/${projectId}/traces/${mediaTraceId}?span=${mediaSpanId}`,
  },
  'questions of a queue': { path: ({ projectId, ratedTraceId }) => `/p/${projectId}/traces/${ratedTraceId}` },
  'settings, integrations': { path: () => '/settings/integrations' },
  'settings, a new integration': { path: () => '/settings/integrations/new' },
  'settings, an integration': {
    path: ({ integrationId }) => `/settings/integrations/${integrationId}`,
    open: async (page) => {
      await button('Call it')(page);
      await page.getByText('It failed').waitFor();
    },
  },
  'settings, prices of an integration': {
    path: ({ integrationId }) => `/settings/integrations/${integrationId}`,
    open: (page) => page.getByRole('region', { name: 'People' }).scrollIntoViewIfNeeded(),
  },
  'settings, keys': {
    path: () => '/settings/keys',
    open: async (page) => {
      await page.getByLabel('What it is for').fill('pictures');
      await button('Make the key')(page);
      await page.getByRole('status', { name: 'The new key' }).waitFor();
    },
  },
  'settings, users': { path: () => '/settings/users' },
  'settings, groups': { path: () => '/settings/groups' },
  'settings, account': { path: () => '/settings/account' },
  'settings, prices': { path: () => '/settings/prices' },
  'settings, a project': { path: ({ projectId }) => `/settings/projects?project=${projectId}` },
  'settings, a shorter retention': {
    path: ({ projectId }) => `/settings/projects?project=${projectId}`,
    open: async (page) => {
      await page.getByLabel('Days to keep').fill('30');
      await button('Change it')(page);
      await page.getByRole('dialog').waitFor();
    },
  },
  'settings, limits': { path: ({ projectId }) => `/settings/limits?project=${projectId}` },
  'settings, health': { path: () => '/settings/health' },
  'records, dense rows': { path: records, open: dense },
  'trace, dense rows': { path: trace, open: dense },
  account: { path: records, open: (page) => page.locator('[popovertarget=preferences]').click() },
  'no such page': { path: ({ projectId }) => `/p/${projectId}/nothing` },
  'nothing there': { path: ({ projectId }) => `/p/${projectId}/traces/00000000-0000-4000-8000-000000000000` },
  palette: { path: records, open: (page) => page.keyboard.press('Control+k') },
  help: { path: records, open: (page) => page.keyboard.press('?') },
};

const ANSWER =
  'The Tagus flows through Lisbon. The last flood that reached the old town was in November 1967.\n\nIf you plan a walk:\n- the river is widest at Parque das Nações\n- the lower streets of Alfama are the first to be under water';

async function takeAll(pages: ConsoleBrowser, url: string, apiKey: string, filled: Filled, folder: string): Promise<number> {
  let taken = 0;
  for (const colorScheme of themes)
    for (const width of widths) {
      const viewport = { width, height: 900 };
      const context = await pages.context({ viewport, colorScheme, reducedMotion: 'reduce' });
      const page = await pages.open(context);
      const take = async (name: string) => {
        await page.screenshot({ path: join(folder, `${name}, ${width}, ${colorScheme}.png`) });
        taken++;
      };
      await page.goto(`${url}/console`);
      await page.getByLabel('API key').waitFor();
      if ('sign-in'.includes(part)) await take('sign-in');
      await page.getByLabel('API key').fill(apiKey);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Projects' }).waitFor();
      for (const [name, view] of Object.entries(views).filter(([one]) => one.includes(part))) {
        await page.goto(`${url}/console${view.path(filled)}`, { waitUntil: view.ready ? 'load' : 'networkidle' });
        await view.ready?.(page);
        await view.open?.(page);
        await take(name);
        await page.evaluate('localStorage.clear()'); // the rows are dense on one page alone
      }
      await context.close();
    }
  return taken;
}

if (!folder) {
  console.error('Say where the pictures go, and which if not all: npm run screenshots -- FOLDER [PART OF A NAME]');
  process.exit(2);
}
await mkdir(folder, { recursive: true });
const data = await mkdtemp(join(tmpdir(), 'assay-screenshots-'));
const models = await startModelEndpoint();
const service = await (await serviceFolder(join(data, 'data'), {})).start();
try {
  const client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
  const filled = await fillProjects(client);
  models.otherwise((request, response) => (request.body.model === 'large' ? fails(400) : says(ANSWER))(request, response));
  await modelAt(client, 'in-house', `${models.url}/v1`, ['small', 'large']);
  // The money of the project is limited: a model without a price would be refused.
  const house = (await listIntegrations({ client })).find(({ name }) => name === 'in-house');
  const prices = ['small', 'large'].map((model) => ({ model, input: 0.5, output: 1.5 }));
  await client.send(`/integrations/${house?.id}/prices`, { method: 'PUT', body: { prices } });
  await using pages = await consoleBrowser(CHROMIUM, service.url);
  const taken = await takeAll(pages, service.url, service.apiKey, filled, folder);
  console.log(`${taken} pictures are in ${folder}`);
  for (const problem of pages.problems) console.log(`problem of a page: ${problem}`);
} finally {
  await service.kill('SIGTERM');
  await models.close();
  await rm(data, { recursive: true, force: true });
}
