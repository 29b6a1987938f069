import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resultsText } from '../../cli/output/resultsText.ts';
import { withAggregates } from '../../client/experimentAggregates.ts';
import type { ColumnDef } from '../../shared/columns/columnDef.ts';
import { type ComparedMetric, namedMetrics } from '../../shared/comparison/comparedMetrics.ts';
import { experimentColumns } from '../../shared/experiments/columns.ts';
import { metricNames } from '../../shared/experiments/metricNames.ts';
import { withMetricKeys } from '../../shared/experiments/metricQuery.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { selectedMetrics, undefinedMetric } from '../../shared/records/columnCatalog.ts';
import { columnFinder } from '../../shared/records/findColumn.ts';
import type { RecordRun } from '../../shared/records/searchRecords.ts';
import { builtinByName } from '../../shared/scorers/presets.ts';
import { readParquet } from '../support/readParquet.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

let service: TestService;
let project: TestProject;
beforeAll(async () => {
  service = await sharedTestService();
  project = await service.project();
});
afterAll(() => service[Symbol.asyncDispose]());

// biome-ignore lint/suspicious/noExplicitAny: replies of every shape; a wrong guess fails the test
type Json = any;

async function stream() {
  const { body } = await service.request('POST', `/projects/${project.id}/log_streams`, { name: `stream ${newId()}` });
  const log_stream_id = (body as { id: string }).id;
  const post = async (path: string, json: object) =>
    (await service.request('POST', `/v2/projects/${project.id}/${path}`, { log_stream_id, ...json })) as {
      status: number;
      body: Json;
    };
  return { log_stream_id, post };
}
/** The rows of a Parquet export. */
async function cells(asked: object): Promise<unknown[][]> {
  const answer = await fetch(`${service.url}/v2/projects/${project.id}/export_records`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'Service-API-Key': service.apiKey },
    body: JSON.stringify({ export_format: 'parquet', ...asked }),
  });
  return (await readParquet(Buffer.from(await answer.arrayBuffer()))).rows;
}
const range = { start_time: '2026-03-01T12:00:00Z', end_time: '2026-03-01T12:10:00Z' };
const created_at = '2026-03-01T12:01:00Z';
const times = ['2026-03-01T12:00:00.000000Z', '2026-03-01T12:05:00.000000Z', '2026-03-01T12:10:00.000000Z'];

test('a metric that is called like a key of the reply stands under the id of its column and takes no place', async () => {
  const { post } = await stream();
  const names = ['start_bucket_time', 'end_bucket_time', 'requests_count', 'session_count', 'span_count'];
  const metrics = Object.fromEntries(names.map((name, n) => [name, 70 + n]));
  const spans = [{ type: 'llm', input: [], created_at }];
  expect((await post('traces', { traces: [{ created_at, input: 'q', metrics, spans }] })).status).toBe(200);

  const moved = Object.fromEntries(names.map((name, n) => [`metrics/${name}`, 70 + n]));
  const { body } = await post('metrics/search/v2', range);
  const counts = { requests_count: 1, session_count: 0, span_count: 1 };
  const sums = { num_spans_without_cost: 1 };
  expect(body.aggregate_metrics).toEqual({ ...counts, ...moved, ...sums });
  expect(body.bucketed_metrics.all).toEqual([
    { start_bucket_time: times[0], end_bucket_time: times[1], ...counts, ...moved, ...sums },
    { start_bucket_time: times[1], end_bucket_time: times[2], requests_count: 0, session_count: 0, span_count: 0 },
  ]);
  const first = await post('metrics/search', range);
  expect(first.body.aggregate_metrics).toEqual({ ...moved, ...sums });
  expect(first.body.bucketed_metrics.all[0]).toEqual({
    start_bucket_time: times[0],
    end_bucket_time: times[1],
    ...moved,
    ...sums,
  });
  // They are columns like any other.
  const filters = [{ type: 'number', column_id: 'metrics/requests_count', operator: 'eq', value: 72 }];
  expect((await post('traces/count', { filters })).body).toEqual({ total_count: 1 });
});

