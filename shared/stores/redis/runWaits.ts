import { z } from 'zod';
import type { RunWaits } from '../../coordination/coordination.ts';
import type { RedisConnection } from './connect.ts';

const Wait = z.object({ reason: z.string(), until: z.number() });

const keyOf = (experimentId: string): string => `assay:wait:${experimentId}`;

export function redisRunWaits(redis: RedisConnection): RunWaits {
  return {
    async publish(experimentId, wait) {
      const ms = Math.ceil(wait.until - Date.now());
      if (ms > 0) await redis.run((client) => client.set(keyOf(experimentId), JSON.stringify(wait), 'PX', ms));
    },
    async of(experimentId) {
      const text = await redis.run((client) => client.get(keyOf(experimentId)));
      return text === null ? undefined : Wait.parse(JSON.parse(text));
    },
  };
}
