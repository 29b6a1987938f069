import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createDataset, createJudge, judgeAgreement, type ServiceClient, tryJudge } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { MetricValue } from '../../shared/records/recordStore.ts';
import { unsavedJudge } from '../../shared/scorers/unsavedJudge.ts';
import { type MetricTryOut, type MetricTryOutDeps, type TryOutSource, tryMetric } from '../../shared/scoring/metricTryOut.ts';
import { type Answer, fails, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let endpoint: ModelEndpoint;
let client: ServiceClient;
let projectId: string;
let streamId: string;

// biome-ignore lint/suspicious/noExplicitAny: answers of several shapes; a wrong guess fails the test
type Reply = { status: number; body: any };

const model = `trial-${newId().slice(0, 8)}`;
/** US dollars of 12 input tokens and 3 output tokens. */
const PRICE = (12 * 100 + 3 * 1_000) / 1e6;
const verdict = (yes: boolean, why = 'so it is'): Answer => says(JSON.stringify({ explanation: why, verdict: yes }));
/** Says yes of what has this word in its output. */
const saysYesOf =
  (word: string): Answer =>
  (request, response) =>
    verdict(request.text.includes(word))(request, response);

beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  client = service.client;
  const integration = await client.send<{ id: string }>(`/integrations/custom/${model}`, {
    method: 'PUT',
    body: { endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: [model] },
  });
  const prices = [{ model, input: 100, output: 1_000 }];
  await client.send(`/integrations/${integration.id}/prices`, { method: 'PUT', body: { prices } });
  projectId = (await service.project()).id;
  streamId = (await client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name: 'asked' } })).id;
  const traces = ['please wait', 'go away', 'please sit'].map((output, index) => ({
    ...{ name: `trace ${index}`, input: `question ${index}`, output, dataset_metadata: { polite: String(index !== 1) } },
  }));
  await client.send(`/projects/${projectId}/traces`, { body: { log_stream_id: streamId, traces, is_complete: true } });
});
beforeEach(() => {
  endpoint.requests.length = 0;
  endpoint.otherwise(saysYesOf('please'));
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

const judge = (configuration: object = {}, more: object = {}) => ({
  ...{ query: '', response: '', user_prompt: 'Is {{output}} polite?', chain_poll_template: { template: '' } },
  scorer_configuration: { model_alias: model, num_judges: 1, cot_enabled: true, ...configuration },
  ...more,
});
const post = (path: string, body: object): Promise<Reply> => service.request('POST', path, body) as Promise<Reply>;
const tryOn = (body: object): Promise<Reply> =>
  post('/scorers/llm/validate/log_record', { ...judge(), log_stream_id: streamId, ...body });
const search = async (run: object) =>
  (await post(`/projects/${projectId}/traces/search`, { ...run, include_code_metric_metadata: true })).body;

describe('a judge on stored records', () => {
  test('says of each record its value, explanation, cost and tokens, and writes nothing to them', async () => {
    const before = await search({ log_stream_id: streamId });
    const { status, body } = await tryOn({});
    expect(status).toBe(200);
    expect(body).toMatchObject({ project_id: projectId, metric: 'generated_scorer_validation', matching: 3 });
    expect(Object.fromEntries(body.samples.map((one: Reply['body']) => [one.output, one.value]))).toEqual({
      ...{ 'please wait': true, 'go away': false, 'please sit': true },
    });
    for (const sample of body.samples)
      expect(sample).toMatchObject({
        ...{ status: 'success', explanation: 'so it is', reason: null, calls: 1, input_tokens: 12, output_tokens: 3 },
        cost: expect.closeTo(PRICE, 9),
        ...{ source: { type: 'trace', run_id: streamId } },
      });
    expect(body.summary).toMatchObject({ samples: 3, with_value: 3, causes: [], calls: 3, input_tokens: 36, output_tokens: 9 });
    expect(body.summary).toMatchObject({ cost: expect.closeTo(3 * PRICE, 9), samples_of_unknown_cost: 0 });
    expect(endpoint.requests).toHaveLength(3);
    expect(await search({ log_stream_id: streamId })).toEqual(before);
  });

  test('keeps the samples in a metrics-testing run, which the health score reads', async () => {
    const { body } = await tryOn({});
    const run = { metrics_testing_id: body.metrics_experiment_id };
    const found = await search(run);
    expect(found.records.map((one: Reply['body']) => [one.output, one.external_id])).toEqual(
      body.samples.map((one: Reply['body']) => [one.output, one.source.id]),
    );
    expect(found.records[0].metric_info.generated_scorer_validation).toMatchObject({ status_type: 'success', value: true });
    const scorer = (await client.send<{ id: string }>('/scorers', { body: { name: `polite ${newId()}`, scorer_type: 'llm' } }))
      .id;
    const overlay = Object.fromEntries(body.samples.map((one: Reply['body']) => [one.source.id, String(one.value)]));
    const health = await post(`/projects/${projectId}/metrics-testing/${body.metrics_experiment_id}/health-score`, {
      ...{ scorer_id: scorer, output_type: 'boolean', scoreable_node_types: ['trace'], mgt_overlay: overlay },
    });
    expect(health.body).toMatchObject({ health_score_type: 'macro_f1', value: 1, joined_rows: 3 });
  });

  test('takes the records that the filter and the page name', async () => {
    const filters = [{ type: 'text', column_id: 'output', operator: 'contains', value: 'please' }];
    const { body } = await tryOn({ filters, limit: 1, sort: { column_id: 'output', ascending: true } });
    expect(body).toMatchObject({ matching: 2, samples: [{ output: 'please sit' }] });
    expect(endpoint.requests).toHaveLength(1);
    const none = await tryOn({ filters: [{ ...filters[0], value: 'nowhere' }] });
    expect(none).toMatchObject({ status: 200, body: { matching: 0, samples: [], summary: { cost: null } } });
    expect(none.body.summary.message).toMatch(/nothing to judge/);
  });

  test('answers 200 with each failure and its cause when every sample fails', async () => {
    endpoint.otherwise(fails(401, { error: { message: 'no' } }));
    const { status, body } = await tryOn({});
    expect(status).toBe(200);
    expect(body.samples.map((one: Reply['body']) => one.status)).toEqual(['failed', 'failed', 'failed']);
    expect(body.summary).toMatchObject({ with_value: 0, cost: null, causes: [{ status: 'failed', samples: 3 }] });
    expect(body.summary.causes[0].reason).toMatch(/answered 401 Unauthorized/);
    expect(body.summary.message).toMatch(
      /^the judge gave a value for 0 of 3 samples. Of the others, 3: the judge could not be asked/,
    );
  });

  test('tells what unreadable answers cost', async () => {
    endpoint.otherwise(says('I would rather not say.'));
    const { body } = await tryOn({ limit: 1 });
    expect(body.samples[0]).toMatchObject({ status: 'error', value: null, input_tokens: 24 });
    expect(body.summary).toMatchObject({ calls: 2, cost: expect.closeTo(2 * PRICE, 9) });
  });

  test('asks several judges and shows what each said', async () => {
    endpoint.next(verdict(true), verdict(false), verdict(true));
    const { body } = await tryOn({ ...judge({ num_judges: 3 }), limit: 1 });
    expect(body.samples[0]).toMatchObject({ value: true, calls: 3 });
    expect(body.samples[0].judges.toSorted()).toEqual([false, true, true]);
  });
});

test('a judge on the rows of a dataset sees their columns and their reference', async () => {
  const content = [
    { input: 'Where?', output: 'please here', topic: 'place' },
    { input: 'When?', output: 'never', topic: 'time' },
  ];
  const { id } = await createDataset({ client, name: newId(), content });
  const body = {
    ...judge({}, { user_prompt: 'Is {{output}} polite for {{dataset.topic}}?' }),
    dataset_id: id,
    project_id: projectId,
  };
  const { body: tried } = await post('/scorers/llm/validate/dataset', body);
  expect(tried).toMatchObject({
    ...{ matching: 2, project_id: projectId },
    samples: [
      { name: 'row 1', input: 'Where?', output: 'please here', value: true, source: { type: 'dataset_row', run_id: null } },
      { name: 'row 2', input: 'When?', output: 'never', value: false },
    ],
  });
  expect(endpoint.requests.some(({ text }) => text.includes('place'))).toBe(true);
  const { body: unnamed } = await post('/scorers/llm/validate/dataset', { ...body, project_id: undefined });
  expect(unnamed.detail[0].loc).toEqual(['body', 'project_id']);
  const { body: sorted } = await post('/scorers/llm/validate/dataset', { ...body, sort: { input: 1 } });
  expect(sorted.detail[0].loc).toEqual(['body', 'sort']);
});

test('a judge on one text, as JSON and as a form', async () => {
  const body = judge({}, { query: 'May I?', response: 'please do', project_id: projectId });
  const { body: tried } = await post('/scorers/llm/validate', body);
  expect(tried).toMatchObject({ matching: 1, samples: [{ input: 'May I?', output: 'please do', value: true }] });
  expect((await search({ metrics_testing_id: tried.task_result_id })).num_rows).toBe(1);
  const form = new FormData();
  form.set('body', JSON.stringify(body));
  const answered = await client.send<Reply['body']>('/scorers/llm/validate/multipart', { form });
  expect(answered.samples).toMatchObject([{ value: true }]);
});

describe('a form with files', () => {
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  const url = `data:image/png;base64,${png.toString('base64')}`;
  const sendForm = async (configuration: object, files: [field: string, content: Buffer | string, name: string][]) => {
    const form = new FormData();
    const body = judge(configuration, { query: 'What is this?', response: 'please', project_id: projectId });
    form.set('body', JSON.stringify({ ...body, user_prompt: 'Does {{output}} fit {{input}}?' }));
    for (const [field, content, name] of files) form.append(field, new File([new Uint8Array(Buffer.from(content))], name));
    return client.send<Reply['body']>('/scorers/llm/validate/multipart', { form });
  };

  test('shows a judge that sees the images, and texts behind what they belong to', async () => {
    const tried = await sendForm({ multimodal_capabilities: ['vision'] }, [
      ['query_files', png, 'a.png'],
      ['query_files', 'the note', 'note.md'],
      ['response_files', png, 'b.bin'],
    ]);
    expect(tried.samples).toMatchObject([{ value: true, input: expect.stringContaining('note.md:\nthe note') }]);
    const asked = endpoint.requests.at(-1)?.body.messages as { role: string; content: { type: string; text: string }[] }[];
    const [text, ...images] = asked.find(({ role }) => role === 'user')?.content ?? [];
    expect(text?.text).toMatch(/What is this\?\s+\(image 1\)\s+note\.md:\s+the note/);
    expect(text?.text).toMatch(/please\s+\(image 2\)/);
    expect(images).toEqual([url, url].map((one) => ({ type: 'image_url', image_url: { url: one } })));
  });

  test.each<[string, object, [string, Buffer | string, string][], RegExp]>([
    ['an image for a judge that does not see', {}, [['query_files', png, 'a.png']], /add "vision" to/],
    ['what is neither an image nor a text', {}, [['response_files', '%PDF-1.7', 'a.pdf']], /"a\.pdf" is neither/],
    ['too many bytes', {}, [['query_files', 'x'.repeat(10 * 1024 * 1024 + 1), 'a.txt']], /at most 10485760 are taken/],
  ])('refuses %s, and asks no model', async (_what, configuration, files, message) => {
    await expect(sendForm(configuration, files)).rejects.toThrow(message);
    expect(endpoint.requests).toHaveLength(0);
  });
});

test.each([
  ['more samples than one try-out judges', { limit: 101 }, ['body', 'limit']],
  ['a prompt that asks for what no record has', { user_prompt: 'Is {{answre}} good?' }, ['body', 'user_prompt']],
  ['no prompt', { user_prompt: ' ' }, ['body', 'user_prompt']],
  [
    'names that no answer can have',
    { chain_poll_template: { template: '', value_field_name: 'a b' } },
    ['body', 'chain_poll_template', 'value_field_name'],
  ],
])('refuses %s, and asks no model', async (_what, change, loc) => {
  const { status, body } = await tryOn(change);
  expect(status).toBe(422);
  expect(body.detail[0].loc).toEqual(loc);
  expect(endpoint.requests).toHaveLength(0);
});

test('refuses a model that there is not, with the closest', async () => {
  const { status, body } = await tryOn({ scorer_configuration: { model_alias: `${model}s` } });
  expect(status).toBe(422);
  expect(body.detail[0].msg).toContain(model);
  const unknown = await tryOn({ log_stream_id: newId() });
  expect(unknown.status).toBe(404);
});

describe('from a program', () => {
  test('what is tried out is what is saved', async () => {
    const judgeOptions = {
      instructions: 'Is {{output}} polite?',
      settings: { model_name: model, output_type: 'boolean' },
    } as const;
    const tried = await tryJudge({ client, ...judgeOptions, records: { logStreamId: streamId } });
    expect(tried.summary).toMatchObject({ samples: 3, with_value: 3, calls: 3 });
    const [triedPrompt] = endpoint.requests;
    endpoint.requests.length = 0;
    const { id } = await createJudge({ client, ...judgeOptions, name: `saved ${newId()}` });
    await client.send(`/projects/${projectId}/recompute-metrics`, { body: { log_stream_id: streamId, scorer_ids: [id] } });
    await expect.poll(() => endpoint.requests.length).toBe(3);
    const systemOf = ({ body }: Reply['body']) => body.messages[0];
    expect(systemOf(endpoint.requests[0])).toEqual(systemOf(triedPrompt));
    const texts = (text: string | undefined) =>
      text?.replaceAll(/material-[0-9a-f]+/g, 'material').replace(/please wait|go away|please sit/g, '…');
    expect(endpoint.requests.map(({ text }) => texts(text))).toContain(texts(triedPrompt?.text));
    const agreed = await judgeAgreement({ client, projectId, metricsTestingId: tried.metricsTestingId, metric: tried.metric });
    expect(agreed).toMatchObject({ records: 3, with_value: 3, agreements: [] });
  });

  test('a text and a dataset need a project, and one thing is judged at a time', async () => {
    const instructions = 'Is {{output}} polite?';
    const settings = { model_names: [model, model] };
    const text = { input: 'May I?', output: 'please' };
    const tried = await tryJudge({ client, projectId, instructions, settings, text });
    expect(tried.samples).toMatchObject([{ value: true, calls: 2, judges: [true, true] }]);
    await expect(tryJudge({ client, projectId, instructions })).rejects.toMatchObject({ name: 'ValueError' });
    const both = { records: { logStreamId: streamId }, text };
    await expect(tryJudge({ client, projectId, instructions, ...both })).rejects.toMatchObject({ name: 'ValueError' });
  });
});

describe('time', () => {
  const target = {
    kind: 'trace',
    name: 'a',
    input: 'q',
    output: 'a',
    datasetInput: null,
    datasetOutput: null,
    metadata: {},
  } as const;
  const none = { durationNs: null, inputTokens: null, outputTokens: null, totalTokens: null, errorMessage: null, model: null };
  const source: TryOutSource = {
    ...{ type: 'text', id: null, runId: null },
    read: async () => ({
      ...{
        id: '',
        createdAt: '',
        version: 0,
        kind: 'trace',
        traceId: null,
        sessionId: '',
        failed: false,
        rowOrdinal: null,
        name: 'a',
      },
      ...{ modalities: [], record: { ...target, ...none } },
    }),
  };
  const template = {
    template: 'Is {{output}} polite?',
    value_field_name: 'v',
    explanation_field_name: 'e',
    metric_few_shot_examples: [],
  };
  const asked = {
    num_judges: 1,
    output_type: 'boolean',

    cot_enabled: false,
    ground_truth: false,
  } as const;
  const answer = { text: '{"verdict": true}', inputTokens: 5, outputTokens: 1, model: 'm', costUsd: 0.25 };

  /** Twenty samples whose judge answers as said. @returns what was stored beside the answer */
  async function tried(
    complete: (call: number, signal: AbortSignal) => Promise<typeof answer>,
    signal: AbortSignal,
    time?: MetricTryOutDeps['time'],
  ) {
    const stored: MetricValue[] = [];
    let calls = 0;
    const deps: MetricTryOutDeps = {
      ingestRun: async (id) => ({ projectId: id, runId: newId() }),
      metrics: { freeze: async (_run, metrics) => [...metrics] },
      contextFor: (_run, _metric, givenUp) => ({ signal: givenUp, complete: () => complete(++calls, givenUp) }),
      writer: {
        write: async () => ({ written: [], left: [], refused: [] }),
        writeParts: async () => ({ written: [], left: [], refused: [] }),
        counters: { refuse: () => undefined },
      } as unknown as MetricTryOutDeps['writer'],
      write: async (_run, values) => void stored.push(...values),
      newId,
      ...(time ? { time } : {}),
    };
    const metric = unsavedJudge(
      {
        query: '',
        response: '',
        user_prompt: '',
        chain_poll_template: template,
        scorer_configuration: { ...asked, scoreable_node_types: [] },
      },
      newId(),
    );
    const sources = Array.from({ length: 20 }, () => source);
    const question = { projectId: newId(), userId: newId(), metric, sources };
    const outcome = await tryMetric(deps, question, signal).catch((err: unknown) => err);
    return { outcome, stored, calls: () => calls };
  }

  test('a judge that does not answer is not waited for, and the others are not asked', async () => {
    const silent = (_call: number, signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const { outcome, stored, calls } = await tried(silent, new AbortController().signal, { asking: 20, waiting: 60 });
    const { summary, samples } = outcome as MetricTryOut;
    expect(calls()).toBe(8);
    expect(samples.map(({ status }) => status)).toEqual(samples.map(() => 'not_computed'));
    expect(summary).toMatchObject({ samples: 20, with_value: 0, cost: null, samples_of_unknown_cost: 8 });
    expect(summary.causes.map((cause) => cause.samples)).toEqual([12, 8]);
    expect(stored).toHaveLength(20);
  });

  test('when nobody waits any more no further judge is asked, and what was answered is kept', async () => {
    const leaving = new AbortController();
    const answers = async (call: number) => {
      if (call === 10) leaving.abort(new Error('left'));
      return answer;
    };
    const { outcome, stored, calls } = await tried(answers, leaving.signal);
    expect(outcome).toMatchObject({ message: 'left' });
    expect(calls()).toBeLessThan(20);
    expect(stored.filter(({ status, details }) => status === 'success' && details?.cost === 0.25).length).toBeGreaterThanOrEqual(
      1,
    );
    expect(stored.length).toBe(calls());
  });
});
