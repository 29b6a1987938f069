import type { GraphRecord, GraphScore, TraceGraphReads } from '../../../records/traceGraph.ts';
import type { RecordKind } from '../../../wire/recordKinds.ts';
import { systemMetrics } from '../../../wire/systemCounts.ts';
import { Binder, TIME, timeOfColumn, timeParam } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { HAS_VALUE, scopeOf } from '../filters/columnSql.ts';

/** The narrow columns of whole traces, and their scores, without the cost: of records of former releases it was one as well. */
export function clickhouseTraceGraph(clickhouse: ClickHouse): TraceGraphReads {
  return {
    records(run, traceIds) {
      const binder = new Binder();
      const { bind, inRun } = scopeOf(binder.bind, run);
      const wanted = bind(traceIds, 'Array(UUID)');
      return clickhouse.query({
        name: 'records of a trace graph',
        sql: `SELECT id, type, name, created_at, assumeNotNull(trace_id) AS trace, parent_id, session_id, step_number, version, ${systemMetrics.join(', ')} FROM records FINAL WHERE ${inRun} AND created_at IN (SELECT created_at FROM trace_members WHERE ${inRun} AND trace_id IN ${wanted}) AND trace_id IN ${wanted} ORDER BY created_at, id`,
        params: binder.params,
        row: toRecord,
      });
    },

    scores(run, traceIds, { from, to }) {
      const binder = new Binder();
      const { bind, scoresInRun } = scopeOf(binder.bind, run);
      return clickhouse.query({
        name: 'scores of a trace graph',
        sql: `SELECT record_id, metric, number, multiIf(value IN ('true', 'false'), [value], isNotNull(text), [assumeNotNull(text)], arrayDistinct(texts)) AS categories
              FROM metric_values FINAL
              WHERE ${scoresInRun} AND record_created_at BETWEEN ${bind(timeParam(from), TIME)} AND ${bind(timeParam(to), TIME)} AND trace_id IN ${bind(traceIds, 'Array(UUID)')} AND metric != 'cost' AND ${HAS_VALUE}`,
        params: binder.params,
        row: (row): GraphScore => {
          const { record_id, ...score } = row as Omit<GraphScore, 'recordId'> & { record_id: string };
          return { recordId: record_id, ...score };
        },
      });
    },
  };
}

interface Row {
  id: string;
  type: RecordKind;
  name: string;
  created_at: string;
  trace: string;
  parent_id: string | null;
  session_id: string;
  step_number: number | null;
  version: string;
}

function toRecord(row: unknown): GraphRecord {
  const { id, type, name, created_at, trace, parent_id, session_id, step_number, version, ...measured } = row as Row;
  const present = Object.entries(measured).filter(([, value]) => value !== null);
  return {
    ...{ id, type, name, traceId: trace, parentId: parent_id, sessionId: session_id, stepNumber: step_number },
    createdAt: timeOfColumn(created_at),
    version: Number(version),
    // 64-bit integers arrive as text.
    numbers: Object.fromEntries(present.map(([metric, value]) => [metric, Number(value)])),
  };
}
