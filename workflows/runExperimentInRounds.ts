import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import {
  ActivityCancellationType,
  ActivityFailure,
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type {
  Carried,
  Chunk,
  ChunkOutcome,
  OrdinalRange,
  ProgressReport,
  RunExperimentInput,
  RunPlan,
  WorkflowProgress,
} from '../shared/experiments/workflow.ts';
import type { Activities } from '../workers/activities.ts';
import { rootMessage } from './activityFailures.ts';

// Ours to heal (a store, the network, a worker's death): no limit on attempts. Only errors marked permanent end a run.
const healing = { initialInterval: '500 ms', maximumInterval: '30 seconds' } as const;

// Every activity heartbeats: a dead worker is noticed in this time, whatever it was at.
const heartbeatTimeout = '10 seconds';

const { planExperiment, finishExperiment, endExperiment, markPaused } = proxyActivities<Activities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout,
  retry: healing,
});

const { runRows, scoreRows } = proxyActivities<Activities>({
  // A chunk takes no new row after its time box (10 minutes); the rest is the slowest row's own time limit.
  startToCloseTimeout: '25 hours',
  heartbeatTimeout,
  retry: healing,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  // Eager ones all go to the worker that decided on them; chunks are to spread over the workers.
  allowEagerDispatch: false,
});

/** Lanes of one chunk. More than this and a chunk is split, so that a run can use several workers. */
const MAX_LANES_PER_CHUNK = 100;

/** Fewer recorded rows than this wait for others before they are scored: each range is a step in the history. */
const MIN_ROWS_SCORED_ALONG = 250;

/**
 * How `runExperiment` ran before its chunks overlapped: in rounds, each of which waits for its slowest row. Only histories that began so come here, and
 * they leave it when they continue as new. docs/deploys.md says when this file may go.
 */
export async function runExperimentInRounds(input: RunExperimentInput): Promise<void> {
  const ref = { experimentId: input.experimentId, projectId: input.projectId, number: input.number };
  const state = new RunProgress(input.carried);
  const root = CancellationScope.current();
  setHandler(defineQuery<WorkflowProgress>('progress'), () => state.view(root.consideredCancelled));
  setHandler(defineSignal('pause'), () => state.pause());
  setHandler(defineSignal('resume'), () => state.resume());
  setHandler(defineSignal('cancelRun'), () => state.cancel());
  setHandler(defineSignal('callerBack'), () => state.callerIsBack());
  setHandler(defineSignal<[number]>('setConcurrency'), (concurrency) => state.setConcurrency(concurrency));
  setHandler(defineSignal<[ProgressReport]>('progress'), (report) => state.report(report));
  try {
    const plan = input.carried?.plan ?? (await planExperiment(ref));
    state.planned(plan);
    const score: RunChunk = (chunk) => scoreRows({ ...ref, ...chunk });
    if (plan.scoresAlong) {
      state.along = scoreAlong(state, score);
      state.along.catch(() => undefined); // said when the rows have ended
    }
    await doPhase(state, 'rows', (chunk) => runRows({ ...ref, ...chunk }), markPaused.bind(null, ref), input);
    await state.endAlong();
    await doPhase(state, 'scores', score, markPaused.bind(null, ref), input);
    state.phase = 'finishing';
    state.show('finishing');
    const { cancelled } = state; // a cancel that comes from here on is too late
    if (cancelled) await endExperiment(ref, 'cancelled', null);
    else await finishExperiment(ref);
    state.phase = 'ended';
    state.show(cancelled ? 'cancelled' : 'completed');
  } catch (err) {
    // Nothing is scored any more when the run is summed up; that the rows failed is what counts.
    await CancellationScope.nonCancellable(() => state.breakOffAlong().catch(() => undefined));
    if (isCancellation(err)) {
      await CancellationScope.nonCancellable(() => endExperiment(ref, 'cancelled', null));
      throw err;
    }
    if (!(err instanceof Error) || err instanceof ContinueAsNew) throw err;
    await endExperiment(ref, 'failed', rootMessage(err));
    throw err;
  }
}

