import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ServiceClient } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { Score, ScoredRecord } from '../../shared/metrics/metric.ts';
import { scoreRecord } from '../../shared/metrics/scoreRecord.ts';
import { createOutboundGuard, type OutboundGuard } from '../../shared/outbound/outbound.ts';
import { fromScorer } from '../../shared/scorers/resolveMetrics.ts';
import { judgeContext } from '../../shared/scoring/judgeContext.ts';
import type { ExperimentResponse } from '../../shared/wire/experiments.ts';
import { customIntegration, modelCallerOver } from '../support/modelCallers.ts';
import { type Answer, fails, type ModelEndpoint, sends, startModelEndpoint } from '../support/modelEndpoint.ts';
import { experimentOf } from '../support/runs.ts';
import { scoredRecord } from '../support/scoredRecord.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

/** An answer of OpenAI's embeddings with these vectors, the last of them first. */
const embeds =
  (...vectors: unknown[]): Answer =>
  ({ body }, response) => {
    const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })).reverse();
    const usage = { prompt_tokens: 10, total_tokens: 10 };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ object: 'list', data, model: body.model, usage }));
  };

let endpoint: ModelEndpoint;
beforeAll(async () => {
  endpoint = await startModelEndpoint();
});
afterAll(() => endpoint.close());

describe('the similarity of embeddings', () => {
  let guard: OutboundGuard;
  beforeEach(() => {
    guard = createOutboundGuard({ allow: [new URL(endpoint.url).host], allowLoopback: true });
    endpoint.requests.length = 0;
  });
  afterEach(() => guard.close());

  const model = 'mine/text-embedding-3-small';
  const open = (name?: string) => customIntegration({ endpoint: `${endpoint.url}/v1`, models: null }, {}, name);

  function score(record: Partial<ScoredRecord>, more: object = {}, integrations = [open()]): Promise<Score> {
    const check = { type: 'embedding_similarity' as const, model, ...more };
    const scorer = { id: newId(), name: 'a check', scorerType: 'code' as const, definition: { check } };
    // A judge that a caller names for all metrics of a run does not replace this model.
    const metric = fromScorer(scorer, null, { id: scorer.id, scorer_type: 'code', model_name: 'a-judge', num_judges: 3 });
    if ('problem' in metric) throw new Error(metric.problem);
    expect(metric).toMatchObject({ needs: 'judge', dataType: 'boolean', needsReference: true, judgeModel: check.model });
    const { signal } = new AbortController();
    const run = { modelAlias: null, maxCallAttempts: 2, jobId: null, userId: null, projectId: null, runId: null } as never;
    const context = judgeContext(modelCallerOver(integrations, guard), run, metric, signal, signal, async () => undefined, false);
    return scoreRecord(metric, scoredRecord(record), context);
  }
  const texts = { output: 'It rains.', datasetOutput: 'It is raining.' };

  test('is the cosine of both vectors, which one request asks for, and has a price', async () => {
    endpoint.next(embeds([3, 4], [6, 8.5]));
    const near = await score(texts, { threshold: 0.99 });
    expect(endpoint.requests).toMatchObject([
      {
        path: '/v1/embeddings',
        text: JSON.stringify({ model: 'text-embedding-3-small', input: ['It rains.', 'It is raining.'] }),
      },
    ]);
    expect(near).toMatchObject({ value: true, metadata: { similarity: expect.closeTo(52 / (5 * Math.hypot(6, 8.5)), 12) } });
    // US dollars of ten tokens at 0.02 a million.
    expect(near).toMatchObject({
      usage: { calls: 1, model: 'text-embedding-3-small', inputTokens: 10, outputTokens: 0, costUsd: expect.closeTo(2e-7, 12) },
    });
  });

  test.each([
    [[1, 0], [1, 0], {}, true, 1],
    [[1, 0], [0, 1], {}, false, 0],
    [[1, 0], [0, 1], { threshold: 0 }, true, 0],
    [[1, 0], [-2, 0], { threshold: -0.5 }, false, -1],
    [[1, 0], [3, 4], {}, false, 0.6],
    [[1, 0], [4, 3], {}, true, 0.8],
    [[0.1, 0.2, 0.7], [0.1, 0.2, 0.7], { threshold: 1 }, true, 1],
    [[1e200, 0], [1e-200, 0], {}, true, 1],
  ])('of %j and %j with %j is %s', async (one, other, more, value, similarity) => {
    endpoint.next(embeds(one, other));
    expect(await score(texts, more)).toMatchObject({ value, metadata: { similarity: expect.closeTo(similarity, 12) } });
  });

  test('is not computed of a record or a row that lacks a text, and nothing is asked', async () => {
    expect(await score({ output: 'x' })).toEqual({ notApplicable: 'the row has no reference output' });
    expect(await score({ output: 'x', datasetOutput: ' ' })).toEqual({ notApplicable: 'the row has no reference output' });
    expect(await score({ datasetOutput: 'x' })).toEqual({ notApplicable: 'the record has no output' });
    expect(endpoint.requests).toEqual([]);
  });

  test.each([
    [[], 'gave 0 embeddings of 2 texts'],
    [[[1, 0]], 'gave 1 embeddings of 2 texts'],
    [[[1, 0], [1]], 'gave embeddings of 2 and 1 dimensions'],
    [[[1, 0], []], 'no list of numbers, or has no direction'],
    [
      [
        [1, 0],
        [0, 0],
      ],
      'no list of numbers, or has no direction',
    ],
    [
      [
        [1, 0],
        [null, 1],
      ],
      'no list of numbers, or has no direction',
    ],
    [
      [
        [1, 0],
        ['NaN', 1],
      ],
      'no list of numbers, or has no direction',
    ],
    [[[1, 0], 'AACAPwAAAAA='], 'no list of numbers, or has no direction'],
    [[[1, 0], undefined], 'no list of numbers, or has no direction'],
  ])('an answer with the vectors %j is no figure, but was paid for', async (vectors, problem) => {
    endpoint.next(embeds(...vectors));
    expect(await score(texts)).toMatchObject({ error: expect.stringContaining(problem), usage: { inputTokens: 10 } });
  });

  test('digits beyond those of a double are no reason to fail', async () => {
    endpoint.next(
      sends(200, '{"data":[{"embedding":[0.12345678901234567890123,1]},{"embedding":[0.12345678901234567890123,1]}]}'),
    );
    expect(await score(texts)).toMatchObject({ value: true, usage: { costUsd: null } });
  });

  test.each([
    ['NaN', sends(200, '{"data":[{"embedding":[NaN,1]},{"embedding":[1,1]}]}')],
    ['no data', sends(200, '{"object":"list"}')],
    ['another text', sends(200, 'ok')],
  ])('an answer with %s is no answer', async (_name, answer) => {
    endpoint.next(answer);
    expect(await score(texts)).toMatchObject({ gaveUp: expect.stringMatching(/^the embedding model could not be asked: .+/) });
  });

  test('an endpoint that is busy is asked again, and one that refuses is named as the reason', async () => {
    endpoint.next(fails(429, { error: { message: 'slow down' } }, { 'retry-after-ms': '5' }), embeds([1, 0], [1, 0]));
    expect(await score(texts)).toMatchObject({ value: true });
    expect(endpoint.requests).toHaveLength(2);
    endpoint.next(fails(404, { error: { message: 'no such model' } }));
    expect(await score(texts)).toMatchObject({ gaveUp: expect.stringContaining('404') });
  });

  test('without an integration that has embeddings the reason is said', async () => {
    expect(await score(texts, {}, [])).toMatchObject({ gaveUp: expect.stringContaining('no integration is configured yet') });
    const handler = { fileName: 'handler.mjs', className: 'Own', initKwargs: {} };
    const own = customIntegration({ endpoint: `${endpoint.url}/v1`, models: null, handler });
    expect(await score(texts, {}, [own])).toMatchObject({
      gaveUp: 'the embedding model could not be asked: the integration "mine" has no embeddings in OpenAI\'s protocol',
    });
    expect(endpoint.requests).toEqual([]);
  });
});

