import { LocksTaken, locksOf } from './writeLocks.ts';
import { takeGroup } from './writeQueue.ts';
import type { WriteRequest } from './writeRequest.ts';

export interface LockedGroupsOptions {
  /** As of `GroupWriter`. */
  write(group: WriteRequest[], waitMs: number): Promise<WriteRequest[]>;
  /** Bytes that are written together. */
  groupBytes: number;
}

/** Requests that wait for the same locks, in the order of their arrival. */
interface Lane {
  since: number;
  requests: WriteRequest[];
}

/** Milliseconds for which a lane waits for its locks before others have their turn. */
const WAIT_MS = 500;
/** Lanes that wait for their locks, or write, at a time: each takes a connection meanwhile. */
const LANES = 2;
/** Milliseconds after which what waits for locks is refused: no lock is held that long by a process that does not go on. */
const PATIENCE_MS = 30_000;

/**
 * Writes groups where several processes write. What another process has locked waits in a lane of its own, and everything else goes on. Lanes take
 * turns in waiting, so that one which waits long holds up no other.
 */
export class LockedGroups {
  readonly #options: LockedGroupsOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #turns: string[] = [];
  #busy = 0;

  constructor(options: LockedGroupsOptions) {
    this.#options = options;
  }

  /** Milliseconds for which the oldest lane has waited; 0 where there is none. */
  get waitingMs(): number {
    const [oldest] = this.#lanes.values();
    return oldest ? performance.now() - oldest.since : 0;
  }

  async write(all: WriteRequest[]): Promise<void> {
    const waiting = all.filter((request) => this.#lanes.has(laneOf(request)));
    this.#wait(waiting);
    const group = all.filter((request) => !waiting.includes(request));
    if (group.length > 0) this.#wait(await this.#options.write(group, 0));
  }

  #wait(requests: readonly WriteRequest[]): void {
    for (const request of requests) {
      const name = laneOf(request);
      const lane = this.#lanes.get(name);
      if (lane) lane.requests.push(request);
      else {
        this.#lanes.set(name, { since: performance.now(), requests: [request] });
        this.#turns.push(name);
      }
    }
    while (this.#busy < LANES && this.#turns.length > 0) void this.#turn(this.#turns.shift() as string);
  }

  async #turn(name: string): Promise<void> {
    this.#busy++;
    const lane = this.#lanes.get(name) as Lane;
    const group = takeGroup(lane.requests, this.#options.groupBytes);
    const isOver = performance.now() - lane.since > PATIENCE_MS;
    const refused = await this.#options.write(group, WAIT_MS);
    if (refused.length === 0) lane.since = performance.now();
    if (isOver) for (const request of refused) request.reject(new LocksTaken());
    else lane.requests.unshift(...refused);
    if (lane.requests.length > 0) this.#turns.push(name);
    else this.#lanes.delete(name);
    this.#busy--;
    this.#wait([]);
  }
}

/** Names what a request locks for itself: requests with the same name wait for the same locks. */
const laneOf = (request: WriteRequest): string =>
  locksOf([request])
    .flatMap(({ name, shared }) => (shared ? [] : [name]))
    .join(' ');
