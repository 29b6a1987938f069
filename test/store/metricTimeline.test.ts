import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StoredRecord } from '../../shared/records/record.ts';
import { startSearchService } from '../support/searchService.ts';

let service: Awaited<ReturnType<typeof startSearchService>>;
const at = (minute: number) => `2026-03-01T12:${String(minute).padStart(2, '0')}:00.000500Z`;
/** Twenty minutes in buckets of five, from a start that is off the clock's round minutes. */
const range = { start_time: '2026-03-01T12:00:00.000250Z', end_time: '2026-03-01T12:20:00.000250Z' };
const SECOND = 1_000_000_000;

beforeAll(async () => {
  service = await startSearchService();
  const session = service.record({ type: 'session', created_at: at(0) });
  const durations = [1, 2, 3, 10, 40];
  const traces = durations.map((seconds, n) =>
    service.record({
      ...{ created_at: at([0, 1, 2, 6, 19][n] as number), session_id: session.id, name: n < 3 ? 'ask' : 'tell' },
      metrics: { duration_ns: seconds * SECOND, num_output_tokens: 100 },
      user_metadata: n === 0 ? {} : { plan: n % 2 === 0 ? 'free' : 'paid' },
    }),
  );
  const calls = traces.map((trace, n) =>
    service.record({
      ...{ type: 'llm', trace_id: trace.id, parent_id: trace.id, session_id: session.id, created_at: trace.created_at },
      metrics: { duration_ns: SECOND / 2, num_output_tokens: 10 * (n + 1), cost: 0.5 },
    }),
  );
  const outside = service.record({ created_at: '2026-03-01T12:20:00.000250Z', metrics: { duration_ns: 99 * SECOND } });
  const old = { ...(traces[0] as StoredRecord), version: 0, metrics: { duration_ns: 77 * SECOND } };
  await service.store([old]);
  await service.store([session, ...traces, ...calls, outside]);
  const success = (value: unknown) => ({ status_type: 'success', value }) as never;
  for (const [n, trace] of traces.entries()) {
    await service.score(trace, 'toxicity', success(0.9), 1);
    await service.score(trace, 'toxicity', success(n / 10), 2);
    await service.score(trace, 'polite', success(n % 2 === 0), 1);
    await service.score(trace, 'tone', success(n < 4 ? 'calm' : 'angry'), 1);
  }
  await service.score(calls[0] as StoredRecord, 'labels', success(['a', 'b']), 1);
  await service.score(outside, 'toxicity', success(1), 1);
});
afterAll(() => service[Symbol.asyncDispose]());

test('every metric by its roll-up, over the range and in each bucket', async () => {
  const { status, body } = await service.post('metrics/search', { ...range, filters: [] });
  expect(status).toBe(200);
  expect(body).toMatchObject({ group_by_columns: [], ems_captured_error: false, standard_errors: null });
  expect(body.aggregate_metrics).toEqual({
    duration_ns: 11.2 * SECOND,
    num_output_tokens: 150,
    cost: 2.5,
    toxicity: expect.closeTo(0.2),
    polite: 0.6,
    tone: { calm: 4, angry: 1 },
    labels: { a: 1, b: 1 },
  });
  const buckets = body.bucketed_metrics.all;
  expect(buckets.map((one: Record<string, unknown>) => [one.start_bucket_time, one.end_bucket_time, one.duration_ns])).toEqual([
    ['2026-03-01T12:00:00.000250Z', '2026-03-01T12:05:00.000250Z', 2 * SECOND],
    ['2026-03-01T12:05:00.000250Z', '2026-03-01T12:10:00.000250Z', 10 * SECOND],
    ['2026-03-01T12:10:00.000250Z', '2026-03-01T12:15:00.000250Z', undefined],
    ['2026-03-01T12:15:00.000250Z', '2026-03-01T12:20:00.000250Z', 40 * SECOND],
  ]);
  expect(buckets[0]).toMatchObject({ num_output_tokens: 60, tone: { calm: 3 }, toxicity: expect.closeTo(0.1) });
  expect('requests_count' in body.aggregate_metrics).toBe(false);
});

test('an interval longer than any range is one bucket', async () => {
  for (const interval of [1_000_000_000, Number.MAX_SAFE_INTEGER]) {
    const range = { start_time: '2000-01-01T00:00:00Z', end_time: '2100-01-01T00:00:00Z' };
    const { status, body } = await service.post('metrics/search', { ...range, interval });
    expect(status).toBe(200);
    const [buckets] = Object.values(body.bucketed_metrics) as { requests_count: number }[][];
    expect(buckets).toHaveLength(1);
    expect(buckets?.[0]?.requests_count).toBe(body.aggregate_metrics.requests_count);
  }
});

