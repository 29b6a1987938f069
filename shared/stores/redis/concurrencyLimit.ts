import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import type { ConcurrencyLimit } from '../../coordination/coordination.ts';
import { ServiceError } from '../../errors.ts';
import type { RedisConnection } from './connect.ts';

/*
 * Per key: `slots`, a sorted set of leases by the time they end; `queue`, one ticket per waiting process in order of arrival; `tickets`,
 * the times those tickets end. All times are Redis's own. A process renews what it holds every third of the lease time; what a dead one
 * held ends by itself. Every change that may let somebody in is announced on the `freed` channel, so that nobody polls.
 */
const keysOf = (key: string) =>
  [`assay:slots:{${key}}`, `assay:queue:{${key}}`, `assay:tickets:{${key}}`, `assay:freed:{${key}}`] as const;

const clock = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

// ARGV: limit, lease id, ticket id, lease ms. Answers -1 when the slot is taken, else the ms after which a slot or ticket may have ended.
const take = `${clock}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
for _, dead in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now)) do
  redis.call('ZREM', KEYS[3], dead)
  redis.call('ZREM', KEYS[2], dead)
end
local free = tonumber(ARGV[1]) - redis.call('ZCARD', KEYS[1])
local rank = redis.call('ZRANK', KEYS[2], ARGV[3]) or redis.call('ZCARD', KEYS[2])
if rank < free then
  redis.call('ZADD', KEYS[1], now + ARGV[4], ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[4] * 2)
  redis.call('ZREM', KEYS[2], ARGV[3])
  redis.call('ZREM', KEYS[3], ARGV[3])
  if free > 1 and redis.call('ZCARD', KEYS[2]) > 0 then redis.call('PUBLISH', KEYS[4], '') end
  return -1
end
if not redis.call('ZSCORE', KEYS[2], ARGV[3]) then
  local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
  redis.call('ZADD', KEYS[2], (last[2] or 0) + 1, ARGV[3])
end
redis.call('ZADD', KEYS[3], now + ARGV[4], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[4] * 2)
redis.call('PEXPIRE', KEYS[3], ARGV[4] * 2)
local first = now + ARGV[4] / 2
for _, set in ipairs({ KEYS[1], KEYS[3] }) do
  local next = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  if next[2] and tonumber(next[2]) < first then first = tonumber(next[2]) end
end
return math.max(1, math.ceil(first - now) + 1)`;

// ARGV: lease id.
const give = `
if redis.call('ZREM', KEYS[1], ARGV[1]) == 1 then redis.call('PUBLISH', KEYS[4], '') end
return 0`;

// ARGV: ticket id.
const leave = `
redis.call('ZREM', KEYS[3], ARGV[1])
if redis.call('ZREM', KEYS[2], ARGV[1]) == 1 then redis.call('PUBLISH', KEYS[4], '') end
return 0`;

// ARGV: lease ms, lease ids. A lease that ended while its holder was busy is entered again, because the holder still uses its slot.
const renew = `${clock}
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1] * 2)
return 0`;

const nextWake = (line: Line): Promise<void> =>
  new Promise((resolve) => {
    line.wake = resolve;
  });

interface Waiter {
  limit: number;
  admit(release: () => void): void;
  refuse(err: unknown): void;
}

interface Line {
  waiting: Set<Waiter>;
  held: Set<string>;
  ticket: string;
  isServed: boolean;
  /** Makes the current try, or the wait after it, be followed by another try at once. */
  wake: () => void;
}

export function redisConcurrencyLimit(
  redis: RedisConnection,
  options: { leaseMs: number },
): ConcurrencyLimit & { close(): void } {
  const { leaseMs } = options;
  const lines = new Map<string, Line>();
  let isClosed = false;

  const script = async (text: string, key: string, ...args: (string | number)[]): Promise<number> => {
    const keys = keysOf(key);
    return z.number().parse(await redis.run((client) => client.eval(text, keys.length, ...keys, ...args)));
  };
  // What cannot be said while Redis is lost ends by itself when its time is over.
  const tell = (text: string, key: string, ...args: (string | number)[]): void =>
    void script(text, key, ...args).catch(() => undefined);

  const renewing = setInterval(() => {
    for (const [key, { held }] of lines) if (held.size > 0) tell(renew, key, leaseMs, ...held);
  }, leaseMs / 3).unref();

  /** Serves this process's waiters of one key, first come first, until none is left. */
  async function serve(key: string, line: Line): Promise<void> {
    let unsubscribe: (() => void) | undefined;
    try {
      for (;;) {
        const [first] = line.waiting;
        if (first === undefined) return;
        const freed = nextWake(line);
        const lease = randomUUID();
        const retryMs = await script(take, key, first.limit, lease, line.ticket, leaseMs);
        if (retryMs < 0) {
          if (!line.waiting.delete(first)) {
            tell(give, key, lease); // it left while the answer was on its way
            continue;
          }
          line.held.add(lease);
          first.admit(releaseOf(key, line, lease));
        } else if (unsubscribe === undefined) {
          // Asked again after this, so that nothing announced between the two is missed.
          unsubscribe = await redis.subscribe(keysOf(key)[3], () => line.wake());
        } else {
          await Promise.race([freed, wait(retryMs, undefined, { ref: false })]);
        }
      }
    } finally {
      if (unsubscribe) {
        unsubscribe();
        tell(leave, key, line.ticket);
      }
    }
  }

  function startServing(key: string, line: Line): void {
    if (line.isServed) return;
    line.isServed = true;
    serve(key, line)
      .catch((err: unknown) => {
        for (const waiter of line.waiting) waiter.refuse(err);
        line.waiting.clear();
      })
      .finally(() => {
        line.isServed = false;
        if (line.waiting.size > 0) startServing(key, line);
        else dropIfIdle(key, line);
      });
  }

  const releaseOf = (key: string, line: Line, lease: string) => () => {
    if (!line.held.delete(lease)) return;
    tell(give, key, lease);
    dropIfIdle(key, line);
  };

  function dropIfIdle(key: string, line: Line): void {
    if (line.held.size === 0 && line.waiting.size === 0 && !line.isServed) lines.delete(key);
  }

  return {
    async acquire(key, limit, { signal } = {}) {
      signal?.throwIfAborted();
      if (isClosed) throw new ServiceError('Unavailable', 'Redis is not available: this process is closing');
      const line = lines.get(key) ?? {
        waiting: new Set(),
        held: new Set(),
        ticket: randomUUID(),
        isServed: false,
        wake: () => {},
      };
      lines.set(key, line);
      return new Promise((resolve, reject) => {
        const onAbort = () => {
          line.waiting.delete(waiter);
          reject(signal?.reason);
          line.wake();
        };
        const settled = () => signal?.removeEventListener('abort', onAbort);
        const waiter: Waiter = {
          limit,
          admit(release) {
            settled();
            resolve(release);
          },
          refuse(err) {
            settled();
            reject(err);
          },
        };
        line.waiting.add(waiter);
        signal?.addEventListener('abort', onAbort, { once: true });
        startServing(key, line);
      });
    },
    /** Gives back what is held and refuses who waits. */
    close() {
      isClosed = true;
      clearInterval(renewing);
      for (const [key, line] of lines) {
        for (const lease of line.held) tell(give, key, lease);
        for (const waiter of line.waiting)
          waiter.refuse(new ServiceError('Unavailable', 'Redis is not available: this process is closing'));
        line.waiting.clear();
        line.wake();
      }
    },
  };
}
