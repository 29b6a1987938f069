import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runExperiment } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { ComingCompletion } from '../../shared/providers/comingCompletion.ts';
import { readCompletion } from '../../shared/providers/readCompletion.ts';
import { type Answer, fails, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { modelAt } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

const LONG = 120_000;
let service: TestService;
let endpoint: ModelEndpoint;
let projectId: string;

beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  projectId = (await service.project()).id;
}, LONG);
beforeEach(() => {
  endpoint.requests.length = 0;
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

/** Answers as an endpoint that knows log probabilities: without them where they are not asked for. */
const sure: Answer = (request, response) => {
  const content = ['Pa', 'ris'].map((token, at) => ({ token, logprob: -0.123456 * (at + 1), top_logprobs: [] }));
  if (request.body.logprobs !== true) return says('Paris')(request, response);
  const choice = { index: 0, message: { role: 'assistant', content: 'Paris' }, finish_reason: 'stop', logprobs: { content } };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ choices: [choice] }));
};

/** Answers as one that refuses to be asked for them. */
const refusing =
  (status: number, error: object): Answer =>
  (request, response) =>
    ('logprobs' in request.body ? fails(status, { error }) : says('Paris'))(request, response);

interface Span {
  user_metadata: Record<string, string>;
  metric_info: Record<string, { status_type: string; value?: number; message?: string }>;
}

/** The model call of a run of one row, once it is scored. */
async function callOf(metrics: string[], promptSettings: object = {}): Promise<Span> {
  const model = `sure-${newId()}`;
  await modelAt(service.client, model, endpoint.url, [model]);
  const { experiment } = await runExperiment({
    ...{ client: service.client, projectId, experimentName: newId(), dataset: [{ input: 'Which city?' }] },
    ...{ promptTemplate: '{{input}}', promptSettings: { modelAlias: model, ...promptSettings }, metrics },
  });
  const spans = async () => {
    const body = { experiment_id: experiment.id };
    return (await service.client.send<{ records: Span[] }>(`/projects/${projectId}/spans/search`, { body })).records;
  };
  for (const name of metrics.filter((metric) => metric !== 'latency'))
    await expect
      .poll(async () => (await spans())[0]?.metric_info[name]?.status_type, { timeout: LONG, interval: 300 })
      .toMatch(/^(success|not_applicable)$/);
  return (await spans())[0] as Span;
}

describe('a prompt run', { timeout: LONG }, () => {
  test('that measures uncertainty asks for log probabilities, and keeps them with the call', async () => {
    endpoint.otherwise(sure);
    const { user_metadata, metric_info } = await callOf(['uncertainty']);
    expect(endpoint.requests.map(({ body }) => [body.logprobs, body.top_logprobs])).toEqual([[true, undefined]]);
    expect(user_metadata.logprobs).toBe('[-0.1235,-0.2469]');
    expect(metric_info.uncertainty).toMatchObject({ status_type: 'success', value: expect.closeTo(0.1852, 4) });
  });

  test('that does not measure it asks for none', async () => {
    endpoint.otherwise(sure);
    const { user_metadata } = await callOf(['latency']);
    expect(endpoint.requests.map(({ body }) => 'logprobs' in body)).toEqual([false]);
    expect(user_metadata).not.toHaveProperty('logprobs');
  });

  test.each([
    [400, { message: "Unsupported parameter: 'logprobs' is not supported with this model.", param: 'logprobs' }],
    [403, { message: 'You are not allowed to request logprobs from this model', type: 'invalid_request_error', param: null }],
  ])('whose endpoint refuses them with %i is answered without, and the value says so', async (status, error) => {
    endpoint.otherwise(refusing(status, error));
    const { user_metadata, metric_info } = await callOf(['uncertainty']);
    expect(endpoint.requests.map(({ body }) => 'logprobs' in body)).toEqual([true, false]);
    expect(user_metadata).toMatchObject({ sent_otherwise: '["logprobs is not sent"]' });
    expect(metric_info.uncertainty).toMatchObject({
      status_type: 'not_applicable',
      message: expect.stringContaining('`logprobs`'),
    });
  });
});

