import { createHash } from 'node:crypto';
import type { Request } from 'express';
import type { z } from 'zod';
import { runPermissions } from '../../shared/accounts/permissions.ts';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import type { ColumnDef } from '../../shared/columns/columnDef.ts';
import { inPieces } from '../../shared/concurrency/inPieces.ts';
import { RequestInvalid } from '../../shared/errors/errors.ts';
import type { ExperimentAggregates } from '../../shared/experiments/aggregates.ts';
import { assetsSeenBy } from '../../shared/experiments/assetsSeenBy.ts';
import { experimentColumns } from '../../shared/experiments/columns.ts';
import { type CreateDeps, createExperiment } from '../../shared/experiments/create.ts';
import type { FigureSettings } from '../../shared/experiments/experiment.ts';
import type { Creation } from '../../shared/experiments/experimentStore.ts';
import {
  allExperiments,
  type DeleteExperimentDeps,
  deleteExperiment,
  type ExperimentDeps,
  getExperiment,
  listExperiments,
  updateExperiment,
  view,
} from '../../shared/experiments/list.ts';
import type { MetricBuckets } from '../../shared/experiments/metricBuckets.ts';
import { isScorerId, type MetricName, underBothKeys } from '../../shared/experiments/metricNames.ts';
import { withMetricKeys } from '../../shared/experiments/metricQuery.ts';
import { loggedMetricsOf } from '../../shared/experiments/metricScales.ts';
import type { ExperimentView } from '../../shared/experiments/response.ts';
import { selectionToWire } from '../../shared/experiments/rowSelection.ts';
import { usageBody } from '../../shared/experiments/runUsage.ts';
import type { MetricAggregates } from '../../shared/metrics/aggregate.ts';
import type { MetricCounts } from '../../shared/metrics/metricFigures.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import { pageFields } from '../../shared/wire/common.ts';
import {
  ExperimentCreateRequest,
  ExperimentFiguresRequest,
  ExperimentList,
  ExperimentMetricsRequest,
  ExperimentMetricsResponse,
  ExperimentParams,
  ExperimentResponse,
  ExperimentSearchRequest,
  ExperimentsAvailableColumnsResponse,
  ExperimentsPageQuery,
  ExperimentsQuery,
  ExperimentUpdateRequest,
  ListExperimentResponse,
} from '../../shared/wire/experiments.ts';
import type { Filter } from '../../shared/wire/filters.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint, type ProjectInPath } from '../route.ts';
import { tagToWire } from '../views/experimentTags.ts';

export interface ExperimentRouteDeps extends CreateDeps, ExperimentDeps, DeleteExperimentDeps {
  assets: AssetAccess;
  /** Columns of the metrics that any run of the project computes. */
  metricColumns(projectId: string): Promise<ColumnDef[]>;
  /** Takes over how the figures of an experiment are made, and computes them anew. */
  changeFigures(experiment: RunRef, change: FigureSettings): Promise<void>;
  /** Values of the metrics of these experiments' records, counted in buckets; of the records that every filter keeps. */
  metricBuckets(projectId: string, experimentIds: readonly string[], filters: readonly Filter[]): Promise<MetricBuckets[]>;
}

const tag = 'Experiments';
const read = { project: 'read' } as const;

