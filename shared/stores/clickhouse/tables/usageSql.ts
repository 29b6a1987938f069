import { type UsageMetric, usageMetrics, WITHOUT_COST } from '../../../columns/systemMetrics.ts';
import { FAILED } from '../../../records/failed.ts';

/** The kinds of records whose usage is a sum. */
export type Container = 'trace' | 'session';

const without = (record: string): string => `toNullable(toInt64(isNull(${record}.cost)))`;

const ofCost: ReadonlySet<string> = new Set(['cost', WITHOUT_COST]);

/** Tests whether a figure of a record is in the sums of its trace (see `countedUsage`). Former releases did not say: all of calls is. @param of the record */
export function isCounted(name: UsageMetric, of = 'records.'): string {
  const alone = ofCost.has(name) ? 'cost' : 'tokens';
  return `ifNull(${of}counted_usage IN ('all', '${alone}'), ${of}type = 'llm')`;
}

/** Selects what a span has itself. */
export const ownUsage = (name: UsageMetric): string =>
  name === WITHOUT_COST ? `if(records.type = 'llm', ${without('records')}, NULL)` : `records.${name}`;

/** Selects the sum over what counts in one trace. Where nothing does, what was logged with the trace itself stands. */
const ofTrace = (name: UsageMetric): string =>
  name === WITHOUT_COST
    ? `sumOrNullIf(${without('records')}, ${isCounted(name)})`
    : `ifNull(sumOrNullIf(records.${name}, ${isCounted(name)}), anyIf(records.${name}, records.type = 'trace'))`;

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

const COUNTED = "ifNull(counted_usage, if(type = 'llm', 'all', 'none'))";
const COSTS = `name IN (${[...ofCost].map((name) => `'${name}'`).join(', ')})`;
const USAGE = `if(${COUNTED} = 'all', usage, mapFilter((name, value) -> (${COSTS}) = (${COUNTED} = 'cost'), usage))`;

/**
 * Over the newest rows of the records of a trace: the sums over what counts, without those that nothing says. The reader has the trace's
 * record, whose own values stand where there is no sum.
 */
export const SUMS_OF_MEMBERS = `sumMapIf(${USAGE}, ${COUNTED} != 'none') AS sums, toUInt32(countIf(type = 'llm' AND empty(usage))) AS unknown`;

export interface SumsOfMembers {
  /** By the names of `usageMetrics`, without those that no span says. */
  sums: Record<string, number>;
  /** Calls whose row does not say what they used, as a former release wrote it. */
  unknown: number;
}

/** The newest rows of its records say this of a trace; the sums where they were asked for. */
export interface TraceFigures extends Partial<SumsOfMembers> {
  trace: string;
  isStored: boolean;
  /** Those that have children: of the records that were named, or of all. */
  parents: string[];
}

/** The same sums from the records, for traces with such calls: rows of `container` and every usage metric, null where no call says. */
export const sumsOfCallsSql = ({ from, where }: { from: string; where: string }): string =>
  `SELECT assumeNotNull(records.trace_id) AS container, ${usageMetrics.map(sumOfCalls).join(', ')} FROM ${from} WHERE ${where} AND ${HAS_USAGE} GROUP BY records.trace_id`;

const sumOfCalls = (name: UsageMetric): string =>
  `sumOrNullIf(${name === WITHOUT_COST ? without('records') : `records.${name}`}, ${isCounted(name)}) AS ${name}`;

/** Records of which something may count. */
const HAS_USAGE = "(records.type = 'llm' OR isNotNull(records.counted_usage))";

const traceRows = (from: string, where: string): string =>
  `FROM ${from} WHERE ${where} AND (records.type = 'trace' OR ${HAS_USAGE}) GROUP BY records.trace_id`;

const sumsSql = (names: readonly UsageMetric[]): string => names.map((name) => `${ofTrace(name)} AS ${name}`).join(', ');

/** The traces of a run, each with its duration, these sums, and whether it failed. */
export const tracesWithUsageSql = (names: readonly UsageMetric[], where: string): string =>
  `SELECT anyIf(records.duration_ns, records.type = 'trace') AS duration_ns, anyIf(${FAILED}, records.type = 'trace') AS failed, ${sumsSql(names)}
   ${traceRows('records FINAL', where)} HAVING countIf(records.type = 'trace') > 0`;

/** The traces of several runs, each with the id of its run, its own id, its duration and these sums. Two runs may hold traces of one id. */
export const tracesOfRunsSql = (names: readonly UsageMetric[], { from, where }: { from: string; where: string }): string =>
  `SELECT records.run_id AS run, assumeNotNull(records.trace_id) AS trace, anyIf(records.duration_ns, records.type = 'trace') AS duration_ns, ${sumsSql(names)}
   ${traceRows(from, where)}, records.run_id`;
