import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { axeViolations, type ConsoleBrowser } from '../support/consoleBrowser.ts';
import { describeConsole } from '../support/describeConsole.ts';
import type { TestService } from '../support/testService.ts';

const RECORDS = 20;
const PASSWORD = 'A-Password-of-annotators-1';

interface Made {
  id: string;
}

describeConsole('annotation queues', (openConsole) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let page: Page;

  beforeAll(async () => {
    ({ service, pages } = await openConsole());
    page = await pages.signedIn({ key: service.apiKey });
  });

  const post = async <T>(path: string, body: object): Promise<T> => {
    const answer = await service.request('POST', path, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body as T;
  };

  /** A queue of 20 records with the questions of these kinds. */
  async function queueOf(questions: Record<string, object>): Promise<string> {
    const project = await service.project();
    const { id: run } = await post<Made>(`/projects/${project.id}/log_streams`, { name: 'main' });
    const traces = Array.from({ length: RECORDS }, (_, index) => ({
      ...{ name: `answer ${index}`, input: `question ${index}`, output: `reply ${index}` },
      created_at: new Date(Date.UTC(2026, 0, 2, 12, index)).toISOString(),
    }));
    await post(`/projects/${project.id}/traces`, { log_stream_id: run, traces });
    const { id } = await post<Made>('/annotation_queues', { name: { value: `Tone ${newId()}` } });
    for (const [name, constraints] of Object.entries(questions))
      await post(`/annotation_queues/${id}/templates`, { template: { name, include_explanation: true, constraints } });
    const record_selector = { type: 'filter_tree', filter_tree: { and: [] } };
    await post(`/annotation_queues/${id}/records`, { project_id: project.id, run_id: run, record_selector });
    return id;
  }

  const open = async (queueId: string, search = '') => {
    await page.goto(`${service.url}/console/queues/${queueId}${search}`);
    await page.getByRole('tab', { name: 'Rate' }).waitFor();
  };
  const details = async (queueId: string) => {
    const { body } = await service.request('GET', `/annotation_queues/${queueId}/details`);
    return body as { annotation_aggregates: Record<string, { aggregate: Record<string, unknown> }> | null };
  };
  /** The name of the record that is shown, when it is another than before. */
  const nameAfter = async (before: string | undefined) => {
    const heading = page.getByRole('article', { name: 'Record' }).getByRole('heading', { level: 2 });
    if (before !== undefined) await heading.filter({ hasText: new RegExp(`^${before}$`) }).waitFor({ state: 'detached' });
    return (await heading.textContent()) ?? '';
  };
  const isFocused = (name: string) =>
    expect
      .poll(() => page.evaluate('document.activeElement?.closest("fieldset")?.querySelector("legend")?.textContent'))
      .toBe(name);

  test('20 records are rated with two keys each; a reload goes on where one was', async () => {
    const queueId = await queueOf({ 'Friendly?': { annotation_type: 'like_dislike' } });
    await open(queueId);
    const seen = new Set<string>();
    let name: string | undefined;
    for (let index = 0; index < RECORDS; index++) {
      name = await nameAfter(name);
      seen.add(name);
      await isFocused('Friendly?');
      if (index === 10) {
        await page.reload();
        expect(await nameAfter(undefined)).toBe(name);
        await isFocused('Friendly?');
      }
      await page.keyboard.press(index % 4 === 0 ? '2' : '1');
      await page.keyboard.press('Enter');
    }
    await page.getByRole('heading', { name: 'That was the last one' }).waitFor();
    expect(seen.size).toBe(RECORDS);
    await page.getByText(`You have rated ${RECORDS} of ${RECORDS} records.`).waitFor();
    await expect
      .poll(async () => Object.values((await details(queueId)).annotation_aggregates ?? {})[0]?.aggregate)
      .toMatchObject({ like_count: 15, dislike_count: 5, unrated_count: 0 });
    await page.keyboard.press('k');
    expect(await nameAfter(undefined)).toBe(name);
    await expect.poll(() => page.getByLabel('Yes').isChecked()).toBe(true);
  });

  test('every kind of question is answered by keys alone, and says why', async () => {
    const queueId = await queueOf({
      Stars: { annotation_type: 'star' },
      Score: { annotation_type: 'score', min: 0, max: 10 },
      Choice: { annotation_type: 'choice', choices: ['red', 'green'], allow_other: false },
      Tags: { annotation_type: 'tags', tags: ['long', 'rude'], allow_other: false },
      Tree: {
        annotation_type: 'tree_choice',
        choices_tree: [{ label: 'Tone', id: 'tone', children: [{ label: 'Cold', id: 'cold', children: [] }] }],
      },
      Text: { annotation_type: 'text' },
    });
    await open(queueId);
    await nameAfter(undefined);
    await isFocused('Stars');
    await page.keyboard.press('4');
    await isFocused('Score');
    await page.keyboard.type('11');
    await page.keyboard.press('Enter');
    await isFocused('Score');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('7');
    await page.keyboard.press('Enter');
    await isFocused('Choice');
    await page.keyboard.press('2');
    await isFocused('Tags');
    await page.keyboard.press('1');
    await expect.poll(() => page.getByLabel('long').isChecked()).toBe(true);
    await page.keyboard.press('2');
    await expect.poll(() => page.getByLabel('rude').isChecked()).toBe(true);
    await page.keyboard.press('Enter');
    await isFocused('Tree');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await isFocused('Text');
    await page.keyboard.type('says j and k');
    await page.keyboard.press('Enter');
    await page.getByRole('group', { name: 'Stars' }).getByPlaceholder('Why?').fill('polite');
    await page.keyboard.press('Enter');
    const given = async () => {
      const id = (new URL(page.url()).searchParams.get('record') ?? (await firstOf(queueId))) as string;
      const { body } = await service.request('GET', `/annotation_queues/${queueId}/records/${id}`);
      const { annotations } = body as {
        annotations: Record<string, Record<string, { value: unknown; explanation: string | null }>>;
      };
      return Object.values(annotations).flatMap((one) => Object.values(one).map(({ value }) => value));
    };
    await expect
      .poll(async () => new Set(await given()))
      .toEqual(new Set([4, 7, 'green', ['long', 'rude'], 'cold', 'says j and k']));
    expect(await axeViolations(page)).toEqual([]);
    // Axe looks at no text of one letter.
    const colors = `[...document.querySelectorAll('[data-next], [data-next] kbd')].map((one) => getComputedStyle(one).color)`;
    expect(new Set(await page.evaluate<string[]>(colors)).size).toBe(1);
  });

  async function firstOf(queueId: string): Promise<string> {
    const { body } = await service.request('POST', `/annotation_queues/${queueId}/partial_search`, {
      limit: 1,
      select_columns: { column_ids: ['id'], include_all_metrics: false, include_all_feedback: false },
    });
    return (body as { records: Made[] }).records[0]?.id as string;
  }

  test('two people rate the same record at once, and each keeps the own answer', async () => {
    const queueId = await queueOf({ 'Friendly?': { annotation_type: 'like_dislike' } });
    const email = `${newId()}@example.com`;
    await post('/users', { email, password: PASSWORD, role: 'user' });
    await open(queueId, '?tab=people');
    await page.getByRole('form', { name: 'Add somebody' }).getByLabel('E-mail').fill(email);
    await page.keyboard.press('Enter');
    await page.getByLabel(`Role of ${email}`).waitFor();
    const other = await pages.signedIn({ email, password: PASSWORD });
    for (const one of [page, other]) {
      await one.goto(`${service.url}/console/queues/${queueId}`);
      await one.getByRole('group', { name: 'Friendly?' }).waitFor();
    }
    await Promise.all([page.keyboard.press('1'), other.keyboard.press('2')]);
    await expect
      .poll(async () => Object.values((await details(queueId)).annotation_aggregates ?? {})[0]?.aggregate)
      .toMatchObject({ like_count: 1, dislike_count: 1, tie_count: 1 });
    await page.getByRole('tab', { name: 'Results' }).click();
    await page.getByText('Agreement 0 (from 0 to 1, mean of 1 record').waitFor();
    expect(await other.getByRole('button', { name: 'Delete' }).count()).toBe(0);
    await other.context().close();
  });

  test('somebody who is added while the people are still being read is shown', async () => {
    const queueId = await queueOf({ 'Friendly?': { annotation_type: 'like_dislike' } });
    const email = `${newId()}@example.com`;
    await post('/users', { email, password: PASSWORD, role: 'user' });
    const [isRead, isAdded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const people = new RegExp(`/annotation_queues/${queueId}/users`);
    await page.route(people, async (route) => {
      if (route.request().method() !== 'GET') return route.continue();
      const response = await route.fetch();
      isRead.resolve();
      await isAdded.promise;
      await route.fulfill({ response });
    });
    await open(queueId, '?tab=people');
    await isRead.promise;
    const form = page.getByRole('form', { name: 'Add somebody' });
    await form.getByLabel('E-mail').fill(email);
    const answered = page.waitForResponse((one) => people.test(one.url()) && one.request().method() === 'POST');
    await page.keyboard.press('Enter');
    await answered;
    isAdded.resolve();
    await page.getByLabel(`Role of ${email}`).waitFor();
    await page.unroute(people);
  });

  test('a queue is made, asked something, and found again; a question goes after it could be taken back', async () => {
    const name = `Judged ${newId()}`;
    await page.goto(`${service.url}/console/queues`);
    await page.getByRole('button', { name: 'New queue' }).click();
    await page.getByLabel('Name').fill(name);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    const form = page.getByRole('form', { name: 'New question' });
    await form.getByLabel('Question').fill('Which tone?');
    await form.getByLabel('Answered by').selectOption('One of several');
    await form.getByLabel('One a line').fill('warm\ncold');
    await form.getByRole('button', { name: 'Add the question' }).click();
    await page.getByText('One of warm, cold').waitFor();
    await page.getByRole('button', { name: 'Move Which tone? up' }).click();
    await expect.poll(() => page.getByRole('listitem').first().getByRole('textbox').inputValue()).toBe('Which tone?');
    await page.getByRole('listitem').nth(1).getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Now' }).click();
    await expect.poll(() => page.getByRole('listitem').count()).toBe(1);
    await page.getByRole('tab', { name: 'Rate' }).click();
    await page.getByRole('heading', { name: 'No record yet' }).waitFor();
    await page.getByRole('link', { name: 'Queues' }).click();
    await page.getByLabel('Find a queue').fill(name);
    await page.getByRole('link', { name }).click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Annotation queues' }).waitFor();
  });

  test('a question, an answer and an address that are being typed outlive a session that ends', async () => {
    const queueId = await queueOf({ Tone: { annotation_type: 'choice', choices: ['warm'], allow_other: true } });
    const form = page.getByRole('form', { name: 'New question' });
    await open(queueId);
    const another = page.getByRole('radiogroup', { name: 'Answer' }).getByPlaceholder('Another');
    await another.fill('rather co');
    await open(queueId, '?tab=people');
    await page.getByRole('form', { name: 'Add somebody' }).getByLabel('E-mail').fill('ana@example.co');
    await open(queueId, '?tab=questions');
    await form.getByLabel('Question').fill('Which style?');
    await form.getByLabel('Answered by').selectOption('Some of several');
    await form.getByLabel('One a line').fill('dry\nlively');
    await form.getByLabel('Or another').check();
    await page.context().request.post(`${service.url}/pages/logout`);
    await page.reload();
    await pages.signInOn(page, { key: service.apiKey });
    await form.waitFor();
    await expect.poll(() => form.getByLabel('Question').inputValue()).toBe('Which style?');
    expect(await form.getByLabel('One a line').inputValue()).toBe('dry\nlively');
    expect(await form.getByLabel('Or another').isChecked()).toBe(true);
    await form.getByRole('button', { name: 'Add the question' }).click();
    await page.getByText('Some of dry, lively, or another').waitFor();
    await expect.poll(() => form.getByLabel('Question').inputValue()).toBe('');
    await expect.poll(() => form.getByLabel('Answered by').inputValue()).toBe('like_dislike');
    await open(queueId, '?tab=people');
    await expect
      .poll(() => page.getByRole('form', { name: 'Add somebody' }).getByLabel('E-mail').inputValue())
      .toBe('ana@example.co');
    await open(queueId);
    await expect.poll(() => another.inputValue()).toBe('rather co');
  });

  describe.each(['light', 'dark'] as const)('in the %s theme', (theme) => {
    test('no view of a queue has a violation that axe finds, at 1,440 and 320 px', async () => {
      const queueId = await queueOf({ 'Friendly?': { annotation_type: 'like_dislike' }, Stars: { annotation_type: 'star' } });
      await page.emulateMedia({ colorScheme: theme });
      for (const width of [1440, 320]) {
        await page.setViewportSize({ width, height: 900 });
        for (const tab of ['rate', 'results', 'questions', 'people']) {
          await open(queueId, `?tab=${tab}`);
          await page.waitForLoadState('networkidle');
          expect(await axeViolations(page), `${tab} at ${width}`).toEqual([]);
        }
        await page.goto(`${service.url}/console/queues`);
        await page.getByRole('table').waitFor();
        expect(await axeViolations(page), `queues at ${width}`).toEqual([]);
      }
      await page.setViewportSize({ width: 1440, height: 900 });
    });
  });
});
