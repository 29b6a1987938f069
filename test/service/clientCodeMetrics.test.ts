import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  addCodeMetricVersion,
  changeCheck,
  createCheck,
  createCodeMetric,
  createDataset,
  generateCodeMetric,
  listMetrics,
  type ServiceClient,
  tryCodeMetric,
  validateCodeMetric,
} from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let endpoint: ModelEndpoint;
let client: ServiceClient;
let projectId: string;

const model = `drafts-${newId().slice(0, 8)}`;
const code = 'def scorer_fn(*, step_object, **kwargs) -> int:\n    return len(step_object.output)\n';

beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  client = service.client;
  projectId = (await service.project()).id;
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

const nameless = /needs a name/;
const isThere = async (name: string) => (await listMetrics({ client }).all()).some((metric) => metric.name === name);

describe('a metric of code from a program', () => {
  test('is checked, made, and given its next version', async () => {
    const sample = { input: 'Hi', output: 'Hello' };
    const checked = await validateCodeMetric({ client, code, kinds: ['trace'], sample });
    expect(checked).toMatchObject({ score_type: 'int', test_scores: [{ node_type: 'trace', score: 5 }] });
    const name = `length ${newId()}`;
    const made = await createCodeMetric({ client, name, code, kinds: ['trace'], direction: 'lower', outputType: 'count' });
    expect(made).toMatchObject({ name, direction: 'lower', default_version: { version: 1, output_type: 'count' } });
    expect(await addCodeMetricVersion({ client, id: made.id, code: `# again\n${code}`, kinds: ['trace'] })).toBe(2);
    expect(await client.send(`/scorers/${made.id}/version/code`)).toBe(`# again\n${code}`);
    await expect(createCodeMetric({ client, name, code })).rejects.toMatchObject({ name: 'HttpStatusError', status: 409 });
  });

  test('leaves nothing behind where it is refused', async () => {
    const broken = { client, name: `broken ${newId()}`, code: 'def scorer_fn(:' };
    await expect(createCodeMetric(broken)).rejects.toMatchObject({ name: 'InvalidCodeError', message: /SyntaxError/ });
    const unsuited = { client, name: `unsuited ${newId()}`, code, outputType: 'boolean' } as const;
    await expect(createCodeMetric(unsuited)).rejects.toMatchObject({ status: 422 });
    expect([await isThere(broken.name), await isThere(unsuited.name)]).toEqual([false, false]);
    await expect(createCodeMetric({ client, name: '', code })).rejects.toThrow(nameless);
  });

  test('is tried out on records and on rows', async () => {
    const { id: logStreamId } = await client.send<{ id: string }>(`/projects/${projectId}/log_streams`, {
      body: { name: newId() },
    });
    const traces = ['one', 'three'].map((output) => ({ input: 'count', output }));
    await client.send(`/projects/${projectId}/traces`, { body: { log_stream_id: logStreamId, traces, is_complete: true } });
    const filters = [{ type: 'text', column_id: 'output', operator: 'eq', value: 'three' }];
    const tried = await tryCodeMetric({ client, code, kinds: ['trace'], records: { logStreamId, filters } });
    expect(tried).toMatchObject({ project_id: projectId, matching: 1, samples: [{ output: 'three', value: 5 }] });
    const content = [{ input: 'count', output: 'seven' }];
    const { id } = await createDataset({ client, name: newId(), content });
    const rows = await tryCodeMetric({ client, projectId, code, kinds: ['trace'], dataset: { id } });
    expect(rows).toMatchObject({ matching: 1, samples: [{ value: 5 }] });
    await expect(tryCodeMetric({ client, code })).rejects.toMatchObject({ name: 'ValueError' });
  });

  test('is written by a model', async () => {
    await client.send(`/integrations/custom/${model}`, {
      method: 'PUT',
      body: { endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: [model] },
    });
    endpoint.otherwise(says(`\`\`\`python\n${code}\`\`\``));
    expect(await generateCodeMetric({ client, sentence: 'How long it is', modelName: model })).toBe(code);
    endpoint.otherwise(says('no'));
    const refused = generateCodeMetric({ client, sentence: 'How long it is', modelName: model });
    await expect(refused).rejects.toMatchObject({ name: 'InvalidCodeError', message: /no code that defines scorer_fn/ });
  });
});

test('a check from a program is made and changed', async () => {
  const name = `ticket ${newId()}`;
  const made = await createCheck({ client, name, check: { type: 'regex', pattern: '^AB' }, direction: 'lower', kinds: ['llm'] });
  expect(made).toMatchObject({ name, direction: 'lower', output_type: 'boolean', check: { pattern: '^AB' } });
  const changed = await changeCheck({ client, id: made.id, check: { type: 'latency', max_ms: 5 } });
  expect(changed).toMatchObject({ id: made.id, check: { type: 'latency', max_ms: 5 } });
  const broken = { client, name: `broken ${newId()}`, check: { type: 'regex', pattern: '(' } } as const;
  await expect(createCheck(broken)).rejects.toMatchObject({ status: 422 });
  await expect(createCheck({ client, name: '', check: made.check as never })).rejects.toThrow(nameless);
});
