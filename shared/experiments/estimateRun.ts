import { freeTurn } from '../concurrency/freeTurn.ts';
import type { SourceRow } from '../datasets/experimentRow.ts';
import { templateVariables } from '../datasets/experimentRow.ts';
import { digestOf, type RowSelection, type SelectedRows, shownSelection } from '../datasets/rowSelection.ts';
import type { RowReader } from '../datasets/rowsOfRun.ts';
import { newId } from '../identifiers/ids.ts';
import { NotNow, type ScoredRecord } from '../metrics/metric.ts';
import { scoreRecord } from '../metrics/scoreRecord.ts';
import { ANSWER_TOKENS, tokensOfMessages, tokensOfText } from '../modelCalls/callLimits.ts';
import type { ModelCaller } from '../modelCalls/modelCall.ts';
import { nameOfModel, pricedName } from '../modelCalls/models.ts';
import type { Prices } from '../prices/openPrices.ts';
import { findPromptVersion, type PromptStore } from '../prompts/prompts.ts';
import { renderPrompt } from '../prompts/render.ts';
import { foundModel, judgeOfMetric, modelsOfUser, mustHaveJudges } from '../scorers/judge.ts';
import type { Scorers } from '../scorers/openScorers.ts';
import { type EnabledMetric, resolveMetrics, withAllRequired } from '../scorers/resolveMetrics.ts';
import { usableScorers } from '../scorers/usableScorers.ts';
import type { ScorerConfig } from '../wire/scorers.ts';
import { chosenDataset, type DatasetLookup } from './create.ts';
import { defaultRunSettings, type ExperimentRun, type Runner } from './experiment.ts';
import type { DatasetVersionRef } from './experimentStore.ts';
import { comparedRun } from './frozenRows.ts';
import { checkRunner, type RunChecks } from './prepareRun.ts';

export interface EstimateDeps {
  datasets: DatasetLookup;
  scorers: Pick<Scorers['store'], 'list' | 'findEver' | 'findVersionById'>;
  checks: Pick<RunChecks, 'ledger' | 'shapeOf' | 'selectRows' | 'checkPrompt' | 'checkModule' | 'checkUrl'>;
  /** Takes back rows that were chosen for no run. */
  forgetSelection(storageId: string): Promise<void>;
  rows: Pick<RowReader, 'page'>;
  prompts: Pick<PromptStore, 'version'>;
  models: Pick<ModelCaller, 'resolveModel'>;
  prices: Pick<Prices, 'fresh' | 'costOf'>;
  defaultJudge(projectId: string): Promise<string | null>;
}

export interface EstimatedRun {
  /** The account that would start it. */
  userId: string;
  dataset: { id: string; versionIndex: number | undefined };
  /** `settings` of a prompt: null for those of its version. */
  runner:
    | Exclude<Runner, { kind: 'prompt_template' }>
    | { kind: 'prompt_template'; versionId: string; settings: Settings | null };
  scorers: readonly ScorerConfig[];
  rows: RowSelection | undefined;
  trials: number;
}
type Settings = Record<string, unknown>;

/** The number, tokens and cost of model calls. Null: unknown. */
export interface CallEstimate {
  calls: number | null;
  inputTokens: number | null;
  outputTokens: number | null;
  costUsd: number | null;
  /** Why the cost is not known. */
  unknown: string | null;
}

export interface RunEstimate {
  rows: number;
  trials: number;
  selectedRows: SelectedRows | null;
  sampledRows: number;
  run: CallEstimate & { model: string | null; mostCostUsd: number | null; answers: 'reference' | 'assumed' | 'none' };
  metrics: (CallEstimate & {
    scorerId: string;
    name: string;
    judgeModel: string | null;
    lacking: { rows: number; message: string } | null;
  })[];
}

/** The sample: so many blocks of so many rows, evenly from all. */
const BLOCKS = 5;
const ROWS_OF_BLOCK = 5;

