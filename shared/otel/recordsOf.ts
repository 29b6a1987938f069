import { derivedId } from '../identifiers/ids.ts';
import type { RunRef } from '../projects/runs.ts';
import { openedSession, sessionIdOf } from '../records/ingest.ts';
import { INPUT_FROM, OPENED_BY, OUTPUT_FROM } from '../records/provisionalTrace.ts';
import type { LoggedRecord, RecordChange } from '../records/recordChange.ts';
import type { StubTraces } from '../records/stubTraces.ts';
import { type Mapped, type MappedSpan, mapSpan, textOfStep } from './mapSpan.ts';
import type { OtelSpan } from './span.ts';
import { sharedRoom } from './spanMetadata.ts';

/** The record id of a trace: a pure function of the run and the trace id of OpenTelemetry. */
export const traceRecordId = (run: RunRef, traceId: string): string => derivedId('otel trace', run.runId, traceId);
export const spanRecordId = (run: RunRef, traceId: string, spanId: string): string =>
  derivedId('otel span', run.runId, traceId, spanId);

/**
 * The records of a batch of spans. Every span is a record; a root span also makes its trace's. The trace's record holds what the root says, so
 * spans that come before it are those of a stub trace, and the root completes it whenever it comes.
 * @param ofRequest spans of the whole request, also of other runs
 * @param stubs hear of traces that stay stubs, and of those whose root has come
 */
export function recordsOf(
  run: RunRef,
  spans: readonly OtelSpan[],
  { ofRequest = spans.length, stubs }: { ofRequest?: number; stubs?: Pick<StubTraces, 'add' | 'remove'> | undefined } = {},
): RecordChange[] {
  const room = sharedRoom(ofRequest);
  const changes: RecordChange[] = [];
  const opened = new Set<string>();
  for (const [traceId, ofTrace] of Map.groupBy(spans, (span) => span.traceId)) {
    const id = traceRecordId(run, traceId);
    const mapped = ofTrace.map((span) => ({ from: span, ...mapSpan(span, room) })).sort((a, b) => compare(a.from, b.from));
    const root = mapped.find(({ from }) => from.parentId === undefined);
    // A trace is in one session: its root's, or else that of the first span that names one.
    const ofRoot = root?.sessionId;
    // A root's session counts; another span's counts where none was named before.
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
    if (!root)
      changes.push(
        ...withoutRoot(trace, mapped, (record) => stubs?.add(run, record)).map((change) => ({ ...change, ...unless })),
      );
    else {
      stubs?.remove(id);
      const record = { ...trace, ...fromBelow(traceOf(root.span), root, mapped), trace_is_complete: root.from.endNs > 0n };
      changes.push({ action: 'log', record, ...unless });
    }
  }
  return changes;
}

type Logging = Exclude<RecordChange, { action: 'update' }>;

/** Returns whether a change made by `recordsOf` stores a span, rather than its trace or session. */
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

/** Makes the record of a trace from its root span. */
const traceOf = (span: MappedSpan) => {
  const { name, created_at, input, output, status_code, error_message, user_metadata, metrics, tags } = span;
  const { dataset_input, dataset_output, dataset_metadata } = span;
  return {
    name,
    ...(created_at === undefined ? {} : { created_at }),
    ...(input === undefined ? {} : { input: textOfStep(input) }),
    ...(output === undefined ? {} : { output: textOfStep(output) }),
    status_code,
    ...(error_message === undefined ? {} : { error_message }),
    user_metadata,
    ...(metrics.duration_ns === undefined ? {} : { metrics: { duration_ns: metrics.duration_ns } }),
    ...(tags ? { tags } : {}),
    ...(dataset_input === undefined ? {} : { dataset_input }),
    ...(dataset_output === undefined ? {} : { dataset_output }),
    ...(dataset_metadata === undefined ? {} : { dataset_metadata }),
  };
};

type Trace = Pick<LoggedRecord, 'id' | 'type' | 'trace_id' | 'session_id'>;
type MappedHere = Mapped & { from: OtelSpan };

/**
 * Traces without their root in this batch stay stubs, whose session alone is kept, unless the root may be elsewhere for ever: its highest span says that its
 * parent is in another process, or there is a span of generative AI, which filters let through alone. Then that highest span opens the trace, in whose place
 * the root comes. Of other traces `onStub` hears.
 */
