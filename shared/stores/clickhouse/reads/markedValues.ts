import { z } from 'zod';
import type { ValueState } from '../../../experiments/experiment.ts';
import type { RunRef } from '../../../projects/runs.ts';
import { type FileReads, filesOf, type KnownFiles } from '../../../records/fileReads.ts';
import { valueKey } from '../../../scoring/metricValue.ts';
import type { FreshRecord, LackingQuery, LackingTrace, MarkedValue, MarkStore } from '../../../scoring/scoring.ts';
import { type RecordKind, recordKinds } from '../../../wire/recordKinds.ts';
import { IN_RUN, runParams, timeOfColumn, timeParam } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { type MetricRow, TAKEN_BACK } from '../tables/metricRow.ts';
import { keysBy } from '../tables/tables.ts';

const keysOf = (column: keyof typeof keysBy) =>
  `SELECT created_at, id FROM ${keysBy[column]} WHERE ${IN_RUN} AND ${column} IN {ids:Array(UUID)}`;
const whole = z.string().transform(Number);

/** A pass over the marks lasts as long as their scoring. */
const MAX_SECONDS = 24 * 3600;
/** No record is older: times of the wire begin here. */
const EARLIEST = '1900-01-01T00:00:00.000000Z';
const MARKED = `${IN_RUN} AND record_created_at >= {from:DateTime64(6, 'UTC')} AND status IN ('pending', 'computing') AND isNotNull(scorer_id)`;
const MADE_BY = "concat(toString(scorer_id), '/', scorer_version)";
/** Runs of one statement. */
const RUNS_AT_ONCE = 1_000;

const Fresh = z.object({
  id: z.string(),
  created_at: z.string(),
  type: z.enum(recordKinds),
  trace_id: z.string().nullable(),
  name: z.string(),
  metadata: z.record(z.string(), z.string()),
  file_ids: z.array(z.string()),
  version: whole,
});
type FreshRow = z.output<typeof Fresh>;

const FRESH = 'id, created_at, type, trace_id, name, mapUpdate(user_metadata, dataset_metadata) AS metadata, file_ids, version';

