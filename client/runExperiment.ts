import type { z } from 'zod';
import type { RunnerRequest, RunReply } from '../shared/wire/experimentRuns.ts';
import type { ExperimentResponse } from '../shared/wire/experiments.ts';
import { baselineRun } from './baselineRun.ts';
import { buildTags } from './buildTags.ts';
import { clientOf, resolveProject } from './callOptions.ts';
import { type ChosenRows, chooseRows, isOver } from './chooseDataset.ts';
import { chooseScorers, isLocal, scalesOf, type TakenNames } from './chooseMetrics.ts';
import { type ChosenPrompt, choosePrompt, isPromptOf } from './choosePrompt.ts';
import { compareExperiments } from './compareExperiments.ts';
import { ConnectionError, ExperimentRunError, HttpStatusError, ValueError } from './errors.ts';
import { withAggregates } from './experimentAggregates.ts';
import { experimentLink } from './experimentLink.ts';
import type { ExperimentProgress, ExperimentRunResults } from './experimentRunResults.ts';
import { groupKeys, searchExperiments } from './experiments.ts';
import { gateExperiment, isBaselinePick, mayDrop } from './gateExperiment.ts';
import { type LeasedRow, runHostedRow } from './hostedRow.ts';
import { hostRows } from './hostRows.ts';
import type { ServiceClient } from './http.ts';
import type { LocalMetric } from './localMetric.ts';
import { settingsKeys } from './promptSettings.ts';
import { isRowOf } from './recordRows.ts';
import { selectionToWire } from './rowSelection.ts';
import { checkRunOptions, type RunExperimentOptions } from './runExperimentOptions.ts';
import { thrownText } from './texts.ts';
import { timedName, unfinishedExperiment } from './unfinishedExperiment.ts';
import { progressOf, type RunPath, reportProgress, untilEnded } from './watchExperiment.ts';

type Runner = z.input<typeof RunnerRequest>;

/**
 * Runs an experiment: a prompt template over a dataset, or a function of yours (or a module or endpoint) over a dataset or a list of records, and
 * scores every row. Without any of these it scores the answers that the rows have in their column `generated_output`. Run again after a crash, it goes on where it stopped: rows that are recorded are not run twice. A name that is taken gets the
 * time behind it.
 * @throws ValueError for missing or wrong parameters, also where the service finds them wrong; NotFoundError with `errorCode` 3520 for a group id
 * that is not in the project;
 * HttpStatusError for what the service refuses; ExperimentRunError when the run failed as a whole or was cancelled (a row that failed does not
 * fail the run); TakenOverError when the same script was started again meanwhile.
 */
export async function runExperiment<Input = unknown, Output = unknown>(
  options: RunExperimentOptions<Input, Output>,
): Promise<ExperimentRunResults> {
  const name = checkRunOptions(options);
  const client = clientOf({ client: options.client }); // the signal stops rows, and what they gave is still handed in
  const projectId = await resolveProject(client, {
    projectName: options.projectName ?? options.project,
    projectId: options.projectId,
  });
  if (options.promptTemplate && options.onError)
    client.logger.warn('onError is ignored with a prompt template: the service records the rows itself');
  // Before there is a new experiment, which may get the same name.
  const { baseline } = options;
  const pick = isBaselinePick(baseline) ? baseline : undefined;
  const baselineId = baseline === undefined || pick ? undefined : await baselineRun(client, projectId, baseline);
  const [rows, { scorers, takenNames }, namesakes] = await Promise.all([
    chooseRows(client, options),
    chooseScorers(client, options.metrics ?? []),
    searchExperiments(client, projectId, [{ name: 'name', operator: 'contains', value: name, case_sensitive: true }]),
  ]).catch(wrongParameter);
  const prompt = options.promptTemplate
    ? await choosePrompt(client, projectId, options.promptTemplate, name).catch(wrongParameter)
    : undefined;
  const experimentRun = new ExperimentRun(options, { client, projectId, name, namesakes, rows, scorers, takenNames, prompt });
  const results = await experimentRun.run();
  const { id: experimentId } = results.experiment;
  const held = { client, projectId, signal: options.signal };
  const { gate } = options;
  // Limits alone need no baseline, which is then for the comparison.
  const gated = gate && {
    ...gate,
    ...held,
    ...(mayDrop(gate) && { baselineId }),
    ...(pick && { baselinePick: pick }),
    experimentId,
  };
  return {
    ...results,
    ...(baselineId && { comparison: await compareExperiments({ ...held, baselineId, experimentIds: [experimentId] }) }),
    ...(gated && { gate: await gateExperiment(gated).catch(wrongParameter) }),
  };
}

