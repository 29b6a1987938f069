import {
  CancellationScope,
  CancelledFailure,
  ContinueAsNew,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  deprecatePatch,
  isCancellation,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import {
  callerSignal,
  concurrencySignal,
  type HandOver,
  handOverSignal,
  type ProgressReport,
  pauseSignal,
  progressQuery,
  progressSignal,
  type RunExperimentInput,
  type RunSummary,
  resumeSignal,
  type WorkflowProgress,
} from '../shared/experiments/workflow.ts';
import { rootMessage } from './activityFailures.ts';
import { activitiesOf } from './experimentActivities.ts';
import { RowChunks } from './rowChunks.ts';
import { RunDisplay } from './runDisplay.ts';
import { RunScores } from './runScores.ts';

/**
 * Runs an experiment: plan, rows and scores, finish. It only decides; activities do every input and output. Histories hold offsets and counts.
 * The workflow closes as the run did: completed, failed or cancelled.
 * Signals: pause, resume; setConcurrency, which comes beside the setting that chunks read; progress, handedOver and callerBack, which activities and the
 * API send. Query: progress.
 */
export async function runExperiment(input: RunExperimentInput): Promise<void> {
  deprecatePatch('overlapping-chunks'); // histories of open runs have its marker
  const run = new ExperimentWorkflow(input);
  const { display, activities } = run;
  try {
    await run.plan();
    await run.untilDone();
    // From here on a cancel comes too late.
    const summary = await CancellationScope.nonCancellable(() => {
      run.phase = 'finishing';
      display.show('finishing');
      return activities.finish();
    });
    run.phase = 'ended';
    display.end('completed', summary);
  } catch (err) {
    if (!(err instanceof Error) || err instanceof ContinueAsNew) throw err;
    await CancellationScope.nonCancellable(() => run.endEarly(err));
    throw err;
  }
}

class ExperimentWorkflow {
  phase: WorkflowProgress['phase'] = 'planning';
  readonly display: RunDisplay;
  readonly activities: ReturnType<typeof activitiesOf>;
  private readonly input: RunExperimentInput;
  private readonly root = CancellationScope.current();
  private readonly chunks: RowChunks;
  private readonly scores: RunScores;
  private concurrency: number | undefined;
  private paused: boolean;
  private pauseReason: string | null;
  /** The ledger may say `paused`, because somebody asked for a pause or because this workflow wrote it. */
  private ledgerMaySayPaused: boolean;
  private awaitsCaller = false;
  /** Counts whatever may open a next step. */
  private changes = 0;

  constructor(input: RunExperimentInput) {
    const { carried } = input;
    this.input = input;
    this.activities = activitiesOf({ experimentId: input.experimentId, projectId: input.projectId, number: input.number });
    this.display = new RunDisplay(input);
    this.paused = carried?.paused ?? false;
    this.pauseReason = carried?.pauseReason ?? null;
    this.ledgerMaySayPaused = this.paused;
    const changed = () => {
      this.changes++;
    };
    this.chunks = new RowChunks(this.activities.runRows, changed, carried);
    this.scores = new RunScores(this.activities, changed, carried);
    this.listen();
  }

  private listen(): void {
    const on = <Args extends unknown[]>(name: string, act: (...args: Args) => void) =>
      setHandler(defineSignal<Args>(name), (...args) => {
        act(...args);
        this.changes++;
      });
    on(pauseSignal, (reason?: string | null) => this.pause(reason ?? null));
    on(resumeSignal, () => {
      this.paused = false;
      this.pauseReason = null;
    });
    on(concurrencySignal, (concurrency: number) => {
      this.concurrency = concurrency;
    });
    on(callerSignal, () => {
      this.awaitsCaller = false;
    });
    on(handOverSignal, (handOver: HandOver) => this.chunks.handOver(handOver));
    on(progressSignal, (report: ProgressReport) => {
      this.display.report(report);
      this.show();
    });
    setHandler(defineQuery<WorkflowProgress>(progressQuery), () => ({
      phase: this.phase,
      rowsDone: this.display.rowsDone,
      rowsTotal: this.display.plan?.rowCount ?? 0,
      scoresDone: this.scores.scored,
      paused: this.paused,
      cancelled: this.root.consideredCancelled,
      awaitsCaller: this.awaitsCaller,
      fails: this.failure !== undefined,
      chunks: this.chunks.view(),
    }));
  }

  async plan(): Promise<void> {
    const plan = this.input.carried?.plan ?? (await this.activities.plan());
    this.concurrency ??= this.input.carried?.concurrency ?? plan.concurrency;
    this.chunks.planned(plan);
    this.scores.planned(plan);
    this.display.planned(plan);
    this.phase = 'rows';
  }

  /** Gives out rows and scores until all are done; waits while the run is paused. */
  async untilDone(): Promise<void> {
    for (;;) {
      const { changes } = this;
      this.heed();
      if (this.isIdle) {
        if (this.failure) throw this.failure;
        if (workflowInfo().continueAsNewSuggested) await this.carryOn();
        if (this.paused) {
          await this.waitPaused();
          continue;
        }
        if (this.ledgerMaySayPaused) {
          await this.notePaused(false);
          continue;
        }
        if (!this.awaitsCaller && this.chunks.areDone && this.scores.areDone) return;
      }
      this.show();
      await condition(() => this.changes !== changes);
    }
  }

  /** Starts and cancels activities as the present state asks for. */
  private heed(): void {
    const { failing = this.scores.takeFailing(), callerGone } = this.chunks.takeFindings();
    if (failing !== undefined) this.pause(failing);
    if (callerGone) this.awaitsCaller = true;
    if (this.paused || this.failure || workflowInfo().continueAsNewSuggested) {
      this.chunks.cancelAll();
      this.scores.cancelPass();
      return;
    }
    if (!this.awaitsCaller) this.chunks.giveOut(this.concurrency as number);
    this.phase = this.chunks.areDone ? 'scores' : 'rows';
    this.scores.goOn(this.chunks.areDone, this.display.rowsDone);
  }

  /** Why the run cannot go on. */
  private get failure(): unknown {
    return this.chunks.failure ?? this.scores.failure;
  }

  private get isIdle(): boolean {
    return this.chunks.areIdle && this.scores.areIdle;
  }

  private pause(reason: string | null): void {
    this.paused = true;
    this.pauseReason = reason;
    this.ledgerMaySayPaused = true;
  }

  private async waitPaused(): Promise<void> {
    await this.notePaused(true);
    this.display.show('paused', this.pauseReason);
    await condition(() => !this.paused);
    await this.notePaused(false);
  }

  /** A pause that was ended while its rows still ended is noted as ended too: whatever order the two were written in, the run goes on. */
  private async notePaused(paused: boolean): Promise<void> {
    this.ledgerMaySayPaused = paused;
    await this.activities.markPaused(paused, paused ? this.pauseReason : null);
  }

  /** Leaves what is still to be done to a new history. */
  private async carryOn(): Promise<void> {
    const plan = this.display.plan;
    if (!plan || (this.chunks.areDone && this.scores.areDone)) return;
    // A cancel that came with what woke this workflow would be lost with this history.
    if (this.root.consideredCancelled) throw new CancelledFailure('the workflow was cancelled');
    await continueAsNew<typeof runExperiment>({
      ...this.input,
      carried: {
        plan,
        phase: this.phase === 'scores' ? 'scores' : 'rows',
        ...this.chunks.carry(),
        rowsDone: this.display.rowsDone,
        scoresDone: this.scores.scored,
        paused: this.paused,
        pauseReason: this.pauseReason,
        concurrency: this.concurrency as number,
      },
    });
  }

  /** Ends a run that was cancelled or cannot go on, after what is under way has ended. */
  async endEarly(reason: Error): Promise<void> {
    this.chunks.cancelAll();
    this.scores.cancelPass();
    await condition(() => this.isIdle);
    // A run that is cancelled while it fails has failed all the same.
    const err = this.failure instanceof Error ? this.failure : reason;
    const state = isCancellation(err) ? 'cancelled' : 'failed';
    this.phase = 'finishing';
    const why = state === 'failed' ? rootMessage(err) : null;
    const summary: RunSummary | undefined = await this.activities.end(state, why);
    this.phase = 'ended';
    this.display.end(state, summary, why);
  }

  private show(): void {
    this.display.scoresDone = this.scores.scored;
    if (this.paused) this.display.show(this.isIdle ? 'paused' : 'pausing', this.pauseReason);
    else if (this.awaitsCaller) this.display.show('waiting for the process that holds the runner function');
    else this.display.show(this.phase === 'scores' ? 'scoring' : 'running rows');
  }
}
