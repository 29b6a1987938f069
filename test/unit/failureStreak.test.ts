import { describe, expect, test } from 'vitest';
import { FailureStreak } from '../../shared/experiments/failureStreak.ts';

const ok = {};
const failed = { error: 'bad row' };
const down = { error: 'connection refused', isProviderFailure: true };
const none = { pauseAfterFailures: 0, pauseAfterProviderFailures: 0 };

describe('a run that fails', () => {
  test('pauses after so many provider failures in a row, and a row that succeeds begins the count anew', () => {
    const streak = new FailureStreak({ ...none, pauseAfterProviderFailures: 3 });
    expect([down, down, ok, down, down].map((row) => streak.note(row))).toEqual(Array(5).fill(undefined));
    expect(streak.note(down)).toBe('the provider failed 3 times in a row, the last with: connection refused');
  });

  test('does not pause for rows that fail for their own sake, and does not forget the provider for them', () => {
    const streak = new FailureStreak({ ...none, pauseAfterProviderFailures: 2 });
    for (let row = 0; row < 100; row++) expect(streak.note(failed)).toBeUndefined();
    expect([down, failed].map((row) => streak.note(row))).toEqual([undefined, undefined]);
    expect(streak.note(down)).toContain('connection refused');
  });

  test('pauses after so many rows of any kind where that is asked for', () => {
    const streak = new FailureStreak({ ...none, pauseAfterFailures: 3 });
    expect([failed, down].map((row) => streak.note(row))).toEqual([undefined, undefined]);
    expect(streak.note(failed)).toBe('3 rows in a row failed, the last with: bad row');
  });

  test('goes on for ever where neither is', () => {
    const streak = new FailureStreak(none);
    for (let row = 0; row < 1_000; row++) expect(streak.note(down)).toBeUndefined();
  });
});
