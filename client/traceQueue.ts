import type { RefusedRecord } from '../shared/recordSchemas/ingest.ts';
import { jsonWithBigInts } from '../shared/wire/longNumbers.ts';
import { HttpStatusError, RecordsRefusedError } from './errors.ts';
import { exitWatch, type Unsent } from './exits.ts';
import type { ServiceClient } from './http.ts';
import { newId } from './newId.ts';
import { RareWarnings } from './rareWarnings.ts';
import type { Patience, Session } from './session.ts';

/** Characters of one request: under the limit of the service, with room for its envelope. */
const MAX_BATCH_CHARACTERS = 8 * 1024 * 1024;
/** Characters that wait at most while the service is away, of one or two bytes each. */
const MAX_WAITING_CHARACTERS = 64 * 1024 * 1024;
/** The longest pause between two attempts in the background. */
const MAX_PAUSE_MS = 30_000;
const MAX_SESSIONS_AT_ONCE = 8;
/** The queue tries again by itself. A service that accepts connections and does not answer delays the end of the process by no more than this. */
const IN_BACKGROUND: Patience = { retries: 0, timeoutMs: 10_000 };

export interface QueueOptions {
  /** Traces that are sent together at most. */
  batchSize?: number;
  /** Milliseconds after which waiting traces are sent by themselves; 0: only by `flush`. */
  flushEveryMs?: number;
  /** Characters that wait at most while the service is away; absent: 64 Mi. Then the oldest traces are given up. */
  maxWaitingCharacters?: number;
  /** Gets what goes wrong when traces are sent in the background; absent: logged as a warning, once a minute at most. */
  onError?: (error: unknown) => void;
}

/** Where traces go. */
export interface Target {
  projectId: string;
  selector: Record<string, string>;
}

interface Waiting {
  json: string;
  session: Session | undefined;
}

/** Traces that wait to be sent. They are sent in batches, off the application's path, the last ones when the process ends. */
export class TraceQueue implements Unsent {
  private readonly client: ServiceClient;
  private readonly options: QueueOptions;
  private readonly target: (patience: Patience) => Promise<Target>;
  private readonly batchSize: number;
  private readonly maxCharacters: number;
  private readonly warnings: RareWarnings;
  private waiting: Waiting[] = [];
  private onTheWay = 0;
  /** Characters of the traces that wait or are being sent. */
  private characters = 0;
  private sending: Promise<void> | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Attempts in the background that failed since one succeeded. */
  private failures = 0;
  /** Ids of sessions that the service refused: their traces belong together all the same. */
  private readonly refusedSessions = new WeakMap<Session, string>();
  /** Traces that were given up, since too many waited. */
  dropped = 0;
  added = 0;

  constructor(client: ServiceClient, options: QueueOptions, target: (patience: Patience) => Promise<Target>) {
    this.client = client;
    this.options = options;
    this.target = target;
    this.batchSize = options.batchSize ?? 500;
    this.maxCharacters = options.maxWaitingCharacters ?? MAX_WAITING_CHARACTERS;
    const { onError } = options;
    this.warnings = new RareWarnings((text) => (onError ? onError(new Error(text)) : client.logger.warn(text)));
  }

  add(trace: object, session: Session | undefined): void {
    let json: string;
    try {
      json = jsonWithBigInts(trace);
    } catch (error) {
      this.report(error);
      return;
    }
    if (this.unsent === 0) exitWatch()?.add(this);
    this.added++;
    this.waiting.push({ json, session });
    this.characters += json.length;
    if (this.characters > this.maxCharacters) this.dropOldest();
    if (this.waiting.length >= this.batchSize && !this.sending && this.failures === 0) this.sendInBackground();
    else this.sendSoon();
  }

