import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { addCodeMetricVersion, createCodeMetric } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { axeViolations } from '../support/consoleBrowser.ts';
import { describeConsole } from '../support/describeConsole.ts';
import type { TestService } from '../support/testService.ts';

const code = 'def scorer_fn(*, step_object, **kwargs) -> int:\n    return len(step_object.output)\n';
const kinds = ['trace'];

describeConsole('versions of a code metric', (open) => {
  let service: TestService;
  let page: Page;
  let id: string;

  beforeAll(async () => {
    const { service: opened, pages, projectWithStream } = await open();
    service = opened;
    page = await pages.signedIn({ key: service.apiKey });
    const project = await projectWithStream();
    ({ id } = await createCodeMetric({ client: service.client, name: `length ${newId()}`, code, kinds, direction: 'higher' }));
    await page.goto(`${service.url}/console/p/${project.id}/metrics/${id}`);
  });

  const button = (name: string) => page.getByRole('button', { name, exact: true });

  test('a version that was added while the next one is written is announced, and the next one follows it', async () => {
    await button('Write a new version').click();
    const source = page.getByLabel('Source code');
    await source.fill(`# mine\n${code}`);
    expect(await page.getByText('is newer than').count()).toBe(0);
    await addCodeMetricVersion({ client: service.client, id, code: `# theirs\n${code}`, kinds });
    await page.reload();
    await page.getByText('Version 2 is newer than the one that you began with; yours becomes the one after it.').waitFor();
    expect(await source.inputValue()).toBe(`# mine\n${code}`);
    expect(await axeViolations(page)).toEqual([]);
    await button('Save as version 3').click();
    await page.getByRole('heading', { name: 'Version 3' }).waitFor();
  });

  test('the sources of two versions are compared word by word, and a default is chosen', async () => {
    await addCodeMetricVersion({
      client: service.client,
      id,
      code: code.replace('output', 'input'),
      kinds: ['trace', 'session'],
    });
    await page.reload();
    await page.getByRole('tab', { name: 'Versions' }).click();
    await button('What changed in version 4').click();
    const changes = page.getByRole('region', { name: 'What changed' });
    await changes.locator('ins', { hasText: 'input' }).waitFor();
    expect(await changes.locator('del').allInnerTexts()).toContain('output');
    await changes.getByText('looks at: trace').first().waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await button('Make default of version 3').click();
    await page.getByRole('row').filter({ hasText: '3 default' }).waitFor();
    expect(await page.getByRole('columnheader').allInnerTexts()).toEqual(['Version', 'When', 'Actions']);
    await page.getByRole('tab', { name: 'Metric' }).click();
    await page.getByRole('heading', { name: 'Version 3' }).waitFor();
    await page.getByRole('region', { name: 'Source code' }).getByText('# mine').waitFor();
  });
});
