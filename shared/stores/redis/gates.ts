import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { onAbort } from '../../concurrency/onAbort.ts';
import {
  type AcquireOptions,
  type CallGate,
  type CallOutcome,
  type ConcurrencyLimit,
  type HeldBack,
  slotsOf,
  type WaitReason,
} from '../../coordination/coordination.ts';
import { ServiceError } from '../../errors/errors.ts';
import type { RedisConnection } from './connect.ts';
import { grantsChannel, keysOf, partyOf, syncScript, waitReasons } from './gateScript.ts';
import { type RedisScript, redisScript } from './script.ts';

interface Waiter {
  /** Slots, calls per minute, tokens per minute (0: unlimited) and the tokens that it wants. */
  wants(): readonly [number, number, number, number];
  /** The line's count of questions when it came. */
  since: number;
  admit(lease: string, waitedFor: WaitReason | undefined): void;
  refuse(err: unknown): void;
}

interface Party {
  waiting: Set<Waiter>;
  /** Waiters that Redis knows of. */
  asked: number;
}

/** A key's calls of this process: those that run, those that wait, and the ones that Redis has still to hear of. */
interface Line {
  key: string;
  held: Set<string>;
  /** Calls that ended, as the script takes them. */
  ended: (string | number)[];
  parties: Map<string, Party>;
  /** Redis gets everything anew, not only what has changed. */
  isUnsure: boolean;
  sending: Promise<void> | undefined;
  isScheduled: boolean;
  hasNews: boolean;
  questions: number;
  heldBack: HeldBack;
  refusedForMs: number;
  wake: NodeJS.Timeout | undefined;
}

const Reply = z.tuple([z.number(), z.number(), z.number()], z.string());
const Grant = z.tuple([z.string(), z.number()], z.string());
const closing = () => new ServiceError('Unavailable', 'Redis is not available: this process is closing');

/** Slots and calls that several processes share through one Redis. @param options.leaseMs after which what a dead process held comes back */
export function redisGates(
  redis: RedisConnection,
  options: { leaseMs: number },
): { concurrency: ConcurrencyLimit; calls: CallGate; close(): Promise<void> } {
  const keys = new SharedKeys(redis, options.leaseMs);
  return {
    concurrency: {
      acquire: (key, limit, options = {}) =>
        keys.wait(
          key,
          () => [slotsOf(limit), 0, 0, 0],
          options,
          (line, lease) => () => keys.end(line, lease, { result: 'other' }),
        ),
      changed: (key) => keys.changed(key),
    },
    calls: {
      enter: (key, limits, { tokens = 0, ...options }) =>
        keys.wait(
          `calls/${key}`,
          () => {
            const { concurrency, requestsPerMinute, tokensPerMinute } = limits();
            return [concurrency, requestsPerMinute ?? 0, tokensPerMinute ?? 0, tokens];
          },
          options,
          (line, lease, waitedFor) => ({
            waitedFor,
            refusedForMs: line.refusedForMs,
            leave: (outcome) => keys.end(line, lease, outcome),
          }),
        ),
      heldBack: (key) => keys.heldBack(`calls/${key}`),
      changed: (key) => keys.changed(`calls/${key}`),
    },
    close: () => keys.close(),
  };
}

/**
 * Milliseconds after a reconnect in which nothing is asked for. Processes try to reconnect every second at the latest, so all have entered what they hold
 * by then; without this, as many calls more than the limit were seen as a process that came back first had asked for.
 */
const REENTRY_MS = 1_500;

/**
 * A process sends the new and the ended calls of a key to Redis, in one script at a time, so that calls that come together travel together. The script
 * admits every waiting call that fits, and publishes those of other processes to them, so that no process polls. A process renews its leases and
 * requests every third of the lease time; the leases of a dead process expire.
 */