/** Marks are rows of `metric_values` like all other states; a value that is computed takes the place of its mark. */
export function clickhouseMarks(clickhouse: ClickHouse, files: FileReads): MarkStore {
  const fresh = async (run: RunRef, rows: readonly FreshRow[], newest?: ReadonlyMap<string, number>): Promise<FreshRecord[]> => {
    const known = await filesOf(files, run, rows);
    return rows.map((row) => toFresh(row, known, newest?.get(row.id) ?? 0));
  };
  return {
    marked: (run, from, metrics) =>
      clickhouse.stream({
        name: 'marked values',
        sql: `SELECT record_id, record_created_at, record_type, trace_id, metric, scorer_id, scorer_version, version
                FROM metric_values FINAL WHERE ${MARKED} AND has({metrics:Array(String)}, ${MADE_BY})
               ORDER BY record_created_at DESC, record_id DESC`,
        params: {
          ...runParams(run),
          from: timeParam(from ?? EARLIEST),
          metrics: metrics.map(({ scorerId, scorerVersion }) => `${scorerId}/${scorerVersion}`),
        },
        row: toMarked,
        maxSeconds: MAX_SECONDS,
      }),

    markedMetrics: (run, from) =>
      clickhouse.query({
        name: 'metrics of marked values',
        sql: `SELECT DISTINCT scorer_id AS "scorerId", scorer_version AS "scorerVersion" FROM metric_values FINAL WHERE ${MARKED}`,
        params: { ...runParams(run), from: timeParam(from ?? EARLIEST) },
        row: z.object({ scorerId: z.string(), scorerVersion: z.string() }),
      }),

    lacking: (run, query) => clickhouse.stream({ ...lackingRead(run, query), row: toLacking, maxSeconds: MAX_SECONDS }),

    async unmark(run, exceptScorers) {
      const where = `${IN_RUN} AND status IN ('pending', 'computing') AND scorer_id NOT IN {scorers:Array(UUID)}`;
      const params = { ...runParams(run), scorers: exceptScorers };
      // A deletion takes a turn of every part of the table, and there is hardly ever anything left.
      const [some] = await clickhouse.query({
        name: 'marks that are left',
        sql: `SELECT 1 FROM metric_values FINAL WHERE ${where} LIMIT 1`,
        params,
        row: (row) => row,
      });
      if (some) await clickhouse.deleteFrom({ table: 'metric_values', where, params }).gone;
    },

    async countMarked(run, scorerIds, markedTo) {
      const [counted] = await clickhouse.query({
        name: 'marks of a scoring',
        // A value that is being computed was marked earlier, whatever its version is.
        sql: `SELECT count() AS marks FROM metric_values FINAL
               WHERE ${IN_RUN} AND scorer_id IN {scorers:Array(UUID)} AND (status = 'computing' OR status = 'pending' AND version <= {to:UInt64})`,
        params: { ...runParams(run), scorers: scorerIds, to: String(markedTo) },
        row: z.object({ marks: whole }),
      });
      return counted?.marks ?? 0;
    },

    touchedTraces: (run, since) =>
      clickhouse.stream({
        name: 'traces written of late',
        sql: `SELECT DISTINCT trace_id AS id FROM records WHERE ${IN_RUN} AND version > {since:UInt64} AND isNotNull(trace_id)`,
        params: { ...runParams(run), since: String(since) },
        row: (row) => (row as { id: string }).id,
        maxSeconds: MAX_SECONDS,
      }),

    async freshRecords(run, traceIds, kinds, withSpans) {
      const params = { ...runParams(run), ids: traceIds, kinds: ['trace', ...kinds] };
      const inTraces = `${IN_RUN} AND (created_at, id) IN (${keysOf('trace_id')}) AND trace_id IN {ids:Array(UUID)}`;
      const [rows, newest] = await Promise.all([
        clickhouse.query({
          name: 'new records',
          sql: `SELECT ${FRESH}, trace_is_complete AS complete
                  FROM records FINAL WHERE ${inTraces} AND type IN {kinds:Array(String)}`,
          params,
          row: Fresh.extend({ complete: z.coerce.boolean() }),
        }),
        withSpans ? newestInTraces(clickhouse, inTraces, params) : new Map<string, number>(),
      ]);
      const complete = new Set(rows.flatMap((row) => (row.type === 'trace' && row.complete ? [row.id] : [])));
      const wanted = rows.filter((row) => complete.has(row.trace_id ?? '') && (kinds as readonly string[]).includes(row.type));
      return fresh(run, wanted, newest);
    },

    touchedSessions: (run, since) =>
      clickhouse.stream({
        name: 'sessions written of late',
        // A trace without a session carries its own id.
        sql: `SELECT session_id AS id, max(version) AS newest FROM records
               WHERE ${IN_RUN} AND version > {since:UInt64} AND isNotNull(trace_id) AND session_id != trace_id GROUP BY session_id`,
        params: { ...runParams(run), since: String(since) },
        row: (row) => ({ id: (row as { id: string }).id, version: Number((row as { newest: string }).newest) }),
        maxSeconds: MAX_SECONDS,
      }),

    async scoringTargets(run, ids) {
      const rows = await clickhouse.query({
        name: 'records to choose from',
        sql: `SELECT ${FRESH} FROM records FINAL WHERE ${IN_RUN} AND (created_at, id) IN (${keysOf('id')})`,
        params: { ...runParams(run), ids },
        row: Fresh,
      });
      return fresh(run, rows);
    },

    async freshSessions(run, sessionIds) {
      const rows = await clickhouse.query({
        name: 'sessions to score',
        sql: `SELECT ${FRESH} FROM records FINAL WHERE ${IN_RUN} AND (created_at, id) IN (${keysOf('id')}) AND type = 'session'`,
        params: { ...runParams(run), ids: sessionIds },
        row: Fresh,
      });
      return fresh(run, rows);
    },

    async valueVersions(run, recordIds, metrics) {
      const rows = await clickhouse.query({
        name: 'versions of values',
        sql: `SELECT record_id AS id, metric, max(version) AS newest FROM metric_values
               WHERE ${IN_RUN} AND metric IN {metrics:Array(String)} AND (record_created_at, record_id) IN (${keysOf('id')})
               GROUP BY record_id, metric`,
        params: { ...runParams(run), ids: recordIds, metrics },
        row: z.object({ id: z.string(), metric: z.string(), newest: whole }),
      });
      return new Map(rows.map(({ id, metric, newest }) => [valueKey(id, metric), newest]));
    },

    async newestValue(run) {
      const [row] = await clickhouse.query({
        name: 'newest value of a run',
        sql: `SELECT max(version) AS newest FROM metric_values WHERE ${IN_RUN}`,
        params: runParams(run),
        row: z.object({ newest: whole }),
      });
      return row?.newest ?? 0;
    },

    async newestVersions(runs) {
      const newest = new Map<string, number>();
      for (let from = 0; from < runs.length; from += RUNS_AT_ONCE) {
        const some = runs.slice(from, from + RUNS_AT_ONCE);
        const rows = await clickhouse.query({
          name: 'newest records of runs',
          sql: `SELECT run_id AS run, max(version) AS newest FROM records
                 WHERE project_id IN {projects:Array(UUID)} AND run_id IN {runs:Array(UUID)} GROUP BY run_id`,
          params: { projects: [...new Set(some.map(({ projectId }) => projectId))], runs: some.map(({ runId }) => runId) },
          row: z.object({ run: z.string(), newest: whole }),
        });
        for (const row of rows) newest.set(row.run, row.newest);
      }
      return newest;
    },
  };
}

