import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type ConcurrencyLimit, type SlotLimit, slotsOf } from '../../coordination/coordination.ts';
import { ServiceError } from '../../errors.ts';
import { onAbort } from '../../onAbort.ts';
import { grantsChannel, keysOf, partyOf, syncScript } from './concurrencyScript.ts';
import type { RedisConnection } from './connect.ts';
import { redisScript } from './script.ts';

interface Waiter {
  limit: SlotLimit;
  admit(release: () => void): void;
  refuse(err: unknown): void;
}

interface Party {
  waiting: Set<Waiter>;
  /** Waiters that Redis knows of. */
  asked: number;
}

/** What this process has to do with one key. */
interface Line {
  key: string;
  held: Set<string>;
  givenBack: string[];
  parties: Map<string, Party>;
  /** Redis is to be told of everything anew, not of what has changed. */
  isUnsure: boolean;
  sending: Promise<void> | undefined;
  isScheduled: boolean;
  hasNews: boolean;
  wake: NodeJS.Timeout | undefined;
}

const Reply = z.tuple([z.number()], z.string());
const Grant = z.tuple([z.string()], z.string());
const closing = () => new ServiceError('Unavailable', 'Redis is not available: this process is closing');

/**
 * Slots that several processes share. Each says what it wants and gives back, of one key at most once at a time, so that what comes together
 * travels together; whoever speaks causes free slots to be given, and those of other processes are published to them: nobody polls. A process renews
 * what it holds and wants every third of the lease time; what a dead one held ends by itself.
 */
export function redisConcurrencyLimit(
  redis: RedisConnection,
  options: { leaseMs: number },
): ConcurrencyLimit & { close(): Promise<void> } {
  const { leaseMs } = options;
  const me = randomUUID();
  const script = redisScript(redis, syncScript);
  const lines = new Map<string, Line>();
  let isClosed = false;
  let listening: Promise<() => void> | undefined;
  let isListening = false;

  const renewing = setInterval(() => {
    for (const line of lines.values()) {
      line.isUnsure = true;
      schedule(line);
    }
  }, leaseMs / 3).unref();

  function lineOf(key: string): Line {
    let line = lines.get(key);
    if (!line) {
      line = {
        key,
        held: new Set(),
        givenBack: [],
        parties: new Map(),
        isUnsure: false,
        sending: undefined,
        isScheduled: false,
        hasNews: false,
        wake: undefined,
      };
      lines.set(key, line);
    }
    return line;
  }

  /** After what is running now, so that callers who come together are sent together. */
  function schedule(line: Line): void {
    line.hasNews = true;
    if (line.isScheduled || line.sending) return;
    line.isScheduled = true;
    queueMicrotask(() => {
      line.isScheduled = false;
      line.sending ??= send(line);
    });
  }

  async function send(line: Line): Promise<void> {
    try {
      while (line.hasNews) {
        line.hasNews = false;
        await sync(line);
      }
    } catch (err) {
      // What Redis has heard is not known. What it believes to be given away ends by itself, because it is not renewed.
      line.isUnsure = true;
      for (const party of line.parties.values()) for (const waiter of party.waiting) waiter.refuse(err);
      line.parties.clear();
    }
    line.sending = undefined;
    if (line.hasNews) schedule(line);
    else dropIfIdle(line);
  }

  async function sync(line: Line): Promise<void> {
    const isFull = line.isUnsure;
    const givenBack = line.givenBack;
    const waits: (string | number)[] = [];
    for (const [name, party] of line.parties) {
      const [first] = party.waiting;
      const count = isFull ? party.waiting.size : party.waiting.size - party.asked;
      if (first === undefined && count === 0) line.parties.delete(name);
      else waits.push(name, count, first === undefined ? 0 : slotsOf(first.limit));
      party.asked = party.waiting.size;
    }
    line.givenBack = [];
    line.isUnsure = false;
    clearTimeout(line.wake);
    const renewed = isFull ? [...line.held] : [];
    const [wakeMs, ...leases] = Reply.parse(
      await script(keysOf(line.key), [
        line.key,
        me,
        leaseMs,
        isFull ? 1 : 0,
        givenBack.length,
        ...givenBack,
        renewed.length,
        ...renewed,
        waits.length / 3,
        ...waits,
      ]),
    );
    admit(line, leases);
    if (isWaiting(line)) line.wake = setTimeout(() => schedule(line), wakeMs).unref();
  }

  function admit(line: Line, leases: readonly string[]): void {
    for (const lease of leases) {
      const party = line.parties.get(partyOf(lease));
      const [waiter] = party?.waiting ?? [];
      if (party) party.asked = Math.max(0, party.asked - 1);
      if (party === undefined || waiter === undefined) {
        giveBack(line, lease); // who waited has left while the lease was on its way
        continue;
      }
      party.waiting.delete(waiter);
      line.held.add(lease);
      waiter.admit(() => {
        if (line.held.delete(lease)) giveBack(line, lease);
      });
    }
  }

  function giveBack(line: Line, lease: string): void {
    line.givenBack.push(lease);
    schedule(line);
  }

  const isWaiting = (line: Line): boolean => {
    for (const party of line.parties.values()) if (party.waiting.size > 0) return true;
    return false;
  };

  function dropIfIdle(line: Line): void {
    if (line.held.size > 0 || line.isScheduled || line.sending || line.hasNews || isWaiting(line)) return;
    clearTimeout(line.wake);
    lines.delete(line.key);
  }

  async function listen(): Promise<void> {
    if (isListening) return;
    listening ??= redis.subscribe(grantsChannel(me), (message) => {
      const [key, ...leases] = Grant.parse(JSON.parse(message));
      admit(lineOf(key), leases);
    });
    try {
      await listening;
      isListening = true;
    } catch (err) {
      listening = undefined;
      throw err;
    }
  }

  return {
    async acquire(key, limit, { signal, party: name = '' } = {}) {
      if (!isListening) await listen();
      signal?.throwIfAborted();
      if (isClosed) throw closing();
      const line = lineOf(key);
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
            schedule(line);
            reject(signal.reason);
          });
        const waiter: Waiter = {
          limit,
          admit(release) {
            forgetAbort?.();
            resolve(release);
          },
          refuse(err) {
            forgetAbort?.();
            reject(err);
          },
        };
        waiting.add(waiter);
        schedule(line);
      });
    },
    changed(key) {
      const line = lines.get(key);
      if (line) schedule(line);
    },
    /** Gives back what is held and refuses who waits. */
    async close() {
      isClosed = true;
      clearInterval(renewing);
      const all = [...lines.values()];
      for (const line of all) {
        for (const party of line.parties.values()) for (const waiter of party.waiting) waiter.refuse(closing());
        line.parties.clear();
        line.isUnsure = true;
        for (const lease of line.held) giveBack(line, lease);
        line.held.clear();
      }
      for (const line of all) {
        await line.sending;
        line.sending ??= line.hasNews ? send(line) : undefined;
        await line.sending;
        clearTimeout(line.wake);
      }
    },
  };
}
