import type { z } from 'zod';
import { limitsBody } from '../../shared/coordination/callLimits.ts';
import { selectionToWire } from '../../shared/datasets/rowSelection.ts';
import type { ExperimentRun, Runner } from '../../shared/experiments/experiment.ts';
import { type FailureCause, secondsLeft } from '../../shared/experiments/followedProgress.ts';
import type { RunProgressReport } from '../../shared/experiments/progress.ts';
import { rerunToWire } from '../../shared/experiments/rerun.ts';
import { usageBody } from '../../shared/experiments/runUsage.ts';
import type { EnabledMetric } from '../../shared/scorers/resolveMetrics.ts';
import type { ProgressReply, RunReply, RunSettingsReply } from '../../shared/wire/experimentRuns.ts';

export const runToWire = (run: ExperimentRun, started: boolean): z.input<typeof RunReply> => ({
  experiment_id: run.experimentId,
  state: run.state,
  started,
  row_count: run.rowCount,
  trials: run.trials,
  row_selection: selectionToWire(run.selectedRows),
  rerun: rerunToWire(run),
  workflow_id: run.workflowId,
  concurrency: run.settings.concurrency,
});

export const causeToWire = ({ message, statusCode, isSame, rows, examples }: FailureCause) => ({
  ...{ message, status_code: statusCode, is_same: isSame, rows },
  examples: examples.map(({ traceId, ordinal, trial }) => ({ trace_id: traceId, dataset_row_ordinal: ordinal, trial })),
});

export const runSettingsToWire = (
  run: ExperimentRun,
  metrics: readonly EnabledMetric[],
  linkTo: (workflowId: string) => string | undefined,
): z.input<typeof RunSettingsReply> => ({
  experiment_id: run.experimentId,
  state: run.state,
  row_count: run.rowCount,
  trials: run.trials,
  row_selection: selectionToWire(run.selectedRows),
  rerun: rerunToWire(run),
  workflow_id: run.workflowId || null,
  workflow_url: (run.workflowId && linkTo(run.workflowId)) || null,
  runner: runnerToWire(run.runner),
  settings: {
    concurrency: run.settings.concurrency,
    row_time_limit_ms: run.settings.rowTimeLimitMs,
    max_call_attempts: run.settings.maxCallAttempts,
    pause_after_failures: run.settings.pauseAfterFailures,
    pause_after_provider_failures: run.settings.pauseAfterProviderFailures,
    limits: run.settings.limits ? limitsBody(run.settings.limits) : null,
  },
  rows_to_run: run.rowsToRun,
  failed_rows: run.failedRows,
  metrics: metrics.map(({ name, alias, judgeModel, judgeModels, isJudgedByModelUnderTest = false }) => ({
    name: alias ?? name,
    judge_models: [...(judgeModels ?? (judgeModel === null ? [] : [judgeModel]))],
    judged_by_model_under_test: isJudgedByModelUnderTest,
  })),
});

const runnerToWire = (runner: Runner) => ({
  kind: runner.kind,
  prompt_template_version_id: runner.kind === 'prompt_template' ? runner.templateVersionId : null,
  prompt_settings: runner.kind === 'prompt_template' ? runner.settings : null,
  name: runner.kind === 'module' ? runner.name : null,
  url: runner.kind === 'http' ? withoutSecrets(runner.url) : null,
  headers: runner.kind === 'http' ? Object.keys(runner.headers ?? {}) : null,
});

/** People put passwords and keys into addresses, and who reads this need not know them. */
function withoutSecrets(address: string): string {
  const { origin, pathname } = new URL(address);
  return `${origin}${pathname}`;
}

export const progressToWire = (view: RunProgressReport, run: ExperimentRun): z.output<typeof ProgressReply> => ({
  experiment_id: view.experimentId,
  state: view.state,
  runner: run.runner.kind,
  rows_total: view.rowsTotal,
  rows_done: view.rowsDone,
  rows_failed: view.rowsFailed,
  rows_running: view.rowsRunning,
  trials: run.trials,
  row_selection: selectionToWire(run.selectedRows),
  rerun: rerunToWire(run),
  scores_total: view.scoresTotal,
  scores_done: view.scoresDone,
  usage: usageBody(view.usage),
  rows_per_second: view.rowsPerSecond,
  started_at: view.startedAt,
  ended_at: view.endedAt,
  error: view.error,
  message: view.message,
  concurrency: run.settings.concurrency,
  seconds_left: secondsLeft(view, view.rowsPerSecond, null),
  settings_not_sent: view.settingsNotSent,
});
