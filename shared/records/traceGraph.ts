import type { ColumnDef } from '../columns/columnDef.ts';
import { derivedId } from '../identifiers/ids.ts';
import type { RunRef } from '../projects/runs.ts';
import { percentile } from '../statistics/percentile.ts';
import type { RecordKind } from '../wire/recordKinds.ts';
import type { AggregatedTraceView, GraphEdge, GraphNode, Histogram, NodeMetric } from '../wire/traceGraph.ts';
import { findKeys, type RecordQuery, type RecordReads } from './searchRecords.ts';
import { inOrder, type SpanPlace } from './spanOrder.ts';

/** A record of a trace as the graph needs it. */
export interface GraphRecord extends SpanPlace {
  type: RecordKind;
  name: string;
  traceId: string;
  sessionId: string;
  /** The record's own numbers. */
  numbers: Readonly<Record<string, number>>;
}

export interface GraphScore {
  recordId: string;
  metric: string;
  number: number | null;
  /** The values of a metric of texts, labels or booleans. */
  categories: readonly string[];
}

export interface TraceGraphReads {
  /** These traces with all their spans. */
  records(run: RunRef, traceIds: readonly string[]): Promise<GraphRecord[]>;
  /** Scores of their records, which lie within these times. */
  scores(run: RunRef, traceIds: readonly string[], range: { from: string; to: string }): Promise<GraphScore[]>;
}

/** The newest traces make the view. */
const MAX_TRACES = 1_000;
/** Spans of them all; a trace is never cut. */
const MAX_SPANS = 50_000;
/** More than anyone can look at: nodes of the fewest traces are left out. */
const MAX_NODES = 1_000;
const MAX_TRACE_IDS = 100;
const MAX_CATEGORIES = 50;
const HISTOGRAM_BUCKETS = 10;

/**
 * The traces that match laid over each other. Steps of the same kind and name below the same parent step are one node; all traces are one node at
 * the top. An edge leads from a step to the one that follows: from the parent to its first step, then from step to step.
 * @param columns labels and units of the metrics.
 */
export async function aggregateTraces(
  deps: { records: Pick<RecordReads, 'readPage' | 'spanCounts'>; graph: TraceGraphReads },
  query: Omit<RecordQuery, 'kinds'>,
  columns: readonly ColumnDef[],
): Promise<AggregatedTraceView> {
  const { keys, total } = await findKeys(deps.records, { ...query, kinds: ['trace'], offset: 0, limit: MAX_TRACES });
  const counts = await deps.records.spanCounts(
    query.run,
    keys.map(({ id }) => id),
  );
  let spans = 0;
  const inView = keys.filter(({ id }, index) => {
    spans += counts.get(id) ?? 0;
    return index === 0 || spans <= MAX_SPANS;
  });
  const traceIds = inView.map(({ id }) => id);
  const records = traceIds.length > 0 ? await deps.graph.records(query.run, traceIds) : [];
  const times = records.map(({ createdAt }) => createdAt).sort();
  const [from, to] = [times[0], times.at(-1)];
  const scores = from && to ? await deps.graph.scores(query.run, traceIds, { from, to }) : [];
  const traces = records.filter(({ type }) => type === 'trace');
  const starts = traces.map(({ createdAt }) => createdAt).sort();
  const { isCut, ...graph } = traceGraph(records, scores, columns);
  return {
    graph,
    num_traces: traces.length,
    num_sessions: new Set(traces.filter(({ id, sessionId }) => id !== sessionId).map(({ sessionId }) => sessionId)).size,
    start_time: starts[0] ?? null,
    end_time: starts.at(-1) ?? null,
    has_all_traces: inView.length === total && !isCut,
  };
}

interface Step {
  id: string;
  type: RecordKind;
  name: string | null;
  parentId: string | null;
  occurrences: number;
  traces: Set<string>;
  hasChildren: boolean;
  numbers: Map<string, number[]>;
  categories: Map<string, Map<string, number>>;
}

interface Transition {
  source: string;
  target: string;
  occurrences: number;
  traces: Set<string>;
}

