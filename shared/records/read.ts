import { ServiceError } from '../errors/errors.ts';
import type { RunRef } from '../projects/runs.ts';
import { MAX_SPAN_DEPTH } from '../recordSchemas/ingest.ts';
import type { RecordAnnotations } from '../wire/annotationRatings.ts';
import { type FileReads, filesOf, type KnownFiles } from './fileReads.ts';
import type { StoredRecord } from './record.ts';
import type { StoredKey } from './recordStore.ts';
import { toExtendedRecord } from './recordView.ts';
import {
  keyOf,
  type PageView,
  type RecordKey,
  type RecordReads,
  type StoredMetric,
  type Usage,
  withUsage,
} from './searchRecords.ts';
import { inOrder, inRunOrder, type SpanPlace } from './spanOrder.ts';

/** Reads single records from the store. These requests name no run: an id is looked up in the whole project. */
export interface RecordReader {
  /** Where the newest record with this id is. */
  find(projectId: string, id: string): Promise<{ run: RunRef; key: StoredKey } | undefined>;
  record(run: RunRef, id: string): Promise<StoredRecord | undefined>;
  /**
   * The trace, if stored, and its spans; undefined when none of them is stored. At most `limit` and one more.
   * @param fields of the records beside those that every read takes; absent: all
   */
  traceRecords(
    projectId: string,
    traceId: string,
    limit: number,
    fields?: readonly string[],
  ): Promise<{ run: RunRef; records: StoredRecord[] } | undefined>;
  /** A span and all below it, as far as they are stored; nothing else of its trace is read. At most `limit` and one more. */
  spanRecords(run: RunRef, span: SpanKey, limit: number): Promise<SpanRecords>;
  /** A span or trace without those below it. */
  recordAlone(run: RunRef, record: SpanKey): Promise<SpanRecords & { hasChildren: boolean }>;
  /** A session, its traces and their spans. At most `limit` and one more. */
  sessionRecords(run: RunRef, sessionId: string, limit: number): Promise<StoredRecord[]>;
}

export type SpanKey = StoredKey & { trace_id: string };

export interface SpanRecords {
  records: StoredRecord[];
  /** Absent where the trace's own record has not come. */
  trace: TraceState | undefined;
  /** Canonical time of the newest record of the whole trace. */
  newest: string;
}

/** Fields that spans take from the record of their trace. */
type TraceState = Pick<StoredRecord, 'id' | 'trace_is_complete'>;

export interface ReadDeps {
  reader: RecordReader;
  reads: Pick<RecordReads, 'metricResults' | 'annotations' | 'usage'> & FileReads;
}

export type Tree = Record<string, unknown> & { id: string; type: string; spans?: Tree[] };
/** The parts of records that are stored in other tables, by record. */
export interface Attached {
  metrics: ReadonlyMap<string, StoredMetric[]>;
  annotations: ReadonlyMap<string, RecordAnnotations>;
  files: KnownFiles;
  usage: Usage;
}

const wholeRecords: PageView = { metrics: 'all', includeCounts: false, includeMetricMetadata: false, truncate: false };

// A trace or session of this many records is some 100 MB of JSON; a search pages through it instead.
const MAX_TREE_RECORDS = 50_000;

/** A trace with the whole tree of its spans; a trace known only by its spans is a stub. */
export async function readTrace(
  { reader, reads }: ReadDeps,
  projectId: string,
  traceId: string,
): Promise<Record<string, unknown>> {
  const { run, records } = await recordsOfTrace(reader, projectId, traceId);
  const attached = await attachedTo(reads, run, records);
  const trees = traceTrees(records, attached);
  const trace = trees.find(({ id }) => id === traceId);
  if (trace) return trace;
  const session = records[0]?.session_id;
  return {
    type: 'stub_trace',
    id: traceId,
    project_id: projectId,
    run_id: run.runId,
    session_id: session ?? null,
    spans: trees,
  };
}

/** @throws ServiceError `NotFound` where none of them is stored, `QueryTooExpensive` where they are more than one answer takes. */
export async function recordsOfTrace(reader: RecordReader, projectId: string, traceId: string, fields?: readonly string[]) {
  const found = await reader.traceRecords(projectId, traceId, MAX_TREE_RECORDS, fields);
  if (!found || found.records.length === 0) throw notFound('trace', traceId);
  if (found.records.length > MAX_TREE_RECORDS) throw tooLarge('trace', 'its spans page by page through spans/search', 'trace_id');
  return found;
}

