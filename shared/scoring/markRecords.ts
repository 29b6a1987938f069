import type { RunRef } from '../projects/runs.ts';
import type { ExportReads } from '../records/exportRecords.ts';
import type { FindColumn } from '../records/findColumn.ts';
import type { MetricValue } from '../records/recordStore.ts';
import type { RecordKey, RecordRun } from '../records/searchRecords.ts';
import { isSampled } from '../scorers/isSampled.ts';
import { isScored } from '../scorers/isScored.ts';
import { asksJudges, type EnabledMetric } from '../scorers/resolveMetrics.ts';
import type { RecordKind } from '../wire/recordKinds.ts';
import type { SegmentFilter } from '../wire/scorers.ts';
import { valueKey } from './metricValue.ts';
import {
  type FreshRecord,
  type LackingQuery,
  type MarkedMetric,
  type MarkedValue,
  type MarkStore,
  type ScoringRequest,
  type Selection,
  versionNow,
} from './scoring.ts';
import { isOfSpansAlone } from './spansOfRows.ts';

export interface MarkDeps {
  marks: MarkStore;
  stream: Pick<ExportReads, 'keys'>;
  /** The columns that a request names. */
  findColumn(run: RunRef, selection: Selection): Promise<FindColumn>;
  write(run: RunRef, values: readonly MetricValue[]): Promise<void>;
  /** The run without what its project's retention hides. */
  unexpired(run: RunRef): Promise<RecordRun>;
}

/** The marked values, and the time of the oldest record among them. */
export interface Marked {
  count: number;
  oldest: string | null;
}

/** Marks in one write. */
const MARKS_PER_WRITE = 5_000;
/** Traces looked at together: one may have 10,000 spans. */
const TRACES_AT_ONCE = 100;
/** Records whose names and metadata are read together. */
const TARGETS_AT_ONCE = 1_000;
/** Sessions of which the values are looked at together. */
const SESSIONS_AT_ONCE = 1_000;
/** Microseconds that the clocks of machines may be apart. */
const MOST_AHEAD = 60_000_000;

/**
 * Marks the values of a request as pending. The marks are the list of what is to be done, so it is frozen here: what changes a record's values
 * while they are computed changes nothing of it. Safe to repeat.
 * @param above version that all marks are above: values that stand may be of a clock that was ahead
 */
export async function markRequested(
  deps: MarkDeps,
  request: ScoringRequest,
  metrics: readonly EnabledMetric[],
  above: number,
): Promise<Marked> {
  const { filter, sort, page, kinds: wanted, segments } = request.selection;
  const kinds = kindsOf(metrics).filter((kind) => wanted?.includes(kind) ?? true);
  const marker = new Marker(deps, request);
  if (kinds.length === 0) return marker.end();
  const findColumn = await deps.findColumn(request, request.selection);
  const query = {
    run: await deps.unexpired({ projectId: request.projectId, runId: request.runId }),
    kinds,
    filter,
    findColumn,
    finishedSessionsOnly: false,
    ...(sort ? { sort: { column: findColumn(sort.columnId), ascending: sort.ascending } } : {}),
  };
  const found = pageOf(() => deps.stream.keys(query), page);
  for await (const [key, takes] of segments ? sampled(deps.marks, request, found, segments) : unsampled(found))
    for (const metric of metrics)
      if (metric.kinds.includes(key.type) && takes(metric))
        await marker.mark(
          { recordId: key.id, createdAt: key.createdAt, kind: key.type, traceId: key.traceId, version: above },
          metric,
        );
  return marker.end();
}

/** A record, and whether a metric is computed for it. */
type Sampled = [key: RecordKey, takes: (metric: EnabledMetric) => boolean];

async function* unsampled(keys: AsyncIterable<RecordKey>): AsyncGenerator<Sampled> {
  for await (const key of keys) yield [key, () => true];
}

/** Yields each record with the metrics that its segments choose, by its name, metadata and contents; leaves out records deleted meanwhile. */
async function* sampled(
  marks: Pick<MarkStore, 'scoringTargets'>,
  run: RunRef,
  keys: AsyncIterable<RecordKey>,
  segments: readonly SegmentFilter[],
): AsyncGenerator<Sampled> {
  for await (const batch of inBatches(keys, TARGETS_AT_ONCE)) {
    const targets = await marks.scoringTargets(
      run,
      batch.map(({ id }) => id),
    );
    const byId = new Map(targets.map((target) => [target.id, { ...target, traceId: target.traceId ?? target.id }]));
    for (const key of batch) {
      const target = byId.get(key.id);
      if (target) yield [key, (metric) => isSampled(metric, target, segments)];
    }
  }
}

