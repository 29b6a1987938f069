import { type SystemMetric, systemMetrics } from '../../columns/recordTableColumns.ts';
import type { StoredRecord } from '../../records/record.ts';

/** One row of the record table as JSON. 64-bit integers arrive as text and are sent as numbers. */
export type RecordRow = Record<string, unknown>;

const jsonable = ['input', 'output', 'redacted_input', 'redacted_output'] as const;
const hasColumn: ReadonlySet<string> = new Set(systemMetrics);
// A DateTime64 prints as `2026-07-07 15:55:01.110554`.
const asTime = (text: unknown): string => `${(text as string).replace(' ', 'T')}Z`;

/** The row of a record, for INSERT. Keys whose value is the column's default are left out. */
export function toRow(record: StoredRecord): RecordRow {
  const { input, output, redacted_input, redacted_output, metrics, tools, events, ...plain } = record;
  const row: RecordRow = { ...plain };
  for (const name of jsonable) {
    const value = record[name];
    if (value === undefined || value === null) continue;
    if (typeof value === 'string') row[name] = value;
    else {
      row[name] = JSON.stringify(value);
      row[`${name}_is_json`] = true;
    }
  }
  if (tools != null) row.tools = JSON.stringify(tools);
  if (events != null) row.events = JSON.stringify(events);
  if (metrics) {
    const extra: [string, unknown][] = [];
    for (const [name, value] of Object.entries(metrics)) {
      if (value === null || value === undefined) continue;
      if (hasColumn.has(name) && Number.isSafeInteger(value)) row[name] = value;
      else extra.push([name, value]);
    }
    if (extra.length > 0) row.metrics_extra = JSON.stringify(Object.fromEntries(extra));
  }
  return row;
}

/** The record of a row read with all columns, or with some: what was not read stays absent. */
export function fromRow(row: RecordRow): StoredRecord {
  const record: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(row)) {
    if (hasColumn.has(name) || name.endsWith('_is_json') || name === 'metrics_extra') continue;
    record[name] = value;
  }
  for (const name of jsonable)
    if (row[`${name}_is_json`] === true && typeof row[name] === 'string') record[name] = JSON.parse(row[name]);
  for (const name of ['tools', 'events']) if (typeof row[name] === 'string') record[name] = JSON.parse(row[name]);
  for (const name of ['created_at', 'updated_at']) if (row[name] != null) record[name] = asTime(row[name]);
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
