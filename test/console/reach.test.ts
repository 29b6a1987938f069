import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import {
  addPromptVersion,
  createDataset,
  createExperiment,
  createJudge,
  createPrompt,
  setPlaygroundLimits,
} from '../../client/index.ts';
import { builtinIdOf } from '../../shared/scorers/presets.ts';
import { axeViolationsInBothThemes, type ConsoleBrowser } from '../support/consoleBrowser.ts';
import { describeConsole } from '../support/describeConsole.ts';
import { loggedExperiment, solvedProblems } from '../support/loggedExperiments.ts';
import { openRow } from '../support/openRow.ts';
import { pressInTurn } from '../support/pressInTurn.ts';
import type { TestProject, TestService } from '../support/testService.ts';

describeConsole('what opens on the pages of the console', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: TestProject;
  let trace: string;
  let compare: string;
  let experiment: string;
  let dataset: string;
  let prompt: string;
  let integration: string;
  let judge: string;
  let page: Page;

  beforeAll(async () => {
    ({ service, pages } = await open({ expected: /status of 422/ }));
    project = await service.project();
    const { body: stream } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
    const spans = [{ type: 'tool', name: 'add', input: '{"a": 1}', output: 'done', status_code: 500 }];
    const { body } = await service.request('POST', `/projects/${project.id}/traces`, {
      log_stream_id: (stream as { id: string }).id,
      include_trace_ids: true,
      traces: [{ name: 'answer', input: 'question', output: 'reply', spans }],
    });
    const content = [{ input: 'question', output: 'reply' }];
    dataset = (await createDataset({ client: service.client, projectId: project.id, name: `rows of ${project.name}`, content }))
      .id;
    prompt = (
      await createPrompt({
        client: service.client,
        projectId: project.id,
        name: `ask ${project.name}`,
        template: 'What is {{input}}?',
      })
    ).id;
    const made = await createJudge({
      client: service.client,
      name: `short ${project.name}`,
      instructions: 'Is it short?',
      direction: 'higher',
    });
    judge = made.id;
    await service.client.send(`/scorers/${judge}/version/llm`, { body: { user_prompt: 'Is it short and polite?' } });
    await addPromptVersion({ client: service.client, id: prompt, template: 'What, in short, is {{input}}?' });
    [trace = ''] = (body as { trace_ids: string[] }).trace_ids;
    const experiments = [() => true, (n: number) => n % 4 !== 1].map((isRight, index) =>
      loggedExperiment(service, project.id, `experiment ${index}`, solvedProblems(isRight)),
    );
    const [base = '', other = ''] = await Promise.all(experiments);
    experiment = `/p/${project.id}/experiments/${other}`;
    compare = `/p/${project.id}/compare?base=${base}&with=${other}`;
    const settings = { endpoint: 'http://127.0.0.1:9/v1', authentication_type: 'none', models: ['small'] };
    const { body: connected } = await service.request('PUT', '/integrations/custom/house', settings);
    integration = (connected as { id: string }).id;
    const longName = `${'a.very.long.name.'.repeat(3)}${project.name.slice(-8)}@example.com`;
    await service.request('POST', '/users', { email: longName, password: 'A-Password-of-reach-1', role: 'user' });
    await service.request('POST', '/groups', { name: `reviewers of ${project.name}`, description: 'rate answers every week' });
    await service.request('PUT', `/integrations/${integration}/prices`, { prices: [{ model: 'small', input: 1, output: 2 }] });
    await setPlaygroundLimits({ client: service.client, projectId: project.id, mostCalls: 2, mostCostPerDay: 0.25 });
    for (const commit of ['a1', 'b2']) {
      const { id } = await createExperiment({ client: service.client, projectId: project.id, experimentName: 'nightly' });
      await service.client.send(`/projects/${project.id}/experiments/${id}/tags`, {
        body: { key: 'commit', value: commit, tag_type: 'generic' },
      });
      const rows = [{ name: 'row', input: 'q', output: 'a', metrics: { is_right: true, score: 0.5 } }];
      await service.client.send(`/projects/${project.id}/traces`, { body: { experiment_id: id, traces: [...rows, ...rows] } });
    }
  });
  beforeAll(async () => {
    page = await pages.signedIn({ key: service.apiKey }, { reducedMotion: 'reduce' });
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
            await page.getByLabel('Filter', { exact: true }).fill(''); // what was typed before is kept
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
            await openRow(page.getByRole('grid').getByRole('row').nth(1));
            await page.getByRole('article').waitFor();
          },
        ],
        [
          'a trace that was opened from the table',
          async (page) => {
            await openRow(page.getByRole('grid').getByRole('row').nth(1));
            await page.getByRole('link', { name: 'Open the trace' }).click();
            await page.getByRole('status').filter({ hasText: 'in the list' }).waitFor();
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
            await pressInTurn(page, 'a', 'q');
            await page.getByRole('dialog').waitFor();
          },
        ],
        [
          'datasets',
          async (page) => {
            await choose(page);
            await pressInTurn(page, 'a', 'd');
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
    ...(
      [
        ['two experiments', async () => undefined],
        ['slices', (page) => page.getByLabel('Slice rows by').selectOption('dataset_metadata/topic')],
        ['baselines', press(/^Baseline/)],
        ['compared metrics', press(/^Metrics/)],
      ] as [string, (page: Page) => Promise<unknown>][]
    ).map(([name, open]): (typeof opened)[number] => [
      name,
      () => compare,
      (page) => page.getByRole('article', { name: 'Row' }).waitFor(),
      open,
    ]),
    ...(
      [
        ['rows of an experiment', '', (page) => openRow(page.getByRole('grid').getByRole('row').nth(1))],
        ['figures of an experiment', '?tab=figures', async () => undefined],
        ['the setup of an experiment', '?tab=setup', async () => undefined],
      ] as [string, string, (page: Page) => Promise<unknown>][]
    ).map(([name, query, open]): (typeof opened)[number] => [
      name,
      () => `${experiment}${query}`,
      (page) => page.getByRole('tabpanel').locator('[role=grid], table, dl').first().waitFor(),
      open,
    ]),
    ...(
      [
        ['a dataset', (page) => openRow(page.getByRole('grid').getByRole('row').nth(1))],
        [
          'a cell',
          async (page) => {
            const field = page.getByRole('textbox', { name: 'input of row 1' });
            // It is open already when the same page is loaded again.
            if (!(await field.isVisible())) await page.getByRole('gridcell').first().dblclick();
            await field.waitFor();
          },
        ],
        [
          'versions of a dataset',
          async (page) => {
            await page.getByRole('tab', { name: 'Versions' }).click();
            await press(/ new/)(page);
            await page.getByRole('region', { name: 'What changed' }).getByRole('listitem').first().waitFor();
          },
        ],
        ['uses of a dataset', (page) => page.getByRole('tab', { name: 'Used by' }).click()],
        [
          'an import',
          async (page) => {
            await press('Import rows')(page);
            const file = { name: 'odd.csv', mimeType: 'text/csv', buffer: Buffer.from('question,note\na\n') };
            await page.getByLabel('File', { exact: true }).setInputFiles(file);
            await page.getByRole('region', { name: 'Preview' }).waitFor();
          },
        ],
      ] as [string, (page: Page) => Promise<unknown>][]
    ).map(([name, open]): (typeof opened)[number] => [
      name,
      () => `/datasets/${dataset}?project=${project.id}`,
      (page) => page.getByRole('gridcell').first().waitFor(),
      open,
    ]),
    ...(
      [
        ['a prompt', async () => undefined],
        [
          'a new version',
          // A version begun at one width is there at the other.
          (page) => page.getByRole('button', { name: 'Write a new version' }).or(page.getByLabel('Temperature')).click(),
        ],
        [
          'versions of a prompt',
          async (page) => {
            await page.getByRole('tab', { name: 'Versions' }).click();
            await press('text')(page);
            await page.getByRole('region', { name: 'What changed' }).locator('ins').first().waitFor();
          },
        ],
      ] as [string, (page: Page) => Promise<unknown>][]
    ).map(([name, open]): (typeof opened)[number] => [
      name,
      () => `/prompts/${prompt}?project=${project.id}`,
      (page) => page.getByText('Variables').waitFor(),
      open,
    ]),
    [
      'a new judge',
      () => `/p/${project.id}/metrics/new`,
      (page) => page.getByRole('region', { name: 'Try it out' }).waitFor(),
      async (page) => {
        await page.getByLabel('What the judge is asked').fill('');
        await page.getByLabel('What the judge is asked').pressSequentially('Is {{out');
        await page.getByRole('option', { name: '{{output}}' }).waitFor();
      },
    ],
    [
      'a new check',
      () => `/p/${project.id}/metrics/new-check`,
      (page) => page.getByRole('heading', { name: 'New check' }).waitFor(),
      async (page) => {
        await page.getByLabel('It is true where').selectOption('the agent took the expected steps');
        await page.getByLabel('Expected steps are').selectOption('the same of all records');
        await press('Add a step')(page);
      },
    ],
    [
      'a built-in metric',
      () => `/p/${project.id}/metrics/${builtinIdOf('exact_match')}`,
      (page) => page.getByText('Name in filters').waitFor(),
      (page) => page.getByRole('group', { name: 'On for' }).waitFor(),
    ],
    [
      'the agreement of a metric',
      () => `/p/${project.id}/metrics/${builtinIdOf('exact_match')}?tab=agreement`,
      (page) => page.getByRole('tab', { name: 'Agreement' }).waitFor(),
      (page) => page.getByText('Records of').waitFor(),
    ],
    [
      'the versions of a judge',
      () => `/p/${project.id}/metrics/${judge}?tab=versions`,
      (page) => page.getByRole('button', { name: 'What changed in version 2' }).click(),
      (page) => page.getByRole('region', { name: 'What changed' }).locator('ins').first().waitFor(),
    ],
    ['metrics', () => `/p/${project.id}/metrics`, (page) => page.getByRole('table').waitFor(), async () => undefined],
    [
      'no metric fits',
      () => `/p/${project.id}/metrics?q=nothing+of+that+kind`,
      (page) => page.getByRole('heading', { name: 'Metrics' }).waitFor(),
      (page) => page.getByRole('button', { name: 'Show all' }).waitFor(),
    ],
    [
      'the playground',
      () => `/p/${project.id}/playground?prompt=${prompt}/1&from=row/${dataset}/1/0`,
      async (page) => expect.poll(async () => page.getByLabel('input', { exact: true }).inputValue()).toBe('question'),
      async (page) => {
        // A change at one width is there at the other.
        if (!(await page.getByRole('region', { name: 'Model 2' }).isVisible())) await press('Add a model')(page);
        await page.getByLabel('Message 1', { exact: true }).fill('Where is {{input}}?');
        await press('Run')(page);
        await page.getByRole('region', { name: 'Model 2' }).getByRole('alert').waitFor();
        await page.getByText(/of 2 calls at once/).waitFor();
      },
    ],
    [
      'a prompt of the playground',
      () => `/p/${project.id}/playground`,
      (page) => page.getByRole('heading', { name: 'Playground' }).waitFor(),
      async (page) => {
        await press('Save as a prompt')(page);
        await page.getByRole('dialog').waitFor();
      },
    ],
    ...(
      [
        ['a new experiment', '', async () => undefined],
        [
          'a new experiment with its cost',
          'dataset',
          async (page) => {
            await page.getByLabel('Runner').selectOption('http');
            await page.getByLabel('Address').fill('http://127.0.0.1:9/answer');
            await page.getByText('Speed, limits and failures').click();
            await page.getByText('Not in it: the rows run at an address').waitFor();
            await page.getByRole('tab', { name: 'Command line' }).click();
          },
        ],
        [
          'a new experiment with mistakes',
          '',
          async (page) => {
            await page.getByLabel('Trials of each row').fill('101');
            await press('Start')(page);
            await page.getByText('Choose the dataset whose rows are run.').waitFor();
          },
        ],
      ] as [string, string, (page: Page) => Promise<unknown>][]
    ).map(([name, query, open]): (typeof opened)[number] => [
      name,
      () => `/p/${project.id}/experiments/new${query === '' ? `?prompt=${prompt}` : `?dataset=${dataset}`}`,
      (page) => page.getByRole('checkbox').first().waitFor(),
      open,
    ]),
    ['prompts', () => `/p/${project.id}/prompts`, (page) => page.getByRole('table').waitFor(), press('New prompt')],
    ['datasets', () => `/p/${project.id}/datasets`, (page) => page.getByRole('table').waitFor(), press('New dataset')],
    ...(
      [
        ['experiments', '', async () => undefined],
        ['the trend of a series', '?series=nightly', (page) => page.getByRole('region', { name: 'Trend' }).waitFor()],
        ['columns of experiments', '', press('Columns')],
        [
          'the name and tags of an experiment',
          '',
          async (page) => {
            await page.getByRole('checkbox', { name: 'Choose nightly' }).first().click();
            await press(/^Name and tags/)(page);
          },
        ],
        ['no experiment fits', '?q=rows+%3E+5000', (page) => page.getByRole('button', { name: 'Show all' }).waitFor()],
      ] as [string, string, (page: Page) => Promise<unknown>][]
    ).map(([name, query, open]): (typeof opened)[number] => [
      name,
      () => `/p/${project.id}/experiments${query}`,
      (page) => page.getByRole('status').filter({ hasText: 'experiment' }).first().waitFor(),
      open,
    ]),
    [
      'more settings of a model, one of them out of range',
      () => `/p/${project.id}/playground`,
      (page) => page.getByRole('button', { name: /^More settings/ }).waitFor(),
      async (page) => {
        if (!(await page.getByLabel('Top p').isVisible())) await press(/^More settings/)(page);
        await page.getByLabel('Top p').fill('2');
        await page.getByText('A number from 0 to 1.').waitFor();
      },
    ],
    ...(
      [
        ['integrations', '/integrations', (page) => page.getByRole('link', { name: 'house' }).waitFor()],
        [
          'a new integration',
          '/integrations/new?provider=azure',
          async (page) => {
            await page.getByText('More', { exact: true }).click();
            await page.getByLabel('API version').waitFor();
          },
        ],
        [
          'API keys, one of them new, and what revoking does',
          '/keys',
          async (page) => {
            await page.getByLabel('What it is for').fill('nightly run');
            await page.getByLabel('Reaches').selectOption({ index: 1 });
            await press('Make the key')(page);
            await page.getByRole('status', { name: 'The new key' }).waitFor();
            await press(/^Revoke nightly run/)(page);
            await page.getByRole('dialog').waitFor();
          },
        ],
        ['prices', '/prices', (page) => page.getByRole('table').waitFor()],
        [
          'limits, and those of a project',
          () => `/limits?project=${project.id}`,
          async (page) => {
            await page.getByRole('table').waitFor();
            await page.getByRole('region', { name: 'Limits of the playground' }).getByText('of 2 calls at once').waitFor();
          },
        ],
        ['health', '/health', (page) => page.getByRole('region', { name: 'Queues' }).waitFor()],
        [
          'the settings of a project, and what a shorter retention takes',
          () => `/projects?project=${project.id}`,
          async (page) => {
            await page.getByRole('region', { name: 'Records that were sent' }).locator('dl').waitFor();
            await page.getByLabel('Days to keep').fill('30');
            await press('Change it')(page);
            await page.getByRole('dialog').waitFor();
          },
        ],
        ['users', '/users', (page) => page.getByRole('region', { name: 'All users' }).waitFor()],
        ['groups', '/groups', (page) => page.getByRole('region', { name: 'All groups' }).waitFor()],
        ['the account that is signed in', '/account', (page) => page.getByRole('region', { name: 'Sessions' }).waitFor()],
        [
          'an integration and its test call',
          () => `/integrations/${integration}`,
          async (page) => {
            await page.getByLabel('Model, price 1').waitFor();
            await press('Call it')(page);
            await page.getByText('It failed: connection error').waitFor();
          },
        ],
      ] as [string, string | (() => string), (page: Page) => Promise<unknown>][]
    ).map(([name, at, open]): (typeof opened)[number] => [
      name,
      () => `/settings${typeof at === 'string' ? at : at()}`,
      (page) => page.getByRole('navigation', { name: 'Settings' }).waitFor(),
      open,
    ]),
    [
      'no such page',
      () => `/p/${project.id}/nothing`,
      (page) => page.getByRole('heading', { name: 'There is no such page' }).waitFor(),
      (page) => page.getByRole('banner').getByRole('link', { name: project.name }).waitFor(),
    ],
    [
      'nothing there',
      () => `/p/${project.id}/traces/00000000-0000-4000-8000-000000000000`,
      (page) => page.getByRole('heading', { name: 'Not found' }).waitFor(),
      async () => undefined,
    ],
  ];

  test.each(opened)(
    '%s has no violation that axe finds, in both themes at 1,440 and 320 px, and nothing moves',
    async (...one) => {
      const [, at, ready, open] = one;
      for (const width of [1_440, 320]) {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(`${service.url}/console${at()}`);
        await ready(page);
        await open(page);
        expect([width, await page.locator('h1').count()]).toEqual([width, 1]);
        expect(await page.title()).toMatch(/\S · Assay$/);
        expect({ width, ...(await axeViolationsInBothThemes(page)) }).toEqual({ width, light: [], dark: [] });
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
        expect(await page.evaluate(MOVING)).toEqual([]);
      }
    },
  );
});

/** Elements with a transition or an animation; the page asks for none. */
const MOVING = `[...document.querySelectorAll('*')].flatMap((element) =>
  [null, '::before', '::after', '::backdrop'].flatMap((part) => {
    const { transitionDuration, transitionDelay, animationName, scrollBehavior } = getComputedStyle(element, part);
    const isStill = /^0s(, 0s)*$/.test(transitionDuration + ', ' + transitionDelay) && animationName === 'none' && scrollBehavior === 'auto';
    return isStill ? [] : [element.outerHTML.slice(0, 200) + (part ?? '')];
  }))`;
