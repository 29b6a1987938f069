import type { ColumnDef } from '../columns/columnDef.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { measuredMetrics } from '../experiments/aggregates.ts';
import { isUnderWay } from '../experiments/experiment.ts';
import type { Experiment } from '../experiments/experimentStore.ts';
import type { Metric } from '../metrics/metric.ts';
import { type FailedRows, worstOf } from '../metrics/metricFigures.ts';
import type { RunRef } from '../projects/runs.ts';
import { countDifferences, momentsOf } from '../statistics/differences.ts';
import { holm } from '../statistics/holm.ts';
import { isLarge, type PairedResult, type Sample } from '../statistics/pairedTest.ts';
import { stuartMaxwell } from '../statistics/stuartMaxwell.ts';
import { type ComparedMetric, metricDescriber, namedMetrics } from './comparedMetrics.ts';
import type {
  ComparedExperiment,
  Comparison,
  ComparisonAnswer,
  ComparisonRequest,
  MetricType,
  SideFigures,
  Verdict,
} from './comparison.ts';
import {
  type ComparedRuns,
  type ComparisonReads,
  isYesOrNo,
  type LabelPairs,
  type MatchedBy,
  type MetricSide,
  type PairedMetric,
  type RowOutline,
} from './comparisonReads.ts';
import { inWords } from './inWords.ts';
import type { StatisticsThread } from './statisticsThread.ts';

export interface CompareDeps {
  find(projectId: string, experimentId: string): Promise<Experiment | undefined>;
  /** The run as reads take it. */
  unexpired(run: RunRef): Promise<RunRef>;
  /** Metrics that the service computes for the experiment. */
  metricsOf(run: { projectId: string; experimentId: string }): Promise<Metric[]>;
  /** @throws ServiceError `ColumnUnknown` */
  findColumn(id: string): ColumnDef;
  reads: ComparisonReads;
  statistics: Pick<StatisticsThread, 'pairedTests'>;
}

/** More are no page that somebody reads, and minutes of computing. */
const MAX_COMPARISONS = 2_000;
/** Values of one side that one statement pairs: a million groups take 0.2 GB. */
const VALUES_AT_ONCE = 1_500_000;
const MAX_CATEGORIES = 50;
const SMALL_SLICE = 30;

/** An experiment of a comparison, with what is known of its rows. */
export interface Side {
  experiment: Experiment;
  run: RunRef;
  outline: RowOutline;
}

/**
 * Compares experiments with a baseline, metric by metric.
 * @throws ServiceError `NotFound`; RequestInvalid for what cannot be compared, of which nothing is computed then
 */
export async function compareExperiments(
  deps: CompareDeps,
  projectId: string,
  request: ComparisonRequest,
  signal?: AbortSignal,
): Promise<ComparisonAnswer> {
  const { baseline, others } = await sidesOf(deps, projectId, request);
  const pairs = await Promise.all(
    others.map(async (other) => {
      const runs = comparedRuns(baseline, other);
      return { other, runs, rows: await deps.reads.rows(runs) };
    }),
  );
  for (const [index, { other, rows, runs }] of pairs.entries())
    if (rows.matched + rows.changed === 0 && !isRunning(baseline) && !isRunning(other))
      throw new RequestInvalid([
        {
          loc: ['body', 'experiment_ids', index],
          msg: `${other.experiment.name} and ${baseline.experiment.name} have no row in common: ${other.outline.rows} and ${baseline.outline.rows} rows were matched by their ${runs.matchedBy.replace('_', ' ')}`,
          type: 'no_common_rows',
        },
      ]);
  const metrics = await metricsToCompare(deps, projectId, request, baseline, others);
  const slices = request.slices.map((id, index) => sliceColumn(deps, id, index));
  const described = (side: Side, matching: ComparedExperiment['matching']): ComparedExperiment => ({
    ...{ id: side.experiment.id, name: side.experiment.name, state: side.experiment.state, matching },
    ...{ isRunning: isRunning(side), rows: side.outline.rows, failedRows: side.outline.failed },
  });
  const comparisons: Unjudged[] = [];
  for (const { other, runs } of pairs)
    for (const slice of [undefined, ...slices])
      comparisons.push(...(await compareRuns(deps, { request, baseline, other, runs, metrics, slice }, signal)));
  mustHaveSlices(request, comparisons);
  return {
    baseline: described(baseline, null),
    experiments: pairs.map(({ other, runs, rows }) => described(other, { by: runs.matchedBy, ...rows })),
    comparisons: judged(comparisons, request),
    warnings: warningsOf(baseline, others),
  };
}

