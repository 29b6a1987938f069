import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { createApp } from '../../api/app.ts';
import { experimentGroupRoutes } from '../../api/routes/experimentGroups.ts';
import { experimentRoutes } from '../../api/routes/experiments.ts';
import { experimentTagRoutes } from '../../api/routes/experimentTags.ts';
import { jobRoutes } from '../../api/routes/jobs.ts';
import { metricSettingsRoutes } from '../../api/routes/metricSettings.ts';
import type { Caller } from '../../shared/accounts/permissions.ts';
import { createAssetAccess } from '../../shared/assets/assetAccess.ts';
import { RequestInvalid, ServiceError } from '../../shared/errors/errors.ts';
import { changeFigures } from '../../shared/experiments/changeFigures.ts';
import type { FigureSettings } from '../../shared/experiments/experiment.ts';
import type { Experiment } from '../../shared/experiments/experimentStore.ts';
import { mustSuitFailedRows } from '../../shared/experiments/failedRows.ts';
import { type RunChecks, requestRun } from '../../shared/experiments/prepareRun.ts';
import type { RunWorkflows } from '../../shared/experiments/startRun.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { deleteWithRecords } from '../../shared/projects/deletions.ts';
import type { RunCount, RunRef } from '../../shared/projects/runs.ts';
import { presetById } from '../../shared/scorers/presets.ts';
import { projectMetricColumns, runScorers } from '../../shared/scorers/runSettings.ts';
import { postgresAssets } from '../../shared/stores/postgres/assetAccess.ts';
import { openDatabase } from '../../shared/stores/postgres/connect.ts';
import { datasetStore } from '../../shared/stores/postgres/datasets.ts';
import { postgresExperimentGroups } from '../../shared/stores/postgres/experimentGroups.ts';
import { postgresExperiments } from '../../shared/stores/postgres/experimentStore.ts';
import { postgresRunLedger } from '../../shared/stores/postgres/experiments.ts';
import { postgresJobs } from '../../shared/stores/postgres/jobs.ts';
import { postgresProjects } from '../../shared/stores/postgres/projects.ts';
import { promptStore } from '../../shared/stores/postgres/prompts.ts';
import { postgresRunTags } from '../../shared/stores/postgres/runTags.ts';
import { scorerStore } from '../../shared/stores/postgres/scorers.ts';
import { postgresScorings } from '../../shared/stores/postgres/scorings.ts';
import { PromptRunSettings } from '../../shared/wire/prompts.ts';
import { callerOfProjects } from './callerOfProjects.ts';
import { type Answer, serve } from './http.ts';
import { openSeededDatabase } from './seedPostgres.ts';

/**
 * Experiments, groups, tags and jobs over a real Postgres (embedded, or at `url`), served over HTTP. Runs are checked and requested as in service,
 * but no workflow executes them: `started` lists them, and `ledger.end` ends them. Rows and records live in other stores: a dataset is its
 * column names here, and the count of records is a map.
 */
