import { type ColumnDef, filterTypeOf } from '../../../columns/columnDef.ts';
import { ServiceError } from '../../../errors/errors.ts';
import type { FindColumn } from '../../../records/findColumn.ts';
import type { ColumnFilter, ColumnLeaf } from '../../../wire/filters.ts';
import { type Bind, numberParam, TIME, timeParam } from '../binder.ts';
import { keysBy } from '../tables/tables.ts';
import { canonicalFilter } from './canonicalFilter.ts';
import { type ColumnSql, columnSql, type Scope } from './columnSql.ts';

/** Limits one filter, beside its depth and size (shared/wire/filters.ts). A filter beyond them is answered 422, before anything is read. */
export const filterBudget = {
  /** Different conditions on derived columns and ids: each reads another table, or the run once more. */
  derived: 32,
  /** Places in which they stand once equal parts are one: the engine plans each by itself, with the ids of a run's rewritten records (1.7 MB). */
  lookUps: 100,
  /** Values of `contains` in all: each is looked for in every text. 1,000 in 20,000 texts of 1 KB take 1.2 s, 10,000 of them 13 s. */
  parts: 1_000,
  /** Values of all other lists. */
  values: 200_000,
};

export interface CompiledFilter {
  sql: string;
  /** True when the SQL has subqueries that take long: those that read other records or values, and long lists. */
  hasLargeSubqueries: boolean;
}

/**
 * Boolean SQL of a filter over the newest versions of a run's records. Only names of the registry reach the text; every value goes through `scope.bind`.
 * A record that lacks a value matches no leaf on its column, `ne` and `not_in` included; so `not` keeps it.
 * @throws ServiceError `ColumnUnknown`; `ColumnNotFilterable`, also for a leaf that does not fit its column; `QueryTooExpensive` beyond `filterBudget`.
 */
export function compileFilter(filter: ColumnFilter, scope: Scope, findColumn: FindColumn): CompiledFilter {
  const canonical = withinBudget(canonicalFilter(filter));
  const derived = new Map<string, string>();
  /** A subquery stands in the text once, however often the filter names it. */
  let lookUps = 0;
  let hasLargeSubqueries = false;
  const once = (sql: string): string => {
    lookUps++;
    const name = derived.get(sql);
    if (name !== undefined) return name;
    derived.set(sql, `derived_${derived.size}`);
    return `(${sql} AS derived_${derived.size - 1})`;
  };
  const onRecord = ({ sql, condition }: Compiled): string => (sql ? once(sql.onRecord(condition)) : condition);
  const compile = (inner: ColumnFilter): Compiled => {
    if ('and' in inner) return joined(inner.and.map(compile), ' AND ', 'true');
    if ('or' in inner) return joined(inner.or.map(compile), ' OR ', 'false');
    if ('not' in inner) return { condition: `NOT ifNull(${onRecord(compile(inner.not))}, false)` };
    const leaf = inner.filter;
    const { column, sql, condition } = readLeaf(leaf, scope, findColumn);
    hasLargeSubqueries ||= sql.isLookedUp || sql.readsOthers || isLongList(leaf);
    if (sql.isLookedUp) return { condition: condition(sql), sql, metric: column.id };
    if (sql.readsOthers) return { condition: condition({ ...sql, value: once(sql.value) }) };
    return { condition: readsKeys(leaf) ? once(condition(sql)) : condition(sql) };
  };
  /** Parts about the same metric become one condition on its values, of which a record has at most one. */
  const joined = (parts: Compiled[], by: ' AND ' | ' OR ', none: 'true' | 'false'): Compiled => {
    const [first] = parts;
    if (!first) return { condition: none };
    const groups = [...Map.groupBy(parts, ({ metric }) => metric)].flatMap(([metric, some]): Compiled[] =>
      metric === undefined
        ? some
        : [
            {
              ...(some[0] as Compiled),
              condition: allOf(
                some.map(({ condition }) => condition),
                by,
              ),
            },
          ],
    );
    const [only] = groups;
    return groups.length === 1 && only ? only : { condition: allOf(groups.map(onRecord), by) };
  };
  const sql = onRecord(compile(canonical));
  if (lookUps > filterBudget.lookUps) {
    const asked = `it tests metrics, is_complete, has_children, id and trace_id in ${lookUps} different groups`;
    throw tooExpensive(`${asked}, and at most ${filterBudget.lookUps} may be; put what they have in common before the groups`);
  }
  if (derived.size > filterBudget.derived) {
    const asked = `it has ${derived.size} different conditions on metrics, is_complete, has_children, id and trace_id`;
    throw tooExpensive(
      `${asked}, and at most ${filterBudget.derived} may be asked for; join conditions on one column, or ask in several requests`,
    );
  }
  return { sql, hasLargeSubqueries };
}

/** More ids than this are bound as one text: of 80,000 in an array the engine's analysis takes 35 s, of the text all of it 1 s. */
const MAX_ARRAY = 2_000;

