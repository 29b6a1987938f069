import { existsSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { axeViolations, CHROMIUM, type ConsoleBrowser, consoleBrowser } from '../support/consoleBrowser.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

const program = { name: 'chromium', path: existsSync(CHROMIUM) ? CHROMIUM : undefined };
describeWithServer('what opens on the pages of the console', program, (executablePath) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: TestProject;
  let trace: string;

  beforeAll(async () => {
    service = await sharedTestService();
    pages = await consoleBrowser(executablePath, service.url);
    project = await service.project();
    const { body: stream } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
    const spans = [{ type: 'tool', name: 'add', input: '{"a": 1}', output: 'done', status_code: 500 }];
    const { body } = await service.request('POST', `/projects/${project.id}/traces`, {
      log_stream_id: (stream as { id: string }).id,
      include_trace_ids: true,
      traces: [{ name: 'answer', input: 'question', output: 'reply', spans }],
    });
    [trace = ''] = (body as { trace_ids: string[] }).trace_ids;
  });
  afterAll(async () => {
    await using _service = service;
    await pages?.[Symbol.asyncDispose]();
  });

  const press = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click();
  const choose = (page: Page) => page.getByRole('checkbox', { name: 'Choose answer' }).click();
  const opened: [
    name: string,
    at: () => string,
    ready: (page: Page) => Promise<unknown>,
    open: (page: Page) => Promise<unknown>,
  ][] = [
    ['a new project', () => '/', (page) => page.getByRole('heading', { name: 'Projects' }).waitFor(), press(/^New project/)],
    [
      'the account',
      () => '/',
      (page) => page.getByRole('heading', { name: 'Projects' }).waitFor(),
      (page) => page.locator('[popovertarget=preferences]').click(),
    ],
    ...(
      [
        ['columns', press('Columns')],
        ['times', press(/^Time range/)],
        ['views', press(/^Saved view:/)],
        [
          'completion',
          async (page) => {
            await page.getByLabel('Filter', { exact: true }).click();
            await page.keyboard.type('sta');
            await page.getByRole('option', { name: /^status_code/ }).waitFor();
          },
        ],
        [
          'a filter that cannot be read',
          async (page) => {
            await page.getByLabel('Filter', { exact: true }).fill('nme = 1');
            await page.keyboard.press('Enter');
            await page.getByRole('alert').first().waitFor();
          },
        ],
        [
          'nothing fits',
          async (page) => {
            await page.getByLabel('Filter', { exact: true }).fill('name = "none"');
            await page.keyboard.press('Enter');
            await page.getByRole('button', { name: 'Show all' }).waitFor();
          },
        ],
        [
          'a record',
          async (page) => {
            await page.getByRole('grid').getByRole('row').nth(1).click();
            await page.getByRole('article').waitFor();
          },
        ],
        [
          'formats of a file',
          async (page) => {
            await choose(page);
            await press('Export')(page);
          },
        ],
        [
          'queues',
          async (page) => {
            await choose(page);
            await page.keyboard.press('a');
            await page.keyboard.press('q');
            await page.getByRole('dialog').waitFor();
          },
        ],
        [
          'datasets',
          async (page) => {
            await choose(page);
            await page.keyboard.press('a');
            await page.keyboard.press('d');
            await page.getByRole('dialog').waitFor();
          },
        ],
        [
          'the palette',
          async (page) => {
            await page.keyboard.press('Control+k');
            await page.getByRole('dialog').waitFor();
          },
        ],
        [
          'the keys',
          async (page) => {
            await page.keyboard.press('?');
            await page.getByRole('dialog').waitFor();
          },
        ],
      ] as [string, (page: Page) => Promise<unknown>][]
    ).map(([name, open]): (typeof opened)[number] => [
      name,
      () => `/p/${project.id}/records`,
      (page) => page.getByRole('grid').waitFor(),
      open,
    ]),
    ...(
      [
        ['kinds', press(/^Kinds/)],
        ['copies', press('Copy')],
        ['JSON', (page) => page.keyboard.press('3')],
        ['text', (page) => page.keyboard.press('2')],
      ] as [string, (page: Page) => Promise<unknown>][]
    ).map(([name, open]): (typeof opened)[number] => [
      name,
      () => `/p/${project.id}/traces/${trace}`,
      (page) => page.getByRole('article').waitFor(),
      open,
    ]),
    [
      'nothing there',
      () => `/p/${project.id}/traces/00000000-0000-4000-8000-000000000000`,
      (page) => page.getByRole('heading', { name: 'Not found' }).waitFor(),
      async () => undefined,
    ],
  ];

  describe.each(['light', 'dark'] as const)('in the %s theme', (colorScheme) => {
    let page: Page;
    beforeAll(async () => {
      page = await pages.signedIn({ key: service.apiKey }, { colorScheme, reducedMotion: 'reduce' });
    });
    test.each(opened)('%s has no violation that axe finds, at 1,440 and 320 px', async (_name, at, ready, open) => {
      for (const width of [1_440, 320]) {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(`${service.url}/console${at()}`);
        await ready(page);
        await open(page);
        expect([width, await axeViolations(page)]).toEqual([width, []]);
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      }
    });
  });
});
