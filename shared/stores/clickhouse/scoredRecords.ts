import { z } from 'zod';
import { recordKinds } from '../../columns/columnDef.ts';
import type { ScoredRecord } from '../../metrics/metric.ts';
import type { RunRef } from '../../projects/runs.ts';
import { errorOf } from '../../records/failed.ts';
import type { RecordSize, RecordToScore } from '../../scoring/recordToScore.ts';
import { IN_RUN, runParams, timeOfColumn } from './binder.ts';
import type { ClickHouse } from './clickHouse.ts';
import { textBytes } from './shortColumnsCache.ts';
import { keysBy } from './tables.ts';

/** The keys tell when the records were made, which is what the record table is ordered by. */
const byKeys = (column: keyof typeof keysBy) =>
  `(created_at, id) IN (SELECT created_at, id FROM ${keysBy[column]} WHERE ${IN_RUN} AND ${column} IN {ids:Array(UUID)})`;

const count = z.string().transform(Number).nullable();
const texts = z.record(z.string(), z.string());
const Scored = z.object({
  id: z.string(),
  type: z.enum(recordKinds),
  trace_id: z.string().nullable(),
  parent_id: z.string().nullable(),
  session_id: z.string(),
  created_at: z.string(),
  version: z.string().transform(Number),
  input: z.string(),
  output: z.string().nullable(),
  dataset_input: z.string().nullable(),
  dataset_output: z.string().nullable(),
  dataset_metadata: texts,
  user_metadata: texts,
  file_modalities: z.array(z.string()),
  error_message: z.string(),
  status_code: z.number().nullable(),
  name: z.string(),
  model: z.string().nullable(),
  duration_ns: count,
  num_input_tokens: count,
  num_output_tokens: count,
  num_total_tokens: count,
});
type Row = z.output<typeof Scored>;

/** The records of these ids, as metrics see them; with all that is below them, in order of its start, where a metric looks at that. */
export async function recordsToScore(
  clickhouse: ClickHouse,
  run: RunRef,
  ids: readonly string[],
  withSpans: boolean,
): Promise<RecordToScore[]> {
  if (ids.length === 0) return [];
  const wanted = new Set(ids);
  const rows = (await read(clickhouse, run, byKeys('id'), ids)).filter(({ id }) => wanted.has(id));
  if (!withSpans) return rows.map((row) => toScore(row, {}));
  const tracesOf = rows.flatMap(({ type, trace_id }) => (type === 'session' || trace_id === null ? [] : [trace_id]));
  const sessions = rows.filter(({ type }) => type === 'session').map(({ id }) => id);
  const [inTraces, inSessions] = await Promise.all([
    // A span that was moved has left an older key behind, so what is read says where it is now.
    readBelow(clickhouse, run, 'trace_id', [...new Set(tracesOf)]),
    readBelow(clickhouse, run, 'session_id', sessions),
  ]);
  return rows.map((row) => {
    const { id, type, trace_id } = row;
    if (type === 'session') return toScore(row, { spans: (inSessions.get(id) ?? []).map(asScored) });
    const spans = inTraces.get(trace_id as string) ?? [];
    if (type !== 'trace') return toScore(row, { spans: descendants(id, childrenOf(spans), spans).map(asScored) });
    return { ...toScore(row, { spans: spans.map(asScored) }), spansOf: spansOfTrace(spans) };
  });
}

function spansOfTrace(spans: readonly Row[]): NonNullable<RecordToScore['spansOf']> {
  return (kinds, withSpans) => {
    const wanted = spans.filter(({ type }) => kinds.includes(type));
    if (!withSpans) return wanted.map((span) => toScore(span, {}));
    const children = childrenOf(spans);
    return wanted.map((span) => {
      const below = descendants(span.id, children, spans);
      const version = below.reduce((newest, one) => Math.max(newest, one.version), span.version);
      return { ...toScore(span, { spans: below.map(asScored) }), version };
    });
  };
}

const METADATA = ['dataset_metadata', 'user_metadata']
  .map((map) => `arraySum(arrayMap(text -> length(text), mapValues(${map})))`)
  .join(' + ');
const BYTES = `sum(${textBytes(['input', 'output', 'dataset_input', 'dataset_output'])} + ${METADATA})`;

