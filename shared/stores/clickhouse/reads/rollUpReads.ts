import { z } from 'zod';
import { parseJson } from '../../../json/parseJson.ts';
import type { ScoreValue } from '../../../metrics/metric.ts';
import type { HeldValue, RollUpReads } from '../../../scoring/rollUps.ts';
import { IN_RUN, runParams, timeOfColumn } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { TAKEN_BACK } from '../tables/metricRow.ts';
import { keysBy } from '../tables/tables.ts';

/** Records that a trace or a session gets values from, by the column that names it. */
const below = {
  trace: {
    column: 'trace_id',
    kinds: "type NOT IN ('trace', 'session')",
    states: "status NOT IN ('pending', 'computing', 'roll_up')",
  },
  session: { column: 'session_id', kinds: "type = 'trace'", states: "status IN ('success', 'roll_up') AND value != ''" },
} as const;

const KeyRow = z.object({ id: z.string(), created_at: z.string() });
const ValueRow = z.object({
  container: z.string(),
  metric: z.string(),
  record: z.string(),
  value: z.string(),
  version: z.coerce.number(),
  made_by: z.string(),
  is_callers: z.coerce.boolean(),
});

export function clickhouseRollUpReads(clickhouse: ClickHouse): RollUpReads {
  return {
    async containers(run, kind, ids) {
      const rows = await clickhouse.query({
        name: `${kind}s to roll up into`,
        sql: `SELECT id, created_at FROM record_keys WHERE ${IN_RUN} AND id IN {ids:Array(UUID)} AND type = {kind:String} ORDER BY version DESC LIMIT 1 BY id`,
        params: { ...runParams(run), ids, kind },
        row: KeyRow,
      });
      return rows.map(({ id, created_at }) => ({
        id,
        createdAt: timeOfColumn(created_at),
        traceId: kind === 'trace' ? id : null,
      }));
    },

    async heldValues(run, kind, ids, metrics) {
      const { column, kinds, states } = below[kind];
      // Where a record is now its newest key says; an older one may name another container.
      const keys = `SELECT id, argMax(created_at, version) AS made, argMax(${column}, version) AS container FROM record_keys
                     WHERE ${IN_RUN} AND ${kinds} AND id IN (SELECT id FROM ${keysBy[column]} WHERE ${IN_RUN} AND ${column} IN {ids:Array(UUID)})
                     GROUP BY id HAVING container IN {ids:Array(UUID)}`;
      const rows = await clickhouse.query({
        name: `values to roll up into ${kind}s`,
        sql: `SELECT k.container AS container, v.metric AS metric, v.record_id AS record, v.value AS value, v.version AS version,
                     v.scorer_version AS made_by, isNull(v.scorer_id) AS is_callers
                FROM (SELECT metric, record_id, if(status IN ('success', 'roll_up'), value, '') AS value, version, scorer_version, scorer_id FROM metric_values FINAL
                       WHERE ${IN_RUN} AND metric IN {metrics:Array(String)} AND (record_created_at, record_id) IN (SELECT made, id FROM (${keys}))
                         AND ${states} AND NOT ${TAKEN_BACK}) AS v
                JOIN (${keys}) AS k ON k.id = v.record_id`,
        params: { ...runParams(run), ids, metrics },
        row: ValueRow,
      });
      return rows.map(toHeld);
    },

    async ownValues(run, ids, metrics) {
      const keys = `SELECT created_at, id FROM record_keys WHERE ${IN_RUN} AND id IN {ids:Array(UUID)}`;
      const rows = await clickhouse.query({
        name: 'values that others require',
        sql: `SELECT record_id AS container, metric, record_id AS record, value, version, scorer_version AS made_by, isNull(scorer_id) AS is_callers
                FROM metric_values FINAL
               WHERE ${IN_RUN} AND metric IN {metrics:Array(String)} AND (record_created_at, record_id) IN (${keys})
                 AND status IN ('success', 'roll_up') AND value != '' AND NOT ${TAKEN_BACK}`,
        params: { ...runParams(run), ids, metrics },
        row: ValueRow,
      });
      return rows.map(toHeld);
    },
  };
}

const toHeld = ({ container, metric, record, value, version, made_by, is_callers }: z.output<typeof ValueRow>): HeldValue => ({
  containerId: container,
  metric,
  recordId: record,
  value: value === '' ? null : (parseJson(value) as ScoreValue),
  version,
  scorerVersion: made_by,
  isCallers: is_callers,
});
