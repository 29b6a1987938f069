import { createHash } from 'node:crypto';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { closestNames } from '../identifiers/closestNames.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import type { RerunReply, RowsToRunRequest } from '../wire/rowsToRun.ts';
import { type ExperimentRun, type Rerun, runsRows, valueStates } from './experiment.ts';
import { isScorerId } from './metricNames.ts';
import type { RunDefinition } from './runLedger.ts';
import type { OrdinalRange } from './workflow.ts';

/** The rows that a request asks to be run. */
export type RowsAsked = RowsToRunRequest;

/** Ranges that are read at a time: more than there can be among the rows that a run looks at together. */
export const MAX_CHOSEN_READ = 1_000;

export interface RerunDeps {
  /** Where in its run, among the rows of one trial, rows with these ids or ordinals are; those that are not there are left out. */
  positionsOf(
    run: ExperimentRun,
    by: 'ids' | 'ordinals',
    named: readonly (string | number)[],
  ): Promise<Map<string | number, number>>;
  metricsOf(run: ExperimentRun): Promise<EnabledMetric[]>;
  /** Names of all metrics that the records of the run have a value or a state of. */
  recordedMetrics(run: ExperimentRun): Promise<string[]>;
}

type Chosen = Pick<RunDefinition, 'rowsToRun' | 'rerun' | 'chosen'>;

/**
 * Returns what a run is asked to do, as it is stored. Rows that are named are found here; those of a metric are frozen by the run's plan, which knows the
 * versions that it scores with.
 * @throws RequestInvalid naming what is not there
 */
export async function chosenRerun(deps: RerunDeps, run: ExperimentRun, asked: RowsAsked): Promise<Chosen> {
  if (typeof asked === 'string') return { rowsToRun: asked };
  if (run.workflowNumber === 0)
    throw invalid(
      [],
      'the experiment has not been started, so nothing can be run again: name the rows of its first run under `rows`',
    );
  if (asked.metric != null) {
    const { again, state } = asked;
    const metric = await namedMetric(deps, run, asked.metric, again ?? 'scores');
    return {
      rowsToRun: again === 'rows' ? 'chosen' : 'scores',
      rerun: { digest: digestOf(asked), of: { metric, states: state ?? valueStates } },
    };
  }
  const positions = await namedPositions(deps, run, asked);
  const wrong = (asked.trials ?? []).filter((trial) => trial >= run.trials);
  if (wrong.length > 0) throw invalid(['trials'], `the experiment has ${run.trials} trials, from 0: not ${some(wrong)}`);
  const trials = [...new Set(asked.trials ?? Array.from({ length: run.trials }, (_, trial) => trial))].sort((a, b) => a - b);
  const rowsOfTrial = run.rowCount / run.trials;
  const ofOne = rangesOf(positions);
  const chosen = trials.flatMap((trial) =>
    ofOne.map(({ from, to }) => ({ from: from + trial * rowsOfTrial, to: to + trial * rowsOfTrial })),
  );
  return { rowsToRun: 'chosen', rerun: { digest: digestOf(asked), executions: executionsIn(chosen) }, chosen };
}

const digestOf = (asked: RowsAsked): string => createHash('sha256').update(JSON.stringify(asked)).digest('hex');

/** A run that goes on is not what somebody gets who asks for certain rows or scores, unless it is over the same. @throws ServiceError `Conflict` */
export function mustRunAsked({ rerun }: Pick<ExperimentRun, 'rerun'>, asked: RowsAsked | undefined): void {
  if (asked !== undefined && typeof asked !== 'string' && rerun?.digest !== digestOf(asked))
    throw new ServiceError(
      'Conflict',
      'a run of this experiment goes on, over other rows or scores: ask again when it has ended, or cancel it',
    );
}

