import { aggregate, countValues } from '../metrics/aggregate.ts';
import type { ScoreValue } from '../metrics/metric.ts';
import {
  addCounts,
  type FailedRows,
  failedRowsOf,
  figuresOf,
  type MetricCounts,
  type RowOfMetric,
} from '../metrics/metricFigures.ts';
import type { FindColumn } from '../records/findColumn.ts';
import type { MetricValueStore } from '../records/metricValues.ts';
import { findKeys, type RecordReads } from '../records/searchRecords.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import type { ColumnFilter, Filter } from '../wire/filters.ts';
import type { MetricScale } from '../wire/metricScale.ts';
import type { ExperimentRun } from './experiment.ts';
import type { RecordedRow } from './rowLog.ts';

export interface BucketDeps {
  find(experimentId: string): Promise<ExperimentRun | undefined>;
  records: Pick<RecordReads, 'readPage'>;
  /** Returns the traces among these that are recorded, and whether they failed. */
  recorded(run: ExperimentRun, traceIds: string[]): Promise<ReadonlyMap<string, Pick<RecordedRow, 'error'>>>;
  values: Pick<MetricValueStore, 'of'>;
  metricsOf(run: ExperimentRun): Promise<EnabledMetric[]>;
  scalesOf(run: ExperimentRun): Promise<(metric: string) => MetricScale>;
  findColumnFor(run: { projectId: string; runId: string }, filter: ColumnFilter): Promise<FindColumn>;
  /** The filter as the record store answers it. */
  storedFilter(run: { projectId: string; runId: string }, filter: Filter): Promise<ColumnFilter>;
}

export interface MetricBuckets {
  /** Key of its values. */
  name: string;
  /** The name of the scorer that computes it, where `name` is the scorer's id. */
  alias: string | null;
  buckets: Record<string, number>;
  average: number | null;
  rollUp: EnabledMetric['rollUp'] | null;
  outputType: EnabledMetric['outputType'] | null;
  /** Counts over the experiments that have something of the metric. */
  counts: MetricCounts;
  /** Null where that differs between the experiments. */
  failedRows: FailedRows | null;
}

const PAGE = 10_000;
const BINS = 10;

/** Values of every metric over the traces of these experiments that the filter keeps, counted by value, or in ten bins where there are many. */
export async function metricBuckets(
  deps: BucketDeps,
  projectId: string,
  experimentIds: readonly string[],
  given: Filter,
): Promise<MetricBuckets[]> {
  const gathered = new Map<string, { values: ScoreValue[]; counts: MetricCounts; failedRows: FailedRows | null }>();
  const known = new Map<string, EnabledMetric>();
  for (const experimentId of experimentIds) {
    const run = await deps.find(experimentId);
    if (run?.projectId !== projectId) continue;
    const [metrics, scaleOf, rows] = await Promise.all([deps.metricsOf(run), deps.scalesOf(run), rowsOf(deps, run, given)]);
    for (const metric of metrics) known.set(metric.name, metric);
    for (const [name, ofMetric] of rows) {
      const { failedRows, worst } = failedRowsOf(run.failedRows, scaleOf(name));
      const { values, counts } = figuresOf(ofMetric, { failedRows, worst }, known.get(name)?.dataType === 'boolean');
      const before = gathered.get(name);
      gathered.set(name, {
        values: before ? [...before.values, ...values] : values,
        counts: before ? addCounts(before.counts, counts) : counts,
        failedRows: before && before.failedRows !== failedRows ? null : failedRows,
      });
    }
  }
  return [...gathered].flatMap(([name, { values, ...made }]) => {
    if (values.length === 0) return [];
    const metric = known.get(name);
    const numbers = values.filter((value) => typeof value === 'number');
    return {
      name,
      alias: metric?.alias ?? null,
      buckets: new Set(numbers).size > BINS ? binned(numbers) : Object.fromEntries(countValues(values)),
      average: aggregate(values).avg,
      rollUp: metric?.rollUp ?? null,
      outputType: metric?.outputType ?? null,
      ...made,
    };
  });
}

/** Returns what the traces that the filter keeps have of each metric that any of them has something of. */
async function rowsOf(deps: BucketDeps, experiment: ExperimentRun, given: Filter): Promise<Map<string, RowOfMetric[]>> {
  const run = { projectId: experiment.projectId, runId: experiment.experimentId };
  const filter = await deps.storedFilter(run, given);
  const findColumn = await deps.findColumnFor(run, filter);
  const rows: { id: string; isFailed: boolean }[] = [];
  const found = new Map<string, Map<string, RowOfMetric['results'][number]>>();
  for (let offset = 0; ; offset += PAGE) {
    const { keys, total } = await findKeys(deps.records, { run, kinds: ['trace'], filter, findColumn, offset, limit: PAGE });
    const ids = keys.map(({ id }) => id);
    const [recorded, results] =
      ids.length > 0 ? await Promise.all([deps.recorded(experiment, ids), deps.values.of(run, ids)]) : [new Map(), []];
    rows.push(...ids.map((id) => ({ id, isFailed: recorded.get(id)?.error !== undefined })));
    for (const { metric, recordId, status, value, scorerId } of results) {
      // A score that was taken back is no value.
      if (status === 'roll_up' || (status === 'not_computed' && scorerId === null)) continue;
      const ofMetric = found.get(metric) ?? new Map();
      found.set(metric, ofMetric.set(recordId, { status, value: isValue(value) ? value : null }));
    }
    if (offset + keys.length >= total || keys.length === 0) break;
  }
  const resultsOf = (metric: Map<string, RowOfMetric['results'][number]>, id: string) => {
    const result = metric.get(id);
    return result ? [result] : [];
  };
  return new Map(
    [...found].map(([name, metric]) => [name, rows.map(({ id, isFailed }) => ({ isFailed, results: resultsOf(metric, id) }))]),
  );
}

const isValue = (value: unknown): value is ScoreValue =>
  ['number', 'boolean', 'string'].includes(typeof value) || Array.isArray(value);

/** Ten bins of equal width between the smallest and the largest value, named by their limits. */
function binned(values: readonly number[]): Record<string, number> {
  const min = values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
  const max = values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
  const width = (max - min) / BINS;
  const names = Array.from(
    { length: BINS },
    (_, bin) => `${(min + bin * width).toPrecision(4)} to ${(min + (bin + 1) * width).toPrecision(4)}`,
  );
  const counts = new Array<number>(BINS).fill(0);
  for (const value of values) {
    const bin = Math.min(BINS - 1, Math.floor((value - min) / width));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return Object.fromEntries(names.map((name, bin) => [name, counts[bin] ?? 0]));
}
