import type { LoggedSpan } from '../shared/recordSchemas/loggedRecords.ts';
import { flatMetrics } from '../shared/wire/readScores.ts';
import { newId } from './newId.ts';
import { asText, thrownText } from './texts.ts';

export type SpanKind = LoggedSpan['type'];

/** Fields of a span beside its input, output and children. The service fills in absent ones. */
export interface SpanFields {
  name?: string;
  tags?: string[];
  metadata?: Record<string, string>;
  statusCode?: number;
  /** The error of the span. */
  errorMessage?: string;
  /** Model, tokens and the like of an llm span. */
  model?: string;
  temperature?: number;
  finishReason?: string;
  tools?: Record<string, unknown>[];
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  timeToFirstTokenNs?: number;
  /** The call that a tool span answers. */
  toolCallId?: string;
  agentType?: 'default' | 'planner' | 'react' | 'reflection' | 'router' | 'classifier' | 'supervisor' | 'judge';
  /** Scores under names of your own, in the forms of `LocalScore`: each becomes a searchable metric. */
  metrics?: Record<string, unknown>;
}

/** The parent of spans: a trace, a span, or the row of an experiment. */
export interface SpanParent {
  children: OpenSpan[];
  /** Absent at the top. */
  parent?: SpanParent | undefined;
  /** Gets the spans that end after the trace was handed over; set at its top then. */
  addLate?: ((span: OpenSpan) => void) | undefined;
}

/** A span that is being made: mutable until its end. */
export interface OpenSpan extends SpanFields, SpanParent {
  id: string;
  kind: SpanKind;
  input: unknown;
  output: unknown;
  startedAt: Date;
  startNs: number;
  /** Absent until it ends. */
  durationNs: number | undefined;
}

/** Begins a span, below `parent` where there is one. */
export function openSpan(kind: SpanKind, input: unknown, fields: SpanFields = {}, parent?: SpanParent): OpenSpan {
  const span: OpenSpan = {
    ...fields,
    id: newId(),
    kind,
    input,
    output: undefined,
    startedAt: new Date(),
    startNs: nowNs(),
    durationNs: undefined,
    children: [],
    parent,
  };
  // Below a trace that was handed over, each span is sent by itself when it ends.
  if (parent && !topOf(parent).addLate) parent.children.push(span);
  return span;
}

/** Ends a span, once. */
export function closeSpan(span: OpenSpan, durationNs = nowNs() - span.startNs): void {
  if (span.durationNs !== undefined) return;
  span.durationNs = durationNs;
  topOf(span).addLate?.(span);
}

/** Nanoseconds of a clock that never goes back, at the resolution of the runtime. */
export const nowNs = (): number => Math.round(performance.now() * 1_000_000);

function topOf(place: SpanParent): SpanParent {
  let top = place;
  while (top.parent) top = top.parent;
  return top;
}

/** True for kinds that hold spans. The interface lets llm and control spans have none: spans within them are logged beside them. */
export const holdsSpans = (kind: SpanKind): boolean => kind !== 'llm' && kind !== 'control';

/** The span with those below it, as it is sent. One that has not ended is sent as it is now. */
export function toWire(span: OpenSpan): LoggedSpan {
  const { kind } = span;
  const wire: Record<string, unknown> = {
    type: kind,
    id: span.id,
    name: span.name ?? kind,
    created_at: span.startedAt.toISOString(),
    input: inputFor(kind, span.input),
    output: outputFor(kind, span.output),
    tags: span.tags ?? [],
    user_metadata: span.metadata ?? {},
    status_code: span.statusCode ?? 200,
    ...errorOf(span),
    metrics: defined({
      ...flatMetrics(span.metrics ?? {}),
      duration_ns: span.durationNs ?? nowNs() - span.startNs,
      num_input_tokens: span.inputTokens,
      num_output_tokens: span.outputTokens,
      num_total_tokens: span.totalTokens ?? sum(span.inputTokens, span.outputTokens),
      time_to_first_token_ns: span.timeToFirstTokenNs,
    }),
  };
  if (kind === 'llm')
    Object.assign(
      wire,
      defined({ model: span.model, temperature: span.temperature, finish_reason: span.finishReason, tools: span.tools }),
    );
  if (kind === 'tool') Object.assign(wire, defined({ tool_call_id: span.toolCallId }));
  if (kind === 'agent') Object.assign(wire, defined({ agent_type: span.agentType }));
  if (holdsSpans(kind) && span.children.length > 0) wire.spans = span.children.map(toWire);
  return wire as unknown as LoggedSpan;
}

/** A span alone, inside those above it: records that are sent again are the same records, so this is how the service learns its place. */
export function branchToWire(span: OpenSpan): LoggedSpan {
  let wire = toWire({ ...span, children: [] });
  for (let above = span.parent; above?.parent; above = above.parent)
    wire = { ...toWire({ ...(above as OpenSpan), children: [] }), spans: [wire] } as LoggedSpan;
  return wire;
}

/** Returns the error of a record as the service takes it; no field where there is none. */
export const errorOf = ({ errorMessage }: { errorMessage?: string | undefined }) =>
  errorMessage === undefined ? {} : { error_message: errorMessage };

/** Describes a record whose work threw `error`. An HTTP status that the error carries is kept. */
export function failureOf(error: unknown): { output: string; errorMessage: string; statusCode: number } {
  const { status, statusCode = status } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  const isHttpFailure = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 600;
  const errorMessage = thrownText(error);
  return { output: errorMessage, errorMessage, statusCode: isHttpFailure ? statusCode : 500 };
}

const sum = (a: number | undefined, b: number | undefined) => (a === undefined || b === undefined ? undefined : a + b);
const defined = (values: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

const isMessage = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'role' in value && 'content' in value;

/** Llm spans take messages: a bare text is the user's. The other kinds take text. */
function inputFor(kind: SpanKind, value: unknown): unknown {
  if (kind === 'llm') {
    if (Array.isArray(value) && value.every(isMessage)) return value;
    return [isMessage(value) ? value : { role: 'user', content: asText(value) }];
  }
  return asText(value);
}

function outputFor(kind: SpanKind, value: unknown): unknown {
  if (value === undefined || value === null)
    return kind === 'llm' ? { role: 'assistant', content: '' } : kind === 'retriever' ? [] : null;
  if (kind === 'llm') return isMessage(value) ? value : { role: 'assistant', content: asText(value) };
  if (kind === 'retriever')
    return (Array.isArray(value) ? value : [value]).map((one) =>
      typeof one === 'object' && one !== null && 'content' in one ? one : { content: asText(one) },
    );
  if (kind === 'control') return value;
  return asText(value);
}