async function namedPositions(deps: RerunDeps, run: ExperimentRun, asked: Exclude<RowsAsked, string>): Promise<number[]> {
  const [by, named] = asked.ids ? (['ids', asked.ids] as const) : (['ordinals', asked.ordinals ?? []] as const);
  const found = await deps.positionsOf(run, by, named);
  const wrong = named.filter((one) => !found.has(one));
  if (wrong.length > 0)
    throw invalid([by], `the run has no rows with the ${by} ${some(wrong)}: those of its traces are \`${columnOf[by]}\``);
  return [...new Set(found.values())].sort((a, b) => a - b);
}

const columnOf = { ids: 'dataset_row_id', ordinals: 'dataset_row_ordinal' };

async function namedMetric(deps: RerunDeps, run: ExperimentRun, name: string, again: 'rows' | 'scores'): Promise<string> {
  const metrics = await deps.metricsOf(run);
  const bare = name.startsWith('metrics/') ? name.slice('metrics/'.length) : name;
  const found = metrics.find((metric) => metric.name === bare) ?? metrics.find(({ alias }) => alias === bare);
  if (found) return found.name;
  // Those that a result held under names of its own were not announced.
  const logged = [...new Set([...Object.keys(run.loggedMetrics), ...(await deps.recordedMetrics(run))])].filter(
    (one) => !isScorerId(one) && !metrics.some(({ name: computed }) => computed === one),
  );
  if (logged.includes(bare)) {
    if (again === 'rows') return bare;
    throw invalid(
      ['again'],
      `${JSON.stringify(bare)} is logged with the rows: to have it again, run them again ("again": "rows")`,
    );
  }
  const known = [...metrics.map(({ name: own, alias }) => alias ?? own), ...(again === 'rows' ? logged : [])];
  const nearest = closestNames(bare, known).map((one) => JSON.stringify(one));
  throw invalid(
    ['metric'],
    `the experiment computes no metric ${JSON.stringify(bare)}${nearest.length > 0 ? `; nearest: ${nearest.join(', ')}` : ': its settings name none'}`,
  );
}

/** Ordinals in order as ranges, the end excluded. */
export function rangesOf(ordinals: Iterable<number>): OrdinalRange[] {
  const ranges: OrdinalRange[] = [];
  for (const ordinal of ordinals) {
    const last = ranges.at(-1);
    if (last?.to === ordinal) last.to++;
    else ranges.push({ from: ordinal, to: ordinal + 1 });
  }
  return ranges;
}

export const executionsIn = (ranges: readonly OrdinalRange[]): number => ranges.reduce((sum, { from, to }) => sum + to - from, 0);

export const rerunToWire = (run: Pick<ExperimentRun, 'rowsToRun' | 'rerun'>): RerunReply | null =>
  run.rerun && {
    again: runsRows(run) ? 'rows' : 'scores',
    metric: run.rerun.of?.metric ?? null,
    state: run.rerun.of ? [...run.rerun.of.states] : null,
    executions: run.rerun.executions ?? null,
  };

/** Returns the metrics that a run computes, of those that it has frozen. */
export const computedMetrics = <Named extends { name: string }>(
  run: Pick<ExperimentRun, 'rowsToRun' | 'rerun'>,
  metrics: Named[],
): Named[] => (run.rowsToRun === 'scores' ? metrics.filter(({ name }) => name === run.rerun?.of?.metric) : metrics);

/** Returns what a metric says that the plan of a run is to choose; undefined where there is nothing to choose, or it is chosen already. */
export const openChoice = ({ rowsToRun, rerun }: Pick<ExperimentRun, 'rowsToRun' | 'rerun'>): Rerun['of'] =>
  rowsToRun === 'chosen' && rerun?.executions === undefined ? rerun?.of : undefined;

/** Ids or ordinals that a message names. */
const MAX_NAMED = 5;

const some = (values: readonly (string | number)[]): string =>
  values.length > MAX_NAMED
    ? `${values.slice(0, MAX_NAMED).join(', ')} and ${values.length - MAX_NAMED} more`
    : values.join(', ');

const invalid = (path: readonly string[], msg: string): RequestInvalid =>
  new RequestInvalid([{ loc: ['body', 'rows_to_run', ...path], msg, type: 'rows_to_run' }]);
