import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/ids.ts';
import { startTestService, type TestProject, type TestService } from '../support/service.ts';

interface Column {
  id: string;
  data_type: string;
  data_unit?: string;
  filter_type: string;
  multi_valued: boolean;
  label: string;
  filterable: boolean;
}

let service: TestService;
let project: TestProject;

beforeAll(async () => {
  service = await startTestService();
  project = await service.project();
}, 120_000);
afterAll(() => service[Symbol.asyncDispose]());

const post = (path: string, body: object, { id } = project) =>
  service.request('POST', `/v2/projects/${id}/${path}`, body) as Promise<{ status: number; body: { columns: Column[] } }>;
const columns = async (body: object): Promise<Map<string, Column>> => {
  const answer = await post('metrics-testing/available_columns', body);
  expect(answer.status).toBe(200);
  return new Map(answer.body.columns.map((column) => [column.id, column]));
};
const standard = async () => {
  const { body } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: `stream ${newId()}` });
  return post('sessions/available_columns', { log_stream_id: (body as { id: string }).id });
};

test('the catalog is that of the records, and the metric under test beside it', async () => {
  const found = await columns({ name: 'Brevity' });
  const known = (await standard()).body.columns;
  expect([...found.values()].slice(0, known.length)).toEqual(known);
  expect([...found.keys()].slice(known.length)).toEqual(['metrics/generated_scorer_validation']);
  expect(found.get('metrics/generated_scorer_validation')).toMatchObject({
    ...{ label: 'Brevity', category: 'metric', data_type: 'boolean', filter_type: 'boolean', applicable_types: [] },
  });
});

test.each([
  ['boolean', 'boolean', false],
  ['categorical', 'text', false],
  ['count', 'integer', false],
  ['discrete', 'integer', false],
  ['freeform', 'text', false],
  ['percentage', 'floating_point', false],
  ['multilabel', 'string_list', true],
  ['retrieved_chunk_list_boolean', 'boolean', true],
  ['boolean_multilabel', 'string_list', true],
])('the output type %s gives %s', async (output_type, data_type, multi_valued) => {
  for (const metric_key of ['generated_scorer_validation', 'registered_scorer_validation']) {
    const column = (await columns({ name: 'm', output_type, metric_key, score_type: null })).get(`metrics/${metric_key}`);
    expect(column).toMatchObject({ data_type, multi_valued });
    expect(column?.data_unit).toBe(output_type === 'percentage' ? 'percentage' : undefined);
  }
});

test('a registered scorer needs its output type, and says with its score type what it returns', async () => {
  const registered = { name: 'm', metric_key: 'registered_scorer_validation' };
  const refused = await post('metrics-testing/available_columns', registered);
  expect(refused).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'output_type'] }] } });
  for (const [score_type, data_type] of [
    ['bool', 'boolean'],
    ['int', 'integer'],
    ['float', 'floating_point'],
    ['str', 'text'],
  ]) {
    const typed = await columns({ ...registered, output_type: 'count', score_type });
    expect(typed.get('metrics/registered_scorer_validation')?.data_type).toBe(data_type);
  }
  const generated = await columns({ name: 'm', output_type: 'count', score_type: 'str' });
  expect(generated.get('metrics/generated_scorer_validation')?.data_type).toBe('integer');
});

test('chain of thought adds an explanation, required scorers a column each', async () => {
  const required_scorers = ['toxicity', 'exact_match', 'not_made_yet', 'toxicity'];
  const plain = await columns({ name: 'm', required_scorers });
  expect(plain.get('metrics/toxicity')).toMatchObject({
    data_type: 'floating_point',
    data_unit: 'percentage',
    label: 'Toxicity',
  });
  expect(plain.get('metrics/exact_match')).toMatchObject({ data_type: 'boolean' });
  expect(plain.get('metrics/not_made_yet')).toMatchObject({ data_type: 'text', label: 'not_made_yet' });
  const thinking = await columns({ name: 'm', required_scorers, cot_enabled: true });
  expect([...thinking.keys()].filter((id) => !plain.has(id))).toEqual([
    'metrics/generated_scorer_validation_explanation',
    'metrics/toxicity_explanation',
  ]);
  expect(thinking.get('metrics/toxicity_explanation')).toMatchObject({ data_type: 'text', filterable: false });
});

test.each([
  ['no name', {}],
  ['an output type that is none', { name: 'm', output_type: 'colour' }],
  ['two runs', { name: 'm', log_stream_id: newId(), experiment_id: newId() }],
])('%s is refused', async (_name, body) => {
  expect(await post('metrics-testing/available_columns', body)).toMatchObject({
    status: 422,
    body: { detail: expect.any(Array) },
  });
});

test('the first ingest with a new id opens a metrics-testing run, for this project alone; nothing else does', async () => {
  const run = { metrics_testing_id: newId() };
  const asks = [
    'traces/search',
    'spans/count',
    'traces/delete',
    'sessions/available_columns',
    'metrics-testing/available_columns',
  ];
  for (const path of asks) expect(await post(path, { name: 'm', ...run }), path).toMatchObject({ status: 404 });
  const trace = { id: newId(), type: 'trace', input: 'q', output: 'a', metrics: {} };
  const update = await service.request('PATCH', `/projects/${project.id}/traces/${trace.id}`, { ...run, trace_id: trace.id });
  expect(update.status).toBe(404);

  // Several at once, as the clients' loggers send them.
  const traces = [trace, ...Array.from({ length: 4 }, () => ({ ...trace, id: newId() }))];
  const logged = await Promise.all(traces.map((one) => post('traces', { ...run, traces: [one] })));
  expect(logged.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(logged[0]?.body).toMatchObject({ metrics_testing_id: run.metrics_testing_id, log_stream_id: null, traces_count: 1 });
  expect((await post('traces/count', run)).body).toEqual({ total_count: 5 });
  for (const path of asks.filter((one) => !one.includes('delete')))
    expect(await post(path, { name: 'm', ...run }), path).toMatchObject({ status: 200 });

  const other = await service.project();
  expect(await post('traces', { ...run, traces: [trace] }, other)).toMatchObject({ status: 404 });
  expect(await post('traces', { log_stream_id: run.metrics_testing_id, traces: [trace] })).toMatchObject({ status: 404 });
  const viaSession = { metrics_testing_id: newId().toUpperCase() };
  expect(await post('sessions', { ...viaSession, name: 's' })).toMatchObject({ status: 200 });
  expect((await post('sessions/count', viaSession)).body).toEqual({ total_count: 1 });
});
