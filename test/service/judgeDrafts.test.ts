import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { type Answer, fails, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of several shapes; a wrong guess fails the test
type Reply = { status: number; body: any };

const model = `writer-${newId().slice(0, 8)}`;
let service: TestService;
let endpoint: ModelEndpoint;

beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  await call('PUT', `/integrations/custom/${model}`, {
    ...{ endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: [model] },
  });
});
beforeEach(() => {
  endpoint.requests.length = 0;
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

const call = (method: string, path: string, body?: object): Promise<Reply> =>
  service.request(method, path, body) as Promise<Reply>;
const wish = (more: object = {}) => ({
  ...{ instructions: 'Is the answer polite?', model_name: model, output_type: 'boolean', cot_enabled: true },
  ...{ scoreable_node_types: ['trace'] },
  ...more,
});
const writes = (draft: object): Answer => says(`Here it is:\n\`\`\`json\n${JSON.stringify(draft)}\n\`\`\``);
const polite = { name: 'Politeness', description: 'Whether the answer is polite.', user_prompt: 'Is {{output}} polite?' };
/** Returns the result of a draft once it has ended. */
const drafted = async (more: object = {}): Promise<Reply['body']> => {
  const { status, body } = await call('POST', '/scorers/llm/autogen', wish(more));
  expect(status, JSON.stringify(body)).toBe(200);
  const read = async () => (await call('GET', `/scorers/llm/autogen/${body.task_result_id}`)).body;
  await expect.poll(async () => (await read()).status).not.toBe('generating');
  return read();
};
const asked = (at = 0) => JSON.stringify(endpoint.requests[at]?.body.messages);

describe('a judge that a model writes from a sentence', () => {
  test('can be tried out and saved as it is', async () => {
    endpoint.next(writes(polite));
    const { status, result, error_message } = await drafted();
    expect({ status, error_message }).toEqual({ status: 'completed', error_message: null });
    expect(result).toMatchObject({
      ...{ ...polite, instructions: 'Is the answer polite?', categories: null, range: null },
      scorer_configuration: { output_type: 'boolean', cot_enabled: true, scoreable_node_types: ['trace'] },
    });
    for (const told of ['Is the answer polite?', 'true or false', '{{output}}: what the record gave', 'kinds: trace'])
      expect(asked()).toContain(told);

    endpoint.next(says('{"explanation": "kind", "verdict": true}'));
    const { id: project_id } = await service.project();
    const { scorer_configuration, chain_poll_template, user_prompt } = result;
    const tried = await call('POST', '/scorers/llm/validate', {
      ...{ query: 'q', response: 'r', user_prompt, chain_poll_template, project_id },
      scorer_configuration: { ...scorer_configuration, model_alias: model, num_judges: 1 },
    });
    expect(tried.body.samples).toMatchObject([{ status: 'success', value: true }]);

    const { name, description, instructions } = result;
    const scorer = (await call('POST', '/scorers', { name: `${name} ${newId()}`, description, scorer_type: 'llm' })).body;
    const version = await call('POST', `/scorers/${scorer.id}/version/llm`, { user_prompt, instructions });
    expect(version).toMatchObject({ status: 200, body: { generated_scorer: { user_prompt, instructions } } });
  });

  test('has the labels or the range that its answers need', async () => {
    endpoint.next(writes({ ...polite, categories: ['rude', 'kind'] }), writes({ ...polite, range: { min: 1, max: 5 } }));
    expect((await drafted({ output_type: 'categorical' })).result).toMatchObject({
      ...{ categories: ['rude', 'kind'], scorer_configuration: { categories: ['rude', 'kind'] } },
    });
    expect((await drafted({ output_type: 'discrete' })).result).toMatchObject({ range: { min: 1, max: 5 } });
  });

  test('goes back to the model with what is wrong', async () => {
    endpoint.next(
      says('I would ask whether it is polite.'),
      writes({ ...polite, user_prompt: 'Is {{answre}} polite?' }),
      writes(polite),
    );
    expect(await drafted()).toMatchObject({ status: 'completed', result: polite });
    expect(endpoint.requests).toHaveLength(3);
    expect(asked(1)).toContain('no JSON object with');
    expect(asked(2)).toContain('a judge knows no');
  });

  test('fails with the reason after three drafts that cannot be used', async () => {
    endpoint.otherwise(writes({ ...polite, categories: ['a', 'A'] }));
    expect(await drafted({ output_type: 'categorical' })).toMatchObject({
      ...{ status: 'failed', result: null, error_message: expect.stringContaining('names a category twice') },
    });
    expect(endpoint.requests).toHaveLength(3);
  });

  test('fails with the reason where the model cannot be asked', async () => {
    endpoint.otherwise(fails(401));
    expect(await drafted()).toMatchObject({
      ...{ status: 'failed', error_message: expect.stringMatching(/^the model could not be asked: .*401/) },
    });
  });

  test.each([
    [{ model_name: newId() }, 422],
    [{ instructions: ' ' }, 422],
    [{ output_type: 'poem' }, 422],
    [{ cot_enabled: null }, 422],
  ])('is refused as %j, and no model is asked', async (wrong, status) => {
    expect((await call('POST', '/scorers/llm/autogen', wish(wrong))).status).toBe(status);
    expect(endpoint.requests).toEqual([]);
  });

  test('is found by nobody else', async () => {
    expect((await call('GET', `/scorers/llm/autogen/${newId()}`)).status).toBe(404);
  });
});
