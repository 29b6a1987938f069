import { storedFields } from '../../../columns/recordFields.ts';
import { isJsonColumn, recordTableColumns } from '../../../columns/recordTableColumns.ts';
import { hasOwnColumn, metricsTableColumns } from '../../../columns/systemMetrics.ts';
import { parseJson } from '../../../json/parseJson.ts';
import { templateOf } from '../../../json/templateOf.ts';
import type { RunRef } from '../../../projects/runs.ts';
import type { StoredRecord } from '../../../records/record.ts';
import type { NewVersion } from '../../../records/recordStore.ts';
import { systemMetrics } from '../../../wire/systemCounts.ts';
import { timeOfColumn } from '../binder.ts';
import type { NativeBlock } from './nativeBlock.ts';
import { blankShortColumns, CachedColumns, isLongText, selectedForRead, shortColumnsCache } from './shortColumnsCache.ts';

/** One row of the record table as it is read. 64-bit integers arrive as text. */
type RecordRow = Record<string, unknown>;

/** How a field is stored, where that is not as it is. */
const formOf: ReadonlyMap<string, 'json' | 'text or json' | 'metrics'> = new Map(
  storedFields.flatMap(({ id, stored: { as } }) => (as ? [[id, as]] : [])),
);
const fieldsStoredAs = (wanted: string): readonly string[] => [...formOf].flatMap(([id, as]) => (as === wanted ? [id] : []));
const jsonFields = fieldsStoredAs('json');
const textOrJsonFields = fieldsStoredAs('text or json').map((name) => ({ name, isJson: isJsonColumn(name) }));

const columnsOfType = (type: RegExp): readonly string[] =>
  recordTableColumns.filter(({ sqlType }) => type.test(sqlType)).map(({ name }) => name);
const times = columnsOfType(/DateTime64/);
/** Columns that become part of a field, or say how another is read. */
const partsOfFields: ReadonlySet<string> = new Set([
  ...metricsTableColumns.map(({ name }) => name),
  ...textOrJsonFields.map(({ isJson }) => isJson),
]);
const longs = columnsOfType(/Int64/).filter((name) => !partsOfFields.has(name));

/** Adds the row of a record to a block of the record table. */
export function addRecord(block: NativeBlock, { record, isRewrite }: NewVersion): void {
  const cached = new CachedColumns();
  const put = (name: string, value: unknown): void => {
    block.put(name, value);
    cached.put(name, value);
  };
  block.put('is_rewrite', isRewrite);
  for (const name in record) {
    const value = record[name as keyof StoredRecord];
    if (value === undefined || value === null) continue;
    switch (formOf.get(name)) {
      case 'text or json':
        if (typeof value === 'string') put(name, value);
        else {
          put(name, JSON.stringify(value));
          put(isJsonColumn(name), true);
        }
        break;
      case 'json':
        put(name, JSON.stringify(value));
        break;
      case 'metrics':
        putMetrics(put, value as Record<string, unknown>);
        break;
      default:
        put(name, value);
    }
  }
  block.put(shortColumnsCache.name, cached.text());
  block.endRow();
}

function putMetrics(put: (name: string, value: unknown) => void, metrics: Readonly<Record<string, unknown>>): void {
  let extra: [string, unknown][] | undefined;
  for (const name of Object.keys(metrics)) {
    const value = metrics[name];
    if (value === null || value === undefined) continue;
    if (hasOwnColumn(name, value)) put(name, value);
    else {
      extra ??= [];
      extra.push([name, value]);
    }
  }
  if (extra) put('metrics_extra', JSON.stringify(Object.fromEntries(extra)));
}

/** The record of a row of this run, read with the columns of `selectedForRead`: a text that was not read stays absent. */
function fromRow(run: RunRef, blank: Readonly<Record<string, unknown>>, row: RecordRow): StoredRecord {
  const cached = JSON.parse(row[shortColumnsCache.name] as string) as Record<string, unknown>;
  const record: Record<string, unknown> = { ...blank };
  record.project_id = run.projectId;
  record.run_id = run.runId;
  for (const name in cached) if (!partsOfFields.has(name)) record[name] = cached[name];
  for (const name in row) if (name !== shortColumnsCache.name) record[name] = row[name];
  for (const { name, isJson } of textOrJsonFields)
    if (cached[isJson] === true && typeof record[name] === 'string') record[name] = parseJson(record[name]);
  for (const name of jsonFields) if (typeof record[name] === 'string') record[name] = parseJson(record[name]);
  for (const name of times) if (record[name] !== null) record[name] = timeOfColumn(record[name] as string);
  for (const name of longs) if (record[name] !== null) record[name] = Number(record[name]);
  record.metrics = metricsOf(cached);
  return record as unknown as StoredRecord;
}

/** A record before its row is filled in, with every field that `fromRow` gives it; its lists and maps are shared. */
function blankRecord(columns: readonly string[]): Readonly<Record<string, unknown>> {
  const fields = ['project_id', 'run_id', ...columns.filter((name) => name !== shortColumnsCache.name), 'metrics'];
  const short = Object.entries(blankShortColumns).filter(([name]) => !partsOfFields.has(name));
  return templateOf(Object.fromEntries([...fields.map((name) => [name, null] as const), ...short]));
}

function metricsOf(row: RecordRow): Record<string, unknown> {
  const metrics =
    typeof row.metrics_extra === 'string' && row.metrics_extra !== ''
      ? (parseJson(row.metrics_extra) as Record<string, unknown>)
      : {};
  for (const name of systemMetrics) if (row[name] != null) metrics[name] = Number(row[name]);
  return metrics;
}

/** Says which columns to select from a table, and how to parse each row. */
export interface RowsOf<T> {
  select: string;
  row: (row: unknown) => T;
}

/**
 * Records of a run, with these columns beside those that every read takes; absent: all.
 * @param forRewrite with what only a rewrite needs
 * @param longest characters of a text that are read; what is JSON is read whole
 */
export function recordRows(run: RunRef, columns?: readonly string[], forRewrite = false, longest?: number): RowsOf<StoredRecord> {
  const selected = selectedForRead(columns, forRewrite);
  const blank = blankRecord(selected);
  const read = longest === undefined ? selected : selected.map((name) => beginningOf(name, longest));
  return { select: read.join(', '), row: (row) => fromRow(run, blank, row as RecordRow) };
}

function beginningOf(name: string, longest: number): string {
  const form = formOf.get(name);
  if (!isLongText(name) || (form !== undefined && form !== 'text or json')) return name;
  const beginning = `substringUTF8(records.${name}, 1, ${longest})`;
  return `${form ? `if(${isJsonColumn(name)}, records.${name}, ${beginning})` : beginning} AS ${name}`;
}
