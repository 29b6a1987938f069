import { fc, test as propertyTest } from '@fast-check/vitest';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import type { ColumnDef } from '../../shared/columns/columnDef.ts';
import type { ExperimentRun } from '../../shared/experiments/experiment.ts';
import { settleRun } from '../../shared/experiments/settleRun.ts';
import { sumUp } from '../../shared/experiments/sumUp.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { aggregate, rollUp } from '../../shared/metrics/aggregate.ts';
import { failedRowsOf, figuresOf, type RowOfMetric } from '../../shared/metrics/metricFigures.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import type { FindColumn } from '../../shared/records/findColumn.ts';
import { rolledUp } from '../../shared/records/metricTimeline.ts';
import { aggregateTraces } from '../../shared/records/traceGraph.ts';
import type { EnabledMetric } from '../../shared/scorers/resolveMetrics.ts';
import { percentile } from '../../shared/statistics/percentile.ts';
import { clickhouseMetricTimeline } from '../../shared/stores/clickhouse/reads/metricTimeline.ts';
import { clickHouseRecordReads } from '../../shared/stores/clickhouse/reads/recordReads.ts';
import { systemAggregates } from '../../shared/stores/clickhouse/reads/systemAggregates.ts';
import { clickhouseTraceGraph } from '../../shared/stores/clickhouse/reads/traceGraph.ts';
import { noScale } from '../../shared/wire/metricScale.ts';
import type { RollUpMethod } from '../../shared/wire/scorers.ts';
import { noUsage } from '../support/noUsage.ts';
import { propertyRuns } from '../support/propertyRuns.ts';
import { startRecordService } from '../support/recordService.ts';

// They write hundreds of times, and a slow disk takes ten times as long for it as a fast one.
vi.setConfig({ testTimeout: 300_000 });

let service: Awaited<ReturnType<typeof startRecordService>>;
beforeAll(async () => {
  service = await startRecordService();
});
afterAll(() => service[Symbol.asyncDispose]());

const durations = fc.array(fc.integer({ min: 0, max: 1_000_000 }), { minLength: 1, maxLength: 12 });

/** The figures of every metric of a run over all time. */
const timelineOf = (run: RunRef) => {
  const range = { from: '2000-01-01T00:00:00.000000Z', to: '2100-01-01T00:00:00.000000Z', bucketMinutes: 1_000_000_000 };
  const query = { run, filter: { and: [] }, findColumn: noColumn, ...range };
  return clickhouseMetricTimeline(service.clickhouse).metrics(query, { names: ['all'], areOwn: true });
};
const noColumn: FindColumn = (name) => {
  throw new Error(`no column ${name} is asked for`);
};

/** Without -0, which equals 0 as a figure but not in `toBe`. */
const numbers = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }).map((value) => value + 0);

describe('one definition of percentiles', () => {
  propertyTest.prop([durations], { numRuns: propertyRuns(8) })(
    'every reader gives the same figures for the same values',
    async (values) => {
      const { post, run } = service.space();
      const traces = values.map((value) => ({ id: newId(), input: 'q', metrics: { duration_ns: value, score: value } }));
      expect((await post('/traces', { traces })).status).toBe(200);
      const { p50, p90, p95, p99 } = aggregate(values);
      const expected = { p50, p90, p95, p99, count: values.length };

      expect(await service.metricValues.aggregate(run, 'score')).toMatchObject(expected);
      const system = await systemAggregates(service.clickhouse, { projectId: run.projectId, experimentId: run.runId });
      expect(system.duration_ns?.aggregates).toMatchObject(expected);

      const cells = await timelineOf(run);
      expect(cells).toHaveLength(4);
      for (const { aggregates } of cells) expect(aggregates).toMatchObject(expected);

      const reads = { records: clickHouseRecordReads(service.clickhouse), graph: clickhouseTraceGraph(service.clickhouse) };
      const { graph } = await aggregateTraces(reads, { run, filter: { and: [] }, findColumn: noColumn }, []);
      expect(graph.nodes[0]?.metrics.duration_ns).toMatchObject({ median: p50, p95 });
      expect(graph.nodes[0]?.metrics.score).toMatchObject({ median: p50, p95 });
    },
  );

  propertyTest.prop([fc.array(numbers, { minLength: 1 })])(
    'the median parts the values in halves, 0 and 1 are the extremes, and more of a share is never less',
    (values) => {
      const sorted = values.toSorted((a, b) => a - b);
      expect(percentile(sorted, 0)).toBe(sorted[0]);
      expect(percentile(sorted, 1)).toBe(sorted.at(-1));
      const median = percentile(sorted, 0.5);
      const half = sorted.length / 2;
      expect(sorted.filter((value) => value < median).length).toBeLessThanOrEqual(half);
      expect(sorted.filter((value) => value > median).length).toBeLessThanOrEqual(half);
      const shares = [0, 0.1, 0.25, 0.5, 0.9, 0.95, 0.99, 1].map((share) => percentile(sorted, share));
      expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    },
  );
});

const methods: readonly RollUpMethod[] = [
  'average',
  'sum',
  'max',
  'min',
  'category_count',
  'percentage_true',
  'percentage_false',
];
const booleans = fc.array(fc.boolean(), { minLength: 1, maxLength: 12 });

