import type { Coordination } from '../../coordination/coordination.ts';
import { redisConcurrencyLimit } from './concurrencyLimit.ts';
import type { RedisConnection } from './connect.ts';
import { redisLoginCache } from './loginCache.ts';
import { redisProgressBoard } from './progressBoard.ts';

/**
 * Coordination of several processes through one Redis.
 * @param options.leaseMs after which the slots of a process that died come back; 10 s.
 */
export function redisCoordination(redis: RedisConnection, options: { leaseMs?: number } = {}): Coordination {
  const concurrency = redisConcurrencyLimit(redis, { leaseMs: options.leaseMs ?? 10_000 });
  return {
    progress: redisProgressBoard(redis),
    concurrency,
    logins: redisLoginCache(redis),
    ping: () => redis.ping(),
    async close() {
      await concurrency.close();
      await redis.close();
    },
  };
}
