import type { ColumnDef } from '../columns/columnDef.ts';
import type { RunRef } from '../projects/runs.ts';
import type { RecordAnnotations } from '../wire/annotationRatings.ts';
import type { ColumnFilter } from '../wire/filters.ts';
import type { MetricResult } from '../wire/metricResults.ts';
import type { RecordKind } from '../wire/recordKinds.ts';
import type { AnnotationReads } from './annotationReads.ts';
import { type FileReads, filesOf, type KnownFiles } from './fileReads.ts';
import type { FindColumn } from './findColumn.ts';
import type { StoredRecord } from './record.ts';

export type RecordRun = RunRef;

export interface RecordQuery {
  run: RecordRun;
  kinds: readonly RecordKind[];
  filter: ColumnFilter;
  findColumn: FindColumn;
}

export interface OrderedQuery extends RecordQuery {
  /** Absent: created_at, then id, both descending. Records without a value come last either way. */
  sort?: { column: ColumnDef; ascending: boolean };
}

export interface RecordPageQuery extends OrderedQuery {
  offset: number;
  limit: number;
  /** Id of the last record of the page before; when it is stored, the page starts behind it and `offset` is not used. */
  after?: string;
}

/** Canonical times, both inclusive. */
export interface TimeRange {
  from?: string;
  to?: string;
}

/** A record's place: what the page's other reads start from. */
export interface RecordKey {
  id: string;
  type: RecordKind;
  /** Canonical time. */
  createdAt: string;
  /** The record's trace; null for a session. */
  traceId: string | null;
}

export const keyOf = ({ id, type, created_at, trace_id }: StoredRecord): RecordKey => ({
  id,
  type,
  createdAt: created_at,
  traceId: trace_id,
});

/** One page, as the store has read it: the newest version of each of its records. */
export interface RecordPage {
  keys: RecordKey[];
  /** Where they come with their keys in one statement. */
  records?: StoredRecord[];
  /** True when the records are too large for one statement. */
  areLarge?: boolean;
  /** The number of all records that match, which may still be counted when the page has been read. */
  total: Promise<number>;
}

/** Bytes of the records of a page: one that would have more ends before, and says where the next one begins. */
export const MAX_PAGE_BYTES = 32 * 1024 * 1024;

/** The reads that a search is made of. */
export interface RecordReads extends StoredReads, AnnotationReads, FileReads {}

/** Those of the record store. */
export interface StoredReads {
  /** Reads one page. @param columns of the records that are read with their keys; absent: the keys alone are read */
  readPage(query: RecordPageQuery, columns?: readonly string[] | 'all'): Promise<RecordPage>;
  count(query: RecordQuery): Promise<number>;
  /** How many of the records that match stand before the page that `after` begins. */
  countBefore(query: RecordPageQuery): Promise<number>;
  /**
   * The newest version of these records, in the order of the keys; those deleted since are left out. `columns` absent: all.
   * @param longest characters of a text that are read; what is JSON is read whole
   */
  records(run: RecordRun, keys: readonly RecordKey[], columns?: readonly string[], longest?: number): Promise<StoredRecord[]>;
  /**
   * As `records`, as far as they fit into so many bytes, but always the first; `taken`: of how many keys.
   * @param areLarge whether it is known that they do not all fit
   */
  recordsWithin(
    run: RecordRun,
    keys: readonly RecordKey[],
    columns: readonly string[] | undefined,
    maxBytes: number,
    areLarge: boolean,
  ): Promise<{ records: StoredRecord[]; taken: number }>;
  /** The traces of these records that are stored, those of the records that have a child, and the usage of the traces among them. */
  family(
    run: RecordRun,
    keys: readonly RecordKey[],
  ): Promise<{ storedTraces: ReadonlySet<string>; parents: ReadonlySet<string>; usage: Usage }>;
  /** Those of these traces that more spans will follow. */
  incompleteTraces(run: RecordRun, traceIds: readonly string[]): Promise<Set<string>>;
  /** The newest result of each metric (of those named, or of all) for each of these records. */
  metricResults(run: RecordRun, keys: readonly RecordKey[], metrics?: readonly string[]): Promise<Map<string, StoredMetric[]>>;
  /** Every metric that has a value in the run (on a record of the time range), and what its values are. */
  metricsWithValues(
    run: RecordRun,
    range: TimeRange,
  ): Promise<{ metric: string; dataType: 'floating_point' | 'text' | 'string_list' }[]>;
  /** Finds the metrics that have no values but true and false (on records of these kinds), among these with numbers for values. */
  booleanMetrics(run: RecordRun, metrics: readonly string[], kinds?: readonly RecordKind[]): Promise<Set<string>>;
  /** Spans of each of these traces. */
  spanCounts(run: RecordRun, traceIds: readonly string[]): Promise<Map<string, number>>;
  /** Traces of each of these sessions. */
  traceCounts(run: RecordRun, sessionIds: readonly string[]): Promise<Map<string, number>>;
  /**
   * Sums tokens, cost, and calls without a cost over the model calls of each trace and session among these keys. A figure that no call of a trace has is
   * not summed: the trace's own value stands.
   */
  usage(run: RecordRun, keys: readonly RecordKey[]): Promise<Usage>;
}

