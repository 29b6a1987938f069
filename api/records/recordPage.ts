import type { z } from 'zod';
import { isAnnotationColumn } from '../../shared/records/annotationColumns.ts';
import { type MetricDefinitions, selectedMetrics } from '../../shared/records/columnCatalog.ts';
import { explainedBy, isMetricColumn, metricOfColumn } from '../../shared/records/findColumn.ts';
import { shownFields } from '../../shared/records/recordView.ts';
import type { FoundPage, PagePlace, PageView, RecordQuery, RecordRun } from '../../shared/records/searchRecords.ts';
import type { LogRecordsPartialQueryRequest } from '../../shared/wire/recordSearch.ts';
import { systemMetricNames } from '../../shared/wire/systemCounts.ts';

/** Returns the record columns (absent: all of them) and metrics that `select_columns` selects. */
export async function selection(
  definitions: Pick<MetricDefinitions, 'builtIn' | 'ofRun'>,
  { select_columns: select }: Pick<z.output<typeof LogRecordsPartialQueryRequest>, 'select_columns'>,
  { findColumn, runs }: Pick<RecordQuery, 'findColumn'> & { runs: readonly RecordRun[] },
): Promise<Pick<PageView, 'columns' | 'metrics'>> {
  if (!select) return { metrics: 'all' };
  const all = select.column_ids ?? [];
  const ids = all.filter((id) => !isMetricColumn(id));
  for (const id of ids) if (!isAnnotationColumn(id) && !shownFields.has(id)) findColumn(id);
  const metricIds = [...all, ...select.metric_columns_names].filter(isMetricColumn);
  const named = [
    ...metricIds.map(metricOfColumn),
    ...select.metric_columns_names.filter((name) => !isMetricColumn(name)),
  ].flatMap((name) => [name, explainedBy(name) ?? []].flat());
  const everyMetric = select.include_all_metrics || (select.includes_metric_columns && named.length === 0);
  const metrics = everyMetric
    ? 'all'
    : (await selectedMetrics(definitions, runs, named)).filter((name) => !systemMetricNames.has(name));
  return select.column_ids ? { metrics, columns: ids } : { metrics };
}

/** A page of records as it is answered. */
export const pageReply = <R>(
  { records, ...place }: FoundPage,
  limit: number,
  show: (one: FoundPage['records'][number]) => R,
) => ({ records: records.map(show), ...placeReply(place, limit, records.at(-1)?.record.id) });

/** Where a page stands, as it is answered. */
export const placeReply = ({ total, offset, next }: PagePlace, limit: number, lastId: string | undefined) => ({
  num_rows: total,
  starting_token: offset,
  limit,
  paginated: next !== null,
  next_starting_token: next,
  last_row_id: lastId ?? null,
});
