import { settingsKeys } from '../../../client/promptSettings.ts';
import { type RowSelection, selectionToWire } from '../../../client/rowSelection.ts';
import type { CallLimits } from '../../../client/runExperimentOptions.ts';
import type { Dataset } from '../data/datasets.ts';
import type { Metric } from '../data/metrics.ts';
import type { Prompt, PromptVersion } from '../data/prompts.ts';
import type { EstimateBody, StartBodies } from '../data/start.ts';
import { metricReferences } from '../metrics/metricReferences.ts';
import { settingFields } from '../prompt/settingFields.ts';
import { DEFAULT_CONCURRENCY, type StartDraft } from './startDraft.ts';

/** A field that something is wrong with; `form` where it is none of them. */
export type Field = Exclude<keyof StartDraft, 'sent' | 'settings'> | 'model' | 'form';
export interface Problem {
  field: Field;
  message: string;
}

/** The things that the ids of a draft name, as far as they are loaded. */
export interface Chosen {
  dataset: Dataset | undefined;
  prompt: Prompt | undefined;
  scorers: readonly Metric[];
}

/** The options of the client library's `runExperiment` for the run of the form: code, command and requests are made of them. */
export interface StartOptions {
  experimentName: string;
  experimentGroup?: string | undefined;
  dataset: { id: string; versionIndex: number };
  promptTemplate?: { versionId: string } | undefined;
  /** All of them; those of the version without it. */
  promptSettings?: Record<string, unknown> | undefined;
  url?: string | undefined;
  module?: string | undefined;
  rows?: RowSelection | undefined;
  trials?: number | undefined;
  metrics?: string[] | undefined;
  concurrency: number;
  rowTimeLimitMs?: number | undefined;
  maxCallAttempts?: number | undefined;
  pauseAfterFailures?: number | undefined;
  pauseAfterProviderFailures?: number | undefined;
  limits?: CallLimits | undefined;
  failedRows?: 'worst' | undefined;
  experimentTags?: Record<string, string> | undefined;
}

export interface Plan {
  options: StartOptions;
  scorers: readonly Metric[];
}

/** The version of the prompt that the draft names: the selected one without a number. */
export const versionOf = (prompt: Prompt | undefined, { promptVersion }: Pick<StartDraft, 'promptVersion'>) =>
  promptVersion === '' ? prompt?.selected_version : prompt?.all_versions.find(({ version }) => version === Number(promptVersion));

/** The name that an experiment has whose field is left empty. */
export const nameFor = (draft: StartDraft, { dataset, prompt }: Chosen): string =>
  [draft.runner === 'prompt_template' ? prompt?.name : draft.runner === 'module' ? draft.module : undefined, dataset?.name]
    .filter((part) => part)
    .join(' on ');