test('the second version counts traces, sessions and spans as well, zero where there are none', async () => {
  const { body } = await service.post('metrics/search/v2', range);
  expect(body.aggregate_metrics).toMatchObject({ requests_count: 5, session_count: 1, span_count: 5 });
  const counts = body.bucketed_metrics.all.map((one: Record<string, unknown>) => one.requests_count);
  expect(counts).toEqual([3, 1, 0, 1]);
  expect(body.bucketed_metrics.all[2]).toMatchObject({ session_count: 0, span_count: 0 });
});

test('a session counts where its records are, whenever it was opened, and once', async () => {
  const opened = service.record({ type: 'session', created_at: '2026-02-28T00:00:00.000000Z' });
  const day = (minute: number) => `2026-02-28T12:${minute}:00.000000Z`;
  const ofSession = [10, 11, 20].map((minute) => service.record({ session_id: opened.id, created_at: day(minute) }));
  const alone = service.record({ created_at: day(20) });
  const spanAlone = service.record({
    type: 'tool',
    trace_id: alone.id,
    parent_id: alone.id,
    session_id: alone.id,
    created_at: day(20),
  });
  await service.store([opened, ...ofSession, alone, spanAlone]);
  const { body } = await service.post('metrics/search/v2', { start_time: day(10), end_time: day(25), interval: 5 });
  expect(body.aggregate_metrics).toMatchObject({ requests_count: 4, session_count: 1, span_count: 1 });
  expect(body.bucketed_metrics.all.map((one: Record<string, unknown>) => one.session_count)).toEqual([1, 0, 1]);
});

test('groups are those of the column, the whole stays whole, and a filter keeps to what it finds', async () => {
  const grouped = await service.post('metrics/search/v2', { ...range, group_by: 'user_metadata/plan' });
  expect(grouped.body.group_by_columns).toEqual(['user_metadata/plan']);
  expect(Object.keys(grouped.body.bucketed_metrics).sort()).toEqual(['', 'free', 'paid']);
  const first = (group: string) => grouped.body.bucketed_metrics[group][0];
  expect(first('paid')).toMatchObject({ requests_count: 1, duration_ns: 2 * SECOND, tone: { calm: 1 } });
  expect(first('free')).toMatchObject({ requests_count: 1, duration_ns: 3 * SECOND, toxicity: expect.closeTo(0.2) });
  expect(first('')).toMatchObject({ requests_count: 1, span_count: 1 });
  // Their calls say no plan themselves.
  expect(first('paid')).toMatchObject({ span_count: 1, num_output_tokens: 20, cost: 0.5 });
  expect(first('free')).toMatchObject({ span_count: 1, num_output_tokens: 30 });
  const llm = { filters: [{ type: 'text', name: 'type', operator: 'eq', value: 'llm' }] };
  const ofCalls = await service.post('metrics/search', { ...range, ...llm, group_by: 'user_metadata/plan' });
  expect(ofCalls.body.bucketed_metrics.paid[0]).toMatchObject({ num_output_tokens: 20, duration_ns: SECOND / 2 });
  expect(ofCalls.body.bucketed_metrics.free[0]).toMatchObject({ num_output_tokens: 30 });
  expect(ofCalls.body.bucketed_metrics[''][0].labels).toEqual({ a: 1, b: 1 });
  expect(grouped.body.aggregate_metrics).toMatchObject({ requests_count: 5, toxicity: expect.closeTo(0.2) });

  const filtered = await service.post('metrics/search', {
    ...range,
    filters: [{ type: 'text', column_id: 'name', operator: 'eq', value: 'tell' }],
  });
  expect(filtered.body.aggregate_metrics).toEqual({
    ...{ duration_ns: 25 * SECOND, toxicity: expect.closeTo(0.35), polite: 0.5, tone: { calm: 1, angry: 1 } },
  });
  const calls = await service.post('metrics/search', {
    ...range,
    filters: [{ type: 'text', name: 'type', operator: 'eq', value: 'llm' }],
  });
  expect(calls.body.aggregate_metrics.duration_ns).toBe(SECOND / 2);
});

