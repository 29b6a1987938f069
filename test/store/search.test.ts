import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { StoredRecord } from '../../shared/records/record.ts';
import type { StandardError } from '../../shared/wire/common.ts';
import type { MetricResult } from '../../shared/wire/metricResults.ts';
import { startSearchService } from '../support/searchService.ts';

let service: Awaited<ReturnType<typeof startSearchService>>;
let traces: StoredRecord[];
let llm: StoredRecord;
let retriever: StoredRecord;
let session: StoredRecord;

beforeAll(async () => {
  service = await startSearchService();
  session = service.record({ type: 'session', name: 'chat', external_id: 'ext-1', created_at: '2026-03-01T11:00:00.000000Z' });
  traces = Array.from({ length: 5 }, (_, n) =>
    service.record({
      name: `trace ${n}`,
      session_id: session.id,
      created_at: `2026-03-01T12:00:0${n}.000001Z`,
      input: n === 0 ? 'x'.repeat(5000) : `question ${n}`,
      output: `answer ${n}`,
      tags: n % 2 === 0 ? ['even'] : [],
      trace_is_complete: n !== 4,
      metrics: { duration_ns: (n + 1) * 1_000_000_000, own: 'kept' },
    }),
  );
  const [first] = traces as [StoredRecord];
  const below = { trace_id: first.id, parent_id: first.id, session_id: session.id };
  llm = service.record({
    ...below,
    type: 'llm',
    name: 'call',
    model: 'gpt',
    temperature: 0.5,
    input: [{ role: 'user', content: 'say "hi"' }],
    output: { role: 'assistant', content: 'hi' },
    tools: [{ type: 'function' }],
    metrics: { num_input_tokens: 3 },
  });
  retriever = service.record({ ...below, type: 'retriever', input: 'q', output: [{ content: 'found', metadata: { page: 3 } }] });
  await service.store([session, ...traces, llm, retriever]);
  const score = { status_type: 'success', value: 0.25, explanation: 'mild', cost: 0.01 } as const;
  await service.score(first, 'toxicity', { ...score, metadata: { votes: 3 } }, 1);
  await service.score(traces[1] as StoredRecord, 'toxicity', { status_type: 'failed', message: 'the judge gave no number' }, 1);
});
afterAll(() => service[Symbol.asyncDispose]());

const names = (answer: { body: { records: { name: string }[] } }) => answer.body.records.map(({ name }) => name);

test('the specification’s body and the clients’ body ask the same question', async () => {
  const filter = { type: 'text', operator: 'contains', value: 'trace', case_sensitive: true };
  const specification = await service.post('traces/partial_search', {
    filters: [{ and: [{ ...filter, name: 'name' }, { not: { ...filter, name: 'name', value: '3' } }] }],
    pagination: { limit: 2, starting_token: 1 },
    limit: 77,
    starting_token: 40,
    sort: { name: 'name', ascending: true, sort_type: 'column' },
    select_columns: { column_ids: ['input'], include_all_metrics: true },
  });
  const clients = await service.post('traces/partial_search', {
    filters: [{ ...filter, column_id: 'name' }],
    filter_tree: { and: [{ not: { filter: { ...filter, column_id: 'name', value: '3' } } }] },
    limit: 2,
    starting_token: 1,
    previous_last_row_id: null,
    sort: { column_id: 'name', ascending: true, sort_type: 'column' },
    select_columns: { column_ids: ['input'], include_all_metrics: true, include_all_feedback: false },
  });
  expect(specification.status).toBe(200);
  expect(clients.body).toEqual(specification.body);
  expect(specification.body).toMatchObject({ num_rows: 4, starting_token: 1, limit: 2, paginated: true, next_starting_token: 3 });
  expect(names(specification)).toEqual(['trace 1', 'trace 2']);
  expect(specification.body.last_row_id).toBe((traces[2] as StoredRecord).id);
  expect(specification.body.records[0].metric_info).toEqual({
    toxicity: { status_type: 'failed', message: 'the judge gave no number' },
  });
});