type RunChunk = (chunk: Pick<Chunk, 'from' | 'to' | 'lanes' | 'round'>) => Promise<ChunkOutcome>;

/** Scores rows that are recorded while others still run, range by range. What it leaves is scored when the rows have ended. */
async function scoreAlong(state: RunProgress, score: RunChunk): Promise<void> {
  for (;;) {
    await condition(() => state.alongIsOver || (!state.paused && !state.cancelled && state.rangeToScore() !== undefined));
    const range = state.rangeToScore();
    if (state.alongIsOver || !range) return;
    const chunk = { ...range, lanes: state.concurrency, round: state.round };
    const { takenTo } = await state.interruptible(() => score(chunk).catch(calledBack(range)));
    state.noteScored({ from: range.from, to: takenTo });
  }
}

/** Gives the open ranges to chunks until none is left; stops for a pause, starts again with what changed. */
async function doPhase(
  state: RunProgress,
  phase: 'rows' | 'scores',
  run: RunChunk,
  markPausedNow: (paused: boolean) => Promise<void>,
  input: RunExperimentInput,
): Promise<void> {
  if (!state.enter(phase)) return;
  while (state.ranges.length > 0 && !state.cancelled) {
    if (state.paused) {
      await markPausedNow(true);
      state.show('paused');
      await condition(() => !state.paused || state.cancelled);
      state.shownPaused = false;
      await markPausedNow(false);
      continue;
    }
    if (state.shownPaused) {
      // Paused and resumed while the last round's rows ended: whatever order the two were noted in, the run goes on.
      state.shownPaused = false;
      await markPausedNow(false);
      continue;
    }
    if (workflowInfo().continueAsNewSuggested) {
      await state.breakOffAlong();
      if (state.cancelled) break; // it came while scoring was called back, and would be lost with this history
      await continueAsNew<typeof runExperimentInRounds>({ ...input, carried: state.carry() });
    }
    state.show(phase === 'rows' ? 'running rows' : 'scoring');
    const { chunks, rest } = split(state.ranges, state.concurrency);
    state.round++;
    const outcomes = await state.interruptible(() =>
      Promise.all(
        chunks.map(async (chunk) => ({ chunk, outcome: await run({ ...chunk, round: state.round }).catch(calledBack(chunk)) })),
      ),
    );
    // Cancelled in Temporal's own pages: every further wait would be refused at once, so this loop must not go round again.
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('the workflow was cancelled');
    state.ranges = [
      ...outcomes.flatMap(({ chunk, outcome }) => (outcome.takenTo < chunk.to ? [{ from: outcome.takenTo, to: chunk.to }] : [])),
      ...rest,
    ];
    state.settle(phase);
    const failing = outcomes.find(({ outcome }) => outcome.failing)?.outcome.failing;
    if (failing) {
      state.pause();
      state.note = failing;
    }
    if (outcomes.some(({ outcome }) => outcome.callerGone)) {
      state.show('waiting for the process that holds the runner function');
      state.awaitsCaller = true;
      await condition(() => state.takeCaller() || state.cancelled || state.paused);
      state.awaitsCaller = false;
    }
  }
}

/**
 * A chunk that was called back before a worker took it has done nothing; of one whose worker died while it was called back nothing is known. Either
 * way its rows are open: the next round finds those that are recorded.
 */
const calledBack =
  (chunk: OrdinalRange) =>
  (err: unknown): ChunkOutcome => {
    const died = err instanceof ActivityFailure && err.retryState === 'CANCEL_REQUESTED';
    if (died || isCancellation(err)) return { takenTo: chunk.from, recorded: 0 };
    throw err;
  };

interface Share extends OrdinalRange {
  lanes: number;
}

