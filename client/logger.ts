import { randomUUID } from 'node:crypto';
import type { LoggedSpan } from '../shared/wire/records.ts';
import { readEnvironment } from './environment.ts';
import { ValueError } from './errors.ts';
import type { ServiceClient } from './http.ts';
import { clientOf, type OperationOptions, resolveProject } from './project.ts';
import { asText, closeSpan, type OpenSpan, openSpan, type SpanFields, type SpanKind, toWire, withParent } from './spans.ts';

export interface LoggerOptions extends OperationOptions {
  /** The log stream, made when the project lacks it. Absent: SERVICE_LOG_STREAM, else `default`. */
  logStream?: string;
  logStreamId?: string;
  /** Log into an experiment instead of a log stream. */
  experimentId?: string;
  /** Traces that are sent together at most. */
  batchSize?: number;
  /** Milliseconds after which waiting traces are sent by themselves; 0: only by `flush`. */
  flushEveryMs?: number;
  /** Gets what goes wrong when traces are sent in the background; absent: logged as a warning. */
  onError?: (error: unknown) => void;
}

export interface TraceFields {
  name?: string;
  tags?: string[];
  metadata?: Record<string, string>;
  externalId?: string;
  metrics?: Record<string, unknown>;
}

interface WireTrace {
  [key: string]: unknown;
  spans: LoggedSpan[];
}

/** Traces that wait to be sent; beyond this, adding one sends the oldest first and `flush` says what could not be sent. */
const MAX_BATCH_BYTES = 10 * 1024 * 1024;

let latest: Logger | undefined;
/** The logger made last: where `log` puts calls that belong to no trace. */
export const currentLogger = (): Logger | undefined => latest;

/** A trace that is being made. Spans are added to it, or to a span of it; `conclude` ends it and hands it to the logger. */
export class TraceBuilder {
  readonly id: string = randomUUID();
  readonly root: OpenSpan;
  private readonly logger: Logger;
  private readonly fields: TraceFields;
  private concluded = false;

  constructor(logger: Logger, input: unknown, fields: TraceFields) {
    this.logger = logger;
    this.fields = fields;
    this.root = openSpan('workflow', input);
  }

  /** Adds a finished span. @returns the span, so that others can be added below it */
  add(kind: SpanKind, input: unknown, output: unknown, fields: SpanFields & { durationNs?: number } = {}, parent: OpenSpan = this.root): OpenSpan {
    if (this.concluded) throw new ValueError('the trace has ended: no span can be added');
    if (parent.kind === 'llm' || parent.kind === 'control') throw new ValueError(`a span of kind ${parent.kind} has no spans below it`);
    const { durationNs, ...rest } = fields;
    const span = { ...openSpan(kind, input, rest), output, durationNs: durationNs ?? 0 };
    parent.children.push(span);
    return span;
  }

  /** Runs `work` so that wrapped functions called in it log their spans into this trace. */
  run<T>(work: () => T): T {
    return withParent(this.root, work);
  }

  /** Ends the trace; it is sent with the next batch. */
  conclude(output: unknown, end: { statusCode?: number; durationNs?: number } = {}): void {
    if (this.concluded) throw new ValueError('the trace has ended already');
    this.concluded = true;
    if (end.durationNs !== undefined) this.root.durationNs = end.durationNs;
    closeSpan(this.root);
    this.logger.addTrace({
      type: 'trace',
      id: this.id,
      name: this.fields.name ?? 'trace',
      created_at: this.root.startedAt.toISOString(),
      input: asText(this.root.input),
      output: output === undefined || output === null ? null : asText(output),
      tags: this.fields.tags ?? [],
      user_metadata: this.fields.metadata ?? {},
      status_code: end.statusCode ?? 200,
      ...(this.fields.externalId === undefined ? {} : { external_id: this.fields.externalId }),
      metrics: { ...this.fields.metrics, duration_ns: this.root.durationNs },
      spans: this.root.children.map(toWire),
    });
  }
}

/**
 * Logs what an application did: traces with their spans, in sessions. Traces are gathered and sent in batches, off the application's path;
 * `flush` sends what waits and resolves when it is stored.
 */
export class Logger {
  private readonly options: LoggerOptions;
  private readonly client: ServiceClient;
  private readonly batchSize: number;
  private run: Promise<{ projectId: string; selector: Record<string, string> }> | undefined;
  private waiting: { trace: WireTrace; sessionId: string | undefined }[] = [];
  private sending: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  private sessionId: string | undefined;

  constructor(options: LoggerOptions = {}) {
    this.options = options;
    this.client = clientOf(options);
    this.batchSize = options.batchSize ?? 128;
    latest = this;
  }

