import { usageMetrics } from '../../../columns/systemMetrics.ts';
import type { RecordRun } from '../../../records/searchRecords.ts';
import { Binder } from '../binder.ts';
import { type ClickHouse, threadsFor } from '../clickHouse.ts';
import { type Scope, scopeOf } from '../filters/columnSql.ts';
import { keysBy } from '../tables/tables.ts';
import { type Container, SUMS_OF_MEMBERS, sumsOfCallsSql, type TraceFigures, usageSql } from '../tables/usageSql.ts';

// The records of traces: what a page shows of them beside their own records.

/** A statement names at most this many parents; for more records it looks their parents up by itself. */
const MAX_NAMED = 1_000;

type Queries = Pick<ClickHouse, 'query'>;

/** The newest row of every record of these traces: id, trace_id, type and what else is named. */
export function membersSql({ bind, inRun }: Scope, traceIds: readonly string[], more = ''): string {
  const wanted = bind(traceIds, 'Array(UUID)');
  return `SELECT id, trace_id, type${more} FROM trace_members WHERE ${inRun} AND trace_id IN ${wanted} ORDER BY version DESC LIMIT 1 BY trace_id, id`;
}

/** Takes the members of traces from the writer where it knows them, and from the table otherwise. */
export async function membersOf(
  clickhouse: Pick<ClickHouse, 'query' | 'writtenTraces' | 'settled'>,
  run: RecordRun,
  traces: readonly string[],
  reading: { among?: readonly string[]; withSums?: boolean } = {},
): Promise<TraceFigures[]> {
  // In a run with a retention some spans of a trace may have expired, so the written traces do not give the sums.
  const written = run.expiry ? undefined : clickhouse.writtenTraces;
  if (written) await clickhouse.settled?.(run);
  const known = traces.flatMap((trace) => written?.get(run, trace) ?? []);
  const isKnown = new Set(known.map(({ trace }) => trace));
  const others = traces.filter((trace) => !isKnown.has(trace));
  return [...known, ...(await storedMembersOf(clickhouse, run, others, reading))];
}

async function storedMembersOf(
  clickhouse: Queries,
  run: RecordRun,
  traces: readonly string[],
  { among, withSums = true }: { among?: readonly string[]; withSums?: boolean },
): Promise<TraceFigures[]> {
  if (traces.length === 0) return [];
  const binder = new Binder();
  const members = membersSql(
    scopeOf(binder.bind, run),
    traces,
    `${among ? ', parent_id' : ''}${withSums ? ', usage, counted_usage' : ''}`,
  );
  const parents = among ? parentsSql(binder, among) : '[]';
  return clickhouse.query({
    name: 'members of traces',
    sql: `SELECT trace_id AS trace, countIf(type = 'trace') > 0 AS isStored, ${parents} AS parents${withSums ? `, ${SUMS_OF_MEMBERS}` : ''}
          FROM (${members}) GROUP BY trace_id`,
    params: binder.params,
    ...threadsFor(traces),
    row: (row) => row as TraceFigures,
  });
}

/** The records of a trace that have children; of more than a few records these are fewer than the records to look for. */
const parentsSql = ({ bind }: Binder, among: readonly string[]): string =>
  `groupUniqArrayIf(assumeNotNull(parent_id), ${among.length > MAX_NAMED ? 'isNotNull(parent_id)' : `parent_id IN ${bind(among, 'Array(UUID)')}`})`;

type UsageOf = [container: string, sums: Record<string, number>];

export async function usageOfTraces(clickhouse: Queries, run: RecordRun, members: readonly TraceFigures[]): Promise<UsageOf[]> {
  const known: UsageOf[] = [];
  const others: string[] = [];
  for (const { trace, sums, unknown } of members) {
    if (sums && unknown === 0) known.push([trace, sums]);
    else others.push(trace);
  }
  return [...known, ...(await usageOfRecords(clickhouse, run, 'trace', others))];
}

/** Read from the records themselves. */
export async function usageOfRecords(
  clickhouse: Queries,
  run: RecordRun,
  container: Container,
  group: readonly string[],
): Promise<UsageOf[]> {
  if (group.length === 0) return [];
  const binder = new Binder();
  const { bind, inRun } = scopeOf(binder.bind, run);
  const column = `${container}_id` as const;
  const wanted = bind(group, 'Array(UUID)');
  const where = `${inRun} AND created_at IN (SELECT created_at FROM ${keysBy[column]} WHERE ${inRun} AND ${column} IN ${wanted}) AND ${column} IN ${wanted}`;
  const newest = { from: 'records FINAL', where };
  return clickhouse.query({
    name: `usage of the records of ${container}s`,
    sql: container === 'trace' ? sumsOfCallsSql(newest) : usageSql(container, usageMetrics, newest),
    params: binder.params,
    ...(container === 'trace' && threadsFor(group)), // a session may have any number of records
    row: usageOfRow,
  });
}

/** 64-bit integers arrive as text. */
const usageOfRow = (row: unknown): UsageOf => {
  const { container, ...sums } = row as Record<string, string | number | null>;
  const known = Object.entries(sums).flatMap(([name, sum]) => (sum === null ? [] : [[name, Number(sum)] as const]));
  return [String(container), Object.fromEntries(known)];
};