test('the ids of chosen figures are one each and none of the times of a bucket; any other text is a key', async () => {
  const { post } = await stream();
  await post('traces', { traces: [{ created_at, input: 'q', metrics: { score: 0.5 } }] });
  const ask = (...ids: string[]) =>
    post('metrics/custom_search', {
      ...range,
      interval_minutes: 10,
      metric_details: ids.map((id) => ({ id, metric_name: 'score', aggregation: 'Sum' })),
    });
  for (const [ids, at] of [
    [['a', 'start_bucket_time'], 1],
    [['end_bucket_time'], 0],
    [['a', 'b', 'a'], 2],
    [['__proto__', '__proto__'], 1],
  ] as const)
    expect(await ask(...ids)).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'metric_details', at, 'id'] }] } });

  const { status, body } = await ask('__proto__', 'constructor', 'requests_count', '');
  expect(status).toBe(200);
  const figures = [['__proto__', 0.5] as const, ...['constructor', 'requests_count', ''].map((id) => [id, 0.5] as const)];
  expect(Object.entries(body.aggregate_metrics)).toEqual(expect.arrayContaining(figures.map((one) => [...one])));
  expect(Object.entries(body.bucketed_metrics.all[0])).toHaveLength(2 + figures.length);
});

test('a group that is called __proto__ is a group', async () => {
  const { post } = await stream();
  await post('traces', {
    traces: ['__proto__', 'constructor'].map((name) => ({ created_at, input: 'q', name, metrics: { score: 0.5 } })),
  });
  const { body } = await post('metrics/search/v2', { ...range, group_by: 'name' });
  const groups = Object.entries<Json>(body.bucketed_metrics);
  expect(groups.map(([group]) => group).sort()).toEqual(['__proto__', 'constructor']);
  for (const [, buckets] of groups) expect(buckets[0]).toMatchObject({ requests_count: 1, score: 0.5 });
});

test('a cost that is logged counts once', async () => {
  const { post } = await stream();
  const spans = [1, 2].map((n) => ({ type: 'llm', input: [], created_at, metrics: { cost: n / 2, num_input_tokens: n } }));
  await post('traces', { traces: [{ created_at, input: 'q', spans }] });
  const { body } = await post('metrics/search', range);
  expect(body.aggregate_metrics).toMatchObject({ cost: 1.5, num_input_tokens: 3 });
});

test('a metric of which only booleans were logged is a boolean; with a number among them it is a number', async () => {
  const { post } = await stream();
  const log = (metrics: object) => post('traces', { traces: [{ created_at, input: 'q', metrics }] });
  await log({ flag: true, mixed: true, score: 1 });
  await log({ flag: false, mixed: 0.5, score: 0 });
  await log({ flag: true });
  const typeOf = async (name: string) => {
    const { body } = await post('traces/available_columns', {});
    const column = body.columns.find(({ id }: Json) => id === `metrics/${name}`);
    return [column.data_type, column.filter_type];
  };
  expect(await typeOf('flag')).toEqual(['boolean', 'boolean']);
  for (const name of ['mixed', 'score']) expect(await typeOf(name)).toEqual(['floating_point', 'number']);

  const leaf = { type: 'boolean', operator: 'eq', value: true };
  for (const dialect of [{ name: 'metrics/flag' }, { column_id: 'metrics/flag' }])
    expect((await post('traces/count', { filters: [{ ...leaf, ...dialect }] })).body).toEqual({ total_count: 2 });
  const others = { filter_tree: { filter: { ...leaf, column_id: 'metrics/flag', operator: 'ne' } } };
  expect((await post('traces/count', others)).body).toEqual({ total_count: 1 });
  const number = { type: 'number', column_id: 'metrics/mixed', operator: 'gte', value: 0.5 };
  expect((await post('traces/count', { filters: [number] })).body).toEqual({ total_count: 2 });
  expect((await post('traces/count', { filters: [{ ...leaf, column_id: 'metrics/score' }] })).status).toBe(422);
});

