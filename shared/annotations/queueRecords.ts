import type { ColumnDef } from '../columns/columnDef.ts';
import { RequestInvalid } from '../errors/errors.ts';
import type { RunRef } from '../projects/runs.ts';
import { type FindColumn, isMetricColumn, metricOfColumn } from '../records/findColumn.ts';
import {
  describeRecords,
  type FoundPage,
  type FoundRecord,
  findKeys,
  type PageView,
  type RecordKey,
  type RecordQuery,
  type RecordReads,
  searchRecords,
} from '../records/searchRecords.ts';
import { MAX_QUEUE_RECORDS } from '../wire/annotations.ts';
import type { Filter } from '../wire/filters.ts';
import { recordKinds } from '../wire/recordKinds.ts';
import type { AnnotationStore } from './annotationStore.ts';
import { idIsOneOf, withAnnotatedIds } from './fullyAnnotated.ts';

/** The records of a queue that one run holds. */
export interface QueuedRun {
  run: RunRef;
  recordIds: string[];
}

/** The records of a queue (or those of these ids that it holds), by run. */
export async function queuedRuns(
  annotations: Pick<AnnotationStore, 'queuedRecords'>,
  queueId: string,
  recordIds?: readonly string[],
): Promise<QueuedRun[]> {
  const records = await annotations.queuedRecords(queueId, recordIds);
  return [...Map.groupBy(records, ({ runId }) => runId).values()].map((ofRun) => ({
    run: { projectId: (ofRun[0] as RunRef).projectId, runId: (ofRun[0] as RunRef).runId },
    recordIds: ofRun.map(({ recordId }) => recordId),
  }));
}

/** One query per run: its queued records that the filter keeps, of every kind. */
export async function queueQueries(
  reads: RecordReads,
  runs: readonly QueuedRun[],
  filter: Filter | null | undefined,
  findColumn: FindColumn,
): Promise<RecordQuery[]> {
  const queries: RecordQuery[] = [];
  for (const { run, recordIds } of runs) {
    const among = idIsOneOf(recordIds);
    const kept = filter ? { and: [among, await withAnnotatedIds(reads, run, filter)] } : among;
    queries.push({ run, kinds: recordKinds, filter: kept, findColumn });
  }
  return queries;
}

export interface QueuePage {
  offset: number;
  limit: number;
  sort?: { column: ColumnDef; ascending: boolean };
  /** Id of the last record of the page before; when it is found, the page starts behind it and `offset` is not used. */
  after?: string;
}

/**
 * One page over the records of several runs. One run is paged by the record store; of several each gives all its keys, which a queue has few of, and
 * they are put in order here.
 */
export async function searchQueue(
  reads: RecordReads,
  queries: readonly RecordQuery[],
  page: QueuePage,
  view: PageView,
): Promise<FoundPage> {
  const [only] = queries;
  if (!only) return { records: [], total: 0, offset: page.offset, next: null };
  if (queries.length === 1) return searchRecords(reads, { ...only, ...page }, view);
  const found: Placed[] = [];
  for (const query of queries) {
    const { keys } = await findKeys(reads, { ...query, offset: 0, limit: MAX_QUEUE_RECORDS });
    const values = page.sort ? await sortValues(reads, query.run, keys, page.sort.column) : undefined;
    for (const key of keys) found.push({ run: query.run, key, value: values?.get(key.id) ?? null });
  }
  found.sort((a, b) => (page.sort ? byValue(a.value, b.value, page.sort.ascending) : 0) || newestFirst(a.key, b.key));
  const before = page.after === undefined ? -1 : found.findIndex(({ key }) => key.id === page.after);
  const start = before >= 0 ? before + 1 : page.offset;
  const shown = found.slice(start, start + page.limit);
  const described = new Map<string, FoundRecord>();
  for (const placed of Map.groupBy(shown, ({ run }) => run.runId).values()) {
    const { run } = placed[0] as Placed;
    const keys = placed.map(({ key }) => key);
    for (const one of await describeRecords(reads, run, keys, view)) described.set(`${run.runId}/${one.record.id}`, one);
  }
  const records = shown.flatMap(({ run, key }) => described.get(`${run.runId}/${key.id}`) ?? []);
  const end = start + shown.length;
  return { records, total: found.length, offset: start, next: shown.length > 0 && end < found.length ? end : null };
}

