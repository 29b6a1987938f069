import { derivedId } from '../identifiers/ids.ts';
import type { RunRef } from '../projects/runs.ts';
import { openedSession, sessionIdOf } from '../records/ingest.ts';
import type { LoggedRecord, RecordChange } from '../records/recordChange.ts';
import { type MappedSpan, mapSpan, textOfStep } from './mapSpan.ts';
import type { OtelSpan } from './span.ts';

/** The record id of a trace: a pure function of the run and the trace id of OpenTelemetry. */
export const traceRecordId = (run: RunRef, traceId: string): string => derivedId('otel trace', run.runId, traceId);
export const spanRecordId = (run: RunRef, traceId: string, spanId: string): string =>
  derivedId('otel span', run.runId, traceId, spanId);

/**
 * The records of a batch of spans. Every span is a record; a root span also makes its trace's. The trace's record holds what the root says, so
 * spans that come before it are those of a stub trace, and the root completes it whenever it comes.
 */
export function recordsOf(run: RunRef, spans: readonly OtelSpan[]): RecordChange[] {
  const changes: RecordChange[] = [];
  const opened = new Set<string>();
  for (const [traceId, ofTrace] of Map.groupBy(spans, (span) => span.traceId)) {
    const id = traceRecordId(run, traceId);
    const mapped = ofTrace.map((span) => ({ from: span, ...mapSpan(span) })).sort((a, b) => compare(a.from, b.from));
    const root = mapped.find(({ from }) => from.parentId === undefined);
    // A trace is in one session: its root's, or else that of the first span that names one.
    const ofRoot = root?.sessionId;
    // What a root says counts; what other spans say does where nothing was said before.
    const unless = ofRoot === undefined ? { unlessInSession: id } : {};
    const external = ofRoot ?? mapped.find(({ sessionId }) => sessionId !== undefined)?.sessionId;
    const session_id = external === undefined ? undefined : sessionIdOf(run, external);
    if (external !== undefined && !opened.has(external)) {
      if (ofRoot !== undefined) opened.add(external);
      changes.push({ ...openedSession(run, external), ...unless });
    }
    const ids = new Map<string, string>();
    const idOf = (spanId: string): string => {
      const known = ids.get(spanId) ?? spanRecordId(run, traceId, spanId);
      ids.set(spanId, known);
      return known;
    };
    for (const { from, span } of mapped) {
      // The mapped span is ours: it becomes the record, without a copy.
      const record: LoggedRecord = Object.assign(span, {
        id: idOf(from.spanId),
        trace_id: id,
        parent_id: from.parentId === undefined ? id : idOf(from.parentId),
        session_id,
        external_id: from.spanId,
      });
      changes.push({ action: 'log', record, ...unless });
    }
    const trace = { id, type: 'trace', trace_id: id, parent_id: null, session_id, external_id: traceId } as const;
    if (!root) changes.push(...withoutRoot(trace, mapped).map((change) => ({ ...change, ...unless })));
    else {
      const record = { ...trace, ...traceOf(root.span), trace_is_complete: root.from.endNs > 0n };
      changes.push({ action: 'log', record, ...unless });
    }
  }
  return changes;
}

type Logging = Exclude<RecordChange, { action: 'update' }>;

/** Whether a change made by `recordsOf` stores a span, rather than its trace or session. */
export const isOfSpan = (change: RecordChange): boolean =>
  change.action !== 'update' && change.record.type !== 'trace' && change.record.type !== 'session';

/** The changes of `recordsOf`, those of one span together: the record of a trace goes with its root span, or else with its first span here. */
export function partsBySpan(changes: readonly RecordChange[]): RecordChange[][] {
  const parts: RecordChange[][] = [];
  const firstOf = new Map<string | null, RecordChange[]>();
  for (const change of changes as readonly Logging[]) {
    const { id, type, trace_id, parent_id } = change.record;
    const part = type === 'trace' ? firstOf.get(id) : undefined;
    if (part) {
      part.push(change);
      continue;
    }
    const own: RecordChange[] = [change];
    parts.push(own);
    const [first] = (firstOf.get(trace_id) ?? []) as Logging[];
    const isRoot = parent_id === trace_id;
    if (type !== 'session' && (!first || (isRoot && first.record.parent_id !== trace_id))) firstOf.set(trace_id, own);
  }
  return parts;
}

/** In order of time; of spans that began at once (clocks of a millisecond are common) the one that ended first is first. */
const compare = (one: OtelSpan, other: OtelSpan): number => sign(one.startNs - other.startNs) || sign(one.endNs - other.endNs);
const sign = (difference: bigint): number => (difference < 0n ? -1 : difference > 0n ? 1 : 0);

/** What a trace's record says of itself is what its root span says. */
const traceOf = ({ name, created_at, input, output, status_code, error_message, user_metadata, metrics, tags }: MappedSpan) => ({
  name,
  ...(created_at === undefined ? {} : { created_at }),
  ...(input === undefined ? {} : { input: textOfStep(input) }),
  ...(output === undefined ? {} : { output: textOfStep(output) }),
  status_code,
  ...(error_message === undefined ? {} : { error_message }),
  user_metadata,
  ...(metrics.duration_ns === undefined ? {} : { metrics: { duration_ns: metrics.duration_ns } }),
  ...(tags ? { tags } : {}),
});

/**
 * Traces without their root in this batch stay stubs, whose session alone is kept, but for one whose parent is in another process: its root may be
 * elsewhere for ever.
 */
function withoutRoot(
  trace: Pick<LoggedRecord, 'id' | 'type' | 'trace_id' | 'session_id'>,
  mapped: readonly { from: OtelSpan; span: MappedSpan }[],
): Logging[] {
  const changes: Logging[] = [];
  const local = mapped.find(({ from }) => from.parentIsRemote);
  if (local) {
    const { name, created_at } = local.span;
    const times = created_at === undefined ? {} : { created_at };
    changes.push({ action: 'open', record: { ...trace, ...times, name, trace_is_complete: false } });
  }
  if (trace.session_id !== undefined) changes.push({ action: 'announce', record: trace });
  return changes;
}