test('a partial record has the selected columns and what the service adds, and nothing else', async () => {
  const { body } = await service.post('spans/partial_search', {
    filters: [{ type: 'id', name: 'id', value: llm.id }],
    select_columns: { column_ids: ['input', 'model', 'tool_call_id'] },
  });
  expect(body.records).toEqual([
    {
      id: llm.id,
      type: 'llm',
      name: 'call',
      created_at: '2026-03-01T12:00:00.000001Z',
      input: [{ role: 'user', content: 'say "hi"' }],
      model: 'gpt',
      is_complete: true,
      error_message: '',
      progress_message: '',
      ...{ tags: [], file_ids: [], file_modalities: [], annotation_queue_ids: [] },
      ...{ metrics: { num_input_tokens: 3 }, user_metadata: {}, dataset_metadata: {} },
      ...{ annotations: {}, annotation_aggregates: {}, annotation_agreement: {}, feedback_rating_info: {} },
    },
  ]);
});

test('a partial record says whether its trace is complete, and whether it has children when that is selected', async () => {
  const shown = async (column_ids: string[]) => {
    const { body } = await service.post('traces/partial_search', { select_columns: { column_ids } });
    return body.records.map((record: Record<string, unknown>) => [record.name, record.is_complete, record.has_children]);
  };
  const [newest, ...older] = await shown(['metrics/duration_ns']);
  expect(newest).toEqual(['trace 4', false, undefined]);
  expect(older.at(-1)).toEqual(['trace 0', true, undefined]);
  expect((await shown(['has_children'])).map(([, , hasChildren]: unknown[]) => hasChildren)).toEqual([
    false,
    false,
    false,
    false,
    true,
  ]);
});

test('a whole record comes back as it was logged, with its scores', async () => {
  const { body } = await service.post('traces/search', { include_code_metric_metadata: true, include_counts: true });
  expect(body.num_rows).toBe(5);
  expect(names({ body })).toEqual(['trace 4', 'trace 3', 'trace 2', 'trace 1', 'trace 0']);
  expect(body).toMatchObject({ paginated: false, next_starting_token: null, limit: 100, starting_token: 0 });
  const [newest, , , , oldest] = body.records;
  expect(newest).toMatchObject({ is_complete: false, has_children: false, num_spans: 0, metric_info: {} });
  expect(oldest).toMatchObject({
    ...{ type: 'trace', session_id: session.id, trace_id: traces[0]?.id, project_id: service.projectId, run_id: service.runId },
    ...{ input: 'x'.repeat(5000), output: 'answer 0', tags: ['even'], is_complete: true, has_children: true, num_spans: 2 },
    metrics: { duration_ns: 1_000_000_000, own: 'kept', toxicity: 0.25 },
    metric_info: {
      toxicity: { status_type: 'success', value: 0.25, explanation: 'mild', cost: 0.01, metadata: { votes: 3 } },
    },
  });
  const spans = await service.post('spans/search', { sort: { column_id: 'type' } });
  expect(spans.body.records.map(({ type }: { type: string }) => type)).toEqual(['llm', 'retriever']);
  expect(spans.body.records[0]).toMatchObject({ tools: [{ type: 'function' }], temperature: 0.5, parent_id: traces[0]?.id });
  expect(spans.body.records[1].output).toEqual([{ content: 'found', metadata: { page: 3 } }]);
});

test('scorer metadata and child counts are sent only when they are asked for, and long texts cut only then', async () => {
  const plain = await service.post('traces/search', { sort: { column_id: 'created_at' }, limit: 1, truncate_fields: true });
  const [record] = plain.body.records;
  expect(record.metric_info.toxicity.metadata).toBeUndefined();
  expect('num_spans' in record).toBe(false);
  expect(record.input).toBe(`${'x'.repeat(1000)}…`);
});

