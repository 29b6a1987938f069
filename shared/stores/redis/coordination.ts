import type { Coordination } from '../../coordination/coordination.ts';
import { redisAttempts } from './attempts.ts';
import type { RedisConnection } from './connect.ts';
import { redisGates } from './gates.ts';
import { redisLoginCache } from './loginCache.ts';
import { redisProgressBoard } from './progressBoard.ts';
import { redisRunWaits } from './runWaits.ts';

/**
 * Coordination of several processes through one Redis.
 * @param options.leaseMs after which the slots of a process that died come back; 10 s.
 */
export function redisCoordination(redis: RedisConnection, options: { leaseMs?: number } = {}): Coordination {
  const { concurrency, calls, close } = redisGates(redis, { leaseMs: options.leaseMs ?? 10_000 });
  return {
    progress: redisProgressBoard(redis),
    waits: redisRunWaits(redis),
    concurrency,
    calls,
    logins: redisLoginCache(redis),
    attempts: redisAttempts(redis),
    ping: () => redis.ping(),
    async close() {
      await close();
      await redis.close();
    },
  };
}
