import { z } from 'zod';
import type { Caller } from '../../shared/accounts/permissions.ts';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import { standardColumns } from '../../shared/columns/standard.ts';
import { type RunIds, runKinds } from '../../shared/projects/runs.ts';
import { describedColumns, toDescriptor } from '../../shared/records/columnCatalog.ts';
import { metricsTestingColumns, type NamedScorer } from '../../shared/records/metricsTestingColumns.ts';
import { getScorer } from '../../shared/scorers/manageScorers.ts';
import type { ScorerStore } from '../../shared/scorers/scorer.ts';
import { type MetricHealthDeps, metricHealth } from '../../shared/scoring/metricHealth.ts';
import { Uuid } from '../../shared/wire/common.ts';
import {
  ComputeHealthScoreRequest,
  HealthScoreResult,
  MetricsTestingAvailableColumnsRequest,
} from '../../shared/wire/metricsTesting.ts';
import { LogRecordsAvailableColumnsResponse } from '../../shared/wire/recordSearch.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import type { RecordColumnDeps } from '../records/recordQuery.ts';

export interface MetricsTestingDeps extends RecordColumnDeps {
  records: RecordColumnDeps['records'] & MetricHealthDeps['records'];
  /** @throws ServiceError `Conflict` for a name of several scorers that the caller sees. */
  namedScorers(caller: Caller, names: readonly string[]): Promise<NamedScorer[]>;
  assets: Pick<AssetAccess, 'require'>;
  scorers: Pick<ScorerStore, 'find'>;
  stream: MetricHealthDeps['stream'];
}

/** The column catalog of a metric under test, and how well its values agree with the ground truth. */
export const metricsTestingRoutes = (deps: MetricsTestingDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/projects/{project_id}/metrics-testing/available_columns',
    errors: ['Conflict'],
    summary: 'List the columns of the metrics testing table',
    description:
      'The columns of the run, where one is named, and those of the metric under test: `metrics/<metric_key>` by its output type, with `cot_enabled` its explanation, and one for each of `required_scorers`.',
    tag: 'Records',
    access: { project: 'read' },
    params: z.object({ project_id: Uuid }),
    body: MetricsTestingAvailableColumnsRequest,
    response: LogRecordsAvailableColumnsResponse,
    async handle({ params, body, caller }) {
      const tested = metricsTestingColumns({
        name: body.name,
        metricKey: body.metric_key,
        outputType: body.output_type ?? null,
        scoreType: body.score_type ?? null,
        withChainOfThought: body.cot_enabled,
        requiredScorers: await deps.namedScorers(caller, body.required_scorers),
      });
      const listed = namesARun(body)
        ? await describedColumns(deps.records, deps.metrics, await deps.findRun(params.project_id, body), {})
        : [...standardColumns, ...deps.metrics.alwaysListed].map(toDescriptor);
      const columns = new Map([...listed, ...tested.map(toDescriptor)].map((column) => [column.id, column]));
      return { columns: [...columns.values()] };
    },
  }),
  endpoint({
    method: 'post',
    path: '/projects/{project_id}/metrics-testing/{run_id}/health-score',
    summary: 'How well a metric agrees with the ground truth of a metrics-testing run',
    description:
      'Compares the values of the scorer with the ground truth of the rows: `mgt_overlay` by the id or external id of a record, else the record’s `dataset_metadata` under the name of the scorer. F1 for booleans, categories and labels, errors for numbers, by `output_type`.',
    tag: 'Records',
    access: { project: 'read' },
    params: z.object({ project_id: Uuid, run_id: Uuid }),
    body: ComputeHealthScoreRequest,
    response: HealthScoreResult,
    async handle({ params, body, caller }) {
      await deps.assets.require(caller, 'scorer', body.scorer_id, 'read');
      const run = await deps.findRun(params.project_id, { metrics_testing_id: params.run_id });
      const health = await metricHealth(deps, {
        run,
        scorer: await getScorer(deps.scorers, body.scorer_id),
        outputType: body.output_type,
        kinds: body.scoreable_node_types ?? undefined,
        overlay: body.mgt_overlay,
      });
      return {
        health_score_type: health.type,
        value: health.value,
        skipped_rows: health.unreadable,
        secondary: health.secondary,
        total_scored_rows: health.scoredRows,
        total_mgt_rows: health.rowsWithTruth,
        joined_rows: health.compared,
      };
    },
  }),
];

const namesARun = (ids: RunIds): boolean => runKinds.some((kind) => ids[`${kind}_id`]);
