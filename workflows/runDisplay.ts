import { setCurrentDetails, upsertMemo } from '@temporalio/workflow';
import type { ProgressReport, RunExperimentInput, RunPlan, RunSummary } from '../shared/experiments/workflow.ts';
import { double, integer, KnownAttributes, keyword } from './knownAttributes.ts';

/** Shows a run in Temporal's own pages: its details, its memo, and search attributes where the namespace has them. */
export class RunDisplay {
  plan: RunPlan | undefined;
  rowsDone: number;
  scoresDone: number;
  private rowsFailed = 0;
  private costUsd = 0;
  private readonly attributes: KnownAttributes;
  private shown = '';

  constructor({ carried, searchAttributes }: RunExperimentInput) {
    this.rowsDone = carried?.rowsDone ?? 0;
    this.scoresDone = carried?.scoresDone ?? 0;
    this.attributes = new KnownAttributes(searchAttributes);
  }

  planned(plan: RunPlan): void {
    this.plan = plan;
    this.attributes.upsert([
      { key: keyword('AssayProject'), value: plan.projectName },
      { key: keyword('AssayExperiment'), value: plan.experimentName },
      { key: keyword('AssayGroup'), value: plan.groupName },
    ]);
    upsertMemo({
      experiment: plan.experimentName,
      project: plan.projectName,
      group: plan.groupName,
      runner: plan.runnerKind,
      rows: plan.rowCount,
    });
  }

  report({ rowsDone, rowsFailed, costUsd }: ProgressReport): void {
    this.rowsDone = Math.max(this.rowsDone, rowsDone);
    this.rowsFailed = Math.max(this.rowsFailed, rowsFailed);
    this.costUsd = Math.max(this.costUsd, costUsd);
  }

  /** @param note why it is so */
  show(status: string, note?: string | null): void {
    const { plan } = this;
    if (!plan) return;
    const details =
      `**${plan.experimentName}** (${plan.projectName} / ${plan.groupName}): ${status}${note ? ` — ${note}` : ''}\n\n` +
      `${this.rowsDone} of ${plan.rowCount} rows done, ${this.rowsFailed} failed; ${this.scoresDone} values of ${plan.metrics.length} metrics`;
    if (details === this.shown) return;
    this.shown = details;
    setCurrentDetails(details);
    this.attributes.upsert([
      { key: keyword('AssayStatus'), value: status },
      { key: integer('AssayRows'), value: this.rowsDone },
      { key: integer('AssayFailedRows'), value: this.rowsFailed },
      { key: double('AssayCost'), value: this.costUsd },
    ]);
  }

  end(state: 'completed' | 'failed' | 'cancelled', summary: RunSummary | undefined, reason?: string | null): void {
    if (summary) {
      this.rowsDone = summary.rows;
      this.rowsFailed = summary.failedRows;
      this.costUsd = summary.costUsd;
    }
    this.show(state, reason);
  }
}