describe('a prompt run that measures perplexity', { timeout: LONG }, () => {
  test('asks for the log probabilities of the prompt, and keeps their mean with the call', async () => {
    const prompt_logprobs = [null, { 7: { logprob: -0.5, rank: 1 } }, { 9: { logprob: -1.5, rank: 4 } }];
    endpoint.otherwise((request, response) => {
      const said = { choices: [{ index: 0, message: { content: 'Paris' }, finish_reason: 'stop' }] };
      const asked = request.body.prompt_logprobs === 0 ? { ...said, prompt_logprobs } : said;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(asked));
    });
    const { user_metadata, metric_info } = await callOf(['prompt_perplexity']);
    expect(endpoint.requests.map(({ body }) => [body.prompt_logprobs, 'logprobs' in body])).toEqual([[0, false]]);
    expect(user_metadata.prompt_logprobs).toBe('{"avgLogprobs":-1,"tokens":2}');
    expect(metric_info.prompt_perplexity).toMatchObject({ status_type: 'success', value: expect.closeTo(Math.E, 4) });
  });

  test('is answered without by an endpoint that has none, and the value says why', async () => {
    const error = { message: "Unknown parameter: 'prompt_logprobs'.", param: 'prompt_logprobs' };
    endpoint.otherwise((request, response) =>
      ('prompt_logprobs' in request.body ? fails(400, { error }) : says('Paris'))(request, response),
    );
    const { user_metadata, metric_info } = await callOf(['prompt_perplexity']);
    expect(user_metadata).toMatchObject({ sent_otherwise: '["prompt_logprobs is not sent"]' });
    expect(metric_info.prompt_perplexity).toMatchObject({
      status_type: 'not_applicable',
      message: 'the endpoint of the model gives no log probabilities: it was asked without `prompt_logprobs`',
    });
  });
});

describe('log probabilities of a prompt', () => {
  const read = (prompt_logprobs: unknown) =>
    readCompletion({ choices: [{ message: { content: 'a' } }], prompt_logprobs })?.promptLogProbabilities;

  test.each([
    ['of each token', [null, { 1: { logprob: -0.5 } }, { 2: { logprob: 0 } }], [-0.5, 0]],
    ['that are null', null, undefined],
    ['of one token', [null], undefined],
    ['with others that might have stood there', [null, { 1: { logprob: -0.5 }, 2: { logprob: -0.1 } }], undefined],
    ['with a hole', [null, { 1: { logprob: -0.5 } }, null], undefined],
    ['that are none', ['a', { 1: { logprob: 0.5 } }], undefined],
  ])('%s are read', (_, given, expected) => {
    expect(read(given)).toEqual(expected);
  });
});

describe('log probabilities of an answer', () => {
  const read = (logprobs: unknown) => readCompletion({ choices: [{ message: { content: 'a' }, logprobs }] })?.logProbabilities;

  test.each([
    [
      'of a chat',
      {
        content: [
          { token: 'a', logprob: -0.5 },
          { token: 'b', logprob: 0 },
        ],
      },
      [-0.5, 0],
    ],
    ['of a completion', { tokens: ['a'], token_logprobs: [-1.5] }, [-1.5]],
    ['that are null', null, undefined],
    ['of no token', { content: [] }, undefined],
    ['that one token lacks', { content: [{ logprob: -1 }, { token: 'b' }] }, undefined],
    ['that are none', { content: [{ logprob: 0.5 }] }, undefined],
  ])('%s are read', (_, logprobs, expected) => {
    expect(read(logprobs)).toEqual(expected);
  });

  test('that comes in pieces are put together', () => {
    const coming = new ComingCompletion(() => undefined);
    for (const logprob of [-0.25, -0.5])
      coming.takePiece({ choices: [{ index: 0, delta: { content: 'a' }, logprobs: { content: [{ token: 'a', logprob }] } }] });
    coming.takePiece({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', logprobs: null }] });
    expect(coming.soFar.logProbabilities).toEqual([-0.25, -0.5]);
  });
});
