import type { Express } from 'express';
import { accountKeys } from '../shared/accounts/accountKeys.ts';
import { type Administrator, ensureAdministrator } from '../shared/accounts/administrator.ts';
import { createCredentials } from '../shared/accounts/credentials.ts';
import { createPasswords } from '../shared/accounts/passwords.ts';
import type { Caller, ProjectAction } from '../shared/accounts/permissions.ts';
import { createTokens } from '../shared/accounts/tokens.ts';
import { createAnnotationReads } from '../shared/annotations/annotationReads.ts';
import { withAnnotatedIds } from '../shared/annotations/fullyAnnotated.ts';
import { type Domain, repeat } from '../shared/assemble.ts';
import { createAssetAccess } from '../shared/assets/assetAccess.ts';
import type { Config } from '../shared/config.ts';
import { purgeUnusedRows } from '../shared/datasets/purge.ts';
import { storeRunRows } from '../shared/datasets/rowStore.ts';
import { RequestInvalid, ServiceError } from '../shared/errors.ts';
import { type ExperimentRun, hasEnded } from '../shared/experiments/experiment.ts';
import { metricBuckets } from '../shared/experiments/metricBuckets.ts';
import { type RunChecks, type RunRequest, requestRun } from '../shared/experiments/prepareRun.ts';
import { progressFractions, runProgress } from '../shared/experiments/progress.ts';
import { type ReconcileReport, reconcileRuns } from '../shared/experiments/reconcileRuns.ts';
import { sealRunner } from '../shared/experiments/runnerHeaders.ts';
import { runnerModulePath } from '../shared/experiments/runnerModulePath.ts';
import { runControl } from '../shared/experiments/steerRun.ts';
import { newId } from '../shared/ids.ts';
import { OutboundRefused } from '../shared/integrations/outbound.ts';
import { parseSecretKeys } from '../shared/integrations/secrets.ts';
import { createProjectAccess } from '../shared/projects/access.ts';
import { deleteWithRecords, finishDeletions } from '../shared/projects/deletions.ts';
import { createIngestLookup } from '../shared/projects/openRun.ts';
import { unexpired } from '../shared/projects/retention.ts';
import { createRunLookup, type DeleteRecords } from '../shared/projects/runs.ts';
import { checkPrompt } from '../shared/prompts/render.ts';
import { findColumnFor } from '../shared/records/columnCatalog.ts';
import { finishDeletions as finishRecordsDeletions } from '../shared/records/delete.ts';
import type { RecordReads } from '../shared/records/searchRecords.ts';
import { unexpiredReader } from '../shared/records/unexpiredReader.ts';
import { metricDefinitions } from '../shared/scorers/metricDefinitions.ts';
import { namedScorers } from '../shared/scorers/namedScorers.ts';
import { projectMetricColumns, scorersOfRun } from '../shared/scorers/runSettings.ts';
import { scorersSeenBy } from '../shared/scorers/scorersSeenBy.ts';
import { withUnaskedMetrics } from '../shared/scorers/unaskedMetrics.ts';
import { createScoringStarter } from '../shared/scoring/startScoring.ts';
import { deleteAttempts, runTallies } from '../shared/stores/clickhouse/experimentRecords.ts';
import { clickhouseMarks } from '../shared/stores/clickhouse/markedValues.ts';
import { clickhouseMetricTimeline } from '../shared/stores/clickhouse/metricTimeline.ts';
import { clickhouseDeleteRecords } from '../shared/stores/clickhouse/recordDeletion.ts';
import { clickhouseRecordReader } from '../shared/stores/clickhouse/recordReader.ts';
import { clickHouseRecordReads } from '../shared/stores/clickhouse/recordReads.ts';
import { clickhouseRecordStream } from '../shared/stores/clickhouse/recordStream.ts';
import { recordsToCopy } from '../shared/stores/clickhouse/recordsToCopy.ts';
import { clickhouseRunCounts } from '../shared/stores/clickhouse/runCounts.ts';
import { clickhouseTraceGraph } from '../shared/stores/clickhouse/traceGraph.ts';
import type { Stores } from '../shared/stores/open.ts';
import { postgresAccounts } from '../shared/stores/postgres/accounts.ts';
import { postgresAssets } from '../shared/stores/postgres/assetAccess.ts';
import { collaboratorStore } from '../shared/stores/postgres/collaborators.ts';
import { postgresExperimentGroups } from '../shared/stores/postgres/experimentGroups.ts';
import { postgresExperiments } from '../shared/stores/postgres/experimentStore.ts';
import { postgresJobs } from '../shared/stores/postgres/jobs.ts';
import { postgresLogStreams } from '../shared/stores/postgres/logStreams.ts';
import { postgresMetricsTestingRuns } from '../shared/stores/postgres/metricsTestingRuns.ts';
import { postgresProjects } from '../shared/stores/postgres/projects.ts';
import { postgresRunTags } from '../shared/stores/postgres/runTags.ts';
import { together } from '../shared/together.ts';
import type { Filter } from '../shared/wire/filters.ts';
import { createApp } from './app.ts';
import { createGate } from './authenticate.ts';
import { openBodyBounds } from './bodyBounds.ts';
import { createClientAddresses } from './clientAddress.ts';
import { createHealth } from './health.ts';
import type { Gate } from './route.ts';
import { accountRoutes } from './routes/accounts.ts';
import { annotationQueueRoutes } from './routes/annotationQueues.ts';
import { annotationRecordRoutes } from './routes/annotationRecords.ts';
import { annotationTemplateRoutes } from './routes/annotationTemplates.ts';
import { collaboratorRoutes } from './routes/collaborators.ts';
import { datasetRoutes } from './routes/datasets.ts';
import { experimentGroupRoutes } from './routes/experimentGroups.ts';
import { experimentRunRoutes } from './routes/experimentRuns.ts';
import { experimentRoutes } from './routes/experiments.ts';
import { experimentTagRoutes } from './routes/experimentTags.ts';
import { exportRecordRoutes } from './routes/exportRecords.ts';
import { healthRoutes } from './routes/health.ts';
import { ingestCounterRoutes } from './routes/ingestCounters.ts';
import { integrationRoutes } from './routes/integrations.ts';
import { jobRoutes } from './routes/jobs.ts';
import { loginSessionRoutes } from './routes/loginSessions.ts';
import { logStreamRoutes } from './routes/logStreams.ts';
import { metricSearchRoutes } from './routes/metricSearch.ts';
import { metricSettingsRoutes } from './routes/metricSettings.ts';
import { metricsTestingRoutes } from './routes/metricsTesting.ts';
import { openTelemetryRoutes } from './routes/openTelemetry.ts';
import { projectRoutes } from './routes/projects.ts';
import { promptRoutes } from './routes/prompts.ts';
import { recomputeMetricsRoutes } from './routes/recomputeMetrics.ts';
import { recordColumnRoutes } from './routes/recordColumns.ts';
import { recordSearchRoutes } from './routes/recordSearch.ts';
import { retentionRoutes } from './routes/retention.ts';
import { scorerRoutes } from './routes/scorers.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { spanRoutes } from './routes/spans.ts';
import { traceGraphRoutes } from './routes/traceGraph.ts';
import { traceRoutes } from './routes/traces.ts';

