import { randomUUID } from 'node:crypto';
import type { RefusedRecord } from '../shared/wire/ingest.ts';
import { readEnvironment } from './environment.ts';
import { HttpStatusError, RecordsRefusedError, ValueError } from './errors.ts';
import type { ServiceClient } from './http.ts';
import { clientOf, type OperationOptions, resolveProject } from './project.ts';
import { asText, closeSpan, errorOf, type OpenSpan, textOf, toWire } from './spans.ts';
import { TraceBuilder, type TraceFields } from './trace.ts';

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

/** Characters of one request: under the limit of the service, with room for its envelope. */
const MAX_BATCH_CHARACTERS = 8 * 1024 * 1024;
/** Characters that wait at most while the service is away; then the oldest traces are given up, and it is said how many. */
const MAX_WAITING_CHARACTERS = 256 * 1024 * 1024;

let latest: Logger | undefined;
/** The logger made last: where `log` puts calls that belong to no trace. */
export const currentLogger = (): Logger | undefined => latest;

interface Waiting {
  json: string;
  sessionId: string | undefined;
}

/**
 * Logs what an application did: traces with their spans, in sessions. Traces are gathered and sent in batches, off the application's path;
 * `flush` sends what waits and resolves when it is stored. Call it before the process ends.
 */
export class Logger {
  private readonly options: LoggerOptions;
  private readonly client: ServiceClient;
  private readonly batchSize: number;
  private run: Promise<{ projectId: string; selector: Record<string, string> }> | undefined;
  private waiting: Waiting[] = [];
  private waitingCharacters = 0;
  private sending: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private sessionId: string | undefined;

  /** @throws ValueError when there are no credentials in the options or the environment. */
  constructor(options: LoggerOptions = {}) {
    this.options = options;
    this.client = clientOf(options);
    this.batchSize = options.batchSize ?? 500;
    latest = this;
  }

  /** Opens a session, or finds the one with this `externalId`; traces from now on belong to it. @returns its id */
  async startSession(
    session: { name?: string; externalId?: string; previousSessionId?: string; metadata?: Record<string, string> } = {},
  ): Promise<string> {
    const { projectId, selector } = await this.target();
    const { name, externalId, previousSessionId, metadata } = session;
    const opened = await this.client.send<{ id: string }>(`/v2/projects/${projectId}/sessions`, {
      body: { ...selector, name, external_id: externalId, previous_session_id: previousSessionId, user_metadata: metadata },
      // Without an external id a repeat would open a second session.
      repeatable: externalId !== undefined,
    });
    this.sessionId = opened.id;
    return opened.id;
  }

  clearSession(): void {
    this.sessionId = undefined;
  }

  /** Begins a trace: spans are added to it, and `conclude` ends it. */
  startTrace(input: unknown, fields: TraceFields = {}): TraceBuilder {
    return new TraceBuilder((trace) => this.add(trace), input, fields);
  }

  /** Runs `work` as one trace: its result is the output, what it throws the error; functions wrapped by `log` nest in it. */
  async trace<T>(input: unknown, work: (trace: TraceBuilder) => T | Promise<T>, fields: TraceFields = {}): Promise<T> {
    const trace = this.startTrace(input, fields);
    try {
      const output = await trace.run(() => work(trace));
      trace.conclude(output);
      return output;
    } catch (error) {
      const errorMessage = textOf(error);
      trace.conclude(errorMessage, { statusCode: 500, errorMessage });
      throw error;
    }
  }

  /** Calls that belong to no trace become one, named after the first. */
  addSpans(spans: OpenSpan[]): void {
    const [first] = spans;
    if (!first) return;
    closeSpan(first);
    this.add({
      type: 'trace',
      id: randomUUID(),
      name: first.name ?? first.kind,
      created_at: first.startedAt.toISOString(),
      input: asText(first.input),
      output: asText(first.output),
      status_code: first.statusCode ?? 200,
      ...errorOf(first),
      metrics: { duration_ns: first.durationNs },
      spans: spans.map(toWire),
    });
  }

