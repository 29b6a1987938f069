import { countsOf, type LoginAttempt, type LoginAttempts, loginLimits } from '../accounts/loginAttempts.ts';

/** Counts that are kept; beyond them the oldest goes. About 20 MB. */
const MAX_COUNTS = 100_000;

interface Count {
  failures: number;
  /** When the next attempt may be made. */
  nextAt: number;
  /** When all is forgotten. */
  until: number;
}

/** Failed logins in plain memory, with the promises of the port. */
export function inProcessAttempts(now: () => number): LoginAttempts {
  const counts = new Map<string, Count>();
  const known = (name: string): Count | undefined => {
    const count = counts.get(name);
    if (count && count.until > now()) return count;
    counts.delete(name);
    return undefined;
  };
  const counted = (name: string, windowMs: number): Count => {
    const count = known(name) ?? { failures: 0, nextAt: 0, until: now() + windowMs };
    count.failures += 1;
    // The last one counted is the last to go.
    counts.delete(name);
    counts.set(name, count);
    const [oldest] = counts.keys();
    if (counts.size > MAX_COUNTS && oldest !== undefined) counts.delete(oldest);
    return count;
  };
  const slowDown = (count: Count, free: number) => {
    if (count.failures < free) return;
    const { firstWaitMs, longestWaitMs } = loginLimits;
    count.nextAt = now() + Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(count.failures - free, 30));
    count.until = Math.max(count.until, count.nextAt);
  };
  const wait = (attempt: LoginAttempt): number => {
    const { pair, address } = countsOf(attempt);
    return Math.max(0, ...[pair, address].map((name) => (known(name)?.nextAt ?? 0) - now()));
  };

  return {
    waitMs: async (attempt) => wait(attempt),
    async begin(attempt) {
      const waitMs = wait(attempt);
      if (waitMs > 0) return waitMs;
      const names = countsOf(attempt);
      const ofAccount = counted(names.account, loginLimits.accountMs);
      const ofPair = counted(names.pair, loginLimits.pairMs);
      ofPair.until = now() + loginLimits.pairMs;
      const isAttacked = ofAccount.failures > loginLimits.accountFree;
      slowDown(ofPair, isAttacked ? loginLimits.pairFreeUnderAttack : loginLimits.pairFree);
      slowDown(counted(names.address, loginLimits.addressMs), loginLimits.addressFree);
      return 0;
    },
    async takeBack(attempt, why) {
      const names = countsOf(attempt);
      if (why === 'right') counts.delete(names.pair);
      for (const count of [known(names.pair), known(names.account), known(names.address)])
        if (count) {
          count.failures -= 1;
          count.nextAt = 0;
        }
    },
  };
}
