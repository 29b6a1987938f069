import { RequestInvalid } from '../errors/errors.ts';
import type { StoredRecord } from '../records/record.ts';
import type { RecordReads, StoredMetric } from '../records/searchRecords.ts';
import { namedMetrics } from './comparedMetrics.ts';
import { comparedRuns } from './comparedRuns.ts';
import { comparedSides, type Side, type SidesDeps } from './comparedSides.ts';
import type { ComparisonReads, RowCondition } from './comparisonReads.ts';
import { type MetricsDeps, metricsOfSides } from './metricsToCompare.ts';

export interface ComparedRowsRequest {
  baselineId: string;
  experimentId: string;
  /** Conditions that all hold; a metric by its name. */
  conditions: readonly { is: RowCondition['is']; metric?: string | undefined }[];
  /** Absent: by the metric of the first condition that names one, else by the first metric that the experiments have. */
  sort?: { metric?: string | undefined; ascending: boolean } | undefined;
  offset: number;
  limit: number;
}

/** What one side has of a row: one trace, or one for each trial. */
export interface RowTrace {
  record: StoredRecord;
  metrics: StoredMetric[];
}

export interface ComparedRow {
  contentChanged: boolean;
  baseline: RowTrace[];
  other: RowTrace[];
}

export interface ComparedRowPage {
  rows: ComparedRow[];
  total: number;
  /** The metric that the rows are ordered by. */
  sortedBy: string;
}

export interface RowsDeps extends SidesDeps, MetricsDeps {
  reads: Pick<ComparisonReads, 'outline' | 'metrics' | 'page'>;
  records: Pick<RecordReads, 'records' | 'metricResults'>;
}

/** One page of the rows of an experiment and its baseline, side by side. @throws as `compareExperiments` does */
export async function comparedRows(deps: RowsDeps, projectId: string, request: ComparedRowsRequest): Promise<ComparedRowPage> {
  const { baseline, others } = await comparedSides(deps, projectId, {
    baselineId: request.baselineId,
    experimentIds: [request.experimentId],
  });
  const other = others[0] as Side;
  const all = await metricsOfSides(deps, projectId, [baseline, other]);
  const metricOf = (name: string | undefined, loc: (string | number)[]) => {
    if (name !== undefined) return namedMetrics(all, [name], () => loc)[0];
    throw new RequestInvalid([{ loc, msg: 'name the metric that is meant', type: 'missing' }]);
  };
  const conditions = request.conditions.map(({ is, metric }, index): RowCondition => {
    if (is === 'failed' || is === 'content_changed') return { is };
    return { is, metric: metricOf(metric, ['body', 'filters', index, 'metric'])?.id as string };
  });
  const named = request.sort?.metric === undefined ? undefined : metricOf(request.sort.metric, ['body', 'sort', 'metric']);
  const first = conditions.flatMap((condition) => ('metric' in condition ? [condition.metric] : []))[0];
  const sortedBy = named ?? all.find(({ id }) => id === (first ?? all[0]?.id));
  const ids = new Set([...conditions.flatMap((one) => ('metric' in one ? [one.metric] : [])), sortedBy?.id as string]);
  const page = await deps.reads.page({
    ...comparedRuns(baseline, other),
    metrics: all.filter(({ id }) => ids.has(id)).map(({ id, direction }) => ({ id, direction })),
    worst: new Map(),
    conditions,
    sort: { metric: sortedBy?.id as string, ascending: request.sort?.ascending ?? false },
    offset: request.offset,
    limit: request.limit,
  });
  const [ofBaseline, ofOther] = await Promise.all([
    tracesOf(
      deps,
      baseline,
      page.rows.map((row) => row.baseline),
    ),
    tracesOf(
      deps,
      other,
      page.rows.map((row) => row.other),
    ),
  ]);
  return {
    total: page.total,
    sortedBy: sortedBy?.name as string,
    rows: page.rows.map(({ contentChanged }, index) => ({
      contentChanged,
      baseline: ofBaseline[index] ?? [],
      other: ofOther[index] ?? [],
    })),
  };
}

type Keys = Parameters<RecordReads['records']>[1];

async function tracesOf({ records }: RowsDeps, { run }: Side, rows: readonly Keys[]): Promise<RowTrace[][]> {
  const keys = rows.flat();
  if (keys.length === 0) return rows.map(() => []);
  const [found, metrics] = await Promise.all([records.records(run, keys), records.metricResults(run, keys)]);
  const byId = new Map(found.map((record) => [record.id, { record, metrics: metrics.get(record.id) ?? [] }]));
  return rows.map((ofRow) => ofRow.flatMap(({ id }) => byId.get(id) ?? []));
}
