import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { made } from '../support/authorization/callers.ts';
import { type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let endpoint: ModelEndpoint;
let project: string;
/** A name of a model that belongs to this file. */
const model = `judge-${newId()}`;
beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  const body = { endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: ['first', model] };
  expect((await service.request('PUT', `/integrations/custom/${newId()}`, body)).status).toBe(200);
  project = (await service.project()).id;
});
beforeEach(() => {
  endpoint.requests.length = 0;
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

// biome-ignore lint/suspicious/noExplicitAny: replies of every shape; a wrong guess fails the test
type Json = any;

const get = async (path: string): Promise<Json> => (await service.request('GET', path)).body;
const presetOf = async (name: string): Promise<Json> => {
  const filters = [{ name: 'name', operator: 'eq', value: name }];
  return (await made<Json>(service, '/scorers/list', { filters })).scorers[0];
};

/** Returns the score of a metric on a trace of a log stream that has it switched on. */
async function scored(scorer: object, metric: string): Promise<Json> {
  const at = `/projects/${project}`;
  const stream = (await made<Json>(service, `${at}/log_streams`, { name: newId() })).id;
  const settings = await made<Json>(service, `${at}/runs/${stream}/scorer-settings`, { run_id: stream, scorers: [scorer] });
  const trace = newId();
  await made(service, `${at}/traces`, { log_stream_id: stream, traces: [{ id: trace, input: 'q', output: 'Good day.' }] });
  const info = async () => (await get(`${at}/traces/${trace}`)).metric_info?.[metric];
  await expect.poll(async () => (await info())?.status_type).toBe('success');
  return { info: await info(), setting: settings.scorers[0] };
}

test('a version of a built-in metric counts where a run names it', async () => {
  const preset = await presetOf('instruction_adherence');
  const at = `/scorers/${preset.id}`;
  const first = await made<Json>(service, `${at}/version/preset`, {
    model_name: model,
    num_judges: 2,
    scoreable_node_types: ['trace'],
  });
  const second = await made<Json>(service, `${at}/version/preset`, { cot_enabled: false });
  expect(first).toMatchObject({ scorer_id: preset.id, model_name: model, num_judges: 2, output_type: preset.output_type });
  expect(second).toMatchObject({ version: first.version + 1, model_name: null, num_judges: null, cot_enabled: false });
  expect(await get(`${at}/version`)).toEqual(second);
  expect(await get(`${at}/version?version=${first.version}`)).toEqual(first);
  expect((await get(`${at}/versions?limit=2`)).versions).toEqual([second, first]);
  expect((await service.request('GET', `${at}/version?version=100000`)).status).toBe(404);

  endpoint.otherwise(says('{"explanation": "as asked", "verdict": true}'));
  const { setting } = await scored({ id: preset.id, scorer_type: 'preset', scorer_version: first }, 'instruction_adherence');
  expect(setting).toMatchObject({ model_name: model, num_judges: 2, scorer_version: { id: first.id } });
  expect(endpoint.requests.map(({ body }) => body.model)).toEqual([model, model]);
  expect(await get(`/scorers/versions/${first.id}/projects`)).toMatchObject({ projects: [{ id: project, num_logstreams: 1 }] });
  expect(await get(`/scorers/versions/${second.id}/projects`)).toMatchObject({ total_count: 0 });

  // The run's own setting comes first, and a run that names no version has none.
  endpoint.requests.length = 0;
  const own = { id: preset.id, scorer_type: 'preset', scorer_version: first, num_judges: 1, model_name: 'first' };
  await scored(own, 'instruction_adherence');
  expect(endpoint.requests.map(({ body }) => body.model)).toEqual(['first']);
});

test('a version that no built-in metric can have is refused', async () => {
  const preset = await presetOf('instruction_adherence');
  const add = async (id: string, body: object) => (await service.request('POST', `/scorers/${id}/version/preset`, body)).status;
  expect(await add(preset.id, { output_type: 'freeform' })).toBe(422);
  expect(await add(preset.id, { output_type: preset.output_type })).toBe(200);
  expect(await add(preset.id, { input_type: 'basic' })).toBe(422);
  expect(await add(preset.id, { num_judges: 11 })).toBe(422);
  const judge = await made<Json>(service, '/scorers', { name: newId(), scorer_type: 'llm' });
  expect(await add(judge.id, {})).toBe(422);
  expect(await add(newId(), {})).toBe(404);
});

test('the version of a small tuned model is asked of a judge, and says so', async () => {
  const scorer = await made<Json>(service, '/scorers', { name: newId(), scorer_type: 'luna', scoreable_node_types: ['trace'] });
  const version = await made<Json>(service, `/scorers/${scorer.id}/version/luna`, {
    ...{ lora_task_id: 7, prompt: 'How polite is {{output}}?', executor: 'completeness_luna' },
    ...{ luna_input_type: 'trace_input_output_only', luna_output_type: 'float' },
  });
  expect(version).toMatchObject({
    ...{ version: 1, output_type: 'percentage', input_type: 'trace_io_only', generated_scorer: null },
    warnings: expect.arrayContaining([expect.stringContaining('no tuned model is run')]),
    finetuned_scorer: {
      ...{ name: scorer.name, lora_task_id: 7, lora_weights_path: null, prompt: 'How polite is {{output}}?' },
      ...{ luna_input_type: 'trace_input_output_only', luna_output_type: 'float', executor: 'completeness_luna' },
    },
  });
  expect(await get(`/scorers/${scorer.id}/version`)).toEqual(version);
  expect((await get(`/scorers/${scorer.id}`)).latest_version).toMatchObject({ finetuned_scorer: { lora_task_id: 7 } });

  endpoint.otherwise(says('{"rating": 80}'));
  const { info } = await scored({ id: scorer.id, scorer_type: 'luna' }, scorer.id);
  expect(info).toMatchObject({ value: 0.8 });
  expect(JSON.stringify(endpoint.requests[0]?.body)).toContain('How polite is');

  const add = async (id: string, body: object) => (await service.request('POST', `/scorers/${id}/version/luna`, body)).status;
  const preset = await presetOf('instruction_adherence');
  expect(await add(preset.id, { lora_task_id: 7, prompt: 'x' })).toBe(403);
  expect(await add(scorer.id, { lora_task_id: 7, prompt: 'Is {{nonsense}} polite?' })).toBe(422);
  expect(await add(scorer.id, { prompt: 'Polite?' })).toBe(422);
  const judge = await made<Json>(service, '/scorers', { name: newId(), scorer_type: 'llm' });
  expect(await add(judge.id, { lora_task_id: 7, prompt: 'x' })).toBe(422);
});