const noCalls: CallEstimate = { calls: 0, inputTokens: 0, outputTokens: 0, costUsd: 0, unknown: null };
const unknownCalls = (unknown: string): CallEstimate => ({
  ...{ calls: null, inputTokens: null, outputTokens: null, costUsd: null },
  unknown,
});

/**
 * Returns what a run would cost, from a sample of its rows: the prompt is rendered for each and the judges' prompts are made for it, as the run would do, with
 * the reference output in place of the answer. No model is called and nothing is kept. What would refuse the run is thrown as its start would.
 */
export async function estimateRun(all: EstimateDeps, projectId: string, asked: EstimatedRun): Promise<RunEstimate> {
  const deps: EstimateDeps = { ...all, models: modelsOfUser(all.models, asked.userId) };
  const dataset = await chosenDataset(deps.datasets, asked.dataset.id, asked.dataset.versionIndex);
  const metrics = withAllRequired(await resolveMetrics(usableScorers(deps.scorers, [projectId]), asked.scorers));
  const prompt =
    asked.runner.kind === 'prompt_template' ? await findPromptVersion(deps.prompts, asked.runner.versionId) : undefined;
  const runner: Runner =
    asked.runner.kind === 'prompt_template'
      ? {
          ...{ kind: 'prompt_template', templateVersionId: asked.runner.versionId },
          settings: asked.runner.settings ?? { ...prompt?.settings },
        }
      : asked.runner;
  const run = runOf(projectId, asked.userId, dataset, runner, asked.trials);
  const shape = await deps.checks.shapeOf(run);
  if (!shape) throw new TypeError('a dataset has a shape');
  await checkRunner(deps.checks, runner, shape, asked.userId);
  await mustHaveJudges(deps.models, metrics, () => deps.defaultJudge(projectId));
  const selectedRows = asked.rows ? await chooseRows(deps, run, asked.rows) : null;
  try {
    const rows = selectedRows?.count ?? shape.rowCount;
    const sample = await sampled(deps.rows, { ...run, selectedRows }, rows);
    await deps.prices.fresh();
    const executions = rows * asked.trials;
    const inputs = prompt ? sample.map((row) => renderPrompt(prompt.template, templateVariables(row))) : [];
    return {
      ...{ rows, trials: asked.trials, selectedRows, sampledRows: sample.length },
      run: await callsOfRun(deps, runner, { inputs, sample, executions }),
      metrics: await Promise.all(
        metrics.map((metric) => callsOfMetric(deps, projectId, metric, { runner, inputs, sample, executions })),
      ),
    };
  } finally {
    if (selectedRows) await deps.forgetSelection(selectedRows.storageId);
  }
}

/** The run as it would be stored before its first start. */
const runOf = (
  projectId: string,
  createdBy: string,
  dataset: DatasetVersionRef,
  runner: Runner,
  trials: number,
): ExperimentRun => ({
  ...{ experimentId: newId(), projectId, name: '', projectName: '', groupName: '', createdBy, datasetName: dataset.name },
  ...{ runner, settings: defaultRunSettings, loggedMetrics: {}, failedRows: 'omit', state: 'idle', trials, rowCount: 0 },
  source: { kind: 'dataset', datasetId: dataset.id, versionIndex: dataset.versionIndex },
  ...{ workflowNumber: 0, scoresLeftFrom: 0, workflowId: '', workflowProblem: null },
  ...{ rowsToRun: 'missing', rerun: null, selectedRows: null },
});

async function chooseRows({ checks }: EstimateDeps, run: ExperimentRun, rows: RowSelection): Promise<SelectedRows> {
  const like = rows.same_as ? await comparedRun(checks, run, rows.same_as) : undefined;
  return { ...(await checks.selectRows(run, rows, like)), digest: digestOf(rows), shown: shownSelection(rows) };
}

async function sampled(rows: EstimateDeps['rows'], run: ExperimentRun, count: number): Promise<SourceRow[]> {
  if (count <= BLOCKS * ROWS_OF_BLOCK) return rows.page(run, 0, count);
  const found: SourceRow[] = [];
  for (let block = 0; block < BLOCKS; block++) {
    const from = Math.floor((block * count) / BLOCKS);
    found.push(...(await rows.page(run, from, from + ROWS_OF_BLOCK)));
  }
  return found;
}

