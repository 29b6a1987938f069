import { type SystemMetric, systemMetrics } from '../../columns/recordTableColumns.ts';
import type { StoredRecord } from '../../records/record.ts';
import type { NewVersion } from '../../records/recordStore.ts';
import { timeOfColumn } from './binder.ts';
import type { NativeBlock } from './nativeBlock.ts';

/** One row of the record table as it is read. 64-bit integers arrive as text. */
export type RecordRow = Record<string, unknown>;

const jsonable = ['input', 'output', 'redacted_input', 'redacted_output'] as const;
const hasColumn: ReadonlySet<string> = new Set(systemMetrics);
const madeIntoOthers: ReadonlySet<string> = new Set([
  ...systemMetrics,
  'metrics_extra',
  ...jsonable.map((name) => `${name}_is_json`),
]);

/** Adds the row of a record to a block of the record table. */
export function addRecord(block: NativeBlock, { record, isRewrite }: NewVersion): void {
  block.put('is_rewrite', isRewrite);
  for (const name in record) {
    const value = record[name as keyof StoredRecord];
    if (value === undefined || value === null) continue;
    switch (name) {
      case 'input':
      case 'output':
      case 'redacted_input':
      case 'redacted_output':
        if (typeof value === 'string') block.put(name, value);
        else {
          block.put(name, JSON.stringify(value));
          block.put(`${name}_is_json`, true);
        }
        break;
      case 'tools':
      case 'events':
        block.put(name, JSON.stringify(value));
        break;
      case 'metrics':
        addMetrics(block, value as Record<string, unknown>);
        break;
      default:
        block.put(name, value);
    }
  }
  block.endRow();
}

function addMetrics(block: NativeBlock, metrics: Readonly<Record<string, unknown>>): void {
  let extra: [string, unknown][] | undefined;
  for (const name of Object.keys(metrics)) {
    const value = metrics[name];
    if (value === null || value === undefined) continue;
    if (hasColumn.has(name) && Number.isSafeInteger(value)) block.put(name, value);
    else {
      extra ??= [];
      extra.push([name, value]);
    }
  }
  if (extra) block.put('metrics_extra', JSON.stringify(Object.fromEntries(extra)));
}

/** The record of a row read with all columns, or with some: what was not read stays absent. */
export function fromRow(row: RecordRow): StoredRecord {
  const record: Record<string, unknown> = {};
  for (const name in row) if (!madeIntoOthers.has(name)) record[name] = row[name];
  for (const name of jsonable)
    if (row[`${name}_is_json`] === true && typeof row[name] === 'string') record[name] = JSON.parse(row[name]);
  for (const name of ['tools', 'events']) if (typeof row[name] === 'string') record[name] = JSON.parse(row[name]);
  for (const name of ['created_at', 'updated_at']) if (row[name] != null) record[name] = timeOfColumn(row[name] as string);
  if (row.control_id != null) record.control_id = Number(row.control_id);
  if (row.version != null) record.version = Number(row.version);
  if ('duration_ns' in row) record.metrics = metricsOf(row);
  return record as unknown as StoredRecord;
}

function metricsOf(row: RecordRow): Record<string, unknown> {
  const extra = typeof row.metrics_extra === 'string' && row.metrics_extra !== '' ? JSON.parse(row.metrics_extra) : {};
  const known = systemMetrics.flatMap((name: SystemMetric) => (row[name] == null ? [] : [[name, Number(row[name])] as const]));
  return { ...extra, ...Object.fromEntries(known) };
}
