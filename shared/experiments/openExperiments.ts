import type { Logger } from 'pino';
import { withAnnotatedIds } from '../annotations/fullyAnnotated.ts';
import type { Coordination } from '../coordination/coordination.ts';
import type { RowReader } from '../datasets/rowsOfRun.ts';
import type { KeyRing } from '../integrations/secrets.ts';
import { MINUTE_MS, type RecurringJob } from '../maintenance/recurringJob.ts';
import type { FailedRows } from '../metrics/metricFigures.ts';
import { type Expiries, withoutExpired } from '../projects/retention.ts';
import type { DeleteRecords, RunRef } from '../projects/runs.ts';
import { findColumnFor } from '../records/columnCatalog.ts';
import { deleteStraySpans } from '../records/delete.ts';
import type { ErasedKey } from '../records/eraseRecords.ts';
import type { Records } from '../records/openRecords.ts';
import type { Scorers } from '../scorers/openScorers.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Filter } from '../wire/filters.ts';
import type { MetricScale } from '../wire/metricScale.ts';
import { AggregateRenewal } from './aggregateRenewal.ts';
import type { ExperimentAggregates } from './aggregates.ts';
import type { Notices } from './callerRows.ts';
import { changeFigures } from './changeFigures.ts';
import { type EstimateDeps, type EstimatedRun, estimateRun, type RunEstimate } from './estimateRun.ts';
import { type ExperimentRun, type FigureSettings, isUnderWay } from './experiment.ts';
import { type FigureSoFar, figuresSoFar } from './figuresSoFar.ts';
import { keepUnlessDeleted } from './keepUnlessDeleted.ts';
import { loggedRows } from './loggedRows.ts';
import { type MetricBuckets, metricBuckets } from './metricBuckets.ts';
import { metricScales } from './metricScales.ts';
import type { OfferedRows } from './offeredRows.ts';
import type { OutdatedAggregates } from './outdatedAggregates.ts';
import { type RunRequest, requestRun } from './prepareRun.ts';
import {
  type FractionDeps,
  progressFractions,
  type ReportDeps,
  type RunProgressReport,
  type RunTally,
  reportProgress,
} from './progress.ts';
import { recentTallies } from './recentTallies.ts';
import { type ReconcileReport, reconcileRuns } from './reconcileRuns.ts';
import { rememberedRows } from './rememberedRows.ts';
import type { ProgressOf } from './response.ts';
import type { RowLog, RunRowReader } from './rowLog.ts';
import { rowsOfTrials } from './rowsOfTrials.ts';
import { type RunCheckDeps, runChecks } from './runChecks.ts';
import type { RunLedger } from './runLedger.ts';
import { sealRunner } from './runnerHeaders.ts';
import { settleRun } from './settleRun.ts';
import type { RunWorkflows } from './startRun.ts';
import { type RunControl, runControl } from './steerRun.ts';
import { type SumDeps, sumUp } from './sumUp.ts';
import type { DeletedRowDeps } from './withoutDeletedRows.ts';

export interface ExperimentsDeps extends Omit<RunCheckDeps, 'experiments' | 'datasets' | 'scorers'> {
  experiments: RunCheckDeps['experiments'] & Pick<FractionDeps, 'metricIds'>;
  datasets: RunCheckDeps['datasets'] & { rowsOfRuns: RowReader } & Pick<EstimateDeps, 'forgetSelection'>;
  prices: EstimateDeps['prices'];
  models: RunCheckDeps['models'] & ReportDeps['models'];
  scorers: Scorers;
  sandbox: SumDeps['sandbox'];
  ledger: RunLedger;
  offered: OfferedRows;
  outdated: OutdatedAggregates;
  workflows: RunWorkflows;
  progressBoard: Coordination['progress'];
  waits: Coordination['waits'];
  notices: Notices;
  records: Records;
  expiries: Expiries;
  keyRing: KeyRing;
  /** What was asked to be computed again. */
  scorings: {
    /** Marked and not ended. */
    marked(runId: string): Promise<readonly { scorerIds: readonly string[] }[]>;
  };
  marks: {
    /** Takes back what is marked, except for these scorers. */
    unmark(run: RunRef, exceptScorers: readonly string[]): Promise<void>;
  };
  /** Reads and writes of the record store. */
  stored: {
    tally(run: Pick<ExperimentRun, 'projectId' | 'experimentId'>, metrics: string[]): Promise<RunTally>;
    tallies: FractionDeps['tallies'];
    recorded: RowLog['recorded'];
    straySpans(run: RunRef): Promise<ErasedKey[]>;
    systemAggregates: SumDeps['systemAggregates'];
    usage: SumDeps['usage'];
    deleteRecords: DeleteRecords;
  };
  /** Returns the traces among these that were deleted while the run's workflow ran. */
  deletedRows: DeletedRowDeps['deleted'];
  telemetry: Pick<Telemetry, 'add' | 'observe'>;
  log: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;
}