test('a session is found by its external id, the way the clients’ loggers look it up', async () => {
  const leaf = { type: 'text', operator: 'eq', value: 'ext-1' };
  for (const body of [
    { filters: [{ ...leaf, name: 'external_id', case_sensitive: null }], sort: null, filter_tree: null, pagination: null },
    { filters: [{ ...leaf, column_id: 'external_id' }], limit: 1 },
  ]) {
    const found = await service.post('sessions/search', { experiment_id: null, include_counts: true, ...body });
    expect(found.body.records).toMatchObject([{ id: session.id, type: 'session', num_traces: 5 }]);
  }
});

test('filters on what is derived, on scores and on numbers of the metrics', async () => {
  const found = async (leaf: object) => names(await service.post('traces/search', { filters: [leaf], sort: { name: 'name' } }));
  expect(await found({ type: 'boolean', name: 'is_complete', value: false })).toEqual(['trace 4']);
  expect(await found({ type: 'boolean', name: 'has_children', operator: 'ne', value: false })).toEqual(['trace 0']);
  expect(await found({ type: 'number', name: 'metrics/toxicity', operator: 'lt', value: 0.5 })).toEqual(['trace 0']);
  expect(await found({ type: 'number', name: 'metrics/duration_ns', operator: 'between', value: [2e9, 3e9] })).toEqual([
    'trace 1',
    'trace 2',
  ]);
  const durations = { type: 'number', name: 'metrics/duration_ns', operator: 'eq' };
  expect(await found({ ...durations, value: [2e9, 3e9, 2e9 + 1] })).toEqual(['trace 1', 'trace 2']);
  expect(await found({ ...durations, value: [] })).toEqual([]);
  expect(await found({ type: 'fully_annotated' })).toEqual([]);
  const sorted = await service.post('traces/search', { sort: { column_id: 'metrics/toxicity', ascending: true }, limit: 2 });
  expect(names(sorted)).toEqual(['trace 0', 'trace 4']);
});

test('a page of no records says how many there are, and has none behind it', async () => {
  for (const body of [
    { limit: 0 },
    { pagination: { limit: 0 } },
    { limit: 0, sort: { name: 'name' }, filters: [{ type: 'boolean', name: 'is_complete', value: true }] },
  ]) {
    const whole = await service.post('traces/search', { ...body, limit: 10, pagination: null });
    for (const route of ['search', 'partial_search']) {
      const { status, body: page } = await service.post(`traces/${route}`, body);
      expect(status).toBe(200);
      expect(page).toMatchObject({
        records: [],
        num_rows: whole.body.num_rows,
        limit: 0,
        paginated: false,
        next_starting_token: null,
      });
    }
  }
});

test('counts agree with searches', async () => {
  const body = { filters: [{ type: 'collection', name: 'tags', operator: 'contains', value: 'even' }] };
  expect((await service.post('traces/count', body)).body).toEqual({ total_count: 3 });
  expect((await service.post('spans/count')).body).toEqual({ total_count: 2 });
  expect((await service.post('sessions/count')).body).toEqual({ total_count: 1 });
});

test('a page behind a cursor and the last page end the paging', async () => {
  const first = await service.post('traces/search', { limit: 3 });
  const second = await service.post('traces/search', { limit: 3, previous_last_row_id: first.body.last_row_id });
  expect(names(second)).toEqual(['trace 1', 'trace 0']);
  expect(second.body).toMatchObject({ num_rows: 5, paginated: false, next_starting_token: null });
  const beyond = await service.post('traces/search', { starting_token: 50 });
  expect(beyond.body).toMatchObject({ records: [], num_rows: 5, paginated: false, next_starting_token: null, last_row_id: null });
});

const nested = (depth: number): object => (depth === 0 ? { type: 'fully_annotated' } : { not: nested(depth - 1) });

