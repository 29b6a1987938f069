import type { ColumnDef } from '../../../columns/columnDef.ts';
import { type UsageMetric, WITHOUT_COST } from '../../../columns/systemMetrics.ts';
import type { Expiry, RunRef } from '../../../projects/runs.ts';
import { type RecordKind, recordKinds } from '../../../wire/recordKinds.ts';
import { type Bind, TIME, timeParam } from '../binder.ts';
import { byMerging, type NewestVersions, STALE_TABLE } from '../tables/newestVersions.ts';
import { type Container, ownUsage, usageSql } from '../tables/usageSql.ts';

/** The run that a statement reads, as bound text: every read is limited to it. */
export interface Scope {
  bind: Bind;
  /** `project_id = {…} AND run_id = {…}`, without what has expired: of records, keys and members. */
  inRun: string;
  /** The same of metric values. */
  scoresInRun: string;
  /** The source of the newest versions of the run's records, when `newest` is the condition. */
  from: NewestVersions['from'];
  /** `inRun`, without rows that are known to be stale. */
  newest: string;
  /** The kinds that a statement asks for; undefined where it may meet any. */
  kinds?: readonly RecordKind[];
}

export const scopeOf = (bind: Bind, run: RunRef, newest: NewestVersions = byMerging): Scope => scopeOfRuns(bind, [run], [newest]);

/** Several runs of one project, read by one statement: planning it takes as long as reading thousands of rows. */
export function scopeOfRuns(
  bind: Bind,
  runs: readonly RunRef[],
  newest: readonly NewestVersions[] = runs.map(() => byMerging),
): Scope {
  const ofProject = `project_id = ${bind(runs[0]?.projectId ?? '', 'UUID')}`;
  const ids = runs.map(({ runId }) => bind(runId, 'UUID'));
  const ofRuns = `${ofProject} AND ${ids.length === 1 ? `run_id = ${ids[0]}` : `run_id IN (${ids.join(', ')})`}`;
  const without = (columns: [time: string, id: string]): string => {
    const ofEach = runs.map(({ expiry }, index) => {
      const ofRun = `${ofProject} AND run_id = ${ids[index]}`;
      return `${ofRun}${unexpiredSql(bind, expiry, ofRun, columns)}`;
    });
    if (ofEach.length === 1) return ofEach.join();
    return runs.some(({ expiry }) => expiry) ? `${ofRuns} AND (${ofEach.map((one) => `(${one})`).join(' OR ')})` : ofRuns;
  };
  const inRun = without(['created_at', 'id']);
  const stale = newest.flatMap((of, index) =>
    of.stale.length === 0 ? [] : [` AND NOT (run_id = ${ids[index]} AND ${isStale(bind, of.stale)})`],
  );
  if (newest.some(({ areListed }) => areListed)) stale.push(` AND (run_id, id, version) NOT IN ${STALE_TABLE}`);
  return {
    bind,
    inRun,
    scoresInRun: without(['record_created_at', 'record_id']),
    from: newest.some(({ from }) => from === 'records FINAL') ? 'records FINAL' : 'records',
    newest: `${inRun}${stale.join('')}`,
  };
}

/**
 * For pages in the order of a table: a part is read as far as the page needs it, not in blocks of its own (offset 10,000 of 0.4 M records: 10 ms of
 * CPU instead of 18; the newest 50 of 2 M values of a metric that a filter keeps a tenth of: 18,000 rows and 14 ms instead of 1 M and 99).
 */
export const IN_ORDER = { read_in_order_use_buffering: 0 };

/** Orders UUIDs as their texts are ordered; the engine's own order begins with their second half. */
export const idOrder = (uuid: string): string => `toUInt128(${uuid})`;

/** ` AND …` for the rows that have not expired; empty where nothing expires, as nearly always. */
export function unexpiredSql(
  bind: Bind,
  expiry: Expiry | undefined,
  ofRun: string,
  [time, id]: [time: string, id: string],
): string {
  if (!expiry) return '';
  const { before, kept } = expiry;
  const since = bind(timeParam(before), TIME);
  if (kept.length === 0) return ` AND ${time} >= ${since}`;
  const containers =
    kept === 'many'
      ? `(SELECT arrayJoin([assumeNotNull(trace_id), session_id]) FROM records WHERE ${ofRun} AND created_at >= ${since} AND isNotNull(trace_id))`
      : bind(kept, 'Array(UUID)');
  return ` AND (${time} >= ${since} OR ifNull(trace_id, ${id}) IN ${containers})`;
}

/** ` AND …` for the records of these kinds; empty where these are all. */
export const ofKindsSql = (bind: Bind, kinds: readonly RecordKind[], column: 'type' | 'record_type' = 'type'): string =>
  recordKinds.every((kind) => kinds.includes(kind)) ? '' : ` AND ${column} IN ${bind(kinds, 'Array(String)')}`;

