import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { datasetForm } from '../support/authorization/workspace.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of several shapes; a wrong guess fails the test
type Reply = { status: number; body: any };

let service: TestService;
beforeAll(async () => {
  service = await sharedTestService();
});
afterAll(() => service?.[Symbol.asyncDispose]());

const call = (method: string, path: string, body?: object): Promise<Reply> =>
  service.request(method, path, body) as Promise<Reply>;
const made = async (path: string, body: object) => {
  const { status, body: answer } = await call('POST', path, body);
  expect(status, JSON.stringify(answer)).toBe(200);
  return answer;
};
const judge = async () => {
  const scorer = await made('/scorers', { name: `judge ${newId()}`, scorer_type: 'llm' });
  const version = await made(`/scorers/${scorer.id}/version/llm`, { user_prompt: 'Is it good?' });
  return { ...scorer, version };
};

describe('how well versions agreed with people', () => {
  const dataset = async () => (await service.client.send<{ id: string }>('/datasets', { form: datasetForm(newId()) })).id;

  test('is noted each time and listed by dataset, the oldest first', async () => {
    const scorer = await judge();
    const [rows, others] = [await dataset(), await dataset()];
    await made(`/scorers/${scorer.id}/version/llm`, { user_prompt: 'Is it very good?' });
    const path = (version: number) => `/scorers/${scorer.id}/versions/${version}/health-scores`;
    const first = await made(path(1), { dataset_id: rows, health_score_type: 'macro_f1', score: 0.5 });
    expect(first).toMatchObject({ scorer_version_id: scorer.version.id, scorer_version_number: 1, score: 0.5, secondary: null });
    const second = await made(path(2), {
      ...{ dataset_id: rows, health_score_type: 'macro_f1', score: 0.75, secondary: { accuracy: 0.8, recall: null } },
    });
    const third = await made(path(1), { dataset_id: rows, health_score_type: 'macro_f1', score: 0.6 });
    await made(path(1), { dataset_id: others, health_score_type: 'mse', score: 0 });
    const listed = await call('GET', `/scorers/${scorer.id}/health-scores?dataset_id=${rows}`);
    expect(listed).toMatchObject({ status: 200, body: { scores: [first, second, third] } });
    expect(listed.body.scores).toHaveLength(3);
    expect(second.secondary).toEqual({ accuracy: 0.8, recall: null });
  });

  test('is refused of a version or a dataset that there is not, and without a number', async () => {
    const scorer = await judge();
    const rows = await dataset();
    const score = { dataset_id: rows, health_score_type: 'macro_f1', score: 1 };
    const path = `/scorers/${scorer.id}/versions`;
    expect((await call('POST', `${path}/2/health-scores`, score)).status).toBe(404);
    expect((await call('POST', `${path}/1/health-scores`, { ...score, dataset_id: newId() })).status).toBe(404);
    expect((await call('POST', `${path}/1/health-scores`, { ...score, score: null })).status).toBe(422);
    expect((await call('POST', `${path}/1/health-scores`, { ...score, health_score_type: ' ' })).status).toBe(422);
    expect((await call('GET', `/scorers/${scorer.id}/health-scores`)).status).toBe(422);
    expect((await call('GET', `/scorers/${newId()}/health-scores?dataset_id=${rows}`)).status).toBe(404);
  });
});
