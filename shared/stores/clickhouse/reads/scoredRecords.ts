import { z } from 'zod';
import type { ScoredFile, ScoredRecord } from '../../../metrics/metric.ts';
import type { RunRef } from '../../../projects/runs.ts';
import { countedOf } from '../../../records/countedUsage.ts';
import { errorOf } from '../../../records/failed.ts';
import { type FileReads, filesOf } from '../../../records/fileReads.ts';
import { inOrder, inRunOrder, type SpanPlace } from '../../../records/spanOrder.ts';
import type { RecordSize, RecordToScore, SpansRead } from '../../../scoring/recordToScore.ts';
import { scoredText } from '../../../scoring/scoredText.ts';
import { isSpanKind, recordKinds } from '../../../wire/recordKinds.ts';
import type { FileMetadata } from '../../../wire/recordParts.ts';
import { IN_RUN, runParams, timeOfColumn } from '../binder.ts';
import type { ClickHouse } from '../clickHouse.ts';
import { textBytes } from '../tables/shortColumnsCache.ts';
import { keysBy } from '../tables/tables.ts';

/** The keys have the times of the records, by which the record table is ordered. */
const byKeys = (column: keyof typeof keysBy) =>
  `(created_at, id) IN (SELECT created_at, id FROM ${keysBy[column]} WHERE ${IN_RUN} AND ${column} IN {ids:Array(UUID)})`;

const count = z.string().transform(Number).nullable();
const length = z.string().transform(Number);
const texts = z.record(z.string(), z.string());
const OfRow = z.object({
  id: z.string(),
  dataset_input: z.string().nullable(),
  dataset_output: z.string().nullable(),
  dataset_metadata: texts,
  user_metadata: texts,
  dataset_row_ordinal: z.number().nullable(),
});
type OfRow = z.output<typeof OfRow>;
const Scored = OfRow.extend({
  type: z.enum(recordKinds),
  trace_id: z.string().nullable(),
  parent_id: z.string().nullable(),
  step_number: z.number().nullable(),
  session_id: z.string(),
  created_at: z.string(),
  version: z.string().transform(Number),
  input: z.string(),
  input_is_json: z.boolean(),
  input_length: length,
  output: z.string().nullable(),
  output_is_json: z.boolean(),
  output_length: length,
  tools: z.string().nullable(),
  dataset_row_id: z.string().nullable(),
  file_ids: z.array(z.string()),
  error_message: z.string(),
  status_code: z.number().nullable(),
  name: z.string(),
  model: z.string().nullable(),
  duration_ns: count,
  num_input_tokens: count,
  num_output_tokens: count,
  num_total_tokens: count,
  cost: z.number().nullable(),
  counted_usage: z.string().nullable(),
});
type Row = z.output<typeof Scored> & { files: readonly ScoredFile[] };

/** The record store, and what is known of the files that records name. */
export interface ScoredReading {
  clickhouse: ClickHouse;
  files: FileReads;
}

/** The records of these ids, as metrics see them; with what is below them, in the order in which it ran, where a metric looks at that. */
export async function recordsToScore(
  reading: ScoredReading,
  run: RunRef,
  ids: readonly string[],
  spansRead: SpansRead,
): Promise<RecordToScore[]> {
  if (ids.length === 0) return [];
  const wanted = new Set(ids);
  const rows = (await readRecords(reading, run, byKeys('id'), ids)).filter(({ id }) => wanted.has(id));
  const sessions = rows.filter(({ type }) => type === 'session').map(({ id }) => id);
  const withSpans = (row: Row) => row.type !== 'session' && (spansRead !== 'none' || lacksInput(row));
  const tracesOf = [...new Set(rows.flatMap((row) => (withSpans(row) ? (row.trace_id ?? []) : [])))];
  const spansAlone = rows.flatMap(({ type, trace_id }) => (isSpanKind(type) ? (trace_id ?? []) : []));
  const [inTraces, inSessions, traces] = await Promise.all([
    // A span that was moved has left an older key behind, so what is read says where it is now.
    readBelow(reading, run, 'trace_id', tracesOf, spansRead),
    readBelow(reading, run, 'session_id', sessions, spansRead),
    readTraces(reading.clickhouse, run, [...new Set(spansAlone)]),
  ]);
  const rowsOf = new Map(rows.map((row) => [row.id, row]));
  const inTrace = new Map([...inTraces].map(([id, spans]) => [id, belowTrace(spans, rowsOf.get(id) ?? traces.get(id))] as const));
  return rows.map((row) => {
    const { id, type, trace_id } = row;
    if (type === 'session') return toScore(row, belowSession(inSessions.get(id) ?? []));
    const below = inTrace.get(trace_id as string);
    if (type === 'trace') return { ...toScore(row, { spans: below?.all ?? [] }), spansOf: below?.targets ?? (() => []) };
    const trace = traces.get(trace_id as string);
    return toScore(row, withSpans(row) ? { spans: below?.under(id).map(({ record }) => record) ?? [] } : {}, trace);
  });
}

