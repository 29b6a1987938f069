import { randomUUID } from 'node:crypto';
import { ValueError } from './errors.ts';
import {
  asText,
  closeSpan,
  errorOf,
  type OpenSpan,
  openSpan,
  type SpanFields,
  type SpanKind,
  toWire,
  withParent,
} from './spans.ts';

export interface TraceFields {
  name?: string;
  tags?: string[];
  metadata?: Record<string, string>;
  externalId?: string;
  /** Further numbers or texts under names of your own; each becomes a searchable metric. */
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
  /** Shared by all places of one trace. */
  protected readonly trace: { concluded: boolean };

  constructor(span: OpenSpan, trace: { concluded: boolean }) {
    this.span = span;
    this.trace = trace;
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
    return new SpanPlace(this.add('tool', span), this.trace);
  }

  /** @returns the span, for those below it */
  addWorkflowSpan(span: FinishedSpan): SpanPlace {
    return new SpanPlace(this.add('workflow', span), this.trace);
  }

  /** @returns the span, for those below it */
  addAgentSpan(span: FinishedSpan): SpanPlace {
    return new SpanPlace(this.add('agent', span), this.trace);
  }

  /** Runs `work` so that functions wrapped by `log` that it calls log their spans here. */
  run<T>(work: () => T): T {
    return withParent(this.span, work);
  }

  private add(kind: SpanKind, { input, output, durationNs, startedAt, ...fields }: FinishedSpan): OpenSpan {
    this.mustBeOpen();
    const span = { ...openSpan(kind, input, fields), output, durationNs: durationNs ?? 0, ...(startedAt ? { startedAt } : {}) };
    this.span.children.push(span);
    return span;
  }

  protected mustBeOpen(): void {
    if (this.trace.concluded) throw new ValueError('the trace has ended: nothing can be added to it');
  }
}

/** A trace that is being made; `conclude` ends it and hands it to the logger. */
export class TraceBuilder extends SpanPlace {
  readonly id: string = randomUUID();
  private readonly hand: (trace: object) => void;
  private readonly fields: TraceFields;

  constructor(hand: (trace: object) => void, input: unknown, fields: TraceFields) {
    super(openSpan('workflow', input), { concluded: false });
    this.hand = hand;
    this.fields = fields;
  }

  /** Ends the trace; it is sent with the next batch. @throws ValueError when it has ended already. */
  conclude(output: unknown, end: { statusCode?: number; errorMessage?: string; durationNs?: number } = {}): void {
    this.mustBeOpen();
    this.trace.concluded = true;
    if (end.durationNs !== undefined) this.span.durationNs = end.durationNs;
    closeSpan(this.span);
    const { name, tags, metadata, externalId, metrics } = this.fields;
    this.hand({
      type: 'trace',
      id: this.id,
      name: name ?? 'trace',
      created_at: this.span.startedAt.toISOString(),
      input: asText(this.span.input),
      output: output === undefined || output === null ? null : asText(output),
      tags: tags ?? [],
      user_metadata: metadata ?? {},
      status_code: end.statusCode ?? 200,
      ...errorOf(end),
      ...(externalId === undefined ? {} : { external_id: externalId }),
      metrics: { ...metrics, duration_ns: this.span.durationNs },
      spans: this.span.children.map(toWire),
    });
  }
}