export function isStale(bind: Bind, stale: NewestVersions['stale']): string {
  const ids = bind(
    stale.map(({ id }) => id),
    'Array(UUID)',
  );
  const versions = bind(
    stale.map(({ version }) => version),
    'Array(UInt64)',
  );
  return `((id, version) IN (SELECT row.1, row.2 FROM (SELECT arrayJoin(arrayZip(${ids}, ${versions})) AS row)))`;
}

/** How a column is read in a query over the newest versions of a run's records. */
export interface ColumnSql {
  /** The value; NULL where the record has none. */
  value: string;
  /** The value with the empty text for NULL, in the form that a text index is declared over. */
  text: string;
  /** Turns a condition on `value` into one on the record. */
  onRecord(condition: string): string;
  /** True when `value` reads other records of the run. */
  readsOthers?: true;
  /** True when `value` is a column of a table that `onRecord` reads: conditions about it become one condition there. */
  isLookedUp?: true;
}

const same = (condition: string): string => condition;
const derived = (value: string): ColumnSql => ({ value, text: value, onRecord: same });
const textTypes = { integer: 'number', floating_point: 'number', boolean: 'number', string_list: 'texts' } as const;

/** Where a score stands in `metric_values`, by the data type of the metric. */
export const metricValueColumn = (column: ColumnDef): 'number' | 'text' | 'texts' =>
  textTypes[column.dataType as keyof typeof textTypes] ?? 'text';

/** Scores that are values; the other states (failed, pending …) have none. */
export const HAS_VALUE = "status IN ('success', 'roll_up')";

export function columnSql(column: ColumnDef, scope: Scope): ColumnSql {
  const { bind, scoresInRun, from, newest, kinds } = scope;
  const { source } = column;
  switch (source.at) {
    case 'record': {
      const name = source.name ?? column.id;
      return { value: name, text: source.sqlType.includes('Nullable') ? `ifNull(${name}, '')` : name, onRecord: same };
    }
    case 'map': {
      const key = bind(source.key, 'String');
      const value = `${source.column}[${key}]`;
      return { value: `if(mapContains(${source.column}, ${key}), ${value}, NULL)`, text: value, onRecord: same };
    }
    case 'trace': {
      // A trace needs no look-up: among 20 M records, 2.5 M traces would be looked up in a list of themselves.
      if (kinds?.every((kind) => kind === 'trace')) return derived(source.column);
      const containers = `SELECT id FROM ${from} WHERE ${newest} AND type = 'trace' AND ${source.column} != ${source.absent}`;
      const found = source.absent ? `trace_id NOT IN (${containers})` : `trace_id IN (${containers})`;
      return { ...derived(`if(isNull(trace_id), NULL, ${found})`), readsOthers: true };
    }
    case 'usage':
      return usageColumn(source.name, scope);
    case 'children':
      return {
        ...derived(
          `if(type = 'session', NULL, id IN (SELECT assumeNotNull(parent_id) FROM ${from} WHERE ${newest} AND isNotNull(parent_id)))`,
        ),
        readsOthers: true,
      };
    case 'metric': {
      const rows = `SELECT record_created_at, record_id FROM metric_values FINAL WHERE ${scoresInRun} AND metric = ${bind(source.metric, 'String')} AND ${HAS_VALUE}`;
      const value = metricValueColumn(column);
      return {
        value: column.dataType === 'boolean' ? `multiIf(${value} = 1, true, ${value} = 0, false, NULL)` : value,
        text: `ifNull(${value}, '')`,
        isLookedUp: true,
        // By the order of the record table, so that few values lead to few granules.
        onRecord: (condition) => `(created_at, id) IN (${rows} AND (${condition}))`,
      };
    }
  }
}

/** The kinds of records in question whose usage is a sum. */
export const containersOf = (kinds: readonly RecordKind[] | undefined): Container[] =>
  (['trace', 'session'] as const).filter((kind) => kinds?.includes(kind) ?? true);

function usageColumn(name: UsageMetric, { from, newest, kinds }: Scope): ColumnSql {
  const containers = containersOf(kinds);
  if (containers.length === 0) return derived(ownUsage(name));
  const asksSpans = kinds?.every((kind) => kind === 'trace' || kind === 'session') !== true && name !== WITHOUT_COST;
  const found = (container: Container, condition: string): string =>
    `(type = '${container}' AND id IN (SELECT container FROM (${usageSql(container, [name], { from, where: newest })}) WHERE ${condition}))`;
  return {
    value: name,
    text: name,
    isLookedUp: true,
    onRecord: (condition) =>
      `(${[
        ...containers.map((container) => found(container, condition)),
        ...(asksSpans ? [`(type NOT IN ('trace', 'session') AND ${condition})`] : []),
      ].join(' OR ')})`,
  };
}
