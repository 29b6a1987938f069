import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { metricFields } from '../../shared/stores/clickhouse/tables/metricRow.ts';
import type { LogRecordsColumnInfo } from '../../shared/wire/recordSearch.ts';
import { startSearchService } from '../support/searchService.ts';

const NAMES = 50_000;

let service: Awaited<ReturnType<typeof startSearchService>>;
/** Statements that were asked since the last look. */
let asked: string[] = [];

beforeAll(async () => {
  service = await startSearchService();
  const record = service.record();
  await service.store([record]);
  const { project_id, run_id, id, created_at, type, trace_id } = record;
  const place = { project_id, run_id, record_created_at: created_at, record_id: id, record_type: type, trace_id };
  const rows = Array.from({ length: NAMES }, (_, n) => ({
    ...{ ...place, metric: `measure ${n}`, computed_at: created_at, version: 1 },
    ...metricFields({ status_type: 'success', value: n % 3 === 0 ? true : n % 3 === 1 ? n / 2 : 'text' }),
  }));
  await service.clickhouse.insert({ table: 'metric_values', rows, token: newId() });
  const query = service.clickhouse.query.bind(service.clickhouse);
  service.clickhouse.query = (read) => {
    asked.push(read.name);
    return query(read);
  };
});
afterAll(() => service[Symbol.asyncDispose]());

test('the catalog of a run with 50,000 metrics takes few statements, however many names there are', async () => {
  asked = [];
  const { status, body } = await service.post('traces/available_columns');
  expect(status).toBe(200);
  const columns: LogRecordsColumnInfo[] = body.columns.filter(({ id }: LogRecordsColumnInfo) =>
    id.startsWith('metrics/measure '),
  );
  const types = Map.groupBy(columns, ({ data_type }) => data_type);
  expect([...types].map(([type, some]) => [type, some.length])).toEqual(
    expect.arrayContaining([
      ['boolean', 16_667],
      ['floating_point', 16_667],
      ['text', 16_666],
    ]),
  );
  expect(asked.length).toBeLessThan(5);
});

test('a filter finds its metrics among them, and a record shows them all', async () => {
  asked = [];
  const filters = Array.from({ length: 30 }, (_, n) => ({
    ...{ type: 'number', operator: 'gte', value: 0 },
    column_id: `metrics/measure ${n * 3 + 1}`,
  }));
  const { status, body } = await service.post('traces/search', { filters });
  expect(status).toBe(200);
  expect(body.num_rows).toBe(1);
  expect(Object.keys(body.records[0].metrics)).toHaveLength(NAMES);
});
