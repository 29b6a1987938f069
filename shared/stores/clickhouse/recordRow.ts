import { systemMetricNames, systemMetrics } from '../../columns/recordTableColumns.ts';
import type { RunRef } from '../../projects/runs.ts';
import { templateOf } from '../../prompts/templateOf.ts';
import type { StoredRecord } from '../../records/record.ts';
import type { NewVersion } from '../../records/recordStore.ts';
import { timeOfColumn } from './binder.ts';
import type { NativeBlock } from './nativeBlock.ts';
import { blankShorts, Shorts, selectedForRead, shortsColumn, withoutColumn } from './shortColumns.ts';

/** One row of the record table as it is read. 64-bit integers arrive as text. */
type RecordRow = Record<string, unknown>;

const jsonable = ['input', 'output', 'redacted_input', 'redacted_output'] as const;
const madeIntoOthers: ReadonlySet<string> = new Set([
  ...systemMetrics,
  'metrics_extra',
  ...jsonable.map((name) => `${name}_is_json`),
]);

/** Adds the row of a record to a block of the record table. */
export function addRecord(block: NativeBlock, { record, isRewrite }: NewVersion): void {
  const shorts = new Shorts();
  const put = (name: string, value: unknown): void => {
    if (!withoutColumn.has(name)) block.put(name, value);
    shorts.put(name, value);
  };
  block.put('is_rewrite', isRewrite);
  for (const name in record) {
    const value = record[name as keyof StoredRecord];
    if (value === undefined || value === null) continue;
    switch (name) {
      case 'input':
      case 'output':
      case 'redacted_input':
      case 'redacted_output':
        if (typeof value === 'string') put(name, value);
        else {
          put(name, JSON.stringify(value));
          put(`${name}_is_json`, true);
        }
        break;
      case 'tools':
      case 'events':
        put(name, JSON.stringify(value));
        break;
      case 'metrics':
        putMetrics(put, value as Record<string, unknown>);
        break;
      default:
        put(name, value);
    }
  }
  block.put(shortsColumn.name, shorts.text());
  block.endRow();
}

function putMetrics(put: (name: string, value: unknown) => void, metrics: Readonly<Record<string, unknown>>): void {
  let extra: [string, unknown][] | undefined;
  for (const name of Object.keys(metrics)) {
    const value = metrics[name];
    if (value === null || value === undefined) continue;
    if (systemMetricNames.has(name) && Number.isSafeInteger(value)) put(name, value);
    else {
      extra ??= [];
      extra.push([name, value]);
    }
  }
  if (extra) put('metrics_extra', JSON.stringify(Object.fromEntries(extra)));
}

/** The record of a row of this run, read with the columns of `selectedForRead`: a text that was not read stays absent. */
function fromRow(run: RunRef, blank: Readonly<Record<string, unknown>>, row: RecordRow): StoredRecord {
  const shorts = JSON.parse(row[shortsColumn.name] as string) as Record<string, unknown>;
  const record: Record<string, unknown> = { ...blank };
  record.project_id = run.projectId;
  record.run_id = run.runId;
  for (const name in row) if (name !== shortsColumn.name) record[name] = row[name];
  for (const name in shorts) if (!madeIntoOthers.has(name)) record[name] = shorts[name];
  for (const name of jsonable)
    if (shorts[`${name}_is_json`] === true && typeof record[name] === 'string') record[name] = JSON.parse(record[name]);
  for (const name of ['tools', 'events']) if (typeof record[name] === 'string') record[name] = JSON.parse(record[name]);
  for (const name of ['created_at', 'updated_at']) if (record[name] !== null) record[name] = timeOfColumn(record[name] as string);
  if (record.control_id !== null) record.control_id = Number(record.control_id);
  record.version = Number(record.version);
  record.metrics = metricsOf(shorts);
  return record as unknown as StoredRecord;
}

/** A record before its row is filled in, with every field that `fromRow` gives it; its lists and maps are shared. */
function blankRecord(columns: readonly string[]): Readonly<Record<string, unknown>> {
  const fields = ['project_id', 'run_id', ...columns.filter((name) => name !== shortsColumn.name), 'metrics'];
  const shorts = Object.entries(blankShorts).filter(([name]) => !madeIntoOthers.has(name));
  return templateOf(Object.fromEntries([...fields.map((name) => [name, null] as const), ...shorts]));
}

function metricsOf(row: RecordRow): Record<string, unknown> {
  const metrics = typeof row.metrics_extra === 'string' && row.metrics_extra !== '' ? JSON.parse(row.metrics_extra) : {};
  for (const name of systemMetrics) if (row[name] != null) metrics[name] = Number(row[name]);
  return metrics;
}

/** What is read of each row of a table. */
export interface RowsOf<T> {
  select: string;
  row: (row: unknown) => T;
}

/** Records of a run, with these columns beside those that every read takes; absent: all. */
export function recordRows(run: RunRef, columns?: readonly string[]): RowsOf<StoredRecord> {
  const selected = selectedForRead(columns);
  const blank = blankRecord(selected);
  return { select: selected.join(', '), row: (row) => fromRow(run, blank, row as RecordRow) };
}
