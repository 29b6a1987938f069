import type { ExperimentResponse } from '../shared/wire/experiments.ts';
import type { OperationOptions } from './callOptions.ts';
import { checkDatasetChoice, type DatasetChoice } from './chooseDataset.ts';
import { checkMetrics, isLocal, type MetricChoice } from './chooseMetrics.ts';
import type { PromptChoice } from './choosePrompt.ts';
import { ValueError } from './errors.ts';
import type { ExperimentProgress } from './experimentRunResults.ts';
import { type ExperimentGroupChoice, requiredName } from './experiments.ts';
import { checkGate, checkGateKeys, type GateLimits, isBaselinePick, mayDrop } from './gateExperiment.ts';
import { refuseUnknownKeys } from './knownKeys.ts';
import type { HostedRow } from './localMetric.ts';
import type { PromptSettings } from './promptSettings.ts';
import type { RowSelection } from './rowSelection.ts';

/** An absent limit does not limit. */
export interface CallLimits {
  /** Calls in flight. */
  concurrency?: number | undefined;
  requestsPerMinute?: number | undefined;
  /** Input and output. */
  tokensPerMinute?: number | undefined;
}

export interface RunExperimentOptions<Input = unknown, Output = unknown>
  extends OperationOptions,
    ExperimentGroupChoice,
    DatasetChoice {
  experimentName: string;
  /** The same as `projectName`. */
  project?: string | undefined;

  // One of these runs the rows. Without any, the dataset's column `generated_output` has the answers, which are recorded and scored.
  /** A prompt template, rendered for each row and sent to a model by the service. */
  promptTemplate?: PromptChoice | undefined;
  /** A function in this process; gets the row's input and the row, gives the output. Calls of functions wrapped by `log` become its spans. */
  function?: ((input: Input, row: HostedRow<Input>) => Output | Promise<Output>) | undefined;
  /** The name of a runner module that the service loads. */
  module?: string | undefined;
  /** An HTTP endpoint that the service posts each row to. */
  url?: string | undefined;

  promptSettings?: PromptSettings | undefined;
  /** Headers for `url`. */
  headers?: Record<string, string> | undefined;
  metrics?: readonly MetricChoice<Input, Awaited<Output>>[] | undefined;
  /** Beside `commit`, `branch`, `dirty` and `build`, as git and CI say. */
  experimentTags?: Record<string, string> | undefined;
  /**
   * Function mode only: gets what goes wrong when results are handed to the service; the run goes on and the results are sent again. Absent: logged
   * as a warning. What goes wrong before the run has started is always thrown.
   */
  onError?: ((error: unknown) => void) | undefined;

  /** The rows that are run; all of them by default. They are frozen when the run starts. */
  rows?: RowSelection | undefined;
  /** Times that each row is run, 1 by default; its aggregates then say how far the trials of a row agree. */
  trials?: number | undefined;
  /** Rows in flight at any time. */
  concurrency?: number | undefined;
  /** Milliseconds for one row; one that takes longer is recorded as failed. */
  rowTimeLimitMs?: number | undefined;
  /** Attempts of a model or HTTP call that fails in a way that may pass. */
  maxCallAttempts?: number | undefined;
  /** Failed rows in a row after which the run pauses by itself; 0: never. */
  pauseAfterFailures?: number | undefined;
  /** The same, of rows that failed because their provider is down or refuses whatever it is asked. */
  pauseAfterProviderFailures?: number | undefined;
  /** The limits of the run's model calls, in place of those of their integration. */
  limits?: CallLimits | undefined;
  /** The value of failed rows in the figures: none (`omit`, the default), or the worst of the metric. */
  failedRows?: 'omit' | 'worst' | undefined;
  /**
   * False: do not wait for the end. A run of the service is left to itself; with a function this process stays until every row is recorded, and
   * does not wait for the scores. Default true.
   */
  wait?: boolean | undefined;
  /** Called with the experiment that was made or is gone on with, before any of its rows runs. */
  onExperiment?: ((experiment: ExperimentResponse) => void) | undefined;
  /** Called about once a second while it is waited, and with the end. */
  onProgress?: ((progress: ExperimentProgress) => void) | undefined;
  /**
   * Go on with the newest experiment of this name when its run has not ended, its runner is of the same kind and its rows are the same. False:
   * always a new experiment. Default true.
   */
  resume?: boolean | undefined;
  /**
   * The experiment that this one is compared with when it has ended: its id, its whole name, or the name of a series, which means the newest run that has
   * ended. With a gate also `newest`, `approved` or `passed`: which of the earlier runs of its own series.
   */
  baseline?: string | undefined;
  /** Limits that the experiment must keep: `gate` of the result says whether it does. */
  gate?: GateLimits | undefined;
  /** Stops waiting and starting rows. The run itself stays: the same call goes on with it later. */
  signal?: AbortSignal | undefined;
}