/** A list of ids that is bound as one text, or one of texts as long: `idList` and `textSet` make subqueries of them. */
const isLongList = ({ type, operator, value }: ColumnLeaf): boolean =>
  (type === 'id' || type === 'text' || type === 'collection') && operator !== 'contains' && list(value).length > MAX_ARRAY;

interface Compiled {
  condition: string;
  /** Set for a condition on the values of one metric, which `onRecord` turns into one on the record. */
  sql?: ColumnSql;
  metric?: string;
}

const allOf = (conditions: readonly string[], by: ' AND ' | ' OR '): string => `(${conditions.join(by)})`;

/** @throws ServiceError `QueryTooExpensive` where its values are too many; equal leaves count once. */
function withinBudget(filter: ColumnFilter): ColumnFilter {
  let parts = 0;
  let values = 0;
  for (const { type, operator, value } of new Set(leavesOf(filter))) {
    const count = Array.isArray(value) ? value.length : 1;
    if (operator === 'contains' && type !== 'collection') parts += count;
    else values += count;
  }
  if (parts > filterBudget.parts)
    throw tooExpensive(
      `its contains look for ${parts} values in all, and at most ${filterBudget.parts} may be; send fewer values, or ask in several requests`,
    );
  if (values > filterBudget.values)
    throw tooExpensive(
      `its lists have ${values} values in all, and at most ${filterBudget.values} may be given; send fewer values, or ask in several requests`,
    );
  return filter;
}

function leavesOf(filter: ColumnFilter): ColumnLeaf[] {
  if ('filter' in filter) return [filter.filter];
  if ('not' in filter) return leavesOf(filter.not);
  return ('and' in filter ? filter.and : filter.or).flatMap(leavesOf);
}

const tooExpensive = (reason: string): ServiceError =>
  new ServiceError('QueryTooExpensive', `the filter is too expensive: ${reason}`, { context: { limit: 'filter' } });

/**
 * The same filter as a condition on the values of `metric` in `metric_values`, where every leaf is about that one metric; undefined otherwise, and
 * with a `not`, which keeps records without a value.
 */
export function compileOverValues(
  filter: ColumnFilter,
  metric: string,
  scope: Scope,
  findColumn: FindColumn,
): string | undefined {
  const compile = (inner: ColumnFilter): string | undefined => {
    if ('not' in inner) return undefined;
    if ('filter' in inner) {
      const { column, sql, condition } = readLeaf(inner.filter, scope, findColumn);
      return column.source.at === 'metric' && column.source.metric === metric ? condition(sql) : undefined;
    }
    const parts = ('and' in inner ? inner.and : inner.or).map(compile);
    if (parts.length === 0 || parts.includes(undefined)) return undefined;
    return `(${parts.join('and' in inner ? ' AND ' : ' OR ')})`;
  };
  return compile(withinBudget(canonicalFilter(filter)));
}

function readLeaf(leaf: ColumnLeaf, scope: Scope, findColumn: FindColumn) {
  const column = readAs(leaf, findColumn(leaf.column_id));
  const named = { texts: [leaf.column_id] };
  if (!column.filterable) throw new ServiceError('ColumnNotFilterable', `the column ${column.id} cannot be filtered`, { named });
  const fitting = filterTypeOf[column.dataType];
  if (fitting !== leaf.type) {
    const msg = `the column ${column.id} takes a filter of type ${fitting}, not ${leaf.type}`;
    throw new ServiceError('ColumnNotFilterable', msg, { named });
  }
  return { column, sql: columnSql(column, scope), condition: (sql: ColumnSql) => leafSql(leaf, sql, column, scope) };
}

/** A metric of booleans rolls up to the share of true values on the records above, so a number may be compared with it, too. */
const readAs = (leaf: ColumnLeaf, column: ColumnDef): ColumnDef =>
  leaf.type === 'number' && column.dataType === 'boolean' && column.source.at === 'metric'
    ? { ...column, dataType: 'floating_point' }
    : column;