const isRunning = ({ experiment }: Side): boolean => isUnderWay(experiment.state);

/** The experiments of a request. @throws ServiceError `NotFound`, RequestInvalid */
export async function sidesOf(
  deps: Pick<CompareDeps, 'find' | 'unexpired' | 'reads'>,
  projectId: string,
  { baselineId, experimentIds }: Pick<ComparisonRequest, 'baselineId' | 'experimentIds'>,
): Promise<{ baseline: Side; others: Side[] }> {
  for (const [index, id] of experimentIds.entries()) {
    const loc = ['body', 'experiment_ids', index];
    if (id === baselineId)
      throw new RequestInvalid([
        { loc, msg: 'is the baseline itself: name the experiments that it is compared with', type: 'is_baseline' },
      ]);
    if (experimentIds.indexOf(id) < index) throw new RequestInvalid([{ loc, msg: 'is named twice', type: 'repeated' }]);
  }
  const side = async (id: string): Promise<Side> => {
    const experiment = await deps.find(projectId, id);
    if (!experiment) throw new ServiceError('NotFound', `no experiment ${id} in this project`);
    const run = await deps.unexpired({ projectId, runId: id });
    return { experiment, run, outline: await deps.reads.outline(run) };
  };
  const [baseline, ...others] = await Promise.all([baselineId, ...experimentIds].map(side));
  return { baseline: baseline as Side, others };
}

/** How the rows of two experiments are matched. */
export function comparedRuns(baseline: Side, other: Side): ComparedRuns {
  const outlines = [baseline.outline, other.outline];
  const [one, two] = [baseline.experiment.dataset, other.experiment.dataset];
  const matchedBy = matchingOf(outlines, one && two ? one.id === two.id : true);
  return {
    baseline: baseline.run,
    other: other.run,
    matchedBy,
    allHaveRowIds: outlines.every(({ rows, withDatasetRow }) => rows === withDatasetRow),
    hasTrials: outlines.some(({ repeats }) => repeats),
    versions:
      matchedBy === 'dataset_row' && one && two && one.versionIndex !== two.versionIndex
        ? {
            datasetId: one.id,
            earlier: Math.min(one.versionIndex, two.versionIndex),
            later: Math.max(one.versionIndex, two.versionIndex),
          }
        : undefined,
  };
}

/** Rows of two datasets have ids that no row of the other has; a copy of a dataset has the same inputs. */
function matchingOf(sides: readonly RowOutline[], areOfOneDataset: boolean): MatchedBy {
  if (areOfOneDataset && sides.every(({ withDatasetRow }) => withDatasetRow > 0)) return 'dataset_row';
  return sides.every(({ withDatasetInput }) => withDatasetInput > 0) ? 'dataset_input' : 'input';
}

/** All metrics that any of the experiments has values of, and what is measured. */
export async function metricsOfSides(
  deps: Pick<CompareDeps, 'metricsOf' | 'reads'>,
  projectId: string,
  sides: readonly Side[],
): Promise<ComparedMetric[]> {
  const [computed, found] = await Promise.all([
    Promise.all(sides.map(({ experiment }) => deps.metricsOf({ projectId, experimentId: experiment.id }))),
    Promise.all(sides.map(({ run }) => deps.reads.metrics(run))),
  ]);
  const describe = metricDescriber(
    computed.flat(),
    sides.map(({ experiment }) => experiment),
  );
  return [...new Set([...found.flat().sort(), ...measuredMetrics])].map(describe);
}

async function metricsToCompare(
  deps: CompareDeps,
  projectId: string,
  request: ComparisonRequest,
  baseline: Side,
  others: readonly Side[],
): Promise<ComparedMetric[]> {
  const metrics = namedMetrics(await metricsOfSides(deps, projectId, [baseline, ...others]), request.metrics);
  const comparisons = metrics.length * others.length;
  if (comparisons > MAX_COMPARISONS)
    throw new RequestInvalid([
      {
        loc: ['body', 'metrics'],
        msg: `${metrics.length} metrics of ${others.length} experiments are ${comparisons} comparisons, and at most ${MAX_COMPARISONS} are made: name fewer`,
        type: 'too_many_comparisons',
      },
    ]);
  if (request.failedRows === 'worst' && request.metrics)
    for (const [index, metric] of metrics.entries())
      if (worstOf(metric) === undefined)
        throw new RequestInvalid([
          {
            loc: ['body', 'metrics', index],
            msg: `${metric.name} has no ${metric.direction === null ? 'direction' : 'range'}, so there is no worst value that a failed row could count as`,
            type: 'no_worst_value',
          },
        ]);
  return metrics;
}

