import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ConsoleBrowser } from '../support/consoleBrowser.ts';
import { consoleOthers } from '../support/consoleOthers.ts';
import { type ConsoleTest, describeConsole } from '../support/describeConsole.ts';
import type { TestService } from '../support/testService.ts';

const DAY = 86_400_000;
const ago = (days: number) => new Date(Date.now() - days * DAY).toISOString();

describeConsole('projects, limits and health in the settings', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let projectWithStream: ConsoleTest['projectWithStream'];
  let page: Page;

  beforeAll(async () => {
    ({ service, pages, projectWithStream } = await open({ expected: /status of 4(03|22)/ }));
    page = await pages.signedIn({ key: service.apiKey });
  });

  const goTo = (path: string) => page.goto(`${service.url}/console/settings/${path}`);

  test('a shorter retention says what goes, and is refused without the words that confirm it', async () => {
    const project = await projectWithStream();
    const spans = [{ type: 'tool', name: 'look', input: 'x', created_at: ago(40) }];
    await project.log([{ name: 'old', input: 'q', created_at: ago(40), spans }]);
    await project.log([
      { name: 'kept by its span', input: 'q', created_at: ago(40), spans: [{ ...spans[0], created_at: ago(2) }] },
    ]);
    await project.log([{ name: 'new', input: 'q', created_at: ago(1) }]);
    const retention = async () =>
      (await service.client.send<{ retention_days: number | null }>(`/projects/${project.id}/retention`)).retention_days;
    await goTo('projects');
    await page.getByLabel('Project', { exact: true }).selectOption({ label: project.name });
    const part = page.getByRole('region', { name: 'Retention' });
    await part.getByText('Records are kept for ever.').waitFor();
    await part.getByLabel('Days to keep').fill('40000');
    await part.getByRole('button', { name: 'Change it' }).click();
    await part.getByText(/expected number to be <=36500/).waitFor();
    await part.getByLabel('Days to keep').fill('30');
    await part.getByRole('button', { name: 'Change it' }).click();
    const dialog = page.getByRole('dialog', { name: /^Keep records of/ });
    await dialog.getByText('1 trace with 2 records go', { exact: false }).waitFor();
    const doIt = dialog.getByRole('button', { name: 'Delete what is older' });
    await expect.poll(() => doIt.isDisabled()).toBe(true);
    await dialog.getByLabel('Type keep 30 to confirm').fill('keep 3');
    await expect.poll(() => doIt.isDisabled()).toBe(true);
    await page.keyboard.press('Enter');
    expect(await retention()).toBe(null);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await retention()).toBe(null);
    await part.getByRole('button', { name: 'Change it' }).click();
    await dialog.getByLabel('Type keep 30 to confirm').fill('keep 30');
    await doIt.click();
    await part.getByText('Records are kept 30 days').waitFor();
    expect(await retention()).toBe(30);
    const kept = async () => {
      const body = { log_stream_id: project.stream };
      const at = `/projects/${project.id}/traces/search`;
      const { records } = await service.client.send<{ records: { name: string }[] }>(at, { body });
      return records.map(({ name }) => name).sort();
    };
    await expect.poll(kept).toEqual(['kept by its span', 'new']);

    // A longer one deletes nothing, and asks nothing.
    await part.getByLabel('Days to keep').fill('');
    await part.getByRole('button', { name: 'Change it' }).click();
    await part.getByText('Records are kept for ever.').waitFor();
    expect(await retention()).toBe(null);

    const counters = page.getByRole('region', { name: 'Records that were sent' });
    await counters.getByText('5 of 5').waitFor();
  });

  test('a viewer reads the settings of a project, and somebody else nothing', async () => {
    const project = await projectWithStream();
    const link = `${service.url}/console/settings/projects?project=${project.id}`;
    const others = consoleOthers(pages, service);
    await others.openLink(project.id, link, async (theirs) => {
      await theirs.getByRole('region', { name: 'Retention' }).getByText('Records are kept for ever.').waitFor();
      await theirs.getByRole('region', { name: 'People' }).getByText('Viewer', { exact: true }).first().waitFor();
      await theirs.getByRole('region', { name: 'Limits of the playground' }).getByText('0 calls run now, not limited').waitFor();
      for (const name of ['Change it', 'Save the limits', 'Add the person', 'Add the group'])
        expect(await theirs.getByRole('button', { name }).count()).toBe(0);
    });
  });

  test('a project is shared with a person, whose role is changed and taken away', async () => {
    const project = await projectWithStream();
    const email = `${newId()}@example.com`;
    await service.client.send('/users', { body: { email, password: 'A-Password-of-people-1', role: 'user' } });
    await goTo(`projects?project=${project.id}`);
    const people = page.getByRole('region', { name: 'People' });
    await people.getByLabel('E-mail').fill(email);
    await people.getByLabel('Role', { exact: true }).first().selectOption('annotator');
    await people.getByRole('button', { name: 'Add the person' }).click();
    await people.getByLabel(`Role of ${email}`).selectOption('editor');
    const roleNow = async () => {
      const at = `/projects/${project.id}/users`;
      const { collaborators } = await service.client.send<{ collaborators: { email: string; role: string }[] }>(at);
      return collaborators.find((one) => one.email === email)?.role;
    };
    await expect.poll(roleNow).toBe('editor');
    await people.getByRole('button', { name: `Remove ${email}` }).click();
    await expect.poll(roleNow).toBe(undefined);
  });

  test('health shows the parts of this service, its queues with their worker, its version and disk', async () => {
    await goTo('health');
    await page.getByRole('status').getByText('Ready', { exact: true }).waitFor();
    const parts = page.getByRole('region', { name: 'Parts' });
    for (const part of ['ClickHouse', 'Postgres', 'Temporal', 'coordination (in memory)']) {
      const row = parts.getByRole('row').filter({ hasText: part });
      await row.getByText('answers', { exact: true }).waitFor();
    }
    const queues = page.getByRole('region', { name: 'Queues' });
    for (const queue of ['assay-experiments', 'assay-rows', 'assay-scoring', 'assay-maintenance'])
      await queues.getByRole('row').filter({ hasText: queue }).getByRole('cell', { name: '1', exact: true }).waitFor();
    const facts = () => page.getByRole('region', { name: 'This process' }).textContent();
    const { version } = await service.client.send<{ version: string }>('/healthcheck');
    await expect.poll(facts).toContain(version);
    await expect.poll(facts).toMatch(/[\d.,]+ [MG]B free of [\d.,]+ [MG]B/);
  });

  test('limits say what is used of them, and prices where they are set', async () => {
    const name = `priced-${newId()}`;
    const { id } = await service.client.send<{ id: string }>(`/integrations/custom/${name}`, {
      method: 'PUT',
      body: { endpoint: 'http://127.0.0.1:9/v1', authentication_type: 'none' },
    });
    await service.client.send(`/integrations/${id}/prices`, {
      method: 'PUT',
      body: { prices: [{ model: 'house-model', input: 0.5, output: 2, cached_input: 0.1, call: 0.003 }] },
    });
    await goTo('prices');
    const price = page.getByRole('row').filter({ has: page.getByRole('link', { name }) });
    await price.getByText('cached input 0.1; each call 0.003').waitFor();
    await goTo('limits');
    const row = page.getByRole('row').filter({ hasText: 'Bodies of requests in memory' });
    await row.getByText('BODIES_MB').waitFor();
    await expect.poll(() => row.textContent()).toMatch(/192 MiB\d[\d.]* MiB/);
    await page.getByRole('row').filter({ hasText: 'Rows of a dataset' }).getByText('1,000,000').waitFor();
  });

  test('no section scrolls sideways at 320 px', async () => {
    const project = await projectWithStream();
    const email = `${'a.very.long.name.'.repeat(3)}${newId().slice(-8)}@example.com`;
    await service.client.send('/users', { body: { email, password: 'A-Password-of-people-1', role: 'user' } });
    await service.client.send('/groups', { body: { name: `reviewers ${newId()}`, description: 'rate answers' } });
    const { id } = await service.client.send<{ id: string }>(`/integrations/custom/narrow-${newId()}`, {
      method: 'PUT',
      body: { endpoint: 'http://127.0.0.1:9/v1', authentication_type: 'none', models: ['small'] },
    });
    const input = { base: 0.4, tiers: [{ above: 200_000, price: 0.8 }] };
    const prices = [{ model: 'house-model-of-2026', valid_from: '2026-07-01T00:00:00Z', input, output: 1.5 }];
    await service.client.send(`/integrations/${id}/prices`, { method: 'PUT', body: { prices } });
    await page.setViewportSize({ width: 320, height: 900 });
    const sections = ['integrations', `integrations/${id}`, 'integrations/new', 'prices', `projects?project=${project.id}`];
    for (const path of [...sections, 'keys', 'users', 'groups', 'account', 'limits', 'health']) {
      await page.goto(`${service.url}/console/settings/${path}`, { waitUntil: 'networkidle' });
      await page.getByRole('heading', { level: 1 }).waitFor();
      const beyond = await page.evaluate('(main => main.scrollWidth - main.clientWidth)(document.querySelector("main"))');
      expect([path, beyond]).toEqual([path, 0]);
      // Inside the 16 px at either side; a value is wider than a letter.
      const right = 'Math.max(0, ...[...document.querySelectorAll("main table")].map(one => one.getBoundingClientRect().right))';
      expect([path, await page.evaluate<number>(right)]).toEqual([path, expect.toSatisfy((at: number) => at <= 305)]);
      const narrow = '[...document.querySelectorAll("main dd")].filter(one => one.clientWidth < 80).map(one => one.textContent)';
      expect([path, await page.evaluate(narrow)]).toEqual([path, []]);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
  });
});