/** Reads the form as a plan of the run, or says what is wrong with it. */
export function planOf(draft: StartDraft, chosen: Chosen): { plan: Plan | undefined; problems: Problem[] } {
  const problems: Problem[] = [];
  const wrong = (field: Field, message: string): undefined => {
    problems.push({ field, message });
  };
  const number = (field: Field, written: string, least: number, most: number): number | undefined => {
    if (written.trim() === '') return undefined;
    const value = Number(written);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    return wrong(field, `A whole number from ${least.toLocaleString('en-US')} to ${most.toLocaleString('en-US')}.`);
  };
  const { dataset } = chosen;
  if (draft.dataset === '') wrong('dataset', 'Choose the dataset whose rows are run.');
  else if (dataset?.num_rows === 0) wrong('dataset', 'The dataset has no rows: there is nothing to run.');
  // Only the service knows the columns of an older version.
  const columns = draft.datasetVersion === '' ? dataset?.column_names : undefined;
  if (draft.runner === 'dataset_outputs' && columns && !columns.includes('generated_output'))
    wrong('runner', 'The dataset has no column generated_output with answers: choose what answers, or add the column.');
  const version = versionOf(chosen.prompt, draft);
  const isPrompt = draft.runner === 'prompt_template';
  if (isPrompt && draft.prompt === '') wrong('prompt', 'Choose the prompt that is asked.');
  if (draft.runner === 'http' && !/^https?:\/\/./.test(draft.url.trim()))
    wrong('url', 'An address that begins with http:// or https://.');
  if (draft.runner === 'module' && draft.module.trim() === '')
    wrong('module', 'The name of a file in the runners folder, without its ending.');
  const rows = rowsOf(draft, number, wrong);
  const tags = draft.tags.filter(({ key }) => key.trim() !== '');
  if (new Set(tags.map(({ key }) => key.trim())).size < tags.length) wrong('tags', 'Two tags have one key.');
  if (tags.some(({ value }) => value.trim() === '')) wrong('tags', 'Each tag has a value.');
  const limits = {
    concurrency: number('limitCalls', draft.limitCalls, 1, 10_000),
    requestsPerMinute: number('limitRequests', draft.limitRequests, 1, 10_000_000),
    tokensPerMinute: number('limitTokens', draft.limitTokens, 1, 1_000_000_000),
  };
  const seconds = Number(draft.rowSeconds);
  if (draft.rowSeconds !== '' && !(seconds >= 0.001 && seconds <= 86_400))
    wrong('rowSeconds', 'Seconds, at most a day (86,400).');
  const trials = number('trials', draft.trials, 1, 100);
  const scorers = draft.metrics.flatMap((id) => chosen.scorers.find((one) => one.id === id) ?? []);
  const settings = version && settingsOf(draft, version);
  const name = draft.name.trim() || nameFor(draft, chosen);
  const options: StartOptions = {
    experimentName: name,
    experimentGroup: draft.group.trim() || undefined,
    dataset: {
      id: draft.dataset,
      versionIndex: draft.datasetVersion === '' ? (dataset?.current_version_index ?? 0) : Number(draft.datasetVersion),
    },
    promptTemplate: isPrompt && version ? { versionId: version.id } : undefined,
    promptSettings: isPrompt ? settings : undefined,
    url: draft.runner === 'http' ? draft.url.trim() : undefined,
    module: draft.runner === 'module' ? draft.module.trim() : undefined,
    rows,
    trials: trials === 1 ? undefined : trials,
    metrics: scorers.length > 0 ? namesOf(scorers, chosen.scorers) : undefined,
    concurrency: number('concurrency', draft.concurrency, 1, 1_000) ?? DEFAULT_CONCURRENCY,
    rowTimeLimitMs: draft.rowSeconds === '' ? undefined : Math.round(seconds * 1_000),
    maxCallAttempts: number('attempts', draft.attempts, 1, 100),
    pauseAfterFailures: number('pauseAfter', draft.pauseAfter, 0, 1_000_000),
    pauseAfterProviderFailures: number('pauseAfterProvider', draft.pauseAfterProvider, 0, 1_000_000),
    limits: Object.values(limits).some((limit) => limit !== undefined) ? limits : undefined,
    failedRows: draft.failedRows === 'worst' ? 'worst' : undefined,
    experimentTags: tags.length > 0 ? Object.fromEntries(tags.map(({ key, value }) => [key.trim(), value.trim()])) : undefined,
  };
  // There are always built-in metrics: without any, they are not loaded.
  const areMetricsKnown = draft.metrics.length === 0 || chosen.scorers.length > 0;
  if (areMetricsKnown && scorers.length < draft.metrics.length)
    wrong('metrics', 'A metric that was chosen is gone: choose again.');
  const isKnown = dataset !== undefined && (!isPrompt || version !== undefined) && areMetricsKnown;
  return { plan: problems.length === 0 && isKnown ? { options, scorers } : undefined, problems };
}

