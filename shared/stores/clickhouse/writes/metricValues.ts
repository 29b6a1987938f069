import { z } from 'zod';
import type { RecordKind } from '../../../columns/columnDef.ts';
import { newId } from '../../../identifiers/ids.ts';
import { parseJson } from '../../../json/parseJson.ts';
import { noAggregates } from '../../../metrics/aggregate.ts';
import type { RunRef } from '../../../projects/runs.ts';
import type { MetricValueStore, StoredMetricValue } from '../../../records/metricValues.ts';
import type { MetricValue } from '../../../records/recordStore.ts';
import type { MetricResult, MetricStatus } from '../../../wire/metricResults.ts';
import { timeOf } from '../../../wire/time.ts';
import { IN_RUN, numberParam, runParams, timeOfColumn } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { inChunks } from '../inChunks.ts';
import { aggregatesOf, Distribution, distributionSql, Figures, figuresSql } from '../reads/aggregateSql.ts';
import { metricCounts } from '../reads/metricCounts.ts';
import { trialFigures } from '../reads/trialFigures.ts';
import { type MetricRow, metricFields } from '../tables/metricRow.ts';

/** The row of a value or a state. */
export function metricValueRow(run: RunRef, value: MetricValue, version: number): MetricRow {
  const { status, explanation = null, metadata = null, details } = value;
  const result = { status_type: status, ...details, value: value.value ?? null, explanation, metadata } as MetricResult;
  return {
    project_id: run.projectId,
    run_id: run.runId,
    metric: value.metric,
    record_created_at: value.recordCreatedAt,
    record_id: value.recordId,
    record_type: value.recordType,
    trace_id: value.traceId,
    ...metricFields(result),
    scorer_id: value.scorerId ?? null,
    scorer_version: value.scorerVersion ?? '',
    // A version is the microsecond it was made in.
    computed_at: timeOf(new Date(Math.floor(version / 1000))),
    version,
  };
}

const Aggregate = z.object({ succeeded: z.coerce.number(), figures: Figures, distribution: Distribution });

/** Rows like those of values that are there. */
const FILLED = `SELECT 'success' AS status, {filling:Nullable(Float64)} AS number, {filledText:String} AS value, if({filledText:String} = '', [], [{filledText:String}]) AS category
                FROM numbers({filledTimes:UInt64})`;
const fillingParams = ({ value, times }: { value: number | boolean; times: number }) => ({
  filling: numberParam(Number(value)),
  filledText: typeof value === 'boolean' ? String(value) : '',
  filledTimes: times,
});

interface ValueRow {
  metric: string;
  record_id: string;
  record_created_at: string;
  record_type: RecordKind;
  trace_id: string | null;
  status: MetricStatus;
  value: string;
  explanation: string | null;
  metadata: string;
  details: string;
  scorer_id: string | null;
  computed_at: string;
}

const toValue = (row: unknown): StoredMetricValue => {
  const { metric, status, explanation, ...rest } = row as ValueRow;
  return {
    metric,
    status,
    explanation,
    recordId: rest.record_id,
    recordCreatedAt: timeOfColumn(rest.record_created_at),
    recordType: rest.record_type,
    traceId: rest.trace_id,
    value: rest.value === '' ? null : parseJson(rest.value),
    metadata: rest.metadata === '' ? null : (parseJson(rest.metadata) as Record<string, unknown>),
    details: rest.details === '' ? {} : (parseJson(rest.details) as Record<string, unknown>),
    scorerId: rest.scorer_id,
    computedAt: timeOfColumn(rest.computed_at),
  };
};

const valueColumns =
  'metric, record_id, record_created_at, record_type, trace_id, status, value, explanation, metadata, details, scorer_id, computed_at';

export function clickhouseMetricValues(clickhouse: ClickHouse): MetricValueStore {
  let lastVersion = 0;
  return {
    async write(run, values) {
      if (values.length === 0) return;
      // Of two processes' values of one metric the later by their clocks counts, so the machines' clocks must agree to less than the time
      // between two scorings: reading the version that stands before each write would cost as much as the write.
      lastVersion = Math.max(lastVersion + 1, Date.now() * 1000);
      const rows = values.map((value) => metricValueRow(run, value, value.version ?? lastVersion));
      await clickhouse.insert({ table: 'metric_values', rows, token: newId() });
    },

    of: (run, recordIds) =>
      inChunks(recordIds, (ids) =>
        clickhouse.query({
          name: 'metric values of records',
          sql: `SELECT ${valueColumns} FROM metric_values WHERE ${IN_RUN} AND record_id IN {ids:Array(UUID)}
                ORDER BY version DESC LIMIT 1 BY metric, record_id`,
          params: { ...runParams(run), ids },
          row: toValue,
        }),
      ),

    byMetric: (run, metric) =>
      clickhouse.query({
        name: 'values of a metric',
        sql: `SELECT ${valueColumns} FROM metric_values FINAL WHERE ${IN_RUN} AND metric = {metric:String} ORDER BY record_created_at, record_id`,
        params: { ...runParams(run), metric },
        row: toValue,
      }),

    counts: (run) => metricCounts(clickhouse, run),
    trials: (run) => trialFigures(clickhouse, run),

    async aggregate(run, metric, filled) {
      const [row] = await clickhouse.query({
        name: 'aggregate of a metric',
        // What is rolled up is made of the other values. Booleans count as 0 and 1; a list of texts counts once for each of its members.
        sql: `SELECT countIf(status = 'success') AS succeeded, ${figuresSql('number', "value IN ('true', 'false')")} AS figures,
                ${distributionSql('category')} AS distribution
              FROM (
                SELECT status, number, value,
                  multiIf(value IN ('true', 'false'), [value], isNotNull(text), [assumeNotNull(text)], arrayDistinct(texts)) AS category
                FROM metric_values FINAL
                WHERE ${IN_RUN} AND metric = {metric:String} AND status != 'roll_up'
                ${filled ? `UNION ALL ${FILLED}` : ''}
              )`,
        params: { ...runParams(run), metric, ...(filled ? fillingParams(filled) : {}) },
        row: Aggregate,
      });
      if (!row) return noAggregates;
      return aggregatesOf(row.figures, row.succeeded, row.distribution);
    },
  };
}
