import { onAbort } from '../onAbort.ts';
import { type ConcurrencyLimit, type SlotLimit, slotsOf } from './coordination.ts';

interface Waiter {
  limit: SlotLimit;
  admit(release: () => void): void;
}

/** Those who share a key's slots evenly with others. */
interface Party {
  name: string;
  held: number;
  /** The key's count of slots given when this party got its last one. */
  servedAt: number;
  waiting: Set<Waiter>;
}

interface Key {
  held: number;
  given: number;
  parties: Map<string, Party>;
  /** Those of `parties` that have waiters. */
  waiting: Set<Party>;
}

/** Slots in plain memory. To take a free one, or to pass one on within a party, costs the same however many wait. */
export function inProcessConcurrency(): ConcurrencyLimit {
  const keys = new Map<string, Key>();

  function take(name: string, key: Key, party: Party): () => void {
    key.held++;
    party.held++;
    party.servedAt = ++key.given;
    let isHeld = true;
    return () => {
      if (!isHeld) return; // releasing twice must not free somebody else's slot
      isHeld = false;
      key.held--;
      party.held--;
      serve(name, key);
      forget(name, key, party);
    };
  }

  function serve(name: string, key: Key): void {
    for (;;) {
      const party = next(key);
      if (!party) return;
      const waiter = party.waiting.values().next().value as Waiter;
      leave(key, party, waiter);
      waiter.admit(take(name, key, party));
    }
  }

  function leave(key: Key, party: Party, waiter: Waiter): void {
    party.waiting.delete(waiter);
    if (party.waiting.size === 0) key.waiting.delete(party);
  }

  function forget(name: string, key: Key, party: Party): void {
    if (party.held === 0 && party.waiting.size === 0) key.parties.delete(party.name);
    if (key.parties.size === 0) keys.delete(name);
  }

  return {
    acquire(name, limit, { signal, party: partyName = '' } = {}) {
      if (signal?.aborted) return Promise.reject(signal.reason);
      let key = keys.get(name);
      if (!key) {
        key = { held: 0, given: 0, parties: new Map(), waiting: new Set() };
        keys.set(name, key);
      }
      let party = key.parties.get(partyName);
      if (!party) {
        party = { name: partyName, held: 0, servedAt: 0, waiting: new Set() };
        key.parties.set(partyName, party);
      }
      if (key.waiting.size === 0 && key.held < slotsOf(limit)) return Promise.resolve(take(name, key, party));
      return wait(name, key, party, limit, signal);
    },
    changed(name) {
      const key = keys.get(name);
      if (key) serve(name, key);
    },
  };

  function wait(name: string, key: Key, party: Party, limit: SlotLimit, signal: AbortSignal | undefined): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const forgetAbort =
        signal &&
        onAbort(signal, () => {
          leave(key, party, waiter);
          serve(name, key); // who stood behind it may have a higher limit
          forget(name, key, party);
          reject(signal.reason);
        });
      const waiter: Waiter = {
        limit,
        admit(release) {
          forgetAbort?.();
          resolve(release);
        },
      };
      party.waiting.add(waiter);
      key.waiting.add(party);
      serve(name, key);
    });
  }
}

/** Whose turn it is; undefined where no waiter may take a slot now. */
function next(key: Key): Party | undefined {
  let best: Party | undefined;
  for (const party of key.waiting) {
    const [first] = party.waiting;
    if (first === undefined || key.held >= slotsOf(first.limit)) continue;
    if (!best || party.held < best.held || (party.held === best.held && party.servedAt < best.servedAt)) best = party;
  }
  return best;
}
