import { z } from 'zod';
import type { Progress, ProgressBoard } from '../../coordination/coordination.ts';
import type { RedisConnection } from './connect.ts';

const count = z.number().int().nonnegative();
const StoredProgress = z.object({
  rowsTotal: count,
  rowsDone: count,
  rowsFailed: count,
  rowsRunning: count,
  scoresDone: count,
  scoresTotal: count,
  startedAt: z.string(),
  updatedAt: z.string(),
}) satisfies z.ZodType<Progress>;

/** A process of another version may have written it: a picture we cannot read is none, and the next one comes soon. */
const fromJson = (json: string): Progress | undefined => StoredProgress.safeParse(JSON.parse(json)).data;

const SECONDS = 24 * 60 * 60;
const keyOf = (experimentId: string): string => `assay:progress:${experimentId}`;

// KEYS[1] also names the channel. ARGV: updatedAt, JSON, seconds to keep. ISO 8601 in UTC sorts as text.
const show = `
local before = redis.call('HGET', KEYS[1], 'updatedAt')
if before and before > ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'updatedAt', ARGV[1], 'json', ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
redis.call('PUBLISH', KEYS[1], ARGV[2])
return 1`;

export function redisProgressBoard(redis: RedisConnection): ProgressBoard {
  return {
    async publish(experimentId, progress) {
      await redis.run((client) =>
        client.eval(show, 1, keyOf(experimentId), progress.updatedAt, JSON.stringify(progress), SECONDS),
      );
    },
    async read(experimentId) {
      const json = await redis.run((client) => client.hget(keyOf(experimentId), 'json'));
      return json === null ? undefined : fromJson(json);
    },
    subscribe: (experimentId, onProgress) =>
      redis.subscribe(keyOf(experimentId), (message) => {
        const progress = fromJson(message);
        if (progress) onProgress(progress);
      }),
  };
}