  /** Opens a session, or finds the one with this `externalId`; traces from now on belong to it. @returns its id */
  async startSession(session: { name?: string; externalId?: string; previousSessionId?: string; metadata?: Record<string, string> } = {}): Promise<string> {
    const { projectId, selector } = await this.target();
    const opened = await this.client.send<{ id: string }>(`/v2/projects/${projectId}/sessions`, {
      body: { ...selector, name: session.name, external_id: session.externalId, previous_session_id: session.previousSessionId, user_metadata: session.metadata },
      // Without an external id a repeat would open a second session.
      repeatable: session.externalId !== undefined,
    });
    this.sessionId = opened.id;
    return opened.id;
  }

  clearSession(): void {
    this.sessionId = undefined;
  }

  startTrace(input: unknown, fields: TraceFields = {}): TraceBuilder {
    return new TraceBuilder(this, input, fields);
  }

  /** Runs `work` as one trace: its result is the output, what it throws the error; wrapped functions nest in it. */
  async trace<T>(input: unknown, work: (trace: TraceBuilder) => T | Promise<T>, fields: TraceFields = {}): Promise<T> {
    const trace = this.startTrace(input, fields);
    try {
      const output = await trace.run(() => work(trace));
      trace.conclude(output);
      return output;
    } catch (error) {
      trace.conclude(error instanceof Error ? `${error.name}: ${error.message}` : String(error), { statusCode: 500 });
      throw error;
    }
  }

  /** A call that belongs to no trace becomes a trace with one span. */
  addRoot(span: OpenSpan): void {
    const wire = toWire(span) as unknown as Record<string, unknown>;
    this.addTrace({
      type: 'trace',
      id: randomUUID(),
      name: wire.name,
      created_at: wire.created_at,
      input: asText(span.input),
      output: asText(span.output),
      status_code: wire.status_code,
      metrics: { duration_ns: span.durationNs },
      spans: [wire as unknown as LoggedSpan],
    });
  }

  addTrace(trace: WireTrace): void {
    this.waiting.push({ trace, sessionId: this.sessionId });
    const every = this.options.flushEveryMs ?? 1_000;
    if (this.waiting.length >= this.batchSize) this.sendInBackground();
    else if (every > 0 && !this.timer) {
      this.timer = setTimeout(() => this.sendInBackground(), every);
      this.timer.unref();
    }
  }

  /** Sends what waits. @throws what the service answered, when something could not be stored; it is kept and tried again by the next flush. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const sent = this.sending.catch(() => undefined).then(() => this.sendAll());
    this.sending = sent;
    await sent;
  }

  private sendInBackground(): void {
    this.flush().catch(this.options.onError ?? ((error) => this.client.logger.warn(`traces could not be sent, they are kept for the next flush: ${String(error)}`)));
  }

  private async sendAll(): Promise<void> {
    const { projectId, selector } = await this.target();
    while (this.waiting.length > 0) {
      const batch = this.nextBatch();
      await this.client.send(`/v2/projects/${projectId}/traces`, {
        body: { ...selector, logging_method: 'typescript_client', ...(batch[0]?.sessionId ? { session_id: batch[0].sessionId } : {}), traces: batch.map(({ trace }) => trace) },
        // Ids are ours: a repeat finds the records of the first.
        repeatable: true,
      });
      this.waiting.splice(0, batch.length);
    }
  }

  /** Traces of one session, up to the batch size and 10 MB. */
  private nextBatch(): typeof this.waiting {
    const sessionId = this.waiting[0]?.sessionId;
    let bytes = 0;
    let count = 0;
    for (const { trace, sessionId: ofTrace } of this.waiting) {
      bytes += JSON.stringify(trace).length;
      if (count > 0 && (ofTrace !== sessionId || count >= this.batchSize || bytes > MAX_BATCH_BYTES)) break;
      count++;
    }
    return this.waiting.slice(0, count);
  }

  private target(): Promise<{ projectId: string; selector: Record<string, string> }> {
    this.run ??= this.findTarget().catch((err: unknown) => {
      this.run = undefined;
      throw err;
    });
    return this.run;
  }

  private async findTarget() {
    const projectId = await resolveProject(this.client, this.options);
    if (this.options.experimentId) return { projectId, selector: { experiment_id: this.options.experimentId } };
    const environment = readEnvironment();
    const given = this.options.logStreamId ?? (this.options.logStream === undefined ? environment.logStreamId : undefined);
    if (given) return { projectId, selector: { log_stream_id: given } };
    const name = this.options.logStream ?? environment.logStream ?? 'default';
    const streams = await this.client.send<{ id: string; name: string }[]>(`/projects/${projectId}/log_streams`);
    const found = streams.find((stream) => stream.name === name) ?? (await this.client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name } }));
    return { projectId, selector: { log_stream_id: found.id } };
  }
}
