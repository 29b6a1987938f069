import type { RowSelection } from '../datasets/rowSelection.ts';
import type { RowShape, RowSource } from '../datasets/rowsOfRun.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { parseJson } from '../json/parseJson.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import { isObject } from '../wire/isObject.ts';
import { chosenTrials } from './chosenTrials.ts';
import {
  type ExperimentRun,
  type FigureSettings,
  isUnderWay,
  type Rerun,
  type Runner,
  type RunSettings,
  runsRows,
} from './experiment.ts';
import type { DatasetVersionRef, Experiment } from './experimentStore.ts';
import { type FrozenRowsDeps, frozenRows, mustBeFrozen } from './frozenRows.ts';
import { chosenRerun, mustRunAsked, type RerunDeps, type RowsAsked } from './rerun.ts';
import type { DefinitionChange, RunDefinition, RunLedger } from './runLedger.ts';
import { type StartDeps, startRun } from './startRun.ts';

/** A request to start a run. Absent parts keep what the experiment has. */
export interface RunRequest extends FigureSettings {
  runner?: Runner;
  /** Records to run over, for an experiment without a dataset; stored for this run only. */
  records?: Record<string, unknown>[];
  rowsToRun?: RowsAsked;
  /** The rows that the run is over. */
  rows?: RowSelection;
  /** Times that each row is run. */
  trials?: number;
  settings?: Partial<RunSettings>;
  callerProcess?: string;
  /** The parts of the experiment's definition that the request changes. Its metrics are resolved. */
  change?: Omit<DefinitionChange, 'scorers'> & { metrics?: readonly EnabledMetric[] | undefined };
  /** The workflow number that the experiment had when this was decided on; absent: the one that it has now. */
  after?: number;
}

/** The checks before a run starts, so that nothing is paid for a run that cannot work. */
export interface RunChecks extends FrozenRowsDeps, RerunDeps {
  ledger: RunLedger;
  /** The experiment that a run belongs to; undefined when it is gone. */
  experimentOf(run: ExperimentRun): Promise<Pick<Experiment, 'prompt' | 'promptSettings'> | undefined>;
  /** Rows of the experiment's dataset version, or those stored for this run; undefined when none are stored. @throws ServiceError when the dataset is gone. */
  shapeOf(run: ExperimentRun): Promise<RowShape | undefined>;
  /** Stores records for one run. A repeat changes nothing. */
  storeRunRows(runId: string, records: Record<string, unknown>[]): Promise<void>;
  /** Takes back the records that were stored for a run which is refused. */
  forgetRunRows(runId: string): Promise<void>;
  /**
   * @param userId for whom the model is called
   * @throws RequestInvalid or ServiceError when the template is unknown, names a variable the rows lack, or its model is not to be had.
   */
  checkPrompt(templateVersionId: string, settings: Record<string, unknown>, shape: RowShape, userId: string): Promise<void>;
  /** @throws ServiceError when there is no such runner. */
  checkModule(name: string): Promise<void>;
  /** @throws RequestInvalid when the address is not allowed. */
  checkUrl(url: string): Promise<void>;
  /**
   * @param metrics those that the run will compute; absent: the experiment's
   * @throws RequestInvalid when a metric of the run is unknown, or has no worst value where failed rows are to count as that.
   */
  checkMetrics(run: ExperimentRun, metrics?: readonly EnabledMetric[]): Promise<void>;
  /** Returns whether a value of a metric is in one of these states. */
  lacksAny(run: ExperimentRun, of: NonNullable<Rerun['of']>): Promise<boolean>;
}

/**
 * Checks what a run needs and starts it. Rows, template, model, runner and metrics are looked at first: what is wrong is said before anything is
 * written or paid for. Asking again while the run goes on gives that run, so that a client may repeat the call; so does asking beside another
 * request that starts it, however long the checks take and however short the run.
 */
export async function requestRun(
  deps: StartDeps & RunChecks,
  experimentId: string,
  request: RunRequest,
): Promise<{ run: ExperimentRun; started: boolean }> {
  const stored = await deps.ledger.find(experimentId);
  if (!stored) throw new ServiceError('NotFound', `no experiment ${experimentId}`);
  const after = request.after ?? stored.workflowNumber;
  if (isUnderWay(stored.state) || stored.workflowNumber !== after) {
    mustBeFrozen(stored, request.rows);
    mustRunAsked(stored, request.rowsToRun);
    return { run: stored, started: false };
  }
  const { metrics, ...change } = request.change ?? {};
  const current = change.dataset ? { ...stored, source: sourceOf(change.dataset), datasetName: change.dataset.name } : stored;
  const runner = request.runner ?? (await unnamedRunner(deps, current, request));
  const { shape, records } = await shapeOf(deps, current, request);
  const asked = await chosenRerun(deps, current, request.rowsToRun ?? 'missing');
  if (runsRows(asked)) await checkRunner(deps, runner, shape, current.createdBy);
  const { failedRows = current.failedRows, loggedMetrics } = request;
  await deps.checkMetrics({ ...current, failedRows, loggedMetrics: { ...current.loggedMetrics, ...loggedMetrics } }, metrics);
  const { of } = asked.rerun ?? {};
  // A change in the same request may make values stale.
  if (of && !request.change && !(await deps.lacksAny(current, of))) return { run: stored, started: false };
  const { selectedRows, rows, trials } = await chosenRows(deps, current, request, {
    shape,
    records,
    addsTrials: asked.rowsToRun === 'missing' || asked.rowsToRun === 'failed',
  });
  const definition: RunDefinition = {
    ...asked,
    rowCount: rows * trials,
    trials,
    ...(selectedRows ? { selectedRows } : {}),
    ...(runner === current.runner ? {} : { runner }),
    ...(request.settings ? { settings: request.settings } : {}),
    ...(request.failedRows ? { failedRows: request.failedRows } : {}),
    ...(request.loggedMetrics ? { loggedMetrics: request.loggedMetrics } : {}),
    ...(request.callerProcess ? { callerProcess: request.callerProcess } : {}),
    ...(request.change ? { change: { ...change, scorers: metrics?.map(({ config }) => config) } } : {}),
  };
  const start = await startRun(deps, experimentId, after, definition);
  if (!start.started) mustRunAsked(start.run, request.rowsToRun);
  return start;
}

