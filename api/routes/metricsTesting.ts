import { z } from 'zod';
import { standardColumns } from '../../shared/columns/standard.ts';
import { type RunIds, runKinds } from '../../shared/projects/runs.ts';
import { describedColumns, toDescriptor } from '../../shared/records/columnCatalog.ts';
import { metricsTestingColumns, type NamedScorer } from '../../shared/records/metricsTestingColumns.ts';
import { Uuid } from '../../shared/wire/common.ts';
import { MetricsTestingAvailableColumnsRequest } from '../../shared/wire/metricsTesting.ts';
import { LogRecordsAvailableColumnsResponse } from '../../shared/wire/recordSearch.ts';
import { type Endpoint, endpoint } from '../route.ts';
import type { RecordColumnDeps } from './recordColumns.ts';

export interface MetricsTestingDeps extends RecordColumnDeps {
  namedScorers(names: readonly string[]): Promise<NamedScorer[]>;
}

/** The column catalog of a metric under test. */
export const metricsTestingRoutes = (deps: MetricsTestingDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/projects/{project_id}/metrics-testing/available_columns',
    summary: 'List the columns of the metrics testing table',
    description:
      'The columns of the run, where one is named, and those of the metric under test: `metrics/<metric_key>` by its output type, with `cot_enabled` its explanation, and one for each of `required_scorers`.',
    tag: 'Records',
    access: { project: 'read' },
    params: z.object({ project_id: Uuid }),
    body: MetricsTestingAvailableColumnsRequest,
    response: LogRecordsAvailableColumnsResponse,
    async handle({ params, body }) {
      const tested = metricsTestingColumns({
        name: body.name,
        metricKey: body.metric_key,
        outputType: body.output_type ?? null,
        scoreType: body.score_type ?? null,
        withChainOfThought: body.cot_enabled,
        requiredScorers: await deps.namedScorers(body.required_scorers),
      });
      const listed = namesARun(body)
        ? await describedColumns(deps.records, deps.metrics, await deps.findRun(params.project_id, body), {})
        : [...standardColumns, ...deps.metrics.alwaysListed].map(toDescriptor);
      const columns = new Map([...listed, ...tested.map(toDescriptor)].map((column) => [column.id, column]));
      return { columns: [...columns.values()] };
    },
  }),
];

const namesARun = (ids: RunIds): boolean => runKinds.some((kind) => ids[`${kind}_id`]);