/** Pure: the graph of these traces and spans, and whether steps were left out of it. A span whose parent is not among them hangs below its trace. */
function traceGraph(
  records: readonly GraphRecord[],
  scores: readonly GraphScore[],
  columns: readonly ColumnDef[],
): AggregatedTraceView['graph'] & { isCut: boolean } {
  const steps = new Map<string, Step>();
  const transitions = new Map<string, Transition>();
  const scoresOf = Map.groupBy(scores, ({ recordId }) => recordId);
  const enter = (record: GraphRecord, parent: Step | undefined): Step => {
    const id = parent ? derivedId('graph node', parent.id, record.type, record.name) : derivedId('graph node', 'traces');
    const step = entry(steps, id, () => newStep(id, record, parent));
    if (step.name !== record.name) step.name = null;
    if (parent) parent.hasChildren = true;
    step.occurrences++;
    step.traces.add(record.traceId);
    for (const [metric, number] of Object.entries(record.numbers)) entry(step.numbers, metric, () => []).push(number);
    for (const { metric, number, categories } of scoresOf.get(record.id) ?? []) {
      if (categories.length === 0 && number !== null) entry(step.numbers, metric, () => []).push(number);
      const counted = categories.length > 0 ? entry(step.categories, metric, () => new Map<string, number>()) : undefined;
      for (const category of categories) counted?.set(category, (counted.get(category) ?? 0) + 1);
    }
    return step;
  };
  const follow = (source: Step, target: Step, traceId: string): void => {
    const { id } = target;
    const transition = entry(transitions, `${source.id} ${id}`, () => {
      return { source: source.id, target: id, occurrences: 0, traces: new Set<string>() };
    });
    transition.occurrences++;
    transition.traces.add(traceId);
  };

  for (const [traceId, ofTrace] of Map.groupBy(records, (record) => record.traceId)) {
    const trace = ofTrace.find(({ type }) => type === 'trace');
    if (!trace) continue;
    const known = new Set(ofTrace.map(({ id }) => id));
    const children = Map.groupBy(ofTrace.filter((record) => record !== trace).sort(inOrder), ({ parentId }) =>
      parentId !== null && known.has(parentId) ? parentId : trace.id,
    );
    const open = [{ record: trace, step: enter(trace, undefined) }];
    for (let next = open.pop(); next; next = open.pop()) {
      let before = next.step;
      for (const child of children.get(next.record.id) ?? []) {
        const step = enter(child, next.step);
        follow(before, step, traceId);
        before = step;
        open.push({ record: child, step });
      }
    }
  }

  const traceCount = steps.values().next().value?.traces.size ?? 0;
  const byId = new Map(columns.map((column) => [column.id, column]));
  // A step is in no more traces than its parent and comes after it, so that none is kept without its parent.
  const kept = [...steps.values()].sort((a, b) => b.traces.size - a.traces.size).slice(0, MAX_NODES);
  const ids = new Set(kept.map(({ id }) => id));
  const edges = [...transitions.values()].filter(({ source, target }) => ids.has(source) && ids.has(target));
  return {
    nodes: kept.map((step) => toNode(step, traceCount, byId)),
    edges: edges.map((edge) => toEdge(edge, traceCount)),
    edge_occurrences_histogram: edges.length > 0 ? histogram(edges.map(({ occurrences }) => occurrences)) : null,
    isCut: kept.length < steps.size,
  };
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}

const newStep = (id: string, { type, name }: GraphRecord, parent: Step | undefined): Step => ({
  ...{ id, type, name, parentId: parent?.id ?? null, occurrences: 0, hasChildren: false },
  ...{ traces: new Set<string>(), numbers: new Map<string, number[]>(), categories: new Map<string, Map<string, number>>() },
});

function toNode(step: Step, traceCount: number, columns: ReadonlyMap<string, ColumnDef>): GraphNode {
  const describe = (name: string) => ({ name, label: columns.get(`metrics/${name}`)?.label ?? name });
  const numeric = [...step.numbers].map(([name, values]): [string, NodeMetric] => {
    const unit = name.endsWith('_ns') ? 'nano_seconds' : (columns.get(`metrics/${name}`)?.dataUnit ?? null);
    return [name, { aggregation_type: 'numeric', ...describe(name), unit, ...spread(values) }];
  });
  const categorical = [...step.categories].map(([name, counts]): [string, NodeMetric] => {
    const frequent = [...counts].sort(([, a], [, b]) => b - a).slice(0, MAX_CATEGORIES);
    return [name, { aggregation_type: 'categorical', ...describe(name), category_counts: Object.fromEntries(frequent) }];
  });
  return {
    id: step.id,
    name: step.name,
    type: step.type,
    occurrences: step.occurrences,
    parent_id: step.parentId,
    has_children: step.hasChildren,
    metrics: Object.fromEntries([...numeric, ...categorical]),
    trace_count: step.traces.size,
    weight: step.traces.size / traceCount,
    insights: [],
  };
}

const toEdge = ({ source, target, occurrences, traces }: Transition, traceCount: number): GraphEdge => ({
  ...{ source, target, occurrences, trace_count: traces.size, weight: traces.size / traceCount },
  trace_ids: [...traces].slice(0, MAX_TRACE_IDS),
});

function spread(values: readonly number[]) {
  const sorted = Float64Array.from(values).sort();
  return {
    mean: sorted.reduce((sum, value) => sum + value, 0) / sorted.length,
    ...{
      median: percentile(sorted, 0.5),
      p5: percentile(sorted, 0.05),
      p25: percentile(sorted, 0.25),
      p75: percentile(sorted, 0.75),
      p95: percentile(sorted, 0.95),
      min: percentile(sorted, 0),
      max: percentile(sorted, 1),
    },
    histogram: histogram(values),
  };
}

/** Buckets of equal width from the least to the greatest value; each holds its lower edge, the last one both. */
function histogram(values: readonly number[]): Histogram {
  const [least, greatest] = values.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Infinity, -Infinity],
  );
  const width = (greatest - least) / HISTOGRAM_BUCKETS;
  const count = width > 0 ? HISTOGRAM_BUCKETS : 1;
  const edges = Array.from({ length: count + 1 }, (_, at) => (at === count ? greatest : least + at * width));
  const counts = new Array<number>(count).fill(0);
  for (const value of values) {
    const at = width > 0 ? Math.min(Math.floor((value - least) / width), count - 1) : 0;
    counts[at] = (counts[at] as number) + 1;
  }
  const buckets = counts.map((held, at) => ({ lower: edges[at] as number, upper: edges[at + 1] as number, count: held }));
  return { strategy: 'fixed', edges, buckets, total: values.length };
}