function sliceColumn(deps: Pick<CompareDeps, 'findColumn'>, given: string, index: number): ColumnDef {
  const named = (id: string): ColumnDef => {
    const column = deps.findColumn(id);
    const isShort = column.source.at === 'map' || (column.source.at === 'record' && !column.source.isLong);
    if (isShort && !column.multiValued) return column;
    const msg = `rows cannot be sliced by ${id}: take a column that holds one short value, such as one of dataset_metadata`;
    throw new RequestInvalid([{ loc: ['body', 'slices', index], msg, type: 'slice_invalid' }]);
  };
  try {
    return named(given);
  } catch (err) {
    if (!(err instanceof ServiceError) || given.includes('/')) throw err;
    return named(`dataset_metadata/${given}`);
  }
}

function mustHaveSlices({ slices }: ComparisonRequest, comparisons: readonly Unjudged[]): void {
  for (const [index, id] of slices.entries()) {
    const isThere = comparisons.some(
      ({ comparison: { slice } }) => slice?.column === id || slice?.column === `dataset_metadata/${id}`,
    );
    if (!isThere && comparisons.some(({ comparison }) => comparison.pairs > 0))
      throw new RequestInvalid([
        {
          loc: ['body', 'slices', index],
          msg: `no compared row has a value of ${JSON.stringify(id.slice(0, 200))}`,
          type: 'slice_unknown',
        },
      ]);
  }
}

interface PairOfRuns {
  request: ComparisonRequest;
  baseline: Side;
  other: Side;
  runs: ComparedRuns;
  metrics: readonly ComparedMetric[];
  slice: ColumnDef | undefined;
}

/** A comparison before its verdict, which takes all the others into account. */
interface Unjudged {
  comparison: Omit<Comparison, 'verdict' | 'sentence' | 'pAdjusted'>;
  metric: ComparedMetric;
  names: { baseline: string; other: string };
}

async function compareRuns(deps: CompareDeps, given: PairOfRuns, signal: AbortSignal | undefined): Promise<Unjudged[]> {
  const { request, baseline, other, runs, metrics, slice } = given;
  const wanted = request.failedRows ?? other.experiment.failedRows;
  const worst = new Map(
    wanted === 'worst' ? metrics.flatMap((metric) => [[metric.id, worstOf(metric)] as const]).filter(hasWorst) : [],
  );
  const paired = await pairsOf(deps, given, worst, signal);
  const isCategory = ({ baseline: one, other: two }: PairedMetric): boolean =>
    typeOf(one) === 'category' && typeOf(two) === 'category';
  const labelled = [...new Set(paired.filter(isCategory).map(({ metric }) => metric))];
  const labels = labelled.length > 0 ? await deps.reads.labels({ ...runs, metrics: labelled, ...(slice ? { slice } : {}) }) : [];
  const samples = paired.map((one): Sample => sampleOf(one, runs.hasTrials));
  const tests = await deps.statistics.pairedTests(samples, { seed: request.seed, level: request.level }, signal);
  const byId = new Map(metrics.map((metric) => [metric.id, metric]));
  const names = { baseline: baseline.experiment.name, other: other.experiment.name };
  return paired
    .filter((one) => slice === undefined || (one.slice !== null && one.moments.pairs > 0))
    .map((one) => {
      const metric = byId.get(one.metric) as ComparedMetric;
      const figures = (side: MetricSide, { experiment }: Side): SideFigures => ({
        ...{ mean: side.mean, p50: side.p50, p95: side.p95 },
        aggregate: slice ? null : (experiment.aggregates?.rolledUp[one.metric] ?? null),
      });
      const failedRows: FailedRows = worst.has(metric.id) ? 'worst' : 'omit';
      const common = {
        experimentId: other.experiment.id,
        metric: metric.name,
        metricId: metric.id,
        slice: slice && one.slice !== null ? { column: slice.id, value: one.slice } : null,
        direction: metric.direction,
        isDirectionAssumed: metric.isDirectionAssumed,
        failedRows,
        baseline: figures(one.baseline, baseline),
        other: figures(one.other, other),
        missing: one.missing,
      };
      const type = comparedType(one);
      const index = paired.indexOf(one);
      const outcome =
        type === 'category'
          ? ofCategories(labels.filter(({ metric: name, slice: of }) => name === one.metric && of === one.slice))
          : ofNumbers(type, samples[index] as Sample, tests[index], metric, request.level);
      const comparison = { ...common, type, ...outcome };
      return {
        comparison: { ...comparison, warnings: [...warningsAbout(one, type), ...smallSample(comparison)] },
        metric,
        names,
      };
    });
}

