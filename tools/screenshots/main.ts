import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { ServiceClient } from '../../client/http.ts';
import { CHROMIUM, type ConsoleBrowser, consoleBrowser } from '../../test/support/consoleBrowser.ts';
import { serviceFolder } from '../../test/support/serviceProcess.ts';
import { type Filled, fillProjects } from './fillProjects.ts';

/** `npm run screenshots -- FOLDER`: pictures of every page of the console, in both themes and three widths, for a person to look at. */

const widths = [320, 1_024, 1_920];
const themes = ['light', 'dark'] as const;

/** A page, with what is opened on it. */
interface View {
  path(filled: Filled): string;
  open?(page: Page): Promise<unknown>;
}

const records = ({ projectId }: Filled) => `/p/${projectId}/records`;
const trace = ({ projectId, traceId }: Filled) => `/p/${projectId}/traces/${traceId}`;
const button = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click();

const views: Record<string, View> = {
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
  'trace, a model call': { path: (filled) => `${trace(filled)}?span=${filled.spanId}` },
  'trace, JSON': { path: (filled) => `${trace(filled)}?span=${filled.spanId}&tab=json` },
  session: { path: ({ projectId, sessionId }) => `/p/${projectId}/sessions/${sessionId}` },
  'nothing there': { path: ({ projectId }) => `/p/${projectId}/traces/00000000-0000-4000-8000-000000000000` },
  palette: { path: records, open: (page) => page.keyboard.press('Control+k') },
  help: { path: records, open: (page) => page.keyboard.press('?') },
};

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
      await take('sign-in');
      await page.getByLabel('API key').fill(apiKey);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Projects' }).waitFor();
      for (const [name, view] of Object.entries(views)) {
        await page.goto(`${url}/console${view.path(filled)}`, { waitUntil: 'networkidle' });
        await view.open?.(page);
        await take(name);
      }
      await context.close();
    }
  return taken;
}

const folder = process.argv[2];
if (!folder) {
  console.error('Say where the pictures go: npm run screenshots -- FOLDER');
  process.exit(2);
}
await mkdir(folder, { recursive: true });
const data = await mkdtemp(join(tmpdir(), 'assay-screenshots-'));
const service = await (await serviceFolder(join(data, 'data'), {})).start();
try {
  const filled = await fillProjects(new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey }));
  await using pages = await consoleBrowser(CHROMIUM, service.url);
  const taken = await takeAll(pages, service.url, service.apiKey, filled, folder);
  console.log(`${taken} pictures are in ${folder}`);
  for (const problem of pages.problems) console.log(`problem of a page: ${problem}`);
} finally {
  await service.kill('SIGTERM');
  await rm(data, { recursive: true, force: true });
}
