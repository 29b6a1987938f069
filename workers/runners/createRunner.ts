import type { CodeIsolation } from '../../shared/childProcesses/codeIsolation.ts';
import type { Config } from '../../shared/config/config.ts';
import type { CallGate } from '../../shared/coordination/coordination.ts';
import type { ExperimentRun } from '../../shared/experiments/experiment.ts';
import { openHeaders } from '../../shared/experiments/runnerHeaders.ts';
import { runnerModulePath } from '../../shared/experiments/runnerModulePath.ts';
import { runnerThatEnds } from '../../shared/experiments/runnerThatEnds.ts';
import type { RowRunner } from '../../shared/experiments/runRows.ts';
import type { Integrations } from '../../shared/integrations/openIntegrations.ts';
import type { Metric } from '../../shared/metrics/metric.ts';
import { promptPerplexity } from '../../shared/metrics/promptPerplexity.ts';
import { uncertainty } from '../../shared/metrics/uncertainty.ts';
import type { ModelCaller } from '../../shared/modelCalls/modelCall.ts';
import { findPromptVersion, type PromptStore } from '../../shared/prompts/prompts.ts';
import { datasetOutputsRunner } from './datasetOutputs.ts';
import { httpRunner } from './httpEndpoint.ts';
import { moduleRunner } from './module.ts';
import { promptTemplateRunner } from './promptTemplate.ts';

export interface RunnerDeps {
  prompts: Pick<PromptStore, 'version'>;
  models: ModelCaller;
  integrations: Pick<Integrations, 'keyRing' | 'outbound'>;
  calls: CallGate;
  /** The metrics of a run, frozen as it began. */
  metrics: { frozen(run: ExperimentRun): Promise<{ metrics: readonly Pick<Metric, 'name'>[] }> };
  /** The user and files that runner modules run with. */
  isolation: CodeIsolation;
  settings: Pick<Config, 'RUNNERS_DIR' | 'RUNNER_MEMORY_MB'>;
}

/** The runner of an experiment's rows. @throws ServiceError when its template, model or module cannot be had. */
export const createRunner =
  (deps: RunnerDeps) =>
  async (run: ExperimentRun): Promise<RowRunner> =>
    runnerThatEnds(await runnerOf(deps, run));

async function runnerOf(deps: RunnerDeps, run: ExperimentRun): Promise<RowRunner> {
  const { runner } = run;
  const { isolation, settings, integrations } = deps;
  switch (runner.kind) {
    case 'prompt_template': {
      const version = await findPromptVersion(deps.prompts, runner.templateVersionId);
      const { metrics } = await deps.metrics.frozen(run);
      const isMeasured = (metric: { name: string }) => metrics.some(({ name }) => name === metric.name);
      const measures = { ofAnswer: isMeasured(uncertainty), ofPrompt: isMeasured(promptPerplexity) };
      return promptTemplateRunner(run, version, runner.settings, deps.models, measures);
    }
    case 'dataset_outputs':
      return datasetOutputsRunner;
    case 'module':
      return moduleRunner(run, await runnerModulePath(settings.RUNNERS_DIR, runner.name), isolation, settings.RUNNER_MEMORY_MB);
    case 'http': {
      const headers = openHeaders(integrations.keyRing, run.experimentId, runner.headers ?? {});
      return httpRunner(run, runner.url, headers, integrations.outbound, deps.calls);
    }
    case 'caller_function':
      throw new Error("a function in its caller's process is run by the caller");
    default:
      return runner satisfies never;
  }
}
