import { flatMetrics } from '../shared/wire/readScores.ts';
import { withParent } from './context.ts';
import { ValueError } from './errors.ts';
import { newId } from './newId.ts';
import type { Session } from './session.ts';
import {
  branchToWire,
  closeSpan,
  errorOf,
  holdsSpans,
  nowNs,
  type OpenSpan,
  openSpan,
  type SpanFields,
  type SpanKind,
  type SpanParent,
  toWire,
} from './spans.ts';
import { asText } from './texts.ts';

export interface TraceFields {
  name?: string;
  tags?: string[];
  metadata?: Record<string, string>;
  externalId?: string;
  /** The session it belongs to; absent: that of the asynchronous context. */
  session?: Session | undefined;
  /** Scores under names of your own, in the forms of `LocalScore`: each becomes a searchable metric. */
  metrics?: Record<string, unknown>;
}

/** A span that has ended. */
export interface FinishedSpan extends SpanFields {
  input: unknown;
  output?: unknown;
  /** Nanoseconds. */
  durationNs?: number;
  /** When it began; absent: now. */
  startedAt?: Date;
}

/** A place for spans: a trace, or a span that can have others below it. */
export class SpanPlace {
  protected readonly span: OpenSpan;

  constructor(span: OpenSpan) {
    this.span = span;
  }

  /** A call of a model. `input` and `output` are messages; a bare text is the user's, or the model's. */
  addLlmSpan(span: FinishedSpan): void {
    this.add('llm', span);
  }

  /** A search; `output` is the list of documents, texts or `{ content, metadata }`. */
  addRetrieverSpan(span: FinishedSpan): void {
    this.add('retriever', span);
  }

  /** A check that may deny or steer; `output` is `{ action, matched }`. */
  addControlSpan(span: FinishedSpan): void {
    this.add('control', span);
  }

  /** @returns the span, for those below it */
  addToolSpan(span: FinishedSpan): SpanPlace {
    return new SpanPlace(this.add('tool', span));
  }

  /** @returns the span, for those below it */
  addWorkflowSpan(span: FinishedSpan): SpanPlace {
    return new SpanPlace(this.add('workflow', span));
  }

  /** @returns the span, for those below it */
  addAgentSpan(span: FinishedSpan): SpanPlace {
    return new SpanPlace(this.add('agent', span));
  }

  /** Begins a span below this one; its `conclude` ends it, which may be after the end of the trace. */
  startSpan(kind: SpanKind, input: unknown, fields: SpanFields = {}): SpanBuilder {
    return new SpanBuilder(openSpan(kind, input, fields, this.place));
  }

  /** Runs `work` so that functions wrapped by `log` that it calls log their spans here. */
  run<T>(work: () => T): T {
    return withParent(this.place, work);
  }

  /** Where spans below this one go. */
  get place(): SpanParent {
    return placeBelow(this.span);
  }

  private add(kind: SpanKind, { input, output, durationNs = 0, startedAt, ...fields }: FinishedSpan): OpenSpan {
    const span = openSpan(kind, input, fields, this.place);
    span.output = output;
    if (startedAt) span.startedAt = startedAt;
    closeSpan(span, durationNs);
    return span;
  }
}

/** Where spans below this one go: those of a kind that holds none stand beside it. */
export const placeBelow = (span: OpenSpan): SpanParent => (holdsSpans(span.kind) ? span : (span.parent ?? span));

/** A span that is being made. */
export class SpanBuilder extends SpanPlace {
  /** Ends the span. What `end` says replaces what its start said. */
  conclude(output: unknown, end: SpanFields & { durationNs?: number } = {}): void {
    const { durationNs, ...fields } = end;
    Object.assign(this.span, fields, { output });
    closeSpan(this.span, durationNs);
  }
}

export interface TraceEnd {
  /** Where it is known at the end alone. */
  input?: unknown;
  statusCode?: number;
  errorMessage?: string | undefined;
  /** Nanoseconds; absent: since its start. */
  durationNs?: number;
}

/** A trace that is being made; `conclude` ends it and hands it to the logger. */
export class TraceBuilder extends SpanPlace {
  readonly id: string = newId();
  private readonly hand: (trace: object) => void;
  private readonly fields: TraceFields;

  constructor(hand: (trace: object) => void, input: unknown, fields: TraceFields) {
    super(openSpan('workflow', input));
    this.hand = hand;
    this.fields = fields;
  }

  /**
   * Ends the trace; it is sent with the next batch. Spans that are still open are sent as they are now, and again when they end.
   * @throws ValueError when it has ended already.
   */
  conclude(output: unknown, end: TraceEnd = {}): void {
    const { span } = this;
    if (span.addLate) throw new ValueError('the trace has ended already');
    const { name = 'trace', tags, metadata, externalId, metrics } = this.fields;
    const identity = { type: 'trace', id: this.id, name, created_at: span.startedAt.toISOString() };
    this.hand({
      ...identity,
      input: asText(end.input ?? span.input),
      output: output === undefined || output === null ? null : asText(output),
      tags: tags ?? [],
      user_metadata: metadata ?? {},
      status_code: end.statusCode ?? 200,
      ...errorOf(end),
      ...(externalId === undefined ? {} : { external_id: externalId }),
      metrics: { ...flatMetrics(metrics ?? {}), duration_ns: end.durationNs ?? nowNs() - span.startNs },
      spans: span.children.map(toWire),
    });
    span.addLate = (late) => this.hand({ ...identity, spans: [branchToWire(late)] });
    // A connection that was opened in this trace keeps its context, which should keep no content.
    span.children = [];
    span.input = undefined;
  }
}