const hasWorst = (entry: readonly [string, number | undefined]): entry is readonly [string, number] => entry[1] !== undefined;

/** Metrics without any value are there, too: the answer says so. */
async function pairsOf(
  { reads }: CompareDeps,
  { runs, metrics, slice, baseline, other }: PairOfRuns,
  worst: ReadonlyMap<string, number>,
  signal: AbortSignal | undefined,
): Promise<PairedMetric[]> {
  const scored = metrics.filter(({ isMeasured }) => !isMeasured).map(({ id }) => id);
  const atOnce = Math.max(1, Math.floor(VALUES_AT_ONCE / Math.max(1, baseline.outline.rows, other.outline.rows)));
  const found: PairedMetric[] = [];
  const sliced = slice ? { slice } : {};
  for (let from = 0; from < scored.length; from += atOnce) {
    signal?.throwIfAborted();
    found.push(
      ...(await reads.pairs({ ...runs, ...sliced, metrics: scored.slice(from, from + atOnce), withMeasured: false, worst })),
    );
  }
  if (metrics.some(({ isMeasured }) => isMeasured))
    found.push(...(await reads.pairs({ ...runs, ...sliced, metrics: [], withMeasured: true, worst: new Map() })));
  const byMetric = Map.groupBy(found, ({ metric }) => metric);
  return metrics.flatMap(({ id, isMeasured }) => byMetric.get(id) ?? (slice || isMeasured ? [] : [withoutValues(id)]));
}

const noSide: MetricSide = { booleans: 0, numbers: 0, labels: 0, infinite: 0, mean: null, p50: null, p95: null };
const withoutValues = (metric: string): PairedMetric => ({
  ...{ metric, slice: null, baseline: noSide, other: noSide, missing: 0 },
  moments: momentsOf(countDifferences([])),
  differences: undefined,
});

const isYesOrNoPair = ({ baseline, other }: PairedMetric): boolean => isYesOrNo(baseline) && isYesOrNo(other);

function sampleOf(paired: PairedMetric, hasTrials: boolean): Sample {
  const { moments, differences } = paired;
  if (isYesOrNoPair(paired) && !hasTrials) {
    const { pairs, below, above } = moments;
    const counted = countDifferences([-1, 0, 1], [below, pairs - below - above, above]);
    const isThere = counted.counts.map((count) => (count > 0 ? 1 : 0));
    const kept = {
      values: counted.values.filter((_, index) => isThere[index]),
      counts: counted.counts.filter((count) => count > 0),
      pairs,
    };
    return { moments: momentsOf(kept), differences: kept, isYesOrNo: true };
  }
  const counted = differences && countDifferences(differences.values, differences.counts);
  if (!counted || isLarge(counted.pairs, counted.values.length))
    return { moments: counted ? momentsOf(counted) : moments, differences: undefined, isYesOrNo: false };
  return { moments: momentsOf(counted), differences: counted, isYesOrNo: false };
}

function typeOf({ booleans, numbers, labels }: MetricSide): MetricType | null {
  if (numbers > 0) return 'number';
  if (booleans > 0) return 'boolean';
  return labels > 0 ? 'category' : null;
}

/** Null where the two sides have values of different types, or one has none. */
function comparedType({ baseline, other }: PairedMetric): MetricType | null {
  const [one, two] = [typeOf(baseline), typeOf(other)];
  return one === two || one === null || two === null ? (one ?? two) : null;
}

type Outcome = Pick<
  Comparison,
  'pairs' | 'difference' | 'interval' | 'test' | 'method' | 'pValue' | 'better' | 'worse' | 'same' | 'detectable' | 'table'
>;

const nothing: Outcome = {
  ...{ pairs: 0, difference: null, interval: null, test: null, method: null, pValue: null },
  ...{ better: null, worse: null, same: 0, detectable: null, table: null },
};