/** Bytes of the texts of these records; with those of all that is read for them where a metric looks at what is below. */
export async function recordSizes(
  clickhouse: ClickHouse,
  run: RunRef,
  ids: readonly string[],
  withSpans: boolean,
): Promise<Map<string, RecordSize>> {
  if (ids.length === 0) return new Map();
  const sizes = (condition: string, of: string, params: readonly string[]) =>
    clickhouse.query({
      name: 'sizes of records',
      sql: `SELECT ${of} AS read_id, ${BYTES} AS bytes FROM records WHERE ${IN_RUN} AND ${condition} GROUP BY read_id`,
      params: { ...runParams(run), ids: params },
      row: z.object({ read_id: z.string(), bytes: z.string().transform(Number) }),
    });
  if (!withSpans)
    return new Map((await sizes(byKeys('id'), 'id', ids)).map(({ read_id, bytes }) => [read_id, { readId: read_id, bytes }]));
  const kinds = await clickhouse.query({
    name: 'kinds of records',
    sql: `SELECT id, type, trace_id FROM record_keys WHERE ${IN_RUN} AND id IN {ids:Array(UUID)} ORDER BY version DESC LIMIT 1 BY id`,
    params: { ...runParams(run), ids },
    row: z.object({ id: z.string(), type: z.enum(recordKinds), trace_id: z.string().nullable() }),
  });
  const sessions = kinds.flatMap(({ id, type }) => (type === 'session' ? [id] : []));
  const traces = [...new Set(kinds.flatMap(({ type, trace_id }) => (type === 'session' ? [] : (trace_id ?? []))))];
  const [inTraces, inSessions] = await Promise.all([
    traces.length > 0 ? sizes(byKeys('trace_id'), 'trace_id', traces) : [],
    sessions.length > 0 ? sizes(byKeys('session_id'), 'session_id', sessions) : [],
  ]);
  const bytesOf = new Map([...inTraces, ...inSessions].map(({ read_id, bytes }) => [read_id, bytes]));
  return new Map(
    kinds.map(({ id, type, trace_id }) => {
      const readId = type === 'session' ? id : (trace_id ?? id);
      return [id, { readId, bytes: bytesOf.get(readId) ?? 0 }];
    }),
  );
}

async function readBelow(clickhouse: ClickHouse, run: RunRef, column: 'trace_id' | 'session_id', ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, Row[]>();
  const rows = await read(
    clickhouse,
    run,
    `type NOT IN ('trace', 'session') AND ${column} IN {ids:Array(UUID)} AND ${byKeys(column)}`,
    ids,
  );
  return Map.groupBy(rows, (row) => row[column] as string);
}

const read = (clickhouse: ClickHouse, run: RunRef, condition: string, ids: readonly string[]): Promise<Row[]> =>
  clickhouse.query({
    name: 'records to score',
    sql: `SELECT id, type, trace_id, parent_id, session_id, created_at, version, input, output, dataset_input, dataset_output, dataset_metadata, user_metadata,
                 file_modalities, error_message, status_code, name, model, duration_ns, num_input_tokens, num_output_tokens, num_total_tokens
            FROM records FINAL WHERE ${IN_RUN} AND ${condition} ORDER BY created_at, id`,
    params: { ...runParams(run), ids },
    row: Scored,
  });

const childrenOf = (spans: readonly Row[]) => Map.groupBy(spans, ({ parent_id }) => parent_id);

/** The spans below one of them, at any depth; a loop of parents is walked once. */
function descendants(id: string, children: ReturnType<typeof childrenOf>, spans: readonly Row[]): Row[] {
  const found = new Set<Row>();
  const open = [...(children.get(id) ?? [])];
  for (let next = open.pop(); next; next = open.pop()) {
    if (found.has(next) || next.id === id) continue;
    found.add(next);
    for (const child of children.get(next.id) ?? []) open.push(child);
  }
  return spans.filter((span) => found.has(span));
}

const toScore = (row: Row, below: Pick<ScoredRecord, 'spans'>): RecordToScore => ({
  id: row.id,
  createdAt: timeOfColumn(row.created_at),
  version: row.version,
  kind: row.type,
  traceId: row.trace_id,
  sessionId: row.session_id,
  failed: errorOf(row) !== undefined,
  name: row.name,
  modalities: ['text', ...row.file_modalities],
  record: { ...asScored(row), ...below },
});

const asScored = (row: Row): ScoredRecord => ({
  kind: row.type,
  name: row.name,
  input: row.input,
  output: row.output,
  datasetInput: row.dataset_input,
  datasetOutput: row.dataset_output,
  metadata: { ...row.user_metadata, ...row.dataset_metadata },
  durationNs: row.duration_ns,
  inputTokens: row.num_input_tokens,
  outputTokens: row.num_output_tokens,
  totalTokens: row.num_total_tokens,
  errorMessage: errorOf(row) ?? null,
  model: row.model,
});