export const VERSION = '0.1.0';

export interface Api {
  app: Express;
  /** Who may call what: for what else listens beside `app`. */
  gate: Gate;
  administrator: Administrator;
  /** Ends the work that the api does by itself. */
  stop(): Promise<void>;
}

export interface ApiSurroundings {
  pingTemporal(): Promise<void>;
  /** Sees to what our workflows find in Temporal. */
  prepareTemporal(): Promise<void>;
  /** Called with the first administrator's credentials before that account is created. */
  keepCredentials(credentials: { email: string; password: string; apiKey: string }): void;
  /** Parse every reply with its schema (tests). */
  checkReplies?: boolean;
}

/** Milliseconds between two looks at runs and their workflows: whoever terminates one in Temporal's own pages sees the run end within this time. */
const RECONCILE_RUNS_MS = 10_000;
/** Milliseconds between two looks at deletions and scorings that a crash cut off. */
const HEAL_MS = 30_000;
/** Milliseconds after which a deletion of records that nobody says to be at work on is taken over. */
const UNATTENDED_MS = 60_000;
/** Milliseconds after which records that were written are scored, and between two searches for those that a dead process had not announced. */
const NEW_RECORDS_MS = 1_000;
const UNSEEN_MS = 300_000;
/** Milliseconds between two looks at the experiments that clients fill, and between two at what processes that died have left of that. */
const RENEW_MS = 250;
const RENEW_LEFT_MS = 10_000;
const PURGE_MS = 3_600_000;
/** Rows stored for a run that never came to be are removed after this. */
const UNUSED_MS = 24 * 3_600_000;