test.each([
  ['no run', { log_stream_id: null }, 422, /exactly one of log_stream_id/],
  ['two runs', { experiment_id: newId() }, 422, /exactly one of/],
  ['a run of elsewhere', { log_stream_id: newId() }, 404, /no log stream/],
  ['a run id that is none', { log_stream_id: 'x' }, 422, /UUID/i],
  [
    'an unknown column',
    { filters: [{ type: 'text', name: 'inptu', operator: 'eq', value: '' }] },
    422,
    /no column "inptu"; the closest is input"/,
  ],
  ['an unknown metric', { sort: { name: 'metrics/nope' } }, 422, /no column "metrics\/nope"/],
  ['an unknown selected column', { select_columns: { column_ids: ["a'b"] } }, 422, /no column "a'b"/],
  [
    'a leaf that does not fit',
    { filters: [{ type: 'text', name: 'created_at', operator: 'eq', value: '' }] },
    422,
    /created_at takes a filter of type date, not text/,
  ],
  ['an operator of another type', { filters: [{ type: 'text', name: 'input', operator: 'gt', value: '' }] }, 422, /eq/],
  ['an unknown type of leaf', { filters: [{ type: 'regex', name: 'input', operator: 'eq', value: '' }] }, 422, /./],
  ['a leaf without a column', { filters: [{ type: 'text', operator: 'eq', value: '' }] }, 422, /./],
  [
    'a date that is none',
    { filters: [{ type: 'date', name: 'created_at', operator: 'eq', value: '2026-02-30' }] },
    422,
    /ISO 8601/,
  ],
  [
    'between one number',
    { filters: [{ type: 'number', name: 'status_code', operator: 'between', value: [1] }] },
    422,
    /two numbers/,
  ],
  [
    'more than one of several numbers',
    { filters: [{ type: 'number', name: 'status_code', operator: 'gt', value: [1, 2] }] },
    422,
    /gt needs one number/,
  ],
  ['filters that are no list', { filters: { type: 'text' } }, 422, /array/],
  ['a filter that is a text', { filters: ['name = 1'] }, 422, /a filter is an object/],
  ['a tree too deep', { filter_tree: nested(40) }, 422, /at most 32 levels/],
  ['a tree beyond any stack', { filter_tree: nested(900) }, 422, /at most 32 levels/],
  ['too many leaves', { filters: Array.from({ length: 1001 }, () => nested(0)) }, 422, /at most 1000/],
  ['a column that has no order', { sort: { name: 'tags' } }, 422, /tags cannot be sorted/],
  ['a sort type of its own', { sort: { name: 'name', sort_type: 'random' } }, 422, /column/],
  ['fewer than no rows', { limit: -1 }, 422, /0/],
  ['a negative offset', { pagination: { starting_token: -1 } }, 422, /0/],
])('%s is refused with a message a person understands', async (_name, body, status, message) => {
  const answer = await service.post('traces/partial_search', body);
  expect(answer.status).toBe(status);
  expect(JSON.stringify(answer.body)).toMatch(new RegExp(message.source.replaceAll('"', '\\\\*"'), message.flags));
});