describe('one roll-up', () => {
  propertyTest.prop([booleans, durations], { numRuns: propertyRuns(6) })(
    'an experiment shows what its timeline shows, by every method',
    async (answers, numbers) => {
      const { post, run } = service.space();
      const values = Array.from({ length: Math.max(answers.length, numbers.length) }, (_, at) => ({
        ...(at < answers.length ? { polite: answers[at] } : {}),
        ...(at < numbers.length ? { rating: numbers[at] } : {}),
      }));
      expect((await post('/traces', { traces: values.map((metrics) => ({ input: 'q', metrics })) })).status).toBe(200);
      const cells = (await timelineOf(run)).filter(({ bucket }) => bucket === null);
      for (const rollUpMethod of methods) {
        const metrics = ['polite', 'rating'].map((name) => ({ name, rollUp: rollUpMethod }) as EnabledMetric);
        const settled = await settleRun(
          {
            deleteStraySpans: async () => 0,
            sandbox: { aggregate: async () => ({ values: {} }) },
            systemAggregates: async () => ({}),
            usage: async () => noUsage,
            values: service.metricValues,
            metricsOf: async () => metrics,
            columnsOf: async () => undefined,
            scalesOf: async () => () => noScale,
            unmark: async () => undefined,
          },
          { projectId: run.projectId, experimentId: run.runId } as ExperimentRun,
        );
        const columns = metrics.map((metric) => ({ source: { at: 'metric', metric: metric.name }, rollUpMethod }) as ColumnDef);
        const shown = Object.fromEntries(cells.flatMap(rolledUp(columns)).filter(([, value]) => typeof value === 'number'));
        expect(settled.rolledUp).toEqual(shown);
        const plain = { polite: rollUp(aggregate(answers), rollUpMethod), rating: rollUp(aggregate(numbers), rollUpMethod) };
        for (const [name, value] of Object.entries(settled.rolledUp))
          expect(value).toBeCloseTo(plain[name as 'polite'] as number, 6);
        expect(Object.keys(settled.rolledUp).sort()).toEqual(
          Object.keys(plain).filter((name) => typeof plain[name as 'polite'] === 'number'),
        );
      }
    },
  );
});

const result = fc.oneof(
  { weight: 3, arbitrary: fc.record({ status: fc.constant('success'), value: fc.integer({ min: 0, max: 5 }) }) },
  fc.record({
    status: fc.constantFrom('failed', 'error', 'not_applicable', 'not_computed', 'pending', 'computing'),
    value: fc.constant(null),
  }),
);
const rowsOfMetric = fc.array(fc.record({ isFailed: fc.boolean(), results: fc.array(result, { maxLength: 1 }) }), {
  minLength: 1,
  maxLength: 15,
}) as fc.Arbitrary<RowOfMetric[]>;

describe('one count of what is not there', () => {
  propertyTest.prop([rowsOfMetric, fc.constantFrom('omit' as const, 'worst' as const)], { numRuns: propertyRuns(10) })(
    'the record store counts and sums up rows as they are counted and summed up one by one',
    async (rows, chosen) => {
      const { post, run } = service.space();
      const ids = rows.map(() => newId());
      const traces = rows.map(({ isFailed }, at) => ({
        id: ids[at],
        input: 'q',
        ...(isFailed ? { error_message: 'failed' } : {}),
      }));
      expect((await post('/traces', { traces })).status).toBe(200);
      await service.metricValues.write(
        run,
        rows.flatMap(({ results }, at) =>
          results.map(({ status, value }) => ({
            ...{ metric: 'rating', recordId: ids[at] as string, recordType: 'trace' as const, traceId: ids[at] as string },
            ...{ status: status as 'success', value: value as number, recordCreatedAt: '2026-01-01T00:00:00.000000Z' },
            scorerId: newId(),
          })),
        ),
      );
      const scale = { direction: 'higher', range: { min: -1, max: 5 } } as const;
      const stored = await sumUp(
        {
          sandbox: { aggregate: async () => ({ values: {} }) },
          systemAggregates: async () => ({}),
          usage: async () => noUsage,
          values: service.metricValues,
          metricsOf: async () => [{ name: 'rating', rollUp: 'average' } as EnabledMetric],
          columnsOf: async () => undefined,
          scalesOf: async () => () => scale,
        },
        { projectId: run.projectId, experimentId: run.runId, failedRows: chosen } as ExperimentRun,
      );
      const failedRows = failedRowsOf(chosen, scale);
      const { values, counts } = figuresOf(rows, failedRows);
      expect(stored).toMatchObject({ rows: rows.length, rowsFailed: rows.filter(({ isFailed }) => isFailed).length });
      expect(stored.counts).toMatchObject({ rating: { counts, ...failedRows } });
      const { avg, ...figures } = aggregate(values);
      expect(stored.metrics.rating).toMatchObject({ ...figures, avg: avg === null ? null : expect.closeTo(avg, 9) });
      const { missing, failed, notApplicable, failedRowsWithoutValue } = counts;
      expect(counts.values + missing + failed + notApplicable + failedRowsWithoutValue).toBe(rows.length);
      expect(figures.count).toBe(counts.values + (chosen === 'worst' ? failedRowsWithoutValue : 0));
    },
  );
});