/** True of the trace of a dataset row that does not say what was asked: its first step does. */
const lacksInput = ({ type, dataset_row_id, input, dataset_input }: Row): boolean =>
  type === 'trace' && dataset_row_id !== null && input.trim() === '' && (dataset_input ?? '').trim() === '';

/** The spans of a trace: each as it is seen below another record. */
interface Below {
  all: ScoredRecord[];
  /** Those below a span, at any depth. */
  under(id: string): { row: Row; record: ScoredRecord }[];
  /** As records to be scored themselves. */
  targets: NonNullable<RecordToScore['spansOf']>;
}

const placeOf = ({ id, parent_id, created_at, step_number, version }: Row): SpanPlace => ({
  ...{ id, parentId: parent_id, createdAt: created_at, stepNumber: step_number, version },
});

function belowTrace(unordered: readonly Row[], trace: OfRow | undefined): Below {
  const spans = inRunOrder(unordered, placeOf);
  const names = new Map(spans.map(({ id, name }) => [id, name]));
  const seen = spans.map((row) => {
    const parentName = names.get(row.parent_id ?? '');
    return { row, record: { ...asScored(row, trace), ...(parentName === undefined ? {} : { parentName }) } };
  });
  const children = Map.groupBy(seen, ({ row }) => row.parent_id);
  const order = new Map(seen.map((one, index) => [one, index]));
  const under: Below['under'] = (id) => {
    const found = new Set<(typeof seen)[number]>();
    const open = [...(children.get(id) ?? [])];
    // A loop of parents is walked once.
    for (let next = open.pop(); next; next = open.pop()) {
      if (found.has(next) || next.row.id === id) continue;
      found.add(next);
      for (const child of children.get(next.row.id) ?? []) open.push(child);
    }
    return [...found].sort((one, other) => (order.get(one) as number) - (order.get(other) as number));
  };
  return {
    all: seen.map(({ record }) => record),
    under,
    targets: (kinds, withSpans) =>
      seen.flatMap(({ row }) => {
        if (!kinds.includes(row.type)) return [];
        if (!withSpans) return [toScore(row, {}, trace)];
        const below = under(row.id);
        const version = below.reduce((newest, one) => Math.max(newest, one.row.version), row.version);
        return [{ ...toScore(row, { spans: below.map(({ record }) => record) }, trace), version }];
      }),
  };
}

function belowSession(rows: readonly Row[]): Pick<ScoredRecord, 'spans' | 'traces'> {
  const spans = Map.groupBy(
    rows.filter(({ type }) => isSpanKind(type)),
    ({ trace_id }) => trace_id,
  );
  const inTurn = rows.toSorted((one, other) => inOrder(placeOf(one), placeOf(other)));
  const traces = inTurn.flatMap((row) =>
    row.type === 'trace' ? [{ ...asScored(row), spans: belowTrace(spans.get(row.id) ?? [], row).all }] : [],
  );
  return { traces, spans: traces.flatMap(({ spans }) => spans) };
}

/**
 * Characters that are read of a text below another record, where that is to be looked at: fewer where a trace or a session has many records. Documents are
 * read ten times as far.
 */
const MOST_CHARACTERS = 20_000;
const LEAST_CHARACTERS = 500;
const CHARACTERS_IN_ALL = 8_000_000;

const METADATA = ['dataset_metadata', 'user_metadata']
  .map((map) => `arraySum(arrayMap(text -> length(text), mapValues(${map})))`)
  .join(' + ');
const BYTES = `sum(${textBytes(['input', 'output', 'dataset_input', 'dataset_output', 'tools'])} + ${METADATA})`;