export interface Experiments {
  ledger: RunLedger;
  offered: OfferedRows;
  notices: Notices;
  workflows: RunWorkflows;
  /** Rows of runs, of which those read lately are remembered. */
  rows: RunRowReader;
  rowLog: RowLog;
  request(experimentId: string, request: RunRequest): ReturnType<typeof requestRun>;
  /** Estimates the cost of a run, from the datasets and scorers that a caller sees. */
  estimate(seen: Pick<EstimateDeps, 'datasets' | 'scorers'>, projectId: string, asked: EstimatedRun): Promise<RunEstimate>;
  control: RunControl;
  /** Ends the run of an experiment; one that has none, or has ended, is no error. */
  endRun(experimentId: string): Promise<void>;
  progress(run: ExperimentRun): Promise<RunProgressReport>;
  /** Reads the values of all rows. */
  figuresSoFar(run: ExperimentRun): Promise<FigureSoFar[]>;
  /** How far each of many experiments is, as a share. */
  progressOf: ProgressOf;
  /** Returns what the numbers of its metrics mean, as the scorers and the experiment say it now. */
  metricScales(run: ExperimentRun): Promise<(metric: string) => MetricScale>;
  metricBuckets(projectId: string, experimentIds: readonly string[], filters: readonly Filter[]): Promise<MetricBuckets[]>;
  /** Says how many rows of a part of the run this process has in its hands. What does not get through is followed by the next. */
  publishRunning(run: Pick<ExperimentRun, 'experimentId'>, part: string, rowsRunning: number): void;
  /** Returns the aggregates of an experiment's rows now, with failed rows counted as it does, or as given. Undefined where the experiment is gone. */
  aggregatesNow(experimentId: string, failedRows: FailedRows | undefined): Promise<ExperimentAggregates | undefined>;
  /** Stores the aggregates of an experiment anew, unless a run of it goes on: that one stores them when it ends. */
  sumUpAtRest(experiment: RunRef): Promise<void>;
  /** Has the aggregates computed anew soon, even when this process dies: values of records were stored that no run of ours has asked for. */
  renewAggregates(experiment: RunRef): Promise<void>;
  /** Takes over how the figures of an experiment are made, and computes them anew. */
  changeFigures(experiment: RunRef, change: FigureSettings): Promise<void>;
  /** Tidies and sums up what a run has recorded. */
  settle(run: ExperimentRun): ReturnType<typeof settleRun>;
  /**
   * Makes runs agree with their workflows. Each api process does this by itself, it is no recurring job: it heals what Temporal has lost, schedules
   * included, and `/healthcheck` of the process shows `stuckRuns`, what its last look found.
   */
  reconcile(): Promise<void>;
  /** Runs whose workflows do not get on, as the last look found. */
  stuckRuns(): readonly ExperimentRun[];
  /** Has outdated aggregates computed that processes before this one have left. */
  start(): Promise<void>;
  /** For the start of the only process: what its predecessor was computing is free again. */
  takeOver(): Promise<void>;
  stop(): Promise<void>;
  jobs: RecurringJob[];
}