  /**
   * Sends what waits. @throws what the service answered when something could not be stored: what may pass (no connection, an overload) is kept for
   * the next time, what the service refuses is given up. `RecordsRefusedError` says what of a request could not be stored while the rest was. Where
   * several requests had such parts, the last one is thrown and the others are reported as those in the background are.
   */
  async flush(patience: Patience = {}): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    // Those that wait behind a flush that is under way are sent by the next round.
    while (this.sending) await this.sending.catch(() => undefined);
    if (this.waiting.length === 0) return;
    this.sending = this.sendAll(patience).finally(() => {
      this.sending = undefined;
      if (this.unsent === 0 && !this.warnings.hasRest) exitWatch()?.remove(this);
    });
    await this.sending;
    this.failures = 0;
  }

  async sendLast(ms: number): Promise<void> {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const isOver = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        stop.abort(new Error(`no answer within the ${ms} ms that an ending process waits`));
        resolve();
      }, ms);
    });
    const sent = this.flush({ retries: 1, signal: stop.signal }).catch((error: unknown) => this.report(error));
    await Promise.race([sent, isOver]);
    clearTimeout(timer);
  }

  sayUnsent(): void {
    this.warnings.sayRest();
    if (this.unsent > 0) this.client.logger.warn(`the process ends; traces not sent: ${this.unsent}`);
  }

  /** Traces that wait or are on their way. */
  get unsent(): number {
    return this.waiting.length + this.onTheWay;
  }

  private sendSoon(): void {
    const every = this.options.flushEveryMs ?? 1_000;
    if (every === 0 || this.timer) return;
    const waitMs = Math.max(every, Math.min(MAX_PAUSE_MS, every * 2 ** this.failures));
    this.timer = setTimeout(() => this.sendInBackground(), waitMs);
    this.timer.unref?.(); // a browser's is a number
  }

  /** A tenth at a time, so that a full queue does not move its elements with each trace. */
  private dropOldest(): void {
    let count = 0;
    for (; this.characters > 0.9 * this.maxCharacters && count < this.waiting.length; count++)
      this.characters -= this.waiting[count]?.json.length ?? 0;
    this.waiting.splice(0, count);
    this.dropped += count;
    this.warnings.warn('dropped', (sum) => `${sum} traces were given up: too many waited for the service`, count);
  }

  private sendInBackground(): void {
    this.flush(IN_BACKGROUND).catch((error: unknown) => {
      this.report(error);
      if (this.waiting.length === 0) return;
      this.failures++;
      this.sendSoon();
    });
  }

  private report(error: unknown): void {
    const { onError } = this.options;
    if (onError) {
      onError(error);
      return;
    }
    const text = `traces could not be sent: ${error instanceof Error ? error.message : String(error)}`;
    const kind = error instanceof Error ? error.name : 'other';
    this.warnings.warn(kind, (count) => (count > 1 ? `${text} (${count} times)` : text));
  }

  private async sendAll(patience: Patience): Promise<void> {
    const target = await this.target(patience);
    let refused: unknown;
    while (this.waiting.length > 0) {
      const batch = this.takeBatch();
      this.onTheWay = batch.length;
      try {
        const traces = await this.withSessions(batch, patience);
        const error = await this.sendBatch(target, traces, patience);
        if (error && refused) this.report(refused);
        refused = error ?? refused;
        this.characters -= charactersOf(batch);
      } catch (error) {
        this.waiting = batch.concat(this.waiting);
        throw error;
      } finally {
        this.onTheWay = 0;
      }
    }
    if (refused) throw refused;
  }

  /** @returns the JSON of each trace, in which its session is named */
  private async withSessions(batch: Waiting[], patience: Patience): Promise<string[]> {
    const sessions = [...new Set(batch.flatMap(({ session }) => session ?? []))];
    const ids = new Map<Session, string>();
    const lane = async () => {
      for (let next = sessions.pop(); next; next = sessions.pop()) ids.set(next, await this.idOf(next, patience));
    };
    await Promise.all(Array.from({ length: MAX_SESSIONS_AT_ONCE }, lane));
    return batch.map(({ json, session }) => (session ? `{"session_id":"${ids.get(session)}",${json.slice(1)}` : json));
  }

  private async idOf(session: Session, patience: Patience): Promise<string> {
    const own = this.refusedSessions.get(session);
    if (own) return own;
    try {
      return await session.id(patience);
    } catch (error) {
      if (!isRefused(error)) throw error;
      this.report(error);
      const id = newId();
      this.refusedSessions.set(session, id);
      return id;
    }
  }

  /** @returns what the service said when it refused records; the others of the batch are stored. @throws what may pass. */
  private async sendBatch(target: Target, traces: string[], patience: Patience): Promise<unknown> {
    const head = jsonWithBigInts({ ...target.selector, logging_method: 'typescript_client' }).slice(0, -1);
    try {
      const answer = await this.client.send<{ refused?: RefusedRecord[]; refused_count?: number }>(
        `/v2/projects/${target.projectId}/traces`,
        {
          json: `${head},"traces":[${traces.join(',')}]}`,
          // Ids are ours: a repeat finds the records of the first.
          repeatable: true,
          ...patience,
        },
      );
      const { refused = [], refused_count = refused.length } = answer;
      return refused_count > 0 ? new RecordsRefusedError(refused_count, refused) : undefined;
    } catch (error) {
      if (!isRefused(error)) throw error;
      if (traces.length === 1) return error;
      const half = traces.length >> 1;
      const first = await this.sendBatch(target, traces.slice(0, half), patience);
      const second = await this.sendBatch(target, traces.slice(half), patience);
      if (first && second) this.report(first);
      return second ?? first;
    }
  }

  /** The next traces, up to the batch size and the size of a request. */
  private takeBatch(): Waiting[] {
    let characters = 0;
    let count = 0;
    for (const { json } of this.waiting) {
      characters += json.length;
      if (count > 0 && (count >= this.batchSize || characters > MAX_BATCH_CHARACTERS)) break;
      count++;
    }
    return this.waiting.splice(0, count);
  }
}

const charactersOf = (batch: readonly Waiting[]): number => batch.reduce((sum, { json }) => sum + json.length, 0);

/** The service looked at it and cannot take it. */
const isRefused = (error: unknown): boolean =>
  error instanceof HttpStatusError && (error.status === 400 || error.status === 413 || error.status === 422);