test('the catalog lists the specification’s columns, to the letter', async () => {
  const { body } = await service.post('sessions/available_columns');
  const standard = body.columns.filter(({ category }: { category: string }) => category === 'standard');
  expect(standard.map(({ id }: { id: string }) => id)).toEqual(
    'input output name created_at tags status_code external_id dataset_input dataset_output id session_id project_id run_id updated_at has_children progress_message error_message is_complete type trace_id parent_id step_number agent_type agent_name tools model temperature finish_reason tool_call_id control_id check_stage applies_to evaluator_name selector_path'.split(
      ' ',
    ),
  );
  const byId = new Map(body.columns.map((column: { id: string }) => [column.id, column]));
  const noSession = ['llm', 'agent', 'workflow', 'trace', 'control', 'retriever', 'tool'];
  expect(byId.get('tags')).toEqual({
    ...{ id: 'tags', label: 'Tags', description: expect.any(String), category: 'standard', group_label: 'Standard' },
    ...{ data_type: 'string_list', filter_type: 'collection', filterable: true, sortable: false, multi_valued: true },
    ...{ is_empty: false, is_optional: false, applicable_types: noSession },
  });
  expect(byId.get('check_stage')).toMatchObject({
    is_optional: true,
    applicable_types: ['control'],
    allowed_values: ['post', 'pre'],
  });
  // Clients that know these two alone read the list.
  expect(byId.get('applies_to')).toMatchObject({ allowed_values: ['tool_call', 'llm_call'] });
  expect(byId.get('metrics/toxicity')).toEqual({
    ...{
      id: 'metrics/toxicity',
      label: 'Toxicity',
      description: expect.any(String),
      category: 'metric',
      group_label: 'Safety Metrics',
    },
    ...{ data_type: 'floating_point', data_unit: 'percentage', filter_type: 'number', filterable: true, sortable: true },
    ...{ multi_valued: false, is_empty: false, is_optional: false, applicable_types: [], roll_up_method: 'average' },
    ...{ direction: 'lower', range: { min: 0, max: 1 } },
    threshold: {
      inverted: true,
      buckets: [expect.any(Number), expect.any(Number)],
      display_value_levels: ['Low', 'Medium', 'High'],
    },
  });
  for (const route of ['traces', 'spans']) expect((await service.post(`${route}/available_columns`)).body).toEqual(body);
});

test('a metric shows the state of its scoring: one object for each, with what that state says', async () => {
  const record = service.record({ type: 'agent', name: 'states', parent_id: (traces[0] as StoredRecord).id, trace_id: newId() });
  await service.store([record]);
  const standard_error: StandardError = {
    ...{ error_code: 1, error_type: 'llm_api_error', error_group: 'scorers', severity: 'medium', message: 'no key' },
    ...{ retriable: true, blocking: false },
  };
  const results: Record<string, MetricResult> = {
    asked_never: { status_type: 'not_computed', message: 'nobody asked' },
    queued: { status_type: 'pending', metric_key_alias: 'old name' },
    running: { status_type: 'computing', message: 'runs', scorer_type: 'Plus' },
    unfit: { status_type: 'not_applicable', message: 'no output', ems_error_code: 7 },
    number: {
      ...{ status_type: 'success', value: 0.75, explanation: 'because', cost: 0.01, model_alias: 'm', num_judges: 3 },
      ...{ multijudge_average: 0.7, input_tokens: 1, output_tokens: 2, total_tokens: 3, display_value: '75 %', rationale: 'r' },
    },
    yes: { status_type: 'success', value: true, explanation: null },
    nothing: { status_type: 'success', value: null, explanation: null },
    chunks: { status_type: 'success', value: [true, false, null], explanation: null },
    segments: { status_type: 'success', value: [{ start: 0, end: 2, value: 'ok', prob: 0.5 }], explanation: null },
    broken: { status_type: 'error', message: 'x', standard_error },
    gave_up: { status_type: 'failed', message: 'y', ems_error_code: 3, standard_error },
    summed: { status_type: 'roll_up', value: 2.5, explanation: null, roll_up_metrics: { sum: 5, average: 2.5 } },
    counted: { status_type: 'roll_up', value: null, explanation: null, roll_up_metrics: { tones: { calm: 2 } } },
  };
  for (const [metric, result] of Object.entries(results)) await service.score(record, metric, result, 1);
  const filters = [{ type: 'id', column_id: 'id', value: record.id }];
  const [found] = (await service.post('spans/search', { filters })).body.records;
  expect(found.metric_info).toEqual(results);
  // A state without a value gives no entry among the values, and matches no filter.
  const values = Object.entries(results).flatMap(([name, result]) => ('value' in result ? [[name, result.value]] : []));
  expect(found.metrics).toEqual(Object.fromEntries(values));
  const number = (name: string) => [{ type: 'number', column_id: `metrics/${name}`, operator: 'gte', value: 0 }];
  expect((await service.post('spans/count', { filters: number('number') })).body).toEqual({ total_count: 1 });
  expect((await service.post('spans/count', { filters: number('broken') })).status).toBe(422);
  const columns = (await service.post('spans/available_columns')).body.columns.map(({ id }: { id: string }) => id);
  expect(columns).toEqual(expect.arrayContaining(['metrics/number', 'metrics/yes', 'metrics/summed']));
  expect(columns).not.toContain('metrics/queued');

  const named = { select_columns: { column_ids: ['metrics/number', 'metrics/queued'], metric_columns_names: ['gave_up'] } };
  const [partial] = (await service.post('spans/partial_search', { filters, ...named })).body.records;
  expect(Object.keys(partial.metric_info).sort()).toEqual(['gave_up', 'number', 'queued']);
});

