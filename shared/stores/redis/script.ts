import { createHash } from 'node:crypto';
import type { RedisConnection } from './connect.ts';

export type RedisScript = (keys: readonly string[], args: readonly (string | number)[]) => Promise<unknown>;

/**
 * A Lua script, sent by its digest; its text goes to a server that does not know it yet. @throws ServiceError `Unavailable` as `run` does
 * @param withinMs as of `run`
 */
export function redisScript(redis: RedisConnection, text: string, withinMs?: number): RedisScript {
  const digest = createHash('sha1').update(text).digest('hex');
  return (keys, args) =>
    redis.run(async (client) => {
      try {
        return await client.evalsha(digest, keys.length, ...keys, ...args);
      } catch (err) {
        if (!(err instanceof Error) || !err.message.startsWith('NOSCRIPT')) throw err;
        return client.eval(text, keys.length, ...keys, ...args);
      }
    }, withinMs);
}