test('a metric of booleans that holds the share that is true can be filtered as a number, and is a number in a Parquet file', async () => {
  const { post, log_stream_id } = await stream();
  const values = [true, false, 0.5];
  await post('traces', { traces: values.map((json_validity) => ({ created_at, input: 'q', metrics: { json_validity } })) });
  const column_id = 'metrics/json_validity';
  const count = async (leaf: object) =>
    (await post('traces/count', { filters: [{ column_id, ...leaf }] })).body as { total_count: number };
  expect(await count({ type: 'boolean', operator: 'eq', value: true })).toEqual({ total_count: 1 });
  expect(await count({ type: 'boolean', operator: 'eq', value: false })).toEqual({ total_count: 1 });
  expect(await count({ type: 'number', operator: 'gte', value: 0.5 })).toEqual({ total_count: 2 });
  const rows = await cells({ log_stream_id, root_type: 'trace', column_ids: [column_id] });
  expect(rows.flat().sort()).toEqual([0, 0.5, 1]);
});

test('a metric of booleans stays one in the Parquet file of the records that hold no share', async () => {
  const { post, log_stream_id } = await stream();
  const spans = [{ type: 'llm', input: [], created_at, metrics: { json_validity: true } }];
  await post('traces', { traces: [{ created_at, input: 'q', metrics: { json_validity: 0.5 }, spans }] });
  expect(await cells({ log_stream_id, root_type: 'span', column_ids: ['metrics/json_validity'] })).toEqual([[true]]);
});

test('the metric of a scorer is filtered and sorted by under its name as well as its id', async () => {
  const { post, log_stream_id: run } = await stream();
  const name = `politeness ${newId()}`;
  const { body: scorer } = (await service.request('POST', '/scorers', { name, scorer_type: 'llm' })) as { body: Json };
  await service.request('POST', `/scorers/${scorer.id}/version/llm`, { user_prompt: 'Is {{output}} polite?' });
  const scorers = [{ id: scorer.id, scorer_type: 'llm' }];
  await service.request('POST', `/projects/${project.id}/runs/${run}/scorer-settings`, { run_id: run, scorers });
  const traces = [true, false, true].map((value) => ({ created_at, input: String(value), metrics: { [scorer.id]: value } }));
  expect((await post('traces', { traces })).status).toBe(200);
  for (const column_id of [`metrics/${name}`, `metrics/${scorer.id}`]) {
    const filters = [{ type: 'boolean', column_id, operator: 'eq', value: true }];
    expect((await post('traces/count', { filters })).body, column_id).toEqual({ total_count: 2 });
    const sort = { column_id, ascending: true };
    const { body } = await post('traces/search', { sort });
    expect(body.records?.[0]?.input, column_id).toBe('false');
  }
});