interface Placed {
  run: RunRef;
  key: RecordKey;
  value: SortValue;
}
type SortValue = string | number | boolean | null;

/** Returns what each of these records has in a column, for comparing records of different runs. */
async function sortValues(
  reads: RecordReads,
  run: RunRef,
  keys: readonly RecordKey[],
  { id }: ColumnDef,
): Promise<Map<string, SortValue>> {
  const [container, ...rest] = id.split('/') as [string, ...string[]];
  const view: PageView = {
    columns: [container],
    metrics: isMetricColumn(id) ? [metricOfColumn(id)] : [],
    ...{ includeCounts: false, includeMetricMetadata: false, truncate: false },
  };
  const shownIn = ({ record, metrics, isComplete, hasChildren }: FoundRecord): unknown => {
    if (id === 'is_complete') return isComplete;
    if (id === 'has_children') return hasChildren;
    const scored = metrics[0]?.result;
    if (scored && 'value' in scored) return scored.value;
    const value = (record as unknown as Record<string, unknown>)[container];
    return rest.length === 0 ? value : (value as Record<string, unknown> | undefined)?.[rest.join('/')];
  };
  return new Map(
    (await describeRecords(reads, run, keys, view)).map((found) => {
      const value = shownIn(found) ?? null;
      return [found.record.id, typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as SortValue)];
    }),
  );
}

/** Records without a value come last either way. */
function byValue(a: SortValue, b: SortValue, ascending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = typeof a === 'string' ? Buffer.compare(Buffer.from(a), Buffer.from(String(b))) : Number(a) - Number(b);
  return ascending ? order : -order;
}

const newestFirst = (a: RecordKey, b: RecordKey): number =>
  a.createdAt === b.createdAt ? (a.id < b.id ? 1 : -1) : a.createdAt < b.createdAt ? 1 : -1;

/** The number of records that these queries find. */
export async function countQueue(reads: Pick<RecordReads, 'count'>, queries: readonly RecordQuery[]): Promise<number> {
  let count = 0;
  for (const query of queries) count += await reads.count(query);
  return count;
}

/** The ids of the records that these queries find. @throws RequestInvalid for more than a queue holds */
export async function idsFound(reads: Pick<RecordReads, 'readPage'>, queries: readonly RecordQuery[]): Promise<string[]> {
  const ids: string[] = [];
  for (const query of queries) {
    const { keys, total } = await findKeys(reads, { ...query, offset: 0, limit: MAX_QUEUE_RECORDS });
    if (total > MAX_QUEUE_RECORDS)
      throw new RequestInvalid([
        {
          loc: ['body', 'record_selector', 'filter_tree'],
          msg: `the filter finds ${total} records, and a queue holds at most ${MAX_QUEUE_RECORDS}`,
          type: 'too_many_records',
        },
      ]);
    for (const { id } of keys) ids.push(id);
  }
  return ids;
}

/**
 * Adds the records that a query of one run finds. A record that is deleted meanwhile does not stay behind: those added are looked up once more.
 * @returns how many were not in the queue before
 */
export async function addToQueue(
  { reads, annotations }: { reads: Pick<RecordReads, 'readPage'>; annotations: AnnotationStore },
  queueId: string,
  query: RecordQuery,
  addedBy: string,
): Promise<number> {
  const found = await idsFound(reads, [query]);
  if (found.length === 0) return 0;
  const added = await annotations.addRecords(queueId, query.run, found, addedBy);
  if (added.length === 0) return 0;
  const still = new Set(await idsFound(reads, [{ ...query, filter: idIsOneOf(added) }]));
  const gone = added.filter((id) => !still.has(id));
  if (gone.length > 0) await annotations.removeRecords(queueId, gone);
  return still.size;
}
