import { aggregate, rollUp } from '../metrics/aggregate.ts';
import type { ScoreValue as Score } from '../metrics/metric.ts';
import type { RunRef } from '../projects/runs.ts';
import type { MetricValue } from '../records/recordStore.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import { isSpanKind, type RecordKind } from '../wire/recordKinds.ts';

/** A trace or a session that holds scored records. */
export interface RollUpTarget {
  id: string;
  createdAt: string;
  /** Id of the trace; null for a session. */
  traceId: string | null;
}

/** The trace or session that a value is rolled up into. */
export interface Container {
  containerId: string;
  metric: string;
}

/** A value of a record below a container. */
export interface HeldValue extends Container {
  recordId: string;
  /** Null where there is a state alone. */
  value: Score | null;
  /** Microseconds. */
  version: number;
  /** Version of the metric that made it; empty where that is not known. */
  scorerVersion: string;
  /** No scorer made it. */
  isCallers: boolean;
}

export interface RollUpReads {
  /** Those that are stored. */
  containers(run: RunRef, kind: 'trace' | 'session', ids: readonly string[]): Promise<RollUpTarget[]>;
  /** Values of the spans of these traces, and the states of those without one; or values of the traces of these sessions. */
  heldValues(run: RunRef, kind: 'trace' | 'session', ids: readonly string[], metrics: readonly string[]): Promise<HeldValue[]>;
  /** Values of these records themselves, rolled up ones included; the container is the record. */
  ownValues(run: RunRef, ids: readonly string[], metrics: readonly string[]): Promise<HeldValue[]>;
}

/**
 * Returns what traces and sessions get from newly computed values of the records below them: of a metric that looks at spans each trace, and of one that
 * does not look at sessions each session. Made of these values and the stored ones beside them, to be stored in one block with the former.
 * @param sessionOf the session of a record; its trace's id where there is none
 * @param closing traces that get a roll-up of the stored values also where there are no new ones, and an empty one where there are none at all
 */
export async function rollUps(
  reads: Pick<RollUpReads, 'containers' | 'heldValues'>,
  run: RunRef,
  values: readonly MetricValue[],
  metrics: ReadonlyMap<string, EnabledMetric>,
  sessionOf: (recordId: string) => string | undefined,
  closing: readonly Container[] = [],
): Promise<MetricValue[]> {
  const lacks = (metric: string, kind: RecordKind) => metrics.get(metric)?.kinds.includes(kind) === false;
  const traces = new Map<string, string | undefined>([
    ...closing.map(({ containerId }) => [containerId, sessionOf(containerId)] as const),
    ...values.map(({ recordId, traceId }) => [traceId ?? '', sessionOf(recordId)] as const),
  ]);
  const ofSpans = values.filter(({ metric, recordType }) => isSpanKind(recordType) && lacks(metric, 'trace'));
  const inTraces = await rollUpInto(reads, run, 'trace', ofSpans, metrics, ({ traceId }) => traceId ?? undefined, closing);
  const ofTraces = [...values.filter(({ recordType }) => recordType === 'trace'), ...inTraces].filter(({ metric }) =>
    lacks(metric, 'session'),
  );
  const inSessions = await rollUpInto(reads, run, 'session', ofTraces, metrics, ({ recordId }) => {
    const session = traces.get(recordId);
    return session === recordId ? undefined : session;
  });
  return [...inTraces, ...inSessions];
}

async function rollUpInto(
  reads: Pick<RollUpReads, 'containers' | 'heldValues'>,
  run: RunRef,
  kind: 'trace' | 'session',
  values: readonly MetricValue[],
  metrics: ReadonlyMap<string, EnabledMetric>,
  containerOf: (value: MetricValue) => string | undefined,
  closing: readonly Container[] = [],
): Promise<MetricValue[]> {
  const keyOf = ({ metric, containerId }: Container) => `${containerId}/${metric}`;
  const held = values.flatMap((value) => {
    const containerId = containerOf(value);
    return containerId === undefined ? [] : [{ containerId, metric: value.metric, value }];
  });
  const pairs = new Map(
    [...closing, ...held].map(({ containerId, metric }) => [`${containerId}/${metric}`, { containerId, metric }]),
  );
  if (pairs.size === 0) return [];
  const ids = [...new Set([...pairs.values()].map(({ containerId }) => containerId))];
  const names = [...new Set([...pairs.values()].map(({ metric }) => metric))];
  const [containers, stored] = await Promise.all([reads.containers(run, kind, ids), reads.heldValues(run, kind, ids, names)]);
  const all = new Map([...pairs.keys()].map((key) => [key, new Map<string, Score>()]));
  for (const one of stored) if (one.value !== null) all.get(keyOf(one))?.set(one.recordId, one.value);
  for (const { value, ...container } of held) {
    const ofContainer = all.get(keyOf(container)) as Map<string, Score>;
    const hasValue = value.status === 'success' || value.status === 'roll_up';
    if (hasValue && value.value !== null && value.value !== undefined) ofContainer.set(value.recordId, value.value as Score);
    else ofContainer.delete(value.recordId);
  }
  const byId = new Map(containers.map((container) => [container.id, container]));
  const closed = new Set(closing.map(keyOf));
  return [...pairs].flatMap(([key, { containerId, metric: name }]) => {
    const container = byId.get(containerId);
    const metric = metrics.get(name);
    const below = [...(all.get(key) as Map<string, Score>).values()];
    if (!container || !metric || (below.length === 0 && !closed.has(key))) return [];
    return [rolledUp(container, kind, metric, below)];
  });
}

function rolledUp(
  container: RollUpTarget,
  kind: 'trace' | 'session',
  metric: EnabledMetric,
  values: readonly Score[],
): MetricValue {
  const sums = aggregate(values);
  const whole = rollUp(sums, metric.rollUp);
  const numbers = { average: sums.avg, sum: sums.sum, max: sums.max, min: sums.min };
  const given = Object.entries(numbers).filter(([, number]) => number !== null);
  return {
    metric: metric.name,
    recordId: container.id,
    recordCreatedAt: container.createdAt,
    recordType: kind,
    traceId: container.traceId,
    scorerId: metric.scorerId,
    ...(metric.version === undefined ? {} : { scorerVersion: metric.version }),
    status: 'roll_up',
    // The value of categories is the most frequent one.
    value: typeof whole === 'object' ? mostFrequent(whole ?? {}) : whole,
    details: {
      ...(metric.alias === undefined ? {} : { metric_key_alias: metric.alias }),
      roll_up_metrics: given.length > 0 ? Object.fromEntries(given) : { category_count: sums.valueDistribution ?? {} },
    },
  };
}

/** The first of the text order among those that came equally often. */
function mostFrequent(counts: Record<string, number>): string | null {
  const frequentFirst = Object.entries(counts).sort(([a, timesA], [b, timesB]) => timesB - timesA || (a < b ? -1 : 1));
  return frequentFirst[0]?.[0] ?? null;
}
