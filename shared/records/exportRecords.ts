import type { ColumnDef } from '../columns/columnDef.ts';
import { type CsvForm, writeRows } from '../datasets/writeRows.ts';
import { jsonText } from '../json/jsonText.ts';
import type { RunRef } from '../projects/runs.ts';
import { type ExactNumber, isExact } from '../wire/exactNumber.ts';
import { feedbackCell, isFeedbackColumn } from './annotationColumns.ts';
import { explainedBy, isMetricColumn, metricOfColumn } from './findColumn.ts';
import { type Attached, attachedToKeys, sessionTree, type Tree, traceTrees } from './read.ts';
import type { StoredRecord } from './record.ts';
import { toExtendedRecord } from './recordView.ts';
import { describeRecords, type OrderedQuery, type PageView, type RecordKey, type RecordReads } from './searchRecords.ts';
import { type ParquetColumn, writeParquet } from './writeParquet.ts';

export interface ExportQuery extends OrderedQuery {
  /** Leaves out sessions of which a trace is not complete. */
  finishedSessionsOnly: boolean;
  /** Ends the reading when the caller leaves. */
  signal?: AbortSignal | undefined;
}

/** Keys of an export of any size, in its order, while they are found. */
export interface ExportReads {
  /** Finds the keys of the matching records. */
  keys(query: ExportQuery): AsyncIterable<SizedKey>;
  /**
   * Finds the keys of the matching records and of all records in them, root by root and trace by trace. `container` is the column that names the root.
   */
  members(query: ExportQuery, container: 'trace_id' | 'session_id'): AsyncIterable<SizedKey & { rootId: string }>;
}

export interface ExportDeps {
  stream: ExportReads;
  records: RecordReads;
}

export interface ExportShape {
  /** A redacted twin that says something takes the place of its field. */
  redact: boolean;
  /** Leaves out metric results without a value. */
  computedMetricsOnly: boolean;
  includeMetricMetadata: boolean;
}

/** A key of an export, with what the texts of its record take in the store. */
export type SizedKey = RecordKey & { bytes: number };

/** Records are read together as far as their texts are no more than this, so that those of 8 MB take no more memory than those of 3 KB. */
const BATCH_BYTES = 16 * 1024 * 1024;
const MAX_BATCH = 1000;

/** One JSON object a line: each record with what hangs below it (traces of a session, spans of a trace); spans each for themselves. */
export async function* exportNested(deps: ExportDeps, query: ExportQuery, shape: ExportShape): AsyncGenerator<string, void> {
  if (query.kinds.includes('session')) yield* sessionLines(deps, query, shape);
  else if (query.kinds.includes('trace')) yield* traceLines(deps, query, shape);
  else
    for await (const keys of inBatches(deps.stream.keys(query)))
      yield (await flatRecords(deps, query, keys, shape)).map((record) => `${jsonText(record)}\n`).join('');
}

type Headed = Pick<ColumnDef, 'id'> & {
  /** The column's name in the file, as the request wrote it; absent: its id. */
  heading?: string;
};
export type ExportedColumn = ColumnDef & Headed;
const headingOf = ({ id, heading }: Headed): string => heading ?? id;

/** One row a record that any of the queries finds, with a cell for each of these columns, as CSV with a header or as flat JSON objects: what is no single value is JSON text. */
export function exportFlat(
  deps: ExportDeps,
  queries: readonly ExportQuery[],
  shape: ExportShape,
  { format, columns, csv }: { format: 'csv' | 'jsonl'; columns: readonly Headed[]; csv: CsvForm },
): AsyncGenerator<string, void> {
  return writeRows(format, columns.map(headingOf), flatRows(deps, queries, shape, columns), csv);
}

/**
 * The rows of a CSV export as a Parquet file, whose columns have the types of the records' columns.
 * @param shares ids of columns of booleans that hold the share that is true of the records below
 */
export function exportParquet(
  deps: ExportDeps,
  query: ExportQuery,
  shape: ExportShape,
  columns: readonly ExportedColumn[],
  shares: ReadonlySet<string>,
): AsyncGenerator<Uint8Array, void> {
  const inFile = columns.map((column) =>
    parquetColumn(shares.has(column.id) ? { ...column, dataType: 'floating_point' } : column),
  );
  return writeParquet(inFile, flatRows(deps, [query], shape, columns));
}

