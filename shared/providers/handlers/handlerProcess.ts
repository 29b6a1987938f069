import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname, join } from 'node:path';
import type { CodeIsolation, OperatorCode } from '../../childProcesses/codeIsolation.ts';
import { lowerPriority } from '../../childProcesses/lowerPriority.ts';
import { Hopeless, type Life } from '../../childProcesses/respawning.ts';
import { onAbort } from '../../concurrency/onAbort.ts';
import { parsedOrNothing } from '../../json/parseJson.ts';
import type { HandlerAnswer } from './customHandler.ts';
import type { FromHandler, HandlerFailure, HandlerRequest, ToHandler } from './messages.ts';

export const handlerClasses: OperatorCode = {
  what: 'handler classes',
  setting: 'HANDLERS_DIR',
  program: join(import.meta.dirname, `handlerHost${extname(import.meta.filename)}`),
};

/** A class, and what its processes are started with. */
export interface HostedHandler {
  path: string;
  className: string;
  initKwargs: Record<string, unknown>;
  isolation: CodeIsolation;
  /** MiB of the JavaScript heap of each process; one that needs more dies. */
  memoryMb: number;
  /** `fetch` under the service's rules for user-supplied addresses. */
  fetch: typeof fetch;
}

/** Milliseconds between two looks whether a process with calls turns its event loop, and the looks in a row that it may miss. */
const LOOK_MS = 2_000;
const MAX_MISSED = 5;
/** Milliseconds that a file may take to load. */
const LOAD_MS = 30_000;
/** Milliseconds without a call after which a process ends. */
const IDLE_MS = 300_000;

/** The process that a call ran in has died, or was ended because its event loop was held. */
export class HandlerDied extends Error {
  /** No other call was in it, so that this one is the cause. */
  readonly wasAlone: boolean;
  readonly isHeld: boolean;
  constructor(wasAlone: boolean, isHeld: boolean) {
    super(isHeld ? `held its process for ${(LOOK_MS * MAX_MISSED) / 1_000} s` : 'brought its process down');
    this.wasAlone = wasAlone;
    this.isHeld = isHeld;
  }
}

