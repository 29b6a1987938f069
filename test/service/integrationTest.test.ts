import { afterAll, beforeAll, expect, test } from 'vitest';
import { testIntegration } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { fails, type ModelEndpoint, says, sends, startModelEndpoint } from '../support/modelEndpoint.ts';
import { modelAt } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let endpoint: ModelEndpoint;
beforeAll(async () => {
  service = await sharedTestService();
  endpoint = await startModelEndpoint();
});
afterAll(async () => {
  await endpoint.close();
  await service[Symbol.asyncDispose]();
});

async function integration(models = ['small']): Promise<{ id: string; name: string }> {
  const name = `try-${newId()}`;
  await modelAt(service.client, name, endpoint.url, models);
  return service.client.send<{ id: string; name: string }>(`/integrations/custom/${name}`);
}

const testCall = (id: string, more: { model?: string; prompt?: string } = {}) =>
  testIntegration({ client: service.client, id, ...more });

test('a test call is a real one: the model answers, and its tokens and price are counted', async () => {
  const { id } = await integration();
  await service.client.send(`/integrations/${id}/prices`, {
    method: 'PUT',
    body: { prices: [{ model: 'small', input: 1, output: 2 }] },
  });
  endpoint.next(says('ready'));
  const before = endpoint.requests.length;
  const result = await testCall(id);
  expect(result).toMatchObject({ model: 'small', text: 'ready', num_input_tokens: 12, num_output_tokens: 3, error: null });
  expect(result.latency_ms).toBeGreaterThan(0);
  expect(result.cost).toBeCloseTo((12 * 1 + 3 * 2) / 1e6, 12);
  expect(endpoint.requests.length - before).toBe(1);
  expect(endpoint.requests.at(-1)?.headers['x-model-key']).toBe('a key');
});

test('a chosen model and a prompt of one’s own are sent', async () => {
  const { id } = await integration(['small', 'large']);
  endpoint.next(says('4'));
  await testCall(id, { model: 'large', prompt: 'What is 2 + 2?' });
  expect(endpoint.requests.at(-1)?.body).toMatchObject({
    model: 'large',
    messages: [{ role: 'user', content: 'What is 2 + 2?' }],
  });
});

test.each([
  ['a refused key', fails(401), { kind: 'unauthorized', status: 401 }],
  ['too much', fails(429), { kind: 'rate_limited', status: 429 }],
  ['an error of the provider', fails(500), { kind: 'http_error', status: 500 }],
  ['an answer of another form', sends(200, '{"choices": 1}'), { kind: 'malformed_answer' }],
])('%s is told with its kind, after one try', async (_name, answer, error) => {
  const { id } = await integration();
  endpoint.next(answer);
  const before = endpoint.requests.length;
  const result = await testCall(id);
  expect(result).toMatchObject({ text: null, cost: null, error });
  expect(result.error?.message).not.toBe('');
  expect(endpoint.requests.length - before).toBe(1);
});

test('a model that the integration does not have, and an endpoint that is not there', async () => {
  const { id, name } = await integration();
  expect(await testCall(id, { model: 'smal' })).toMatchObject({
    latency_ms: null,
    error: { kind: 'model_unknown', status: null },
  });
  const gone = await startModelEndpoint();
  await gone.close();
  // The call goes by what was saved a moment ago.
  await modelAt(service.client, name, gone.url, ['small']);
  expect(await testCall(id)).toMatchObject({ error: { kind: 'connection_error', status: null } });
});

test('what the request says wrongly is refused', async () => {
  const { id } = await integration();
  const slip = service.client.send(`/integrations/${id}/test_call`, { body: { modle: 'small' } });
  await expect(slip).rejects.toMatchObject({ status: 422 });
  await expect(testCall(newId())).rejects.toMatchObject({ status: 404 });
});
