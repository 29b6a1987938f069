import { createHash } from 'node:crypto';

/** The account and address whose attempts are counted together. */
export interface LoginAttempt {
  /** The name that the caller gave for the account, whether there is such an account or not. */
  account: string;
  /** The client's address. */
  address: string;
}

/**
 * Counts failed logins of a service, over all its processes: by account and address together, by account, and by address. It never fails: while
 * the counts of all cannot be reached each process counts for itself.
 *
 * An attempt is counted before it is made, so that attempts at the same moment do not slip past; what was no failure is taken back.
 */
export interface LoginAttempts {
  /** Milliseconds until such an attempt may be made; 0 when it may be made now. Nothing is counted. */
  waitMs(attempt: LoginAttempt): Promise<number>;
  /** Counts an attempt that is made now, unless it must wait: then the answer is how long, in milliseconds. */
  begin(attempt: LoginAttempt): Promise<number>;
  /** Takes an attempt back: with the right password its account and address begin anew; one that was not made is as if it had never begun. */
  takeBack(attempt: LoginAttempt, why: 'right' | 'not made'): Promise<void>;
}

/**
 * A caller that fails is slowed down, never locked out. Attempts beyond the free ones must wait: 2 s after the first, twice as long after each further one, a
 * minute at most. The count of an account from all addresses makes no one wait: it takes free attempts away from addresses that fail on it, so the
 * first attempt of an address is always made, and a user who knows the password gets in whatever others try elsewhere.
 */
export const loginLimits = {
  /** Free failures of an account from one address; `pairFreeUnderAttack` while the account has had more than `accountFree` from anywhere. */
  pairFree: 10,
  pairFreeUnderAttack: 1,
  /** Counted from the last failure. */
  pairMs: 15 * 60_000,
  accountFree: 100,
  accountMs: 60 * 60_000,
  /** Failures from one address for any account: many people may share one. */
  addressFree: 300,
  addressMs: 5 * 60_000,
  firstWaitMs: 2_000,
  longestWaitMs: 60_000,
} as const;

/** Names of the three counts of an attempt. Hashes: an account's name may be as long as a caller likes. */
export function countsOf({ account, address }: LoginAttempt): { pair: string; account: string; address: string } {
  const named = (...parts: string[]) => createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
  const from = network(address);
  return { pair: named('pair', account, from), account: named('account', account), address: named('address', from) };
}

/** Returns the network of an IPv6 address, since one client has all 2^64 addresses of it. Other addresses stay as they are. */
function network(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const words = head === '' ? [] : head.split(':');
  const after = tail ? tail.split(':').length : 0;
  const all = tail === undefined ? words : [...words, ...new Array<string>(Math.max(0, 8 - words.length - after)).fill('0')];
  return `${all.slice(0, 4).join(':')}::/64`;
}