/** Bytes of the texts of these records; with those of all below them that a metric looks at, though of long texts the store gives the beginning. */
export async function recordSizes(
  clickhouse: ClickHouse,
  run: RunRef,
  ids: readonly string[],
  spansRead: SpansRead,
): Promise<Map<string, RecordSize>> {
  if (ids.length === 0) return new Map();
  const sizes = (condition: string, of: string, params: readonly string[]) =>
    clickhouse.query({
      name: 'sizes of records',
      sql: `SELECT ${of} AS read_id, ${BYTES} AS bytes FROM records WHERE ${IN_RUN} AND ${condition} GROUP BY read_id`,
      params: { ...runParams(run), ids: params },
      row: z.object({ read_id: z.string(), bytes: z.string().transform(Number) }),
    });
  const kinds = await clickhouse.query({
    name: 'kinds of records',
    sql: `SELECT id, type, trace_id FROM record_keys WHERE ${IN_RUN} AND id IN {ids:Array(UUID)} ORDER BY version DESC LIMIT 1 BY id`,
    params: { ...runParams(run), ids },
    row: z.object({ id: z.string(), type: z.enum(recordKinds), trace_id: z.string().nullable() }),
  });
  const sessions = kinds.flatMap(({ id, type }) => (type === 'session' ? [id] : []));
  const readIdOf = ({ id, type, trace_id }: (typeof kinds)[number]) =>
    type === 'session' || spansRead === 'none' ? id : (trace_id ?? id);
  const others = [...new Set(kinds.flatMap((one) => (one.type === 'session' ? [] : [readIdOf(one)])))];
  const column = spansRead === 'none' ? 'id' : 'trace_id';
  const [ofOthers, inSessions] = await Promise.all([
    others.length > 0 ? sizes(byKeys(column), column, others) : [],
    sessions.length > 0 ? sizes(`${belowKinds(spansRead)} AND ${byKeys('session_id')}`, 'session_id', sessions) : [],
  ]);
  const bytesOf = new Map([...ofOthers, ...inSessions].map(({ read_id, bytes }) => [read_id, bytes]));
  return new Map(
    kinds.map((one) => {
      const readId = readIdOf(one);
      return [one.id, { readId, bytes: bytesOf.get(readId) ?? 0 }];
    }),
  );
}

/** Selects the records to read below a session. */
const belowKinds = (spansRead: SpansRead): string => (spansRead === 'none' ? "type = 'trace'" : "type != 'session'");

/** Records below these traces or sessions, by the id of those. */
async function readBelow(
  reading: ScoredReading,
  run: RunRef,
  column: 'trace_id' | 'session_id',
  ids: readonly string[],
  spansRead: SpansRead,
): Promise<Map<string, Row[]>> {
  if (ids.length === 0) return new Map();
  const kinds = column === 'trace_id' ? "type NOT IN ('trace', 'session')" : belowKinds(spansRead);
  const condition = `${kinds} AND ${column} IN {ids:Array(UUID)} AND ${byKeys(column)}`;
  const rows = await readRecords(reading, run, condition, ids, spansRead === 'whole' ? undefined : column);
  return Map.groupBy(rows, (row) => row[column] as string);
}

/** Reads the dataset rows of spans, which stand on their traces. */
async function readTraces(clickhouse: ClickHouse, run: RunRef, ids: readonly string[]): Promise<Map<string, OfRow>> {
  if (ids.length === 0) return new Map();
  const rows = await clickhouse.query({
    name: 'rows of spans to score',
    sql: `SELECT id, dataset_input, dataset_output, dataset_metadata, user_metadata, dataset_row_ordinal FROM records FINAL
           WHERE ${IN_RUN} AND type = 'trace' AND ${byKeys('id')}`,
    params: { ...runParams(run), ids },
    row: OfRow,
  });
  return new Map(rows.map((row) => [row.id, row]));
}

