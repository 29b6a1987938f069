import type { Logger } from 'pino';
import { BriefCache } from './briefCache.ts';
import type { Environment } from './childProcesses/childEnvironment.ts';
import { codeIsolation } from './childProcesses/codeIsolation.ts';
import { type Config, isLoopback } from './config.ts';
import type { CallGate } from './coordination/coordination.ts';
import { toExperimentRow } from './datasets/experimentRow.ts';
import { datasetRowStore, runRows } from './datasets/rowStore.ts';
import { ServiceError } from './errors.ts';
import { AggregateRenewal } from './experiments/aggregateRenewal.ts';
import type { ExperimentRow, ExperimentRun } from './experiments/experiment.ts';
import { keepStanding } from './experiments/keepStanding.ts';
import type { RunTally } from './experiments/progress.ts';
import { rememberedRows } from './experiments/rememberedRows.ts';
import type { RowLog } from './experiments/rowLog.ts';
import { RowMemory } from './experiments/rowMemory.ts';
import { type SumDeps, settleRun, sumUp } from './experiments/settleRun.ts';
import { standingRows } from './experiments/standingRows.ts';
import type { RunWorkflows } from './experiments/startRun.ts';
import { untilStored } from './experiments/untilStored.ts';
import { createOutboundGuard } from './integrations/outbound.ts';
import { openSecrets } from './integrations/sealing.ts';
import { type KeyRing, openKeyRing } from './integrations/secrets.ts';
import { createExpiries } from './projects/retention.ts';
import { handlerClasses } from './providers/handlers/handlerProcess.ts';
import { createModelCaller } from './providers/modelCaller.ts';
import { type DeleteDeps, deleteStraySpans, eraseTraces } from './records/delete.ts';
import { type OnRecordsDeleted, recordErasure } from './records/eraseRecords.ts';
import { logTraces } from './records/ingest.ts';
import { RecordWriter } from './records/recordWriter.ts';
import { standingValues } from './records/standingValues.ts';
import { thawMetric } from './scorers/frozenMetric.ts';
import type { EnabledMetric } from './scorers/resolveMetrics.ts';
import { runScorers } from './scorers/runSettings.ts';
import type { ScoringWorkflows } from './scoring/scoring.ts';
import { datasetRows } from './stores/clickhouse/datasetRows.ts';
import { recordedRows, runTally } from './stores/clickhouse/experimentRecords.ts';
import { clickhouseStraddling } from './stores/clickhouse/expiredRecords.ts';
import { clickhouseMarks } from './stores/clickhouse/markedValues.ts';
import { clickhouseMetricValues } from './stores/clickhouse/metricValues.ts';
import { clickhouseDeleteRecords, clickhouseRecordEraser, straySpans } from './stores/clickhouse/recordDeletion.ts';
import { clickHouseRecordReads } from './stores/clickhouse/recordReads.ts';
import { clickhouseRecordStore } from './stores/clickhouse/recordStore.ts';
import { systemAggregates } from './stores/clickhouse/systemAggregates.ts';
import type { Stores } from './stores/open.ts';
import { postgresAnnotations } from './stores/postgres/annotations.ts';
import { datasetStore } from './stores/postgres/datasets.ts';
import { postgresRunLedger } from './stores/postgres/experiments.ts';
import { postgresFrozenMetrics } from './stores/postgres/frozenMetrics.ts';
import { postgresHeldUpdates } from './stores/postgres/heldUpdates.ts';
import { postgresIntegrations } from './stores/postgres/integrations.ts';
import { advisoryLocks } from './stores/postgres/locks.ts';
import { postgresOfferedRows } from './stores/postgres/offeredRows.ts';
import { postgresOutdatedAggregates } from './stores/postgres/outdatedAggregates.ts';
import { promptStore } from './stores/postgres/prompts.ts';
import { postgresDeletedRows, postgresDeletionWishes, postgresErasures } from './stores/postgres/recordDeletions.ts';
import { postgresRetention } from './stores/postgres/retention.ts';
import { scorerStore } from './stores/postgres/scorers.ts';
import { postgresScorings } from './stores/postgres/scorings.ts';

/** Milliseconds for which a run's count of rows is good enough to show. */
const TALLY_GOOD_MS = 250;

export type Domain = ReturnType<typeof assembleDomain>;

/** An address for callers elsewhere, or a proxy that passes them on: a loopback `HOST` no longer says that a caller is on this machine. */
const isForOthers = ({ PUBLIC_URL, TRUSTED_PROXIES }: Config): boolean => PUBLIC_URL !== undefined || TRUSTED_PROXIES.length > 0;