interface Sampled {
  /** The rendered prompts of the sample; empty where no prompt runs the rows. */
  inputs: readonly ReturnType<typeof renderPrompt>[];
  sample: readonly SourceRow[];
  executions: number;
}

async function callsOfRun(
  { models, prices }: EstimateDeps,
  runner: Runner,
  { inputs, sample, executions }: Sampled,
): Promise<RunEstimate['run']> {
  const none = { model: null, mostCostUsd: null, answers: 'none' } as const;
  if (runner.kind === 'dataset_outputs') return { ...noCalls, ...none, mostCostUsd: 0 };
  if (runner.kind !== 'prompt_template') return { ...unknownCalls(notOurs[runner.kind]), ...none };
  const { settings } = runner;
  const resolved = await models.resolveModel(typeof settings.model_alias === 'string' ? settings.model_alias : null);
  const answersOfCall = positive(settings.n) ?? 1;
  const most = positive(settings.max_tokens) ?? Number.POSITIVE_INFINITY;
  const references = sample.flatMap(({ expected }) => (expected ? [tokensOfText(expected.length)] : []));
  const likely = Math.min(most, references.length > 0 ? average(references) : ANSWER_TOKENS) * answersOfCall;
  const inputTokens = average(inputs.map(tokensOfMessages));
  const costOf = (outputTokens: number) =>
    Number.isFinite(outputTokens)
      ? prices.costOf({ ...pricedName(resolved), at: new Date().toISOString(), inputTokens, outputTokens })
      : null;
  const [cost, mostCost] = [costOf(likely), costOf(most * answersOfCall)];
  const name = nameOfModel(resolved);
  return {
    calls: executions,
    inputTokens: Math.round(inputTokens * executions),
    outputTokens: Math.round(likely * executions),
    costUsd: cost === null ? null : cost * executions,
    unknown: cost === null ? noPrice(name) : null,
    model: name,
    mostCostUsd: mostCost === null ? null : mostCost * executions,
    answers: references.length > 0 ? 'reference' : 'assumed',
  };
}

const notOurs = {
  caller_function: 'the rows run in a function of yours: the service does not know which models it calls before it has',
  module: 'the rows run in a module: the service does not know which models it calls before it has',
  http: 'the rows run at an address: the service does not know which models it calls',
} as const;
const noPrice = (model: string) => `no price is known of the model ${JSON.stringify(model)}: set one on its integration`;

const positive = (value: unknown): number | undefined => (typeof value === 'number' && value > 0 ? value : undefined);
const average = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, one) => sum + one, 0) / values.length;

/** The value of a required metric, which nothing says before it is computed. */
const STAND_IN = 0.5;

/** Ends a score where its judge would be asked. */
class Asked extends NotNow {}