test('null beside a combinator is absent, and every field of a record can be selected', async () => {
  const leaf = { type: 'text', column_id: 'name', operator: 'eq', value: 'trace 1' };
  const filter_tree = { filter: leaf, and: null, or: null, not: null };
  expect(names(await service.post('traces/search', { filter_tree }))).toEqual(['trace 1']);
  const column_ids = ['id', 'metrics', 'file_ids', 'redacted_input', 'events', 'previous_session_id', 'num_spans'];
  const answer = await service.post('traces/partial_search', { filter_tree, select_columns: { column_ids } });
  expect(answer.status).toBe(200);
  expect(answer.body.records[0]).toHaveProperty('redacted_input');
  expect((await service.post('traces/partial_search', { select_columns: { column_ids: ['nosuch'] } })).status).toBe(422);
});

test('null beside the other name of a column is absent', async () => {
  const filters = [{ type: 'text', name: 'name', column_id: null, operator: 'eq', value: 'trace 1' }];
  const answer = await service.post('traces/search', { filters, sort: { name: 'name', column_id: null } });
  expect(answer.status).toBe(200);
  expect(names(answer)).toEqual(['trace 1']);
});

test.each([{}, { sort: { name: 'name', ascending: true } }])(
  'a client that pages by the cursor alone is told the end: %j',
  async (order) => {
    const found: string[] = [];
    const tokens: (number | null)[] = [];
    for (let after: string | null = null; found.length < 10; ) {
      const { body } = await service.post('traces/search', {
        limit: 2,
        ...order,
        ...(after ? { previous_last_row_id: after } : {}),
      });
      found.push(...body.records.map(({ name }: { name: string }) => name));
      tokens.push(body.next_starting_token);
      expect(body.paginated).toBe(body.next_starting_token !== null);
      if (body.next_starting_token === null) break;
      const byToken = await service.post('traces/search', { limit: 2, ...order, starting_token: body.next_starting_token });
      after = body.last_row_id;
      const byCursor = await service.post('traces/search', { limit: 2, ...order, previous_last_row_id: after });
      expect(names(byToken)).toEqual(names(byCursor));
    }
    expect([...found].sort()).toEqual(traces.map(({ name }) => name));
    expect(tokens).toEqual([2, 4, null]);
  },
);

test('the place of what is wrong with a filter is told below "not", too', async () => {
  const leaf = { type: 'text', column_id: 'name', operator: 'bogus', value: 'x' };
  const answer = await service.post('traces/search', { filter_tree: { not: { filter: leaf } } });
  expect(answer.status).toBe(422);
  expect(answer.body.detail[0].loc).toEqual(['body', 'filter_tree', 'not', 'filter', 'operator']);
  const bare = await service.post('traces/search', { filters: [leaf], filter_tree: { and: [leaf] } });
  expect(bare.body.detail.map(({ loc }: { loc: unknown }) => loc)).toEqual([
    ['body', 'filters', 0, 'operator'],
    ['body', 'filter_tree', 'and', 0, 'operator'],
  ]);
});
