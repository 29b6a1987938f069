import { aggregate, countValues } from '../metrics/aggregate.ts';
import type { MetricValue } from '../metrics/metric.ts';
import type { FindColumn } from '../records/findColumn.ts';
import type { MetricValueStore } from '../records/metricValues.ts';
import { findKeys, type RecordReads } from '../records/searchRecords.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import type { ColumnFilter, Filter } from '../wire/filters.ts';

export interface BucketDeps {
  records: Pick<RecordReads, 'readPage'>;
  values: Pick<MetricValueStore, 'of'>;
  metricsOf(run: { projectId: string; experimentId: string }): Promise<EnabledMetric[]>;
  findColumnFor(run: { projectId: string; runId: string }, filter: ColumnFilter): Promise<FindColumn>;
  /** The filter as the record store answers it. */
  storedFilter(run: { projectId: string; runId: string }, filter: Filter): Promise<ColumnFilter>;
}

export interface MetricBuckets {
  name: string;
  buckets: Record<string, number>;
  average: number | null;
  rollUp: EnabledMetric['rollUp'] | null;
  outputType: EnabledMetric['outputType'] | null;
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
  const values = new Map<string, MetricValue[]>();
  const known = new Map<string, EnabledMetric>();
  for (const experimentId of experimentIds) {
    const run = { projectId, runId: experimentId };
    for (const metric of await deps.metricsOf({ projectId, experimentId })) known.set(metric.name, metric);
    const filter = await deps.storedFilter(run, given);
    const findColumn = await deps.findColumnFor(run, filter);
    for (let offset = 0; ; offset += PAGE) {
      const { keys, total } = await findKeys(deps.records, { run, kinds: ['trace'], filter, findColumn, offset, limit: PAGE });
      const found =
        keys.length > 0
          ? await deps.values.of(
              run,
              keys.map((key) => key.id),
            )
          : [];
      for (const { metric, status, value } of found) {
        if (status !== 'success' || !isValue(value)) continue;
        const ofMetric = values.get(metric);
        if (ofMetric) ofMetric.push(value);
        else values.set(metric, [value]);
      }
      if (offset + keys.length >= total || keys.length === 0) break;
    }
  }
  return [...values].map(([name, all]) => {
    const metric = known.get(name);
    const numbers = all.filter((value) => typeof value === 'number');
    return {
      name,
      buckets: new Set(numbers).size > BINS ? binned(numbers) : Object.fromEntries(countValues(all)),
      average: aggregate(all).avg,
      rollUp: metric?.rollUp ?? null,
      outputType: metric?.outputType ?? null,
    };
  });
}

const isValue = (value: unknown): value is MetricValue =>
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