const sourceOf = ({ id, versionIndex }: DatasetVersionRef): RowSource => ({ kind: 'dataset', datasetId: id, versionIndex });

/** Freezes the rows of a run, and how often each is run. Records that were stored for it go again where that is refused. */
async function chosenRows(
  deps: RunChecks,
  current: ExperimentRun,
  request: RunRequest,
  { shape, records, addsTrials }: { shape: RowShape; records: Record<string, unknown>[] | undefined; addsTrials: boolean },
) {
  if (records) await deps.storeRunRows(current.experimentId, records);
  try {
    const selectedRows = await frozenRows(deps, current, request.rows);
    const rows = selectedRows?.count ?? shape.rowCount;
    return { selectedRows, rows, trials: chosenTrials(current, request.trials, { rows, addsTrials }) };
  } catch (err) {
    if (records) await deps.forgetRunRows(current.experimentId);
    throw err;
  }
}

/** The runner of a request that names none: that of the earlier run, else the function of the process that asks, else what the experiment defines. */
async function unnamedRunner(deps: RunChecks, current: ExperimentRun, { callerProcess }: RunRequest): Promise<Runner> {
  if (current.workflowNumber > 0) return current.runner;
  if (callerProcess !== undefined) return { kind: 'caller_function' };
  const experiment = await deps.experimentOf(current);
  if (!experiment) throw new ServiceError('NotFound', `no experiment ${current.experimentId}`);
  return definedRunner(experiment);
}

/** The shape of the rows, and the records to store when nothing is refused: a set that is stored is the run's for good. */
async function shapeOf(
  deps: RunChecks,
  run: ExperimentRun,
  request: RunRequest,
): Promise<{ shape: RowShape; records?: Record<string, unknown>[] }> {
  if (run.source.kind === 'dataset' && request.records)
    throw new RequestInvalid([
      { loc: ['body', 'records'], msg: 'the experiment has a dataset; records are for one without', type: 'conflict' },
    ]);
  // The set of rows is frozen at the first start: a repeat, or a run of the failed rows, takes what is stored.
  const shape = await deps.shapeOf(run);
  if (shape) return { shape };
  const { records } = request;
  if (!records?.length)
    throw new RequestInvalid([
      { loc: ['body', 'records'], msg: 'the experiment has no dataset: give the records to run over', type: 'missing' },
    ]);
  const inputFields = new Set(records.flatMap(({ input }) => Object.keys(jsonObject(input))));
  const columnNames = new Set(records.flatMap((record) => Object.keys(record)));
  const values: RowShape['values'] = async (from, count) => records.slice(from, from + count);
  return { shape: { rowCount: records.length, columnNames: [...columnNames], inputFields: [...inputFields], values }, records };
}

/** The object that an input is, or whose JSON text it is; an empty one otherwise. */
function jsonObject(input: unknown): object {
  if (typeof input !== 'string') return isObject(input) ? input : {};
  if (!input.trimStart().startsWith('{')) return {};
  try {
    return parseJson(input) as object;
  } catch {
    return {};
  }
}

/**
 * @param userId whose run it is
 * @throws RequestInvalid or ServiceError for a runner that cannot run rows of this shape
 */
export async function checkRunner(
  deps: Pick<RunChecks, 'checkPrompt' | 'checkModule' | 'checkUrl'>,
  runner: Runner,
  shape: RowShape,
  userId: string,
): Promise<void> {
  switch (runner.kind) {
    case 'prompt_template':
      return deps.checkPrompt(runner.templateVersionId, runner.settings, shape, userId);
    case 'dataset_outputs':
      if (!shape.columnNames.includes('generated_output'))
        throw new ServiceError(
          'ExperimentHasNoOutputs',
          'the run has no prompt template, and its rows have no column generated_output to take answers from: create the experiment with a prompt ' +
            'template, add the column, or start the run with a runner (prompt_template, caller_function, module or http)',
        );
      return;
    case 'module':
      return deps.checkModule(runner.name);
    case 'http':
      return deps.checkUrl(runner.url);
    case 'caller_function':
      return;
    default:
      return runner satisfies never;
  }
}

/** The prompt of an experiment, as running it needs it. */
export interface DefinedPrompt {
  prompt: Pick<NonNullable<Experiment['prompt']>, 'templateVersionId' | 'settings'> | null;
  /** Instead of the settings of the template's version. */
  promptSettings: Experiment['promptSettings'];
}

/** Returns what runs the rows of an experiment when the request names no runner: its prompt template, else the outputs that its dataset holds. */
export const definedRunner = ({ prompt, promptSettings }: DefinedPrompt): Runner =>
  prompt
    ? { kind: 'prompt_template', templateVersionId: prompt.templateVersionId, settings: promptSettings ?? prompt.settings }
    : { kind: 'dataset_outputs' };