async function* inBatches<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** One page of the keys, as a search gives it: behind the cursor when that is among them, else from the offset. */
async function* pageOf(keys: () => AsyncIterable<RecordKey>, page: Selection['page']): AsyncGenerator<RecordKey> {
  if (!page) {
    yield* keys();
    return;
  }
  const { after, offset, limit } = page;
  let isBehind = false;
  let given = 0;
  if (after !== undefined)
    for await (const key of keys()) {
      if (given >= limit) return;
      if (isBehind) {
        yield key;
        given++;
      } else isBehind = key.id === after;
    }
  if (isBehind) return;
  let skipped = 0;
  for await (const key of keys()) {
    if (given >= limit) return;
    if (skipped++ < offset) continue;
    yield key;
    given++;
  }
}

/**
 * Yields what the settings of a run that is filled by logging have computed of records of complete traces that were written since: values that are
 * missing, and those of records that were written again after they were scored.
 */
export async function* newValues(
  deps: Pick<MarkDeps, 'marks'>,
  run: RunRef,
  metrics: readonly EnabledMetric[],
  segments: readonly SegmentFilter[],
  since: number,
): AsyncGenerator<MarkedValue, void, undefined> {
  const kinds = kindsOf(metrics);
  if (kinds.length === 0) return;
  const names = metrics.map(({ name }) => name);
  const withSpans = metrics.some(({ readsSpans }) => readsSpans);
  const look = async function* (traceIds: readonly string[]) {
    const records = await deps.marks.freshRecords(run, traceIds, kinds, withSpans);
    if (records.length === 0) return;
    const versions = await deps.marks.valueVersions(
      run,
      records.map(({ id }) => id),
      names,
    );
    for (const record of records)
      for (const metric of metrics) {
        const version = metric.readsSpans ? record.version : record.ownVersion;
        if ((versions.get(valueKey(record.id, metric.name)) ?? 0) < version && isWanted(metric, record, segments))
          yield toBeComputed(record, metric);
      }
  };
  let traceIds: string[] = [];
  for await (const traceId of deps.marks.touchedTraces(run, since)) {
    traceIds.push(traceId);
    if (traceIds.length < TRACES_AT_ONCE) continue;
    yield* look(traceIds);
    traceIds = [];
  }
  if (traceIds.length > 0) yield* look(traceIds);
}

/** The versions by which a look decides that sessions are idle. */
export interface IdleLook {
  since: number;
  now: number;
  /** A session whose newest record is not older than this is not idle yet. */
  until: number;
  /** A value that is not newer than the newest record by this may lack it: records are stored a little after they were stamped. */
  margin: number;
  /** Gets the version of the newest record of each session that is not. */
  onActive(version: number): void;
}

/**
 * Yields what the settings of such a run have computed of sessions that are idle: of those that were never scored, and of those that have got records since
 * they were.
 */
export async function* idleSessionValues(
  deps: Pick<MarkDeps, 'marks'>,
  run: RunRef,
  metrics: readonly EnabledMetric[],
  segments: readonly SegmentFilter[],
  { since, now, until, margin, onActive }: IdleLook,
): AsyncGenerator<MarkedValue, void, undefined> {
  const ofSessions = metrics.filter(({ kinds }) => kinds.includes('session'));
  if (ofSessions.length === 0) return;
  const names = ofSessions.map(({ name }) => name);
  // Written while the clock was ahead: when that was is not known, and to wait for that time to come may take for ever.
  const isAhead = (version: number): boolean => version > now + MOST_AHEAD;
  const look = async function* (newest: ReadonlyMap<string, number>) {
    const ids = [...newest.keys()];
    const [sessions, versions] = await Promise.all([
      deps.marks.freshSessions(run, ids),
      deps.marks.valueVersions(run, ids, names),
    ]);
    for (const session of sessions)
      for (const metric of ofSessions) {
        const version = newest.get(session.id) as number;
        const lacking = version + (isAhead(version) ? 0 : margin);
        if ((versions.get(valueKey(session.id, metric.name)) ?? 0) < lacking && isWanted(metric, session, segments))
          yield toBeComputed({ ...session, version }, metric);
      }
  };
  let idle = new Map<string, number>();
  for await (const { id, version } of deps.marks.touchedSessions(run, since)) {
    if (version > until && !isAhead(version)) onActive(version);
    else idle.set(id, version);
    if (idle.size < SESSIONS_AT_ONCE) continue;
    yield* look(idle);
    idle = new Map();
  }
  if (idle.size > 0) yield* look(idle);
}

/**
 * Yields what the rows of an experiment lack of its metrics: values that are missing, that failed before this run, that are older than their row, or that
 * another version of the scorer made. Each row has a value of each metric, be it that the settings leave the row out.
 */