/** An error that the handler threw. Its text may hold secrets that the handler was given. */
export class HandlerThrew extends Error {
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  constructor({ text, status, retryAfterMs }: HandlerFailure) {
    super(text);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The answer of a handler, and the time it took. */
export interface HandlerReply {
  answer: HandlerAnswer;
  durationNs: number;
}

interface Call {
  resolve(reply: HandlerReply): void;
  reject(err: unknown): void;
  /** Stops listening for the end of the call's signal. */
  forget(): void;
}

/** One life of a process with a handler in it. */
export class HandlerProcess implements Life {
  readonly ready: Promise<void>;
  dead = false;
  private readonly child: ChildProcess;
  private readonly fetch: typeof fetch;
  private readonly calls = new Map<number, Call>();
  /** Requests that the handler makes now. */
  private readonly requests = new Map<number, AbortController>();
  /** Failures of requests by their number, for the error of a call that ends with one. */
  private readonly requestFailures = new Map<number, unknown>();
  private lastCall = 0;
  private looking: NodeJS.Timeout | undefined;
  private missed = 0;
  /** A call was given up, and the process has shown no sign of life since: it may be held by it. */
  private unheard = false;
  private idle: NodeJS.Timeout | undefined;

  constructor({ path, className, initKwargs, isolation, memoryMb, fetch }: HostedHandler) {
    this.fetch = fetch;
    this.child = fork(handlerClasses.program, [], {
      serialization: 'advanced',
      execArgv: [...process.execArgv, `--max-old-space-size=${memoryMb}`],
      ...isolation,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    lowerPriority(this.child.pid);
    this.ready = new Promise((resolve, reject) => {
      const giveUp = (reason: string) => {
        reject(new Hopeless(reason));
        this.died(false);
      };
      const overdue = setTimeout(() => giveUp(`it was not loaded within ${LOAD_MS / 1_000} s`), LOAD_MS);
      this.child.on('message', (message: FromHandler | null) => {
        if (message?.type === 'ready') {
          clearTimeout(overdue);
          resolve();
        } else if (message?.type === 'broken') giveUp(message.reason);
        else if (message) this.hear(message);
      });
      this.child.once('exit', (code, signal) => {
        clearTimeout(overdue);
        reject(new Error(`ended at its start (${signal ?? code})`));
        this.died(false);
      });
      this.child.once('error', (err) => {
        reject(err);
        this.died(false);
      });
    });
    this.ready.then(() => this.rest()).catch(() => undefined); // a process that ends later rejects its calls
    this.send({ type: 'load', path, className, initKwargs: JSON.stringify(initKwargs) });
  }

  /** @throws HandlerThrew, HandlerDied, what failed a request that the handler made, or the signal's reason */
  async call(call: HandlerRequest, signal: AbortSignal): Promise<HandlerReply> {
    signal.throwIfAborted();
    const id = ++this.lastCall;
    return new Promise((resolve, reject) => {
      const forget = onAbort(signal, () => {
        this.send({ type: 'abort', id });
        this.unheard = true;
        this.take(id)?.reject(signal.reason);
      });
      this.calls.set(id, { resolve, reject, forget });
      this.look();
      this.send({ type: 'call', id, call: JSON.stringify(call) });
    });
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null || this.child.pid === undefined) return;
    const gone = once(this.child, 'exit');
    this.died(false);
    await gone;
  }

  private hear(message: Exclude<FromHandler, { type: 'ready' | 'broken' }>): void {
    switch (message.type) {
      case 'pong':
        this.missed = 0;
        this.unheard = false;
        return;
      case 'answered':
        this.take(message.id)?.resolve({
          answer: parsedOrNothing(message.answer) as HandlerAnswer,
          durationNs: message.durationNs,
        });
        return;
      case 'failed': {
        const failure = message.fetch === undefined ? undefined : this.requestFailures.get(message.fetch);
        this.take(message.id)?.reject(failure ?? new HandlerThrew(message));
        return;
      }
      case 'fetch':
        void this.request(message);
        return;
      case 'abortFetch':
        this.requests.get(message.id)?.abort();
    }
  }

  private async request({ id, url, method, headers, body }: Extract<FromHandler, { type: 'fetch' }>): Promise<void> {
    const abort = new AbortController();
    this.requests.set(id, abort);
    try {
      const answer = await this.fetch(url, { method, headers, body, signal: abort.signal });
      const bytes = new Uint8Array(await answer.arrayBuffer());
      this.send({ type: 'fetched', id, status: answer.status, headers: [...answer.headers], body: bytes });
    } catch (err) {
      // Kept while there are calls, one of which it may end.
      this.requestFailures.set(id, err);
      const { name, message } = err as Error;
      this.send({ type: 'fetchFailed', id, name, message });
    } finally {
      this.requests.delete(id);
    }
  }

  private send(message: ToHandler): void {
    this.child.send(message, () => undefined); // a closed channel is followed by the `exit` that answers for all calls
  }

  /** Watches the process while there are calls in it, and until it has shown that the last one does not hold it. */
  private look(): void {
    this.child.ref();
    this.child.channel?.ref();
    clearTimeout(this.idle);
    if (this.looking) return;
    this.missed = 0;
    this.looking = setInterval(() => {
      // Counted by looks, not by time: a service that was held itself does not blame the handler.
      if (this.missed > MAX_MISSED) this.died(true);
      else if (this.calls.size === 0 && this.missed === 0) this.rest();
      else {
        this.missed++;
        this.send({ type: 'ping' });
      }
    }, LOOK_MS).unref();
  }

  /** A process without calls keeps no service from ending, and ends itself when it is not needed for long. */
  private rest(): void {
    if (this.calls.size > 0 || this.dead) return;
    clearInterval(this.looking);
    this.looking = undefined;
    this.requestFailures.clear();
    this.unref();
    this.idle = setTimeout(() => this.died(false), IDLE_MS).unref();
  }

  private unref(): void {
    this.child.unref();
    this.child.channel?.unref();
  }

  /** Ends the process, if it has not ended by itself, and gives all its calls back. */
  private died(isHeld: boolean): void {
    if (!this.dead) this.child.kill('SIGKILL');
    this.dead = true;
    clearInterval(this.looking);
    clearTimeout(this.idle);
    for (const request of this.requests.values()) request.abort();
    const wasAlone = this.calls.size === 1 && !this.unheard;
    for (const id of [...this.calls.keys()]) this.take(id)?.reject(new HandlerDied(wasAlone, isHeld));
  }

  private take(id: number): Call | undefined {
    const call = this.calls.get(id);
    if (!call) return undefined;
    this.calls.delete(id);
    call.forget();
    if (this.calls.size === 0) this.unref();
    return call;
  }
}
