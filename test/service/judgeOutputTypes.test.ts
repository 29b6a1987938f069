import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { combine } from '../../shared/metrics/scoreRecord.ts';
import { type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of several shapes; a wrong guess fails the test
type Reply = { status: number; body: any };

const model = `listed-${newId().slice(0, 8)}`;
const DOCUMENTS = ['Bees make honey.', 'Ants build hills.', 'Honey keeps for years.'];
let service: TestService;
let endpoint: ModelEndpoint;
let projectId: string;
let streamId: string;

const call = (method: string, path: string, body?: object): Promise<Reply> =>
  service.request(method, path, body) as Promise<Reply>;

beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  await call('PUT', `/integrations/custom/${model}`, {
    ...{ endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: [model] },
  });
  projectId = (await service.project()).id;
  streamId = (await call('POST', `/projects/${projectId}/log_streams`, { name: 'retrieval' })).body.id;
  const retriever = { type: 'retriever', name: 'find', input: 'honey', output: DOCUMENTS.map((content) => ({ content })) };
  const traces = [
    { name: 'found', input: 'How long does honey keep?', output: 'For years.', spans: [retriever] },
    { name: 'guessed', input: 'How long does bread keep?', output: 'For days.' },
  ];
  await call('POST', `/projects/${projectId}/traces`, { log_stream_id: streamId, traces, is_complete: true });
});
beforeEach(() => {
  endpoint.requests.length = 0;
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

const answers = (value: object) => endpoint.otherwise(says(JSON.stringify({ explanation: 'so it is', ...value })));
const asked = () => JSON.stringify(endpoint.requests[0]?.body.messages);
/** JSON Schema of the answer that the model was held to. */
const schemaAsked = (): Reply['body'] =>
  (endpoint.requests[0]?.body.response_format as Reply['body'] | undefined)?.json_schema.schema;
const tryOn = async (configuration: object, more: object = {}) => {
  const { status, body } = await call('POST', '/scorers/llm/validate/log_record', {
    ...{ log_stream_id: streamId, query: '', response: '', user_prompt: 'Does {{context}} help with {{input}}?' },
    ...{ chain_poll_template: { template: '' } },
    scorer_configuration: { model_alias: model, num_judges: 1, cot_enabled: true, ...configuration },
    filters: [{ type: 'text', column_id: 'name', operator: 'eq', value: 'found' }],
    ...more,
  });
  expect(status, JSON.stringify(body)).toBe(200);
  return body.samples[0];
};

describe('a judge of each retrieved document', () => {
  const output_type = 'retrieved_chunk_list_boolean';

  test('is shown the documents one by one and gives a verdict on each', async () => {
    answers({ documents: [true, false, 'yes'] });
    expect(await tryOn({ output_type })).toMatchObject({ status: 'success', value: [true, false, true] });
    expect(asked()).toContain('Does (the documents) help with (the material named \\"input\\")?');
    for (const [index, text] of DOCUMENTS.entries()) expect(asked()).toContain(`name=\\"document ${index + 1}\\">\\n${text}`);
    expect(asked()).not.toContain('name=\\"context\\"');
    expect(schemaAsked().properties.documents).toEqual({ type: 'array', items: { type: 'boolean' } });
  });

  test('judges the documents of a retriever span itself', async () => {
    answers({ documents: [false, false, true] });
    const sample = await tryOn(
      { output_type, scoreable_node_types: ['retriever'] },
      { user_prompt: 'Is it true?', filters: [{ type: 'text', column_id: 'name', operator: 'eq', value: 'find' }] },
    );
    expect(sample).toMatchObject({ source: { type: 'retriever' }, value: [false, false, true] });
    expect(asked()).not.toContain('name=\\"output\\"');
  });

  test.each([[[true, false]], [[true, false, 'maybe']], [true]])('fails a value of %j', async (documents) => {
    answers({ documents });
    expect(await tryOn({ output_type })).toMatchObject({ status: 'error', value: null });
  });

  test('says that there is nothing to judge where nothing was retrieved', async () => {
    const filters = [{ type: 'text', column_id: 'name', operator: 'eq', value: 'guessed' }];
    for (const user_prompt of ['Is it of use?', 'Is {{context}} of use?'])
      expect(await tryOn({ output_type }, { filters, user_prompt })).toMatchObject({
        ...{ status: 'not_applicable', reason: 'nothing was retrieved' },
      });
    expect(endpoint.requests).toEqual([]);
  });

  test('is saved, and its figures are the share of documents', async () => {
    answers({ documents: [true, false, true] });
    const name = `helpful ${newId().slice(0, 8)}`;
    const scorer = (await call('POST', '/scorers', { name, scorer_type: 'llm', output_type, direction: 'higher' })).body;
    await call('POST', `/scorers/${scorer.id}/version/llm`, { user_prompt: 'Is it of use?', model_name: model, num_judges: 1 });
    const read = (await call('GET', `/scorers/${scorer.id}`)).body;
    expect(read).toMatchObject({ range: { min: 0, max: 1 }, needs: expect.arrayContaining(['judge_model', 'context']) });
    const stream = (await call('POST', `/projects/${projectId}/log_streams`, { name })).body.id;
    await call('POST', `/projects/${projectId}/runs/${stream}/scorer-settings`, {
      ...{ run_id: stream, scorers: [{ id: scorer.id, scorer_type: 'llm' }] },
    });
    const spans = [{ type: 'retriever', name: 'find', input: 'honey', output: DOCUMENTS.map((content) => ({ content })) }];
    await call('POST', `/projects/${projectId}/traces`, {
      ...{ log_stream_id: stream, traces: [{ name: 'one', input: 'a', output: 'b', spans }], is_complete: true },
    });
    const search = async () =>
      (await call('POST', `/projects/${projectId}/traces/search`, { log_stream_id: stream })).body.records[0];
    await expect.poll(async () => (await search()).metrics?.[scorer.id]).toEqual([true, false, true]);
    const { columns } = (await call('POST', `/projects/${projectId}/traces/available_columns`, { log_stream_id: stream }))
      .body as { columns: { id: string }[] };
    expect(columns.find(({ id }) => id === `metrics/${scorer.id}`)).toMatchObject({
      ...{ data_type: 'boolean', multi_valued: true, filterable: false, sortable: false },
    });
    const hour = 3_600_000;
    const figures = await call('POST', `/projects/${projectId}/metrics/search`, {
      log_stream_id: stream,
      start_time: new Date(Date.now() - hour).toISOString(),
      end_time: new Date(Date.now() + hour).toISOString(),
    });
    expect(JSON.stringify(figures.body.aggregate_metrics)).toContain('0.666');
  });
});

describe('a judge that says true or false of each label', () => {
  const output_type = 'boolean_multilabel';
  const categories = ['polite', 'short', 'On topic'];

  test('gives the labels that are true', async () => {
    answers({ labels: { short: true, polite: false, 'on topic': 'yes' } });
    expect(await tryOn({ output_type, categories })).toMatchObject({ status: 'success', value: ['On topic', 'short'] });
    expect(schemaAsked().properties.labels).toMatchObject({
      ...{ required: categories, additionalProperties: false, properties: { short: { type: 'boolean' } } },
    });
  });

  test.each([
    [{ polite: true, short: true }],
    [{ polite: true, short: true, 'On topic': 'perhaps' }],
    [{ polite: true, short: true, 'On topic': true, rude: false }],
    [['polite']],
  ])('fails a value of %j', async (labels) => {
    answers({ labels });
    expect(await tryOn({ output_type, categories })).toMatchObject({ status: 'error', value: null });
  });

  test('names the labels itself where it has none', async () => {
    answers({
      labels: [
        { label: 'warm', holds: true },
        { label: 'brief', holds: false },
      ],
    });
    expect(await tryOn({ output_type })).toMatchObject({ value: ['warm'] });
    expect(schemaAsked().properties.labels.items.required).toEqual(['label', 'holds']);
  });

  test('takes its labels from the schema of its template', async () => {
    answers({ rating: { kind: true, rude: false } });
    const response_schema = { properties: { rating: { properties: { kind: {}, rude: {} } } } };
    const chain_poll_template = { template: '', response_schema };
    expect(await tryOn({ output_type }, { chain_poll_template })).toMatchObject({ value: ['kind'] });
  });
});

describe('several judges', () => {
  test('decide each document and each label by their majority', () => {
    const flags = [
      [true, true, false],
      [true, false, false],
      [false, true, false],
    ].map((value) => ({ value }));
    expect(combine(flags, 'retrieved_chunk_list_boolean')).toMatchObject({ value: [true, true, false] });
    const labels = [['a', 'b'], ['b', 'c'], ['c']].map((value) => ({ value }));
    expect(combine(labels, 'boolean_multilabel')).toMatchObject({ value: ['b', 'c'] });
    expect(combine([{ value: ['a'] }, { value: [] }], 'boolean_multilabel')).toMatchObject({ value: [] });
    expect(combine(labels, 'multilabel')).toMatchObject({ value: ['a', 'b'] });
  });
});

describe('the names that a template gives the members of an answer', () => {
  const named = { template: '', value_field_name: 'Grade', explanation_field_name: 'why' };

  test('are asked for and read', async () => {
    endpoint.otherwise(says('{"why": "kind words", "Grade": true}'));
    expect(await tryOn({}, { chain_poll_template: named })).toMatchObject({ value: true, explanation: 'kind words' });
    expect(asked()).toContain('\\"Grade\\" (true or false)');
    expect(Object.keys(schemaAsked().properties)).toEqual(['why', 'Grade']);
  });

  test('count where an example shows them, and else are those of the service', async () => {
    const examples = [{ generation_prompt_and_response: 'Hi', evaluating_response: '{"explanation": "a", "rating": true}' }];
    endpoint.otherwise(says('{"explanation": "b", "rating": false}'));
    const chain_poll_template = { template: '', metric_few_shot_examples: examples };
    expect(await tryOn({}, { chain_poll_template })).toMatchObject({ value: false });
    expect(await tryOn({})).toMatchObject({ status: 'error' });
  });

  test.each([
    [{ value_field_name: 'why' }, 'value_field_name'],
    [{ value_field_name: 'a "b"' }, 'value_field_name'],
    [{ explanation_field_name: '' }, 'explanation_field_name'],
  ])('are refused as %j', async (wrong, key) => {
    const scorer = (await call('POST', '/scorers', { name: `named ${newId()}`, scorer_type: 'llm' })).body;
    const chain_poll_template = { ...named, template: 'Is it good?', ...wrong };
    const { status, body } = await call('POST', `/scorers/${scorer.id}/version/llm`, { chain_poll_template });
    expect(status).toBe(422);
    expect(body.detail[0]).toMatchObject({ loc: ['body', 'chain_poll_template', key], type: 'field_name' });
  });
});
