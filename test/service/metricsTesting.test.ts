import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { presets } from '../../shared/scorers/presets.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

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
  service = await sharedTestService();
  project = await service.project();
});
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

/** A metrics-testing run with one trace a row: its score (absent: none), its ground truth, its external id. */
async function testedRun(metric: string, rows: { score?: unknown; truth?: string; row?: string }[]) {
  const run = newId();
  const traces = rows.map(({ score, truth, row }) => ({
    ...{ id: newId(), input: 'q', external_id: row },
    metrics: score === undefined ? {} : { [metric]: score },
    dataset_metadata: truth === undefined ? {} : { [metric]: truth },
    spans: [{ type: 'llm', input: [], metrics: { [metric]: 'of a span' } }],
  }));
  expect(await post('traces', { metrics_testing_id: run, traces })).toMatchObject({ status: 200 });
  const health = async (body: object) =>
    (await service.request('POST', `/v2/projects/${project.id}/metrics-testing/${run}/health-score`, body)) as {
      status: number;
      body: Record<string, unknown>;
    };
  return { run, ids: traces.map(({ id }) => id), health };
}
const preset = (name: string) => presets.find((one) => one.name === name)?.id;

test('the health of a metric compares its values with the ground truth of the rows', async () => {
  const { run, ids, health } = await testedRun('exact_match', [
    { score: true, truth: 'true' },
    { score: true, truth: 'false' },
    { score: false, truth: 'False' },
    { score: false },
    { truth: 'true' },
    { score: true, truth: 'perhaps' },
    {},
  ]);
  const asked = { scorer_id: preset('exact_match'), output_type: 'boolean', scoreable_node_types: ['trace'] };
  const answer = await health(asked);
  expect(answer).toEqual(expect.objectContaining({ status: 200 }));
  expect(answer.body).toEqual({
    health_score_type: 'macro_f1',
    value: expect.closeTo(2 / 3),
    secondary: { accuracy: expect.closeTo(2 / 3), macro_precision: 0.75, macro_recall: 0.75 },
    total_scored_rows: 5,
    total_mgt_rows: 5,
    joined_rows: 3,
    skipped_rows: 1,
  });
  // The overlay takes the place of what is stored, and adds and takes away.
  const mgt_overlay = {
    [(ids[1] as string).toUpperCase()]: 'true',
    [ids[3] as string]: 'no',
    [ids[5] as string]: null,
    [newId()]: 'true',
  };
  expect((await health({ ...asked, mgt_overlay })).body).toMatchObject({
    value: 1,
    joined_rows: 4,
    skipped_rows: 0,
    total_mgt_rows: 5,
  });
  // Every kind when none is named: the spans have a text that is no boolean, and no ground truth.
  expect((await health({ ...asked, scoreable_node_types: [...asked.scoreable_node_types, 'llm'] })).body).toMatchObject({
    total_scored_rows: 12,
    joined_rows: 3,
  });
  expect((await post('traces/count', { metrics_testing_id: run })).body).toEqual({ total_count: 7 });
});

test('a scorer of a user is found by its name, and by the key of a metric under test; rows by their external id', async () => {
  const name = `brevity ${newId()}`;
  const created = await service.request('POST', '/v2/scorers', { name, scorer_type: 'llm' });
  const scorer_id = (created.body as { id: string }).id;
  const asked = { scorer_id, output_type: 'count', scoreable_node_types: ['trace'] };
  const own = await testedRun(name, [
    { score: 3, truth: '5' },
    { score: 4, truth: '4' },
  ]);
  expect((await own.health(asked)).body).toMatchObject({
    health_score_type: 'mae',
    value: 1,
    secondary: { mse: 2, rmse: Math.SQRT2 },
  });
  const tested = await testedRun('generated_scorer_validation', [
    { score: 3, row: 'Row 1' },
    { score: 1, row: 'row 2' },
  ]);
  expect((await tested.health(asked)).body).toMatchObject({
    value: null,
    secondary: { mse: null, rmse: null },
    total_scored_rows: 2,
  });
  const overlaid = await tested.health({ ...asked, mgt_overlay: { 'Row 1': '3', 'row 2': '2' } });
  expect(overlaid.body).toMatchObject({ value: 0.5, joined_rows: 2 });
});

test('a run or scorer that is not there is 404, a body that does not fit 422, and only who sees the project is answered', async () => {
  const { run, health } = await testedRun('exact_match', [{}]);
  const asked = { scorer_id: preset('exact_match'), output_type: 'boolean' };
  expect((await health({ ...asked, scorer_id: newId() })).status).toBe(404);
  for (const wrong of [
    { scorer_id: undefined },
    { output_type: null },
    { output_type: 'colour' },
    { scoreable_node_types: ['chat'] },
    { mgt_overlay: { a: 1 } },
  ])
    expect(await health({ ...asked, ...wrong })).toMatchObject({ status: 422, body: { detail: expect.any(Array) } });
  expect((await health({ ...asked, scoreable_node_types: null, mgt_overlay: null })).status).toBe(200);
  const other = await service.project();
  for (const [at, id] of [
    [other.id, run],
    [project.id, newId()],
  ])
    expect((await service.request('POST', `/v2/projects/${at}/metrics-testing/${id}/health-score`, asked)).status).toBe(404);
  const unknown = { 'Service-API-Key': 'nobody' };
  const path = `/v2/projects/${project.id}/metrics-testing/${run}/health-score`;
  expect((await service.request('POST', path, asked, unknown)).status).toBe(401);
});

test('every column of the catalog of a run that tests a metric can be asked for, values or not', async () => {
  const metrics_testing_id = newId();
  await post('traces', { metrics_testing_id, traces: [{ name: 'a' }] });
  const catalog = await columns({
    name: 'X',
    metrics_testing_id,
    output_type: 'percentage',
    cot_enabled: true,
    required_scorers: ['nope'],
  });
  const metrics = [...catalog.values()].filter(({ id }) => id.startsWith('metrics/'));
  expect(metrics.map(({ id }) => id)).toEqual(
    expect.arrayContaining([
      ...['metrics/generated_scorer_validation', 'metrics/generated_scorer_validation_explanation', 'metrics/nope'],
    ]),
  );
  const values: Record<string, unknown> = { number: 1, boolean: true, text: 'x', collection: ['x'] };
  const operatorOf: Record<string, string> = { collection: 'contains' };
  for (const { id, filter_type, filterable } of metrics.filter((one) => one.filterable)) {
    const filters = [{ type: filter_type, column_id: id, operator: operatorOf[filter_type] ?? 'eq', value: values[filter_type] }];
    const answer = await post('traces/search', { metrics_testing_id, filters, sort: { column_id: id } });
    expect({ id, filterable, status: answer.status, rows: (answer.body as { num_rows?: number }).num_rows }).toEqual({
      ...{ id, filterable: true, status: 200, rows: 0 },
    });
  }
  const column_ids = [...catalog.keys()];
  const csv = await fetch(`${service.url}/projects/${project.id}/export_records`, {
    method: 'POST',
    headers: { 'Service-API-Key': service.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ metrics_testing_id, root_type: 'trace', export_format: 'csv', column_ids }),
  });
  expect((await csv.text()).split('\r\n')[0]).toBe(column_ids.join());
});