async function* flatRows(
  deps: ExportDeps,
  queries: readonly ExportQuery[],
  shape: ExportShape,
  columns: readonly Headed[],
): AsyncGenerator<CellValue[][], void> {
  for (const query of queries)
    for await (const keys of inBatches(deps.stream.keys(query)))
      yield (await flatRecords(deps, query, keys, shape)).map((record) => columns.map(({ id }) => cellOf(record, id)));
}

const parquetTypes = {
  text: 'text',
  uuid: 'text',
  string_list: 'text',
  timestamp: 'time',
  boolean: 'boolean',
  integer: 'integer',
  floating_point: 'number',
} as const satisfies Record<ColumnDef['dataType'], ParquetColumn['type']>;

function parquetColumn(column: ExportedColumn): ParquetColumn {
  const { dataType, multiValued, source } = column;
  const name = headingOf(column);
  if (multiValued) return { name, type: 'text' };
  // A scorer may give a fraction where it was declared to count.
  if (dataType === 'integer' && source.at === 'metric') return { name, type: 'number' };
  return { name, type: parquetTypes[dataType] };
}

async function* traceLines(deps: ExportDeps, query: ExportQuery, shape: ExportShape): AsyncGenerator<string, void> {
  for await (const groups of inGroups(deps.stream.members(query, 'trace_id'))) {
    const load = await loader(deps, query.run, groups);
    const traces = groups.flatMap((group) => traceOf(load(group), shape));
    yield traces.map((trace) => `${jsonText(trace)}\n`).join('');
  }
}

/** A session is written while its traces are read: it may be larger than memory. */
async function* sessionLines(deps: ExportDeps, query: ExportQuery, shape: ExportShape): AsyncGenerator<string, void> {
  let open: { rootId: string; traces: number } | undefined;
  for await (const groups of inGroups(deps.stream.members(query, 'session_id'))) {
    const load = await loader(deps, query.run, groups);
    let text = '';
    for (const group of groups) {
      const loaded = load(group);
      const [session] = loaded.records;
      if (group.traceId === null && session) {
        if (open) text += ']}\n';
        open = { rootId: group.rootId, traces: 0 };
        text += `${jsonText(shaped(sessionTree(session, loaded, viewOf(shape)), shape)).slice(0, -1)},"traces":[`;
      } else if (open?.rootId === group.rootId) {
        for (const trace of traceOf(loaded, shape)) text += `${open.traces++ > 0 ? ',' : ''}${jsonText(trace)}`;
      }
    }
    yield text;
  }
  if (open) yield ']}\n';
}

interface Group {
  rootId: string;
  traceId: string | null;
  keys: RecordKey[];
}

interface Loaded extends Attached {
  records: StoredRecord[];
}

/** Consecutive keys of one trace, several traces at a time where they are small; a trace is never cut, so a larger one is read whole. */
async function* inGroups(members: AsyncIterable<SizedKey & { rootId: string }>): AsyncGenerator<Group[], void> {
  let groups: Group[] = [];
  const held = new Held();
  for await (const { rootId, bytes, ...key } of members) {
    const last = groups.at(-1);
    if (last?.rootId === rootId && last.traceId === key.traceId) last.keys.push(key);
    else {
      if (!held.fits(bytes)) {
        yield groups;
        groups = [];
        held.clear();
      }
      groups.push({ rootId, traceId: key.traceId, keys: [key] });
    }
    held.add(bytes);
  }
  if (groups.length > 0) yield groups;
}

async function* inBatches(keys: AsyncIterable<SizedKey>): AsyncGenerator<RecordKey[], void> {
  let batch: RecordKey[] = [];
  const held = new Held();
  for await (const { bytes, ...key } of keys) {
    if (!held.fits(bytes)) {
      yield batch;
      batch = [];
      held.clear();
    }
    batch.push(key);
    held.add(bytes);
  }
  if (batch.length > 0) yield batch;
}

