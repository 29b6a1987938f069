import type { Logger } from 'pino';
import { openAccounts } from './accounts/openAccounts.ts';
import { createAnnotationReads } from './annotations/createAnnotationReads.ts';
import { createAssetAccess } from './assets/assetAccess.ts';
import type { Environment } from './childProcesses/childEnvironment.ts';
import { codeIsolation, otherUser } from './childProcesses/codeIsolation.ts';
import { createCodeSandbox } from './codeMetrics/codeSandbox.ts';
import { interpreters } from './codeMetrics/sandboxProcess.ts';
import { openComparisons } from './comparison/openComparisons.ts';
import { allowsLoopback, type Config } from './config/config.ts';
import type { ExtensionWorkflows } from './datasetExtensions/extension.ts';
import { openExtensions } from './datasetExtensions/openExtensions.ts';
import { openDatasets } from './datasets/openDatasets.ts';
import { gateThatShowsWaits } from './experiments/gateThatShowsWaits.ts';
import { openExperiments } from './experiments/openExperiments.ts';
import { retryingCallGate } from './experiments/retryingCallGate.ts';
import type { RunWorkflows } from './experiments/startRun.ts';
import { withUnaskedMetrics } from './experiments/unaskedMetrics.ts';
import { fileMetadata } from './files/fileMetadata.ts';
import type { GateRequest } from './gate/gate.ts';
import { gateExperiment } from './gate/gateExperiment.ts';
import { newId } from './identifiers/ids.ts';
import { openIntegrations } from './integrations/openIntegrations.ts';
import { parseSecretKeys } from './integrations/secrets.ts';
import type { RecurringJob } from './maintenance/recurringJob.ts';
import { createModelCaller } from './modelCalls/modelCaller.ts';
import { openPlayground } from './playground/openPlayground.ts';
import { openPlaygroundLimits } from './playground/playgroundLimits.ts';
import { openPrices } from './prices/openPrices.ts';
import { openProjects } from './projects/openProjects.ts';
import { createExpiries, withoutExpired } from './projects/retention.ts';
import type { RunRef } from './projects/runs.ts';
import { handlerClasses } from './providers/handlers/handlerProcess.ts';
import type { FileReads } from './records/fileReads.ts';
import { columnFinder } from './records/findColumn.ts';
import { openRecords } from './records/openRecords.ts';
import { createJudgeDrafts } from './scorers/draftJudge.ts';
import { createCodeGenerations } from './scorers/generateCode.ts';
import { openScorers } from './scorers/openScorers.ts';
import { presetById } from './scorers/presets.ts';
import { createCodeValidations } from './scorers/validateCode.ts';
import { lacksAny } from './scoring/lacksAny.ts';
import { openScoring } from './scoring/openScoring.ts';
import type { ScoringWorkflows } from './scoring/scoring.ts';
import type { ClickHouse } from './stores/clickhouse/clickHouse.ts';
import { settledReads } from './stores/clickhouse/embedded/settledReads.ts';
import { clickhouseComparisonReads } from './stores/clickhouse/reads/comparisonReads.ts';
import { clickhouseExpired, clickhouseStraddling } from './stores/clickhouse/reads/expiredRecords.ts';
import { clickhouseMarks } from './stores/clickhouse/reads/markedValues.ts';
import { clickhouseRecordReader } from './stores/clickhouse/reads/recordReader.ts';
import { clickHouseRecordReads } from './stores/clickhouse/reads/recordReads.ts';
import { clickhouseRecordStream } from './stores/clickhouse/reads/recordStream.ts';
import { clickhouseRootTypes } from './stores/clickhouse/reads/rootTypes.ts';
import { clickhouseNewestRecords, clickhouseRunCounts } from './stores/clickhouse/reads/runCounts.ts';
import { runUsage } from './stores/clickhouse/reads/runUsage.ts';
import { systemAggregates } from './stores/clickhouse/reads/systemAggregates.ts';
import { datasetRows } from './stores/clickhouse/writes/datasetRows.ts';
import { deleteAttempts, recordedRows, runTallies, runTally } from './stores/clickhouse/writes/experimentRecords.ts';
import { clickhouseMetricValues } from './stores/clickhouse/writes/metricValues.ts';
import { clickhouseLateRows } from './stores/clickhouse/writes/misplacedRows.ts';
import {
  clickhouseDeleteRecords,
  clickhouseRecordEraser,
  clickhouseStillStored,
  straySpans,
} from './stores/clickhouse/writes/recordDeletion.ts';
import { clickhouseRecordStore } from './stores/clickhouse/writes/recordStore.ts';
import type { Stores } from './stores/open.ts';
import { postgresAccounts } from './stores/postgres/accounts.ts';
import { postgresAnnotations } from './stores/postgres/annotations.ts';
import { postgresAssets } from './stores/postgres/assetAccess.ts';
import { postgresCodeGenerations } from './stores/postgres/codeGenerations.ts';
import { postgresCodeValidations } from './stores/postgres/codeValidations.ts';
import { postgresDatasetExtensions } from './stores/postgres/datasetExtensions.ts';
import { datasetStore } from './stores/postgres/datasets.ts';
import { postgresDefaultJudges } from './stores/postgres/defaultJudges.ts';
import { postgresExperiments } from './stores/postgres/experimentStore.ts';
import { postgresRunLedger } from './stores/postgres/experiments.ts';
import { postgresFiles } from './stores/postgres/files.ts';
import { postgresFrozenMetrics } from './stores/postgres/frozenMetrics.ts';
import { postgresHealthScores } from './stores/postgres/healthScores.ts';
import { postgresHeldUpdates } from './stores/postgres/heldUpdates.ts';
import { postgresIntegrations } from './stores/postgres/integrations.ts';
import { postgresJudgeDrafts } from './stores/postgres/judgeDrafts.ts';
import { advisoryLocks } from './stores/postgres/locks.ts';
import { postgresLogStreams } from './stores/postgres/logStreams.ts';
import { postgresMetricsTestingRuns } from './stores/postgres/metricsTestingRuns.ts';
import { postgresOfferedRows } from './stores/postgres/offeredRows.ts';
import { postgresOutdatedAggregates } from './stores/postgres/outdatedAggregates.ts';
import { postgresPlaygroundCalls } from './stores/postgres/playgroundCalls.ts';
import { postgresProjects } from './stores/postgres/projects.ts';
import { promptStore } from './stores/postgres/prompts.ts';
import { postgresDeletedRows, postgresDeletionRequests, postgresErasures } from './stores/postgres/recordDeletions.ts';
import { postgresRetention } from './stores/postgres/retention.ts';
import { scorerStore } from './stores/postgres/scorers.ts';
import { postgresScorings } from './stores/postgres/scorings.ts';
import { postgresSweepClock } from './stores/postgres/sweepClock.ts';
import { postgresWaitingTraces } from './stores/postgres/waitingTraces.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