/** Takes the place of a mark's version: a mark counts as a value whatever was written since. */
const MARK = '18446744073709551615';

/**
 * Conditions under which the values `h.held` of a trace `r` do not count for metric `m`. Each held value is (metric, version, failed, made by another
 * version of the metric, made by a scorer).
 */
const inState: Record<ValueState, string> = {
  missing: 'NOT arrayExists(v -> v.1 = m, h.held)',
  failed: '(arrayExists(v -> v.1 = m AND v.3, h.held) OR has(f.failing, m))',
  stale: 'arrayExists(v -> v.1 = m AND (v.4 OR v.2 < r.version), h.held)',
};
/** A scorer made it of what the row was before. */
const IS_OLDER = 'arrayExists(v -> v.1 = m AND v.2 < r.version AND v.5, h.held)';

function lackingRead(
  run: RunRef,
  { metrics, withSpans, ofSpans, failedBefore, unknownCounts, states, attempts, since, traceIds }: LackingQuery,
) {
  const inTraces = (keys: string) => (traceIds ? ` AND (${keys}) IN (${keysOf('id')})` : '');
  const below = `SELECT trace_id, max(version) AS newest FROM records WHERE ${IN_RUN} AND isNotNull(trace_id)
                  ${traceIds ? `AND (created_at, id) IN (${keysOf('trace_id')})` : ''} GROUP BY trace_id`;
  const traces = `SELECT id, created_at, version, attempt FROM records FINAL WHERE ${IN_RUN} AND type = 'trace'${inTraces('created_at, id')}`;
  const versioned = withSpans
    ? `SELECT t.id AS id, t.created_at AS created_at, greatest(t.version, b.newest) AS version, t.attempt AS attempt FROM (${traces}) AS t LEFT JOIN (${below}) AS b ON b.trace_id = t.id`
    : traces;
  const isMark = "status IN ('pending', 'computing')";
  const isOfVersion = 'scorer_version = {versions:Array(String)}[indexOf({metrics:Array(String)}, metric)]';
  const ofMetrics = `${IN_RUN} AND metric IN {metrics:Array(String)} AND NOT ${TAKEN_BACK}${inTraces('record_created_at, record_id')}`;
  // Values that callers computed have no scorer: they stay.
  const counts = `(${isMark} OR status NOT IN ('failed', 'error') OR version >= {failedBefore:UInt64}) AND
                  (isNull(scorer_id) OR ${isOfVersion}
                   ${unknownCounts ? "OR scorer_version = ''" : ''})`;
  const isAsked = [
    ...(states ? [`(${states.map((state) => inState[state]).join(' OR ')})`] : []),
    ...(attempts ? [`(r.attempt >= {fromAttempt:UInt32} OR r.attempt >= {leftFrom:UInt32} AND ${IS_OLDER})`] : []),
  ];
  const held = `LEFT JOIN (
              SELECT record_id, groupArray((toString(metric), version, status IN ('failed', 'error'), isNotNull(scorer_id) AND NOT ${isOfVersion}, isNotNull(scorer_id))) AS held
                FROM metric_values FINAL WHERE ${ofMetrics} GROUP BY record_id
            ) AS h ON h.record_id = r.id`;
  const failing = ofSpans.length
    ? `SELECT trace_id, groupUniqArray(toString(metric)) AS failing FROM metric_values FINAL
        WHERE ${IN_RUN} AND metric IN {ofSpans:Array(String)} AND record_type NOT IN ('trace', 'session') AND isNotNull(scorer_id)
          AND status IN ('failed', 'error') AND version < {failedBefore:UInt64}
          ${traceIds ? `AND (record_created_at, record_id) IN (${keysOf('trace_id')})` : ''} GROUP BY trace_id`
    : 'SELECT NULL::Nullable(UUID) AS trace_id, []::Array(String) AS failing WHERE false';
  const isHeld = `arrayExists(v -> v.1 = m AND v.2 >= r.version AND (v.2 = ${MARK} OR NOT has(f.failing, m)), s.good)`;
  return {
    name: 'traces that lack values',
    sql: `SELECT r.id AS id, r.created_at AS created_at, r.version AS version,
                 arrayFilter(m -> ${[`NOT ${isHeld}`, ...isAsked].join(' AND ')}, {metrics:Array(String)}) AS lacks
            FROM (SELECT id, created_at, version, attempt FROM (${versioned}) WHERE version > {since:UInt64}) AS r
            LEFT JOIN (
              SELECT record_id, groupArray((toString(metric), if(${isMark}, ${MARK}, version))) AS good FROM metric_values FINAL
               WHERE ${ofMetrics} AND ${counts} GROUP BY record_id
            ) AS s ON s.record_id = r.id
            LEFT JOIN (${failing}) AS f ON f.trace_id = r.id
            ${isAsked.length > 0 ? held : ''}
           WHERE notEmpty(lacks) ORDER BY created_at, id`,
    params: {
      ...runParams(run),
      metrics: metrics.map(({ name }) => name),
      versions: metrics.map(({ version }) => version),
      failedBefore: String(failedBefore),
      ...(ofSpans.length > 0 ? { ofSpans } : {}),
      since: String(since ?? 0),
      ...(attempts ? { fromAttempt: String(attempts.from), leftFrom: String(attempts.leftFrom) } : {}),
      ...(traceIds ? { ids: traceIds } : {}),
    },
  };
}

