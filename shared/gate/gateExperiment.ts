import { type ComparedMetric, namedMetrics } from '../comparison/comparedMetrics.ts';
import { comparedSides, type Side, type SidesDeps, warningsOfGaps } from '../comparison/comparedSides.ts';
import type { Comparison, ComparisonAnswer, ComparisonRequest } from '../comparison/comparison.ts';
import { type MetricsDeps, metricsOfSides } from '../comparison/metricsToCompare.ts';
import { selfJudgedWarnings } from '../comparison/selfJudged.ts';
import { mustHaveWorst } from '../comparison/worstValues.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import type { ExperimentAggregates } from '../experiments/aggregates.ts';
import type { BaselineChoice, ExperimentStore } from '../experiments/experimentStore.ts';
import type { FailedRows } from '../metrics/metricFigures.ts';
import type { RunRef } from '../projects/runs.ts';
import { levelOfEach } from '../statistics/levelOfEach.ts';
import type { GateAnswer, GateCheck, GatedExperiment, GatedMetric, GateRequest } from './gate.ts';
import { allFailed, checkOfDrop, checkOfFailedRows, checkOfLimit, unlessTooFewScored } from './gateChecks.ts';
import { worstStatus } from './gateDecision.ts';
import { mustHaveEnded } from './mustHaveEnded.ts';
import { scoredRows, warningOfScores, whyValuesLack } from './scoredRows.ts';

export interface GateDeps extends SidesDeps, MetricsDeps {
  compare(projectId: string, request: ComparisonRequest, signal?: AbortSignal): Promise<ComparisonAnswer>;
  lastFinished: ExperimentStore['lastFinished'];
  /** By metric, values that are still to be computed. */
  waiting(run: RunRef): Promise<ReadonlyMap<string, number>>;
  /** Returns the aggregates of its rows now; undefined where it is gone. */
  aggregatesNow(experimentId: string, failedRows: FailedRows | undefined): Promise<ExperimentAggregates | undefined>;
}

/** Fewer pairs are warned of: what they agree in, a larger sample may not. */
const FEW_PAIRS = 10;

/**
 * Holds an experiment against a baseline and limits.
 * @throws RequestInvalid for what cannot be checked; ServiceError `NotFound`, and `Conflict` for an experiment that has not ended
 */
export async function gateExperiment(
  deps: GateDeps,
  projectId: string,
  request: GateRequest,
  signal?: AbortSignal,
): Promise<GateAnswer> {
  mustSayWhatCounts(request);
  const { experiment, baseline, choice } = await sides(deps, projectId, request);
  const { rows, failed } = experiment.outline;
  const answer = (checks: GateCheck[], warnings: string[] = []): GateAnswer => ({
    status: worstStatus(checks.map(({ status }) => status)),
    experiment: gated(experiment),
    baseline: baseline ? gated(baseline) : null,
    baselineChoice: choice,
    checks,
    warnings,
  });
  const failedRows = checkOfFailedRows(request, rows, failed);
  const ofRows = failedRows ? [failedRows] : [];
  // An experiment without one answer passes nothing, whatever it is asked.
  if (failed === rows) return answer([...ofRows, ...request.metrics.flatMap(allFailed(rows))]);
  const metrics = await metricsOf(deps, projectId, request, baseline ? [baseline, experiment] : [experiment]);
  const [compared, aggregates] = await Promise.all([
    baseline ? comparisonsOf(deps, projectId, request, baseline, metrics, signal) : undefined,
    metrics.length > 0 ? deps.aggregatesNow(experiment.experiment.id, request.failedRows) : undefined,
  ]);
  if (metrics.length > 0 && !aggregates)
    throw new ServiceError('NotFound', `no experiment ${experiment.experiment.id} in this project`);
  const both = baseline ? [baseline, experiment] : [experiment];
  const checks = metrics.flatMap((metric, index) => {
    const { known, maxDrop, min, max } = metric;
    const scored = scoredRows(aggregates?.counts?.[known.id]);
    return [
      ...(maxDrop !== undefined
        ? [checkOfDrop(known, maxDrop, comparisonOf(known, compared), { index, gaps: warningsOfGaps(both, [known]) })]
        : []),
      ...(min !== undefined ? [checkOfLimit(known, { min }, aggregates, index)] : []),
      ...(max !== undefined ? [checkOfLimit(known, { max }, aggregates, index)] : []),
    ].map((check) => unlessTooFewScored(check, scored, whyValuesLack(known.name, aggregates?.counts?.[known.id])));
  });
  const ofScores = metrics.flatMap(({ known }) => warningOfScores(known.name, aggregates?.counts?.[known.id]));
  const ofJudges = await selfJudgedWarnings(
    deps,
    projectId,
    baseline ? [baseline, experiment] : [experiment],
    metrics.map(({ known }) => known),
  );
  // Those of the comparison are about the metrics that may drop; all of them are said once.
  const ofComparison = compared?.flatMap(warningsOf) ?? [];
  return answer([...ofRows, ...checks], [...new Set([...ofScores, ...ofComparison, ...ofJudges])]);
}

