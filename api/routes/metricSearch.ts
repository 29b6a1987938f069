import { z } from 'zod';
import type { ColumnDef } from '../../shared/columns/columnDef.ts';
import { RequestInvalid } from '../../shared/errors/errors.ts';
import type { RunIds } from '../../shared/projects/runs.ts';
import { availableColumns, columnsOf, findColumnFor } from '../../shared/records/columnCatalog.ts';
import { isMetricColumn, metricOfColumn } from '../../shared/records/findColumn.ts';
import {
  asAsked,
  bucketMinutesFor,
  metricTimeline,
  ownNumberKinds,
  rolledUp,
  type Timeline,
  type TimelineQuery,
  type TimelineReads,
} from '../../shared/records/metricTimeline.ts';
import { Uuid } from '../../shared/wire/common.ts';
import {
  LogRecordsCustomMetricsQueryRequest,
  LogRecordsMetricsQueryRequest,
  LogRecordsMetricsResponse,
} from '../../shared/wire/metricSearch.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { type RecordSearchDeps, storedFilter, testsMetrics } from '../records/recordQuery.ts';

export interface MetricSearchDeps extends RecordSearchDeps {
  timelines: TimelineReads;
}

const route = { method: 'post', tag: 'Metrics', access: { project: 'read' } } as const;
const params = z.object({ project_id: Uuid });

/** Metrics of a run over time. */
export function metricSearchRoutes(deps: MetricSearchDeps): Endpoint[] {
  const overview = (version: '' | '/v2', summary: string): Endpoint =>
    endpoint({
      ...route,
      path: `/projects/{project_id}/metrics/search${version}`,
      summary,
      description:
        'Every metric that has a value in the range, by its roll-up: over the whole range and in each bucket. `interval` is in minutes; the range starts with `start_time` and ends before `end_time`.',
      params,
      body: LogRecordsMetricsQueryRequest,
      response: LogRecordsMetricsResponse,
      async handle({ params, body }) {
        const query = await timelineQuery(deps, params.project_id, body, body.interval);
        const range = { from: query.from, to: query.to };
        const columns = await availableColumns(deps.records, deps.metrics, query.run, range);
        return reply(
          body.group_by,
          await metricTimeline(deps.timelines, query, { figures: rolledUp(columns), withCounts: version === '/v2' }),
        );
      },
    });
  return [
    overview('', 'Metrics of a run over time'),
    overview('/v2', 'Metrics of a run over time, with the number of traces, sessions and spans'),
    endpoint({
      ...route,
      path: '/projects/{project_id}/metrics/custom_search',
      summary: 'Chosen figures of chosen metrics over time',
      description:
        'Each entry of `metric_details` gives one figure under its `id`. Percentages are fractions in [0, 1]; a figure without a value is left out.',
      params,
      body: LogRecordsCustomMetricsQueryRequest,
      response: LogRecordsMetricsResponse,
      async handle({ params, body }) {
        const asked = body.metric_details.map(({ metric_name: name }) => (isMetricColumn(name) ? metricOfColumn(name) : name));
        const query = await timelineQuery(deps, params.project_id, body, body.interval_minutes, asked);
        // A scorer's metric may be named by what its users call it.
        const names = asked.map((name) => metricOfColumn(query.findColumn(`metrics/${name}`).id));
        const wanted = body.metric_details.map(({ id, aggregation }, index) => ({
          id,
          aggregation,
          metric: names[index] as string,
        }));
        return reply(
          body.group_by,
          await metricTimeline(deps.timelines, query, { figures: asAsked(wanted), metrics: names, withCounts: false }),
        );
      },
    }),
  ];
}

type Body = RunIds &
  Pick<z.output<typeof LogRecordsMetricsQueryRequest>, 'filters' | 'filter_tree' | 'start_time' | 'end_time' | 'group_by'>;

async function timelineQuery(
  deps: MetricSearchDeps,
  projectId: string,
  body: Body,
  intervalMinutes: number,
  metrics: readonly string[] = [],
): Promise<TimelineQuery> {
  const run = await deps.findRun(projectId, body);
  const filter = await storedFilter(deps.records, run, body);
  const columns = metrics.map((name) => `metrics/${name}`);
  const alsoNamed = [...columns, ...(body.group_by ? [body.group_by] : [])];
  const findColumn = await findColumnFor(deps.records, deps.metrics, run, {
    filter,
    alsoNamed,
    takesUnvalued: testsMetrics(body),
  });
  for (const id of columns) findColumn(id);
  return {
    run,
    filter,
    findColumn,
    from: body.start_time,
    to: body.end_time,
    bucketMinutes: bucketMinutesFor({ from: body.start_time, to: body.end_time }, intervalMinutes),
    groupBy: body.group_by ? groupColumn(findColumn(body.group_by)) : undefined,
    // A filter on the kind of records selects their own numbers.
    ownNumbersOf: columnsOf(filter).includes('type') ? undefined : ownNumberKinds,
  };
}

function groupColumn(column: ColumnDef): ColumnDef {
  if (column.source.at !== 'metric' && column.source.at !== 'usage' && column.dataType !== 'string_list') return column;
  const msg = `the column ${column.id} cannot be grouped by: take one that holds one value of the record itself`;
  throw new RequestInvalid([{ loc: ['body', 'group_by'], msg, type: 'group_by_invalid' }]);
}

const reply = (groupBy: string | null | undefined, { whole, buckets, hasFailures, standardErrors }: Timeline) => ({
  group_by_columns: groupBy ? [groupBy] : [],
  aggregate_metrics: whole,
  bucketed_metrics: buckets,
  ems_captured_error: hasFailures,
  standard_errors: standardErrors,
});
