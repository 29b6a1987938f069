import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { axeViolations, CHROMIUM, type ConsoleBrowser, consoleBrowser } from '../support/consoleBrowser.ts';
import { type ConsoleOthers, consoleOthers } from '../support/consoleOthers.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { type LoggedRow, loggedExperiment, solvedProblems } from '../support/loggedExperiments.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

const program = { name: 'chromium', path: existsSync(CHROMIUM) ? CHROMIUM : undefined };
describeWithServer('experiments compared in the console', program, (executablePath) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let others: ConsoleOthers;
  let project: string;
  let page: Page;
  let agent: string;
  let prompt: string;

  const log = (name: string, rows: readonly LoggedRow[]) => loggedExperiment(service, project, name, rows);
  const link = (base: string, compared: readonly string[], more: Record<string, string> = {}) =>
    `${service.url}/console/p/${project}/compare?${new URLSearchParams({ base, with: JSON.stringify(compared), ...more })}`;
  const verdict = (on: Page = page) => on.getByRole('heading', { level: 2, name: /^prompt is worse in numeric_match/ });
  const row = (on: Page = page) => on.getByRole('article', { name: 'Row' });
  const place = (text: string) => row().getByRole('status').filter({ hasText: text }).first().waitFor();

  beforeAll(async () => {
    service = await sharedTestService();
    // An experiment that is gone is answered 404, rows in common with nothing 422.
    pages = await consoleBrowser(executablePath, service.url, /status of 422/);
    others = consoleOthers(pages, service);
    project = (await service.project()).id;
    agent = await log(
      'agent',
      solvedProblems(() => true, { seconds: 2 }),
    );
    prompt = await log(
      'prompt',
      solvedProblems((n) => n % 4 !== 1),
    );
    page = await pages.signedIn({ key: service.apiKey });
  });
  afterAll(async () => {
    await using _service = service;
    await pages?.[Symbol.asyncDispose]();
  });

  test('is B better? Three clicks in the list of experiments lead to the verdict in words', async () => {
    await page.goto(`${service.url}/console/p/${project}/experiments`);
    await page.getByRole('checkbox', { name: 'Choose prompt', exact: true }).click();
    await page.getByRole('checkbox', { name: 'Choose agent', exact: true }).click();
    await page.getByRole('button', { name: 'Compare c' }).click();
    await verdict().waitFor();
    await page.goBack();
    await page.keyboard.press('c');
    await verdict().waitFor();
  });

  test('two are chosen on the page itself; p is in plain form', async () => {
    await page.goto(`${service.url}/console/p/${project}/compare`);
    await page.getByRole('button', { name: /^Baseline/ }).click();
    await page.getByRole('button', { name: /^agent/ }).click();
    await page.getByRole('button', { name: /^With/ }).click();
    await page.getByRole('button', { name: /^prompt/ }).click();
    await verdict().waitFor();
    await page.keyboard.press('Escape');
    const lines = page.getByRole('region', { name: 'Verdicts by metric' }).getByRole('row');
    const line = lines.filter({ hasText: 'numeric_match' });
    await expect.poll(() => line.textContent()).toMatch(/worsep = 0\.0\d\d.*-25\.0 points.*0 better 10 worse40 compared/);
    expect(await line.getByRole('img').getAttribute('aria-label')).toMatch(/^Difference -25\.0 points, interval -\d/);
    await expect.poll(() => lines.filter({ hasText: 'duration' }).textContent()).toMatch(/betterp < 0\.001/);
    expect(await page.getByRole('main').textContent()).not.toMatch(/\de-\d/);
    await page.getByText('40 rows matched by their dataset input · 0 changed').waitFor();
  });

  test('the ten worst rows are read with their word diff by one key each, and each is a link', async () => {
    await page.goto(link(agent, [prompt]));
    await place('1 of 40');
    for (let at = 2; at <= 10; at++) {
      await page.keyboard.press('n');
      await place(`${at} of 40`);
      const figure = async (part: 'del' | 'ins') => Number.parseInt((await row().locator(part).textContent()) ?? '', 10);
      await expect.poll(async () => (await figure('ins')) - (await figure('del'))).toBe(2);
    }
    await page.keyboard.press('k');
    await place('9 of 40');
    const ninth = await row().locator('section').first().textContent();
    await page.reload();
    await place('9 of 40');
    await expect.poll(() => row().locator('section').first().textContent()).toBe(ninth);
    await others.openLink(project, page.url(), async (seen) => {
      await seen
        .getByText((ninth ?? '').replace('Input', '').slice(0, 60))
        .first()
        .waitFor();
      await verdict(seen).waitFor();
    });
    await row().getByRole('link', { name: 'trace of prompt' }).click();
    await page.waitForURL(/\/traces\//);
    await page.goBack();
    await place('9 of 40');
  });

  test('rows are chosen by what became of them, and by slice; Back takes a choice back', async () => {
    await page.goto(link(agent, [prompt]));
    await place('1 of 40');
    await page.getByRole('button', { name: 'Worse 10' }).click();
    await place('1 of 10');
    await page.getByRole('button', { name: 'Failed' }).click();
    await page.getByText('No row is like that.').waitFor();
    await page.goBack();
    await place('1 of 10');
    await page.getByLabel('Slice rows by').selectOption('dataset_metadata/topic');
    const slices = page.getByRole('region', { name: 'Slices by dataset_metadata/topic' });
    await slices.getByRole('button').first().click();
    await page
      .getByText(/where dataset_metadata\/topic is/)
      .first()
      .waitFor();
    expect(page.url()).toContain('value=');
    await page.getByRole('button', { name: 'Rows of all slices' }).click();
    await place('1 of 10');
    await page.getByRole('checkbox', { name: 'against the reference' }).check();
    await expect.poll(() => row().getByRole('heading', { name: 'Reference' }).count()).toBe(3);
  });

  test('a difference that is not shown says what would decide it', async () => {
    const close = await log(
      'close',
      solvedProblems((n) => n !== 3, { seconds: 2 }),
    );
    await page.goto(link(agent, [close], { only: JSON.stringify(['numeric_match']) }));
    await page
      .getByRole('heading', { level: 2, name: 'No difference shown between close and agent in numeric_match.' })
      .waitFor();
    await page.getByText(/What would decide it: about \d+ rows, \d+ more than now/).waitFor();
  });

  test('scores of both sides have their explanations, and a failed row its reason', async () => {
    const failing = solvedProblems(() => true).map((one, n) =>
      n === 2 ? { ...one, output: '', failed: 'the model answered 429' } : one,
    );
    const broken = await log('broken', failing);
    await page.goto(link(agent, [broken], { rows: 'failed' }));
    await place('1 of 1');
    await row().getByText('failed: the model answered 429').waitFor();
    await row().getByRole('region', { name: 'Scores' }).getByRole('rowheader', { name: 'numeric_match' }).waitFor();
  });

  test('50 experiments are one table on one scale, in which one is chosen', async () => {
    const ids = await Promise.all(
      Array.from({ length: 49 }, (_, n) => log(`try ${n}`, solvedProblems((index) => index >= n % 8).slice(0, 8))),
    );
    await page.goto(link(agent, [...ids, prompt]));
    const table = page.getByRole('region', { name: 'Verdicts by experiment' });
    await table.waitFor();
    await expect.poll(() => table.getByRole('row').count()).toBe(51);
    await table.getByRole('button', { name: 'prompt', exact: true }).click();
    await page.getByRole('columnheader', { name: 'prompt' }).first().waitFor();
    expect(new URL(page.url()).searchParams.get('of')).toBe(prompt);
    await page.getByRole('combobox', { name: 'Metric' }).selectOption('cost');
    await table.getByRole('button', { name: 'numeric_match' }).waitFor();
    await page.reload();
    await table.getByRole('button', { name: 'numeric_match' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
  });

  test('one that was deleted, and one with nothing in common, are named; the others are compared', async () => {
    const [gone, elsewhere] = [
      await log(
        'gone',
        solvedProblems(() => true),
      ),
      await log('elsewhere', [{ input: 'another question', output: 'x', metrics: { numeric_match: true } }]),
    ];
    await page.goto(link(agent, [gone]));
    await place('1 of 40');
    await service.client.send(`/v2/projects/${project}/experiments/${gone}`, { method: 'DELETE' });
    await page.getByRole('button', { name: 'Missing' }).click();
    await page.getByRole('button', { name: 'Compare what is left' }).click();
    await page.getByRole('heading', { name: 'Deleted meanwhile' }).waitFor();
    await page.goto(link(agent, [gone, prompt, elsewhere]));
    await page.getByText('2 experiments are not compared').waitFor();
    await page.getByText('elsewhere and agent have no row in common').waitFor();
    await verdict().waitFor();
    await page.getByRole('button', { name: 'Take them out of the address' }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get('with')).toBe(JSON.stringify([prompt]));
    await page.goto(link(agent, [elsewhere]));
    await page.getByRole('heading', { name: 'Nothing in common' }).waitFor();
    await page.goto(link(gone, [agent]));
    await page.getByText('The baseline is not there any more').waitFor();
  });

  test('outputs of 5 MB leave the page free, and what is not compared is said', async () => {
    const word = 'all of it stays the same here ';
    const long = word.repeat(170_000);
    const sides: [string, string][] = [
      [long, `${long.slice(0, 3e6)}CHANGED ${long.slice(3e6)}`],
      ['one two three '.repeat(340_000), 'four five six '.repeat(340_000)],
    ];
    const [old, other] = await Promise.all(
      [0, 1].map((side) =>
        log(
          `long ${side}`,
          sides.map((texts, n) => ({ input: `long ${n}`, output: texts[side], metrics: { score: side === 0 ? 1 : n / 2 } })),
        ),
      ),
    );
    const comparing = page.waitForEvent('worker');
    await page.goto(link(old as string, [other as string]));
    await row().waitFor();
    await comparing;
    await page.evaluate(() => {
      const seen = globalThis as unknown as { longest: number };
      seen.longest = 0;
      let last = performance.now();
      const tick = () => {
        seen.longest = Math.max(seen.longest, performance.now() - last);
        last = performance.now();
        setTimeout(tick, 10);
      };
      tick();
    });
    await row().locator('ins', { hasText: 'CHANGED' }).waitFor();
    await row()
      .getByText(/characters are the same/)
      .first()
      .waitFor();
    await page.keyboard.press('n');
    await row()
      .getByText(/characters are too many to compare word by word/)
      .waitFor();
    // A worker compares; reading and showing them takes the page up to 1.5 s at a time, and on a slow machine six times as long.
    expect(await page.evaluate(() => (globalThis as unknown as { longest: number }).longest)).toBeLessThan(9_000);
  });

  test('verdicts and rows are saved as files', async () => {
    await page.goto(link(agent, [prompt], { rows: 'worse' }));
    await verdict().waitFor();
    const saved = async (name: string): Promise<string> => {
      await page.getByRole('button', { name: 'Export' }).click();
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
      return readFileSync(await download.path(), 'utf8');
    };
    expect(JSON.parse(await saved('Verdicts as JSON'))).toMatchObject({ baseline: { id: agent }, experiments: [{ id: prompt }] });
    const [head, ...lines] = (await saved('Verdicts as CSV')).trim().split('\r\n');
    expect(head).toContain('baseline,experiment,experiment_id,metric,');
    expect(lines.filter((line) => line.includes('numeric_match'))).toHaveLength(1);
    const rows = (await saved('Rows as JSON lines'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows).toHaveLength(10);
    expect(rows[0]).toMatchObject({ baseline: [{ scores: { numeric_match: { value: true } } }] });
    expect((await saved('Rows as CSV')).trim().split('\r\n')).toHaveLength(11);
  });
});

const folder = join(import.meta.dirname, '../../../shared/data/gsm8k');
const recorded = { name: 'data/gsm8k in the folder `shared` beside the project', path: existsSync(folder) ? folder : undefined };
describeWithServer('recorded answers of two models to 1,319 questions', recorded, (at) => {
  test.skipIf(!program.path)('are told apart, and their rows read to the end of the list', async () => {
    type Answers = Record<'6b_finetuning' | '175b_verification', { solution: string; is_correct: boolean }> & {
      question: string;
    };
    const lines = readFileSync(join(at, 'example_model_solutions.jsonl'), 'utf8').trim().split('\n');
    const answers = lines.map((line) => JSON.parse(line) as Answers);
    await using service = await sharedTestService();
    await using pages = await consoleBrowser(program.path ?? '', service.url);
    const { id: project } = await service.project();
    const [base, other] = await Promise.all(
      (['6b_finetuning', '175b_verification'] as const).map((model) =>
        loggedExperiment(
          service,
          project,
          model,
          answers.map((row) => ({
            input: row.question,
            output: row[model].solution,
            metrics: { is_right: row[model].is_correct },
          })),
        ),
      ),
    );
    const page = await pages.signedIn({ key: service.apiKey });
    await page.goto(`${service.url}/console/p/${project}/compare?base=${base}&with=${other}`);
    await page.getByRole('heading', { name: '175b_verification is better in is_right than 6b_finetuning' }).waitFor();
    await page.getByRole('button', { name: 'Better 499' }).waitFor();
    await page.getByRole('button', { name: 'Worse 43' }).click();
    const place = page.getByRole('article', { name: 'Row' }).getByRole('status').first();
    await expect.poll(() => place.textContent()).toBe('1 of 43');
    for (let row = 2; row <= 43; row++) await page.keyboard.press('n');
    await expect.poll(() => place.textContent()).toBe('43 of 43');
    const last = new URL(page.url()).searchParams.get('open');
    // Among all rows it is found again behind those that are loaded first.
    await page.goto(`${service.url}/console/p/${project}/compare?base=${base}&with=${other}&open=${last}`);
    await expect.poll(() => place.textContent()).toBe('43 of 1,319');
    await page.goto(`${service.url}/console/p/${project}/compare?base=${base}&with=${other}&rows=better&open=${last}`);
    await page.getByText('The row of this link is not among these').waitFor();
  });
});