function ofNumbers(
  type: MetricType | null,
  { moments: { pairs, below, above } }: Sample,
  result: PairedResult | undefined,
  { direction }: ComparedMetric,
  level: number,
): Outcome {
  if (type === null || !result) return nothing;
  const [better, worse] = direction === 'lower' ? [below, above] : [above, below];
  return {
    ...{ pairs, difference: result.difference, test: result.test, method: result.method, pValue: result.pValue },
    interval: { ...result.interval, level },
    better: direction === null ? null : better,
    worse: direction === null ? null : worse,
    same: pairs - below - above,
    detectable: result.detectable,
    table: null,
  };
}

function ofCategories(labels: readonly LabelPairs[]): Outcome {
  const rows = (of: readonly LabelPairs[]): number => of.reduce((sum, one) => sum + one.rows, 0);
  const counted = {
    ...nothing,
    pairs: rows(labels),
    same: rows(labels.filter(({ baseline, other }) => baseline === other)),
  };
  const categories = [...new Set(labels.flatMap(({ baseline, other }) => [baseline, other]))].sort();
  if (counted.pairs === 0 || categories.length > MAX_CATEGORIES) return counted;
  const counts = categories.map((one) =>
    categories.map((two) => labels.find(({ baseline, other }) => baseline === one && other === two)?.rows ?? 0),
  );
  const { pValue, statistic, degrees } = stuartMaxwell(counts);
  const method = `Stuart-Maxwell test, chi-squared ${Number(statistic.toPrecision(4))} with ${degrees} degrees of freedom`;
  return { ...counted, test: 'stuart_maxwell', method, pValue, table: { categories, counts } };
}

function warningsAbout({ baseline, other }: PairedMetric, type: MetricType | null): string[] {
  const infinite = baseline.infinite + other.infinite;
  const [one, two] = [typeOf(baseline), typeOf(other)];
  return [
    ...(type === null && one !== null && two !== null
      ? [`its values are of type ${two} in the experiment and of type ${one} in the baseline`]
      : []),
    ...(infinite > 0 ? [`${infinite} values that are no finite numbers were left out`] : []),
  ];
}

function smallSample({ slice, pairs, type, test }: Pick<Comparison, 'slice' | 'pairs' | 'type' | 'test'>): string[] {
  if (type === 'category' && pairs > 0 && test === null)
    return [`it has more than ${MAX_CATEGORIES} different values, which is no list of categories`];
  if (pairs === 1) return ['one row shows nothing but itself'];
  return slice && pairs > 0 && pairs < SMALL_SLICE ? [`only ${pairs} rows: a small slice differs easily by chance`] : [];
}

/** Verdicts, with p-values corrected over all experiments and metrics of the request; slices are exploratory and stand apart. */
function judged(all: readonly Unjudged[], { level }: ComparisonRequest): Comparison[] {
  const family = all.filter(({ comparison: { slice, pValue } }) => slice === null && pValue !== null);
  const corrected = holm(family.map(({ comparison }) => comparison.pValue as number));
  const adjusted = new Map(family.map((one, index) => [one, corrected[index] as number]));
  return all.map((one) => {
    const pAdjusted = adjusted.get(one) ?? null;
    const { comparison, metric, names } = one;
    const verdict = verdictOf(comparison, pAdjusted ?? comparison.pValue, 1 - level);
    const told = { ...comparison, pAdjusted, verdict };
    return { ...told, sentence: inWords(told, metric, names, family.length) };
  });
}

function verdictOf({ type, direction, difference }: Unjudged['comparison'], p: number | null, alpha: number): Verdict {
  if (p === null || p >= alpha) return 'no difference shown';
  if (type === 'category' || direction === null || difference === null || difference === 0) return 'different';
  return difference > 0 === (direction === 'higher') ? 'better' : 'worse';
}

function warningsOf(baseline: Side, others: readonly Side[]): string[] {
  const running = [baseline, ...others]
    .filter(isRunning)
    .map(
      ({ experiment: { name, rowCount }, outline }) =>
        `${name} still runs: compared so far, with ${outline.rows} of ${rowCount ?? 'its'} rows`,
    );
  const failed = [baseline, ...others]
    .filter(({ outline }) => outline.rows > 0 && outline.failed === outline.rows)
    .map(({ experiment: { name }, outline }) => `all ${outline.rows} rows of ${name} failed`);
  const ofOthers = others
    .filter(
      ({ experiment: { dataset } }) => dataset && baseline.experiment.dataset && dataset.id !== baseline.experiment.dataset.id,
    )
    .map(({ experiment: { name } }) => `${name} ran another dataset than the baseline: rows were matched by their input`);
  return [...running, ...failed, ...ofOthers];
}