/** Experiments and their runs. */
export function openExperiments(deps: ExperimentsDeps): Experiments {
  const { ledger, workflows, outdated, records, scorers, stored, notices, log, expiries } = deps;
  const starting = { ledger, workflows };
  const checks = runChecks(deps);
  const control = runControl(starting);
  const scalesOf = async (run: ExperimentRun) => {
    const [frozen, current] = await Promise.all([scorers.scoredMetrics(run), scorers.enabledMetrics(run)]);
    return metricScales([...frozen, ...current], run.loggedMetrics);
  };
  const summing: SumDeps = {
    sandbox: deps.sandbox,
    systemAggregates: stored.systemAggregates,
    usage: stored.usage,
    values: records.values,
    metricsOf: scorers.scoredMetrics,
    scalesOf,
    // A dataset that is gone has no columns to name.
    columnsOf: async (run) => (await deps.datasets.shapeOf(run).catch(() => undefined))?.columnNames,
  };
  const settle = (run: ExperimentRun) =>
    settleRun(
      {
        ...summing,
        deleteStraySpans: ({ projectId, experimentId: runId }) =>
          deleteStraySpans(records.deletion, stored.straySpans, { projectId, runId }),
        // Values that a user asked to be computed again stay marked.
        async unmark({ projectId, experimentId: runId }) {
          const requested = (await deps.scorings.marked(runId)).flatMap(({ scorerIds }) => scorerIds);
          await deps.marks.unmark({ projectId, runId }, requested);
        },
      },
      run,
    );
  const renewal = new AggregateRenewal({
    outdated,
    async compute({ runId }) {
      const run = await ledger.find(runId);
      return run && { aggregates: await sumUp(summing, run), workflowNumber: run.workflowNumber };
    },
    onError: (runId, err) => log.warn({ err, runId }, 'the aggregates of an experiment were not computed; it is tried again'),
  });
  records.whenOutdated((run) => renewal.changed(run));
  const progressDeps = {
    tally: recentTallies(stored.tally),
    metricNames: scorers.metricNames,
    board: deps.progressBoard,
    leased: (experimentId: string) => deps.offered.running(experimentId),
    times: (experimentId: string) => ledger.times(experimentId),
    waits: deps.waits,
    models: deps.models,
  };
  const bucketDeps = {
    find: (id: string) => ledger.find(id),
    recorded: stored.recorded,
    scalesOf,
    records: {
      readPage: async (...[query, columns]: Parameters<typeof records.reads.readPage>) =>
        records.reads.readPage({ ...query, run: await withoutExpired(query.run, expiries) }, columns),
    },
    values: records.values,
    metricsOf: scorers.enabledMetrics,
    findColumnFor: (run: RunRef, filter: Parameters<typeof findColumnFor>[3]['filter']) =>
      findColumnFor(records.reads, scorers.definitions, run, { filter }),
    storedFilter: (run: RunRef, filter: Filter) => withAnnotatedIds(records.reads, run, filter),
  };
  const report: ReconcileReport = {
    started: ({ experimentId }) => log.info({ experimentId }, 'a run without a workflow was started'),
    ended: ({ experimentId }, reason) => log.warn({ experimentId, reason }, 'a run ended because its workflow did'),
    stuck: ({ experimentId, workflowId }, problem) =>
      log.error({ experimentId, workflowId, problem }, 'the workflow of a run does not get on'),
    failed: ({ experimentId }, err) => log.warn({ err, experimentId }, 'a run could not be looked after; it is tried again'),
  };
  let stuckRuns: readonly ExperimentRun[] = [];
  deps.telemetry.observe('assay_runs_stuck', () => [{ value: stuckRuns.length, labels: {} }]);
  /** By experiment and part of its rows. */
  const running = new Map<string, number>();
  deps.telemetry.observe('assay_rows_running', () => [
    { value: [...running.values()].reduce((sum, rows) => sum + rows, 0), labels: {} },
  ]);
  return {
    ledger,
    offered: deps.offered,
    notices,
    workflows,
    rows: rowsOfTrials(rememberedRows(deps.datasets.rowsOfRuns), ledger),
    rowLog: loggedRows({
      ledger,
      records,
      telemetry: deps.telemetry,
      recorded: stored.recorded,
      deleted: deps.deletedRows,
      keep: keepUnlessDeleted({ exists: (id) => ledger.exists(id), deleteRecords: stored.deleteRecords }),
    }),
    request: (experimentId, { runner, ...request }) =>
      requestRun({ ...starting, ...checks }, experimentId, {
        ...request,
        ...(runner ? { runner: sealRunner(deps.keyRing, experimentId, runner) } : {}),
      }),
    estimate: (seen, ...asked) =>
      estimateRun(
        {
          ...{ ...seen, checks, prompts: deps.prompts, models: deps.models, prices: deps.prices },
          ...{ rows: deps.datasets.rowsOfRuns, forgetSelection: deps.datasets.forgetSelection },
          defaultJudge: scorers.defaultJudge,
        },
        ...asked,
      ),
    control,
    async endRun(experimentId) {
      const run = await ledger.find(experimentId);
      if (run && isUnderWay(run.state)) await control.cancel(run);
    },
    progress: (run) => reportProgress(progressDeps, run),
    figuresSoFar: (run) => figuresSoFar(summing, run),
    progressOf: progressFractions({ metricIds: deps.experiments.metricIds, tallies: stored.tallies }),
    metricScales: scalesOf,
    metricBuckets: (projectId, experimentIds, filters) =>
      metricBuckets(bucketDeps, projectId, experimentIds, { and: [...filters] }),
    publishRunning({ experimentId }, part, rowsRunning) {
      if (rowsRunning > 0) running.set(`${experimentId}/${part}`, rowsRunning);
      else running.delete(`${experimentId}/${part}`);
      deps.progressBoard
        .publish(experimentId, part, rowsRunning)
        .catch((err: unknown) => log.debug({ err }, 'progress was not shown'));
    },
    async aggregatesNow(experimentId, failedRows) {
      const run = await ledger.find(experimentId);
      return run && sumUp(summing, { ...run, failedRows: failedRows ?? run.failedRows });
    },
    async sumUpAtRest({ runId }) {
      const run = await ledger.find(runId);
      if (run && !isUnderWay(run.state)) await ledger.setAggregates(runId, await settle(run));
    },
    async renewAggregates(experiment) {
      await outdated.note(experiment);
      renewal.changed(experiment);
    },
    changeFigures: (experiment, change) =>
      changeFigures(
        {
          ledger,
          enabledMetrics: scorers.enabledMetrics,
          sumUp: (run) => sumUp(summing, run),
          renew: (run) => renewal.changed(run),
        },
        experiment,
        change,
      ),
    settle,
    async reconcile() {
      stuckRuns = await reconcileRuns({ ...starting, settle, notify: (id) => notices.notify(id) }, report);
    },
    stuckRuns: () => stuckRuns,
    start: () => renewal.renewLeft(true),
    takeOver: () => outdated.freeAll(),
    stop: () => renewal.stop(),
    jobs: [{ name: 'renew-outdated-aggregates', every: 2 * MINUTE_MS, run: () => renewal.renewLeft(false) }],
  };
}