const invalid = (loc: (string | number)[], msg: string, type: string): RequestInvalid => new RequestInvalid([{ loc, msg, type }]);

/** @throws RequestInvalid for a gate that could not fail, or that says nothing about what a drop is */
function mustSayWhatCounts({ metrics, maxFailed, baseline }: GateRequest): void {
  if (metrics.length === 0 && maxFailed === undefined)
    throw invalid(['body', 'metrics'], 'there is nothing to check: name metrics, or max_failed', 'nothing_to_check');
  for (const [index, { metric, maxDrop, min, max }] of metrics.entries()) {
    const loc = ['body', 'metrics', index];
    if (maxDrop === undefined && min === undefined && max === undefined)
      throw invalid(loc, `say how far ${metric} may drop (max_drop), or what it must reach (min, max)`, 'missing');
    if (maxDrop !== undefined && !baseline)
      throw invalid([...loc, 'max_drop'], 'a drop is one against a baseline: name it, or take min or max', 'baseline_missing');
    if (min !== undefined && max !== undefined && min > max)
      throw invalid([...loc, 'min'], 'min is above max, so that no value would do', 'limits');
    if (metrics.findIndex((other) => other.metric === metric) < index)
      throw invalid([...loc, 'metric'], 'is named twice', 'repeated');
  }
  if (!baseline) return;
  const { experimentId, tag, name, pick } = baseline;
  const named = [experimentId, tag, name].filter((one) => one !== undefined).length;
  if (named > 1 || (named === 0 ? pick === undefined : experimentId !== undefined && pick !== undefined))
    throw invalid(
      ['body', 'baseline'],
      'name one thing: experiment_id or tag or name; a pick stands alone, or beside a tag or name',
      'baseline',
    );
  if (metrics.every(({ maxDrop }) => maxDrop === undefined))
    throw invalid(['body', 'metrics'], 'say how far which metric may drop below the baseline: max_drop', 'missing');
}

async function sides(
  deps: GateDeps,
  projectId: string,
  { experimentId, baseline }: GateRequest,
): Promise<{ experiment: Side; baseline: Side | undefined; choice: string | null }> {
  if (!baseline) {
    const { baseline: experiment } = await comparedSides(deps, projectId, { baselineId: experimentId, experimentIds: [] });
    mustBeWhole(experiment);
    return { experiment, baseline: undefined, choice: null };
  }
  if (baseline.experimentId === experimentId)
    throw invalid(
      ['body', 'baseline', 'experiment_id'],
      'is the experiment itself: name the one that it is held against',
      'is_baseline',
    );
  const choice = { tag: baseline.tag, name: baseline.name, pick: baseline.pick ?? 'newest' };
  const baselineId = baseline.experimentId ?? (await chosenBaseline(deps, projectId, experimentId, choice));
  const found = await comparedSides(deps, projectId, { baselineId, experimentIds: [experimentId] });
  const experiment = found.others[0] as Side;
  for (const side of [experiment, found.baseline]) mustBeWhole(side);
  const { rows, failed } = found.baseline.outline;
  if (rows === failed)
    throw invalid(
      ['body', 'baseline'],
      `all ${rows} rows of the baseline ${quotedName(found.baseline)} failed, so there is nothing to hold an experiment against: name another`,
      'baseline_failed',
    );
  const { series } = experiment.experiment;
  return {
    experiment,
    baseline: found.baseline,
    choice: baseline.experimentId ? 'the one that was named' : inWords(choice, series),
  };
}