export type Usage = ReadonlyMap<string, Readonly<Record<string, number>>>;

export interface StoredMetric {
  metric: string;
  result: MetricResult;
  /** The scorer's own metadata, sent only when it is asked for. */
  metadata: Record<string, unknown> | null;
  /** Absent of a value that a client logged. */
  scorerId?: string;
}

/** Says what a page shows of each record. */
export interface PageView {
  /** Record columns to show beside those that every record carries; absent: all. */
  columns?: readonly string[];
  /** Metrics to show: all, or those named. */
  metrics: 'all' | readonly string[];
  includeCounts: boolean;
  includeMetricMetadata: boolean;
  truncate: boolean;
}

export interface FoundRecord {
  record: StoredRecord;
  /** Null for a session. */
  isComplete: boolean | null;
  /** Null for a session, and where the view does not show it. */
  hasChildren: boolean | null;
  metrics: readonly StoredMetric[];
  /** Undefined for a record that is in no annotation queue. */
  annotations: RecordAnnotations | undefined;
  /** Files that it, or another record that was read with it, names. */
  files: KnownFiles;
  /** Spans of a trace or traces of a session, when counts are asked for. */
  childCount: number | null;
}

export interface PagePlace {
  /** The number of all records that match. */
  total: number;
  /** How many of them stand before the page. */
  offset: number;
  /** The offset of the page that follows; null where none does. */
  next: number | null;
}

export interface FoundPage extends PagePlace {
  records: FoundRecord[];
}

export interface FoundIds extends PagePlace {
  ids: string[];
}

/** The keys of one page, and the number of all records that match. */
export async function findKeys(
  reads: Pick<StoredReads, 'readPage'>,
  query: RecordPageQuery,
): Promise<{ keys: RecordKey[]; total: number }> {
  const { keys, total } = await reads.readPage(query);
  return { keys, total: await total };
}

/** Finds one page, then everything else about the records on it. */
export const searchRecords = (reads: RecordReads, query: RecordPageQuery, view: PageView): Promise<FoundPage> =>
  withPlace(reads, query, (asked) => shownPage(reads, asked, query.limit, view));

/** The ids of one page alone: nothing else is read of its records. */
export const searchIds = (reads: Pick<StoredReads, 'readPage' | 'countBefore'>, query: RecordPageQuery): Promise<FoundIds> =>
  withPlace(reads, query, async (asked) => {
    const { keys, total } = await findKeys(reads, asked);
    const ids = keys.slice(0, query.limit).map(({ id }) => id);
    return { ids, taken: ids.length, found: keys.length, total };
  });

/**
 * Reads a page and says where it stands. Behind a cursor the numbers move with what is logged meanwhile: there a record more than asked for says whether
 * others follow, and where no offset comes with it, what stands before the page is counted.
 */
async function withPlace<P extends ReadPage>(
  reads: Pick<StoredReads, 'countBefore'>,
  query: RecordPageQuery,
  read: (query: RecordPageQuery) => Promise<P>,
): Promise<Omit<P, 'taken' | 'found'> & PagePlace> {
  const isBehind = query.after !== undefined;
  const reading = read(isBehind ? { ...query, limit: query.limit + 1 } : query);
  const before = isBehind && query.offset === 0 ? reads.countBefore(query) : query.offset;
  const [{ taken, found, ...page }, offset] = await Promise.all([reading, before]);
  // By the keys: of a record that is deleted meanwhile, or whose write was cut off, there is nothing to show.
  const end = offset + taken;
  const isFollowed = isBehind ? found > taken : end < page.total;
  return { ...page, offset, next: isFollowed && end > offset ? end : null };
}