/** @param cutWithin reads the beginning of long texts: of so many characters as the records with the same value of this column share */
async function readRecords(
  { clickhouse, files }: ScoredReading,
  run: RunRef,
  condition: string,
  ids: readonly string[],
  cutWithin?: 'trace_id' | 'session_id',
): Promise<Row[]> {
  const long = (name: string) => (cutWithin ? `substringUTF8(records.${name}, 1, most) AS ${name}` : name);
  const lengthOf = (name: string) => `${cutWithin ? `ifNull(lengthUTF8(records.${name}), 0)` : 'toUInt64(0)'} AS ${name}_length`;
  const counts = `WITH (SELECT CAST((groupArray(container), groupArray(records)), 'Map(UUID, UInt64)') FROM (
      SELECT assumeNotNull(${cutWithin}) AS container, count() AS records FROM ${keysBy[cutWithin ?? 'id']}
       WHERE ${IN_RUN} AND ${cutWithin} IN {ids:Array(UUID)} GROUP BY container)) AS counts`;
  const most = `if(type = 'retriever', 10, 1) * greatest(${LEAST_CHARACTERS}, least(${MOST_CHARACTERS},
                  intDiv(${CHARACTERS_IN_ALL}, greatest(1, counts[assumeNotNull(records.${cutWithin})])))) AS most,`;
  const rows = await clickhouse.query({
    name: 'records to score',
    sql: `${cutWithin ? counts : ''} SELECT ${cutWithin ? most : ''} id, type, trace_id, parent_id, step_number, session_id, created_at, version, ${long('input')}, input_is_json, ${lengthOf('input')},
                 ${long('output')}, output_is_json, ${lengthOf('output')}, ${long('tools')}, dataset_row_id, dataset_row_ordinal, dataset_input, dataset_output, dataset_metadata,
                 user_metadata, file_ids, ${long('error_message')}, status_code, name, model, duration_ns, num_input_tokens, num_output_tokens, num_total_tokens, cost, counted_usage
            FROM records FINAL WHERE ${IN_RUN} AND ${condition} ORDER BY created_at, id`,
    params: { ...runParams(run), ids },
    row: Scored,
  });
  const known = await filesOf(files, run, rows);
  return rows.map((row) => ({ ...row, files: row.file_ids.flatMap((id) => scoredFile(known.get(id))) }));
}

const scoredFile = (file: FileMetadata | undefined): ScoredFile[] =>
  file ? [{ id: file.file_id, modality: file.modality, sizeBytes: file.size_bytes ?? 0 }] : [];

const toScore = (row: Row, below: Pick<ScoredRecord, 'spans' | 'traces'>, trace?: OfRow): RecordToScore => ({
  id: row.id,
  createdAt: timeOfColumn(row.created_at),
  version: row.version,
  kind: row.type,
  traceId: row.trace_id,
  sessionId: row.session_id,
  failed: errorOf(row) !== undefined,
  rowOrdinal: row.dataset_row_ordinal ?? trace?.dataset_row_ordinal ?? null,
  name: row.name,
  modalities: ['text', ...new Set(row.files.map(({ modality }) => modality))],
  record: { ...asScored(row, trace), ...below },
});

/** @param trace of a span, which has the row of its trace where it names none */
const asScored = (row: Row, trace?: OfRow): ScoredRecord => ({
  kind: row.type,
  name: row.name,
  input: scoredText(row.input, row.input_is_json),
  output: scoredText(row.output, row.output_is_json),
  ...(row.input_length > row.input.length ? { inputLength: row.input_length } : {}),
  ...(row.output_length > (row.output?.length ?? 0) ? { outputLength: row.output_length } : {}),
  datasetInput: ownOr(row.dataset_input, trace?.dataset_input),
  datasetOutput: ownOr(row.dataset_output, trace?.dataset_output),
  datasetMetadata: { ...trace?.dataset_metadata, ...row.dataset_metadata },
  metadata: { ...row.user_metadata, ...row.dataset_metadata },
  ...(trace ? { traceMetadata: { ...trace.user_metadata, ...trace.dataset_metadata } } : {}),
  tools: row.tools,
  ...(row.files.length > 0 ? { files: row.files } : {}),
  ...(row.dataset_row_id === null ? {} : { isRow: true }),
  durationNs: row.duration_ns,
  inputTokens: row.num_input_tokens,
  outputTokens: row.num_output_tokens,
  totalTokens: row.num_total_tokens,
  costUsd: row.cost,
  countsTokens: isSpanKind(row.type) && ['all', 'tokens'].includes(countedOf(row)),
  countsCost: isSpanKind(row.type) && ['all', 'cost'].includes(countedOf(row)),
  errorMessage: errorOf(row) ?? null,
  model: row.model,
});

const ownOr = (own: string | null, ofTrace: string | null | undefined): string | null =>
  own === null || own.trim() === '' ? (ofTrace ?? own) : own;