export function experimentRoutes(deps: ExperimentRouteDeps): Endpoint[] {
  const path = '/projects/{project_id}/experiments';
  const one = `${path}/{experiment_id}`;
  return [
    endpoint({
      method: 'get',
      path,
      summary: 'All experiments of a project',
      description: 'Newest first, never cut to a page.',
      tag,
      access: read,
      params: ProjectParams,
      query: ExperimentsQuery,
      response: ExperimentList,
      handle: async ({ project, query }) =>
        inPieces(await allExperiments(deps, project.id, query.include_counts), (piece) =>
          piece.map((one) => toWire(one, project)),
        ),
    }),
    endpoint({
      method: 'post',
      path,
      errors: ['Conflict'],
      summary: 'Create an experiment',
      description:
        'With `trigger` its run starts in the same call: of the prompt template, or of the outputs in the dataset without one. What refuses the ' +
        'run leaves no experiment. Names need not be unique. A call repeated with the same `Idempotency-Key` header gives the same experiment. ' +
        'Without a group it goes to `<dataset name> Experiment Group`, or to `Ungrouped` when it has no dataset.',
      tag,
      access: { project: 'create_run' },
      params: ProjectParams,
      body: ExperimentCreateRequest,
      response: ExperimentResponse,
      handle: async ({ project, body, caller, request }) => {
        const seen = assetsSeenBy(deps, deps.assets, caller);
        return toWire(
          await view(deps, await createExperiment(seen, project.id, caller.userId, body, creationOf(request, body))),
          project,
        );
      },
    }),
    endpoint({
      method: 'get',
      path: `${path}/paginated`,
      summary: 'Experiments of a project, in pages',
      tag,
      access: read,
      params: ProjectParams,
      query: ExperimentsPageQuery,
      response: ListExperimentResponse,
      handle: ({ project, query }) => pageOf(deps, project, { ...query, filters: [] }),
    }),
    endpoint({
      method: 'post',
      path: `${path}/search`,
      summary: 'Find experiments',
      tag,
      access: read,
      params: ProjectParams,
      body: ExperimentSearchRequest,
      response: ListExperimentResponse,
      handle: ({ project, body }) => pageOf(deps, project, body),
    }),
    endpoint({
      method: 'post',
      path: `${path}/available_columns`,
      summary: 'Columns of a list of experiments',
      tag,
      access: read,
      params: ProjectParams,
      response: ExperimentsAvailableColumnsResponse,
      handle: async ({ project }) => ({ columns: await columnsOf(deps, project.id) }),
    }),
    endpoint({
      method: 'post',
      path: `${path}/metrics`,
      summary: 'Metrics of all experiments of a project, in buckets',
      tag,
      access: read,
      params: ProjectParams,
      body: ExperimentMetricsRequest,
      response: ExperimentMetricsResponse,
      handle: async ({ project, body }) => ({
        metrics: (await deps.metricBuckets(project.id, await deps.experiments.ids(project.id), body.filters)).map(bucketsToWire),
      }),
    }),
    endpoint({
      method: 'get',
      path: one,
      summary: 'An experiment',
      tag,
      access: read,
      params: ExperimentParams,
      response: ExperimentResponse,
      handle: async ({ project, params }) => toWire(await getExperiment(deps, project.id, params.experiment_id), project),
    }),
    endpoint({
      method: 'put',
      path: one,
      summary: 'Rename or move an experiment',
      description: 'Without a group it stays in its group.',
      tag,
      access: { project: 'rename_run' },
      params: ExperimentParams,
      body: ExperimentUpdateRequest,
      response: ExperimentResponse,
      handle: async ({ project, params, body, caller }) =>
        toWire(await updateExperiment(deps, project.id, params.experiment_id, body, caller.userId), project),
    }),
    endpoint({
      method: 'patch',
      path: one,
      summary: 'Say how the figures of an experiment are made',
      description: 'The figures are computed anew before the answer comes; those of a run that goes on, at its end.',
      tag,
      access: { project: 'rename_run' },
      params: ExperimentParams,
      body: ExperimentFiguresRequest,
      response: ExperimentResponse,
      handle: async ({ project, params, body }) => {
        await deps.changeFigures({ projectId: project.id, runId: params.experiment_id }, figureSettings(body));
        return toWire(await getExperiment(deps, project.id, params.experiment_id), project);
      },
    }),
    endpoint({
      method: 'delete',
      path: one,
      errors: ['Conflict'],
      summary: 'Delete an experiment with its records',
      description: 'A run that goes on is cancelled.',
      tag,
      access: { project: 'delete_run' },
      params: ExperimentParams,
      status: 204,
      handle: ({ project, params }) => deleteExperiment(deps, project.id, params.experiment_id),
    }),
    endpoint({
      method: 'post',
      path: `${one}/metrics`,
      summary: 'Metrics of an experiment, in buckets',
      tag,
      access: read,
      params: ExperimentParams,
      body: ExperimentMetricsRequest,
      response: ExperimentMetricsResponse,
      handle: async ({ project, params, body }) => {
        const { id } = await getExperiment(deps, project.id, params.experiment_id);
        return { metrics: (await deps.metricBuckets(project.id, [id], body.filters)).map(bucketsToWire) };
      },
    }),
  ];
}

