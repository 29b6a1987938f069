import { onAbort } from '../concurrency/onAbort.ts';
import {
  type AcquireOptions,
  type CallGate,
  type ConcurrencyLimit,
  type HeldBack,
  slotsOf,
  type WaitReason,
} from './coordination.ts';
import { newPace, noteEnd, noteStart, type Pace, paceFigures, slotsAllowed, startsAt } from './pace.ts';

/** The permit that a waiter asks for: slots of a key, or a call of one with a pace. */
interface Wanted {
  /** Slots that the key has for it now. */
  slots(): number;
  /** When it may start as far as time goes; undefined where time says nothing. */
  startsAt?: () => { at: number; reason: WaitReason };
}

interface Waiter extends Wanted {
  admit(free: () => void): void;
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
  /** The reason why waiters are held back. */
  heldBack: HeldBack;
  timer: NodeJS.Timeout | undefined;
}

const unheld: HeldBack = { reason: 'slot', until: 0 };

/** Slots and calls in plain memory, with the promises of the ports. */
export function inProcessGates(now: () => number): { concurrency: ConcurrencyLimit; calls: CallGate } {
  return { concurrency: concurrencyLimit(now), calls: callGate(now) };
}

function concurrencyLimit(now: () => number): ConcurrencyLimit {
  const keys = new FairKeys(now);
  return {
    acquire: (key, limit, options) =>
      keys.takeFree(key, slotsOf(limit), options) ?? keys.wait(key, { slots: () => slotsOf(limit) }, options, (free) => free),
    changed: (key) => keys.serve(key),
  };
}

function callGate(now: () => number): CallGate {
  const keys = new FairKeys(now);
  const paces = new Map<string, { pace: Pace; usedAt: number }>();
  const paceOf = (key: string): Pace => {
    const known = paces.get(key);
    for (const [name, { usedAt }] of paces) {
      if (usedAt + paceFigures.rememberedMs > now()) break; // oldest first
      if (keys.isIdle(name)) paces.delete(name);
    }
    const pace = (paces.has(key) && known?.pace) || newPace();
    paces.delete(key);
    paces.set(key, { pace, usedAt: now() });
    return pace;
  };
  return {
    async enter(key, limits, { tokens = 0, ...options }) {
      const pace = paceOf(key);
      const wanted = {
        slots: () => slotsAllowed(pace, limits()),
        startsAt: () => startsAt(pace, limits(), now()),
      };
      return keys.wait(key, wanted, options, (free, waitedFor) => {
        const startedAt = now();
        noteStart(pace, limits(), tokens, startedAt);
        let isOver = false;
        return {
          waitedFor,
          refusedForMs: pace.refusedSince === undefined ? 0 : startedAt - pace.refusedSince,
          leave(outcome) {
            if (isOver) return;
            isOver = true;
            noteEnd(pace, outcome, { startedAt, tokens, inFlight: keys.held(key) }, now());
            free();
          },
        };
      });
    },
    heldBack: (key) => keys.heldBack(key),
    changed: (key) => keys.serve(key),
  };
}

/** Keys whose slots parties share evenly. To take a free one, or to pass one on within a party, costs the same however many wait. */
class FairKeys {
  private readonly keys = new Map<string, Key>();
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  held = (name: string): number => this.keys.get(name)?.held ?? 0;
  heldBack(name: string): HeldBack | undefined {
    const key = this.keys.get(name);
    return key && key.waiting.size > 0 ? key.heldBack : undefined;
  }

  isIdle = (name: string): boolean => !this.keys.has(name);

  /** Takes a free slot while no call waits; undefined where there is none. */
  takeFree(name: string, slots: number, { signal, party: partyName = '' }: AcquireOptions = {}): Promise<() => void> | undefined {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const key = this.key(name);
    if (key.waiting.size > 0 || key.held >= slots) return undefined;
    return Promise.resolve(this.take(name, key, this.party(key, partyName)));
  }