async function callsOfMetric(
  deps: EstimateDeps,
  projectId: string,
  metric: EnabledMetric,
  { runner, inputs, sample, executions }: Sampled & { runner: Runner },
): Promise<RunEstimate['metrics'][number]> {
  const underTest =
    runner.kind === 'prompt_template' && typeof runner.settings.model_alias === 'string' ? runner.settings.model_alias : null;
  const named = { scorerId: metric.scorerId, name: metric.alias ?? metric.name };
  const isJudged = metric.needs === 'judge';
  const judge = isJudged ? await judgeOfMetric(deps.models, metric, () => deps.defaultJudge(projectId), underTest) : undefined;
  const judgeModel = judge?.model ?? null;
  const kind = (['trace', 'llm'] as const).find((one) => metric.kinds.includes(one));
  const knowsSpans = runner.kind === 'prompt_template' || !(metric.readsSpans || kind === 'llm');
  if (!kind || !knowsSpans) {
    const calls = isJudged ? unknownCalls('it judges what a run records below its rows, which nothing says before') : noCalls;
    return { ...named, judgeModel, ...calls, lacking: null };
  }
  const { requires } = metric;
  const standIns = requires && { requiredScores: Object.fromEntries(requires.map(({ name }) => [name, STAND_IN])) };
  const requests: { inputTokens: number; outputTokens: number; model: string | null }[] = [];
  const lacking: string[] = [];
  for (const [index, row] of sample.entries()) {
    await freeTurn();
    const score = await scoreRecord(
      metric,
      { ...recordOf(row, inputs[index], kind), ...standIns },
      {
        signal: neverAborted,
        async complete({ system = '', prompt, embeds, judge: number = 0 }) {
          const model = judge?.models?.[number % judge.models.length] ?? judgeModel;
          const characters = (embeds ?? [system, prompt]).reduce((sum, { length }) => sum + length, 0);
          requests.push({ inputTokens: tokensOfText(characters), outputTokens: embeds ? 0 : ANSWER_TOKENS, model });
          throw new Asked();
        },
      },
    ).catch((err: unknown) => {
      if (!(err instanceof Asked)) throw err;
      return undefined;
    });
    if (score && 'notApplicable' in score) lacking.push(score.notApplicable);
  }
  const lack = lacking[0] === undefined ? null : { rows: lacking.length, message: lacking[0] };
  if (!isJudged) return { ...named, judgeModel, ...noCalls, lacking: lack };
  return {
    ...named,
    judgeModel,
    ...(await pricedRequests(deps, requests, executions / Math.max(1, sample.length))),
    lacking: lack,
  };
}

const neverAborted = new AbortController().signal;

/** Prices the judges' requests for the sample, times as many executions as there are for each of its rows. */
async function pricedRequests(
  { models, prices }: EstimateDeps,
  requests: readonly { inputTokens: number; outputTokens: number; model: string | null }[],
  times: number,
): Promise<CallEstimate> {
  let costUsd: number | null = 0;
  let unknown: string | null = null;
  for (const { inputTokens, outputTokens, model } of requests) {
    const resolved = await foundModel(models, model);
    if (!resolved) return unknownCalls('no model is there that could judge it');
    const asked = { ...pricedName(resolved), at: new Date().toISOString(), inputTokens, outputTokens };
    const cost = prices.costOf(asked);
    if (cost === null) unknown ??= noPrice(nameOfModel(resolved));
    costUsd = cost === null || costUsd === null ? null : costUsd + cost * times;
  }
  return {
    calls: Math.round(requests.length * times),
    inputTokens: Math.round(requests.reduce((sum, { inputTokens }) => sum + inputTokens, 0) * times),
    outputTokens: Math.round(requests.reduce((sum, { outputTokens }) => sum + outputTokens, 0) * times),
    ...{ costUsd, unknown },
  };
}

/** The record that a row would be, with the reference output in place of the answer. */
function recordOf(row: SourceRow, prompt: Sampled['inputs'][number] | undefined, kind: 'trace' | 'llm'): ScoredRecord {
  const output = row.generatedOutput ?? row.expected ?? ASSUMED_ANSWER;
  const trace: ScoredRecord = {
    ...{ kind: 'trace', name: 'row', input: row.input, output, datasetInput: row.input, datasetOutput: row.expected },
    ...{ datasetMetadata: row.metadata, metadata: {}, durationNs: 0, errorMessage: null, model: null, isRow: true },
    ...{ inputTokens: 1, outputTokens: 1, totalTokens: 2, rowValues: row.variables, spans: [] },
  };
  if (!prompt) return trace;
  const call: ScoredRecord = {
    ...{ ...trace, kind: 'llm', isRow: false },
    input: JSON.stringify(prompt),
    output: JSON.stringify({ role: 'assistant', content: output }),
  };
  return kind === 'llm' ? call : { ...trace, spans: [call] };
}

const ASSUMED_ANSWER = 'word '.repeat((ANSWER_TOKENS * 4) / 5);