describe('a check by embeddings in the service', () => {
  let service: TestService;
  let client: ServiceClient;
  let projectId: string;
  let at: string;
  beforeAll(async () => {
    service = await sharedTestService();
    client = service.client;
    projectId = (await service.project()).id;
    at = `/v2/projects/${projectId}/experiments`;
    await client.send('/integrations/custom/embedder', {
      method: 'PUT',
      body: { endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: ['text-embedding-3-small'] },
    });
  });
  afterAll(() => service?.[Symbol.asyncDispose]());

  const checkOf = (more: object = {}) =>
    client.send<{ id: string; name: string; check: object; needs: string[] }>('/v2/scorers', {
      body: {
        ...{ name: `similar ${newId()}`, scorer_type: 'code' },
        check: { type: 'embedding_similarity', model: 'embedder/text-embedding-3-small', ...more },
      },
    });
  const experimentWith = ({ id }: { id: string }) =>
    client.send<ExperimentResponse>(at, { body: { name: newId(), scorers: [{ id, scorer_type: 'code' }] } });
  const runOf = ({ id }: { id: string }) =>
    service.request('POST', `${at}/${id}/run`, {
      runner: { kind: 'dataset_outputs' },
      records: [
        { input: 'a', generated_output: 'rain', output: 'wet' },
        { input: 'b', generated_output: 'sun' },
      ],
    });

  test('scores the rows of an experiment, with its cost, and lacks a value where a row has no reference', async () => {
    endpoint.otherwise(embeds([1, 0], [4, 3]));
    const made = await checkOf({ threshold: 0.7 });
    expect(made).toMatchObject({ needs: ['reference_output'], check: { threshold: 0.7 } });
    const experiment = await experimentWith(made);
    expect(await runOf(experiment)).toMatchObject({ status: 200 });
    await experimentOf(client, projectId, experiment.id).end();
    const { records } = await client.send<{ records: { input: string; metric_info: Record<string, object> }[] }>(
      at.replace('experiments', 'traces/search'),
      { body: { experiment_id: experiment.id } },
    );
    const shown = Object.fromEntries(records.map(({ input, metric_info }) => [input, metric_info[made.id]]));
    expect(shown.a).toMatchObject({ status_type: 'success', value: true, explanation: 'the similarity is 0.800' });
    expect(shown.b).toMatchObject({ status_type: 'not_applicable' });
  });

  test('is refused before a run where its model is not to be found', async () => {
    const experiment = await experimentWith(await checkOf({ model: 'embedder/text-embedding-9' }));
    expect(await runOf(experiment)).toMatchObject({ status: 422, body: { detail: [{ type: 'judge_model_unknown' }] } });
    const outside = { name: newId(), scorer_type: 'code', check: { type: 'embedding_similarity', model: 'm', threshold: 2 } };
    expect(await service.request('POST', '/v2/scorers', outside)).toMatchObject({ status: 422 });
  });
});
