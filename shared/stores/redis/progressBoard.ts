import { PART_MS, type ProgressBoard } from '../../coordination/coordination.ts';
import type { RedisConnection } from './connect.ts';

const keyOf = (experimentId: string): string => `assay:running:${experimentId}`;

// KEYS[1]: a hash of parts. ARGV: part, rows, milliseconds for which they hold. By Redis's clock, which all processes share.
const say = `
if tonumber(ARGV[2]) == 0 then return redis.call('HDEL', KEYS[1], ARGV[1]) end
local time = redis.call('TIME')
local till = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3]
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d %.0f', ARGV[2], till))
return redis.call('PEXPIRE', KEYS[1], ARGV[3])`;

const sum = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local rows = 0
for _, said in ipairs(redis.call('HVALS', KEYS[1])) do
  local count, till = string.match(said, '^(%d+) (%d+)$')
  if till and tonumber(till) > now then rows = rows + count end
end
return rows`;

export function redisProgressBoard(redis: RedisConnection): ProgressBoard {
  return {
    async publish(experimentId, part, rowsRunning) {
      await redis.run((client) => client.eval(say, 1, keyOf(experimentId), part, rowsRunning, PART_MS));
    },
    rowsRunning: async (experimentId) => Number(await redis.run((client) => client.eval(sum, 1, keyOf(experimentId)))),
  };
}
