import { CancellationScope, uuid4, workflowInfo } from '@temporalio/workflow';
import type { Carried, Chunk, ChunkOutcome, HandOver, OrdinalRange, RunPlan } from '../shared/experiments/workflow.ts';
import { wasCancelled } from './activityFailures.ts';

type GivenChunk = Omit<Chunk, 'experimentId' | 'projectId' | 'number'>;

interface RunningChunk extends OrdinalRange {
  token: string;
  /** It takes no further row: rows of it are still in flight. */
  handedOver: boolean;
  cancel(): void;
}

/** A chunk of fewer rows is not worth an activity of its own. */
const MIN_ROWS_PER_CHUNK = 250;

/**
 * The rows of a run that are still to be done, and the chunks that have them. How many rows are in flight is not decided here: all chunks of a run
 * share its slots, so several may run at a time, on several workers. A chunk that takes no further row hands over what it has not taken, and its
 * successor starts while its last rows end.
 */
export class RowChunks {
  /** Why the run cannot go on. */
  failure: unknown;
  private readonly execute: (chunk: GivenChunk) => Promise<ChunkOutcome>;
  private readonly changed: () => void;
  private readonly carried: Carried | undefined;
  private readonly running = new Map<number, RunningChunk>();
  private open: OrdinalRange[] = [];
  private chunksAtOnce = 1;
  private given: number;
  private round: number;
  private startedAt: number;
  private failing: string | undefined;
  private callerGone = false;

  constructor(execute: (chunk: GivenChunk) => Promise<ChunkOutcome>, changed: () => void, carried: Carried | undefined) {
    this.execute = execute;
    this.changed = changed;
    this.carried = carried;
    this.given = carried?.chunks ?? 0;
    this.round = carried?.round ?? 0;
    this.startedAt = carried?.startedAt ?? Date.now();
  }

  planned(plan: RunPlan): void {
    this.chunksAtOnce = plan.chunksAtOnce ?? 1;
    if (!plan.runsRows || plan.rowCount === 0) return;
    this.open = this.carried?.ranges ?? [{ from: 0, to: plan.rowCount }];
    this.round++; // what a former execution gave out may still be recorded
  }

  get areIdle(): boolean {
    return this.running.size === 0;
  }

  get areDone(): boolean {
    return this.areIdle && this.open.length === 0;
  }

  /** Gives the open rows to as many chunks as there may be. */
  giveOut(concurrency: number): void {
    const atOnce = Math.min(this.chunksAtOnce, concurrency);
    const taking = [...this.running.values()].filter(({ handedOver }) => !handedOver).length;
    for (let count = taking; count < atOnce && this.open.length > 0; count++) this.start(this.take(atOnce), concurrency);
  }

  /** Each time a share of what is left, so that all workers end at about the same time. */
  private take(atOnce: number): OrdinalRange {
    const [first, ...rest] = this.open as [OrdinalRange, ...OrdinalRange[]];
    const left = this.open.reduce((sum, { from, to }) => sum + to - from, 0);
    const size = atOnce === 1 ? left : Math.max(MIN_ROWS_PER_CHUNK, Math.ceil(left / (2 * atOnce)));
    const to = Math.min(first.to, first.from + size);
    this.open = to < first.to ? [{ from: to, to: first.to }, ...rest] : rest;
    return { from: first.from, to };
  }

  private start({ from, to }: OrdinalRange, concurrency: number): void {
    const chunk = this.given++;
    const scope = new CancellationScope();
    const token = uuid4();
    this.running.set(chunk, { from, to, token, handedOver: false, cancel: () => scope.cancel() });
    const { runId } = workflowInfo();
    const given = { from, to, lanes: concurrency, round: this.round, chunk, token, runId, startedAt: this.startedAt };
    scope
      .run(() => this.execute(given))
      .catch(nothingDone(from))
      .then((outcome) => this.ended(chunk, outcome))
      .catch((err: unknown) => {
        this.failure ??= err;
        this.running.delete(chunk);
      })
      .finally(this.changed);
  }

  private ended(chunk: number, { takenTo, failing, callerGone }: ChunkOutcome): void {
    const { to } = this.running.get(chunk) as RunningChunk;
    this.running.delete(chunk);
    if (takenTo < to) {
      this.open = [{ from: takenTo, to }, ...this.open];
      this.round++;
    }
    this.failing ??= failing;
    if (callerGone) this.callerGone = true;
  }

  handOver({ chunk, to, token }: HandOver): void {
    const running = this.running.get(chunk);
    // A reset repeats signals of the execution that it ended; they are not meant for the chunks that are given out since.
    if (!running || running.handedOver || running.token !== token) return;
    if (to < running.to) this.open = [{ from: to, to: running.to }, ...this.open];
    running.to = to;
    running.handedOver = true;
  }

  /** Returns and clears the findings of chunks since the last call: that the run should pause, or that no caller is there to run its rows. */
  takeFindings(): { failing: string | undefined; callerGone: boolean } {
    const { failing, callerGone } = this;
    this.failing = undefined;
    this.callerGone = false;
    return { failing, callerGone };
  }

  /** Cancels all chunks; what they have not recorded is open again. */
  cancelAll(): void {
    for (const running of this.running.values()) running.cancel();
  }

  view(): { chunk: number; to: number }[] {
    return [...this.running].map(([chunk, { to }]) => ({ chunk, to }));
  }

  carry(): Pick<Carried, 'ranges' | 'round' | 'chunks' | 'startedAt'> {
    return { ranges: this.open, round: this.round, chunks: this.given, startedAt: this.startedAt };
  }
}

/**
 * A chunk that was cancelled before a worker took it has done nothing. If its worker died while it was being cancelled, nothing is known of it. Either
 * way its rows are open: the next chunk finds those that are recorded.
 */
const nothingDone =
  (from: number) =>
  (err: unknown): ChunkOutcome => {
    if (wasCancelled(err)) return { takenTo: from, recorded: 0 };
    throw err;
  };
