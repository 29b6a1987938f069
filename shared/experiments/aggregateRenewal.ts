import type { RunRef } from '../projects/runs.ts';
import type { ComputedAggregates, OutdatedAggregates } from './outdatedAggregates.ts';

export interface RenewalDeps {
  outdated: OutdatedAggregates;
  /** Undefined when the experiment is gone. */
  compute(run: RunRef): Promise<ComputedAggregates | undefined>;
  /** Gets what went wrong with an experiment; it is tried again. */
  onError(runId: string, err: unknown): void;
}

/** Milliseconds without a further record after which the aggregates are computed, and those after which they are in a stream that does not pause. */
const QUIET_MS = 400;
const LONGEST_WAIT_MS = 4_000;
/** After a computation the experiment rests this many times as long as it took: however its records come, it costs a third of one core at most. */
const REST = 2;
/** Experiments computed at a time. */
const AT_ONCE = 2;
/** Milliseconds between two looks at what waits, while something does. */
const LOOK_MS = 250;
/** Milliseconds until the next try: of what rests or is somebody else's, of what a run goes on of, after a failure. */
const TRY_AGAIN_MS = { later: 250, running: 1_000, failed: 5_000 } as const;

interface Waiting {
  run: RunRef;
  /** `performance.now()` of the first and the newest write that the aggregates lack. */
  since: number;
  last: number;
  /** Not tried before. */
  from: number;
}

/**
 * Keeps the aggregates of experiments that clients fill themselves. What is to be computed is noted in the metadata store; what this process has
 * written itself it computes soon, and what was left by others that died it finds there.
 */
export class AggregateRenewal {
  readonly #deps: RenewalDeps;
  readonly #waiting = new Map<string, Waiting>();
  readonly #lanes = new Set<Promise<void>>();
  readonly #underWay = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(deps: RenewalDeps) {
    this.#deps = deps;
  }

  /** Records of this experiment were written or deleted. */
  changed(run: RunRef): void {
    const now = performance.now();
    const waiting = this.#waiting.get(run.runId);
    if (waiting) waiting.last = now;
    else this.#waiting.set(run.runId, { run, since: now, last: now, from: now });
    this.#lookSoon();
  }

  #lookSoon(): void {
    if (this.#stopped || this.#timer || this.#waiting.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#renewDue();
      this.#lookSoon();
    }, LOOK_MS);
  }

  /** Begins to compute what is due. */
  #renewDue(): void {
    while (this.#lanes.size < AT_ONCE && !this.#stopped) {
      const first = this.#takeDue();
      if (!first) return;
      const lane = this.#work(first).finally(() => this.#lanes.delete(lane));
      this.#lanes.add(lane);
    }
  }

  /** Has those computed that are noted still: what a process that died has not done. @param fresh those too that others may be about to compute */
  async renewLeft(fresh: boolean): Promise<void> {
    for (const run of await this.#deps.outdated.left(fresh))
      if (!this.#waiting.has(run.runId))
        this.#waiting.set(run.runId, { run, since: Number.NEGATIVE_INFINITY, last: Number.NEGATIVE_INFINITY, from: 0 });
    this.#lookSoon();
  }

  /** Begins nothing more. Resolves when what is under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await Promise.all(this.#lanes);
  }

  #takeDue(): Waiting | undefined {
    const now = performance.now();
    for (const [runId, waiting] of this.#waiting) {
      const { since, last, from } = waiting;
      if (now < from || this.#underWay.has(runId)) continue;
      if (now - last < QUIET_MS && now - since < LONGEST_WAIT_MS) continue;
      this.#waiting.delete(runId);
      return waiting;
    }
    return undefined;
  }

  async #work(first: Waiting): Promise<void> {
    for (let next: Waiting | undefined = first; next; next = this.#stopped ? undefined : this.#takeDue()) {
      const { runId } = next.run;
      this.#underWay.add(runId);
      try {
        const outcome = await this.#renew(next.run);
        if (outcome !== 'done') this.#again(next, TRY_AGAIN_MS[outcome]);
      } catch (err) {
        this.#deps.onError(runId, err);
        this.#again(next, TRY_AGAIN_MS.failed);
      } finally {
        this.#underWay.delete(runId);
      }
    }
  }

  async #renew(run: RunRef): Promise<'done' | 'later' | 'running'> {
    const { outdated, compute } = this.#deps;
    const claimed = await outdated.claim(run);
    if (claimed === 'gone') return 'done';
    if (typeof claimed === 'string') return claimed;
    const { claim } = claimed;
    const began = performance.now();
    const rest = () => REST * (performance.now() - began);
    try {
      const computed = await compute(run);
      if (computed === undefined) return 'done';
      if (await outdated.store(run, claim, computed, rest())) return 'done';
      await outdated.release(run, claim, rest());
      return 'later';
    } catch (err) {
      // A claim that cannot be given back expires.
      await outdated.release(run, claim, rest()).catch(() => undefined);
      throw err;
    }
  }

  #again(tried: Waiting, inMs: number): void {
    const from = performance.now() + inMs;
    const newer = this.#waiting.get(tried.run.runId);
    this.#waiting.set(tried.run.runId, { ...tried, last: newer?.last ?? tried.last, from });
    this.#lookSoon();
  }
}
