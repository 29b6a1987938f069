import { Redis } from 'ioredis';
import { ServiceError } from '../../errors/errors.ts';

/** One service's connection to Redis. After a loss it reconnects by itself; what is asked meanwhile fails at once. */
export interface RedisConnection {
  /** Runs one command or script. @throws ServiceError `Unavailable` naming Redis when it is lost, slow for 5 s, or refuses. */
  run<T>(work: (redis: Redis) => Promise<T>): Promise<T>;
  /** Calls `onMessage` for every message of the channel until the returned function is called; survives a reconnect. */
  subscribe(channel: string, onMessage: (message: string) => void): Promise<() => void>;
  /** Calls `listener` each time the connection is there again after a loss. */
  onReconnect(listener: () => void): void;
  ping(): Promise<void>;
  close(): Promise<void>;
}

const COMMAND_TIMEOUT_MS = 5_000;

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

  const run = async <T>(work: (redis: Redis) => Promise<T>, redis = commands): Promise<T> => {
    try {
      return await work(redis);
    } catch (err) {
      throw new ServiceError('Unavailable', `Redis is not available: ${reason(loss ?? err)}`, {
        retryAfterSeconds: 1,
        cause: err,
      });
    }
  };
  return {
    run,
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
      await run((redis) => redis.ping());
    },
    async close() {
      await commands.quit().catch(() => undefined); // what was sent before is answered first; a lost server needs no farewell
      commands.disconnect();
      subscriber.disconnect();
    },
  };
}

const reason = (err: unknown): string =>
  err instanceof Error ? err.message || ('code' in err ? String(err.code) : err.name) : String(err);

function withoutPassword(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