/** Why it waits: `number` reads a field and notes what is wrong with it. */
function rowsOf(
  draft: StartDraft,
  number: (field: Field, written: string, least: number, most: number) => number | undefined,
  wrong: (field: Field, message: string) => undefined,
): RowSelection | undefined {
  switch (draft.rows) {
    case 'all':
      return undefined;
    case 'first':
      return { limit: number('first', draft.first || '?', 1, 1_000_000_000) };
    case 'range': {
      const [from, to] = [number('from', draft.from || '?', 0, 1e9), number('to', draft.to || '?', 0, 1e9)];
      if (from === undefined || to === undefined) return undefined;
      if (to < from || to - from >= 10_000) return wrong('to', 'At or after the first, and at most 10,000 rows.');
      return { ordinals: Array.from({ length: to - from + 1 }, (_, index) => from + index) };
    }
    case 'sample': {
      const size = number('sample', draft.sample || '?', 1, 1_000_000_000);
      const seed = number('seed', draft.seed, 0, 4_294_967_295) ?? 0;
      return size === undefined ? undefined : { sample: { size, seed } };
    }
    case 'filter':
      if (draft.value === '') return wrong('value', 'What the column holds.');
      return { filter: [{ columnName: draft.column, operator: draft.operator, value: draft.value }] };
    case 'same':
      return { sameAs: draft.sameAs };
    default:
      return draft.rows satisfies never;
  }
}

/** All settings that a prompt is run with; undefined where they are those of its version. */
function settingsOf({ settings }: StartDraft, version: PromptVersion): Record<string, unknown> | undefined {
  const changed = Object.entries(settings).flatMap(([name, written]): [string, unknown][] => {
    if (written.trim() === '') return [];
    const field = settingFields.find((one) => one.name === name);
    const value = field && 'step' in field ? Number(written) : written.trim();
    return String(version.settings[name] ?? '') === String(value) ? [] : [[name, value]];
  });
  return changed.length > 0 ? { ...version.settings, ...Object.fromEntries(changed) } : undefined;
}

function namesOf(scorers: readonly Metric[], all: readonly Metric[]): string[] {
  const references = metricReferences(all);
  return scorers.map(({ id }) => references.get(id) ?? id);
}

const datasetOf = ({ options }: Plan) => ({ dataset_id: options.dataset.id, version_index: options.dataset.versionIndex });
const scorersOf = ({ scorers }: Plan) => scorers.map(({ id, name, scorer_type }) => ({ id, name, scorer_type }));

/** Makes the requests that `runExperiment` sends for the options. */
export function bodiesOf(plan: Plan): StartBodies {
  const { options } = plan;
  const settings = options.promptSettings;
  return {
    create: {
      ...{ name: options.experimentName, task_type: 16, dataset: datasetOf(plan) },
      ...(options.experimentGroup ? { experiment_group_name: options.experimentGroup } : {}),
      ...(options.promptTemplate ? { prompt_template_version_id: options.promptTemplate.versionId } : {}),
      ...(settings ? { prompt_settings: settings } : {}),
      ...(plan.scorers.length > 0 ? { scorers: scorersOf(plan) } : {}),
    },
    run: {
      // The service knows the settings of the version.
      runner: options.promptTemplate && !settings ? undefined : runnerOf(options),
      rows: options.rows && selectionToWire(options.rows),
      trials: options.trials,
      concurrency: options.concurrency,
      row_time_limit_ms: options.rowTimeLimitMs,
      max_call_attempts: options.maxCallAttempts,
      pause_after_failures: options.pauseAfterFailures,
      pause_after_provider_failures: options.pauseAfterProviderFailures,
      limits: options.limits && settingsKeys({ ...options.limits }),
      failed_rows: options.failedRows,
    },
    tags: Object.entries(options.experimentTags ?? {}).map(([key, value]) => ({ key, value })),
  };
}

export function estimateOf(plan: Plan): EstimateBody {
  const { rows, trials } = plan.options;
  return {
    ...{ dataset: datasetOf(plan), runner: runnerOf(plan.options), scorers: scorersOf(plan) },
    ...{ rows: rows && selectionToWire(rows), trials },
  };
}

function runnerOf({ promptTemplate, promptSettings, url, module }: StartOptions): NonNullable<EstimateBody['runner']> {
  if (promptTemplate)
    return {
      ...{ kind: 'prompt_template', prompt_template_version_id: promptTemplate.versionId },
      prompt_settings: promptSettings,
    };
  if (url) return { kind: 'http', url };
  return module ? { kind: 'module', name: module } : { kind: 'dataset_outputs' };
}
