import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ConsoleBrowser } from '../support/consoleBrowser.ts';
import { describeConsole } from '../support/describeConsole.ts';
import { fails, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { modelAt } from '../support/runs.ts';
import type { TestService } from '../support/testService.ts';

const PASSWORD = 'A-Password-of-integrations-1';

describeConsole('integrations in the settings', (open) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  let endpoint: ModelEndpoint;
  let page: Page;

  beforeAll(async () => {
    ({ service, pages } = await open({ expected: /status of 4(03|22)/ }));
    endpoint = await startModelEndpoint();
    page = await pages.signedIn({ key: service.apiKey });
  });
  afterAll(() => endpoint?.close());

  const goTo = (path: string) => page.goto(`${service.url}/console/settings/${path}`);
  const heading = (name: string) => page.getByRole('heading', { level: 1, name });
  const callIt = () => page.getByRole('button', { name: 'Call it' }).click();
  const result = () => page.getByRole('region', { name: 'Test call' }).getByRole('status');
  async function stored(name = `house-${newId()}`): Promise<{ id: string; name: string }> {
    await modelAt(service.client, name, endpoint.url, ['small', 'large']);
    return service.client.send(`/integrations/custom/${name}`);
  }

  test('an endpoint is connected, tried, and forgotten by nobody who reloads', async () => {
    const name = `house-${newId()}`;
    await page.locator('[popovertarget=preferences]').click();
    await page.locator('#preferences').getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('link', { name: 'Endpoint of your own' }).click();
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByLabel('Address', { exact: true }).fill('ftp://nowhere');
    await page.getByLabel('Authentication').selectOption('api_key');
    await page.getByLabel('Header of the key').fill('X-Model-Key');
    await page.getByLabel('Key', { exact: true }).fill('a very secret key');
    await page.getByRole('button', { name: 'Add a model' }).click();
    await page.getByLabel('Name at the endpoint, model 1').fill('small');
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByText('must be a URL that starts with https:// or http://').waitFor();
    expect(await page.getByLabel('Address', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    await page.reload();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe(name);
    expect(await page.getByLabel('Key', { exact: true }).inputValue()).toBe('');
    expect(await page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')).not.toContain('very secret');
    await page.getByLabel('Address', { exact: true }).fill(endpoint.url);
    await page.getByLabel('Key', { exact: true }).fill('a very secret key');
    await page.getByRole('button', { name: 'Connect' }).click();
    await heading(name).waitFor();

    endpoint.next(says('ready indeed'));
    await callIt();
    await result().getByText('It answers').waitFor();
    await result().getByText('ready indeed').waitFor();
    await expect.poll(() => result().textContent()).toMatch(/Latency[\d.]+ m?s.*Tokens12 → 3/);
    expect(endpoint.requests.at(-1)?.headers['x-model-key']).toBe('a very secret key');

    endpoint.next(fails(401));
    await callIt();
    await result().getByText('It failed: unauthorized (401)').waitFor();
    await result().getByText('type it again below').waitFor();
    await page.getByLabel('Model', { exact: true }).fill('smal');
    await callIt();
    await result().getByText('It failed: model unknown').waitFor();
    await page.getByRole('region', { name: 'People' }).getByLabel('E-mail').fill('somebody@example.com');
    await page.reload();
    await page.getByRole('button', { name: 'Call it' }).waitFor();
    await expect.poll(() => page.getByLabel('Model', { exact: true }).first().inputValue()).toBe('smal');
    await expect.poll(() => page.getByLabel('E-mail').inputValue()).toBe('somebody@example.com');

    await page.goto(`${service.url}/console/settings/integrations`);
    await page.getByRole('row').filter({ hasText: name }).getByText('connected').waitFor();
    expect(await page.content()).not.toContain('very secret');
  });

  test('settings are changed without what no field shows; a secret is asked for again when the address changes', async () => {
    const name = `held-${newId()}`;
    await service.client.send(`/integrations/custom/${name}`, {
      method: 'PUT',
      body: {
        ...{ endpoint: endpoint.url, authentication_type: 'oauth2', oauth2_token_url: endpoint.url, token: 'id:secret' },
        model_properties: [{ name: 'small', supported_parameters: ['temperature'] }],
        custom_header_mapping: { run_id: 'X-Run' },
      },
    });
    const { id } = await service.client.send<{ id: string }>(`/integrations/custom/${name}`);
    await goTo(`integrations/${id}`);
    await page.getByLabel('Default model').fill('small');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('The settings are saved').waitFor();
    const now = () => service.client.send(`/integrations/custom/${name}/definition`);
    await expect.poll(now).toMatchObject({
      ...{ token: 'id:secret', default_model: 'small', custom_header_mapping: { run_id: 'X-Run' } },
      model_properties: [{ name: 'small', supported_parameters: ['temperature'] }],
    });
    await page.getByLabel('Address', { exact: true }).fill(`${endpoint.url}/v2`);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('endpoint changed: give token again').waitFor();
    expect(await page.getByLabel('Client credentials').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Client credentials').fill('id:another');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('The settings are saved').waitFor();
    // The note of the first time may still be there.
    await expect.poll(now).toMatchObject({ token: 'id:another', endpoint: `${endpoint.url}/v2` });
  });

  test('a provider whose key has parts gets the fields of its settings, without the key', async () => {
    await goTo('integrations/new?provider=aws_bedrock');
    await page.getByLabel('Access key id').fill('AKID');
    await page.getByLabel('Secret access key').fill('two words');
    await page.getByLabel('Region').fill('eu-central-1');
    await page.getByLabel('Inference profiles').fill('amazon.nova-pro-v1:0: eu.amazon.nova-pro-v1:0');
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByText('must be printable characters without spaces').waitFor();
    expect(await page.getByLabel('Secret access key').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Secret access key').fill('one-word');
    await page.getByRole('button', { name: 'Connect' }).click();
    await heading('aws_bedrock').waitFor();
    await expect.poll(() => page.getByLabel('Region').inputValue()).toBe('eu-central-1');
    expect(await page.content()).not.toMatch(/AKID|one-word/);
    expect(await service.client.send('/integrations/aws_bedrock')).toMatchObject({
      inference_profiles: { 'amazon.nova-pro-v1:0': 'eu.amazon.nova-pro-v1:0' },
    });
  });

  test('prices and limits are set, and what has tiers stays', async () => {
    const { id } = await stored();
    const tiered = { base: 0.4, tiers: [{ above: 200_000, price: 0.8 }] };
    await service.client.send(`/integrations/${id}/prices`, {
      method: 'PUT',
      body: { prices: [{ model: 'small', valid_from: '2026-07-01T00:00:00Z', input: tiered, output: 1 }] },
    });
    await goTo(`integrations/${id}`);
    await page.getByText('Stays as it is: input 0.4, 0.8 above 200000 input tokens.').waitFor();
    expect(await page.getByLabel('Input, price 1', { exact: true }).inputValue()).toBe('0.4 to 0.8');
    expect(await page.getByLabel('Input, price 1', { exact: true }).isEditable()).toBe(false);
    await page.getByLabel('Output, price 1', { exact: true }).fill('1.5');
    await page.getByRole('button', { name: 'Add a price' }).click();
    await page.getByLabel('Model, price 2').fill('large');
    await page.getByLabel('Input, price 2', { exact: true }).fill('2');
    await page.getByLabel('From, in UTC, price 2').fill('2026-13-01');
    await page.getByRole('button', { name: 'Save the prices' }).click();
    await page.locator('input:invalid').and(page.getByLabel('From, in UTC, price 2')).waitFor();
    await page.getByLabel('From, in UTC, price 2').fill('');
    await page.getByRole('button', { name: 'Save the prices' }).click();
    await page.getByText('The prices are saved').waitFor();
    expect(await service.client.send(`/integrations/${id}/prices`)).toMatchObject({
      prices: [
        { model: 'small', valid_from: '2026-07-01T00:00:00.000000Z', input: tiered, output: 1.5 },
        { model: 'large', valid_from: null, input: 2, output: null },
      ],
    });
    await expect.poll(() => page.getByLabel('Calls in flight').getAttribute('placeholder')).toBe('1,000');
    await page.getByLabel('Calls in flight').fill('20000');
    await page.getByRole('button', { name: 'Save the limits' }).click();
    await page.getByText(/expected number to be <=10000/).waitFor();
    await page.getByLabel('Calls in flight').fill('7');
    await page.getByRole('button', { name: 'Save the limits' }).click();
    await page.getByText('The limits are saved').waitFor();
    expect(await service.client.send(`/integrations/${id}/limits`)).toMatchObject({ concurrency: 7, tokens_per_minute: null });
  });

  test('a deletion can be taken back; others read what they may not change', async () => {
    const { id, name } = await stored();
    await goTo(`integrations/${id}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('link', { name }).waitFor();
    const email = `${newId()}@example.com`;
    await service.client.send('/users', { body: { email, password: PASSWORD, role: 'user' } });
    const other = await pages.signedIn({ email, password: PASSWORD });
    await other.goto(`${service.url}/console/settings/integrations/${id}`);
    await other.getByRole('region', { name: 'Settings' }).getByText(endpoint.url).waitFor();
    for (const button of ['Delete', 'Save', 'Call it', 'Save the limits', 'Add a price'])
      expect(await other.getByRole('button', { name: button }).count()).toBe(0);
    await other.goto(`${service.url}/console/settings/integrations/new`);
    await other.getByText('Administrators and managers connect providers').waitFor();

    await goTo(`integrations/${id}`);
    const people = page.getByRole('region', { name: 'People' });
    await people.getByLabel('E-mail').fill(email);
    await people.getByLabel('Role', { exact: true }).first().selectOption('editor');
    await people.getByRole('button', { name: 'Add the person' }).click();
    await people.getByLabel(`Role of ${email}`).waitFor();
    await other.goto(`${service.url}/console/settings/integrations/${id}`);
    await other.getByRole('button', { name: 'Call it' }).waitFor();
    expect(await other.getByRole('button', { name: 'Add the person' }).count()).toBe(0);
  });
});