/** Builds the api over the domain: accounts, gate, routes, and the work that goes on by itself. */
export async function assembleApi(
  domain: Domain,
  stores: Stores,
  config: Config,
  secretKeys: string,
  around: ApiSurroundings,
): Promise<Api> {
  const { database, ledger, workflows, log } = domain;
  const now = () => new Date();
  const deleteEveryRecord = clickhouseDeleteRecords(domain.clickhouse);
  const forgetAttempts = deleteAttempts(domain.clickhouse);
  const deleteRecords: DeleteRecords = async (projectId, runId) => {
    // The marker is there: writes that began before it end now, and later ones are refused.
    await domain.recordWriter.settled(projectId, runId);
    await forgetAttempts(projectId, runId);
    await deleteEveryRecord(projectId, runId);
    for (const tell of domain.onRecordsDeleted) await tell({ projectId, ...(runId === undefined ? {} : { runId }) });
  };
  const { expiries } = domain;
  const runCounts = clickhouseRunCounts(domain.clickhouse, expiries.of);
  const accounts = postgresAccounts(database);
  const projects = postgresProjects(database);
  const bodies = openBodyBounds({
    memoryBytes: config.BODIES_MB * 1024 * 1024,
    bytesPerSecond: config.BODY_BYTES_PER_SECOND,
  });
  const logStreams = postgresLogStreams(database);
  const keys = accountKeys(parseSecretKeys(secretKeys));
  const passwords = createPasswords({ atOnce: 2, waiting: 300, waitingOfOne: 100 });
  const credentials = createCredentials({
    accounts,
    passwords,
    tokens: createTokens(keys, now),
    loginCache: stores.coordination.logins,
    attempts: stores.coordination.attempts,
    keys,
    now,
    newId,
  });
  const access = createProjectAccess(projects);
  const assets = createAssetAccess(postgresAssets(database));
  const runLookup = createRunLookup(logStreams);
  const clients = createClientAddresses(config.TRUSTED_PROXIES);
  const gate = createGate({ credentials, access, assets, apiKeyHeaders: config.API_KEY_HEADERS, clients });
  const deletion = {
    deletions: projects,
    deleteRecords,
    newId,
    forget() {
      access.forget();
      runLookup.forget();
      credentials.forget();
    },
  };
  const starting = { ledger, workflows };
  const checks = runChecks(domain);
  const request = (experimentId: string, wish: RunRequest) =>
    requestRun({ ...starting, ...checks }, experimentId, {
      ...wish,
      ...(wish.runner ? { runner: sealRunner(domain.keyRing, experimentId, wish.runner) } : {}),
    });
  const progress = (run: ExperimentRun) =>
    runProgress(
      {
        tally: domain.tally,
        metricNames: domain.metricNames,
        board: stores.coordination.progress,
        times: (experimentId) => ledger.times(experimentId),
      },
      run,
    );

  const annotations = createAnnotationReads(domain.annotations);
  const stored = clickHouseRecordReads(domain.clickhouse);
  const metricResults = withUnaskedMetrics(stored.metricResults, domain.scorers, async (runId) => {
    const run = await ledger.find(runId);
    return run !== undefined && run.state !== 'idle' && !hasEnded(run.state);
  });
  const records: RecordReads = { ...stored, metricResults, ...annotations };
  const metrics = metricDefinitions(domain.scorers);
  const search = { records, findRun: unexpired(runLookup.find, expiries), metrics };
  const scoring = createScoringStarter({
    scorings: domain.scorings,
    workflows,
    marks: clickhouseMarks(domain.clickhouse),
    onError: (runId, err) => log.warn({ err, runId }, 'the scoring of a run could not be started; it is tried again'),
  });
  domain.recordWriter.whenStored(scoring.written);
  const recordDeps = {
    ...search,
    // An update changes, and a deletion takes, also what no read shows any more.
    findRun: runLookup.find,
    ingestRun: createIngestLookup(runLookup.find, postgresMetricsTestingRuns(database)),
    writer: domain.recordWriter,
    reading: { reader: unexpiredReader(clickhouseRecordReader(domain.clickhouse), expiries), reads: records },
    deletion: domain.deletion,
  };
  const queues = { annotations: domain.annotations, newId };
  const experiments = postgresExperiments(database);
  const jobs = postgresJobs(database);
  const experimentDeps = {
    experiments,
    groups: postgresExperimentGroups(database),
    tags: postgresRunTags(database),
    jobs,
    scorings: domain.scorings,
    scorers: domain.scorers,
    datasets: domain.datasets,
    assets,
    requestRun: request,
    newId,
    progressOf: progressFractions({
      metricIds: experiments.metricIds,
      tallies: (runs, metricIds) => runTallies(domain.clickhouse, runs, metricIds),
    }),
    countRecords: runCounts,
    cancelRun: cancelQuietly(domain),
    deleteRun: (projectId: string, runId: string) => deleteWithRecords(deletion, projectId, runId),
    metricColumns: (projectId: string) => projectMetricColumns(domain.scorers, projectId),
    metricBuckets: async (projectId: string, experimentIds: readonly string[], filters: readonly Filter[]) =>
      (
        await metricBuckets(
          {
            records: {
              page: async ({ run, ...query }) => {
                const expiry = await expiries.of(projectId, [run.runId]);
                return records.page({ ...query, run: expiry ? { ...run, expiry } : run });
              },
            },
            values: domain.metricValues,
            metricsOf: domain.metricsOf,
            findColumnFor: (run, filter) => findColumnFor(records, metrics, run, { filter }),
            storedFilter: (run, filter) => withAnnotatedIds(records, run, filter),
          },
          projectId,
          experimentIds,
          { and: [...filters] },
        )
      ).map(({ rollUp, outputType, ...bucket }) => ({ ...bucket, roll_up_method: rollUp, data_type: outputType })),
    authorizeProject: (caller: Caller, action: ProjectAction | 'read', projectId: string) =>
      gate.authorize(caller, { project: action }, projectId),
    linkTo: (projectId: string, experimentId: string) => `/projects/${projectId}/experiments/${experimentId}`,
  };

  /** Runs whose workflows do not get on, as the last look found. */
  let stuckRuns: readonly ExperimentRun[] = [];

  const administrator = await ensureAdministrator(
    { accounts, passwords, keep: around.keepCredentials },
    { email: config.ADMIN_EMAIL, password: config.ADMIN_PASSWORD, apiKey: config.ADMIN_API_KEY },
  );
  const endpoints = [
    ...healthRoutes({ health: createHealth(stores, around.pingTemporal, () => stuckRuns), version: VERSION }),
    ...accountRoutes({ accounts, passwords, credentials, access, clients, newId, now }),
    ...loginSessionRoutes({ accounts, passwords, credentials, clients, now }),
    ...projectRoutes({ projects, accounts, access, ...deletion }),
    ...retentionRoutes({ retention: domain.retention, expiries }),
    ...collaboratorRoutes({
      projects,
      access,
      assets,
      assetCollaborators: {
        dataset: collaboratorStore(database, 'dataset'),
        prompt: collaboratorStore(database, 'prompt'),
        integration: collaboratorStore(database, 'integration'),
      },
    }),
    ...logStreamRoutes({ logStreams, accounts, runCounts, ...deletion }),
    ...traceRoutes(recordDeps),
    ...spanRoutes(recordDeps),
    ...ingestCounterRoutes({ writer: recordDeps.writer, bodies: bodies.memory, heldUpdates: domain.heldUpdates.usage }),
    ...openTelemetryRoutes({
      writer: domain.recordWriter,
      projects,
      logStreams,
      findRun: runLookup.find,
      newId,
      authorizeProject: experimentDeps.authorizeProject,
    }),
    ...sessionRoutes(recordDeps),
    ...recordSearchRoutes(search),
    ...recordColumnRoutes(search),
    ...traceGraphRoutes({ ...search, graph: clickhouseTraceGraph(domain.clickhouse) }),
    ...metricsTestingRoutes({
      ...search,
      namedScorers: (caller, names) => namedScorers(scorersSeenBy(domain.scorers, assets, caller), names),
      assets,
      scorers: domain.scorers,
      stream: clickhouseRecordStream(domain.clickhouse),
    }),
    ...annotationQueueRoutes(queues),
    ...annotationTemplateRoutes(queues),
    ...annotationRecordRoutes({
      ...search,
      ...queues,
      stream: clickhouseRecordStream(domain.clickhouse),
      accounts,
      authorizeProject: experimentDeps.authorizeProject,
      unexpired: async (run) => {
        const expiry = await expiries.of(run.projectId, [run.runId]);
        return expiry ? { ...run, expiry } : run;
      },
      forget: annotations.forget,
      now,
    }),
    ...exportRecordRoutes({ ...search, stream: clickhouseRecordStream(domain.clickhouse) }),
    ...metricSearchRoutes({ ...search, timelines: clickhouseMetricTimeline(domain.clickhouse) }),
    ...integrationRoutes({
      store: domain.integrations,
      assets,
      keyRing: domain.keyRing,
      checkAddress: (url) => domain.outbound.check(url),
      newId,
    }),
    ...datasetRoutes({ ...domain.datasetDeps, gate, assets, readRecords: recordsToCopy(domain.clickhouse, expiries.before) }),
    ...promptRoutes({ ...domain.datasetDeps, prompts: domain.prompts, gate, assets }),
    ...scorerRoutes({ scorers: domain.scorers, gate, assets }),
    ...metricSettingsRoutes({ scorers: domain.scorers, assets }),
    ...recomputeMetricsRoutes({
      ...search,
      scorings: domain.scorings,
      start: scoring.start,
      metricsOf: (caller, run, scorerIds) =>
        scorersOfRun(scorersSeenBy(domain.scorers, assets, caller), run.projectId, run.runId, scorerIds),
    }),
    ...experimentRoutes(experimentDeps),
    ...experimentGroupRoutes(experimentDeps),
    ...experimentTagRoutes(experimentDeps),
    ...jobRoutes(experimentDeps),
    ...experimentRunRoutes({
      find: (experimentId) => ledger.find(experimentId),
      async mustSeePrompt(caller, versionId) {
        const version = await domain.prompts.version(versionId);
        if (!version || !(await assets.sees(caller, 'prompt', version.templateId))) throw noPromptVersion(versionId);
      },
      request,
      control: runControl(starting),
      caller: {
        rows: domain.rows,
        log: domain.rowLog,
        offered: domain.offered,
        notices: domain.notices,
        find: (experimentId) => ledger.find(experimentId),
        signal: workflows.signal,
        workflowProgress: workflows.progress,
      },
      progress,
    }),
  ];
  const app = createApp({
    endpoints,
    gate,
    log,
    apiKeyHeaders: config.API_KEY_HEADERS,
    checkReplies: around.checkReplies ?? false,
    publicUrl: config.PUBLIC_URL,
    bodies,
  });

  const reconciliation: ReconcileReport = {
    started: ({ experimentId }) => log.info({ experimentId }, 'a run without a workflow was started'),
    ended: ({ experimentId }, reason) => log.warn({ experimentId, reason }, 'a run ended because its workflow did'),
    stuck: ({ experimentId, workflowId }, problem) =>
      log.error({ experimentId, workflowId, problem }, 'the workflow of a run does not get on'),
    failed: ({ experimentId }, err) => log.warn({ err, experimentId }, 'a run could not be looked after; it is tried again'),
  };
  const reconcile = async () => {
    const notify = (experimentId: string) => domain.notices.notify(experimentId);
    stuckRuns = await reconcileRuns({ ...starting, settle: domain.settleRecords, notify }, reconciliation);
  };
  const heal = async () => {
    await around.prepareTemporal().catch((err: unknown) => log.warn({ err }, 'Temporal is not prepared; it is tried again'));
    await together([finishDeletions(deletion), finishErasures(), scoring.reconcile()]);
  };
  const stopping = new AbortController();
  const finishRecordDeletions = (unattendedMs: number) =>
    finishRecordsDeletions(
      { ...domain.deletion, findColumn: (run, filter) => findColumnFor(records, metrics, run, { filter }) },
      unattendedMs,
      stopping.signal,
    );
  // Whoever has the run to itself finishes what was cut off there.
  const finishErasures = async () => {
    for (const run of await domain.erasureNotes.unfinished()) await domain.recordWriter.exclusively(run, async () => {});
  };
  const expireHeldUpdates = async () => {
    const expired = await domain.heldUpdates.removeExpired();
    for (const projectId of expired) domain.recordWriter.counters.drop(projectId, 1);
    if (expired.length > 0) log.warn({ expired: expired.length }, 'updates were dropped whose records did not come within a day');
  };
  await heal();
  await reconcile();
  // They may take long. Without a Postgres of others there is no process beside this one that could be at work on them.
  const deleting = finishRecordDeletions(config.DATABASE_URL ? UNATTENDED_MS : 0).catch((err: unknown) =>
    log.warn({ err }, 'deletions that were cut off could not be finished; it is tried again'),
  );
  await scoring.findUnseen();
  if (!config.DATABASE_URL) await domain.outdated.freeAll();
  await domain.renewal.renewLeft(true);
  const stops = [
    repeat(NEW_RECORDS_MS, scoring.startWritten, log, 'scoring new records'),
    repeat(UNSEEN_MS, scoring.findUnseen, log, 'looking for new records that are not scored'),
    repeat(RENEW_MS, () => domain.renewal.renewDue(), log, 'computing aggregates'),
    repeat(RENEW_LEFT_MS, () => domain.renewal.renewLeft(false), log, 'looking for aggregates that are outdated'),
    repeat(RECONCILE_RUNS_MS, reconcile, log, 'looking after runs'),
    repeat(HEAL_MS, heal, log, 'looking after deletions and scorings'),
    repeat(UNATTENDED_MS, () => finishRecordDeletions(UNATTENDED_MS), log, 'finishing deletions of records'),
    repeat(
      PURGE_MS,
      () => purgeUnusedRows(domain.datasetDeps, new Date(Date.now() - UNUSED_MS).toISOString()),
      log,
      'removing unused rows',
    ),
    repeat(PURGE_MS, expireHeldUpdates, log, 'removing updates whose records did not come'),
  ];
  return {
    app,
    gate,
    administrator,
    stop: async () => {
      stopping.abort();
      for (const stop of stops) await stop();
      await domain.renewal.stop();
      await deleting;
    },
  };
}

