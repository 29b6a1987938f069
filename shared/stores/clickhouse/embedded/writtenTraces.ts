import { LRUCache } from 'lru-cache';
import { WITHOUT_COST } from '../../../columns/systemMetrics.ts';
import type { RunRef } from '../../../projects/runs.ts';
import { countedOf, usageOf } from '../../../records/countedUsage.ts';
import type { NewKey } from '../../../records/recordStore.ts';
import { isStoredSpan } from '../tables/newMembers.ts';
import type { TraceFigures } from '../tables/usageSql.ts';
import { concerns, type Deletes } from './writtenRuns.ts';

/** Spans of all traces that are kept, some 300 bytes each, and of one trace. */
const MAX_SPANS = 64_000;
const MAX_SPANS_OF_TRACE = 5_000;

interface Member {
  parentId: string | null;
  /** The figures that count in its trace; undefined where none does. */
  usage: Readonly<Record<string, number>> | undefined;
}

interface WrittenTrace {
  run: RunRef;
  traceId: string;
  /** True once its own record has come. */
  isStored: boolean;
  spans: Map<string, Member>;
}

/** The changes that one write makes in one trace. */
export interface TraceChange extends WrittenTrace {
  /** Ids of spans that go to another trace. */
  left: string[];
}

/**
 * The traces that the only writer of the embedded engine has written whole, as far back as memory for them goes. Each write moves them on, so a page
 * that shows new traces needs no statement for what hangs below them. A trace of which anything is uncertain, or of which a record is deleted, is forgotten for
 * good, and read from the table.
 */
export class WrittenTraces {
  readonly #traces: LRUCache<string, WrittenTrace>;
  /** Each tests whether a deletion, or another statement that may change what is stored, may change a trace: those that are under way, or may be. */
  readonly #deletions = new Set<(trace: WrittenTrace) => boolean>();
  /** Those changes of each write that is being sent of which nothing is deleted meanwhile. */
  readonly #sending = new Set<Set<TraceChange>>();

  constructor(maxSpans = MAX_SPANS) {
    this.#traces = new LRUCache({
      maxSize: maxSpans,
      maxEntrySize: Math.min(MAX_SPANS_OF_TRACE, maxSpans),
      sizeCalculation: ({ spans }) => 1 + spans.size,
    });
  }

  get(run: RunRef, traceId: string): TraceFigures | undefined {
    const trace = this.#traces.get(nameOf(run, traceId));
    if (!trace) return undefined;
    const sums: Record<string, number> = {};
    const parents = new Set<string>();
    for (const { parentId, usage } of trace.spans.values()) {
      if (parentId !== null) parents.add(parentId);
      for (const name in usage) sums[name] = (sums[name] ?? 0) + (usage[name] as number);
    }
    return { trace: traceId, isStored: trace.isStored, parents: [...parents], sums, unknown: 0 };
  }

  /**
   * Takes note of a write before it is sent.
   * @param isFirst whether nothing of the trace is stored, or may be
   * @returns what takes note of its end
   */
  begin(changes: readonly TraceChange[], isFirst: (change: TraceChange) => boolean): (end: 'stored' | 'uncertain') => void {
    const firsts = new Set(changes.filter(isFirst));
    const certain = new Set(changes.filter((change) => ![...this.#deletions].some((takes) => takes(change))));
    this.#sending.add(certain);
    return (end) => {
      this.#sending.delete(certain);
      for (const change of changes) {
        const name = nameOf(change.run, change.traceId);
        const before = firsts.has(change) ? { isStored: false, spans: new Map() } : this.#traces.get(name);
        if (before && end === 'stored' && certain.has(change)) this.#traces.set(name, movedOn(before, change));
        else this.#traces.delete(name);
      }
    };
  }

  /** Forgets the traces that a statement may change, and learns nothing of them until what it returns is called. */
  pause(deletes: Deletes): () => void {
    const ids = deletes?.ids && new Set(deletes.ids);
    const takes = ({ run, traceId, spans }: WrittenTrace) =>
      concerns(deletes, run) && (!ids || ids.has(traceId) || [...spans.keys()].some((id) => ids.has(id)));
    this.#deletions.add(takes);
    for (const changes of this.#sending) for (const change of changes) if (takes(change)) changes.delete(change);
    for (const [name, trace] of [...this.#traces.entries()]) if (takes(trace)) this.#traces.delete(name);
    return () => this.#deletions.delete(takes);
  }
}

const nameOf = ({ projectId, runId }: RunRef, traceId: string): string => `${projectId} ${runId} ${traceId}`;

/** In place of the trace: the cache takes the size of a value when it gets another one. */
function movedOn({ isStored, spans }: Pick<WrittenTrace, 'isStored' | 'spans'>, change: TraceChange): WrittenTrace {
  for (const id of change.left) spans.delete(id);
  for (const [id, member] of change.spans) spans.set(id, member);
  return { run: change.run, traceId: change.traceId, isStored: isStored || change.isStored, spans };
}

/** The changes that these rows of the members of traces make. */
export function traceChangesOf(members: readonly NewKey[]): TraceChange[] {
  const changes = new Map<string, TraceChange>();
  let last: TraceChange | undefined; // those of a trace come in a row
  const changeOf = ({ project_id: projectId, run_id: runId }: NewKey['record'], traceId: string): TraceChange => {
    if (last?.traceId === traceId && last.run.runId === runId && last.run.projectId === projectId) return last;
    const run = { projectId, runId };
    const name = nameOf(run, traceId);
    last = changes.get(name) ?? { run, traceId, isStored: false, spans: new Map(), left: [] };
    changes.set(name, last);
    return last;
  };
  for (const { record, leaves } of members) {
    if (leaves !== undefined) changeOf(record, leaves).left.push(record.id);
    if (record.trace_id === null) continue;
    const change = changeOf(record, record.trace_id);
    if (isStoredSpan(record)) change.spans.set(record.id, { parentId: record.parent_id ?? null, usage: countingUsage(record) });
    else change.isStored = true;
  }
  return [...changes.values()];
}

/** Returns the part of a span's usage that is in the sums of its trace, as `SUMS_OF_MEMBERS` says it of a row. */
function countingUsage(record: Parameters<typeof usageOf>[0] & Parameters<typeof countedOf>[0]): Member['usage'] {
  const counted = countedOf(record);
  const usage = counted === 'none' ? undefined : usageOf(record);
  if (usage === undefined || counted === 'all') return usage;
  const isOfCost = (name: string) => name === 'cost' || name === WITHOUT_COST;
  return Object.fromEntries(Object.entries(usage).filter(([name]) => isOfCost(name) === (counted === 'cost')));
}
