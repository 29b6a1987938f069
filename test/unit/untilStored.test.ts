import { expect, test } from 'vitest';
import { ServiceError } from '../../shared/errors/errors.ts';
import { untilStored } from '../../shared/experiments/untilStored.ts';

const away = new ServiceError('Unavailable', 'the store is away');
const odd = new Error('nobody knows this');

/** An operation that fails with these, then succeeds. */
function failing(...errors: Error[]): () => Promise<string> {
  return async () => {
    const err = errors.shift();
    if (err) throw err;
    return 'stored';
  };
}

test('a store that is away is waited for; that it is takes a while to be said, and is said once a minute', async () => {
  const told: unknown[] = [];
  const tell = (err: unknown) => told.push(err);
  const { signal } = new AbortController();
  expect(await untilStored(failing(away, away, away), signal, tell)).toBe('stored');
  expect(told).toEqual([]);
  expect(await untilStored(failing(away, away, away), signal, tell, 0)).toBe('stored');
  expect(told.splice(0)).toEqual([away]);
  expect(await untilStored(failing(odd, away, odd), signal, tell)).toBe('stored');
  expect(told).toEqual([odd, odd]);
});
