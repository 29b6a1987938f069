import { z } from 'zod';
import type { MetricCounts } from '../../../metrics/metricFigures.ts';
import type { RunRef } from '../../../projects/runs.ts';
import { FAILED } from '../../../records/failed.ts';
import type { RunMetricCounts } from '../../../records/metricValues.ts';
import { IN_RUN, runParams } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { TAKEN_BACK } from '../tables/metricRow.ts';

const count = z.coerce.number();
const Rows = z.object({ rows: count, rowsFailed: count });
const Counts = z.object({
  metric: z.string(),
  isOfRows: z.coerce.boolean(),
  values: count,
  waiting: count,
  failed: count,
  notApplicable: count,
  sound: count,
  failedWithValue: count,
});

/** Different reasons of one metric that are listed, and characters of each. */
const MAX_REASONS = 3;
const MAX_REASON_CHARACTERS = 500;
const Gap = z.object({
  metric: z.string(),
  status: z.enum(['not_applicable', 'not_computed', 'failed', 'error']),
  message: z.string(),
  count,
});

const TRACES = `records FINAL WHERE ${IN_RUN} AND type = 'trace'`;

/** Counts the results of every metric of which the run has a value or a state (see `countResults`). */
export async function metricCounts(clickhouse: ClickHouse, run: RunRef): Promise<RunMetricCounts> {
  const params = runParams(run);
  const [[rows = { rows: 0, rowsFailed: 0 }], counted, gaps] = await Promise.all([
    clickhouse.query({
      name: 'rows of a run',
      sql: `SELECT count() AS rows, countIf(${FAILED}) AS rowsFailed FROM ${TRACES}`,
      params,
      row: Rows,
    }),
    clickhouse.query({
      name: 'counts of metrics',
      // A value of a session belongs to no row.
      sql: `SELECT metric, countIf(record_type != 'session') > 0 AS isOfRows, countIf(status = 'success') AS values,
              countIf(status IN ('pending', 'computing') AND NOT isFailed) AS waiting,
              countIf(status IN ('failed', 'error') AND NOT isFailed) AS failed,
              countIf(status IN ('not_applicable', 'not_computed') AND NOT isFailed) AS notApplicable,
              uniqExactIf(row, record_type != 'session' AND NOT isFailed) AS sound, uniqExactIf(row, isFailed AND status = 'success') AS failedWithValue
            FROM (
              SELECT toString(metric) AS metric, status, record_type, if(record_type = 'trace', record_id, assumeNotNull(trace_id)) AS row,
                row IN (SELECT id FROM ${TRACES} AND ${FAILED}) AS isFailed
              FROM metric_values FINAL WHERE ${IN_RUN} AND status != 'roll_up' AND metric != 'cost' AND NOT ${TAKEN_BACK}
            )
            GROUP BY metric ORDER BY metric`,
      params,
      row: Counts,
    }),
    clickhouse.query({
      name: 'gaps of metrics',
      sql: `SELECT toString(metric) AS metric, toString(status) AS status, left(JSONExtractString(details, 'message'), ${MAX_REASON_CHARACTERS}) AS message, count() AS count
            FROM metric_values FINAL
            WHERE ${IN_RUN} AND status IN ('not_applicable', 'not_computed', 'failed', 'error') AND metric != 'cost' AND NOT ${TAKEN_BACK}
              AND if(record_type = 'trace', record_id, assumeNotNull(trace_id)) NOT IN (SELECT id FROM ${TRACES} AND ${FAILED})
            GROUP BY metric, status, message ORDER BY metric, count DESC, message LIMIT ${MAX_REASONS} BY metric`,
      params,
      row: Gap,
    }),
  ]);
  return {
    ...rows,
    metrics: new Map(counted.map((one) => [one.metric, toCounts(one, rows)])),
    gaps: new Map(
      [...Map.groupBy(gaps, ({ metric }) => metric)].map(([metric, of]) => [metric, of.map(({ metric: _, ...gap }) => gap)]),
    ),
    waiting: new Map(counted.flatMap(({ metric, waiting }) => (waiting > 0 ? [[metric, waiting] as const] : []))),
  };
}

function toCounts(
  { isOfRows, values, waiting, failed, notApplicable, sound, failedWithValue }: z.output<typeof Counts>,
  { rows, rowsFailed }: z.output<typeof Rows>,
): MetricCounts {
  if (!isOfRows) return { values, missing: waiting, failed, notApplicable, failedRowsWithoutValue: 0 };
  return {
    values,
    missing: waiting + Math.max(0, rows - rowsFailed - sound),
    failed,
    notApplicable,
    failedRowsWithoutValue: Math.max(0, rowsFailed - failedWithValue),
  };
}