async function chosenBaseline(deps: GateDeps, projectId: string, experimentId: string, choice: BaselineChoice): Promise<string> {
  const id = await deps.lastFinished(projectId, choice, experimentId);
  if (id !== undefined) return id;
  const experiment = await deps.find(projectId, experimentId);
  if (!experiment) throw new ServiceError('NotFound', `no experiment ${experimentId} in this project`);
  const { tag, name, pick } = choice;
  const among = tag
    ? `no other experiment of this project with the tag ${tag.key}=${tag.value}`
    : isOtherSeries(choice, experiment.series)
      ? `no run of the name ${JSON.stringify(name)}`
      : `no earlier run of the series ${JSON.stringify(experiment.series)}`;
  const lacking = { newest: 'has ended with rows that did not fail', approved: 'is approved', passed: 'has passed its gate' }[
    pick
  ];
  const help = {
    newest: tag ? 'run one there first' : 'run it once more',
    approved: 'approve one (assay approve)',
    passed: 'hold one against limits that it keeps, or approve one (assay approve)',
  }[pick];
  throw new ServiceError('BaselineNotFound', `${among} ${lacking}: ${help}, or name another baseline`);
}

/** Why an experiment is the baseline. */
function inWords(choice: BaselineChoice, series: string): string {
  const { tag, name, pick } = choice;
  const among = tag
    ? `the experiments with the tag ${tag.key}=${tag.value}`
    : isOtherSeries(choice, series)
      ? `the runs of the name ${JSON.stringify(name)}`
      : `the earlier runs of the series ${JSON.stringify(series)}`;
  const which = { newest: 'that ended last', approved: 'that was approved', passed: 'that passed its gate' }[pick];
  return pick === 'newest' ? `the one of ${among} ${which}` : `the newest of ${among} ${which}`;
}

const isOtherSeries = ({ name }: BaselineChoice, series: string): boolean => name !== undefined && name !== series;

const quotedName = ({ experiment }: Side): string => JSON.stringify(experiment.name);

/** @throws ServiceError `Conflict` */
function mustBeWhole({ experiment, outline }: Side): void {
  mustHaveEnded(experiment);
  if (outline.rows === 0) throw new ServiceError('Conflict', `${JSON.stringify(experiment.name)} has no rows: run it first`);
}

const gated = ({ experiment: { id, name, tags }, outline }: Side): GatedExperiment => ({
  ...{ id, name, rows: outline.rows, failedRows: outline.failed },
  tags: tags.map(({ key, value }) => ({ key, value })),
});

interface KnownMetric extends GatedMetric {
  known: ComparedMetric;
}

/**
 * @throws RequestInvalid for a metric without values, and for a `max_drop` of a metric without a direction; ServiceError `Conflict` for a metric with
 * values that are still to be computed
 */