/** Those that mean something in an experiment file, too. */
const ofAnExperiment = {
  ...{ experimentName: true, projectName: true, project: true, projectId: true, experimentGroup: true, experimentGroupId: true },
  ...{ dataset: true, datasetName: true, datasetId: true, rows: true, trials: true, metrics: true, baseline: true, gate: true },
  ...{ function: true, promptTemplate: true, promptSettings: true, module: true, url: true, headers: true, experimentTags: true },
  ...{ concurrency: true, rowTimeLimitMs: true, maxCallAttempts: true },
  ...{ pauseAfterFailures: true, pauseAfterProviderFailures: true, limits: true, failedRows: true },
} satisfies Partial<Record<keyof RunExperimentOptions, true>>;

const ofOneRun = {
  ...{ client: true, wait: true, resume: true, signal: true, onError: true, onExperiment: true, onProgress: true },
} satisfies Record<Exclude<keyof RunExperimentOptions, keyof typeof ofAnExperiment>, true>;

/** @throws ValueError for a key that the definition of an experiment does not have */
export function checkDefinitionKeys(definition: object): void {
  const misplaced = Object.keys(ofOneRun).find((key) => key in definition);
  if (misplaced) throw new ValueError(`${misplaced} belongs to one run of an experiment, not to its definition`);
  refuseUnknownKeys(definition, Object.keys(ofAnExperiment));
  checkKeysWithin(definition);
}

function checkKeysWithin({ rows, gate, limits, metrics, promptTemplate: prompt }: Partial<RunExperimentOptions>): void {
  refuseUnknownKeys(limits, ['concurrency', 'requestsPerMinute', 'tokensPerMinute'], 'limits');
  // A template with an id is one as the service gives it, with all its keys.
  if (typeof prompt === 'object' && prompt && !Array.isArray(prompt) && !('id' in prompt))
    refuseUnknownKeys(prompt, ['name', 'template', 'versionId'], 'promptTemplate');
  refuseUnknownKeys(rows, ['filter', 'ids', 'ordinals', 'sample', 'limit', 'sameAs'], 'rows');
  refuseUnknownKeys(rows?.sample, ['size', 'seed'], 'rows.sample');
  for (const one of Array.isArray(rows?.filter) ? rows.filter : [])
    refuseUnknownKeys(one, ['columnName', 'operator', 'value'], 'rows.filter');
  if (gate) checkGateKeys(gate, 'gate');
  for (const metric of Array.isArray(metrics) ? (metrics as readonly MetricChoice[]) : [])
    if (typeof metric === 'object' && metric && !('id' in metric))
      refuseUnknownKeys(
        metric,
        isLocal(metric) ? ['name', 'score', 'direction', 'range', 'scales'] : ['name', 'version', 'score'],
        'metrics',
      );
}