export type Domain = ReturnType<typeof assembleDomain>;

/** Opens every module over the stores and the other modules. The api and the workers both stand on them. */
export function assembleDomain(
  opened: Stores,
  workflows: RunWorkflows & ScoringWorkflows & ExtensionWorkflows,
  config: Config,
  secretKeys: string,
  log: Logger,
  telemetry: Telemetry,
  environment: Environment,
) {
  const { clickhouse: engine, database, coordination, notices } = opened;
  const clickhouse: ClickHouse = opened.updates ? settledReads(engine, () => records.writer.unsettled) : engine;
  const stores = { ...opened, clickhouse };
  const ledger = postgresRunLedger(database);
  const experimentStore = postgresExperiments(database);
  const annotationStore = postgresAnnotations(database);
  const retention = postgresRetention(database);
  const prompts = promptStore(database);
  const scorings = postgresScorings(database);
  const files = postgresFiles(database);
  const fileReads: FileReads = {
    files: async (projectId, ids) => new Map((await files.find(projectId, ids)).map((file) => [file.id, fileMetadata(file)])),
  };
  const marks = clickhouseMarks(clickhouse, fileReads);
  const reads = clickHouseRecordReads(clickhouse);
  const deleteRecords = clickhouseDeleteRecords(clickhouse);
  const expiries = createExpiries({ store: retention, straddling: clickhouseStraddling(clickhouse) });

  const accounts = openAccounts({
    accounts: postgresAccounts(database),
    secretKeys: parseSecretKeys(secretKeys),
    logins: coordination.logins,
    attempts: coordination.attempts,
  });
  const assets = createAssetAccess(postgresAssets(database), (id) => presetById(id) !== undefined);
  const integrations = openIntegrations(postgresIntegrations(database), secretKeys, {
    allow: config.OUTBOUND_ALLOW,
    allowLoopback: clickhouse.isEmbedded && allowsLoopback(config),
  });
  const retrying = retryingCallGate(coordination.calls, (err) =>
    log.error({ err }, 'no permit could be had for a call; it is tried again'),
  );
  const calls = gateThatShowsWaits(retrying, (runId, wait) => {
    coordination.waits.publish(runId, wait).catch((err: unknown) => log.debug({ err }, 'what a run waits for was not shown'));
  });
  const prices = openPrices(integrations.store);
  const models = createModelCaller({
    prices,
    files,
    integrations: integrations.store,
    openSecrets: integrations.openSecrets,
    outbound: integrations.outbound,
    handlers: {
      directory: config.HANDLERS_DIR,
      isolation: codeIsolation(handlerClasses, config, environment, log),
      memoryMb: config.RUNNER_MEMORY_MB,
    },
    calls,
    telemetry,
  });
  const scorers = openScorers(scorerStore(database), postgresFrozenMetrics(database), postgresDefaultJudges(database));
  const annotations = createAnnotationReads(annotationStore, clickhouseRootTypes(clickhouse, expiries.of));
  const datasets = openDatasets({
    datasets: datasetStore(database),
    rows: datasetRows(clickhouse),
    limits: { rows: config.DATASET_ROWS, columns: config.DATASET_COLUMNS },
  });
  const extensions = openExtensions({
    datasets: datasets.deps,
    extensions: postgresDatasetExtensions(database),
    workflows,
    models,
    onError: (datasetId, err) => log.warn({ err, datasetId }, 'the rows of a dataset could not be begun; it is tried again'),
  });
  const records = openRecords({
    store: clickhouseRecordStore(engine),
    reads: {
      ...reads,
      ...annotations,
      ...fileReads,
      metricResults: withUnaskedMetrics(reads.metricResults, scorers.store, ledger),
    },
    reader: clickhouseRecordReader(clickhouse),
    values: clickhouseMetricValues(clickhouse),
    eraser: clickhouseRecordEraser(engine),
    expired: clickhouseExpired(clickhouse),
    late: clickhouseLateRows(clickhouse),
    erasures: postgresErasures(database),
    deletions: postgresDeletionRequests(database),
    heldUpdates: postgresHeldUpdates(database, {
      updates: config.HELD_UPDATES,
      bytes: config.HELD_UPDATES_MB * 1024 * 1024,
    }),
    journal: opened.updates,
    onUpdateLost: (err) => log.error({ err }, 'an update that was answered could not be made'),
    withLocks: config.DATABASE_URL ? advisoryLocks(database) : undefined,
    prices,
    metrics: scorers.definitions,
    retention,
    expiries,
    deleteAll: [deleteAttempts(clickhouse), deleteRecords],
    onRecordsDeleted: [annotationStore.forgetRecords],
    telemetry,
    rootWaitMs: config.OTEL_ROOT_WAIT_SECONDS * 1_000,
    onStubTracesKept: (err) => log.warn({ err }, 'traces whose root has not come could not be opened'),
    sweepState: postgresSweepClock(database),
    waitingTraces: postgresWaitingTraces(database),
    onSweepHeld: (reason) => log.warn(reason),
    onEmptySessionsKept: (err) => log.warn({ err }, 'sessions that their traces have left could not be removed'),
    onUpdatesExpired: (expired) => log.warn({ expired }, 'updates were dropped whose records did not come within a day'),
  });
  const projects = openProjects({
    projects: postgresProjects(database),
    logStreams: postgresLogStreams(database),
    expiries,
    openMetricsTesting: postgresMetricsTestingRuns(database),
    deleteRecords: records.deleteAll,
    stillStored: clickhouseStillStored(clickhouse, ['row_attempts']),
    runCounts: clickhouseRunCounts(clickhouse, expiries.of),
    newestRecords: clickhouseNewestRecords(clickhouse),
    forgetCallers: () => accounts.credentials.forget(),
    firstLogMakes: config.FIRST_LOG_MAKES,
    log,
  });
  const playgroundBudget = openPlaygroundLimits({
    store: postgresPlaygroundCalls(database),
    prices,
    now: () => new Date(),
    log,
  });
  const playground = openPlayground({
    ...{ prompts, assets, models, logStreams: projects.logStreams, writer: records.writer },
    budget: playgroundBudget,
    log,
  });
  const sandbox = createCodeSandbox({
    isOn: config.CODE_METRICS,
    processes: config.CODE_METRIC_PROCESSES,
    callMs: config.CODE_METRIC_SECONDS * 1_000,
    memoryMb: config.CODE_METRIC_MEMORY_MB,
    user: (language) => otherUser(config, interpreters[language]),
    onBroken: (err) => log.error({ err }, 'no interpreter could be started, so metrics of code have no values'),
  });
  const scoring = openScoring({
    sandbox,
    scorings,
    marks,
    workflows,
    scorers,
    ledger,
    models,
    records,
    stream: clickhouseRecordStream(clickhouse),
    expiries,
    asksAgain: config.JUDGE_ASKS_AGAIN,
    log,
  });
  const experiments = openExperiments({
    ledger,
    experiments: experimentStore,
    offered: postgresOfferedRows(database),
    outdated: postgresOutdatedAggregates(database),
    workflows,
    progressBoard: coordination.progress,
    waits: coordination.waits,
    notices,
    datasets,
    prompts,
    models,
    prices,
    outbound: integrations.outbound,
    keyRing: integrations.keyRing,
    scorers,
    sandbox,
    scorings,
    marks,
    lacksAny: (run, of) => lacksAny({ marks, metrics: scoring.metrics }, run, of),
    records,
    expiries,
    runnersDir: config.RUNNERS_DIR,
    stored: {
      tally: (run, metrics) => runTally(clickhouse, run, metrics),
      tallies: (runs, metricIds) => runTallies(clickhouse, runs, metricIds),
      recorded: (run, traceIds) => recordedRows(clickhouse, run, traceIds),
      straySpans: (run) => straySpans(clickhouse, run),
      systemAggregates: (run) => systemAggregates(clickhouse, run),
      usage: ({ projectId, experimentId: runId }) => runUsage(clickhouse, { projectId, runId }),
      deleteRecords,
    },
    deletedRows: postgresDeletedRows(database),
    telemetry,
    log,
  });
  const comparing = {
    find: experimentStore.find,
    unexpired: (run: RunRef) => withoutExpired(run, expiries),
    metricsOf: scorers.scoredMetrics,
    reads: clickhouseComparisonReads(clickhouse),
  };
  const comparisons = openComparisons({ ...comparing, findColumn: columnFinder([]), records: records.reads });
  const gating = {
    ...comparing,
    compare: comparisons.compare,
    lastFinished: experimentStore.lastFinished,
    aggregatesNow: experiments.aggregatesNow,
    waiting: async (run: RunRef) => (await records.values.counts(run)).waiting,
  };
  const jobs: readonly RecurringJob[] = [
    ...projects.jobs,
    ...records.jobs,
    ...datasets.jobs,
    ...extensions.jobs,
    ...scoring.jobs,
    ...experiments.jobs,
  ];
  return {
    stores,
    log,
    telemetry,
    workflows,
    accounts,
    assets,
    integrations,
    prices,
    calls,
    models,
    prompts,
    scorers,
    annotationStore,
    annotations,
    datasets,
    extensions,
    retention,
    expiries,
    records,
    projects,
    playground,
    playgroundBudget,
    sandbox,
    files,
    healthScores: postgresHealthScores(database),
    judgeDrafts: createJudgeDrafts({
      models,
      store: postgresJudgeDrafts(database),
      newId,
      onError: (err) => log.warn({ err }, 'a judge could not be written, or not stored'),
    }),
    codeValidations: createCodeValidations({
      store: postgresCodeValidations(database),
      sandbox,
      newId,
      onError: (err) => log.warn({ err }, 'what came of a check of code could not be stored'),
    }),
    codeGenerations: createCodeGenerations({
      store: postgresCodeGenerations(database),
      sandbox,
      models,
      newId,
      onError: (err) => log.warn({ err }, 'the code of a metric could not be written'),
    }),
    scoring,
    experimentStore,
    experiments,
    comparisons,
    gateExperiment: (projectId: string, request: GateRequest, signal?: AbortSignal) =>
      gateExperiment(gating, projectId, request, signal),
    jobs,
    /** For the start of the only process: what its predecessor was at work on is free again. */
    async takeOver() {
      await records.takeOver();
      await experiments.takeOver();
    },
    /** Ends what goes on by itself. */
    async stop() {
      await records.stop();
      await scoring.stop();
      await experiments.stop();
      await comparisons.stop();
      await sandbox.close();
    },
  };
}
