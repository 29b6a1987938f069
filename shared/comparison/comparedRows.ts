import type { ColumnDef } from '../columns/columnDef.ts';
import { RequestInvalid } from '../errors/errors.ts';
import type { FailedRows } from '../metrics/metricFigures.ts';
import type { StoredRecord } from '../records/record.ts';
import { TRUNCATED_LENGTH } from '../records/recordView.ts';
import { type RecordReads, type StoredMetric, withUsage } from '../records/searchRecords.ts';
import { type ComparedMetric, namedMetrics } from './comparedMetrics.ts';
import { comparedRuns } from './comparedRuns.ts';
import { comparedSides, type Side, type SidesDeps } from './comparedSides.ts';
import type { ComparisonReads, RowCondition } from './comparisonReads.ts';
import { type MetricsDeps, metricsOfSides } from './metricsToCompare.ts';
import { sliceColumn } from './sliceColumn.ts';
import { mustHaveWorst, worstValues } from './worstValues.ts';

export interface ComparedRowsRequest {
  baselineId: string;
  experimentId: string;
  /** Conditions that all hold; a metric by its name. */
  conditions: readonly { is: RowCondition['is']; metric?: string | undefined }[];
  /** Only rows with this value of a column. */
  slice?: { column: string; value: string } | undefined;
  /** Absent: by the metric of the first condition that names one, else by the first metric that the experiments have. */
  sort?: { metric?: string | undefined; ascending: boolean } | undefined;
  /** Absent: as the experiment that is compared says. */
  failedRows?: FailedRows | undefined;
  /** True when texts are shown cut: no more of them is read. */
  isShort: boolean;
  offset: number;
  limit: number;
}

/** The traces that one side has of a row: one, or one for each trial. */
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
  /** The value that failed rows without one count as. */
  failedRows: FailedRows;
}

export interface RowsDeps extends SidesDeps, MetricsDeps {
  /** @throws ServiceError `ColumnUnknown` */
  findColumn(id: string): ColumnDef;
  reads: Pick<ComparisonReads, 'outlines' | 'metrics' | 'page'>;
  records: Pick<RecordReads, 'records' | 'metricResults' | 'usage'>;
}

/** One page of the rows of an experiment and its baseline, side by side. @throws as `compareExperiments` does */
export async function comparedRows(deps: RowsDeps, projectId: string, request: ComparedRowsRequest): Promise<ComparedRowPage> {
  const { baseline, others } = await comparedSides(deps, projectId, {
    baselineId: request.baselineId,
    experimentIds: [request.experimentId],
  });
  const other = others[0] as Side;
  const all = await metricsOfSides(deps, projectId, [baseline, other], false);
  const metricOf = (name: string | undefined, loc: (string | number)[]): ComparedMetric => {
    if (name !== undefined) {
      const [metric] = namedMetrics(all, [name], () => loc) as [ComparedMetric];
      if (request.failedRows === 'worst') mustHaveWorst(metric, loc);
      return metric;
    }
    throw new RequestInvalid([{ loc, msg: 'name the metric that is meant', type: 'missing' }]);
  };
  const conditions = request.conditions.map(({ is, metric }, index): RowCondition => {
    if (is === 'failed' || is === 'content_changed') return { is };
    return { is, metric: metricOf(metric, ['body', 'filters', index, 'metric']).id };
  });
  const named = request.sort?.metric === undefined ? undefined : metricOf(request.sort.metric, ['body', 'sort', 'metric']);
  const first = conditions.flatMap((condition) => ('metric' in condition ? [condition.metric] : []))[0];
  const sortedBy = named ?? (all.find(({ id }) => id === (first ?? all[0]?.id)) as ComparedMetric);
  const ids = new Set([...conditions.flatMap((one) => ('metric' in one ? [one.metric] : [])), sortedBy.id]);
  const metrics = all.filter(({ id }) => ids.has(id));
  const worst = worstValues(metrics, request.failedRows ?? other.experiment.failedRows);
  const { slice } = request;
  const page = await deps.reads.page({
    ...comparedRuns(baseline, other),
    metrics: metrics.map(({ id, direction }) => ({ id, direction })),
    worst,
    conditions,
    slice: slice && { column: sliceColumn(deps.findColumn, slice.column, ['body', 'slice', 'column']), value: slice.value },
    sort: { metric: sortedBy.id, ascending: request.sort?.ascending ?? false },
    offset: request.offset,
    limit: request.limit,
  });
  const [ofBaseline, ofOther] = await Promise.all([
    tracesOf(
      deps,
      baseline,
      page.rows.map((row) => row.baseline),
      request.isShort,
    ),
    tracesOf(
      deps,
      other,
      page.rows.map((row) => row.other),
      request.isShort,
    ),
  ]);
  return {
    total: page.total,
    sortedBy: sortedBy.name,
    failedRows: worst.has(sortedBy.id) ? 'worst' : 'omit',
    rows: page.rows.map(({ contentChanged }, index) => ({
      contentChanged,
      baseline: ofBaseline[index] ?? [],
      other: ofOther[index] ?? [],
    })),
  };
}

type Keys = Parameters<RecordReads['records']>[1];

/** The long texts that a row shows. */
const TEXTS = ['input', 'output', 'dataset_input', 'dataset_output', 'error_message'];

async function tracesOf({ records }: RowsDeps, { run }: Side, rows: readonly Keys[], isShort: boolean): Promise<RowTrace[][]> {
  const keys = rows.flat();
  if (keys.length === 0) return rows.map(() => []);
  // One character more shows that the text goes on.
  const longest = isShort ? TRUNCATED_LENGTH + 1 : undefined;
  const [found, metrics, usage] = await Promise.all([
    records.records(run, keys, TEXTS, longest),
    records.metricResults(run, keys),
    records.usage(run, keys),
  ]);
  const byId = new Map(
    found.map((record) => [record.id, { record: withUsage(record, usage), metrics: metrics.get(record.id) ?? [] }]),
  );
  return rows.map((ofRow) =>
    ofRow
      .flatMap(({ id }) => byId.get(id) ?? [])
      // Among equal trials the first trace comes first.
      .sort((one, two) => (one.record.trial ?? 0) - (two.record.trial ?? 0)),
  );
}
