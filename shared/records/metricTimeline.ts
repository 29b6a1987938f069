import type { ColumnDef } from '../columns/columnDef.ts';
import type { OwnNumber } from '../columns/systemMetrics.ts';
import { RequestInvalid } from '../errors/errors.ts';
import { type MetricAggregates, rollUp, shareOfFalse } from '../metrics/aggregate.ts';
import type { StandardError } from '../wire/common.ts';
import { type BucketedMetrics, bucketKeys, DEFAULT_MINUTES, type Figure, type MetricAggregation } from '../wire/metricSearch.ts';
import type { RecordKind } from '../wire/recordKinds.ts';
import type { RollUpMethod } from '../wire/scorers.ts';
import type { RecordQuery } from './searchRecords.ts';

/** A time range of a run cut into buckets of equal width; the last one ends with the range. */
export interface TimelineQuery extends Omit<RecordQuery, 'kinds'> {
  /** Canonical times: from this one on, and before that one. */
  from: string;
  to: string;
  bucketMinutes: number;
  groupBy?: ColumnDef | undefined;
  /** Kind of record that each of the records' own numbers is taken from; absent: every record that has it. */
  ownNumbersOf?: Readonly<Record<OwnNumber, RecordKind>> | undefined;
}

/** Where a figure belongs: a bucket (of a group), or the whole range when both are null. */
interface TimelineCell {
  group: string | null;
  bucket: number | null;
}
export interface CountCell extends TimelineCell {
  traces: number;
  /** Sessions of which a record is there, whenever they were opened. */
  sessions: number;
  spans: number;
}
export interface MetricCell extends TimelineCell {
  metric: string;
  aggregates: MetricAggregates;
  failed: number;
  standardError: StandardError | null;
}

export interface TimelineGroups {
  names: readonly string[];
  /** True when no span takes the group of its trace: then each record's own value says its group. */
  areOwn: boolean;
}

/** The reads of a timeline. Records without a value in the group column are the group of the empty text. */
export interface TimelineReads {
  /** The groups with the most records, at most `limit`. */
  groups(query: TimelineQuery, limit: number): Promise<TimelineGroups>;
  counts(query: TimelineQuery, groups: TimelineGroups): Promise<CountCell[]>;
  /** @param metrics absent: every metric that has a value or a failure. */
  metrics(query: TimelineQuery, groups: TimelineGroups, metrics?: readonly string[]): Promise<MetricCell[]>;
}

/**
 * Tokens and cost are those of the model calls, so that a trace which repeats the sum of its calls is not counted twice; the duration is that of
 * the whole request.
 */
export const ownNumberKinds: Readonly<Record<OwnNumber, RecordKind>> = {
  duration_ns: 'trace',
  num_input_tokens: 'llm',
  num_output_tokens: 'llm',
  num_total_tokens: 'llm',
  time_to_first_token_ns: 'llm',
  num_image_input_tokens: 'llm',
  num_audio_input_tokens: 'llm',
  num_audio_output_tokens: 'llm',
  num_image_output_tokens: 'llm',
  num_cached_input_tokens: 'llm',
  num_cache_write_input_tokens: 'llm',
  num_reasoning_output_tokens: 'llm',
  cost: 'llm',
  num_spans_without_cost: 'llm',
};

/** Buckets of one group: a month of 5 minutes has 8,928. */
const MAX_BUCKETS = 10_000;
const MAX_GROUPS = 100;
/** Buckets of all groups together; an answer of that many is some 20 MB. */
const MAX_BUCKETS_IN_ALL = 100_000;
const MINUTE_MS = 60_000;
/** Key of the buckets when nothing is grouped. */
const UNGROUPED = 'all';

export interface Timeline {
  whole: Record<string, Figure>;
  buckets: Record<string, BucketedMetrics[]>;
  hasFailures: boolean;
  standardErrors: Record<string, StandardError> | null;
}

/** Returns the figures of a cell of one metric, each with the key that it is put under. */
type FiguresOf = (cell: MetricCell) => [key: string, value: Figure | null][];

/**
 * The figures of a run's metrics over time.
 * @throws RequestInvalid for a range without length or with too many buckets.
 */
export async function metricTimeline(
  reads: TimelineReads,
  query: TimelineQuery,
  wanted: { figures: FiguresOf; metrics?: readonly string[]; withCounts: boolean },
): Promise<Timeline> {
  const times = bucketTimes(query);
  const most = Math.max(1, Math.min(MAX_GROUPS, Math.floor(MAX_BUCKETS_IN_ALL / times.length)));
  const groups = query.groupBy ? await reads.groups(query, most) : { names: [UNGROUPED], areOwn: true };
  const [cells, counts] = await Promise.all([
    reads.metrics(query, groups, wanted.metrics),
    wanted.withCounts ? reads.counts(query, groups) : [],
  ]);
  const empty = wanted.withCounts ? nodeCounts({ traces: 0, sessions: 0, spans: 0 }) : [];
  // Maps, since a key may be `__proto__`, which an object takes for its own.
  const whole = new Map<string, Figure>(empty);
  const buckets = new Map(
    groups.names.map((group) => [group, times.map((time) => new Map<string, unknown>([...time, ...empty]))]),
  );
  const put = ({ group, bucket }: TimelineCell, figures: Iterable<[key: string, value: Figure]>): void => {
    const cell = bucket === null ? whole : buckets.get(group ?? UNGROUPED)?.[bucket];
    for (const [key, value] of figures) cell?.set(key, value);
  };
  for (const count of counts) put(count, nodeCounts(count));
  const standardErrors = new Map<string, StandardError>();
  for (const cell of cells) {
    put(
      cell,
      wanted.figures(cell).flatMap(([key, value]): [string, Figure][] => (value === null ? [] : [[key, value]])),
    );
    if (cell.bucket === null && cell.standardError) standardErrors.set(cell.metric, cell.standardError);
  }
  return {
    whole: Object.fromEntries(whole),
    buckets: Object.fromEntries(
      [...buckets].map(([group, ofGroup]) => [group, ofGroup.map((bucket) => Object.fromEntries(bucket) as BucketedMetrics)]),
    ),
    hasFailures: cells.some(({ failed }) => failed > 0),
    standardErrors: standardErrors.size > 0 ? Object.fromEntries(standardErrors) : null,
  };
}

