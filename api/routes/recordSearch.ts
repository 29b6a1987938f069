import { z } from 'zod';
import { isAnnotationColumn } from '../../shared/annotations/annotationColumns.ts';
import { withAnnotatedIds } from '../../shared/annotations/fullyAnnotated.ts';
import { type RecordKind, spanKinds } from '../../shared/columns/columnDef.ts';
import { systemMetricNames } from '../../shared/columns/recordTableColumns.ts';
import { ServiceError } from '../../shared/errors.ts';
import type { RunLookup } from '../../shared/projects/runs.ts';
import { findColumnFor, type MetricDefinitions } from '../../shared/records/columnCatalog.ts';
import { explainedBy, isMetricColumn, metricOfColumn } from '../../shared/records/findColumn.ts';
import { shownFields, toExtendedRecord, toPartialRecord } from '../../shared/records/recordView.ts';
import {
  type FoundPage,
  type PageView,
  type RecordPageQuery,
  type RecordQuery,
  type RecordReads,
  type RecordRun,
  searchRecords,
} from '../../shared/records/searchRecords.ts';
import { Uuid } from '../../shared/wire/common.ts';
import type { ColumnFilter } from '../../shared/wire/filters.ts';
import {
  LogRecordsPartialQueryRequest,
  LogRecordsPartialQueryResponse,
  LogRecordsQueryCountRequest,
  LogRecordsQueryCountResponse,
  LogRecordsQueryRequest,
  LogRecordsQueryResponse,
} from '../../shared/wire/recordSearch.ts';
import { type Endpoint, endpoint } from '../route.ts';

export interface RecordSearchDeps {
  records: RecordReads;
  findRun: RunLookup;
  metrics: MetricDefinitions;
}

const ProjectParams = z.object({ project_id: Uuid });
const tag = 'Records';
const access = { project: 'read' } as const;

const searched: readonly { name: string; kinds: readonly RecordKind[] }[] = [
  { name: 'traces', kinds: ['trace'] },
  { name: 'spans', kinds: spanKinds },
  { name: 'sessions', kinds: ['session'] },
];

/** Search, partial search and count of traces, spans and sessions. */
export function recordSearchRoutes(deps: RecordSearchDeps): Endpoint[] {
  return searched.flatMap(({ name, kinds }) => [
    endpoint({
      method: 'post',
      path: `/projects/{project_id}/${name}/search`,
      summary: `Search ${name} of a run`,
      tag,
      access,
      params: ProjectParams,
      body: LogRecordsQueryRequest,
      response: LogRecordsQueryResponse,
      handle: async ({ params, body }) => {
        const query = await pageQuery(deps, params.project_id, kinds, body);
        const view: PageView = { ...viewFlags(body), metrics: 'all' };
        const found = await searchRecords(deps.records, query, view);
        return pageReply(found, query.limit, (one) => toExtendedRecord(one, view));
      },
    }),
    endpoint({
      method: 'post',
      path: `/projects/{project_id}/${name}/partial_search`,
      summary: `Search ${name} of a run for selected columns`,
      tag,
      access,
      params: ProjectParams,
      body: LogRecordsPartialQueryRequest,
      response: LogRecordsPartialQueryResponse,
      handle: async ({ params, body }) => {
        const query = await pageQuery(deps, params.project_id, kinds, body);
        const selected = selection(body, query);
        const view: PageView = { ...viewFlags(body), ...selected };
        const found = await searchRecords(deps.records, query, view);
        return pageReply(found, query.limit, (one) =>
          selected.columns === undefined ? toExtendedRecord(one, view) : toPartialRecord(one, view, selected.columns),
        );
      },
    }),
    endpoint({
      method: 'post',
      path: `/projects/{project_id}/${name}/count`,
      summary: `Count ${name} of a run`,
      tag,
      access,
      params: ProjectParams,
      body: LogRecordsQueryCountRequest,
      response: LogRecordsQueryCountResponse,
      handle: async ({ params, body }) => ({
        total_count: await deps.records.count(await recordQuery(deps, params.project_id, kinds, body)),
      }),
    }),
  ]);
}

type QueryBody = z.output<typeof LogRecordsQueryRequest>;
type CountBody = z.output<typeof LogRecordsQueryCountRequest>;

export async function recordQuery(
  deps: RecordSearchDeps,
  projectId: string,
  kinds: readonly RecordKind[],
  body: CountBody,
  /** Columns named outside the filter. */
  alsoNamed: readonly string[] = [],
): Promise<RecordQuery> {
  const run = await deps.findRun(projectId, body);
  const filter = await storedFilter(deps.records, run, body);
  const named = { filter, alsoNamed, takesUnvalued: testsMetrics(body) };
  return { run, kinds, filter, findColumn: await findColumnFor(deps.records, deps.metrics, run, named) };
}

/** The catalog of such a run lists metrics by what is said of the one under test, before there is a value. */
export const testsMetrics = (body: Pick<CountBody, 'metrics_testing_id'>): boolean => typeof body.metrics_testing_id === 'string';

/** The filter of a request, in the form that the record store answers: the list and the tree are joined by AND. */
export const storedFilter = (
  reads: RecordReads,
  run: RecordRun,
  body: Pick<CountBody, 'filters' | 'filter_tree'>,
): Promise<ColumnFilter> =>
  withAnnotatedIds(reads, run, { and: [...(body.filters ?? []), ...(body.filter_tree ? [body.filter_tree] : [])] });

async function pageQuery(
  deps: RecordSearchDeps,
  projectId: string,
  kinds: readonly RecordKind[],
  body: QueryBody,
): Promise<RecordPageQuery> {
  const query = await recordQuery(deps, projectId, kinds, body, body.sort ? [body.sort.column_id] : []);
  return {
    ...query,
    offset: body.pagination?.starting_token ?? body.starting_token ?? 0,
    limit: body.pagination?.limit ?? body.limit ?? 100,
    ...(body.sort ? { sort: { column: sortableColumn(query, body.sort.column_id), ascending: body.sort.ascending } } : {}),
    ...(body.previous_last_row_id ? { after: body.previous_last_row_id } : {}),
  };
}

export function sortableColumn({ findColumn }: Pick<RecordQuery, 'findColumn'>, id: string) {
  const column = findColumn(id);
  if (!column.sortable)
    throw new ServiceError('ColumnNotSortable', `the column ${id} cannot be sorted by`, {
      named: { texts: [id], below: 'sort' },
    });
  return column;
}

const viewFlags = (body: QueryBody) => ({
  includeCounts: body.include_counts,
  includeMetricMetadata: body.include_code_metric_metadata,
  truncate: body.truncate_fields,
});

/** What `select_columns` asks for: record columns (absent: all of them) and metrics. */
export function selection(
  { select_columns: select }: Pick<z.output<typeof LogRecordsPartialQueryRequest>, 'select_columns'>,
  { findColumn }: Pick<RecordQuery, 'findColumn'>,
): Pick<PageView, 'columns' | 'metrics'> {
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
  const metrics = everyMetric ? 'all' : named.filter((name) => !systemMetricNames.has(name));
  return select.column_ids ? { metrics, columns: ids } : { metrics };
}

export function pageReply<R>(
  { records, total, offset, next }: FoundPage,
  limit: number,
  show: (one: FoundPage['records'][number]) => R,
) {
  return {
    records: records.map(show),
    num_rows: total,
    starting_token: offset,
    limit,
    paginated: next !== null,
    next_starting_token: next,
    last_row_id: records.at(-1)?.record.id ?? null,
  };
}
