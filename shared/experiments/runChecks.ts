import type { Datasets } from '../datasets/openDatasets.ts';
import { RequestInvalid } from '../errors/errors.ts';
import type { ModelCaller } from '../modelCalls/modelCall.ts';
import { type OutboundGuard, OutboundRefused } from '../outbound/outbound.ts';
import { checkPaths } from '../prompts/checkPaths.ts';
import { findPromptVersion, type PromptStore } from '../prompts/prompts.ts';
import { checkPrompt } from '../prompts/render.ts';
import type { MetricValueStore } from '../records/metricValues.ts';
import { modelsOfUser, mustHaveJudges } from '../scorers/judge.ts';
import type { Scorers } from '../scorers/openScorers.ts';
import type { ExperimentStore } from './experimentStore.ts';
import { mustSuitFailedRows } from './failedRows.ts';
import type { RunChecks } from './prepareRun.ts';
import type { RunLedger } from './runLedger.ts';
import { runnerModulePath } from './runnerModulePath.ts';

export interface RunCheckDeps {
  ledger: RunLedger;
  experiments: Pick<ExperimentStore, 'find'>;
  datasets: Pick<Datasets, 'shapeOf' | 'storeRunRows' | 'forgetRunRows' | 'selectRows' | 'positionsOf'>;
  prompts: Pick<PromptStore, 'version'>;
  models: Pick<ModelCaller, 'resolveModel'>;
  outbound: Pick<OutboundGuard, 'check'>;
  scorers: Pick<Scorers, 'enabledMetrics' | 'defaultJudge'>;
  records: { values: Pick<MetricValueStore, 'counts'> };
  lacksAny: RunChecks['lacksAny'];
  runnersDir: string | undefined;
}

/** The checks before a run, over the other modules. */
export const runChecks = (deps: RunCheckDeps): RunChecks => ({
  ledger: deps.ledger,
  experimentOf: ({ projectId, experimentId }) => deps.experiments.find(projectId, experimentId),
  shapeOf: deps.datasets.shapeOf,
  storeRunRows: deps.datasets.storeRunRows,
  forgetRunRows: deps.datasets.forgetRunRows,
  selectRows: deps.datasets.selectRows,
  positionsOf: deps.datasets.positionsOf,
  metricsOf: deps.scorers.enabledMetrics,
  recordedMetrics: async ({ projectId, experimentId }) => [
    ...(await deps.records.values.counts({ projectId, runId: experimentId })).metrics.keys(),
  ],
  lacksAny: deps.lacksAny,
  async checkPrompt(versionId, settings, shape, userId) {
    const { template } = await findPromptVersion(deps.prompts, versionId);
    checkPrompt(template, shape);
    await checkPaths(template, shape);
    await deps.models.resolveModel(typeof settings.model_alias === 'string' ? settings.model_alias : null, null, userId);
  },
  checkModule: async (name) => void (await runnerModulePath(deps.runnersDir, name)),
  async checkUrl(url) {
    await deps.outbound.check(url).catch((err: unknown) => {
      if (err instanceof OutboundRefused)
        throw new RequestInvalid([{ loc: ['body', 'runner', 'url'], msg: err.message, type: 'outbound_refused' }]);
      throw err;
    });
  },
  async checkMetrics(run, given) {
    const metrics = given ?? (await deps.scorers.enabledMetrics(run));
    mustSuitFailedRows(run.failedRows, metrics, run.loggedMetrics);
    const models = modelsOfUser(deps.models, run.createdBy);
    await mustHaveJudges(models, metrics, () => deps.scorers.defaultJudge(run.projectId));
  },
});