export async function startExperimentService(url?: string) {
  const directory = await mkdtemp(join(tmpdir(), 'assay-experiments-'));
  const database = await (url ? openDatabase({ url }) : openSeededDatabase(join(directory, 'postgres')));
  const { caller, gate, project } = await callerOfProjects(database);
  const datasets = datasetStore(database);
  const prompts = promptStore(database);
  const scorers = scorerStore(database);
  const experiments = postgresExperiments(database);
  const ledger = postgresRunLedger(database);
  const projects = postgresProjects(database);
  const started: string[] = [];
  const cancelled: string[] = [];
  const workflowService = { down: false };
  const workflows: RunWorkflows = {
    async start({ experimentId }) {
      if (workflowService.down) throw new ServiceError('Unavailable', 'the workflow service does not answer');
      started.push(experimentId);
    },
    status: async () => ({ kind: 'open', runId: newId(), problem: null }),
    signal: async () => undefined,
    cancel: async () => undefined,
    progress: async () => undefined,
    rowWorkers: async () => 1,
    keepActivity: async () => true,
  };
  const checks: RunChecks = {
    ledger,
    experimentOf: ({ projectId, experimentId }) => experiments.find(projectId, experimentId),
    async shapeOf({ source }) {
      if (source.kind === 'run') return undefined;
      const version = await datasets.version(source.datasetId, source.versionIndex);
      if (!version) throw new ServiceError('NotFound', `no version ${source.versionIndex} of dataset ${source.datasetId}`);
      return {
        rowCount: version.numRows,
        columnNames: version.columns.map((column) => column.name),
        inputFields: [],
        values: async () => [],
      };
    },
    storeRunRows: async () => undefined,
    forgetRunRows: async () => undefined,
    selectRows: async () => Promise.reject(new Error('rows live in another store')),
    positionsOf: async () => Promise.reject(new Error('rows live in another store')),
    metricsOf: (run) => runScorers(scorers, run.projectId, run.experimentId),
    lacksAny: async () => true,
    recordedMetrics: async () => [],
    async checkPrompt(templateVersionId, settings, { columnNames }) {
      const version = await prompts.version(templateVersionId);
      const variable = /\{\{(\w+)\}\}/.exec(JSON.stringify(version?.template))?.[1];
      if (variable !== undefined && !columnNames.includes(variable))
        throw new RequestInvalid([{ loc: ['body'], msg: `no column for {{${variable}}}`, type: 'missing' }]);
      if (settings.model_alias === 'unknown-model') throw new ServiceError('ModelUnknown', 'no such model');
    },
    checkModule: async () => undefined,
    checkUrl: async () => undefined,
    checkMetrics: async (run) =>
      mustSuitFailedRows(run.failedRows, await runScorers(scorers, run.projectId, run.experimentId), run.loggedMetrics),
  };
  const recordCounts = new Map<string, RunCount>();
  const deletions = {
    deletions: projects,
    deleteRecords: async (_projectId: string, runId?: string) => void recordCounts.delete(runId ?? ''),
    stillStored: async () => [],
    newId,
    forget() {},
  };
  const progress = new Map<string, number>();
  const bucketRequests: unknown[] = [];
  const deps = {
    experiments,
    groups: postgresExperimentGroups(database),
    tags: postgresRunTags(database),
    jobs: postgresJobs(database),
    scorings: postgresScorings(database),
    datasets,
    scorers,
    assets: createAssetAccess(postgresAssets(database), (id) => presetById(id) !== undefined),
    newId,
    requestRun: (experimentId: string, request: Parameters<typeof requestRun>[2]) =>
      requestRun({ ...checks, workflows }, experimentId, request),
    countRecords: async () => recordCounts,
    ratingsOfRuns: async () => new Map(),
    findScorers: scorers.findEver,
    progressOf: async (asked: readonly Experiment[]) =>
      new Map(asked.map(({ id, state }) => [id, state === 'completed' ? 1 : (progress.get(id) ?? 0)])),
    async cancelRun(experimentId: string) {
      cancelled.push(experimentId);
      await ledger.setState(experimentId, ['requested', 'running', 'paused'], 'cancelled');
    },
    deleteRun: (projectId: string, runId: string) => deleteWithRecords(deletions, projectId, runId),
    changeFigures: (experiment: RunRef, change: FigureSettings) =>
      changeFigures(
        {
          ledger,
          enabledMetrics: (run) => runScorers(scorers, run.projectId, run.experimentId),
          sumUp: async () => ({ metrics: {}, rolledUp: {} }),
          renew: () => undefined,
        },
        experiment,
        change,
      ),
    metricColumns: (projectId: string) => projectMetricColumns(scorers, projectId),
    async metricBuckets(...asked: [string, readonly string[], readonly unknown[]]) {
      bucketRequests.push(asked);
      return [
        {
          name: 'correct',
          alias: null,
          buckets: { false: 1, true: 3 },
          average: 0.75,
          rollUp: 'average' as const,
          outputType: 'boolean' as const,
          counts: { values: 4, missing: 0, failed: 0, notApplicable: 0, failedRowsWithoutValue: 0 },
          failedRows: 'omit' as const,
        },
      ];
    },
    authorizeProject: (who: Caller, action: 'create_run' | 'read' | string, projectId: string) =>
      gate.authorize(who, { project: action as 'read' }, projectId),
    startScoring: () => Promise.reject(new Error('no records are scored here')),
    linkTo: (projectId: string, experimentId: string) => `http://assay.test/console/p/${projectId}/experiments/${experimentId}`,
  };
  const endpoints = [
    ...experimentRoutes(deps),
    ...experimentGroupRoutes(deps),
    ...experimentTagRoutes(deps),
    ...jobRoutes(deps),
    ...metricSettingsRoutes(deps),
  ];
  const http = await serve(
    createApp({ endpoints, gate, log: pino({ level: 'silent' }), apiKeyHeaders: ['Service-API-Key'], checkReplies: true }),
  );

  const now = () => new Date().toISOString();
  return {
    database,
    ledger,
    requestRun: deps.requestRun,
    caller,
    started,
    cancelled,
    workflowService,
    recordCounts,
    progress,
    bucketRequests,
    call: (method: string, path: string, json?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
      http.request(method, path, { headers, ...(json === undefined ? {} : { json }) }),
    project,
    /** A dataset of 40 rows with one version. */
    async dataset(name: string, columnNames: string[] = ['input', 'output']): Promise<{ id: string; versionIndex: number }> {
      const id = newId();
      await datasets.insert(
        {
          id,
          name,
          hidden: false,
          draft: false,
          columnMapping: null,
          projectId: undefined,
          nextRowKey: 40,
          nextColumnKey: columnNames.length,
        },
        {
          contentId: newId(),
          numRows: 40,
          columns: columnNames.map((column, key) => ({ key, name: column })),
          by: caller.userId,
          at: now(),
          rowsAdded: 40,
          rowsRemoved: 0,
          rowsEdited: 0,
          columnsAdded: 0,
          columnsRemoved: 0,
          columnsRenamed: 0,
        },
      );
      return { id, versionIndex: 1 };
    },
    /** A prompt template with one version. */
    async template(text: string): Promise<{ templateId: string; versionId: string; name: string }> {
      const [templateId, versionId] = [newId(), newId()];
      const name = `template ${templateId}`;
      await prompts.insert(
        { id: templateId, name, hidden: false, projectId: undefined, userId: caller.userId },
        {
          id: versionId,
          template: text,
          raw: false,
          settings: PromptRunSettings.parse({ model_alias: 'small-model' }),
          outputType: null,
          modelChanged: false,
          settingsChanged: false,
          contentChanged: false,
        },
      );
      return { templateId, versionId, name };
    },
    async [Symbol.asyncDispose]() {
      await http.close();
      await database.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export type ExperimentService = Awaited<ReturnType<typeof startExperimentService>>;