/** What the api and the workers both stand on, built from open stores and the configuration. */
export function assembleDomain(
  stores: Stores,
  workflows: RunWorkflows & ScoringWorkflows,
  config: Config,
  secretKeys: string,
  log: Logger,
  environment: Environment,
) {
  const { clickhouse, database, coordination, notices } = stores;
  const keyRing: KeyRing = openKeyRing(secretKeys);
  const outbound = createOutboundGuard({
    allow: config.OUTBOUND_ALLOW,
    allowLoopback: clickhouse.isEmbedded && isLoopback(config.HOST) && !isForOthers(config),
  });
  const integrations = postgresIntegrations(database);
  const scorers = scorerStore(database);
  const scorings = postgresScorings(database);
  const datasets = datasetStore(database);
  const datasetTables = datasetRows(clickhouse);
  const limits = { rows: config.DATASET_ROWS, columns: config.DATASET_COLUMNS };
  const datasetDeps = { datasets, rows: datasetTables, limits };
  const ofDatasets = datasetRowStore(datasetDeps);
  const ofRuns = runRows(datasetDeps);
  const recordStore = clickhouseRecordStore(clickhouse);
  const eraser = clickhouseRecordEraser(clickhouse);
  /** What else belongs to records and goes with them. */
  const annotations = postgresAnnotations(database);
  const heldUpdates = postgresHeldUpdates(database, {
    updates: config.HELD_UPDATES,
    bytes: config.HELD_UPDATES_MB * 1024 * 1024,
  });
  const onRecordsDeleted: readonly OnRecordsDeleted[] = [annotations.forgetRecords, heldUpdates.forgetRecords];
  const erasureNotes = postgresErasures(database);
  const retention = postgresRetention(database);
  const erasure = recordErasure({ eraser, notes: erasureNotes, onRecordsDeleted });
  const recordWriter = new RecordWriter({
    store: recordStore,
    guard: erasure.guard,
    held: heldUpdates,
    ...(config.DATABASE_URL ? { withLocks: advisoryLocks(database) } : {}),
  });
  const deletion: DeleteDeps = {
    reads: clickHouseRecordReads(clickhouse),
    eraser,
    erasure,
    wishes: postgresDeletionWishes(database),
    forgetHeldUpdates: heldUpdates.forget,
    writer: recordWriter,
    onDeleted: (run) => renewal.changed(run),
    now: () => new Date(),
  };
  // While Redis is lost calls wait for their permit: what is under way goes on, and no row starts over.
  const calls: CallGate = {
    enter: (key, limits, options) =>
      untilStored(
        () => coordination.calls.enter(key, limits, options),
        options.signal,
        (err) => log.error({ err }, 'no permit could be had for a call; it is tried again'),
      ),
    changed: coordination.calls.changed,
  };
  const models = createModelCaller({
    integrations,
    openSecrets: (integration) => openSecrets(keyRing, integration),
    outbound,
    handlers: {
      directory: config.HANDLERS_DIR,
      isolation: codeIsolation(handlerClasses, config, environment, log),
      memoryMb: config.RUNNER_MEMORY_MB,
    },
    calls,
  });

  // Clients, pages and workers ask for the same count at the same time. A run that has just ended or come to rest is counted anew: nothing follows
  // that would correct an older count.
  const tallies = new BriefCache<RunTally>({ ttlMs: TALLY_GOOD_MS, maxEntries: 1_000 });
  const tally = async (
    run: Pick<ExperimentRun, 'projectId' | 'experimentId'> & Partial<Pick<ExperimentRun, 'state'>>,
    metrics: string[],
    isAtRest = false,
  ): Promise<RunTally> =>
    (await tallies.get(`${run.experimentId}/${run.state ?? ''}/${isAtRest}/${metrics.join('/')}`, () =>
      runTally(clickhouse, run, metrics),
    )) as RunTally;

  const rows = rememberedRows({
    async page({ source, experimentId }, from, to): Promise<ExperimentRow[]> {
      const read =
        source.kind === 'dataset'
          ? ofDatasets.page(source.datasetId, source.versionIndex, from, to)
          : ofRuns.page(experimentId, from, to);
      return (await read).map(toExperimentRow);
    },
    ids: ({ source, experimentId }, from, to) =>
      source.kind === 'dataset'
        ? ofDatasets.ids(source.datasetId, source.versionIndex, from, to)
        : ofRuns.ids(experimentId, from, to),
  });
  const ledger = postgresRunLedger(database);
  const frozenMetrics = postgresFrozenMetrics(database);
  const metricsOf = (run: Pick<ExperimentRun, 'projectId' | 'experimentId'>): Promise<EnabledMetric[]> =>
    runScorers(scorers, run.projectId, run.experimentId);
  const keep = keepStanding({ exists: (id) => ledger.exists(id), deleteRecords: clickhouseDeleteRecords(clickhouse) });
  const rowLog: RowLog = standingRows(
    {
      recorded: (run, traceIds) => recordedRows(clickhouse, run, traceIds),
      write: (run, traces, attempt) =>
        keep(run, async () => {
          // Somebody may have terminated the workflow: nothing is recorded once the run says that it has ended.
          if (!(await ledger.goesOn(run.experimentId, run.workflowNumber)))
            throw new ServiceError('Conflict', `the run of experiment ${run.experimentId} has ended`);
          await logTraces(recordWriter, { projectId: run.projectId, runId: run.experimentId }, traces, { attempt });
        }),
    },
    {
      deleted: postgresDeletedRows(database),
      erase: ({ projectId, experimentId }, traceIds) => eraseTraces(deletion, { projectId, runId: experimentId }, traceIds),
    },
  );
  const metricValues = standingValues(clickhouseMetricValues(clickhouse), { store: eraser, writer: recordWriter });
  /** The metrics that the values of a run were made by; of a run that never began, those of its settings beside them. */
  const scoredMetrics = async (run: Pick<ExperimentRun, 'projectId' | 'experimentId'>): Promise<EnabledMetric[]> => {
    const began = (await frozenMetrics.ofRun(run.experimentId)) !== undefined;
    const frozen = (await frozenMetrics.newest(run.experimentId)).map(thawMetric);
    if (began) return frozen;
    const others = (await metricsOf(run)).filter(({ scorerId }) => !frozen.some((one) => one.scorerId === scorerId));
    return [...frozen, ...others];
  };
  const summing: SumDeps = {
    systemAggregates: (of) => systemAggregates(clickhouse, of),
    values: metricValues,
    metricsOf: scoredMetrics,
  };
  const outdated = postgresOutdatedAggregates(database);
  const renewal = new AggregateRenewal({
    outdated,
    async compute({ runId }) {
      const run = await ledger.find(runId);
      return run && { aggregates: await sumUp(summing, run), workflowNumber: run.workflowNumber };
    },
    onError: (runId, err) => log.warn({ err, runId }, 'the aggregates of an experiment were not computed; it is tried again'),
  });
  recordWriter.whenOutdated((run) => renewal.changed(run));
  return {
    clickhouse,
    database,
    coordination,
    notices,
    workflows,
    log,
    keyRing,
    outbound,
    integrations,
    scorers,
    scorings,
    datasets,
    datasetTables,
    datasetDeps,
    ofDatasets,
    ofRuns,
    prompts: promptStore(database),
    recordStore,
    recordWriter,
    heldUpdates,
    metricValues,
    deletion,
    retention,
    expiries: createExpiries({ store: retention, straddling: clickhouseStraddling(clickhouse) }),
    erasureNotes,
    onRecordsDeleted,
    annotations,
    models,
    calls,
    ledger,
    keepStanding: keep,
    offered: postgresOfferedRows(database),
    rows,
    rowLog,
    runnersDir: config.RUNNERS_DIR,
    runnerMemoryMb: config.RUNNER_MEMORY_MB,
    frozenMetrics,
    metricsOf,
    scoredMetrics,
    /** Names of the metrics that the newest workflow of an experiment computes, or will. */
    async metricNames(run: ExperimentRun): Promise<string[]> {
      const frozen = await frozenMetrics.ofRun(run.experimentId);
      const metrics = frozen?.number === run.workflowNumber ? frozen.metrics.map(thawMetric) : await metricsOf(run);
      return metrics.map(({ name }) => name);
    },
    tally,
    outdated,
    rowMemory: new RowMemory(config.ROW_MEMORY_MB * 1024 * 1024),
    renewal,
    /** Tidies and sums up what a run has recorded. */
    settleRecords: (run: ExperimentRun) =>
      settleRun(
        {
          ...summing,
          deleteStraySpans: ({ projectId, experimentId: runId }) =>
            deleteStraySpans(deletion, (of) => straySpans(clickhouse, of), { projectId, runId }),
          // What somebody has asked to be computed again stays marked.
          unmark: async ({ projectId, experimentId: runId }) => {
            const open = await scorings.marked(runId);
            await clickhouseMarks(clickhouse).unmark(
              { projectId, runId },
              open.flatMap(({ scorerIds }) => scorerIds),
            );
          },
        },
        run,
      ),
  };
}

/** Repeats `work` every `ms`, never twice at once; what it throws is logged and tried again. @returns stops it, after the one under way */
export function repeat(ms: number, work: () => Promise<unknown>, log: Logger, what: string): () => Promise<void> {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= work()
      .then(
        () => undefined,
        (err: unknown) => log.warn({ err }, `${what} failed; it is tried again`),
      )
      .finally(() => {
        running = undefined;
      });
  }, ms);
  return async () => {
    clearInterval(timer);
    await running;
  };
}