  /** @param begin is called with the slot as soon as it is taken, and with what had to be waited for; it makes what the waiter gets */
  wait<T>(
    name: string,
    wanted: Wanted,
    { signal, party: partyName = '' }: AcquireOptions = {},
    begin: (free: () => void, waitedFor: WaitReason | undefined) => T,
  ): Promise<T> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const key = this.key(name);
    const party = this.party(key, partyName);
    return new Promise((resolve, reject) => {
      const forgetAbort =
        signal &&
        onAbort(signal, () => {
          this.leave(key, party, waiter);
          this.serveKey(name, key); // who stood behind it may have a higher limit
          this.forget(name, key, party);
          reject(signal.reason);
        });
      let waitedFor: WaitReason | undefined;
      const waiter: Waiter = {
        ...wanted,
        admit(free) {
          forgetAbort?.();
          resolve(begin(free, waitedFor));
        },
      };
      party.waiting.add(waiter);
      key.waiting.add(party);
      this.serveKey(name, key);
      waitedFor = key.heldBack.reason;
    });
  }

  serve(name: string): void {
    const key = this.keys.get(name);
    if (key) this.serveKey(name, key);
  }

  private key(name: string): Key {
    let key = this.keys.get(name);
    if (!key) {
      key = { held: 0, given: 0, parties: new Map(), waiting: new Set(), heldBack: unheld, timer: undefined };
      this.keys.set(name, key);
    }
    return key;
  }

  private party(key: Key, name: string): Party {
    let party = key.parties.get(name);
    if (!party) {
      party = { name, held: 0, servedAt: 0, waiting: new Set() };
      key.parties.set(name, party);
    }
    return party;
  }

  private take(name: string, key: Key, party: Party): () => void {
    key.held++;
    party.held++;
    party.servedAt = ++key.given;
    let isHeld = true;
    return () => {
      if (!isHeld) return; // releasing twice must not free somebody else's slot
      isHeld = false;
      key.held--;
      party.held--;
      this.serveKey(name, key);
      this.forget(name, key, party);
    };
  }

  /** Lets in who may come in now, and looks again when time lets in the next. */
  private serveKey(name: string, key: Key): void {
    while (key.waiting.size > 0) {
      const party = this.next(name, key);
      if (!party) return;
      const waiter = party.waiting.values().next().value as Waiter;
      this.leave(key, party, waiter);
      waiter.admit(this.take(name, key, party));
    }
  }

  private leave(key: Key, party: Party, waiter: Waiter): void {
    party.waiting.delete(waiter);
    if (party.waiting.size === 0) key.waiting.delete(party);
  }

  private forget(name: string, key: Key, party: Party): void {
    if (party.held === 0 && party.waiting.size === 0) key.parties.delete(party.name);
    if (key.parties.size > 0 || this.keys.get(name) !== key) return;
    clearTimeout(key.timer);
    this.keys.delete(name);
  }

  /** Returns the party whose turn it is: where slots are short the one with the fewest, else the one that waited longest; undefined where none may start now. */
  private next(name: string, key: Key): Party | undefined {
    let best: Party | undefined;
    let earliest: { at: number; reason: WaitReason } | undefined;
    const now = this.now();
    for (const party of key.waiting) {
      const [first] = party.waiting;
      if (!first) continue;
      const start = first.startsAt?.();
      if (start && start.at > now) {
        if (!earliest || start.at < earliest.at) earliest = start;
        continue;
      }
      const free = first.slots() - key.held;
      if (free <= 0) continue;
      const byHeld = best && free <= key.waiting.size ? party.held - best.held : 0;
      if (!best || byHeld < 0 || (byHeld === 0 && party.servedAt < best.servedAt)) best = party;
    }
    if (best) return best;
    key.heldBack = earliest ? { reason: earliest.reason, until: earliest.at } : unheld;
    clearTimeout(key.timer);
    if (earliest) key.timer = setTimeout(() => this.serveKey(name, key), pauseMs(earliest, now)).unref();
    return undefined;
  }
}

/** Longer timers than this overflow; a waiter that wakes early looks and waits again. */
const LONGEST_TIMER_MS = 3_600_000;

/** Waiters that the rate holds back may come several at once, which costs no pace. */
const pauseMs = ({ at, reason }: { at: number; reason: WaitReason }, now: number): number =>
  Math.min(LONGEST_TIMER_MS, Math.max(at - now, reason === 'rate' ? paceFigures.stepMs : 1));
