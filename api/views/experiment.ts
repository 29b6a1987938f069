import { runPermissions } from '../../shared/accounts/permissions.ts';
import { selectionToWire } from '../../shared/datasets/rowSelection.ts';
import type { ExperimentAggregates } from '../../shared/experiments/aggregates.ts';
import type { MetricBuckets } from '../../shared/experiments/metricBuckets.ts';
import { isScorerId, type MetricName, underBothKeys, underNames } from '../../shared/experiments/metricNames.ts';
import type { ExperimentView } from '../../shared/experiments/response.ts';
import { usageBody } from '../../shared/experiments/runUsage.ts';
import type { MetricAggregates } from '../../shared/metrics/aggregate.ts';
import { FIGURE_LEVEL } from '../../shared/metrics/figureInterval.ts';
import type { MetricCounts } from '../../shared/metrics/metricFigures.ts';
import type { ExperimentResponse } from '../../shared/wire/experiments.ts';
import type { ProjectInPath } from '../http/route.ts';
import { tagToWire } from './experimentTags.ts';

/** Writes a whole experiment, with all that `project`'s role may do with it. */
export function experimentToWire(experiment: ExperimentView, { role }: ProjectInPath): ExperimentResponse {
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
    aggregate_metric_counts: countsToWire(aggregates, (counts) => underBothKeys(counts, names)),
    aggregate_metric_intervals: intervalsToWire(aggregates, (intervals) => underBothKeys(intervals, names)),
    aggregates_by_code: aggregates?.byCode ? underBothKeys(aggregates.byCode, names) : {},
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

/** Writes an experiment as a table shows it: the whole has each figure under several names, and the prompt's text. */
export function thinExperimentToWire(experiment: ExperimentView, project: ProjectInPath): ExperimentResponse {
  const { aggregates, prompt, metricNames: names } = experiment;
  const byName = <T>(values: Readonly<Record<string, T>>): Record<string, T> => underNames(values, names);
  const withoutFigure = Object.entries(aggregates?.metrics ?? {}).filter(([key]) => aggregates?.rolledUp[key] === undefined);
  const whole = experimentToWire({ ...experiment, aggregates: null, prompt: prompt && { ...prompt, content: '' } }, project);
  return {
    ...whole,
    permissions: [],
    aggregate_metrics: aggregates
      ? { ...(aggregates.rows ? { total_responses: aggregates.rows } : {}), ...byName(aggregates.rolledUp) }
      : {},
    structured_aggregate_metrics:
      aggregates &&
      byName(
        Object.fromEntries(
          withoutFigure.map(([key, values]): [string, ReturnType<typeof aggregatesToWire>] => [key, aggregatesToWire(values)]),
        ),
      ),
    aggregate_metric_counts: countsToWire(aggregates, byName),
    aggregate_metric_intervals: intervalsToWire(aggregates, byName),
    usage: aggregates?.usage ? usageBody(aggregates.usage) : null,
    prompt_run_settings: null,
    row_selection: null,
    logged_metrics: [],
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
  underKeys: <T>(byKey: Readonly<Record<string, T>>) => Record<string, T>,
): ExperimentResponse['aggregate_metric_counts'] {
  if (!aggregates?.counts) return null;
  const { rows = 0, rowsFailed = 0, counts } = aggregates;
  return Object.fromEntries(
    Object.entries(underKeys(counts)).map(
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

/** Null of aggregates that an earlier release has stored. */
function intervalsToWire(
  aggregates: ExperimentAggregates | null,
  underKeys: <T>(byKey: Readonly<Record<string, T>>) => Record<string, T>,
): ExperimentResponse['aggregate_metric_intervals'] {
  if (!aggregates?.intervals) return null;
  const intervals = Object.entries(underKeys(aggregates.intervals));
  return Object.fromEntries(intervals.map(([name, interval]) => [name, { ...interval, level: FIGURE_LEVEL }]));
}

const NS_IN_MS = 1e6;

/**
 * The one figure of each metric, by its key and its name, and what clients of the interface read beside them: averages and counts, under names with a
 * prefix. A metric that has such a name itself keeps it.
 */
function flatMetrics(
  { metrics, rolledUp, rows, byCode = {} }: ExperimentAggregates,
  names: readonly MetricName[],
): Record<string, number> {
  const nameOf = new Map(names.map(({ name, scorerId }) => [scorerId, name]));
  const prefixed = Object.entries(metrics).flatMap(([key, { avg, count }]): [string, number][] => {
    const name = nameOf.get(key) ?? key;
    return [...(avg === null ? [] : [[`average_${name}`, avg] as [string, number]]), [`count_${name}`, count]];
  });
  const madeByCode = Object.entries(underBothKeys(byCode, names)).flatMap(([name, made]) =>
    'values' in made
      ? Object.entries(made.values).flatMap(([key, value]): [string, number][] =>
          typeof value === 'number' ? [[`${name}_${key}`, value]] : [],
        )
      : [],
  );
  const durationNs = metrics.duration_ns?.avg ?? null;
  return Object.fromEntries([
    ...(durationNs === null ? [] : [['average_latency', durationNs / NS_IN_MS] as const]),
    ...(rows ? [['total_responses', rows] as const] : []),
    ...prefixed,
    ...madeByCode,
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

const aggregatesToWire = ({ valueDistribution, deviation: _, ...figures }: MetricAggregates) => ({
  ...figures,
  value_distribution: valueDistribution,
});

export const bucketsToWire = ({ rollUp, outputType, counts, failedRows, alias, ...buckets }: MetricBuckets) => ({
  ...buckets,
  metric_key_alias: alias,
  counts: metricCountsToWire(counts),
  failed_rows: failedRows,
  roll_up_method: rollUp,
  data_type: outputType,
});
