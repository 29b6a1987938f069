import { z } from 'zod';
import { newId } from '../../../identifiers/ids.ts';
import { parseJson } from '../../../json/parseJson.ts';
import { noAggregates } from '../../../metrics/aggregate.ts';
import type { RunRef } from '../../../projects/runs.ts';
import type { MetricValueStore, StoredMetricValue } from '../../../records/metricValues.ts';
import type { MetricValue } from '../../../records/recordStore.ts';
import type { MetricResult, MetricStatus } from '../../../wire/metricResults.ts';
import type { RecordKind } from '../../../wire/recordKinds.ts';
import { timeOf } from '../../../wire/time.ts';
import { IN_RUN, numberParam, runParams, timeOfColumn } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { inChunks } from '../inChunks.ts';
import { aggregatesOf, Distribution, deviationSql, distributionSql, Figures, figuresSql } from '../reads/aggregateSql.ts';
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

const Aggregate = z.object({
  succeeded: z.coerce.number(),
  figures: Figures,
  deviation: z.number().nullable(),
  distribution: Distribution,
});

/** Rows like those of values that are there. */
const FILLED = `SELECT 'success' AS status, {filling:Nullable(Float64)} AS number, {filledText:String} AS value, if({filledText:String} = '', [], [{filledText:String}]) AS category
                FROM numbers({filledTimes:UInt64})`;
const fillingParams = ({ value, times }: { value: number | boolean; times: number }) => ({
  filling: numberParam(Number(value)),
  filledText: typeof value === 'boolean' ? String(value) : '',
  filledTimes: times,
});

const toValue = (row: unknown): StoredMetricValue => {
  const { metric, explanation, value, metadata, details, ...rest } = row as MetricRow;
  return {
    metric,
    status: rest.status as MetricStatus,
    explanation,
    recordId: rest.record_id,
    recordCreatedAt: timeOfColumn(rest.record_created_at),
    recordType: rest.record_type as RecordKind,
    traceId: rest.trace_id,
    value: value === '' ? null : parseJson(value),
    metadata: metadata === '' ? null : (parseJson(metadata) as Record<string, unknown>),
    details: details === '' ? {} : (parseJson(details) as Record<string, unknown>),
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
      // When two processes write a value of the same metric, the later clock wins. The machines' clocks must therefore agree to less than the time
      // between two scorings: to read the stored version before each write would cost as much as the write.
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

    async scores(run, metric, limit) {
      const rows = await clickhouse.query({
        name: 'scores of a metric',
        sql: `SELECT value FROM metric_values FINAL WHERE ${IN_RUN} AND metric = {metric:String} AND status = 'success' AND value != ''
              ORDER BY record_created_at, record_id LIMIT {limit:UInt32}`,
        params: { ...runParams(run), metric, limit },
        row: z.object({ value: z.string() }),
      });
      return rows.map(({ value }) => parseJson(value) as number | boolean | string);
    },

    counts: (run) => metricCounts(clickhouse, run),
    trials: (run) => trialFigures(clickhouse, run),

    async aggregate(run, metric, filled) {
      const [row] = await clickhouse.query({
        name: 'aggregate of a metric',
        // Rolled-up values are left out, since they are made of the others. Booleans count as 0 and 1; a list of texts counts once for each member.
        sql: `SELECT countIf(status = 'success') AS succeeded, ${figuresSql('number', "value IN ('true', 'false')")} AS figures,
                ${deviationSql('number')} AS deviation, ${distributionSql('category')} AS distribution
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
      return { ...aggregatesOf(row.figures, row.succeeded, row.distribution), deviation: row.deviation };
    },
  };
}
