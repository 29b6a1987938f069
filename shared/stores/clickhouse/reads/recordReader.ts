import type { RunRef } from '../../../projects/runs.ts';
import { type RecordReader, type SpanKey, type SpanRecords, subtree } from '../../../records/read.ts';
import { IN_RUN, runParams, timeOfColumn } from '../binder.ts';
import { type ClickHouse, ONE_THREAD } from '../clickHouse.ts';
import { keyColumns, toKey } from '../tables/keyRow.ts';
import { recordRows } from '../tables/recordRow.ts';
import { keysBy, LEFT } from '../tables/tables.ts';
import { readRecords } from './recordsByKey.ts';

/** Single reads over the record and key tables. */
export function clickhouseRecordReader(clickhouse: ClickHouse): RecordReader {
  return {
    async find(projectId, id) {
      const [found] = await clickhouse.query({
        name: 'record by id',
        sql: `SELECT run_id, ${keyColumns} FROM record_keys WHERE project_id = {project:UUID} AND id = {id:UUID} ORDER BY version DESC LIMIT 1`,
        params: { project: projectId, id },
        row: (row) => ({ run: { projectId, runId: (row as { run_id: string }).run_id }, key: toKey(row) }),
      });
      return found;
    },

    async record(run, id) {
      const [key] = await clickhouse.query({
        name: 'record key',
        sql: `SELECT ${keyColumns} FROM record_keys WHERE ${IN_RUN} AND id = {id:UUID} ORDER BY version DESC LIMIT 1`,
        params: { ...runParams(run), id },
        row: toKey,
      });
      return key && (await readRecords(clickhouse, run, [key]))[0];
    },

    async traceRecords(projectId, traceId, limit, fields) {
      // The newest one counts where two runs hold the same trace id.
      const [at] = await clickhouse.query({
        name: 'extent of a trace',
        sql: `SELECT run_id, toString(min(created_at)) AS first, toString(max(created_at)) AS last FROM trace_members
              WHERE project_id = {project:UUID} AND trace_id = {trace:UUID}
              GROUP BY run_id ORDER BY max(version) DESC LIMIT 1`,
        params: { project: projectId, trace: traceId },
        row: (row) => row as { run_id: string; first: string; last: string },
      });
      if (!at) return undefined;
      const run = { projectId, runId: at.run_id };
      return { run, records: await readTraceWithin(clickhouse, run, { traceId, ...at, limit }, fields) };
    },

    spanRecords: (run, span, limit) => readSpanRecords(clickhouse, run, span, limit),

    async recordAlone(run, record) {
      const { children, ...found } = await readAlone(clickhouse, run, record);
      return { ...found, hasChildren: children > 0 };
    },

    async sessionRecords(run, sessionId, limit) {
      const [at] = await clickhouse.query({
        name: 'extent of a session',
        sql: `SELECT toString(min(created_at)) AS first, toString(max(created_at)) AS last FROM record_keys WHERE ${IN_RUN} AND session_id = {session:UUID}`,
        params: { ...runParams(run), session: sessionId },
        row: (row) => row as { first: string; last: string },
      });
      if (!at) return [];
      const records = await readGroup(clickhouse, run, { column: 'session_id', id: sessionId, ...at, limit: limit + 1 });
      return records.filter(({ session_id }) => session_id === sessionId);
    },
  };
}

/** The newest place of each record of a trace; those that have left it are among them. */
const PLACES = `SELECT id, created_at, type, parent_id FROM trace_members WHERE ${IN_RUN} AND trace_id = {trace:UUID} ORDER BY version DESC LIMIT 1 BY id`;

/** Up to so many records below a span are read by their keys. */
const FEW_RECORDS = 1000;