export async function* lackingValues(
  deps: Pick<MarkDeps, 'marks'>,
  run: RunRef,
  { metrics, frozenAt }: { metrics: readonly EnabledMetric[]; frozenAt: number },
  of: Pick<LackingQuery, 'unknownCounts' | 'states' | 'attempts' | 'since' | 'traceIds'>,
): AsyncGenerator<MarkedValue, void, undefined> {
  if (metrics.length === 0) return;
  const byName = new Map(metrics.map((metric) => [metric.name, metric]));
  const traces = deps.marks.lacking(run, {
    ...of,
    ...versionsOf(metrics),
    failedBefore: frozenAt,
  });
  for await (const { id, createdAt, version, metrics: lacked } of traces)
    for (const name of lacked)
      yield toBeComputed(
        // Not before this run by any clock: what fails in it is not computed again in it.
        { id, createdAt, kind: 'trace', traceId: id, version: Math.max(version, frozenAt) },
        byName.get(name) as EnabledMetric,
      );
}

/** Returns what a look for values that are lacking asks of metrics. */
export const versionsOf = (metrics: readonly EnabledMetric[]) => ({
  metrics: metrics.map(({ name, version = '' }) => ({ name, version })),
  withSpans: metrics.some((metric) => metric.readsSpans || isOfSpansAlone(metric)),
  ofSpans: metrics.filter(isOfSpansAlone).map(({ name }) => name),
});

/**
 * Marks the values of judges, and gives the others: they cost nothing, so they are computed at once and not written twice.
 * @param onMarked called when all are marked; not when `stopping` aborts before
 */
export async function* markJudged(
  deps: Pick<MarkDeps, 'write'>,
  run: RunRef,
  values: AsyncIterable<MarkedValue>,
  metrics: readonly EnabledMetric[],
  onMarked: (marked: Marked) => void,
  stopping: AbortSignal,
): AsyncGenerator<MarkedValue, void, undefined> {
  const byName = new Map(metrics.map((metric) => [metric.name, metric]));
  const marker = new Marker(deps, run);
  for await (const value of values) {
    if (stopping.aborted) return;
    const metric = byName.get(value.metric) as EnabledMetric;
    if (!asksJudges(metric)) yield value;
    else await marker.mark(value, metric);
  }
  onMarked(await marker.end());
}

const toBeComputed = (
  record: Pick<FreshRecord, 'id' | 'createdAt' | 'kind' | 'traceId' | 'version'>,
  metric: EnabledMetric,
): MarkedValue => ({
  recordId: record.id,
  createdAt: record.createdAt,
  kind: record.kind,
  traceId: record.traceId,
  metric: metric.name,
  scorerId: metric.scorerId,
  scorerVersion: metric.version ?? '',
  version: record.version,
});

const isWanted = (metric: EnabledMetric, record: FreshRecord, segments: readonly SegmentFilter[]): boolean =>
  isScored(metric, record) && isSampled(metric, { ...record, traceId: record.traceId ?? record.id }, segments);

const kindsOf = (metrics: readonly EnabledMetric[]): RecordKind[] => [...new Set(metrics.flatMap(({ kinds }) => kinds))];

/** Gathers marks into writes. */
class Marker {
  readonly #deps: Pick<MarkDeps, 'write'>;
  readonly #run: RunRef;
  #buffer: MetricValue[] = [];
  #count = 0;
  #oldest: string | null = null;

  constructor(deps: Pick<MarkDeps, 'write'>, { projectId, runId }: RunRef) {
    this.#deps = deps;
    this.#run = { projectId, runId };
  }

  async mark(
    { recordId, createdAt, kind, traceId, version }: Omit<MarkedValue, 'metric' | keyof MarkedMetric>,
    metric: EnabledMetric,
  ): Promise<void> {
    this.#buffer.push({
      metric: metric.name,
      recordId,
      recordCreatedAt: createdAt,
      recordType: kind,
      traceId,
      scorerId: metric.scorerId,
      ...(metric.version === undefined ? {} : { scorerVersion: metric.version }),
      status: 'pending',
      details: metric.alias === undefined ? {} : { metric_key_alias: metric.alias },
      version: Math.max(versionNow(), version + 1),
    });
    if (this.#oldest === null || createdAt < this.#oldest) this.#oldest = createdAt;
    if (this.#buffer.length >= MARKS_PER_WRITE) await this.#flush();
  }

  async end(): Promise<Marked> {
    await this.#flush();
    return { count: this.#count, oldest: this.#oldest };
  }

  async #flush(): Promise<void> {
    const values = this.#buffer;
    this.#buffer = [];
    if (values.length > 0) await this.#deps.write(this.#run, values);
    this.#count += values.length;
  }
}
