import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { codeIn } from '../../shared/scorers/generateCode.ts';
import { fails, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let endpoint: ModelEndpoint;

const LONG = 120_000;
const model = `writer-${newId().slice(0, 8)}`;
const code = `def scorer_fn(*, step_object, **kwargs) -> int:\n    return len(step_object.output or '')\n`;
const fenced = (source: string) => `Here it is:\n\n\`\`\`python\n${source}\`\`\`\nIt counts characters.`;

beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  await service.client.send(`/integrations/custom/${model}`, {
    method: 'PUT',
    body: { endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: [model] },
  });
});
beforeEach(() => {
  endpoint.requests.length = 0;
  endpoint.otherwise(says(fenced(code)));
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

interface Status {
  id: string;
  status: string;
  generated_code: string | null;
  error_message: string | null;
}

const ask = (body: object) => service.request('POST', '/v2/code-metric-generations', { model_name: model, ...body });

/** Returns the result of a generation once it has ended. */
async function generated(body: object): Promise<Status> {
  const begun = await ask(body);
  expect([begun.status, begun.body]).toEqual([202, { id: expect.any(String), status: 'generating' }]);
  const { id } = begun.body as Status;
  let found: Status | undefined;
  const read = async () => {
    found = (await service.request('GET', `/code-metric-generations/${id}/status`)).body as Status;
    return found.status;
  };
  await expect.poll(read, { timeout: LONG, interval: 100 }).not.toBe('generating');
  return found as Status;
}

describe('code of a metric from a sentence', { timeout: LONG }, () => {
  test('is written by the model that was named, and can be used as it is', async () => {
    const made = await generated({ user_message: 'How many characters the answer has', node_type: 'llm' });
    expect(made).toMatchObject({ status: 'completed', generated_code: code, error_message: null });
    expect(endpoint.requests).toHaveLength(1);
    expect(endpoint.requests[0]?.body.model).toBe(model);
    expect(endpoint.requests[0]?.text).toContain('How many characters the answer has');
    expect(endpoint.requests[0]?.text).toContain("records of the kind 'llm'");
  });

  test('goes back to the model with the reason where it cannot be used', async () => {
    endpoint.next(says('I count characters.'), says(fenced('def scorer_fn(**kwargs) -> int:\n    return kwargs["nothing"]\n')));
    const made = await generated({ user_message: 'Length' });
    expect(made).toMatchObject({ status: 'completed', generated_code: code });
    const [, second, third] = endpoint.requests;
    expect(second?.text).toContain('the answer has no code that defines scorer_fn');
    expect(third?.text).toContain("KeyError: 'nothing' (line 2)");
  });

  test('fails with the reason and the last draft where the model does not mend it', async () => {
    const broken = 'def scorer_fn(**kwargs) -> int:\n    return "many"\n';
    endpoint.otherwise(says(fenced(broken)));
    const made = await generated({ user_message: 'Length' });
    expect(made).toMatchObject({ status: 'failed', generated_code: broken });
    expect(made.error_message).toMatch(/scorer_fn gave 'many' of the type str; its score type is int/);
    expect(endpoint.requests).toHaveLength(3);
  });

  test('fails with what the provider said where the model cannot be asked', async () => {
    endpoint.otherwise(fails(401));
    const made = await generated({ user_message: 'Length' });
    expect(made).toMatchObject({ status: 'failed', generated_code: null });
    expect(made.error_message).toMatch(/^the model could not be asked: .*401/);
  });

  test.each([
    ['no sentence', { user_message: '' }, ['body', 'user_message']],
    ['too long a sentence', { user_message: 'x'.repeat(10_001) }, ['body', 'user_message']],
    ['a kind of records that there is not', { user_message: 'Length', node_type: 'traces' }, ['body', 'node_type']],
  ])('is refused for %s, and no model is asked', async (_, body, loc) => {
    const refused = await ask(body);
    expect([refused.status, refused.body]).toMatchObject([422, { detail: [{ loc }] }]);
    expect(endpoint.requests).toHaveLength(0);
  });

  test('is refused for a model that there is not, and an id of nobody is not found', async () => {
    expect((await ask({ user_message: 'Length', model_name: `${model}s` })).status).toBe(422);
    expect((await service.request('GET', `/code-metric-generations/${newId()}/status`)).status).toBe(404);
  });
});

test.each([
  ['plain code', code, code],
  ['a fence that is not closed', `\`\`\`python\n${code}`, code],
  ['the block that defines the metric among several', `\`\`\`\nscorer_fn()\n\`\`\`\n\n\`\`\`py\n${code}\`\`\``, code],
  ['words alone', 'scorer_fn counts characters', null],
])('reads %s', (_, answer, expected) => {
  expect(codeIn(answer)).toBe(expected);
});