// A run may have millions of these rows: their fields are read by name, not parsed.
function toLacking(row: unknown): LackingTrace {
  const { id, created_at, version, lacks } = row as { id: string; created_at: string; version: string; lacks: string[] };
  return { id, createdAt: timeOfColumn(created_at), version: Number(version), metrics: lacks };
}

async function newestInTraces(clickhouse: ClickHouse, inTraces: string, params: Record<string, string | readonly string[]>) {
  const rows = await clickhouse.query({
    name: 'newest records of traces',
    sql: `SELECT trace_id AS id, max(version) AS newest FROM records WHERE ${inTraces} GROUP BY trace_id`,
    params,
    row: z.object({ id: z.string(), newest: whole }),
  });
  return new Map(rows.map(({ id, newest }) => [id, newest]));
}

// Rows of our own, of which a pass may have millions: read by name, not parsed.
function toMarked(row: unknown): MarkedValue {
  const of = row as MetricRow;
  return {
    recordId: of.record_id,
    createdAt: timeOfColumn(of.record_created_at),
    kind: of.record_type as RecordKind,
    traceId: of.trace_id,
    metric: of.metric,
    scorerId: of.scorer_id as string,
    scorerVersion: of.scorer_version,
    version: Number(of.version),
  };
}

const toFresh = (row: FreshRow, files: KnownFiles, newestBelow: number): FreshRecord => ({
  id: row.id,
  createdAt: timeOfColumn(row.created_at),
  kind: row.type as RecordKind,
  traceId: row.trace_id,
  name: row.name,
  metadata: row.metadata,
  modalities: ['text', ...new Set(row.file_ids.flatMap((id) => files.get(id)?.modality ?? []))],
  version: Math.max(row.version, newestBelow),
  ownVersion: row.version,
});
