import type { RunSettings } from '../../../client/liveProgress.ts';
import type { StartAddress } from '../address/startAddress.ts';
import { type Experiment, tagsOf } from '../data/experiments.ts';
import { settingFields } from '../prompt/settingFields.ts';

export type RowChoice = 'all' | 'first' | 'range' | 'sample' | 'filter' | 'same';
export type RunnerChoice = 'prompt_template' | 'dataset_outputs' | 'http' | 'module';

/** The content of the fields, as somebody chose and typed it. */
export interface StartDraft {
  name: string;
  group: string;
  /** Ids; empty before they are chosen. */
  dataset: string;
  /** Numbers of versions; empty for the current and the selected one. */
  datasetVersion: string;
  prompt: string;
  promptVersion: string;
  rows: RowChoice;
  first: string;
  from: string;
  to: string;
  sample: string;
  seed: string;
  column: string;
  operator: 'contains' | 'eq' | 'ne';
  value: string;
  /** Id of the experiment whose rows are taken. */
  sameAs: string;
  trials: string;
  runner: RunnerChoice;
  url: string;
  module: string;
  /** Settings of the prompt that are not those of its version, by their names. */
  settings: Record<string, string>;
  /** Ids of scorers. */
  metrics: readonly string[];
  concurrency: string;
  rowSeconds: string;
  attempts: string;
  pauseAfter: string;
  pauseAfterProvider: string;
  limitCalls: string;
  limitRequests: string;
  limitTokens: string;
  failedRows: 'omit' | 'worst';
  tags: readonly { id: string; key: string; value: string }[];
  /** The last request, with its key and name: a repeat of it makes no second experiment. */
  sent?: { key: string; said: string; name: string } | undefined;
}

export const DEFAULT_CONCURRENCY = 20;

const empty: StartDraft = {
  ...{ name: '', group: '', dataset: '', datasetVersion: '', prompt: '', promptVersion: '' },
  ...{ rows: 'all', first: '10', from: '0', to: '9', sample: '50', seed: '0', column: 'input', operator: 'contains', value: '' },
  ...{ sameAs: '', trials: '1', runner: 'prompt_template', url: '', module: '', settings: {}, metrics: [] },
  ...{ concurrency: String(DEFAULT_CONCURRENCY), rowSeconds: '', attempts: '', pauseAfter: '', pauseAfterProvider: '' },
  ...{ limitCalls: '', limitRequests: '', limitTokens: '', failedRows: 'omit', tags: [] },
};

/** The form as the address fills it in. */
export const draftOfAddress = ({ dataset = '', prompt = '', version }: StartAddress): StartDraft => ({
  ...empty,
  ...{ dataset, prompt, promptVersion: version === undefined ? '' : String(version) },
});

/** The form filled in with what an experiment was run with. */
export function draftOfExperiment(experiment: Experiment, run: RunSettings, metrics: readonly string[]): StartDraft {
  const { runner, settings, row_selection: selection } = run;
  const { limits } = settings;
  const changed = runner.prompt_settings ?? experiment.prompt_run_settings ?? {};
  return {
    ...empty,
    name: experiment.series,
    group: experiment.experiment_group_is_system ? '' : experiment.experiment_group_name,
    dataset: experiment.dataset?.dataset_id ?? '',
    datasetVersion: textOf(experiment.dataset?.version_index),
    prompt: experiment.prompt?.prompt_template_id ?? '',
    promptVersion: textOf(experiment.prompt?.version_index),
    ...(selection ? { rows: 'same', sameAs: experiment.id } : {}),
    trials: String(run.trials),
    runner: runner.kind === 'caller_function' ? 'prompt_template' : runner.kind,
    ...{ url: runner.url ?? '', module: runner.name ?? '', metrics },
    settings: Object.fromEntries(
      Object.entries(changed).flatMap(([name, value]) =>
        isField(name) && value !== null && typeof value !== 'object' ? [[name, String(value)]] : [],
      ),
    ),
    concurrency: String(settings.concurrency),
    rowSeconds: String(settings.row_time_limit_ms / 1_000),
    attempts: String(settings.max_call_attempts),
    pauseAfter: String(settings.pause_after_failures),
    pauseAfterProvider: String(settings.pause_after_provider_failures),
    limitCalls: textOf(limits?.concurrency),
    limitRequests: textOf(limits?.requests_per_minute),
    limitTokens: textOf(limits?.tokens_per_minute),
    failedRows: run.failed_rows,
    // A run names the commit and branch that it was made of: they are not those of this one.
    tags: tagsOf(experiment)
      .filter(({ key }) => !['commit', 'branch', 'dirty', 'build'].includes(key))
      .map(({ id, key, value }) => ({ id, key, value })),
  };
}

const textOf = (value: unknown): string => (value === undefined || value === null ? '' : String(value));

const isField = (name: string): boolean => name === 'model_alias' || settingFields.some((field) => field.name === name);