test('the metric of a scorer is selected, exported and summed up under its name as well as its id', async () => {
  const { post, log_stream_id: run } = await stream();
  const scorer = async (name: string) => {
    const { body } = (await service.request('POST', '/scorers', { name, scorer_type: 'llm' })) as { body: Json };
    await service.request('POST', `/scorers/${body.id}/version/llm`, { user_prompt: 'Is {{output}} polite?' });
    return body.id as string;
  };
  const [name, other] = [`politeness ${newId()}`, `other ${newId()}`];
  const [id, second] = [await scorer(name), await scorer(other)];
  const scorers = [id, second].map((one) => ({ id: one, scorer_type: 'llm' }));
  await service.request('POST', `/projects/${project.id}/runs/${run}/scorer-settings`, { run_id: run, scorers });
  const traces = [{ created_at, input: 'q', metrics: { [id]: true, [second]: false } }];
  expect((await post('traces', { traces })).status).toBe(200);

  const { body: catalog } = await post('traces/available_columns', {});
  const listed = catalog.columns.find((one: Json) => one.id === `metrics/${id}`);
  expect(listed).toMatchObject({ label: name, metric_key_alias: name, scorer_id: id });
  const valuesOf = async (select_columns: object) => {
    const { status, body } = await post('traces/partial_search', {
      select_columns: { include_all_metrics: false, ...select_columns },
    });
    return status === 200
      ? Object.entries(body.records[0].metric_info).map(([key, { value }]: [string, Json]) => [key, value])
      : body.detail;
  };
  for (const column of [name, id]) {
    expect(await valuesOf({ column_ids: ['id', `metrics/${column}`] }), column).toEqual([[id, true]]);
    expect(await valuesOf({ metric_columns_names: [column] }), column).toEqual([[id, true]]);
  }
  const file = async (asked: object) => {
    const answer = await fetch(`${service.url}/v2/projects/${project.id}/export_records`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'Service-API-Key': service.apiKey },
      body: JSON.stringify({ log_stream_id: run, root_type: 'trace', export_format: 'csv', ...asked }),
    });
    return (await answer.text()).trim().split(/\r?\n/);
  };
  const column_ids = ['input', `metrics/${name}`, `metrics/${id}`, `metrics/${other}`];
  expect(await file({ column_ids })).toEqual([column_ids.join(), 'q,true,true,false']);
  expect((await file({}))[0]?.split(',')).toContain(`metrics/${id}`);
  expect(await cells({ log_stream_id: run, root_type: 'trace', column_ids })).toEqual([['q', true, true, false]]);
  const figure = (metric_name: string) =>
    post('metrics/custom_search', {
      ...range,
      interval_minutes: 5,
      metric_details: [{ id: 'share', metric_name, aggregation: 'Average' }],
    });
  for (const metric of [name, id, `metrics/${name}`]) expect((await figure(metric)).body.aggregate_metrics).toEqual({ share: 1 });
});

test('a name that scorers of two metrics have is an error that says their ids, which still do', async () => {
  const column = (id: string): ColumnDef => ({
    ...undefinedMetric({ metric: id, dataType: 'boolean' }),
    metricKeyAlias: 'polite',
  });
  const [first, second] = [newId(), newId()];
  const two = [column(first), column(second)];
  const ids = new RegExp(`"(metrics/)?polite" names several metrics: take one of (metrics/)?${first}, (metrics/)?${second}`);
  const find = columnFinder(two);
  expect(() => find('metrics/polite')).toThrow(ids);
  expect(find(`metrics/${second}`)).toBe(two[1]);
  const definitions = { builtIn: [], ofRun: async () => two };
  const run = { kind: 'experiment', projectId: newId(), runId: newId() } as RecordRun;
  await expect(selectedMetrics(definitions, [run], ['polite'])).rejects.toThrow(ids);
  expect(await selectedMetrics(definitions, [run], [first, 'quality'])).toEqual([first, 'quality']);
  // A metric that has the name itself is the one that is meant.
  const logged = undefinedMetric({ metric: 'polite', dataType: 'boolean' });
  expect(columnFinder([...two, logged])('metrics/polite')).toBe(logged);

  const compared = [first, second].map((id) => ({ id, name: 'polite' }) as ComparedMetric);
  expect(() => namedMetrics(compared, ['polite'])).toThrow(ids);
  expect(namedMetrics(compared, [second])).toEqual([compared[1]]);
  const builtin = { id: 'exact_match', name: 'exact_match' } as ComparedMetric;
  const byScorer = builtinByName('exact_match')?.scorerId as string;
  expect(namedMetrics([...compared, builtin], [byScorer, `metrics/${byScorer}`])).toEqual([builtin]);
  const filter = { name: 'metrics/polite', operator: 'gt', value: 0.5 } as const;
  const listed = async () => experimentColumns(two, []);
  await expect(withMetricKeys({ filters: [filter], sort: null }, listed)).rejects.toThrow(ids);
});

test('the column of a metric that the run’s settings name says how the run uses it', async () => {
  const { post, log_stream_id: run } = await stream();
  const id = builtinByName('exact_match')?.scorerId;
  const scorers = [{ id, scorer_type: 'preset', scoreable_node_types: ['llm'] }];
  const settings = await service.request('POST', `/projects/${project.id}/runs/${run}/scorer-settings`, { run_id: run, scorers });
  expect(settings.status).toBe(200);
  const { body } = await post('traces/available_columns', {});
  const column = (name: string) => body.columns.find((one: Json) => one.id === `metrics/${name}`);
  expect(column('exact_match').scorer_config).toMatchObject({ id, scorer_type: 'preset', scoreable_node_types: ['llm'] });
  expect(column('toxicity')).not.toHaveProperty('scorer_config');
});