function withoutRoot(trace: Trace, mapped: readonly MappedHere[], onStub: (record: LoggedRecord) => void): Logging[] {
  const changes: Logging[] = [];
  const remote = mapped.find(({ from }) => from.parentIsRemote);
  const top = remote ?? highestOf(mapped);
  if (top) {
    const said = traceOf(top.span);
    const user_metadata = { ...said.user_metadata, [OPENED_BY]: top.from.spanId };
    const texts = withLater(fromBelow({ ...said, user_metadata }, top, mapped), top, mapped);
    const record = { ...trace, ...texts, is_provisional: true, trace_is_complete: false };
    if (remote || mapped.some(({ isNamed }) => isNamed)) changes.push({ action: 'log', record });
    else onStub(record);
  }
  if (trace.session_id !== undefined) changes.push({ action: 'announce', record: trace });
  return changes;
}

/** Returns the first of the spans whose parents are not here; among those that begin at once the one that ends last. */
function highestOf(mapped: readonly MappedHere[]): MappedHere | undefined {
  const here = new Set(mapped.map(({ from }) => from.spanId));
  let highest: MappedHere | undefined;
  for (const one of mapped) {
    if (one.from.parentId !== undefined && here.has(one.from.parentId)) continue;
    if (!highest || (one.from.startNs === highest.from.startNs && one.from.endNs > highest.from.endNs)) highest = one;
  }
  return highest;
}

type TraceFields = ReturnType<typeof traceOf>;

/**
 * Returns the record of a trace, with the input of the first span below its root and the output of the last one where the root says none: the instrumentations
 * of some frameworks write these on the steps alone. Those right below come first, then those beside one that stands in for the root. The metadata says from which
 * spans they are.
 */
function fromBelow(fields: TraceFields, root: MappedHere, mapped: readonly MappedHere[]): TraceFields {
  if (fields.input !== undefined && fields.output !== undefined) return fields;
  const others = mapped.filter((one) => one !== root);
  const children = others.filter(({ from }) => from.parentId === root.from.spanId);
  const beside = root.from.parentId === undefined ? [] : others.filter(({ from }) => from.parentId === root.from.parentId);
  const first = (all: readonly MappedHere[]) => all.find(({ span }) => isSaid(span.input));
  const last = (all: readonly MappedHere[]) =>
    all.reduce<MappedHere | undefined>(
      (latest, one) => (isSaid(one.span.output) && (!latest || one.from.endNs >= latest.from.endNs) ? one : latest),
      undefined,
    );
  const input = fields.input === undefined ? (first(children) ?? first(beside) ?? first(others)) : undefined;
  const output = fields.output === undefined ? (last(children) ?? last(beside) ?? last(others)) : undefined;
  return {
    ...fields,
    ...(input?.span.input === undefined ? {} : { input: textOfStep(input.span.input) }),
    ...(output?.span.output === undefined ? {} : { output: textOfStep(output.span.output) }),
    user_metadata: {
      ...fields.user_metadata,
      ...(input ? { [INPUT_FROM]: input.from.spanId } : {}),
      ...(output ? { [OUTPUT_FROM]: output.from.spanId } : {}),
    },
  };
}

/** Returns the record of a trace without its root, with the output of the last span beside the one that opens it, and as long as both. */
function withLater(fields: TraceFields, top: MappedHere, mapped: readonly MappedHere[]): TraceFields {
  const { parentId, startNs, endNs } = top.from;
  const later = mapped.filter(({ from }) => from.parentId === parentId && from.endNs > endNs);
  const last = later.reduce<MappedHere | undefined>(
    (latest, one) => (isSaid(one.span.output) && (!latest || one.from.endNs >= latest.from.endNs) ? one : latest),
    undefined,
  );
  if (last?.span.output === undefined) return fields;
  return {
    ...fields,
    output: textOfStep(last.span.output),
    user_metadata: { ...fields.user_metadata, [OUTPUT_FROM]: last.from.spanId },
    metrics: { duration_ns: Number(last.from.endNs - startNs) },
  };
}

/**
 * Returns the traces among changes of `recordsOf` whose root itself says no input or no output: what was said of them before counts, too.
 * @returns their ids
 */
export const lackingTexts = (changes: readonly RecordChange[]): string[] =>
  changes.flatMap((change) => {
    if (change.action !== 'log' || change.record.type !== 'trace' || change.record.is_provisional) return [];
    const { id, input, output, user_metadata = {} } = change.record;
    const lacks = input === undefined || output === undefined || INPUT_FROM in user_metadata || OUTPUT_FROM in user_metadata;
    return lacks ? [id] : [];
  });

const isSaid = (step: MappedSpan['input'] | MappedSpan['output']): boolean => step !== undefined && textOfStep(step) !== '';
