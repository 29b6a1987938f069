import {
  clientOf,
  makeForLog,
  mayNotBeMade,
  type OperationOptions,
  resolveProject,
  resolveProjectForLogs,
} from './callOptions.ts';
import { currentContext, enterContext } from './context.ts';
import { readEnvironment } from './environment.ts';
import { ValueError } from './errors.ts';
import type { ServiceClient } from './http.ts';
import { newId } from './newId.ts';
import { type Outcome, observed, together } from './observed.ts';
import { type Patience, Session, type SessionFields } from './session.ts';
import { shared } from './shared.ts';
import { failureOf } from './spans.ts';
import { TraceBuilder, type TraceFields } from './trace.ts';
import { type QueueOptions, type Target, TraceQueue } from './traceQueue.ts';

export interface LoggerOptions extends Omit<OperationOptions, 'signal'>, QueueOptions {
  /** The log stream, made when the project lacks it, as a project is that is named and not there yet. Absent: SERVICE_LOG_STREAM, else `default`. */
  logStream?: string;
  logStreamId?: string;
  /** Log into an experiment instead of a log stream. */
  experimentId?: string;
}

const latest = () => shared<{ logger?: Logger | undefined }>('latest logger', () => ({}));

/** The logger of the session here, else the one made last: where `log` puts calls that belong to no trace. */
export const currentLogger = (): Logger | undefined => (currentContext().logger as Logger | undefined) ?? latest().logger;

/**
 * Logs what an application did: traces with their spans, in sessions. Traces are gathered and sent in batches, off the application's path;
 * `flush` sends what waits and resolves when it is stored. A process that ends sends what waits by itself, unless it is ended by `process.exit`.
 */
export class Logger {
  private readonly options: LoggerOptions;
  private readonly client: ServiceClient;
  private readonly queue: TraceQueue;
  private run: Promise<Target> | undefined;

  /** @throws ValueError when there are no credentials in the options or the environment. */
  constructor(options: LoggerOptions = {}) {
    this.options = options;
    this.client = clientOf(options);
    this.queue = new TraceQueue(this.client, options, (patience) => this.target(patience));
    latest().logger = this;
  }

  /**
   * Opens a session, or goes on with the one that has this `externalId`. Traces that `work` begins belong to it; without `work`, those that the
   * caller begins from here on, and what it calls: each asynchronous flow has its own session. Nothing waits for the service.
   * @returns what `work` returns, else the session
   */
  startSession<T>(work: (session: Session) => T): T;
  startSession<T>(fields: SessionFields, work: (session: Session) => T): T;
  startSession(fields?: SessionFields): Session;
  startSession<T>(first: SessionFields | ((session: Session) => T) = {}, second?: (session: Session) => T): T | Session {
    const [fields, work] = typeof first === 'function' ? [{}, first] : [first, second];
    // With an id of ours a repeat finds the session that the first attempt opened.
    const externalId = fields.externalId ?? newId();
    const session = new Session(this, (patience) => this.openSession({ ...fields, externalId }, patience));
    if (work) return session.run(() => work(session));
    enterContext(session.context());
    return session;
  }

  /** Traces that the caller begins from here on belong to no session. */
  clearSession(): void {
    const sessions = new Map(currentContext().sessions);
    sessions.delete(this);
    enterContext({ sessions });
  }

  /** Begins a trace: spans are added to it, and `conclude` ends it. */
  startTrace(input: unknown, fields: TraceFields = {}): TraceBuilder {
    const session = fields.session ?? (currentContext().sessions?.get(this) as Session | undefined);
    return new TraceBuilder((trace) => this.queue.add(trace, session), input, fields);
  }

  /**
   * Runs `work` as one trace: its result is the output, what it throws the error; functions wrapped by `log` nest in it. A trace whose result is a
   * generator or stream ends when that is read to its end.
   */
  async trace<T>(input: unknown, work: (trace: TraceBuilder) => T | Promise<T>, fields: TraceFields = {}): Promise<T> {
    const trace = this.startTrace(input, fields);
    const end = (outcome: Outcome): void => {
      if ('value' in outcome) trace.conclude(outcome.value);
      else {
        const { output, ...failure } = failureOf(outcome.error);
        trace.conclude(outcome.given?.length ? together(outcome.given) : output, failure);
      }
    };
    return observed(() => trace.run(() => work(trace)), trace.place, { end });
  }

  /** Sends what waits, and resolves when it is stored. @throws as `TraceQueue.flush` */
  flush(): Promise<void> {
    return this.queue.flush();
  }

  /** Traces that were given up, since too many waited for the service. */
  get droppedTraces(): number {
    return this.queue.dropped;
  }

  /** Sends what waits. `log` no longer uses this logger where nothing else names it. */
  async close(): Promise<void> {
    if (latest().logger === this) latest().logger = undefined;
    await this.queue.flush();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async openSession(fields: SessionFields, patience: Patience): Promise<string> {
    const { projectId, selector } = await this.target(patience);
    const { name, externalId, previousSessionId, metadata } = fields;
    const { id } = await this.client.send<{ id: string }>(`/v2/projects/${projectId}/sessions`, {
      body: { ...selector, name, external_id: externalId, previous_session_id: previousSessionId, user_metadata: metadata },
      repeatable: true,
      ...patience,
    });
    return id;
  }

  private target(patience: Patience): Promise<Target> {
    this.run ??= this.findTarget(patience).catch((err: unknown) => {
      this.run = undefined;
      throw err;
    });
    return this.run;
  }

  private async findTarget(patience: Patience): Promise<Target> {
    const { experimentId, logStream, logStreamId } = this.options;
    if (logStream && logStreamId) throw new ValueError('give the log stream by name or by id, not both');
    const environment = readEnvironment();
    const id = logStreamId ?? (logStream ? undefined : environment.logStreamId);
    // No project is made for a run that is there already.
    const resolve = experimentId || id ? resolveProject : resolveProjectForLogs;
    const projectId = await resolve(this.client, this.options, patience);
    if (experimentId) return { projectId, selector: { experiment_id: experimentId } };
    if (id) return { projectId, selector: { log_stream_id: id } };
    const name = (logStream ?? environment.logStream ?? 'default').trim();
    const path = `/projects/${projectId}/log_streams`;
    const find = async () => {
      const streams = await this.client.send<{ id: string; name: string }[]>(path, patience);
      return streams.find((stream) => stream.name === name)?.id;
    };
    return { projectId, selector: { log_stream_id: (await find()) ?? (await this.makeLogStream(path, name, find, patience)) } };
  }

  private async makeLogStream(path: string, name: string, find: () => Promise<string | undefined>, patience: Patience) {
    const { id, hint } = await makeForLog(this.client, path, { name }, find, patience).catch(mayNotBeMade('log stream', name));
    if (hint) this.client.logger.warn(`made the log stream ${JSON.stringify(name)}, since it was not there${hint}`);
    return id;
  }
}