const figureSettings = ({ failed_rows, logged_metrics }: z.output<typeof ExperimentFiguresRequest>): FigureSettings => ({
  ...(failed_rows ? { failedRows: failed_rows } : {}),
  ...(logged_metrics ? { loggedMetrics: loggedMetricsOf(logged_metrics) } : {}),
});

const bucketsToWire = ({ rollUp, outputType, counts, failedRows, alias, ...buckets }: MetricBuckets) => ({
  ...buckets,
  metric_key_alias: alias,
  counts: metricCountsToWire(counts),
  failed_rows: failedRows,
  roll_up_method: rollUp,
  data_type: outputType,
});

const columnsOf = async (deps: ExperimentRouteDeps, projectId: string) =>
  experimentColumns(...(await Promise.all([deps.metricColumns(projectId), deps.experiments.aggregatedMetrics(projectId)])));

async function pageOf(deps: ExperimentRouteDeps, project: ProjectInPath, request: z.output<typeof ExperimentSearchRequest>) {
  const { starting_token: offset, limit, include_counts } = request;
  const query = await withMetricKeys(request, () => columnsOf(deps, project.id));
  const { items, hasMore } = await listExperiments(deps, project.id, query, include_counts, { offset, limit });
  return { ...pageFields(request, items.length, hasMore), experiments: items.map((one) => toWire(one, project)) };
}

const MAX_KEY_LENGTH = 255;

function creationOf(request: Request, body: ExperimentCreateRequest): Creation | null {
  const key = request.get('idempotency-key');
  if (key === undefined) return null;
  if (key.length === 0 || key.length > MAX_KEY_LENGTH)
    throw new RequestInvalid([
      { loc: ['header', 'Idempotency-Key'], msg: `must have 1 to ${MAX_KEY_LENGTH} characters`, type: 'string_length' },
    ]);
  return { key, requestHash: createHash('sha256').update(JSON.stringify(body)).digest('hex') };
}

function toWire(experiment: ExperimentView, { role }: ProjectInPath): ExperimentResponse {
  const { prompt, dataset, counts, aggregates, ranking, group, createdBy, playgroundId, metricNames: names } = experiment;
  const settings = experiment.promptSettings ?? prompt?.settings ?? null;
  return {
    id: experiment.id,
    created_at: experiment.createdAt.toISOString(),
    updated_at: experiment.updatedAt.toISOString(),
    name: experiment.name,
    series: experiment.series,
    approved_at: experiment.approval?.at.toISOString() ?? null,
    approved_by: experiment.approval?.by ?? null,
    gate: experiment.gate && { status: experiment.gate.status, at: experiment.gate.at.toISOString() },
    project_id: experiment.projectId,
    created_by: createdBy.id,
    created_by_user: createdBy,
    num_spans: counts?.spans ?? null,
    num_traces: counts?.traces ?? null,
    num_sessions: counts?.sessions ?? null,
    newest_record_at: counts?.newestAt ?? null,
    permissions: runPermissions(role),
    task_type: experiment.taskType,
    dataset: dataset && { dataset_id: dataset.id, version_index: dataset.versionIndex, name: dataset.name },
    aggregate_metrics: aggregates ? flatMetrics(aggregates, names) : {},
    structured_aggregate_metrics: aggregates && structuredMetrics(aggregates, names),
    trial_aggregates: aggregates?.overTrials ? underBothKeys(aggregates.overTrials, names) : null,
    aggregate_metric_counts: countsToWire(aggregates, names),
    metric_scorer_ids: Object.fromEntries(names.map(({ name, scorerId }) => [name, scorerId])),
    failed_rows: experiment.failedRows,
    usage: aggregates?.usage ? usageBody(aggregates.usage) : null,
    aggregate_feedback: {},
    rating_aggregates: experiment.ratings,
    ranking_score: ranking?.score ?? null,
    rank: ranking?.rank ?? null,
    winner: ranking?.isWinner ?? null,
    playground_id: playgroundId,
    playground: playgroundId === null ? null : { playground_id: playgroundId, name: null },
    prompt_run_settings: settings,
    prompt_model: typeof settings?.model_alias === 'string' ? settings.model_alias : null,
    prompt: prompt && {
      prompt_template_id: prompt.templateId,
      version_index: prompt.version,
      name: prompt.name,
      content: prompt.content,
    },
    tags: tagsByKey(experiment),
    row_selection: selectionToWire(experiment.selectedRows),
    trials: experiment.trials,
    state: experiment.state,
    status: { log_generation: { progress_percent: experiment.progress } },
    experiment_group_id: group.id,
    experiment_group_name: group.name,
    experiment_group_is_system: group.isSystem,
    logged_metrics: Object.entries(experiment.loggedMetrics).map(([name, scale]) => ({ name, ...scale })),
  };
}