interface ReadPage {
  /** The number of keys of which the records were read: fewer than asked for where more would be too large. */
  taken: number;
  /** Keys on the page. */
  found: number;
  total: number;
}

interface ShownPage extends ReadPage {
  records: FoundRecord[];
}

/** A page, of which `limit` records are shown. They are described while the page is counted: of a run of 200,000 records that saves a tenth to a fifth. */
async function shownPage(reads: RecordReads, query: RecordPageQuery, limit: number, view: PageView): Promise<ShownPage> {
  const { run } = query;
  const page = await reads.readPage(query, view.columns ?? 'all');
  const keys = page.keys.slice(0, limit);
  const reading = page.records
    ? Promise.resolve({ records: page.records.slice(0, limit), taken: keys.length })
    : reads.recordsWithin(run, keys, view.columns, MAX_PAGE_BYTES, page.areLarge ?? false);
  const [{ taken }, records, total] = await Promise.all([
    reading,
    describeRecords(
      reads,
      run,
      keys,
      view,
      reading.then((read) => read.records),
    ),
    page.total,
  ]);
  return { records, taken, found: page.keys.length, total };
}

/**
 * The records of these keys, in their order, with what is derived for them. A record deleted since its key was found is left out.
 * @param known the records, where they are read already; those that are not among them are left out
 */
export async function describeRecords(
  reads: RecordReads,
  run: RecordRun,
  keys: readonly RecordKey[],
  view: PageView,
  known?: Promise<readonly StoredRecord[]>,
): Promise<FoundRecord[]> {
  if (keys.length === 0) return [];
  const ofKind = (kind: RecordKind) => keys.filter(({ type }) => type === kind).map(({ id }) => id);
  // A trace says itself whether it is complete.
  const traceIds = [...new Set(keys.flatMap(({ type, traceId }) => (type === 'trace' || traceId === null ? [] : [traceId])))];
  const wantsChildren = view.columns?.includes('has_children') ?? true;
  const wantsMetrics = view.metrics === 'all' || view.metrics.length > 0;
  const counts = async () => {
    if (!view.includeCounts) return new Map<string, number>();
    const [spans, traces] = await Promise.all([
      reads.spanCounts(run, ofKind('trace')),
      reads.traceCounts(run, ofKind('session')),
    ]);
    return new Map([...spans, ...traces]);
  };
  const reading = known ?? reads.records(run, keys, view.columns);
  const [records, files, incomplete, family, metrics, annotations, childCounts, ofSessions] = await Promise.all([
    reading,
    reading.then((read) => filesOf(reads, run, read)),
    reads.incompleteTraces(run, traceIds),
    reads.family(run, keys),
    wantsMetrics
      ? reads.metricResults(run, keys, view.metrics === 'all' ? undefined : view.metrics)
      : new Map<string, StoredMetric[]>(),
    reads.annotations(
      run,
      keys.map(({ id }) => id),
    ),
    counts(),
    reads.usage(
      run,
      keys.filter(({ type }) => type === 'session'),
    ),
  ]);
  const usage = new Map([...family.usage, ...ofSessions]);
  return records.map((record) => {
    const isSession = record.type === 'session';
    const counted = view.includeCounts && (isSession || record.type === 'trace');
    return {
      record: withUsage(record, usage),
      isComplete: isCompleteOf(record, { ...family, incomplete }),
      hasChildren: isSession || !wantsChildren ? null : family.parents.has(record.id),
      metrics: metrics.get(record.id) ?? [],
      annotations: annotations.get(record.id),
      files,
      childCount: counted ? (childCounts.get(record.id) ?? 0) : null,
    };
  });
}

/** A trace or session with the sums over its model calls. */
export function withUsage(record: StoredRecord, usage: Usage): StoredRecord {
  const sums = usage.get(record.id);
  return sums ? { ...record, metrics: { ...record.metrics, ...sums } } : record;
}

function isCompleteOf(
  { type, trace_id, trace_is_complete }: StoredRecord,
  { storedTraces, incomplete }: { storedTraces: ReadonlySet<string>; incomplete: ReadonlySet<string> },
): boolean | null {
  if (type === 'session') return null;
  if (type === 'trace') return trace_is_complete === true;
  return trace_id !== null && storedTraces.has(trace_id) && !incomplete.has(trace_id);
}
