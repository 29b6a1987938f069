import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { made, newOwner } from '../support/authorization/callers.ts';
import { type ModelEndpoint, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

/** Models that two integrations have under one name; it belongs to this file. */
const model = `twin-${newId()}`;
const names = ['first', 'second'].map((name) => `${name}-${newId()}`) as [string, string];

interface Shown {
  id: string;
  name: string;
  is_selected: boolean;
  is_disabled: boolean;
}

type Owner = Awaited<ReturnType<typeof newOwner>>;

let service: TestService;
let endpoints: ModelEndpoint[];
let ids: string[];
beforeAll(async () => {
  service = await sharedTestService();
  endpoints = [await startModelEndpoint(), await startModelEndpoint()];
  ids = await Promise.all(
    names.map(async (name, index) => {
      const body = { endpoint: `${endpoints[index]?.url}/v1`, authentication_type: 'none', models: [model, 'gpt-4.1-mini'] };
      const saved = await service.request('PUT', `/integrations/custom/${name}`, body);
      return (saved.body as Shown).id;
    }),
  );
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  for (const endpoint of endpoints ?? []) await endpoint.close();
});

const select = (account: Owner, at: number) =>
  account.ask('POST', '/integrations/select', { integration_name: 'custom', integration_id: ids[at] });
const disable = (account: Owner, name: string) => account.ask('POST', '/integrations/disable', { integration_name: name });

/** Reads how a user sees the two. */
async function shown(account: Owner): Promise<[boolean, boolean][]> {
  const all = (await account.ask('GET', '/integrations')).body as Shown[];
  return names.map((name) => {
    const found = all.find((one) => one.name === name) as Shown;
    return [found.is_selected, found.is_disabled];
  });
}

/** Which of the two endpoints a call of the playground reaches; the events where none is. */
async function reached({ headers, project }: Owner): Promise<number | string> {
  const before = endpoints.map(({ requests }) => requests.length);
  const response = await fetch(`${service.url}/projects/${project}/playground_calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ template: 'x', settings: { model_alias: model } }),
  });
  const text = await response.text();
  const index = endpoints.findIndex(({ requests }, at) => requests.length > (before[at] ?? 0));
  return index < 0 ? text : index;
}

test('the calls of a user take the integration that they selected, and those of others do not', async () => {
  const [ada, ben] = [await newOwner(service), await newOwner(service)];
  expect(await reached(ada)).toBe(0);
  expect((await select(ada, 1)).body).toMatchObject({ name: names[1], is_selected: true, is_disabled: false });
  expect(await shown(ada)).toEqual([
    [false, false],
    [true, false],
  ]);
  expect([await reached(ada), await reached(ben)]).toEqual([1, 0]);
  expect(await shown(ben)).toEqual([
    [false, false],
    [false, false],
  ]);

  expect((await ada.ask('PUT', `/integrations/${ids[0]}/select`)).body).toMatchObject({ name: names[0], is_selected: true });
  expect(await shown(ada)).toEqual([
    [true, false],
    [false, false],
  ]);
  expect(await reached(ada)).toBe(0);
});

test('what a user disables is used for them no more, neither by a call nor by a run, until they select it', async () => {
  const ada = await newOwner(service);
  expect((await disable(ada, names[0])).status).toBe(200);
  expect(await shown(ada)).toEqual([
    [false, true],
    [false, false],
  ]);
  expect(await reached(ada)).toBe(1);

  expect((await disable(ada, 'custom')).status).toBe(200);
  expect(await shown(ada)).toEqual([
    [false, true],
    [false, true],
  ]);
  const refusal = `the integration \\"${names[0]}\\" has this model, but the user of the call has disabled it`;
  expect(await reached(ada)).toContain(refusal);
  const template = await made<{ selected_version_id: string }>(
    service,
    `/projects/${ada.project}/templates`,
    { name: newId(), template: '{{input}}', settings: { model_alias: model } },
    ada.headers,
  );
  const experiment = await made<{ id: string }>(service, `/projects/${ada.project}/experiments`, { name: 'run' }, ada.headers);
  const run = await ada.ask('POST', `/projects/${ada.project}/experiments/${experiment.id}/run`, {
    records: [{ input: 'x' }],
    runner: { kind: 'prompt_template', prompt_template_version_id: template.selected_version_id },
  });
  expect(JSON.stringify(run.body)).toContain(refusal);

  expect((await select(ada, 1)).body).toMatchObject({ is_selected: true, is_disabled: false });
  expect(await shown(ada)).toEqual([
    [false, true],
    [true, false],
  ]);
  expect(await reached(ada)).toBe(1);
  // One that was selected and is disabled then is not selected any more.
  await disable(ada, names[1]);
  expect(await shown(ada)).toEqual([
    [false, true],
    [false, true],
  ]);
});

test('a provider can be disabled before anybody has connected it', async () => {
  const ada = await newOwner(service);
  expect((await disable(ada, 'writer')).status).toBe(200);
  const saved = await service.request('PUT', '/integrations/writer', { token: 'x', organization_id: 'o' });
  expect(saved.body).toMatchObject({ is_disabled: false });
  const all = (await ada.ask('GET', '/integrations')).body as Shown[];
  expect(all.find(({ name }) => name === 'writer')).toMatchObject({ is_disabled: true });
  expect(Object.keys((await ada.ask('GET', '/llm_integrations')).body)).not.toContain('writer');
  expect((await ada.ask('GET', '/llm_integrations/writer/models')).body).toEqual([]);
});

test('a choice that makes no sense is refused', async () => {
  const ada = await newOwner(service);
  const wrong = await ada.ask('POST', '/integrations/select', { integration_name: 'openai', integration_id: ids[0] });
  expect(wrong.status).toBe(422);
  expect(JSON.stringify(wrong.body)).toContain(`is called \\"${names[0]}\\", of the provider custom`);
  const unknown = { integration_name: 'custom', integration_id: newId() };
  expect((await ada.ask('POST', '/integrations/select', unknown)).status).toBe(404);
  expect((await ada.ask('PUT', `/integrations/${newId()}/select`)).status).toBe(404);
  expect((await disable(ada, 'nobody')).status).toBe(404);
});

test('the models of a run are those of whoever made it', async () => {
  const ada = await newOwner(service);
  const stream = await made<{ id: string }>(service, `/projects/${ada.project}/log_streams`, { name: 'main' }, ada.headers);
  const at = (project: string, run: string) => `/llm_integrations/projects/${project}/runs/${run}`;
  await disable(ada, names[0]);
  const models = (await service.request('GET', at(ada.project, stream.id))).body as Record<string, object>;
  expect(models[names[0]]).toBeUndefined();
  expect(models[names[1]]).toMatchObject({ integration_id: ids[1], provider: 'custom', models: [model, 'gpt-4.1-mini'] });
  expect((await service.request('GET', `${at(ada.project, stream.id)}?multimodal_capabilities=vision`)).body).toMatchObject({
    [names[1]]: { models: ['gpt-4.1-mini'] },
  });
  const other = await newOwner(service);
  expect((await service.request('GET', at(other.project, stream.id))).status).toBe(404);
  expect((await other.ask('GET', at(ada.project, stream.id))).status).toBe(404);
});

test('recommended are known models of each provider, and those of them that integrations have', async () => {
  const { supported, available } = (await service.request('GET', '/llm_integrations/recommended_models')).body as Record<
    'supported' | 'available',
    Record<string, Record<string, string[]>>
  >;
  expect(supported?.openai?.llm_scorers).toContain('gpt-4.1-mini');
  expect(supported?.writer).toEqual({ llm_scorers: ['palmyra-x5'], multimodal_scorers: ['palmyra-x5'] });
  expect(available?.[names[0]]).toEqual({ llm_scorers: ['gpt-4.1-mini'], multimodal_scorers: ['gpt-4.1-mini'] });
  const models = (await service.request('GET', '/llm_integrations')).body as Record<string, { recommended_models: object }>;
  expect(models[names[1]]?.recommended_models).toEqual(available?.[names[1]]);
});
