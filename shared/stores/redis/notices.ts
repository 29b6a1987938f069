import type { Notices } from '../../experiments/callerRows.ts';
import { inProcessNotices } from '../../experiments/notices.ts';
import type { RedisConnection } from './connect.ts';

const CHANNEL = 'assay:notices';

/** Notices between processes. A lost one costs the pause between two looks: a waiting process looks again by itself. */
export async function redisNotices(redis: RedisConnection): Promise<Notices> {
  const local = inProcessNotices();
  await redis.subscribe(CHANNEL, (experimentId) => local.notify(experimentId));
  return {
    notify(experimentId) {
      redis.run((client) => client.publish(CHANNEL, experimentId)).catch(() => local.notify(experimentId));
    },
    wait: local.wait,
  };
}
