import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createDataset } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { axeViolations } from '../support/consoleBrowser.ts';
import { type ConsoleOthers, consoleOthers } from '../support/consoleOthers.ts';
import { describeConsole } from '../support/describeConsole.ts';
import type { TestProject, TestService } from '../support/testService.ts';

describeConsole('datasets', (openConsole) => {
  let service: TestService;
  let others: ConsoleOthers;
  let project: TestProject;
  let page: Page;
  let name: string;
  let dataset: string;

  beforeAll(async () => {
    // A version that somebody else has made before is answered 412.
    const opened = await openConsole({ expected: /status of 412/ });
    service = opened.service;
    others = consoleOthers(opened.pages, service);
    page = await opened.pages.signedIn({ key: service.apiKey });
  });
  beforeEach(async () => {
    project = await service.project();
    name = `sums ${newId()}`;
    dataset = await makeDataset(name, [
      { input: '2 + 2', output: '4', metadata: { level: 'easy' } },
      { input: '2 + 3', output: '5', metadata: null },
      { input: '12 * 12', output: '144', metadata: null },
    ]);
    await page.goto(`${service.url}/console/datasets/${dataset}?project=${project.id}`);
    await cell('2 + 2').waitFor();
  });

  const makeDataset = async (called: string, content: Record<string, unknown>[]) =>
    (await createDataset({ client: service.client, projectId: project.id, name: called, content })).id;
  const cell = (text: string) => page.getByRole('gridcell', { name: text, exact: true });
  const button = (text: string | RegExp) => page.getByRole('button', { name: text, exact: typeof text === 'string' });
  const said = (text: string | RegExp) => page.getByRole('status').filter({ hasText: text }).first().waitFor();
  const edit = async (from: string, to: string) => {
    await cell(from).dblclick();
    await page.getByRole('textbox', { name: /of row/ }).fill(to);
    await page.keyboard.press('Enter');
  };
  const rowsNow = async () => {
    const { body } = await service.request('GET', `/datasets/${dataset}/content`);
    return (body as { rows: { row_id: string; values_dict: Record<string, unknown> }[] }).rows;
  };
  const inputs = async () => (await rowsNow()).map((row) => row.values_dict.input);

  test('the list finds a dataset, leads to it and back, and makes one', async () => {
    await page.getByRole('navigation').getByRole('link', { name: 'Datasets' }).click();
    await page.getByRole('link', { name }).waitFor();
    await page.getByLabel('Find a dataset').fill('nothing like it');
    await page.getByRole('heading', { name: /No dataset is called like/ }).waitFor();
    await page.getByLabel('Find a dataset').fill(name);
    await page.getByRole('link', { name }).click();
    await cell('2 + 2').waitFor();
    await page.goBack();
    await expect.poll(() => page.getByLabel('Find a dataset').inputValue()).toBe(name);
    await page.reload();
    await page.getByRole('link', { name }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await button('New dataset').click();
    await page.getByLabel('Name', { exact: true }).fill(`fresh ${newId()}`);
    await button('Make it').click();
    await button('Add a row').click();
    await page.getByRole('gridcell').first().dblclick();
    await page.keyboard.type('first of all');
    await page.keyboard.press('Enter');
    await button('Save as version 2').click();
    await said('Saved as version 2: 1 row');
    await cell('first of all').waitFor();
  });

  test('cells, new rows and removed ones are one version; each can be taken back before', async () => {
    await edit('2 + 3', '2 + 30');
    await page.getByRole('checkbox', { name: 'Choose row 3' }).click();
    await button('Delete 1 row').click();
    await said('1 changed, 1 removed: not saved yet');
    await page.keyboard.press('Control+z');
    await said('1 changed: not saved yet');
    await page.keyboard.press('Control+Shift+z');
    await said('1 changed, 1 removed');
    await button('Add a row').click();
    await page.getByRole('row').last().getByRole('gridcell').first().dblclick();
    await page.keyboard.type('7 - 1');
    await page.keyboard.press('Tab');
    expect(await axeViolations(page)).toEqual([]);
    expect(await inputs()).toEqual(['2 + 2', '2 + 3', '12 * 12']);
    await page.keyboard.press('Control+s');
    await said('Saved as version 2: 3 rows');
    expect(await inputs()).toEqual(['2 + 2', '2 + 30', '7 - 1']);
    await cell('7 - 1').waitFor();
  });

  test('what is typed outlives a reload, also in the middle of a cell', async () => {
    await edit('2 + 2', 'two and two');
    await cell('12 * 12').dblclick();
    await page.getByRole('textbox', { name: /of row/ }).fill('a gross, half ty');
    await page.reload();
    await cell('two and two').waitFor();
    const field = page.getByRole('textbox', { name: 'input of row 3' });
    expect(await field.inputValue()).toBe('a gross, half ty');
    await field.press('Enter');
    await button('Discard').click();
    await cell('2 + 2').waitFor();
    await button('Bring the changes back').click();
    await cell('two and two').waitFor();
    await button('Save as version 2').click();
    await said('Saved as version 2');
    expect(await inputs()).toEqual(['two and two', '2 + 3', 'a gross, half ty']);
  });

  test('a cell that is opened and typed in before its row has come opens with what was typed', async () => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/content?*', async (route) => {
      await released;
      await route.continue();
    });
    await page.reload();
    await page.getByRole('gridcell').first().click();
    await page.keyboard.type('three');
    release();
    const field = page.getByRole('textbox', { name: 'input of row 1' });
    await expect.poll(() => field.inputValue()).toBe('three');
    await page.unroute('**/content?*');
  });

  test('two people change one dataset: both versions are shown, and both are kept', async () => {
    await edit('2 + 2', 'mine');
    await edit('12 * 12', 'my other');
    const rows = await rowsNow();
    const edits = [
      { edit_type: 'update_row', row_id: rows[0]?.row_id, values: { input: 'theirs' } },
      { edit_type: 'update_row', row_id: rows[1]?.row_id, values: { output: 'five' } },
      { edit_type: 'delete_row', row_id: rows[2]?.row_id },
    ];
    await service.request('PATCH', `/datasets/${dataset}/content`, { edits });
    await button('Save as version 2').click();
    const alert = page.getByRole('alert');
    await alert.filter({ hasText: 'has saved version 2 meanwhile: 2 rows edited, 0 added, 1 removed' }).waitFor();
    await alert.getByText('theirs is “theirs”, yours “mine”').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.reload();
    await button('Put mine on top').click();
    await cell('mine').waitFor();
    await button('Save as version 3').click();
    await said('Saved as version 3');
    const now = (await rowsNow()).map(({ values_dict }) => [values_dict.input, values_dict.output]);
    expect(now).toEqual([
      ['mine', '4'],
      ['2 + 3', 'five'],
      ['my other', '144'],
    ]);
  });

  test('versions say what changed by words, are linked, and can be returned to', async () => {
    await edit('2 + 2', '2 + 2 apples');
    await button('Save as version 2').click();
    await said('Saved as version 2');
    await page.getByRole('tab', { name: 'Versions' }).click();
    await button('1 edited').click();
    const changes = page.getByRole('region', { name: 'What changed' });
    await changes.getByText('0 rows added, 0 removed, 1 edited').waitFor();
    await expect.poll(() => changes.locator('ins').allInnerTexts()).toEqual([expect.stringContaining('apples')]);
    expect(await axeViolations(page)).toEqual([]);
    await others.openLink(project.id, page.url(), async (other) => {
      await other.getByRole('region', { name: 'What changed' }).locator('ins').waitFor();
    });
    await page.goBack();
    await changes.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Its rows' }).last().click();
    await cell('2 + 2').waitFor();
    await button('Return to this version').click();
    await said('The rows are those of version 1 again');
    expect(await inputs()).toEqual(['2 + 2', '2 + 3', '12 * 12']);
  });

  test('a viewer reads rows whole and has no button that changes something', async () => {
    await others.openLink(project.id, page.url(), async (other) => {
      await other.getByRole('gridcell', { name: '2 + 2', exact: true }).dblclick();
      expect(await other.getByRole('textbox', { name: 'input of row 1' }).getAttribute('readonly')).not.toBeNull();
      for (const text of ['Add a row', 'Import rows', 'Rename', 'Delete'])
        expect(await other.getByRole('button', { name: text }).count()).toBe(0);
      await other.getByRole('button', { name: 'Export' }).waitFor();
    });
  });

  test('a deleted dataset can be brought back for some seconds', async () => {
    await button('Delete').click();
    await page.getByRole('heading', { name: 'Datasets' }).waitFor();
    await button('Undo').waitFor();
    expect(await page.getByRole('link', { name }).count()).toBe(0);
    await button('Undo').click();
    await page.getByRole('link', { name }).waitFor();
  });

  describe('a file', () => {
    const choose = (fileName: string, text: string) =>
      page
        .getByLabel('File', { exact: true })
        .setInputFiles({ name: fileName, mimeType: 'text/plain', buffer: Buffer.from(text) });
    const dialog = () => page.getByRole('dialog');

    test('becomes a dataset: separator, columns and odd rows are shown before', async () => {
      await page.goto(`${service.url}/console/p/${project.id}/datasets`);
      await button('Import a file').click();
      await choose('quiz.csv', 'question;expected;level;junk\nWhat is 1,5 + 1?;2,5;easy;x\nshort;7\nlong;8;hard;y;more\n');
      await dialog().getByText('Line 3: 2 fields, but the header names 4 columns').waitFor();
      await dialog().getByText('Line 4: 5 fields').waitFor();
      expect(await dialog().getByLabel('Separator').inputValue()).toBe(';');
      expect(await dialog().getByLabel('question becomes').inputValue()).toBe('input');
      await dialog().getByLabel('level becomes').selectOption('Metadata');
      await dialog().getByLabel('junk becomes').selectOption('Leave it out');
      await dialog().getByRole('region', { name: 'Preview' }).getByText('{"level":"easy"}').waitFor();
      expect(await axeViolations(page)).toEqual([]);
      await dialog().getByLabel('Name of the dataset').fill(`quiz ${newId()}`);
      await dialog().getByRole('button', { name: 'Import 3 rows' }).click();
      await said('3 rows imported');
      await cell('What is 1,5 + 1?').waitFor();
      dataset = /datasets\/([\w-]+)/.exec(page.url())?.[1] ?? '';
      expect((await rowsNow()).map((row) => row.values_dict)).toEqual([
        { input: 'What is 1,5 + 1?', output: '2,5', metadata: { level: 'easy' }, 'field 5': null },
        { input: 'short', output: '7', metadata: null, 'field 5': null },
        { input: 'long', output: '8', metadata: { level: 'hard' }, 'field 5': 'more' },
      ]);
    });

    test('is added to a dataset, and what is left out is saved', async () => {
      await button('Import rows').click();
      await choose('more.jsonl', '{"input": "3 + 3", "output": "6", "id": 9007199254740993}\nnonsense\n');
      await dialog().getByText('Line 2: not valid JSON').waitFor();
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        dialog().getByRole('button', { name: 'Save them as a file' }).click(),
      ]);
      expect(await readFile((await file.path()) as string, 'utf8')).toBe('nonsense\n');
      await dialog().getByRole('button', { name: 'Import 1 rows' }).click();
      await cell('3 + 3').waitFor();
      await cell('9007199254740993').waitFor();
    });

    test('that a dataset exports gives its rows back', async () => {
      await button('Export').click();
      const [file] = await Promise.all([page.waitForEvent('download'), button('CSV').click()]);
      const text = await readFile((await file.path()) as string, 'utf8');
      const before = (await rowsNow()).map((row) => row.values_dict);
      await page.goto(`${service.url}/console/p/${project.id}/datasets`);
      await button('Import a file').click();
      await choose('again.csv', text);
      await dialog().getByLabel('Name of the dataset').fill(`again ${newId()}`);
      await dialog().getByRole('button', { name: 'Import 3 rows' }).click();
      await cell('2 + 2').waitFor();
      dataset = /datasets\/([\w-]+)/.exec(page.url())?.[1] ?? '';
      expect((await rowsNow()).map((row) => row.values_dict)).toEqual(before);
    });
  });

  test('100,000 rows are scrolled to the end, and the last is changed', async () => {
    const rows = Array.from({ length: 100_000 }, (_, n) => ({ input: `question ${n}`, output: `${n}` }));
    dataset = await makeDataset(`large ${newId()}`, rows);
    await page.goto(`${service.url}/console/datasets/${dataset}`);
    await cell('question 0').waitFor();
    await page.getByRole('grid').press('Control+End');
    await cell('question 99999').waitFor();
    expect(await page.getByRole('row').count()).toBeLessThan(80);
    await edit('question 99999', 'the last one');
    await button('Save as version 2').click();
    await said('Saved as version 2: 1 row');
    await cell('the last one').waitFor();
  });
});
