import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { builtinByName } from '../../shared/scorers/presets.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service?.[Symbol.asyncDispose]());

const id = newId();
const column = { name: 'updated_at', sort_type: null };
const ofProject = { sort_type: null, value: id };

test.each([
  ['/datasets/query', { filters: [{ name: 'id', operator: null, value: id }], sort: column }],
  [
    '/datasets/query',
    { filters: [{ name: 'draft', operator: null, value: false }], sort: { name: 'project_count', sort_type: null } },
  ],
  ['/datasets/query', { sort: { name: 'project_last_used_at', ...ofProject } }],
  ['/templates/query', { filters: [{ name: 'creator', operator: null, value: id }], sort: column }],
  ['/scorers/list', { filters: [{ name: 'id', operator: null, value: id }], sort: column }],
  [
    '/scorers/list',
    { filters: [{ name: 'creator', operator: null, value: id }], sort: { name: 'enabled_in_run', ...ofProject } },
  ],
  ['/scorers/list', { filters: [{ name: 'is_global', operator: null, value: true }] }],
])('null is taken as the default of POST %s %j', async (path, body) => {
  expect(await service.request('POST', path, body)).toMatchObject({ status: 200 });
});

test('null is taken as the defaults of a scorer of a run', async () => {
  const project = await service.project();
  const { body: stream } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'stream' });
  const { id: run_id } = stream as { id: string };
  const chain_poll_template = {
    ...{ template: 'Is it good?', metric_system_prompt: null, metric_description: null, response_schema: null },
    ...{ value_field_name: null, explanation_field_name: null, metric_few_shot_examples: null },
  };
  const node = { name: 'node_name', operator: 'eq', value: 'answer', case_sensitive: null };
  const settings = {
    run_id,
    scorers: [{ id: builtinByName('correctness')?.scorerId, scorer_type: 'preset', chain_poll_template, filters: [node] }],
    segment_filters: [{ sample_rate: 1, llm_scorers: null, multimodal_scorers: null }],
  };
  const saved = await service.request('POST', `/projects/${project.id}/runs/${run_id}/scorer-settings`, settings);
  expect(saved).toMatchObject({
    status: 200,
    body: {
      scorers: [{ filters: [{ case_sensitive: true }] }],
      segment_filters: [{ sample_rate: 1, llm_scorers: false, multimodal_scorers: false }],
    },
  });
});