/** Counts the records and bytes of a batch. */
class Held {
  #records = 0;
  #bytes = 0;

  /** An empty batch takes a record of any size. */
  fits(bytes: number): boolean {
    return this.#records === 0 || (this.#records < MAX_BATCH && this.#bytes + bytes <= BATCH_BYTES);
  }

  add(bytes: number): void {
    this.#records++;
    this.#bytes += bytes;
  }

  clear(): void {
    this.#records = 0;
    this.#bytes = 0;
  }
}

/** Reads everything of these groups at once. A record that was deleted meanwhile is missing from its group. */
async function loader({ records: reads }: ExportDeps, run: RunRef, groups: readonly Group[]): Promise<(group: Group) => Loaded> {
  const keys = groups.flatMap((group) => group.keys);
  const reading = reads.records(run, keys);
  const [records, attached] = await Promise.all([reading, attachedToKeys(reads, run, keys, reading)]);
  const byId = new Map(records.map((record) => [record.id, record]));
  return (group) => ({ ...attached, records: group.keys.flatMap(({ id }) => byId.get(id) ?? []) });
}

const traceOf = ({ records, ...attached }: Loaded, shape: ExportShape): Tree[] =>
  traceTrees(records, attached, undefined, viewOf(shape))
    .filter(({ type }) => type === 'trace')
    .map((tree) => shaped(tree, shape));

async function flatRecords(
  { records }: ExportDeps,
  { run }: ExportQuery,
  keys: RecordKey[],
  shape: ExportShape,
): Promise<Tree[]> {
  const view = viewOf(shape);
  return (await describeRecords(records, run, keys, view)).map((found) => shaped({ ...toExtendedRecord(found, view) }, shape));
}

const viewOf = ({ includeMetricMetadata }: ExportShape): PageView => ({
  metrics: 'all',
  includeCounts: false,
  includeMetricMetadata,
  truncate: false,
});

/** The record, and what hangs below it, as this export shows it. */
function shaped(record: Tree, shape: ExportShape): Tree {
  if (shape.redact)
    for (const [field, twin] of [
      ['input', 'redacted_input'],
      ['output', 'redacted_output'],
    ] as const)
      if (saysSomething(record[twin])) record[field] = record[twin];
  if (shape.computedMetricsOnly && record.metric_info) {
    const results = Object.entries(record.metric_info as Record<string, { status_type: string }>);
    record.metric_info = Object.fromEntries(results.filter(([, { status_type }]) => isComputed(status_type)));
  }
  for (const span of record.spans ?? []) shaped(span, shape);
  return record;
}

const isComputed = (status: string): boolean => status === 'success' || status === 'roll_up';

/** False for what clients send in place of no value: nothing, an empty text, a list of documents or messages without content. */
function saysSomething(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false;
  if (Array.isArray(value)) return value.some(saysSomething);
  if (typeof value !== 'object' || isExact(value)) return true;
  const { content, tool_calls } = value as { content?: unknown; tool_calls?: unknown };
  return content === undefined || saysSomething(content) || saysSomething(tool_calls);
}

type CellValue = string | number | boolean | ExactNumber | null;

function cellOf(record: Tree, id: string): CellValue {
  const [container, ...rest] = id.split('/');
  const value =
    rest.length === 0
      ? record[id]
      : isMetricColumn(id)
        ? metricCell(record, metricOfColumn(id))
        : isFeedbackColumn(id)
          ? feedbackCell(record.annotations, id)
          : valueAt(record[container as string], rest.join('/'));
  if (value === undefined || value === null) return null;
  return typeof value === 'object' && !isExact(value) ? JSON.stringify(value) : (value as CellValue);
}

function metricCell(record: Tree, name: string): unknown {
  const value = valueAt(record.metrics, name);
  const explained = explainedBy(name);
  return value === undefined && explained !== undefined ? valueAt(valueAt(record.metric_info, explained), 'explanation') : value;
}

const valueAt = (map: unknown, key: string): unknown =>
  typeof map === 'object' && map !== null && Object.hasOwn(map, key) ? (map as Record<string, unknown>)[key] : undefined;
