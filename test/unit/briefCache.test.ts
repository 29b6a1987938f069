import { expect, test } from 'vitest';
import { BriefCache } from '../../shared/concurrency/briefCache.ts';

/** A load that ends when the test says so. */
function controlledLoad<V>() {
  const { promise, resolve, reject } = Promise.withResolvers<V | undefined>();
  let loads = 0;
  const load = () => {
    loads += 1;
    return promise;
  };
  return { load, resolve, reject, loads: () => loads };
}

const cacheOf = (maxEntries = 10) => new BriefCache<string>({ ttlMs: 60_000, maxEntries });

test('questions asked while the first is under way share its load, and so do those after it', async () => {
  const cache = cacheOf();
  const { load, resolve, loads } = controlledLoad<string>();
  const answers = [cache.get('a', load), cache.get('a', load)];
  resolve('one');
  expect(await Promise.all(answers)).toEqual(['one', 'one']);
  expect(await cache.get('a', load)).toBe('one');
  expect(loads()).toBe(1);
});

test('a load that began before `clear` is not remembered after it', async () => {
  const cache = cacheOf();
  const stale = controlledLoad<string>();
  const early = cache.get('a', stale.load);
  cache.clear();
  expect(await cache.get('a', async () => 'fresh')).toBe('fresh');
  stale.resolve('stale');
  expect(await early).toBe('stale');
  expect(await cache.get('a', async () => 'loaded again')).toBe('fresh');
});

test('nothing and failures are not remembered', async () => {
  const cache = cacheOf();
  expect(await cache.get('a', async () => undefined)).toBeUndefined();
  expect(await cache.get('a', async () => 'there now')).toBe('there now');
  await expect(cache.get('b', () => Promise.reject(new Error('store down')))).rejects.toThrow('store down');
  expect(await cache.get('b', async () => 'up again')).toBe('up again');
});

test('the oldest entry makes room for a new one', async () => {
  const cache = cacheOf(2);
  for (const key of ['a', 'b', 'c']) await cache.get(key, async () => key);
  expect(await cache.get('a', async () => 'loaded again')).toBe('loaded again');
  expect(await cache.get('c', async () => 'loaded again')).toBe('c');
});

test('an entry ends after its time', async () => {
  const cache = new BriefCache<string>({ ttlMs: 1, maxEntries: 10 });
  await cache.get('a', async () => 'old');
  const began = performance.now();
  while (performance.now() - began < 2) await new Promise(setImmediate);
  expect(await cache.get('a', async () => 'new')).toBe('new');
});
