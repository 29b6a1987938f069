import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ConsoleBrowser } from '../support/consoleBrowser.ts';
import { describeConsole } from '../support/describeConsole.ts';
import { isFocused, keyboardWalk } from '../support/keyboardWalk.ts';
import { openRow } from '../support/openRow.ts';
import type { TestProject, TestService } from '../support/testService.ts';

describeConsole('the console by keys', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let project: TestProject;

  beforeAll(async () => {
    ({ service, pages } = await open());
  });
  /** Eight traces of a session, the newest first; each fourth failed. */
  beforeEach(async () => {
    project = await service.project();
    const { body: stream } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
    const { body: session } = await service.request('POST', `/projects/${project.id}/sessions`, {
      ...{ log_stream_id: (stream as { id: string }).id, name: 'a long talk' },
    });
    const traces = Array.from({ length: 8 }, (_, index) => ({
      ...{ name: `answer ${index}`, input: `question ${index}`, output: `reply ${index}` },
      created_at: new Date(Date.now() - (index + 1) * 60_000).toISOString(),
      ...(index % 4 === 1 ? { status_code: 500, error_message: 'timed out' } : { status_code: 200 }),
      spans: [
        {
          ...{ type: 'workflow', name: 'plan', input: 'plan', output: 'planned' },
          spans: [{ type: 'tool', name: 'add', input: '{"a": 1}', output: '{"sum": {"of": [1, 2]}}', status_code: 500 }],
        },
      ],
    }));
    const logged = await service.request('POST', `/projects/${project.id}/traces`, {
      ...{ log_stream_id: (stream as { id: string }).id, session_id: (session as { id: string }).id, traces },
    });
    expect(logged.status).toBe(200);
  });

  const said = (page: Page, text: string | RegExp) => page.getByRole('status').filter({ hasText: text }).first().waitFor();

  test('every job is done without a mouse, and the focus is always seen', async () => {
    const page = await pages.open(await pages.context({ reducedMotion: 'reduce' }));
    const { press, pressTwo, type, tabTo, isAt } = keyboardWalk(page);
    const button = (name: string | RegExp) => page.getByRole('button', { name }).first();
    const grid = page.getByRole('grid');
    const panel = page.getByRole('complementary', { name: 'Record' });
    const openIn = (name: string) => panel.getByRole('heading', { name }).waitFor();

    // Sign in, and open a project.
    await page.goto(`${service.url}/`);
    await page.getByRole('heading', { name: 'Sign in to Assay' }).waitFor();
    await press('Tab');
    await isAt(page.getByLabel('E-mail'));
    await tabTo(page.getByLabel('API key'));
    await type(service.apiKey);
    await press('Enter');
    await page.getByRole('heading', { name: 'Projects' }).waitFor();
    await tabTo(page.getByLabel('Find a project'));
    await type(project.name);
    await tabTo(page.getByRole('link', { name: project.name }));
    await press('Enter');
    await said(page, '8 traces');

    // Filter with completion, and move through what was found.
    await press('/');
    await isAt(page.getByLabel('Filter', { exact: true }));
    await type('stat');
    await page.getByRole('option', { name: /^status_code/ }).waitFor();
    await press('ArrowDown', 'Enter');
    await type('>= 400');
    await press('Enter');
    await said(page, '2 traces');
    await press('Escape');
    await isAt(grid);
    await press('ArrowDown');
    await openIn('answer 1');
    await press('j');
    await openIn('answer 5');
    await press('k');
    await openIn('answer 1');
    await press('ArrowRight', 'ArrowRight', 'f');
    await said(page, '1 trace');
    await press('/');
    await page.keyboard.press('Control+a');
    await press('Delete', 'Enter', 'Escape');
    await said(page, '8 traces');

    // The record at the side: its tabs, its copies; closing leads back to the table.
    await isAt(grid);
    await press('ArrowDown');
    await openIn('answer 0');
    await tabTo(panel.getByRole('button', { name: 'Copy' }));
    await press('Enter', 'Tab', 'Escape');
    await isAt(panel.getByRole('button', { name: 'Copy' }));
    await openIn('answer 0');
    await tabTo(panel.getByRole('tab', { name: 'Conversation' }));
    await press('ArrowRight');
    await isAt(panel.getByRole('tab', { name: 'Text' }));
    await press('j');
    await openIn('answer 1');
    await isAt(panel.getByRole('tab', { name: 'Text' }));
    await tabTo(panel.getByRole('button', { name: 'Close' }), 'Shift+Tab');
    await press('Enter');
    await panel.waitFor({ state: 'detached' });
    await isAt(grid);

    // Columns.
    await tabTo(button('Columns'), 'Shift+Tab');
    await press('Enter', 'Tab');
    await isAt(page.getByRole('checkbox', { name: 'Time', exact: true }));
    await tabTo(page.getByRole('button', { name: 'Move Name to the left' }));
    await press('Enter', 'Enter');
    await isAt(page.getByRole('button', { name: 'Move Name to the left' }));
    await tabTo(page.getByRole('checkbox', { name: 'Input', exact: true }));
    await press('Space');
    await isAt(page.getByRole('checkbox', { name: 'Output', exact: true }));
    await tabTo(page.getByLabel('Find a column'));
    await type('tags');
    await tabTo(page.getByRole('checkbox', { name: 'Tags', exact: true }));
    await press('Space', 'Escape');
    await isAt(button('Columns'));
    await page.getByRole('columnheader', { name: 'Tags' }).waitFor();

    // Times: a usual range by the menu, a part of it by the bars.
    await tabTo(button(/^Time range/), 'Shift+Tab');
    await press('Enter', 'Tab');
    await tabTo(button('Last hour'));
    await press('Enter');
    await isAt(button(/^Time range: Last hour/));
    await page.locator('[role=slider][aria-busy=false]').waitFor();
    await tabTo(page.getByRole('slider', { name: 'Records over time' }));
    await press('ArrowRight', 'Shift+ArrowRight', 'Enter');
    await button(/^Time range: .*–/).waitFor();
    // The bars go while others are asked for, and the rows with them: which control the focus is left to depends on what comes first.
    await page.getByRole('button', { name: 'Show all' }).waitFor();
    await press('Shift');
    await page.goBack();
    await button(/^Time range: Last hour/).waitFor();
    await page.getByRole('button', { name: 'Show all' }).waitFor({ state: 'detached' });
    await grid.getByRole('gridcell').first().waitFor();
    await page.locator('[role=slider][aria-busy=false]').waitFor();

    // Views: saved, deleted, and deleted no more.
    await press('/');
    await isAt(page.getByLabel('Filter', { exact: true }));
    await tabTo(button(/^Saved view/));
    await press('Enter', 'Tab');
    await isAt(page.getByRole('textbox', { name: 'Name' }));
    await type('my view');
    await tabTo(button('Save as a new view'));
    await press('Enter');
    await said(page, 'The view “my view” is saved.');
    await isAt(button(/^Saved view: my view/));
    await press('Enter');
    await tabTo(button('Delete “my view”'));
    await press('Enter');
    await isAt(button(/^Saved view/));
    await press('z');
    await button(/^Saved view: my view/).waitFor();

    // Several records: a file, a dataset, a queue, deletion.
    await tabTo(grid);
    await press('ArrowDown');
    await openIn('answer 0');
    await press('x', 'j');
    await openIn('answer 1');
    await press('x');
    const bar = page.getByRole('region', { name: 'Chosen records' });
    await bar.getByText('2 traces chosen').waitFor();
    await tabTo(bar.getByRole('button', { name: 'Export' }));
    await press('Enter', 'Tab', 'Escape');
    await isAt(bar.getByRole('button', { name: 'Export' }));
    await pressTwo('a', 'd');
    await page.getByRole('dialog', { name: 'Add to a dataset' }).waitFor();
    await type(`Hard ones ${newId()}`);
    await press('Enter');
    await said(page, '2 rows added');
    await isAt(bar.getByRole('button', { name: 'Export' }));
    await pressTwo('a', 'q');
    await page.getByRole('dialog', { name: 'Add to an annotation queue' }).waitFor();
    await type(`Tone ${newId()}`);
    await press('Enter');
    await said(page, '2 traces added');
    await tabTo(bar.getByRole('button', { name: 'Delete' }));
    await press('Enter');
    await said(page, '6 traces');
    await openIn('answer 2');
    await isAt(grid);
    await press('z');
    await said(page, '8 traces');
    await press('k');
    await openIn('answer 1');

    // Rate.
    const question = panel.getByRole('group', { name: 'Good?' });
    await question.waitFor();
    await pressTwo('r', '2');
    await expect.poll(() => question.getByLabel('No').isChecked()).toBe(true);

    // The trace: its tree, failures, kinds, texts.
    await tabTo(grid, 'Shift+Tab');
    await press('Enter');
    const tree = page.getByRole('treegrid');
    await tree.waitFor();
    await page.getByRole('article', { name: 'trace answer 1' }).waitFor();
    await press('e');
    await page.getByRole('article', { name: 'tool add' }).waitFor();
    await press('k', 'ArrowLeft', 'ArrowRight');
    await page.getByRole('article', { name: 'workflow plan' }).waitFor();
    await tabTo(page.getByLabel('Find in the trace'));
    await type('sum');
    await press('Enter');
    await page.getByRole('article', { name: 'tool add' }).waitFor();
    await press('Escape');
    await isAt(tree);
    await tabTo(button('sum'));
    await press('Enter', 'Enter');
    await tabTo(button(/^Kinds/), 'Shift+Tab');
    await press('Enter', 'Tab', 'Space');
    await button('Kinds (1 hidden)').waitFor();
    await press('Escape');
    await isAt(button(/^Kinds/));

    // The session, and back to a trace.
    await tabTo(page.getByRole('link', { name: 'Session' }), 'Shift+Tab');
    await press('Enter');
    await page.getByRole('heading', { name: 'a long talk' }).waitFor();
    await tabTo(page.getByRole('link', { name: 'answer 7' }));
    await press('Enter');
    await page.getByRole('article', { name: 'trace answer 7' }).waitFor();

    // The palette and the keys.
    await tabTo(tree);
    await press('Control+k');
    await page.getByRole('dialog', { name: 'Go to' }).waitFor();
    await press('Escape');
    await isAt(tree);
    await press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await press('Escape');
    await isAt(tree);
    await tabTo(button('Keys'), 'Shift+Tab');
    await press('Enter', 'Enter');
    await isAt(button('Keys'));
    await press('Control+k');
    await type('sessi');
    await page.getByRole('option', { name: 'Sessions' }).waitFor();
    await press('Enter');
    await said(page, '1 session');

    // Preferences, and the way out.
    const account = page.locator('[popovertarget=preferences]');
    await tabTo(account);
    await press('Enter');
    await tabTo(page.getByLabel('Theme'));
    await page.keyboard.press('d'); // a list forgets the letters before when the next one comes late
    await expect.poll(() => page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    await press('Escape');
    await isAt(account);
    await press('Enter');
    await tabTo(button('Sign out'));
    await press('Enter');
    await page.getByRole('heading', { name: 'Sign in to Assay' }).waitFor();
    await isAt(page.getByLabel('E-mail'));
  });

  test('a key right behind the end of one dialog opens the next', async () => {
    const page = await pages.signedIn({ key: service.apiKey });
    await page.goto(`${service.url}/console/p/${project.id}/records`);
    await said(page, '8 traces');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Go to' }).waitFor();
    // All in one task, as keys come to a page that is slow.
    await page.evaluate(`{
      document.querySelector('dialog[open]').close();
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }));
    }`);
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test('keys still work when the table that had the focus goes', async () => {
    const page = await pages.signedIn({ key: service.apiKey });
    await page.goto(`${service.url}/console/p/${project.id}/records?q=${encodeURIComponent('name = nothing')}`);
    await page.getByRole('button', { name: 'Show all' }).click();
    await said(page, '8 traces');
    await page.getByRole('grid').focus();
    await page.goBack();
    await page.getByRole('grid').waitFor({ state: 'detached' });
    // Not to the list of log streams, in which letters choose: the focus goes to what is nearest.
    await page.keyboard.press('/');
    await expect.poll(() => page.getByLabel('Filter', { exact: true }).evaluate(isFocused)).toBe(true);
  });

  test('who clicks beside a menu has its button, who clicks on a control has that', async () => {
    const page = await pages.signedIn({ key: service.apiKey });
    await page.goto(`${service.url}/console/p/${project.id}/records`);
    await said(page, '8 traces');
    const columns = page.getByRole('button', { name: 'Columns' });
    await columns.click();
    await page.getByLabel('Find a column').click();
    await said(page, '8 traces');
    await page.getByRole('status').filter({ hasText: '8 traces' }).click();
    await page.getByLabel('Find a column').waitFor({ state: 'hidden' });
    await expect.poll(() => columns.evaluate(isFocused)).toBe(true);
    await columns.click();
    await page.getByLabel('Find a column').click();
    const filter = page.getByLabel('Filter', { exact: true });
    await filter.click();
    await page.getByLabel('Find a column').waitFor({ state: 'hidden' });
    await expect.poll(() => filter.evaluate(isFocused)).toBe(true);
  });

  test('keys that are characters are switched off in the menu of the account; Escape stays', async () => {
    const page = await pages.signedIn({ key: service.apiKey });
    await page.goto(`${service.url}/console/p/${project.id}/records`);
    await said(page, '8 traces');
    await page.locator('[popovertarget=preferences]').click();
    await page.getByRole('combobox', { name: 'Keys' }).selectOption('off');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await openRow(page.getByRole('grid').getByRole('row').nth(1));
    const panel = page.getByRole('complementary', { name: 'Record' });
    await panel.getByRole('heading', { name: 'answer 0' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    expect(await page.getByRole('dialog').count()).toBe(0);
  });
});
