import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  addCodeMetricVersion,
  createCodeMetric,
  createJudge,
  runExperiment,
  type ServiceClient,
  tryCodeMetric,
} from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { isSampled } from '../../shared/scorers/isSampled.ts';
import type { EnabledMetric } from '../../shared/scorers/resolveMetrics.ts';
import type { SegmentFilter } from '../../shared/wire/scorers.ts';
import { fails, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let endpoint: ModelEndpoint;
let client: ServiceClient;
let projectId: string;
let judge: { id: string; name: string };
let combined: { id: string; name: string };

const LONG = 120_000;
const model = `asked-${newId().slice(0, 8)}`;
/** 1 where the judge says yes and the answer is short. */
const code = `
def scorer_fn(*, step_object, required_scores, **kwargs) -> float:
    assert step_object.metrics.polite == required_scores['polite']
    return 0.0 if not required_scores['polite'] else 1 / len(step_object.output)
`;

beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  client = service.client;
  projectId = (await service.project()).id;
  await client.send(`/integrations/custom/${model}`, {
    method: 'PUT',
    body: { endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: [model] },
  });
  judge = await createJudge({
    client,
    name: 'polite',
    instructions: 'Is {{output}} polite?',
    direction: 'higher',
    settings: { model_name: model, output_type: 'boolean' },
  });
  combined = await createCodeMetric({
    ...{ client, name: `combined ${newId()}`, code, kinds: ['trace'], requiredMetrics: ['polite'], direction: 'higher' },
  });
}, LONG);
beforeEach(() => {
  endpoint.requests.length = 0;
  endpoint.otherwise((request, response) => {
    const verdict = request.text.includes('please');
    return says(JSON.stringify({ explanation: 'so it is', verdict }))(request, response);
  });
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

const outputs = ['please', 'no'];
const expected = { please: { combined: 1 / 6, polite: true }, no: { combined: 0, polite: false } };

interface Found {
  output: string;
  metric_info: Record<string, { status_type: string; value?: unknown; message?: string }>;
}

async function valuesIn(run: object): Promise<Record<string, unknown>> {
  const { body } = await service.request('POST', `/v2/projects/${projectId}/traces/search`, { ...run, limit: 100 });
  return Object.fromEntries(
    (body as { records: Found[] }).records.map(({ output, metric_info }) => {
      const of = (id: string) => {
        const one = metric_info?.[id];
        return one?.status_type === 'success' ? one.value : one?.message;
      };
      return [output, { combined: of(combined.id), polite: of(judge.id) }];
    }),
  );
}

describe('a metric that requires another', { timeout: LONG }, () => {
  test.each([
    ['beside it', () => [combined.name, 'polite']],
    ['alone', () => [combined.name]],
  ])('gets its value in an experiment that asks for it %s, of a judge that is asked once', async (_, metrics) => {
    const { experiment } = await runExperiment<string, string>({
      ...{ client, projectId, experimentName: newId(), dataset: outputs.map((input) => ({ input })) },
      function: (input: string) => input,
      metrics: metrics(),
    });
    const run = { experiment_id: experiment.id };
    await expect.poll(() => valuesIn(run), { timeout: LONG, interval: 300 }).toEqual(expected);
    expect(endpoint.requests).toHaveLength(outputs.length);
  });

  test('gets it in live traffic; computed anew it takes the value that stands', async () => {
    const { id: streamId } = await client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name: newId() } });
    const stream = { log_stream_id: streamId };
    await client.send(`/projects/${projectId}/runs/${streamId}/scorer-settings`, {
      body: { run_id: streamId, scorers: [{ id: combined.id, scorer_type: 'code' }] },
    });
    const traces = outputs.map((output) => ({ input: 'q', output }));
    await client.send(`/projects/${projectId}/traces`, { body: { ...stream, traces, is_complete: true } });
    await expect.poll(() => valuesIn(stream), { timeout: LONG, interval: 300 }).toEqual(expected);
    expect(endpoint.requests).toHaveLength(outputs.length);
    await addCodeMetricVersion({ client, id: combined.id, code: code.replace('1 / len', '2 / len'), kinds: ['trace'] });
    await client.send(`/projects/${projectId}/recompute-metrics`, { body: { ...stream, scorer_ids: [combined.id] } });
    const doubled = { ...expected, please: { combined: 2 / 6, polite: true } };
    await expect.poll(() => valuesIn(stream), { timeout: LONG, interval: 300 }).toEqual(doubled);
    expect(endpoint.requests).toHaveLength(outputs.length);
  });

  test('has no value where the judge cannot be asked, and says why', async () => {
    endpoint.otherwise(fails(401));
    const { id: streamId } = await client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name: newId() } });
    await client.send(`/projects/${projectId}/traces`, {
      body: { log_stream_id: streamId, traces: [{ input: 'q', output: 'please' }], is_complete: true },
    });
    await client.send(`/projects/${projectId}/recompute-metrics`, {
      body: { log_stream_id: streamId, scorer_ids: [combined.id] },
    });
    const reason = expect.stringMatching(/^it requires "polite", which has no value: the judge could not be asked: .*401/);
    await expect
      .poll(() => valuesIn({ log_stream_id: streamId }), { timeout: LONG, interval: 300 })
      .toMatchObject({ please: { combined: reason } });
  });

  test('is tried out with it, at its price', async () => {
    const { id: logStreamId } = await client.send<{ id: string }>(`/projects/${projectId}/log_streams`, {
      body: { name: newId() },
    });
    const traces = outputs.map((output) => ({ input: 'q', output }));
    await client.send(`/projects/${projectId}/traces`, { body: { log_stream_id: logStreamId, traces, is_complete: true } });
    const tried = await tryCodeMetric({ client, code, kinds: ['trace'], requiredMetrics: ['polite'], records: { logStreamId } });
    expect(Object.fromEntries(tried.samples.map(({ output, value }) => [output, value]))).toEqual({ please: 1 / 6, no: 0 });
    expect(tried.summary).toMatchObject({ with_value: 2, calls: 2, input_tokens: 24 });
  });

  test('is sampled as its judge is where a log stream says that for judges', () => {
    const config = { id: newId(), scorer_type: 'code' } as const;
    const polite = { name: 'polite', metric: { needs: 'judge' } as EnabledMetric };
    const metric = { needs: 'code', config, requires: [polite] } as const;
    const target = { kind: 'trace', name: 'a', modalities: [], metadata: {}, traceId: newId() } as const;
    const none: SegmentFilter = { sample_rate: 0, llm_scorers: true, multimodal_scorers: false };
    expect(isSampled(metric, target, [none])).toBe(false);
    expect(isSampled({ ...metric, requires: [] }, target, [none])).toBe(true);
  });

  test('is refused where there is none, with the nearest names', async () => {
    const made = createCodeMetric({ client, name: newId(), code, kinds: ['trace'], requiredMetrics: ['polyte'] });
    await expect(made).rejects.toMatchObject({ status: 422, message: /no metric is called "polyte"; nearest: .*polite/ });
    const { body, status } = await service.request('POST', '/scorers', {
      ...{ name: newId(), scorer_type: 'code', required_scorers: ['polyte'] },
    });
    expect([status, body]).toMatchObject([422, { detail: [{ loc: ['body', 'required_scorers', 0] }] }]);
  });
});