test('every aggregation that can be asked for', async () => {
  const ask = (metric_name: string, ...aggregations: string[]) =>
    aggregations.map((aggregation) => ({ id: `${metric_name} ${aggregation}`, metric_name, aggregation }));
  const { body } = await service.post('metrics/custom_search', {
    ...range,
    interval_minutes: 20,
    metric_details: [
      ...ask('duration_ns', 'Count', 'Sum', 'Average', 'Min', 'Max', 'P50', 'P90', 'P95', 'P99', 'PercentageTrue'),
      ...ask('metrics/polite', 'PercentageTrue', 'PercentageFalse', 'Count'),
      ...ask('tone', 'Count', 'Average'),
      ...ask('cost', 'Sum'),
    ],
  });
  const seconds = (value: number) => expect.closeTo(value * SECOND, -3);
  const whole = {
    ...{ 'duration_ns Count': 5, 'duration_ns Sum': seconds(56), 'duration_ns Average': seconds(11.2) },
    ...{ 'duration_ns Min': SECOND, 'duration_ns Max': 40 * SECOND, 'duration_ns P50': 3 * SECOND },
    ...{ 'duration_ns P90': seconds(28), 'duration_ns P95': seconds(34), 'duration_ns P99': seconds(38.8) },
    ...{ 'metrics/polite PercentageTrue': 0.6, 'metrics/polite PercentageFalse': 0.4, 'metrics/polite Count': 5 },
    ...{ 'tone Count': 5, 'cost Sum': 2.5 },
  };
  expect(body.aggregate_metrics).toEqual(whole);
  expect(body.bucketed_metrics.all).toEqual([{ start_bucket_time: range.start_time, end_bucket_time: range.end_time, ...whole }]);
});

test('a scorer that failed in the range is told', async () => {
  const failing = service.record({ created_at: '2026-03-02T00:00:00.000000Z' });
  await service.store([failing]);
  const standard_error = {
    ...{ error_code: 1, error_type: 'credentials_error', error_group: 'integrations', severity: 'medium', message: 'no key' },
    ...{ retriable: false, blocking: false },
  };
  await service.score(failing, 'toxicity', { status_type: 'failed', message: 'x', standard_error } as never, 1);
  const { body } = await service.post('metrics/search', { start_time: '2026-03-02T00:00:00Z', end_time: '2026-03-02T00:00:01Z' });
  expect(body).toMatchObject({ aggregate_metrics: {}, ems_captured_error: true, standard_errors: { toxicity: standard_error } });
});

test('buckets of the default width become wider where the range has too many of them', async () => {
  const year = { start_time: '2025-01-01T00:00:00Z', end_time: '2026-01-01T00:00:00Z' };
  for (const asked of [{}, { interval: 5 }]) {
    const { status, body } = await service.post('metrics/search', { ...year, ...asked });
    expect(status).toBe(200);
    const buckets = body.bucketed_metrics.all;
    expect(buckets.length).toBeLessThanOrEqual(10_000);
    expect(buckets[1].start_bucket_time).toBe('2025-01-01T00:55:00.000000Z');
    expect(buckets.at(-1).end_bucket_time).toBe('2026-01-01T00:00:00.000000Z');
  }
});

test.each([
  ['a range that ends before it starts', { start_time: range.end_time, end_time: range.start_time }, /end_time/],
  ['too many buckets', { ...range, start_time: '2020-01-01T00:00:00Z', interval: 1 }, /at most 10000/],
  ['an interval of nothing', { ...range, interval: 0 }, /1/],
  ['no range', {}, /start_time/],
  ['an unknown group', { ...range, group_by: 'nope' }, /no column/],
  ['a group of lists', { ...range, group_by: 'tags' }, /tags cannot be grouped by/],
])('%s is refused', async (_name, body, message) => {
  const answer = await service.post('metrics/search', body);
  expect(answer.status).toBe(422);
  expect(JSON.stringify(answer.body)).toMatch(message);
});

test('a metric that does not exist and an aggregation that is none are refused', async () => {
  const unknown = { id: 'a', metric_name: 'nope', aggregation: 'Sum' };
  expect(await service.post('metrics/custom_search', { ...range, metric_details: [unknown] })).toMatchObject({ status: 422 });
  const median = { id: 'a', metric_name: 'toxicity', aggregation: 'Median' };
  expect(await service.post('metrics/custom_search', { ...range, metric_details: [median] })).toMatchObject({ status: 422 });
});