const nodeCounts = ({ traces, sessions, spans }: Omit<CountCell, keyof TimelineCell>): [string, number][] => [
  ['requests_count', traces],
  ['session_count', sessions],
  ['span_count', spans],
];

/** Keys that a bucket has beside its figures. */
const reserved: ReadonlySet<string> = new Set([...bucketKeys, 'requests_count', 'session_count', 'span_count']);

/** The default in a range that has too many buckets of it: the least multiple that fits. */
export function bucketMinutesFor({ from, to }: Pick<TimelineQuery, 'from' | 'to'>, asked: number): number {
  if (asked !== DEFAULT_MINUTES) return asked;
  const most = MAX_BUCKETS * DEFAULT_MINUTES * MINUTE_MS;
  return DEFAULT_MINUTES * Math.max(1, Math.ceil((Date.parse(to) - Date.parse(from)) / most));
}

function bucketTimes({ from, to, bucketMinutes }: TimelineQuery): [string, string][][] {
  const length = Date.parse(to) - Date.parse(from);
  const count = Math.ceil(length / (bucketMinutes * MINUTE_MS));
  if (from >= to) throw invalid('end_time', 'end_time must come after start_time');
  if (count > MAX_BUCKETS)
    throw invalid('interval', `the range has ${count} buckets, and at most ${MAX_BUCKETS} are given: take a wider interval`);
  const start = (bucket: number) => later(from, bucket * bucketMinutes);
  return Array.from({ length: Math.max(count, 1) }, (_, bucket) => [
    ['start_bucket_time', start(bucket)],
    ['end_bucket_time', bucket + 1 < count ? start(bucket + 1) : to],
  ]);
}

const later = (time: string, minutes: number): string =>
  `${new Date(Date.parse(time) + minutes * MINUTE_MS).toISOString().slice(0, 19)}${time.slice(19)}`;

const invalid = (key: string, msg: string): RequestInvalid =>
  new RequestInvalid([{ loc: ['body', key], msg, type: 'range_invalid' }]);

const sums: ReadonlySet<string> = new Set(
  Object.keys(ownNumberKinds).filter((name) => name !== 'duration_ns' && name !== 'time_to_first_token_ns'),
);

/**
 * Each metric as one figure: by its roll-up, else the average of numbers and the counts of texts. A metric that is called like
 * a key of the reply stands under the id of its column. The metric of a user's scorer is there by the scorer's id and by its name, unless the name is
 * that of another metric or a key of the reply.
 */
export function rolledUp(columns: readonly ColumnDef[]): FiguresOf {
  const methods = new Map(
    columns.flatMap(({ source, rollUpMethod }) =>
      source.at === 'metric' && rollUpMethod ? [[source.metric, rollUpMethod]] : [],
    ),
  );
  const names = uniqueNames(columns);
  return ({ metric, aggregates }) => {
    const method = (methods.get(metric) as RollUpMethod | undefined) ?? (sums.has(metric) ? 'sum' : undefined);
    const figure = rollUp(aggregates, method);
    const name = names.get(metric);
    const byKey: [string, Figure | null] = [reserved.has(metric) ? `metrics/${metric}` : metric, figure];
    return name === undefined ? [byKey] : [byKey, [name, figure]];
  };
}

/** By the key of a metric, the name of its scorer where no other metric has it. */
function uniqueNames(columns: readonly ColumnDef[]): Map<string, string> {
  const ids = new Set(columns.map(({ id }) => id));
  const byName = Map.groupBy(columns, ({ metricKeyAlias }) => metricKeyAlias);
  return new Map(
    [...byName].flatMap(([name, [column, another]]): [string, string][] =>
      name === undefined || another || ids.has(`metrics/${name}`) || reserved.has(name) || column?.source.at !== 'metric'
        ? []
        : [[column.source.metric, name]],
    ),
  );
}

export interface WantedFigure {
  id: string;
  metric: string;
  aggregation: MetricAggregation;
}

/** The figures that were asked for, each under its id. */
export function asAsked(wanted: readonly WantedFigure[]): FiguresOf {
  const byMetric = Map.groupBy(wanted, ({ metric }) => metric);
  return ({ metric, aggregates }) =>
    (byMetric.get(metric) ?? []).map(({ id, aggregation }) => [id, aggregated(aggregates, aggregation)]);
}

function aggregated(of: MetricAggregates, aggregation: MetricAggregation): number | null {
  switch (aggregation) {
    case 'Count':
      return of.count;
    case 'Sum':
      return of.sum;
    case 'Average':
      return of.avg;
    case 'Min':
      return of.min;
    case 'Max':
      return of.max;
    case 'P50':
      return of.p50;
    case 'P90':
      return of.p90;
    case 'P95':
      return of.p95;
    case 'P99':
      return of.p99;
    case 'PercentageTrue':
      return of.pct;
    case 'PercentageFalse':
      return shareOfFalse(of);
    default:
      return aggregation satisfies never;
  }
}
