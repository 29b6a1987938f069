import { Redis } from 'ioredis';
import { ServiceError } from '../../errors/errors.ts';

/** One service's connection to Redis. After a loss it reconnects by itself; what is asked meanwhile fails at once. */
export interface RedisConnection {
  /**
   * Runs one command or script. @throws ServiceError `Unavailable` naming Redis when it is lost, slow, or refuses.
   * @param withinMs milliseconds after which it counts as slow; 5 s where absent
   */
  run<T>(work: (redis: Redis) => Promise<T>, withinMs?: number): Promise<T>;
  /** Calls `onMessage` for every message of the channel until the returned function is called; survives a reconnect. */
  subscribe(channel: string, onMessage: (message: string) => void): Promise<() => void>;
  /** Calls `listener` each time the connection is there again after a loss. */
  onReconnect(listener: () => void): void;
  ping(): Promise<void>;
  close(): Promise<void>;
}

const COMMAND_TIMEOUT_MS = 5_000;
/** For what a caller waits for at a login, some commands one after the other, and what goes on without Redis: milliseconds. */
export const LOGIN_TIMEOUT_MS = 250;

/** @throws Error with one sentence naming REDIS_URL when nothing usable answers there. */
export async function connectRedis(url: string): Promise<RedisConnection> {
  const options = {
    lazyConnect: true,
    connectTimeout: 5_000,
    commandTimeout: COMMAND_TIMEOUT_MS,
    enableOfflineQueue: false, // a request must hear of the loss now, not after a reconnect
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt: number) => Math.min(attempt * 50, 1_000),
  };
  const commands = new Redis(url, options);
  const subscriber = new Redis(url, options);
  // Why the connection was lost: what callers get is only that it is.
  let loss: Error | undefined;
  for (const redis of [commands, subscriber]) {
    redis.on('error', (err: Error) => {
      loss = err;
    });
    redis.on('ready', () => {
      loss = undefined;
    });
  }
  try {
    await Promise.all([commands.connect(), subscriber.connect()]);
    await commands.ping();
  } catch (err) {
    commands.disconnect();
    subscriber.disconnect();
    throw new Error(`REDIS_URL: no Redis answers at ${withoutPassword(url)} (${reason(loss ?? err)})`, { cause: err });
  }

  const reconnectListeners: (() => void)[] = [];
  commands.on('ready', () => {
    for (const listener of reconnectListeners) listener();
  });

  const listeners = new Map<string, Set<(message: string) => void>>();
  subscriber.on('message', (channel: string, message: string) => {
    for (const listener of listeners.get(channel) ?? []) listener(message);
  });

  const run = async <T>(work: (redis: Redis) => Promise<T>, redis: Redis, withinMs?: number): Promise<T> => {
    try {
      return await (withinMs === undefined ? work(redis) : inTime(work(redis), withinMs));
    } catch (err) {
      // Its address, which the reason names, is for the log alone.
      throw new ServiceError('Unavailable', 'Redis does not answer: try again', { retryAfterSeconds: 1, cause: loss ?? err });
    }
  };
  return {
    run: (work, withinMs) => run(work, commands, withinMs),
    async subscribe(channel, onMessage) {
      const those = listeners.get(channel) ?? new Set();
      listeners.set(channel, those.add(onMessage));
      const unsubscribe = () => {
        those.delete(onMessage);
        if (those.size > 0 || listeners.get(channel) !== those) return;
        listeners.delete(channel);
        subscriber.unsubscribe(channel).catch(() => {}); // lost: the subscription is gone with its connection
      };
      try {
        await run((redis) => redis.subscribe(channel), subscriber);
      } catch (err) {
        unsubscribe();
        throw err;
      }
      return unsubscribe;
    },
    onReconnect: (listener) => void reconnectListeners.push(listener),
    async ping() {
      await run((redis) => redis.ping(), commands);
    },
    async close() {
      await commands.quit().catch(() => undefined); // what was sent before is answered first; a lost server needs no farewell
      commands.disconnect();
      subscriber.disconnect();
    },
  };
}

async function inTime<T>(answer: Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${ms} ms`)), ms);
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer));
}

const reason = (err: unknown): string =>
  err instanceof Error ? err.message || ('code' in err ? String(err.code) : err.name) : String(err);

function withoutPassword(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