interface Chosen {
  client: ServiceClient;
  projectId: string;
  name: string;
  /** Experiments whose names hold this one. */
  namesakes: ExperimentResponse[];
  rows: ChosenRows;
  scorers: Record<string, unknown>[];
  takenNames: TakenNames;
  prompt: ChosenPrompt | undefined;
}

/** The unfinished experiment turned out to be over other rows. */
class OtherRecords extends Error {}

class ExperimentRun<Input, Output> {
  private readonly options: RunExperimentOptions<Input, Output>;
  private readonly chosen: Chosen;

  constructor(options: RunExperimentOptions<Input, Output>, chosen: Chosen) {
    this.options = options;
    this.chosen = chosen;
  }

  async run(): Promise<ExperimentRunResults> {
    const { client, name, namesakes } = this.chosen;
    const found = this.options.resume === false ? undefined : await this.unfinished(namesakes);
    if (found) {
      try {
        return await this.results(found, true, await this.follow(found, false));
      } catch (err) {
        if (!(err instanceof OtherRecords)) throw err;
        client.logger.warn(
          `${JSON.stringify(found.name)} has not ended but is over other rows: a new experiment is made, that one stays as it is`,
        );
        namesakes.push(found);
      }
    }
    const free = namesakes.some((one) => one.name === name) ? timedName(name, new Date()) : name;
    const experiment = await this.create(free).catch(wrongParameter);
    const begun = this.tag(experiment).then(() => this.follow(experiment, true));
    const end = await begun.catch((err: unknown) => this.takeBack(experiment, err));
    return this.results(experiment, false, end);
  }

  /** Deletes an experiment whose start was refused, so that none is left that holds the name and never ran. */
  private async takeBack(experiment: ExperimentResponse, err: unknown): Promise<never> {
    // A request that never got an answer may have started it.
    if (!(err instanceof ConnectionError) && !(err instanceof HttpStatusError && err.status >= 500)) {
      const progress = await progressOf(this.runPath(experiment), this.options.signal).catch(() => undefined);
      if (progress?.state === 'idle') {
        await this.chosen.client.send(this.path(experiment), { method: 'DELETE' }).catch(() => undefined);
        if (err instanceof HttpStatusError) wrongParameter(err);
      }
    }
    throw err;
  }

  private async unfinished(namesakes: readonly ExperimentResponse[]): Promise<ExperimentResponse | undefined> {
    const { client, projectId, name, rows, prompt } = this.chosen;
    const { experimentGroup, experimentGroupId } = this.options;
    const found = await unfinishedExperiment(client, projectId, namesakes, {
      name,
      runner: this.runner().kind,
      recordCount: 'records' in rows ? rows.records.length : undefined,
      trials: this.options.trials ?? 1,
      rows: this.options.rows,
      fits: (experiment) =>
        isOver(experiment, rows) &&
        (!prompt || isPromptOf(experiment, prompt, this.promptSettings() ?? {})) &&
        (!experimentGroupId || experiment.experiment_group_id === experimentGroupId) &&
        (!experimentGroup || !!experimentGroupId || experiment.experiment_group_name === experimentGroup.trim()),
    });
    return found?.experiment;
  }

  private async create(name: string): Promise<ExperimentResponse> {
    const { client, projectId, rows, scorers, prompt } = this.chosen;
    const trigger = this.isTriggered();
    return client.send<ExperimentResponse>(`/projects/${projectId}/experiments`, {
      body: {
        name,
        task_type: 16,
        ...('dataset' in rows ? { dataset: rows.dataset } : {}),
        ...groupKeys(this.options),
        ...(prompt ? { prompt_template_version_id: prompt.versionId } : {}),
        ...(prompt ? { prompt_settings: this.promptSettings() } : {}),
        ...(trigger ? { trigger } : {}),
        ...(scorers.length > 0 ? { scorers } : {}),
      },
      headers: { 'idempotency-key': crypto.randomUUID() },
      repeatable: true,
    });
  }

