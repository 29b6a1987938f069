import { CancellationScope } from '@temporalio/workflow';
import type { Carried, RunPlan } from '../shared/experiments/workflow.ts';
import type { Prepared, ScoredOutcome } from '../shared/scoring/workflow.ts';
import { wasCancelled } from './activityFailures.ts';

interface ScoringSteps {
  prepareScoring(allRecorded: boolean): Promise<Prepared | null>;
  score(): Promise<ScoredOutcome>;
}

/** Recorded rows that are worth a pass where the plan, of a former version, does not say how many: each pass is two steps in the history. */
const ROWS_PER_PASS = 250;

/**
 * The scores of a run: passes over what is recorded and not scored, beside the rows where the plan says so, and after them until nothing is left. Beside
 * the rows no judge is asked: its model may be that of the rows, and would see more calls at once than the run's concurrency.
 */
export class RunScores {
  failure: unknown;
  /** Values computed. */
  scored: number;
  private readonly steps: ScoringSteps;
  private readonly changed: () => void;
  private plan: RunPlan | undefined;
  private cancelScope: (() => void) | undefined;
  private failing: string | undefined;
  private rowsSeen = 0;
  /** Whatever the rows lack is computed, or marked for judges: looking through the whole run again would find nothing. */
  private isAllMarked = false;
  private isComplete = false;

  constructor(steps: ScoringSteps, changed: () => void, carried: Carried | undefined) {
    this.steps = steps;
    this.changed = changed;
    this.scored = carried?.scoresDone ?? 0;
  }

  planned(plan: RunPlan): void {
    this.plan = plan;
    this.isComplete = plan.metrics.length === 0 || plan.rowCount === 0;
  }

  get areIdle(): boolean {
    return this.cancelScope === undefined;
  }

  get areDone(): boolean {
    return this.isComplete;
  }

  private get rowsPerPass(): number {
    return this.plan?.codeAlong ?? (this.plan?.scoresAlong ? ROWS_PER_PASS : Number.POSITIVE_INFINITY);
  }

  /** Starts a pass when there is enough for one. @param allRecorded whether no row is to be recorded any more */
  goOn(allRecorded: boolean, rowsRecorded: number): void {
    if (this.isComplete || !this.areIdle) return;
    if (!allRecorded && rowsRecorded - this.rowsSeen < this.rowsPerPass) return;
    this.rowsSeen = rowsRecorded;
    const scope = new CancellationScope();
    this.cancelScope = () => scope.cancel();
    scope
      .run(() => this.pass(allRecorded))
      .catch((err: unknown) => {
        if (!wasCancelled(err)) this.failure ??= err;
      })
      .finally(() => {
        this.cancelScope = undefined;
        this.changed();
      });
  }

  private async pass(allRecorded: boolean): Promise<void> {
    if (!this.isAllMarked) {
      const prepared = await this.steps.prepareScoring(allRecorded);
      if (!prepared) {
        this.isComplete = true; // the run was deleted, or has a newer workflow
        return;
      }
      this.scored += prepared.scored ?? 0;
      this.isAllMarked = allRecorded && !prepared.more;
      // Metrics of plain code leave no marks: a step that looks for some would take a short run a twentieth of its time.
      if (this.plan?.scoresAlong && prepared.oldest === null) {
        this.isComplete = this.isAllMarked;
        return;
      }
      if (!allRecorded && !this.plan?.scoresAlong) return;
    }
    const { scored, more, failing } = await this.steps.score();
    this.scored += scored;
    this.failing ??= failing;
    if (this.isAllMarked && !more) this.isComplete = true;
  }

  /** Why the run should pause, where a pass has said so since this was last asked. */
  takeFailing(): string | undefined {
    const { failing } = this;
    this.failing = undefined;
    return failing;
  }

  /** Cancels the pass; what it has computed is kept. */
  cancelPass(): void {
    this.cancelScope?.();
  }
}
