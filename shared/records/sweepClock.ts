/** The clock at the last sweep, as far as it is known. */
export interface SweepState {
  lastAt: Date;
  /** When the clock was last found to have jumped; null: it has run evenly for a day. */
  heldAt: Date | null;
}

export interface SweepStateStore {
  /** `now` is the clock that records expire by. Undefined state: no sweep is known of. */
  read(): Promise<{ now: Date; state: SweepState | undefined }>;
  write(state: SweepState): Promise<void>;
}

const HOUR_MS = 3_600_000;
/** Sweeps are a day apart. A clock that has moved by more than this since the last one was set, or no sweep could run meanwhile: both look alike. */
const MOST_MOVED_MS = 30 * HOUR_MS;
/** How long a clock must have run evenly after that: until the next day's sweep, which may begin a little earlier. */
const HELD_MS = 20 * HOUR_MS;

export interface SweepClock {
  /** Notes the time of a sweep that begins. @returns false where it must delete nothing */
  begin(): Promise<boolean>;
  /** Returns true when a sweep under way may go on: the clock has not jumped since it began. */
  mayGoOn(): Promise<boolean>;
  /** Why the sweeps are held; undefined where they are not. */
  held(): Promise<string | undefined>;
}

/**
 * Keeps a sweep from deleting while the clock cannot be trusted: after a jump of more than a day in either direction it is held until the clock has run
 * evenly for a day. Reads show nothing that has expired in any case, so a sweep that is held in vain costs nothing but room.
 * @param onHeld gets why a sweep is held, each time
 */
export function openSweepClock(store: SweepStateStore, onHeld: (reason: string) => void): SweepClock {
  return {
    async begin() {
      const { now, state } = await store.read();
      const heldAt = state ? heldSince(state, now) : null;
      await store.write({ lastAt: now, heldAt });
      if (heldAt) onHeld(reasonOf(heldAt));
      // The clock before the first sweep is not known.
      return state !== undefined && heldAt === null;
    },
    async mayGoOn() {
      const { now, state } = await store.read();
      return state !== undefined && heldSince(state, now) === null;
    },
    async held() {
      const { now, state } = await store.read();
      const heldAt = state && heldSince(state, now);
      return heldAt ? reasonOf(heldAt) : undefined;
    },
  };
}

function heldSince({ lastAt, heldAt }: SweepState, now: Date): Date | null {
  if (Math.abs(now.getTime() - lastAt.getTime()) > MOST_MOVED_MS) return now;
  if (heldAt === null) return null;
  const heldMs = now.getTime() - heldAt.getTime();
  return heldMs >= HELD_MS ? null : heldAt;
}

const reasonOf = (heldAt: Date): string =>
  `expired records are not deleted for now: at ${heldAt.toISOString().slice(0, 16).replace('T', ' ')} UTC the clock had moved by more than a day since the sweep before; the sweeps go on when it has run evenly for a day`;