/** Cuts the open ranges into as many parts as the lanes need, each with its share of the lanes; what has no lane waits for the next round. */
function split(ranges: OrdinalRange[], concurrency: number): { chunks: Share[]; rest: OrdinalRange[] } {
  const open = ranges.reduce((sum, range) => sum + range.to - range.from, 0);
  const parts = Math.max(ranges.length, Math.min(Math.ceil(concurrency / MAX_LANES_PER_CHUNK), open));
  const size = Math.ceil(open / parts);
  const pieces = ranges.flatMap((range) => {
    const cuts: OrdinalRange[] = [];
    for (let from = range.from; from < range.to; from += size) cuts.push({ from, to: Math.min(from + size, range.to) });
    return cuts;
  });
  const chunks = pieces.slice(0, concurrency).map((piece, index, all) => ({
    ...piece,
    lanes: Math.floor(concurrency / all.length) + (index < concurrency % all.length ? 1 : 0),
  }));
  return { chunks, rest: pieces.slice(concurrency) };
}

/** The ranges without the rows of another. */
const without = (ranges: readonly OrdinalRange[], { from, to }: OrdinalRange): OrdinalRange[] =>
  ranges
    .flatMap((range) => [
      { from: range.from, to: Math.min(range.to, from) },
      { from: Math.max(range.from, to), to: range.to },
    ])
    .filter((range) => range.from < range.to);

/** What the workflow knows of its run, and what a person sees of it in Temporal's own pages. */
class RunProgress {
  plan: RunPlan | undefined;
  phase: WorkflowProgress['phase'] = 'planning';
  ranges: OrdinalRange[] = [];
  paused = false;
  cancelled = false;
  /** True when the ledger may say that the run is paused. */
  shownPaused = false;
  awaitsCaller = false;
  concurrency = 1;
  /** Counts the times that chunks were given out, so that what a later one records outranks what is left of an earlier one. */
  round = 0;
  note = '';
  private rowsDone = 0;
  private scoresDone = 0;
  private caller = false;
  private readonly interrupts = new Set<() => void>();
  /** Scoring beside the rows, where the plan says so. */
  along: Promise<void> | undefined;
  alongIsOver = false;
  private unscored: OrdinalRange[] = [];
  /** Rows that are recorded: where a chunk began, and how far it is. */
  private readonly recorded = new Map<number, number>();
  /** A concurrency that was asked for while the run was still planned. */
  private asked: number | undefined;
  private readonly carried: Carried | undefined;

  constructor(carried: Carried | undefined) {
    this.carried = carried;
    if (carried) {
      this.paused = carried.paused;
      this.shownPaused = carried.paused;
      this.rowsDone = carried.rowsDone;
      this.scoresDone = carried.scoresDone;
      this.round = carried.round;
    }
  }

  planned(plan: RunPlan): void {
    this.plan = plan;
    this.concurrency = this.asked ?? this.carried?.concurrency ?? plan.concurrency;
    this.unscored = this.carried?.unscored ?? [{ from: 0, to: plan.rowCount }];
    upsertSearchAttributes([
      { key: attribute('AssayProject'), value: plan.projectName },
      { key: attribute('AssayExperiment'), value: plan.experimentName },
      { key: attribute('AssayGroup'), value: plan.groupName },
      { key: attribute('AssayStatus'), value: 'running' },
    ]);
    upsertMemo({
      experiment: plan.experimentName,
      project: plan.projectName,
      group: plan.groupName,
      runner: plan.runnerKind,
      rows: plan.rowCount,
    });
  }

  /** False when this phase is behind us or has nothing to do. */
  enter(phase: 'rows' | 'scores'): boolean {
    const plan = this.plan as RunPlan;
    if (this.cancelled) return false;
    if (this.carried && this.phase === 'planning') {
      if (this.carried.phase !== phase) return false;
      this.phase = phase;
      this.ranges = this.carried.ranges;
      return true;
    }
    this.phase = phase;
    this.ranges =
      plan.rowCount === 0 || (phase === 'rows' && !plan.runsRows) || (phase === 'scores' && plan.metrics.length === 0)
        ? []
        : phase === 'scores'
          ? this.unscored
          : [{ from: 0, to: plan.rowCount }];
    return this.ranges.length > 0;
  }

  /** Runs `work` so that a pause, a cancel or a new concurrency can call it back; activities then return what they have done. */
  async interruptible<T>(work: () => Promise<T>): Promise<T> {
    const scope = new CancellationScope({ cancellable: true });
    const interrupt = () => scope.cancel();
    this.interrupts.add(interrupt);
    try {
      return await scope.run(work);
    } finally {
      this.interrupts.delete(interrupt);
    }
  }