  private async tag(experiment: ExperimentResponse): Promise<void> {
    const tags = { ...(await buildTags()), ...this.options.experimentTags };
    const put = ([key, value]: [string, string]) =>
      this.chosen.client.send(`${this.path(experiment)}/tags`, { body: { key, value, tag_type: 'generic' }, repeatable: true });
    await Promise.all(Object.entries(tags).map(put));
  }

  /** Sees the run to its end, or as far as it is to be waited for. Gives how it ended where that is known. */
  private async follow(experiment: ExperimentResponse, isNew: boolean): Promise<ExperimentProgress | undefined> {
    this.options.onExperiment?.(experiment);
    const ended = new AbortController();
    const { onProgress } = this.options;
    const reporting = onProgress ? reportProgress(this.runPath(experiment), onProgress, ended.signal) : undefined;
    try {
      if (this.options.function) {
        await this.host(experiment, this.options.function, isNew);
        return undefined;
      }
      if (!this.isTriggered()) await this.start(experiment, undefined);
      return this.options.wait === false ? undefined : await untilEnded(this.runPath(experiment), this.options.signal);
    } finally {
      ended.abort();
      await reporting;
    }
  }

  private start(experiment: ExperimentResponse, process: string | undefined): Promise<z.output<typeof RunReply>> {
    const { rows, client } = this.chosen;
    const scales = scalesOf(this.localMetrics()).map(([name, { direction, range }]) => ({ name, direction, range }));
    const body = {
      // The service knows the settings of a version that was given by its id alone.
      runner: this.chosen.prompt && !this.promptSettings() ? undefined : this.runner(),
      process,
      ...('records' in rows ? { records: rows.records } : {}),
      ...this.settings(),
      ...(scales.length > 0 ? { logged_metrics: scales } : {}),
    };
    // Asked again while the run goes on, the service gives that run.
    return client
      .send<z.output<typeof RunReply>>(`${this.path(experiment)}/run`, { body, repeatable: true, signal: this.options.signal })
      .catch((err: unknown) => {
        throw this.options.rows && err instanceof HttpStatusError && err.status === 409 ? new OtherRecords() : err;
      });
  }

  private async host(
    experiment: ExperimentResponse,
    run: NonNullable<typeof this.options.function>,
    isNew: boolean,
  ): Promise<void> {
    const { client, projectId, rows } = this.chosen;
    const process = crypto.randomUUID();
    const { concurrency } = await this.start(experiment, process);
    const warn = (message: string) => client.logger.warn(message);
    const work = {
      function: run,
      metrics: this.localMetrics(),
      takenNames: this.chosen.takenNames,
      warn: onceEach(warn),
    };
    await hostRows({
      client,
      projectId,
      experimentId: experiment.id,
      concurrency,
      process,
      run: (row, timeLimitMs, limit) => runHostedRow(work, row, timeLimitMs, limit),
      // Those of a new experiment are the records that were just sent.
      inspect: 'records' in rows && !isNew ? (leased) => mustBeOf(rows.records, leased) : undefined,
      onError: (error) => this.reportError(error),
      warn,
      until: this.options.wait === false ? 'recorded' : 'ended',
      signal: this.options.signal,
    });
  }

  private localMetrics(): LocalMetric<Input, Awaited<Output>>[] {
    return (this.options.metrics ?? []).filter(isLocal) as LocalMetric<Input, Awaited<Output>>[];
  }

  /** A callback that throws or rejects does not end the run, either. */
  private reportError(error: unknown): void {
    const { logger } = this.chosen.client;
    const { onError } = this.options;
    if (!onError) {
      logger.warn(`results could not be handed over, they are sent again: ${thrownText(error)}`);
      return;
    }
    const report = async () => onError(error);
    report().catch((thrown: unknown) => logger.warn(`onError failed: ${thrownText(thrown)}`));
  }

