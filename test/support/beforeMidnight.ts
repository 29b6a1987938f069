import { setTimeout as delay } from 'node:timers/promises';

const DAY_MS = 86_400_000;

/** Waits for the next day (UTC) where this one ends within so many milliseconds: what is summed up by day would fall into two. */
export async function beforeMidnight(ms: number): Promise<void> {
  const left = DAY_MS - (Date.now() % DAY_MS);
  if (left < ms) await delay(left + 1_000);
}
