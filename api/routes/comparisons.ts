import type { z } from 'zod';
import type { ComparedRow, RowTrace } from '../../shared/comparison/comparedRows.ts';
import type { ComparedExperiment, Comparison } from '../../shared/comparison/comparison.ts';
import type { Comparisons } from '../../shared/comparison/openComparisons.ts';
import { shortened } from '../../shared/records/recordView.ts';
import { pageFields } from '../../shared/wire/common.ts';
import { ComparedRowsReply, ComparedRowsRequest, CompareReply, CompareRequest } from '../../shared/wire/comparisons.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

const tag = 'Experiments';
const DEFAULT_LEVEL = 0.95;
const DEFAULT_ROWS = 50;

/** Experiments compared with a baseline. */
export function comparisonRoutes({ compare, rows }: Pick<Comparisons, 'compare' | 'rows'>): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: '/projects/{project_id}/experiments/compare',
      summary: 'Compare experiments with a baseline',
      description:
        'Is an experiment better than the baseline, on which rows, and how sure is that? One entry of `comparisons` for each experiment and metric, ' +
        'with one sentence in words. Rows are matched by their dataset row, else by their dataset input or input.',
      tag,
      access: { project: 'read' },
      params: ProjectParams,
      body: CompareRequest,
      response: CompareReply,
      async handle({ project, body, signal }) {
        const { level, seed } = { level: body.level ?? DEFAULT_LEVEL, seed: body.seed ?? 0 };
        const answer = await compare(
          project.id,
          {
            baselineId: body.baseline_id,
            experimentIds: body.experiment_ids,
            metrics: body.metrics ?? undefined,
            slices: body.slices ?? [],
            failedRows: body.failed_rows ?? undefined,
            seed,
            level,
          },
          signal,
        );
        const changed = new Map(answer.experiments.map(({ id, matching }) => [id, matching?.changed ?? 0]));
        return {
          baseline: experimentToWire(answer.baseline),
          experiments: answer.experiments.map(experimentToWire),
          level,
          seed,
          is_partial: [answer.baseline, ...answer.experiments].some(({ isRunning }) => isRunning),
          warnings: answer.warnings,
          comparisons: answer.comparisons.map((one) => comparisonToWire(one, changed.get(one.experimentId) ?? 0)),
        };
      },
    }),
    endpoint({
      method: 'post',
      path: '/projects/{project_id}/experiments/compare/rows',
      summary: 'Compare an experiment with a baseline, row by row',
      description: 'What each side said, scored, cost and took, the row with the largest loss first.',
      tag,
      access: { project: 'read' },
      params: ProjectParams,
      body: ComparedRowsRequest,
      response: ComparedRowsReply,
      async handle({ project, body }) {
        const page = { starting_token: body.starting_token ?? 0, limit: body.limit ?? DEFAULT_ROWS };
        const {
          rows: found,
          total,
          sortedBy,
          failedRows,
        } = await rows(project.id, {
          baselineId: body.baseline_id,
          experimentId: body.experiment_id,
          conditions: (body.filters ?? []).map(({ is, metric }) => ({ is, metric: metric ?? undefined })),
          sort: body.sort ? { metric: body.sort.metric ?? undefined, ascending: body.sort.ascending ?? false } : undefined,
          slice: body.slice ?? undefined,
          failedRows: body.failed_rows ?? undefined,
          isShort: body.truncate_fields,
          offset: page.starting_token,
          limit: page.limit,
        });
        return {
          ...pageFields(page, found.length, page.starting_token + found.length < total),
          total,
          sorted_by: sortedBy,
          failed_rows: failedRows,
          rows: found.map((row) => rowToWire(row, body.truncate_fields)),
        };
      },
    }),
  ];
}

type WireRow = z.input<typeof ComparedRowsReply>['rows'][number];

function rowToWire({ baseline, other, contentChanged }: ComparedRow, isShort: boolean): WireRow {
  const shown = (other[0] ?? baseline[0])?.record;
  const row: WireRow = {
    dataset_row_id: shown?.dataset_row_id ?? null,
    input: shown?.dataset_input ?? shown?.input ?? null,
    reference: shown?.dataset_output ?? null,
    content_changed: contentChanged,
    baseline: baseline.map(traceToWire),
    experiment: other.map(traceToWire),
  };
  return isShort ? (shortened(row) as WireRow) : row;
}

const traceToWire = ({ record, metrics }: RowTrace): WireRow['baseline'][number] => ({
  trace_id: record.id,
  trial: record.trial ?? null,
  output: record.output ?? null,
  error_message: record.error_message ?? '',
  duration_ns: numberOrNull(record.metrics?.duration_ns),
  cost: numberOrNull(record.metrics?.cost),
  scores: Object.fromEntries(
    metrics.map(({ metric, result }) => {
      const { status_type, value = null, explanation = null, metric_key_alias } = result as Record<string, unknown>;
      const name = typeof metric_key_alias === 'string' ? metric_key_alias : metric;
      return [name, { status: String(status_type), value, explanation: typeof explanation === 'string' ? explanation : null }];
    }),
  ),
});

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);

type Reply = z.input<typeof CompareReply>;

const experimentToWire = ({ id, name, state, isRunning, rows, failedRows, matching }: ComparedExperiment): Reply['baseline'] => ({
  ...{ id, name, state, is_running: isRunning, rows, failed_rows: failedRows },
  matched_by: matching?.by ?? null,
  matched_rows: matching?.matched ?? null,
  only_in_baseline: matching?.onlyInBaseline ?? null,
  only_in_experiment: matching?.onlyInOther ?? null,
  changed_rows: matching?.changed ?? null,
});

const comparisonToWire = (one: Comparison, changedRows: number): Reply['comparisons'][number] => ({
  experiment_id: one.experimentId,
  metric: one.metric,
  metric_id: one.metricId,
  slice: one.slice,
  exploratory: one.slice !== null,
  type: one.type,
  unit: one.unit,
  measured: one.isMeasured,
  direction: one.direction,
  direction_assumed: one.isDirectionAssumed,
  failed_rows: one.failedRows,
  rows: one.pairs,
  baseline_mean: one.baseline.mean,
  mean: one.other.mean,
  baseline_p50: one.baseline.p50,
  p50: one.other.p50,
  baseline_p95: one.baseline.p95,
  p95: one.other.p95,
  baseline_aggregate: one.baseline.aggregate,
  aggregate: one.other.aggregate,
  difference: one.difference,
  interval: one.interval,
  test: one.test,
  method: one.method,
  p_value: one.pValue,
  p_adjusted: one.pAdjusted,
  better: one.better,
  worse: one.worse,
  same: one.same,
  missing: one.missing,
  changed_rows: changedRows,
  detectable: one.detectable,
  rows_to_decide: one.rowsToDecide,
  table: one.table,
  differs: one.differs,
  verdict: one.verdict,
  sentence: one.sentence,
  warnings: one.warnings,
});