class SharedKeys {
  /** Until then nothing is asked for: a Redis that came back without its memory must hear first what every process holds. */
  private asksFrom = 0;
  private readonly redis: RedisConnection;
  private readonly leaseMs: number;
  private readonly me = randomUUID();
  private readonly script: RedisScript;
  private readonly lines = new Map<string, Line>();
  private readonly renewing: NodeJS.Timeout;
  private isClosed = false;
  private listening: Promise<() => void> | undefined;
  private isListening = false;

  constructor(redis: RedisConnection, leaseMs: number) {
    this.redis = redis;
    this.leaseMs = leaseMs;
    this.script = redisScript(redis, syncScript);
    redis.onReconnect(() => this.reenter());
    this.renewing = setInterval(() => {
      for (const line of this.lines.values()) {
        line.isUnsure = true;
        this.schedule(line);
      }
    }, leaseMs / 3).unref();
  }

  /** Enters again what this process holds, and asks for more when the others have had the time to do so. */
  private reenter(): void {
    this.asksFrom = performance.now() + REENTRY_MS;
    const sayAll = () => {
      for (const line of this.lines.values()) {
        line.isUnsure = true;
        this.schedule(line);
      }
    };
    sayAll();
    setTimeout(sayAll, REENTRY_MS).unref();
  }

  async wait<T>(
    key: string,
    wants: Waiter['wants'],
    { signal, party: name = '' }: AcquireOptions,
    begin: (line: Line, lease: string, waitedFor: WaitReason | undefined) => T,
  ): Promise<T> {
    if (!this.isListening) await this.listen();
    signal?.throwIfAborted();
    if (this.isClosed) throw closing();
    const line = this.line(key);
    let party = line.parties.get(name);
    if (!party) {
      party = { waiting: new Set(), asked: 0 };
      line.parties.set(name, party);
    }
    const { waiting } = party;
    return new Promise((resolve, reject) => {
      const forgetAbort =
        signal &&
        onAbort(signal, () => {
          waiting.delete(waiter);
          this.schedule(line);
          reject(signal.reason);
        });
      const waiter: Waiter = {
        wants,
        since: line.questions + (line.sending ? 1 : 0),
        admit(lease, waitedFor) {
          forgetAbort?.();
          resolve(begin(line, lease, waitedFor));
        },
        refuse(err) {
          forgetAbort?.();
          reject(err);
        },
      };
      waiting.add(waiter);
      this.schedule(line);
    });
  }

  end(line: Line, lease: string, { result, retryAfterMs, tokens }: CallOutcome): void {
    if (!line.held.delete(lease)) return;
    line.ended.push(lease, result, retryAfterMs ?? -1, tokens ?? -1);
    this.schedule(line);
  }

  heldBack(key: string): HeldBack | undefined {
    const line = this.lines.get(key);
    return line && isWaiting(line) ? line.heldBack : undefined;
  }

  changed(key: string): void {
    const line = this.lines.get(key);
    if (line) this.schedule(line);
  }

  /** Gives back what is held and refuses who waits. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.renewing);
    const all = [...this.lines.values()];
    for (const line of all) {
      for (const party of line.parties.values()) for (const waiter of party.waiting) waiter.refuse(closing());
      line.parties.clear();
      line.isUnsure = true;
      for (const lease of line.held) this.end(line, lease, { result: 'other' });
      this.schedule(line);
    }
    for (const line of all) {
      await line.sending;
      line.sending ??= line.hasNews ? this.send(line) : undefined;
      await line.sending;
      clearTimeout(line.wake);
    }
  }

  private line(key: string): Line {
    let line = this.lines.get(key);
    if (!line) {
      line = {
        key,
        held: new Set(),
        ended: [],
        parties: new Map(),
        isUnsure: false,
        sending: undefined,
        isScheduled: false,
        hasNews: false,
        questions: 0,
        heldBack: { reason: 'slot', until: 0 },
        refusedForMs: 0,
        wake: undefined,
      };
      this.lines.set(key, line);
    }
    return line;
  }

  /** After what is running now, so that callers who come together are sent together. */
  private schedule(line: Line): void {
    line.hasNews = true;
    if (line.isScheduled || line.sending) return;
    line.isScheduled = true;
    queueMicrotask(() => {
      line.isScheduled = false;
      line.sending ??= this.send(line);
    });
  }