/** A span with the spans below it. */
export async function readSpan(deps: ReadDeps, projectId: string, spanId: string): Promise<Record<string, unknown>> {
  const { reader, reads } = deps;
  const at = await reader.find(projectId, spanId);
  if (!at || !isSpanKey(at.key)) throw notFound('span', spanId);
  const { records, trace } = await reader.spanRecords(at.run, at.key, MAX_TREE_RECORDS);
  if (records.length > MAX_TREE_RECORDS) throw tooLarge('span', 'its spans page by page through spans/search', 'trace_id');
  const below = subtree(records, spanId);
  if (!below) throw notFound('span', spanId);
  const [span] = traceTrees(below, await attachedTo(reads, at.run, below), trace);
  return span as Tree;
}

const hasTrace = (key: StoredKey): key is SpanKey => key.trace_id !== null;
const isSpanKey = (key: StoredKey): key is SpanKey => hasTrace(key) && key.type !== 'trace';

/**
 * A trace or span as its tree has it, but without the records below it.
 * @throws ServiceError `NotFound`
 */
export async function readAlone(
  deps: ReadDeps,
  projectId: string,
  what: 'trace' | 'span',
  id: string,
): Promise<Record<string, unknown>> {
  const { reader, reads } = deps;
  const at = await reader.find(projectId, id);
  if (what === 'trace' && at?.key.type !== 'trace') return { ...(await readTrace(deps, projectId, id)), spans: [] };
  if (!at || !hasTrace(at.key) || (what === 'span' && !isSpanKey(at.key))) throw notFound(what, id);
  const { records, trace, hasChildren } = await reader.recordAlone(at.run, at.key);
  const [record] = records;
  if (!record) throw notFound(what, id);
  const derived = { isComplete: trace?.trace_is_complete ?? false, hasChildren };
  const tree = recordTree(record, derived, await attachedTo(reads, at.run, [record]), wholeRecords);
  return kindsWithSpans.has(record.type) ? { ...tree, spans: [] } : tree;
}

async function runOfSession(reader: RecordReader, projectId: string, sessionId: string): Promise<RunRef> {
  const at = await reader.find(projectId, sessionId);
  if (at?.key.type !== 'session') throw notFound('session', sessionId);
  return at.run;
}

/**
 * A session without its traces, however many it has.
 * @throws ServiceError `NotFound`
 */
export async function readSessionAlone(
  { reader, reads }: ReadDeps,
  projectId: string,
  sessionId: string,
): Promise<Record<string, unknown>> {
  const run = await runOfSession(reader, projectId, sessionId);
  const session = await reader.record(run, sessionId);
  if (!session) throw notFound('session', sessionId);
  return { ...sessionTree(session, await attachedTo(reads, run, [session])), traces: [] };
}

/** A session with its traces, each with its spans. */
export async function readSession(
  { reader, reads }: ReadDeps,
  projectId: string,
  sessionId: string,
): Promise<Record<string, unknown>> {
  const run = await runOfSession(reader, projectId, sessionId);
  const records = await reader.sessionRecords(run, sessionId, MAX_TREE_RECORDS);
  if (records.length > MAX_TREE_RECORDS) throw tooLarge('session', 'its traces page by page through traces/search', 'session_id');
  const session = records.find(({ id }) => id === sessionId);
  if (!session) throw notFound('session', sessionId);
  const attached = await attachedTo(reads, run, records);
  const inTraces = Map.groupBy(
    records.filter(({ type }) => type !== 'session'),
    ({ trace_id }) => trace_id,
  );
  const traces = records.filter(({ type }) => type === 'trace').sort((a, b) => inOrder(placeOf(a), placeOf(b)));
  return {
    ...sessionTree(session, attached),
    traces: traces.flatMap((trace) => traceTrees(inTraces.get(trace.id) ?? [], attached, trace)),
  };
}

/** A session as it is shown above its traces. */
export const sessionTree = (session: StoredRecord, attached: Attached, view = wholeRecords): Tree =>
  recordTree(session, { isComplete: null, hasChildren: null }, attached, view);

const tooLarge = (what: string, instead: string, column: string): ServiceError =>
  new ServiceError(
    'QueryTooExpensive',
    `the ${what} holds more than ${MAX_TREE_RECORDS} records; read ${instead} with a filter on ${column}`,
  );

const notFound = (what: string, id: string): ServiceError =>
  new ServiceError('NotFound', `no ${what} ${id} in this project`, { context: { id } });