  private interrupt(): void {
    for (const interrupt of this.interrupts) interrupt();
  }

  /** Recorded rows without scores, when they are enough to be worth a step of their own. */
  rangeToScore(): OrdinalRange | undefined {
    for (const [begin, end] of this.recorded) {
      for (const range of this.unscored) {
        const [from, to] = [Math.max(begin, range.from), Math.min(end, range.to)];
        if (to - from >= MIN_ROWS_SCORED_ALONG) return { from, to };
      }
    }
    return undefined;
  }

  noteScored(range: OrdinalRange): void {
    this.unscored = without(this.unscored, range);
  }

  /** Lets the range that is being scored end. @throws what made scoring fail */
  async endAlong(): Promise<void> {
    this.alongIsOver = true;
    await this.along;
  }

  /** Calls back what is being scored. */
  async breakOffAlong(): Promise<void> {
    this.alongIsOver = true;
    if (this.along) this.interrupt();
    await this.along;
  }

  pause(): void {
    this.paused = true;
    this.shownPaused = true;
    this.interrupt();
  }

  resume(): void {
    this.paused = false;
    this.note = '';
  }

  cancel(): void {
    this.cancelled = true;
    this.interrupt();
  }

  setConcurrency(concurrency: number): void {
    this.asked = concurrency;
    if (!this.plan || concurrency === this.concurrency) return;
    this.concurrency = concurrency;
    this.interrupt();
  }

  callerIsBack(): void {
    this.caller = true;
  }

  takeCaller(): boolean {
    const caller = this.caller;
    this.caller = false;
    return caller;
  }

  report(report: ProgressReport): void {
    this.rowsDone = Math.max(this.rowsDone, report.rowsDone ?? 0);
    this.scoresDone = Math.max(this.scoresDone, report.scoresDone ?? 0);
    const { recorded } = report;
    if (recorded) this.recorded.set(recorded.from, Math.max(recorded.to, this.recorded.get(recorded.from) ?? 0));
    this.show(this.phase === 'scores' ? 'scoring' : 'running rows');
  }

  /** After a round of chunks the count is exact: all rows but the open ones. */
  settle(phase: 'rows' | 'scores'): void {
    const open = this.ranges.reduce((sum, range) => sum + range.to - range.from, 0);
    const done = (this.plan?.rowCount ?? 0) - open;
    if (phase === 'rows') this.rowsDone = done;
    else this.scoresDone = done;
  }

  carry(): Carried {
    return {
      plan: this.plan as RunPlan,
      phase: this.phase === 'scores' ? 'scores' : 'rows',
      ranges: this.ranges,
      rowsDone: this.rowsDone,
      scoresDone: this.scoresDone,
      paused: this.paused,
      concurrency: this.concurrency,
      round: this.round,
      unscored: this.unscored,
    };
  }

  /** @param ended whether the workflow itself was cancelled, in Temporal's own pages */
  view(ended: boolean): WorkflowProgress {
    return {
      phase: this.phase,
      rowsDone: this.rowsDone,
      rowsTotal: this.plan?.rowCount ?? 0,
      scoresDone: this.scoresDone,
      paused: this.paused,
      cancelled: this.cancelled || ended,
      awaitsCaller: this.awaitsCaller,
    };
  }

  show(status: string): void {
    const plan = this.plan;
    if (!plan) return;
    setCurrentDetails(
      `**${plan.experimentName}** (${plan.projectName} / ${plan.groupName}): ${status}${this.note ? ` — ${this.note}` : ''}\n\n` +
        `${this.rowsDone} of ${plan.rowCount} rows done, ${this.scoresDone} scored for ${plan.metrics.length} metrics`,
    );
    upsertSearchAttributes([{ key: attribute('AssayStatus'), value: status }]);
  }
}

const attribute = (name: string) => defineSearchAttributeKey(name, SearchAttributeType.KEYWORD);