describe('an experiment', () => {
  const anyProgress = {
    rows_done: 3,
    rows_total: 3,
    rows_failed: 0,
    started_at: null,
    ended_at: null,
    error: null,
    usage: { run: {}, judges: {} },
  };
  const builtin = builtinByName('exact_match')?.scorerId as string;
  const madeScorer = async (name: string, prompt: string) => {
    const { body } = (await service.request('POST', '/scorers', {
      name,
      scorer_type: 'llm',
      defaults: { output_type: 'boolean' },
    })) as { body: Json };
    await service.request('POST', `/scorers/${body.id}/version/llm`, { user_prompt: prompt });
    return body.id as string;
  };
  const filled = async (ids: readonly string[], metrics: readonly object[]) => {
    const at = `/v2/projects/${project.id}/experiments`;
    const { body } = (await service.request('POST', at, {
      name: `experiment ${newId()}`,
      scorers: ids.map((id) => ({ id, scorer_type: id === builtin ? 'preset' : 'llm' })),
    })) as { body: Json };
    const traces = metrics.map((one) => ({ created_at, input: 'q', output: 'a', metrics: one }));
    const logged = await service.request('POST', `/v2/projects/${project.id}/traces`, { experiment_id: body.id, traces });
    expect(logged.status).toBe(200);
    const now = async () => (await service.request('GET', `${at}/${body.id}`)).body as Json;
    await expect.poll(async () => (await now()).structured_aggregate_metrics?.duration_ns).toBeTruthy();
    return now();
  };

  test('has the figures of its metrics by name and by scorer, and under the names that clients of the interface read', async () => {
    const name = `is/right ü ${newId()}`;
    const own = await madeScorer(name, 'Is {{output}} right?');
    const second = 1e9;
    const shown = await filled(
      [own, builtin],
      [
        { [own]: true, exact_match: false, duration_ns: second, cost: 0.25 },
        { [own]: true, exact_match: true, duration_ns: 3 * second },
        { [own]: false, exact_match: true, duration_ns: 2 * second },
      ],
    );
    expect(shown.aggregate_metrics).toMatchObject({
      ...{ exact_match: 2 / 3, average_exact_match: 2 / 3, count_exact_match: 3 },
      ...{ [own]: 2 / 3, [name]: 2 / 3, [`average_${name}`]: 2 / 3, [`count_${name}`]: 3 },
      ...{ average_cost: 0.25, count_cost: 1, average_latency: 2_000, total_responses: 3 },
    });
    const counted = { count: 3, pct: 2 / 3 };
    expect(shown.structured_aggregate_metrics).toMatchObject({
      [name]: { ...counted, value_distribution: { true: 2, false: 1 } },
      [own]: { ...counted, value_distribution: { 0: 1, 1: 2 } },
      exact_match: { ...counted, value_distribution: { true: 2, false: 1 } },
      [builtin]: { ...counted, value_distribution: { 0: 1, 1: 2 } },
    });
    expect(shown.structured_aggregate_metrics[own].value_distribution).toEqual({ 0: 1, 1: 2 });
    expect(shown.aggregate_metric_counts[name]).toEqual(shown.aggregate_metric_counts[own]);
    expect(shown.metric_scorer_ids).toEqual({ [name]: own, exact_match: builtin });

    const { aggregates } = withAggregates(shown);
    expect(aggregates[name]).toMatchObject({ figure: 2 / 3, counts: { values: 3 } });
    expect(aggregates[own]).toBe(aggregates[name]);
    expect(Object.keys(aggregates).sort()).toEqual(['cost', 'duration_ns', 'exact_match', name].sort());
    const table = resultsText(shown, { ...anyProgress, state: 'completed' } as never, 200);
    expect(table).toContain(name);
    expect(table).not.toContain(own);

    const columns = ((await service.request('POST', `/v2/projects/${project.id}/experiments/available_columns`)).body as Json)
      .columns as Json[];
    const column = (id: string) => columns.find((one) => one.id === `metrics/${id}`);
    expect(column(own)).toMatchObject({ metric_key_alias: name });
    expect(column(builtin)).toMatchObject({ metric_key_alias: 'exact_match', label: column('exact_match').label });
    for (const key of [own, name, builtin, 'exact_match']) {
      const { body } = (await service.request('POST', `/v2/projects/${project.id}/experiments/search`, {
        filters: [
          { name: `metrics/${key}`, operator: 'gt', value: 0.6 },
          { name: 'id', operator: 'eq', value: shown.id },
        ],
        sort: { name: `metrics/${key}` },
      })) as Json;
      expect(
        body.experiments?.map(({ id }: Json) => id),
        key,
      ).toEqual([shown.id]);
    }
  });

  test('keeps the id of a scorer whose name is that of another metric; a renamed or deleted scorer has its name', async () => {
    const [named, renamed] = ['exact_match', `before ${newId()}`];
    const first = await madeScorer(`${named} ${newId()}`, 'Is {{output}} right?');
    const second = await madeScorer(renamed, 'Is {{output}} polite?');
    const shown = await filled([first, second], [{ [first]: true, [second]: false, duration_ns: 1 }]);
    const newName = `after ${newId()}`;
    await service.request('PATCH', `/scorers/${second}`, { name: newName });
    expect((await service.request('DELETE', `/scorers/${first}`)).status).toBe(200);
    const now = (await service.request('GET', `/v2/projects/${project.id}/experiments/${shown.id}`)).body as Json as Json;
    expect(now.metric_scorer_ids[newName]).toBe(second);
    expect(now.aggregate_metrics).toMatchObject({ [first]: 1, [newName]: 0, [`average_${newName}`]: 0 });

    const deleted = Object.entries(now.metric_scorer_ids).find(([, id]) => id === first)?.[0] as string;
    const traces = (await service.request('POST', `/v2/projects/${project.id}/traces/search`, {
      experiment_id: shown.id,
      filters: [{ type: 'boolean', column_id: `metrics/${deleted}`, operator: 'eq', value: true }],
    })) as Json;
    expect([traces.status, traces.body.num_rows]).toEqual([200, 1]);
    const two = [
      { aggregates: { metrics: { [first]: {}, exact_match: {}, [second]: {} }, rolledUp: {} } },
      { aggregates: { metrics: { [second]: {} }, rolledUp: {} } },
    ] as never;
    const same = async (ids: readonly string[]) => ids.map((id) => ({ id, name: id === first ? 'exact_match' : 'polite' }));
    expect(await metricNames(same, two)).toEqual([
      [
        { name: 'exact_match', scorerId: builtin },
        { name: 'polite', scorerId: second },
      ],
      [{ name: 'polite', scorerId: second }],
    ]);
    const polite = async (ids: readonly string[]) => ids.map((id) => ({ id, name: 'polite' }));
    expect(await metricNames(polite, two)).toEqual([
      [{ name: 'exact_match', scorerId: builtin }],
      [{ name: 'polite', scorerId: second }],
    ]);
  });
});

test('figures over time are under the name of a scorer as well as under its id', async () => {
  const { post, log_stream_id: run } = await stream();
  const name = `kind ${newId()}`;
  const { body: scorer } = (await service.request('POST', '/scorers', { name, scorer_type: 'llm' })) as { body: Json };
  await service.request('POST', `/scorers/${scorer.id}/version/llm`, { user_prompt: 'Is {{output}} kind?' });
  await post('traces', { traces: [{ created_at, input: 'q', metrics: { [scorer.id]: true } }] });
  // Also of a scorer that the run does not compute.
  const { body } = await post('metrics/search/v2', range);
  expect(body.aggregate_metrics).toMatchObject({ [scorer.id]: 1, [name]: 1 });
  expect(body.bucketed_metrics.all[0]).toMatchObject({ [scorer.id]: 1, [name]: 1 });
  expect(run).toBeTruthy();
});