/** Deleting an experiment ends its run; one that has none, or has ended, is no error. */
const cancelQuietly =
  ({ ledger, workflows }: Domain) =>
  async (experimentId: string): Promise<void> => {
    const run = await ledger.find(experimentId);
    if (run && run.state !== 'idle' && !hasEnded(run.state)) await runControl({ ledger, workflows }).cancel(run);
  };

/** What is looked at before a run starts, over the domain. */
function runChecks({
  database,
  ledger,
  ofDatasets,
  ofRuns,
  datasetDeps,
  prompts,
  models,
  outbound,
  metricsOf,
  runnersDir,
}: Domain): RunChecks {
  const experiments = postgresExperiments(database);
  return {
    ledger,
    experimentOf: ({ projectId, experimentId }) => experiments.find(projectId, experimentId),
    async shapeOf({ source, experimentId }) {
      if (source.kind === 'dataset') {
        const [rowCount, columnNames, inputFields] = await Promise.all([
          ofDatasets.rowCount(source.datasetId, source.versionIndex),
          ofDatasets.columnNames(source.datasetId, source.versionIndex),
          ofDatasets.inputFields(source.datasetId, source.versionIndex),
        ]);
        return { rowCount, columnNames, inputFields };
      }
      if (!(await datasetDeps.datasets.runRows(experimentId))) return undefined;
      const [rowCount, columnNames, inputFields] = await Promise.all([
        ofRuns.rowCount(experimentId),
        ofRuns.columnNames(experimentId),
        ofRuns.inputFields(experimentId),
      ]);
      return { rowCount, columnNames, inputFields };
    },
    storeRunRows: async (runId, records) => void (await storeRunRows(datasetDeps, runId, records)),
    async checkPrompt(versionId, settings, shape) {
      const version = await prompts.version(versionId);
      if (!version) throw noPromptVersion(versionId);
      checkPrompt(version.template, shape);
      await models.resolveModel(typeof settings.model_alias === 'string' ? settings.model_alias : null);
    },
    checkModule: async (name) => void (await runnerModulePath(runnersDir, name)),
    async checkUrl(url) {
      await outbound.check(url).catch((err: unknown) => {
        if (err instanceof OutboundRefused)
          throw new RequestInvalid([{ loc: ['body', 'runner', 'url'], msg: err.message, type: 'outbound_refused' }]);
        throw err;
      });
    },
    checkMetrics: async (run) => void (await metricsOf(run)),
  };
}

const noPromptVersion = (versionId: string) => new ServiceError('NotFound', `no prompt template version ${versionId}`);