const comparison = { eq: '=', ne: '!=', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

function leafSql(leaf: ColumnLeaf, sql: ColumnSql, column: ColumnDef, scope: Scope): string {
  const { bind } = scope;
  const { value } = sql;
  switch (leaf.type) {
    case 'id':
      return idSql(leaf, value, column, scope);
    case 'date':
      return `${value} ${comparison[leaf.operator]} ${bind(timeParam(leaf.value), TIME)}`;
    case 'number':
      return numberSql(leaf, value, bind);
    case 'boolean':
      return `${value} ${comparison[leaf.operator]} ${bind(leaf.value, 'Bool')}`;
    case 'text':
      return textSql(leaf, sql, bind);
    case 'collection':
      return collectionSql(leaf, value, bind);
    default:
      return leaf satisfies never;
  }
}

const list = (value: string | string[]): string[] => (Array.isArray(value) ? value : [value]);
const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
const hasValue = (value: string): string => `isNotNull(${value})`;
const any = (conditions: string[]): string => (conditions.length > 0 ? `(${conditions.join(' OR ')})` : 'false');

/** Tables ordered by an id, which have the times of its records. */
const keyTableOf: Readonly<Record<string, string>> = { id: keysBy.id, trace_id: keysBy.trace_id };
const readsKeys = ({ type, operator, column_id }: ColumnLeaf): boolean =>
  type === 'id' && (operator === 'eq' || operator === 'one_of') && column_id in keyTableOf;

/** A text that is no uuid equals no id; a list matches any of its values, whichever operator carries it. */
function idSql(leaf: ColumnLeaf & { type: 'id' }, value: string, column: ColumnDef, { bind, inRun }: Scope): string {
  if (leaf.operator === 'contains') {
    return any(list(leaf.value).map((part) => `position(toString(${value}), ${bind(part.toLowerCase(), 'String')}) > 0`));
  }
  const ids = list(leaf.value).filter(isUuid);
  if (leaf.operator === 'ne' || leaf.operator === 'not_in') {
    return ids.length > 0 ? `${value} NOT IN ${idList(ids, bind)}` : hasValue(value);
  }
  if (ids.length === 0) return 'false';
  const wanted = idList(ids, bind);
  const keyTable = keyTableOf[column.id];
  if (!keyTable) return `${value} IN ${wanted}`;
  // The times are read from the small table by its own key, and lead to the rows by theirs.
  return `(${value} IN ${wanted} AND created_at IN (SELECT created_at FROM ${keyTable} WHERE ${inRun} AND ${value} IN ${wanted}))`;
}

/** A list matches any of its values, except for `between`. */
function numberSql(leaf: ColumnLeaf & { type: 'number' }, value: string, bind: Bind): string {
  if (leaf.operator === 'between') {
    const [low = 0, high = 0] = [leaf.value].flat();
    return `(${value} >= ${bind(numberParam(low), 'Float64')} AND ${value} <= ${bind(numberParam(high), 'Float64')})`;
  }
  if (!Array.isArray(leaf.value)) return `${value} ${comparison[leaf.operator]} ${bind(numberParam(leaf.value), 'Float64')}`;
  const isOne = `toFloat64(${value}) IN ${bind(`[${leaf.value.map(numberParam).join()}]`, 'Array(Float64)')}`;
  return leaf.operator === 'ne' ? `(${hasValue(value)} AND NOT ${isOne})` : isOne;
}

const idList = (ids: string[], bind: Bind): string =>
  ids.length <= MAX_ARRAY
    ? bind(ids, 'Array(UUID)')
    : `(SELECT toUUID(arrayJoin(splitByChar(',', ${bind(ids.join(), 'String')}))))`;

function textSql(leaf: ColumnLeaf & { type: 'text' }, { value, text: subject }: ColumnSql, bind: Bind): string {
  const values = list(leaf.value);
  const fold = (text: string): string => (leaf.case_sensitive ? text : `caseFoldUTF8(${text})`);
  if (leaf.operator === 'contains') {
    // LIKE over this very expression, because the text indexes serve no other form.
    const like = (part: string): string => `${fold(subject)} LIKE ${fold(bind(`%${likeLiteral(part)}%`, 'String'))}`;
    return `(${hasValue(value)} AND ${any(values.map(like))})`;
  }
  const isOne = `${fold(value)} IN ${textSet(bind(values, 'Array(String)'), leaf.case_sensitive)}`;
  return leaf.operator === 'eq' || leaf.operator === 'one_of' ? isOne : `(${hasValue(value)} AND NOT ${isOne})`;
}

/** Returns the right side of an IN. Folded texts need a subquery, because the engine makes no set of a computed array. */
const textSet = (texts: string, isCaseSensitive: boolean): string =>
  isCaseSensitive ? texts : `(SELECT caseFoldUTF8(arrayJoin(${texts})))`;

const likeLiteral = (text: string): string => text.replaceAll(/[\\%_]/g, '\\$&');

/** `eq`: exactly these values, in any order; `contains`: all of them; `one_of`: any; `not_in`: none. */
function collectionSql(leaf: ColumnLeaf & { type: 'collection' }, value: string, bind: Bind): string {
  const fold = (array: string): string => (leaf.case_sensitive ? array : `arrayMap(text -> caseFoldUTF8(text), ${array})`);
  const subject = fold(value);
  const wanted = bind(list(leaf.value), 'Array(String)');
  const hasAll = `hasAll(${subject}, ${fold(wanted)})`;
  // `hasAny` compares each with each.
  const set = textSet(wanted, leaf.case_sensitive);
  const hasAny = `arrayExists(text -> text IN ${set}, ${subject})`;
  switch (leaf.operator) {
    case 'eq':
      return `(${hasAll} AND NOT arrayExists(text -> text NOT IN ${set}, ${subject}))`;
    case 'contains':
      return hasAll;
    case 'one_of':
      return hasAny;
    case 'not_in':
      return `NOT ${hasAny}`;
  }
}

/** True when the filter consists only of empty ANDs and so keeps every record. */
export const isEmpty = (filter: ColumnFilter): boolean => 'and' in filter && filter.and.every(isEmpty);
