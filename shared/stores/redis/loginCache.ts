import type { LoginCache } from '../../accounts/loginCache.ts';
import { LOGIN_TIMEOUT_MS, type RedisConnection } from './connect.ts';

const keyOf = (key: string): string => `assay:login:${key}`;

/**
 * Remembers nothing while Redis is away: each login then costs an Argon2, and no user is locked out. A new password ends the entries of the old one,
 * because the stored hash is part of the key.
 */
export function redisLoginCache(redis: RedisConnection): LoginCache {
  return {
    async get(key) {
      const value = await redis.run((client) => client.get(keyOf(key)), LOGIN_TIMEOUT_MS).catch(() => null);
      return value ?? undefined;
    },
    async set(key, value, ttlMs) {
      await redis.run((client) => client.set(keyOf(key), value, 'PX', ttlMs), LOGIN_TIMEOUT_MS).catch(() => undefined);
    },
  };
}