/** Reads what is stored elsewhere about these records. */
export async function attachedTo(reads: ReadDeps['reads'], run: RunRef, records: readonly StoredRecord[]): Promise<Attached> {
  return attachedToKeys(reads, run, records.map(keyOf), Promise.resolve(records));
}

/** The same while the records are being read. */
export async function attachedToKeys(
  reads: ReadDeps['reads'],
  run: RunRef,
  keys: readonly RecordKey[],
  reading: Promise<readonly StoredRecord[]>,
): Promise<Attached> {
  const ids = keys.map(({ id }) => id);
  const [metrics, annotations, usage, files] = await Promise.all([
    reads.metricResults(run, keys),
    reads.annotations(run, ids),
    reads.usage(run, keys),
    reading.then((records) => filesOf(reads, run, records)),
  ]);
  return { metrics, annotations, usage, files };
}

function recordTree(
  record: StoredRecord,
  derived: { isComplete: boolean | null; hasChildren: boolean | null },
  { metrics, annotations, usage, files }: Attached,
  view: PageView,
): Tree {
  const found = {
    record: withUsage(record, usage),
    ...derived,
    metrics: metrics.get(record.id) ?? [],
    annotations: annotations.get(record.id),
    files,
    childCount: null,
  };
  return toExtendedRecord(found, view);
}

const kindsWithSpans: ReadonlySet<string> = new Set(['trace', 'agent', 'workflow', 'tool', 'retriever']);

/**
 * The records of one trace as trees: one when the trace is among them. A span whose parent is not stored or stands below the span itself hangs at the
 * top, one below a span that cannot hold any hangs beside that one; what nests deeper than {@link MAX_SPAN_DEPTH} is listed at that depth, so that every
 * JSON reader can take it. Everywhere spans stand in the order in which they ran.
 * @param trace says whether the spans are complete where it is not among the records.
 */
export function traceTrees(
  records: readonly StoredRecord[],
  attached: Attached,
  trace: TraceState | undefined = records.find(({ type }) => type === 'trace'),
  view = wholeRecords,
): Tree[] {
  const parents = new Set(records.map(({ parent_id }) => parent_id));
  const treeOf = (record: StoredRecord): Tree => {
    const derived = { isComplete: trace?.trace_is_complete ?? false, hasChildren: parents.has(record.id) };
    const tree = recordTree(record, derived, attached, view);
    if (kindsWithSpans.has(record.type)) tree.spans = [];
    return tree;
  };
  const tops: Tree[] = [];
  const trees = new Map<StoredRecord, Tree>();
  for (const { record, above } of hanging(records, trace)) {
    const tree = treeOf(record);
    trees.set(record, tree);
    ((above && trees.get(above)?.spans) ?? tops).push(tree);
  }
  return tops;
}

/** The records of one trace in the order in which they ran, each with the one that it hangs below; the rules are those of {@link traceTrees}. */
export function hanging(
  records: readonly StoredRecord[],
  trace: Pick<StoredRecord, 'id'> | undefined = records.find(({ type }) => type === 'trace'),
): { record: StoredRecord; above: StoredRecord | undefined }[] {
  const root = records.find(({ id }) => id === trace?.id);
  const top = { above: root, depth: 0 };
  /** By the id of a record: the record that those below it hang on, and how deep. */
  const below = new Map([[trace?.id ?? null, top]]);
  const spans = inRunOrder(
    records.filter((record) => record !== root),
    placeOf,
  );
  const placed = spans.map((record) => {
    const { above, depth } = below.get(record.parent_id ?? null) ?? top;
    const holds = kindsWithSpans.has(record.type) && depth + 1 < MAX_SPAN_DEPTH;
    below.set(record.id, holds ? { above: record, depth: depth + 1 } : { above, depth });
    return { record, above };
  });
  return root ? [{ record: root, above: undefined }, ...placed] : placed;
}

/** The span and everything below it; undefined when it is not among the records. */
export function subtree<R extends { id: string; parent_id?: string | null | undefined }>(
  records: readonly R[],
  spanId: string,
): R[] | undefined {
  const span = records.find(({ id }) => id === spanId);
  if (!span) return undefined;
  const children = Map.groupBy(records, ({ parent_id }) => parent_id ?? null);
  const found = new Set([span]);
  for (const record of found) for (const child of children.get(record.id) ?? []) found.add(child);
  return [...found];
}

const placeOf = ({ id, parent_id, created_at, step_number, version }: StoredRecord): SpanPlace => ({
  ...{ id, parentId: parent_id ?? null, createdAt: created_at, stepNumber: step_number ?? null, version },
});