/** By `fromEntries`, so that a tag with the key `__proto__` is a key like any other. */
const tagsByKey = ({ tags }: ExperimentView): ExperimentResponse['tags'] =>
  Object.fromEntries([...Map.groupBy(tags.map(tagToWire), (one) => one.key)]);

const metricCountsToWire = ({ notApplicable, failedRowsWithoutValue, ...counts }: MetricCounts) => ({
  ...counts,
  not_applicable: notApplicable,
  failed_rows_without_value: failedRowsWithoutValue,
});

/** Null of aggregates that an earlier release has stored. */
function countsToWire(
  aggregates: ExperimentAggregates | null,
  names: readonly MetricName[],
): ExperimentResponse['aggregate_metric_counts'] {
  if (!aggregates?.counts) return null;
  const { rows = 0, rowsFailed = 0, counts } = aggregates;
  return Object.fromEntries(
    Object.entries(underBothKeys(counts, names)).map(
      ([name, { counts: one, gaps, failedRows, worst, judgeModel, isJudgedByModelUnderTest }]) => [
        name,
        {
          ...metricCountsToWire(one),
          ...{ rows, rows_failed: rowsFailed },
          ...{ failed_rows: failedRows, worst },
          reasons: (gaps ?? []).map(({ status, ...gap }) => ({ status_type: status, ...gap })),
          ...{ judge_model: judgeModel ?? null, judged_by_model_under_test: isJudgedByModelUnderTest ?? false },
        },
      ],
    ),
  );
}

const NS_IN_MS = 1e6;

/**
 * The one figure of each metric, by its key and its name, and what clients of the interface read beside them: averages and counts, under names with a
 * prefix. A metric that has such a name itself keeps it.
 */
function flatMetrics({ metrics, rolledUp, rows }: ExperimentAggregates, names: readonly MetricName[]): Record<string, number> {
  const nameOf = new Map(names.map(({ name, scorerId }) => [scorerId, name]));
  const prefixed = Object.entries(metrics).flatMap(([key, { avg, count }]): [string, number][] => {
    const name = nameOf.get(key) ?? key;
    return [...(avg === null ? [] : [[`average_${name}`, avg] as [string, number]]), [`count_${name}`, count]];
  });
  const durationNs = metrics.duration_ns?.avg ?? null;
  return Object.fromEntries([
    ...(durationNs === null ? [] : [['average_latency', durationNs / NS_IN_MS] as const]),
    ...(rows ? [['total_responses', rows] as const] : []),
    ...prefixed,
    ...Object.entries(underBothKeys(rolledUp, names)),
  ]);
}

/** All figures of each metric, by its name and by its scorer's id. By the id, booleans are counted as 0 and 1, as clients of the interface read them. */
function structuredMetrics({ metrics }: ExperimentAggregates, names: readonly MetricName[]) {
  return Object.fromEntries(
    Object.entries(underBothKeys(metrics, names)).map(([key, values]) => {
      const { valueDistribution: counts, pct } = values;
      if (!counts || pct === null || !isScorerId(key)) return [key, aggregatesToWire(values)];
      const { true: yes = 0, false: no = 0, ...others } = counts;
      return [key, aggregatesToWire({ ...values, valueDistribution: { 0: no, 1: yes, ...others } })];
    }),
  );
}

const aggregatesToWire = ({ valueDistribution, ...figures }: MetricAggregates) => ({
  ...figures,
  value_distribution: valueDistribution,
});
