import { ServiceError } from '../errors/errors.ts';
import type { RunRef } from '../projects/runs.ts';
import type { HeldUpdate, HeldUpdates } from './heldUpdates.ts';
import type { IngestCounters } from './ingestCounters.ts';
import type { OpenedSessions } from './openedSessions.ts';
import { asUnavailable, isTransient, persistBlock } from './persistBlock.ts';
import type { RecordChange } from './recordChange.ts';
import type { RecordStore, WithLocks, WriteGuard } from './recordStore.ts';
import { type SettledGroup, settleGroup } from './settleGroup.ts';
import type { VersionClock } from './versionClock.ts';
import type { CallPrices } from './withCost.ts';
import { lockOf, locksOf } from './writeLocks.ts';
import type { QueuePosition } from './writeQueue.ts';
import type { WriteRequest } from './writeRequest.ts';

export interface GroupWriterDeps {
  store: RecordStore;
  withLocks: WithLocks;
  guard: WriteGuard;
  held: HeldUpdates | undefined;
  counters: Pick<IngestCounters, 'drop'>;
  clock: VersionClock;
  prices: CallPrices;
  opened: OpenedSessions | undefined;
  /** Hears of every run to which something was written. */
  onStored(run: RunRef): void;
  /** Hears of every experiment to which clients have written. */
  onOutdated(experiment: RunRef): void;
}

/** Where a group stands that the guard has let in. */
interface LetIn extends QueuePosition {
  /** False where no update of the run's records is held. */
  mayHold(run: RunRef): boolean;
}

/** Writes the groups that the queue gives out, while their runs are locked. */
export class GroupWriter {
  readonly #deps: GroupWriterDeps;
  /** Rises at the begin and at the end of storing a group request by request, which may change other records than the whole group said. */
  #splits = 0;
  /** Rises with every hold that this process has made. */
  #holds = 0;

  constructor(deps: GroupWriterDeps) {
    this.#deps = deps;
  }

  async write(group: WriteRequest[], position: QueuePosition): Promise<void> {
    const runs = new Map(group.map(({ run }) => [lockOf(run), run]));
    try {
      await this.#deps.withLocks(locksOf(group), async () => {
        const holds = this.#holds;
        const { deleted: gone, withHeldUpdates, outdated } = await this.#deps.guard([...runs.values()], loggedRuns(group));
        const deleted = new Set(gone.map(lockOf));
        const holding = new Set(withHeldUpdates.map(lockOf));
        // The group before this one may have held updates after the guard was asked.
        const mayHold = (run: RunRef) => holding.has(lockOf(run)) || this.#holds !== holds;
        const kept = group.filter(({ run }) => !deleted.has(lockOf(run)));
        for (const request of group)
          if (deleted.has(lockOf(request.run))) request.reject(new ServiceError('RunNotFound', 'the run was deleted'));
        if (kept.length > 0) await this.#writeOrSplit(kept, { ...position, mayHold });
        for (const run of outdated) this.#deps.onOutdated(run);
      });
    } catch (err) {
      for (const request of group) request.reject(asUnavailable(err));
    }
  }

  /**
   * A group that cannot be stored is tried request by request, so that only the guilty one fails. The next group goes by the records of the whole one:
   * it is not let in by the first of its requests, and settled again when it was made ready before the last of them.
   */
  async #writeOrSplit(group: WriteRequest[], position: LetIn): Promise<void> {
    try {
      await this.#storeGroup(group, position);
    } catch (err) {
      const [only] = group;
      if (group.length > 1 && !isTransient(err)) {
        this.#splits++;
        const alone = { ...position, isReady: () => {} };
        for (const request of group) await this.#writeOrSplit([request], alone);
        this.#splits++;
      } else if (isTransient(err)) for (const request of group) request.reject(asUnavailable(err));
      else only?.reject(err);
    }
  }

  /** Answers its requests when it is stored, those that it refuses too: of a group that is tried again none was answered. */
  async #storeGroup(group: WriteRequest[], { before, sent, isReady, mayHold }: LetIn): Promise<void> {
    if (group.some(({ changes }) => changes.some((change) => touches(change, sent())))) await before;
    const splits = this.#splits;
    let settled = await this.#settle(group, mayHold);
    await before;
    if (this.#splits !== splits) settled = await this.#settle(group, mayHold);
    isReady(settled.touched);
    await persistBlock(settled.block);
    for (const { run, id } of settled.sessions) this.#deps.opened?.add(run, id); // they need not be looked for again
    // What is left of them counts for nothing, since the records are stored, and expires.
    if (settled.applied.length > 0) await this.#deps.held?.release(settled.applied).catch(() => {});
    const notHeld = await this.#hold(settled.toHold);
    for (const answer of settled.answers) answer(notHeld);
  }

  /** @returns those that are not held, and why. */
  async #hold(toHold: SettledGroup['toHold']): Promise<Map<HeldUpdate, unknown>> {
    const notHeld = new Map<HeldUpdate, unknown>();
    for (const { run, updates } of toHold) {
      let refused: readonly HeldUpdate[] = updates;
      let reason: unknown = new ServiceError(
        'Unavailable',
        'too many updates wait for their records; send this one again later',
        {
          retryAfterSeconds: 5,
        },
      );
      try {
        if (this.#deps.held) {
          const holding = await this.#deps.held.hold(run, updates);
          refused = holding.refused;
          this.#deps.counters.drop(run.projectId, holding.dropped);
        }
        this.#holds++;
      } catch (err) {
        reason = err;
      }
      for (const update of refused) notHeld.set(update, reason);
    }
    return notHeld;
  }

  #settle(group: readonly WriteRequest[], mayHold: LetIn['mayHold']): Promise<SettledGroup> {
    const { store, held, clock, prices, opened, onStored } = this.#deps;
    return settleGroup({ store, held, clock, prices, opened, mayHold, onStored }, group);
  }
}

/** Whether a change depends on one of these records and traces, or changes it. */
function touches(change: RecordChange, ids: ReadonlySet<string>): boolean {
  if (change.action === 'update') return ids.has(change.id);
  const { id, trace_id } = change.record;
  return ids.has(id) || (trace_id !== null && ids.has(trace_id));
}

/** The runs of those requests that are no rows of a run of ours: these sums up its rows when it ends. */
function loggedRuns(group: readonly WriteRequest[]): RunRef[] {
  const logged = group.filter(({ changes }) => changes.some(({ action }) => action !== 'replace'));
  return [...new Map(logged.map(({ run }) => [lockOf(run), run])).values()];
}