  /**
   * Sends what waits. @throws what the service answered when something could not be stored: what may pass (no connection, an overload) is kept for
   * the next time, what the service refuses is given up. `RecordsRefusedError` says what of a request could not be stored while the rest was. Where
   * several requests had such parts, the last one is thrown and the others are reported as those in the background are.
   */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    // Those that wait behind a flush that is under way are sent by the next round.
    while (this.sending) await this.sending.catch(() => undefined);
    if (this.waiting.length === 0) return;
    this.sending = this.sendAll().finally(() => {
      this.sending = undefined;
    });
    await this.sending;
  }

  private add(trace: object): void {
    let json: string;
    try {
      json = JSON.stringify(trace);
    } catch (error) {
      this.report(error);
      return;
    }
    this.waiting.push({ json, sessionId: this.sessionId });
    this.waitingCharacters += json.length;
    if (this.waitingCharacters > MAX_WAITING_CHARACTERS) this.giveUpOldest();
    if (this.waiting.length >= this.batchSize && !this.sending) this.sendInBackground();
    else this.sendSoon();
  }

  private sendSoon(): void {
    const every = this.options.flushEveryMs ?? 1_000;
    if (every === 0 || this.timer) return;
    this.timer = setTimeout(() => this.sendInBackground(), every);
    this.timer.unref();
  }

  private giveUpOldest(): void {
    let count = 0;
    for (; this.waitingCharacters > MAX_WAITING_CHARACTERS / 2 && count < this.waiting.length; count++)
      this.waitingCharacters -= this.waiting[count]?.json.length ?? 0;
    this.waiting.splice(0, count);
    this.report(new Error(`${count} traces were given up: too many waited for the service`));
  }

  private sendInBackground(): void {
    this.flush().catch((error: unknown) => {
      this.report(error);
      if (this.waiting.length > 0) this.sendSoon();
    });
  }

  private report(error: unknown): void {
    if (this.options.onError) this.options.onError(error);
    else this.client.logger.warn(`traces could not be sent: ${error instanceof Error ? error.message : String(error)}`);
  }

  private async sendAll(): Promise<void> {
    const { projectId, selector } = await this.target();
    let refused: unknown;
    while (this.waiting.length > 0) {
      const batch = this.takeBatch();
      try {
        const error = await this.sendBatch(projectId, selector, batch);
        if (error && refused) this.report(refused);
        refused = error ?? refused;
      } catch (error) {
        this.waiting = batch.concat(this.waiting);
        this.waitingCharacters += charactersOf(batch);
        throw error;
      }
    }
    if (refused) throw refused;
  }

  /** @returns what the service said when it refused records; the others of the batch are stored. @throws what may pass. */
  private async sendBatch(projectId: string, selector: Record<string, string>, batch: Waiting[]): Promise<unknown> {
    const session = batch[0]?.sessionId ? { session_id: batch[0].sessionId } : {};
    const head = JSON.stringify({ ...selector, ...session, logging_method: 'typescript_client' }).slice(0, -1);
    try {
      const answer = await this.client.send<{ refused?: RefusedRecord[]; refused_count?: number }>(
        `/v2/projects/${projectId}/traces`,
        {
          json: `${head},"traces":[${batch.map(({ json }) => json).join(',')}]}`,
          // Ids are ours: a repeat finds the records of the first.
          repeatable: true,
        },
      );
      const { refused = [], refused_count = refused.length } = answer;
      return refused_count > 0 ? new RecordsRefusedError(refused_count, refused) : undefined;
    } catch (error) {
      const isRefused =
        error instanceof HttpStatusError && (error.status === 400 || error.status === 413 || error.status === 422);
      if (!isRefused) throw error;
      if (batch.length === 1) return error;
      const half = batch.length >> 1;
      const first = await this.sendBatch(projectId, selector, batch.slice(0, half));
      const second = await this.sendBatch(projectId, selector, batch.slice(half));
      if (first && second) this.report(first);
      return second ?? first;
    }
  }

  /** The next traces of one session, up to the batch size and the size of a request. */
  private takeBatch(): Waiting[] {
    const sessionId = this.waiting[0]?.sessionId;
    let characters = 0;
    let count = 0;
    for (const one of this.waiting) {
      characters += one.json.length;
      if (count > 0 && (one.sessionId !== sessionId || count >= this.batchSize || characters > MAX_BATCH_CHARACTERS)) break;
      count++;
    }
    const batch = this.waiting.splice(0, count);
    this.waitingCharacters -= charactersOf(batch);
    return batch;
  }

  private target(): Promise<{ projectId: string; selector: Record<string, string> }> {
    this.run ??= this.findTarget().catch((err: unknown) => {
      this.run = undefined;
      throw err;
    });
    return this.run;
  }

  private async findTarget() {
    const { experimentId, logStream, logStreamId } = this.options;
    if (logStream && logStreamId) throw new ValueError('give the log stream by name or by id, not both');
    const projectId = await resolveProject(this.client, this.options);
    if (experimentId) return { projectId, selector: { experiment_id: experimentId } };
    const environment = readEnvironment();
    const id = logStreamId ?? (logStream ? undefined : environment.logStreamId);
    if (id) return { projectId, selector: { log_stream_id: id } };
    const name = logStream ?? environment.logStream ?? 'default';
    const streams = await this.client.send<{ id: string; name: string }[]>(`/projects/${projectId}/log_streams`);
    const found =
      streams.find((stream) => stream.name === name) ??
      (await this.client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name } }));
    return { projectId, selector: { log_stream_id: found.id } };
  }
}

const charactersOf = (batch: readonly Waiting[]): number => batch.reduce((sum, { json }) => sum + json.length, 0);