/** @returns the experiment's name. @throws ValueError for what is wrong with the parameters alone, before anything is asked of the service. */
export function checkRunOptions<I, O>(options: RunExperimentOptions<I, O>): string {
  refuseUnknownKeys(options, Object.keys({ ...ofAnExperiment, ...ofOneRun }));
  checkKeysWithin(options as RunExperimentOptions);
  const name = requiredName(options.experimentName);
  if (options.project && options.projectName) throw new ValueError('project and projectName are the same: give one');
  const runners = (['promptTemplate', 'function', 'module', 'url'] as const).filter((key) => options[key]);
  if (runners.length > 1) throw new ValueError(`only one thing can run the rows; given: ${runners.join(', ')}`);
  // The service alone knows the columns of a stored dataset.
  if (runners.length === 0 && (Array.isArray(options.dataset) ? !holdAnswers(options.dataset) : !namesDataset(options)))
    throw new ValueError(
      'name what runs the rows: promptTemplate, function, module or url; or give rows with a column generated_output, which holds their answers',
    );
  for (const key of ['function', 'onError', 'onExperiment', 'onProgress'] as const)
    if (options[key] && typeof options[key] !== 'function') throw new ValueError(`${key} must be a function`);
  for (const [key, least] of [
    ['trials', 1],
    ['concurrency', 1],
    ['rowTimeLimitMs', 1],
    ['maxCallAttempts', 1],
    ['pauseAfterFailures', 0],
    ['pauseAfterProviderFailures', 0],
  ] as const) {
    const value: unknown = options[key] ?? undefined;
    if (value !== undefined && !(Number.isInteger(value) && (value as number) >= least))
      throw new ValueError(`${key} must be a whole number from ${least} on`);
  }
  checkMetrics(options.metrics ?? []);
  const { gate, baseline } = options;
  if (gate && options.wait === false) throw new ValueError('a gate waits for the end');
  if (gate && isBaselinePick(baseline) && gate.baselinePick) throw new ValueError('give baseline or gate.baselinePick, not both');
  if (gate && baseline && !isBaselinePick(baseline) && (gate.baselineTag || gate.baselinePick))
    throw new ValueError('give baseline or baselineTag, not both');
  if (isBaselinePick(baseline) && !gate)
    throw new ValueError(
      `a baseline ${baseline} goes with a gate, which takes it once the run has ended; name an experiment to compare with`,
    );
  if (gate) {
    if (isBaselinePick(baseline) && !mayDrop(gate))
      throw new ValueError(`a baseline ${baseline} is for a metric that may drop below it: give one of the gate a maxDrop`);
    checkGate(gate, !!baseline);
  }
  if (options.promptTemplate && typeof options.promptTemplate !== 'string' && typeof options.promptTemplate !== 'object')
    throw new ValueError('promptTemplate must be a text, a list of messages, or a template');
  if (typeof (options.experimentTags ?? {}) !== 'object') throw new ValueError('experimentTags must be an object of texts');
  if (options.promptSettings && !options.promptTemplate) throw new ValueError('promptSettings go with a promptTemplate only');
  if (options.headers && !options.url) throw new ValueError('headers go with a url only');
  checkDatasetChoice(options);
  const local = (options.metrics ?? []).find(isLocal);
  if (local && !options.function)
    throw new ValueError(`the metric ${JSON.stringify(local.name)} is computed in this process: that goes with a function only`);
  for (const [key, value] of Object.entries(options.experimentTags ?? {}))
    if (typeof value !== 'string' || key.length > 256 || value.length > 256)
      throw new ValueError(`the tag ${JSON.stringify(key)} must have a text of at most 256 characters`);
  return name;
}

const holdAnswers = (records: readonly unknown[]): boolean =>
  records.some((record) => typeof record === 'object' && record !== null && Object.hasOwn(record, 'generated_output'));

const namesDataset = ({ dataset, datasetId, datasetName }: DatasetChoice): boolean => !!(dataset || datasetId || datasetName);
