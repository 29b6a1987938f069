/**
 * Remembers that a password was verified. Keys are keyed hashes, which reveal nothing about the password. It never fails: a cache that cannot
 * be reached remembers nothing, which costs one Argon2 per login.
 */
export interface LoginCache {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string, ttlMs: number): Promise<void>;
}