/** A record of a trace with what the others of the trace say of it. */
async function readAlone(clickhouse: ClickHouse, run: RunRef, key: SpanKey) {
  const { id, trace_id: traceId } = key;
  const params = { ...runParams(run), trace: traceId };
  const place = async () => {
    const [at] = await clickhouse.query({
      name: 'place of a span',
      sql: `SELECT toString(min(created_at)) AS first, toString(max(created_at)) AS last, countIf(parent_id = {id:UUID}) AS children,
              if(countIf(id = {trace:UUID}) > 0, toString(anyIf(created_at, id = {trace:UUID})), '') AS trace
            FROM (${PLACES}) WHERE type != '${LEFT}'`,
      params: { ...params, id },
      ...ONE_THREAD,
      row: (row) => row as { first: string; last: string; children: string; trace: string },
    });
    return at as NonNullable<typeof at>;
  };
  const stateOfTrace = async (createdAt: string) => {
    const [isComplete] = await clickhouse.query({
      name: 'state of a trace',
      sql: `SELECT trace_is_complete FROM records WHERE ${IN_RUN} AND created_at = {at:DateTime64(6, 'UTC')} AND id = {trace:UUID} ORDER BY version DESC LIMIT 1`,
      params: { ...params, at: createdAt },
      ...ONE_THREAD,
      row: (row) => (row as { trace_is_complete: boolean }).trace_is_complete,
    });
    return isComplete === undefined ? undefined : { id: traceId, trace_is_complete: isComplete };
  };
  const [{ first, last, children, trace }, records] = await Promise.all([place(), readRecords(clickhouse, run, [key])]);
  return {
    ...{ first, last, children: Number(children), newest: timeOfColumn(last) },
    records: records.filter(({ trace_id }) => trace_id === traceId),
    trace: trace === '' ? undefined : await stateOfTrace(trace),
  };
}

async function readSpanRecords(clickhouse: ClickHouse, run: RunRef, span: SpanKey, limit: number): Promise<SpanRecords> {
  const { id, trace_id: traceId } = span;
  const { first, last, children, ...alone } = await readAlone(clickhouse, run, span);
  if (children === 0) return alone;
  const places = await clickhouse.query({
    name: 'places in a trace',
    sql: `SELECT * FROM (${PLACES}) WHERE type != '${LEFT}'`,
    params: { ...runParams(run), trace: traceId },
    row: toKey,
  });
  const wanted = subtree(places, id) ?? [];
  const records =
    wanted.length <= FEW_RECORDS
      ? await readRecords(clickhouse, run, wanted)
      : await readTraceWithin(clickhouse, run, { traceId, first, last, limit });
  return { ...alone, records: records.filter(({ trace_id }) => trace_id === traceId) };
}

/** The records of a trace, without those that were moved to another one and have left an older key behind. */
async function readTraceWithin(
  clickhouse: ClickHouse,
  run: RunRef,
  { traceId, first, last, limit }: { traceId: string; first: string; last: string; limit: number },
  fields?: readonly string[],
) {
  const records = await readGroup(clickhouse, run, { column: 'trace_id', id: traceId, first, last, limit: limit + 1 }, fields);
  return records.filter(({ trace_id }) => trace_id === traceId);
}

/** Bytes of a trace or session that is read as a whole. */
const MAX_GROUP_BYTES = 128 * 1024 * 1024;

/**
 * The newest versions of all records that a key puts into one trace or session. The time range comes first: it is what the record table is
 * ordered by, and keeps the wide columns of all others unread.
 */
async function readGroup(
  clickhouse: ClickHouse,
  run: RunRef,
  group: { column: 'trace_id' | 'session_id'; id: string; first: string; last: string; limit: number },
  fields?: readonly string[],
) {
  const { select, row } = recordRows(run, fields);
  return clickhouse.query({
    name: `records by ${group.column}`,
    sql: `SELECT ${select} FROM records
          WHERE ${IN_RUN} AND created_at BETWEEN {first:DateTime64(6, 'UTC')} AND {last:DateTime64(6, 'UTC')}
            AND id IN (SELECT id FROM ${keysBy[group.column]} WHERE ${IN_RUN} AND ${group.column} = {group:UUID})
          ORDER BY version DESC LIMIT 1 BY id LIMIT ${group.limit}`,
    params: { ...runParams(run), group: group.id, first: group.first, last: group.last },
    row,
    maxResultBytes: MAX_GROUP_BYTES,
  });
}
