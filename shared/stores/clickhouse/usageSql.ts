import { hasOwnColumn, type UsageMetric, usageMetrics, WITHOUT_COST } from '../../columns/systemMetrics.ts';
import { FAILED } from '../../records/failed.ts';
import type { StoredRecord } from '../../records/record.ts';

/** The kinds of records whose usage is a sum. */
export type Container = 'trace' | 'session';

const without = (record: string): string => `toNullable(toInt64(isNull(${record}.cost)))`;

/** What a model call has itself. */
export const ownUsage = (name: UsageMetric): string =>
  name === WITHOUT_COST ? `if(records.type = 'llm', ${without('records')}, NULL)` : `records.${name}`;

/** Of one trace: the sum over its model calls, of those that say. Where none does, what was logged with the trace itself stands. */
const ofTrace = (name: UsageMetric): string =>
  name === WITHOUT_COST
    ? `sumOrNullIf(${without('records')}, records.type = 'llm')`
    : `ifNull(sumOrNullIf(records.${name}, records.type = 'llm'), anyIf(records.${name}, records.type = 'trace'))`;

/** Rows of `container` and these names: the sums of each trace or session. @param from the newest versions of records @param where limits them */
export function usageSql(
  container: Container,
  names: readonly UsageMetric[],
  { from, where }: { from: string; where: string },
): string {
  const rows = traceRows(from, where);
  if (container === 'trace') return `SELECT assumeNotNull(records.trace_id) AS container, ${sumsSql(names)} ${rows}`;
  const ofTraces = `SELECT any(records.session_id) AS session, ${names.map((name) => `${ofTrace(name)} AS of_${name}`).join(', ')} ${rows}`;
  return `SELECT session AS container, ${names.map((name) => `sumOrNull(of_${name}) AS ${name}`).join(', ')} FROM (${ofTraces}) GROUP BY session`;
}

/** What a model call used, as its row of `trace_members` has it; never empty. */
export function usageOf({ metrics }: StoredRecord): Record<string, number> {
  const usage: Record<string, number> = {};
  for (const name of usageMetrics) {
    const value = metrics?.[name];
    if (hasOwnColumn(name, value)) usage[name] = value;
  }
  usage[WITHOUT_COST] = usage.cost === undefined ? 1 : 0;
  return usage;
}

/**
 * Over the newest rows of the records of a trace: the sums over its model calls, without those that no call says. The reader has the trace's
 * record, whose own values stand where there is no sum.
 */
export const SUMS_OF_MEMBERS =
  "sumMapIf(usage, type = 'llm') AS sums, toUInt32(countIf(type = 'llm' AND empty(usage))) AS unknown";

export interface SumsOfMembers {
  sums: Record<string, number>;
  /** Calls whose row does not say what they used, as a former release wrote it. */
  unknown: number;
}

/** The same sums from the records, for traces with such calls: rows of `container` and every usage metric, null where no call says. */
export const sumsOfCallsSql = ({ from, where }: { from: string; where: string }): string =>
  `SELECT assumeNotNull(records.trace_id) AS container, ${usageMetrics.map(sumOfCalls).join(', ')} FROM ${from} WHERE ${where} AND records.type = 'llm' GROUP BY records.trace_id`;

const sumOfCalls = (name: UsageMetric): string =>
  `sumOrNull(${name === WITHOUT_COST ? without('records') : `records.${name}`}) AS ${name}`;

const traceRows = (from: string, where: string): string =>
  `FROM ${from} WHERE ${where} AND records.type IN ('llm', 'trace') GROUP BY records.trace_id`;

const sumsSql = (names: readonly UsageMetric[]): string => names.map((name) => `${ofTrace(name)} AS ${name}`).join(', ');

/** The traces of a run, each with its duration, these sums, and whether it failed. */
export const tracesWithUsageSql = (names: readonly UsageMetric[], where: string): string =>
  `SELECT anyIf(records.duration_ns, records.type = 'trace') AS duration_ns, anyIf(${FAILED}, records.type = 'trace') AS failed, ${sumsSql(names)}
   ${traceRows('records FINAL', where)} HAVING countIf(records.type = 'trace') > 0`;