  /** The service starts a prompt over a dataset with its creation; in all other cases the start says what runs the rows and how. */
  private isTriggered(): boolean {
    const settings = Object.values(this.settings()).some((value) => value !== undefined);
    return this.chosen.prompt !== undefined && 'dataset' in this.chosen.rows && !settings;
  }

  private runner(): Runner {
    const { module, url, headers } = this.options;
    if (module) return { kind: 'module', name: module };
    if (url) return { kind: 'http', url, ...(headers ? { headers } : {}) };
    if (this.options.function) return { kind: 'caller_function' };
    if (!this.chosen.prompt) return { kind: 'dataset_outputs' };
    const { versionId } = this.chosen.prompt;
    return { kind: 'prompt_template', prompt_template_version_id: versionId, prompt_settings: this.promptSettings() };
  }

  /** Returns the given settings over those of the template's version. Undefined when neither is known: the service takes those of the version. */
  private promptSettings(): Record<string, unknown> | undefined {
    const base = this.chosen.prompt?.known?.settings;
    const { promptSettings } = this.options;
    return base || promptSettings ? { ...base, ...settingsKeys(promptSettings ?? {}) } : undefined;
  }

  private settings() {
    const { trials, concurrency, rowTimeLimitMs, maxCallAttempts, pauseAfterFailures, pauseAfterProviderFailures } = this.options;
    const { limits, failedRows } = this.options;
    return {
      rows: this.options.rows && selectionToWire(this.options.rows),
      trials,
      concurrency,
      row_time_limit_ms: rowTimeLimitMs,
      max_call_attempts: maxCallAttempts,
      pause_after_failures: pauseAfterFailures,
      pause_after_provider_failures: pauseAfterProviderFailures,
      limits: limits && settingsKeys({ ...limits }),
      failed_rows: failedRows,
    };
  }

  private runPath(experiment: ExperimentResponse): RunPath {
    return { client: this.chosen.client, path: this.path(experiment) };
  }

  private path(experiment: ExperimentResponse): string {
    return `/projects/${this.chosen.projectId}/experiments/${experiment.id}`;
  }

  private async results(
    created: ExperimentResponse,
    resumed: boolean,
    end: ExperimentProgress | undefined,
  ): Promise<ExperimentRunResults> {
    const { client } = this.chosen;
    const [experiment, progress] = await Promise.all([
      client.send<ExperimentResponse>(this.path(created)).then(withAggregates),
      end ?? progressOf(this.runPath(created), this.options.signal),
    ]);
    this.options.onProgress?.(progress);
    const link = experimentLink(client.apiUrl, this.chosen.projectId, created.id);
    const results = { experiment, progress, message: messageOf(experiment, progress, link), link, resumed };
    if (progress.settings_not_sent?.length)
      client.logger.warn(`promptSettings that the model was not sent: ${progress.settings_not_sent.join(', ')}`);
    if (progress.state === 'failed' || progress.state === 'cancelled') throw new ExperimentRunError(results.message, results);
    return results;
  }
}

/** Turns a 422 into an error about the parameters: the service knows models, limits and forms of settings that this process does not. */
function wrongParameter(err: unknown): never {
  throw err instanceof HttpStatusError && err.status === 422 ? new ValueError(err.message, { cause: err }) : err;
}

/** @throws OtherRecords */
function mustBeOf(records: readonly Record<string, unknown>[], leased: readonly LeasedRow[]): void {
  if (!leased.every((row) => isRowOf(row, records[row.dataset_row_ordinal]))) throw new OtherRecords();
}

function messageOf(experiment: ExperimentResponse, progress: ExperimentProgress, link: string): string {
  const { state, rows_done, rows_total, rows_failed, error } = progress;
  const rows = `${rows_done} of ${rows_total} rows${rows_failed > 0 ? `, ${rows_failed} of them failed` : ''}`;
  return `Experiment ${JSON.stringify(experiment.name)} ${state}: ${rows}${error ? ` (${error})` : ''}. Results: ${link}`;
}

/** Lets the first warning of each kind through: what stands before the row's number. */
function onceEach(warn: (message: string) => void): (message: string) => void {
  const seen = new Set<string>();
  return (message) => {
    const kind = message.split(' of row ')[0] as string;
    if (seen.has(kind)) return;
    seen.add(kind);
    warn(`${message} (said once)`);
  };
}