  private async send(line: Line): Promise<void> {
    try {
      while (line.hasNews) {
        line.hasNews = false;
        await this.sync(line);
      }
    } catch (err) {
      // The process cannot know what Redis received. Leases that Redis gave in an answer that was lost expire, because no process renews them.
      line.isUnsure = true;
      for (const party of line.parties.values()) for (const waiter of party.waiting) waiter.refuse(err);
      line.parties.clear();
    }
    line.sending = undefined;
    if (line.hasNews) this.schedule(line);
    else this.dropIfIdle(line);
  }

  private async sync(line: Line): Promise<void> {
    const isFull = line.isUnsure;
    const mayAsk = performance.now() >= this.asksFrom;
    const { ended } = line;
    const waits: (string | number)[] = [];
    for (const [name, party] of line.parties) {
      const [first] = party.waiting;
      const wanted = mayAsk ? party.waiting.size : 0;
      const count = isFull ? wanted : wanted - party.asked;
      if (first === undefined && count === 0) line.parties.delete(name);
      else waits.push(name, count, ...(first?.wants() ?? [0, 0, 0, 0]));
      party.asked = wanted;
    }
    line.ended = [];
    line.isUnsure = false;
    line.questions++;
    clearTimeout(line.wake);
    const renewed = isFull ? [...line.held] : [];
    const head = [line.key, this.me, this.leaseMs, isFull ? 1 : 0];
    const [wakeMs, reason, refusedForMs, ...leases] = Reply.parse(
      await this.script(keysOf(line.key), [
        ...head,
        ended.length / 4,
        ...ended,
        renewed.length,
        ...renewed,
        waits.length / 6,
        ...waits,
      ]),
    );
    line.refusedForMs = refusedForMs;
    this.admit(line, leases);
    const heldBy = waitReasons[reason] ?? 'slot';
    line.heldBack = { reason: heldBy, until: heldBy === 'slot' ? 0 : Date.now() + wakeMs };
    if (isWaiting(line)) line.wake = setTimeout(() => this.schedule(line), wakeMs).unref();
  }

  private admit(line: Line, leases: readonly string[]): void {
    for (const lease of leases) {
      line.held.add(lease);
      const party = line.parties.get(partyOf(lease));
      const [waiter] = party?.waiting ?? [];
      if (party) party.asked = Math.max(0, party.asked - 1);
      if (party === undefined || waiter === undefined) {
        this.end(line, lease, { result: 'other', tokens: 0 }); // who waited has left while the lease was on its way
        continue;
      }
      party.waiting.delete(waiter);
      waiter.admit(lease, line.questions > waiter.since + 1 ? line.heldBack.reason : undefined);
    }
  }

  private dropIfIdle(line: Line): void {
    if (line.held.size > 0 || line.isScheduled || line.sending || line.hasNews || isWaiting(line)) return;
    clearTimeout(line.wake);
    this.lines.delete(line.key);
  }

  private async listen(): Promise<void> {
    this.listening ??= this.redis.subscribe(grantsChannel(this.me), (message) => {
      const [key, refusedForMs, ...leases] = Grant.parse(JSON.parse(message));
      const line = this.line(key);
      line.refusedForMs = refusedForMs;
      line.questions++; // others were asked in the meantime
      this.admit(line, leases);
    });
    try {
      await this.listening;
      this.isListening = true;
    } catch (err) {
      this.listening = undefined;
      throw err;
    }
  }
}

const isWaiting = (line: Line): boolean => {
  for (const party of line.parties.values()) if (party.waiting.size > 0) return true;
  return false;
};