async function metricsOf(
  deps: GateDeps,
  projectId: string,
  { metrics, failedRows }: GateRequest,
  experiments: readonly Side[],
): Promise<KnownMetric[]> {
  if (metrics.length === 0) return [];
  const sides = await Promise.all(experiments.map(async (side) => ({ side, waiting: await deps.waiting(side.run) })));
  const all = await metricsOfSides(
    deps,
    projectId,
    sides.map(({ side, waiting }) => ({ ...side, metrics: [...side.metrics, ...waiting.keys()] })),
    true,
  );
  const found = metrics.map((metric, index) => {
    const loc = ['body', 'metrics', index, 'metric'];
    const [known] = namedMetrics(all, [metric.metric], () => loc) as [ComparedMetric];
    if (metric.maxDrop !== undefined && known.direction === null)
      throw invalid(
        loc,
        `${known.name} has no direction, so nobody can say which change is a drop: take min or max for it`,
        'no_direction',
      );
    if (failedRows === 'worst' && !known.isMeasured) mustHaveWorst(known, loc);
    return { ...metric, known };
  });
  for (const [index, { known }] of found.entries())
    if (found.findIndex((other) => other.known.id === known.id) < index)
      throw invalid(['body', 'metrics', index, 'metric'], `${known.name} is named twice`, 'repeated');
  for (const { side, waiting } of sides)
    for (const { known, maxDrop } of found) {
      const values = side === experiments.at(-1) || maxDrop !== undefined ? waiting.get(known.id) : undefined;
      if (values !== undefined)
        throw new ServiceError(
          'Conflict',
          `${quotedName(side)} has ${values} values of ${known.name} still to be computed: wait for them`,
        );
    }
  return found;
}

/**
 * Comparisons of the metrics that may drop, with intervals that hold together. Of duration and cost, which every row has, no value is the worst one: where
 * failed rows are to count as that, they are compared apart.
 */
async function comparisonsOf(
  { compare }: GateDeps,
  projectId: string,
  { experimentId, failedRows, level }: GateRequest,
  baseline: Side,
  metrics: readonly KnownMetric[],
  signal: AbortSignal | undefined,
): Promise<ComparisonAnswer[]> {
  const gatedMetrics = metrics.flatMap(({ maxDrop, known }) => (maxDrop === undefined ? [] : [known]));
  const together = Map.groupBy(gatedMetrics, ({ isMeasured }) => failedRows === 'worst' && isMeasured);
  const answers: ComparisonAnswer[] = [];
  for (const [isApart, those] of together) {
    const request = {
      ...{ baselineId: baseline.experiment.id, experimentIds: [experimentId], slices: [], seed: 0 },
      ...{ metrics: those.map(({ id }) => id), failedRows: isApart ? undefined : failedRows },
      level: levelOfEach(level, gatedMetrics.length),
    };
    answers.push(await compare(projectId, request, signal).catch(asOfBaseline));
  }
  return answers;
}

/** A check that was asked for is made, or nothing is answered. */
function comparisonOf({ id }: ComparedMetric, compared: readonly ComparisonAnswer[] | undefined): Comparison {
  const found = compared?.flatMap(({ comparisons }) => comparisons).find(({ metricId }) => metricId === id);
  if (!found) throw new Error(`the metric ${id} was not compared`);
  return found;
}

/** Throws the problem of a comparison at its place in the request of the gate. */
function asOfBaseline(err: unknown): never {
  if (!(err instanceof RequestInvalid)) throw err;
  throw new RequestInvalid(err.items.map((item) => ({ ...item, loc: ['body', 'baseline'] })));
}

function warningsOf({ warnings, comparisons, experiments }: ComparisonAnswer): string[] {
  const onlyInBaseline = experiments[0]?.matching?.onlyInBaseline ?? 0;
  const changed = experiments[0]?.matching?.changed ?? 0;
  return [
    ...warnings,
    ...(onlyInBaseline > 0 ? [`${onlyInBaseline} rows of the baseline are not in the experiment`] : []),
    ...(changed > 0 ? [`${changed} rows have another content than in the baseline, and were compared with nothing`] : []),
    ...comparisons.flatMap((one) => [
      ...(one.interval ? one.warnings : []).map((warning) => `${one.metric}: ${warning}`),
      ...(one.pairs > 1 && one.pairs < FEW_PAIRS ? [`${one.metric}: ${one.pairs} rows are few, another few may differ`] : []),
      ...(one.missing > 0 && one.pairs > 0 ? [`${one.metric}: ${one.missing} rows have a value on one side only`] : []),
      ...(one.isDirectionAssumed
        ? [`${one.metric}: nobody has said which values are better; the higher ones were taken for it`]
        : []),
    ]),
  ];
}
