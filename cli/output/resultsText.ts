import type { ExperimentProgress, ExperimentResponse } from '../../client/index.ts';
import { dollars, duration, type FigureUnit, figureText } from '../../shared/figures/figureText.ts';
import { gapsText } from '../../shared/figures/gapsText.ts';
import { costOf } from './progressText.ts';
import { table } from './table.ts';

/** Writes the results of an experiment: a line about its rows, and a table of its metrics. */
export function resultsText(experiment: ExperimentResponse, progress: ExperimentProgress, width: number): string {
  const { rows_done, rows_total, rows_failed, started_at, ended_at, error } = progress;
  const took = started_at && ended_at ? ` in ${duration(Date.parse(ended_at) - Date.parse(started_at))}` : '';
  const cost = costOf(progress);
  const failed = rows_failed > 0 ? `, ${rows_failed} of them failed` : '';
  const state = progress.state === 'idle' ? 'was never run' : progress.state;
  const head = `${JSON.stringify(experiment.name)} ${state}: ${rows_done} of ${rows_total} rows${failed}${took}${cost ? `, ${dollars(cost)}` : ''}${error ? ` (${error})` : ''}`;
  // A metric under its name also stands under its scorer's id.
  const repeated = new Set(Object.values(experiment.metric_scorer_ids ?? {}));
  const rows = Object.entries(experiment.structured_aggregate_metrics ?? {})
    .filter(([key, { count }]) => !repeated.has(key) && ((count !== null && count > 0) || isLacking(experiment, key)))
    .map(([name, { avg, min, p50, p95, max, count }]) => [
      judgesItself(experiment, name) ? `${name} *` : name,
      ...[avg, min, p50, p95, max].map((value) => figureText(value, unitOf(name))),
      String(count),
    ]);
  if (rows.length === 0) return head;
  const gaps = gapNotes(experiment, repeated);
  const columns = ['average', 'least', 'median', 'p95', 'most', 'rows'].map((title) => ({ title, figure: true }));
  return [
    head,
    table([{ title: 'metric' }, ...columns], rows, width),
    ...selfJudgedNote(experiment),
    ...(gaps.length > 0 ? [gaps.join('\n')] : []),
  ].join('\n\n');
}

type Counted = Pick<ExperimentResponse, 'aggregate_metric_counts'>;

/** A metric that was asked for and has no value, with the reason. */
const isLacking = ({ aggregate_metric_counts: counts }: Counted, metric: string): boolean =>
  counts?.[metric]?.values === 0 && (counts[metric].reasons?.length ?? 0) > 0;

/** Why metrics lack values, a line for each. @param repeated keys of metrics that are there by another */
const gapNotes = ({ aggregate_metric_counts: counts }: Counted, repeated: ReadonlySet<string>): string[] =>
  Object.entries(counts ?? {}).flatMap(([metric, { values, missing, failed, not_applicable, reasons = [] }]) =>
    repeated.has(metric) ? [] : (gapsText(metric, { values, lacking: missing + failed + not_applicable, reasons }) ?? []),
  );

type Judged = Pick<ExperimentResponse, 'aggregate_metric_counts'>;

const judgesItself = ({ aggregate_metric_counts: counts }: Judged, metric: string): boolean =>
  counts?.[metric]?.judged_by_model_under_test ?? false;

/** Explains the mark in the table of a metric whose model judged its own answers. */
function selfJudgedNote({ aggregate_metric_counts: counts }: Judged): string[] {
  const models = Object.values(counts ?? {}).flatMap((one) => (one.judged_by_model_under_test ? [one.judge_model] : []));
  if (models.length === 0) return [];
  const judge = [...new Set(models)].filter((model) => model !== null).join(', ') || 'the model under test';
  return [`* judged by ${judge}, which gave the answers itself: a model tends to find its own answers good`];
}

/** Returns the unit of a metric of a run, by its name. */
export const unitOf = (metric: string): FigureUnit =>
  metric.endsWith('_ns') ? 'nano_seconds' : metric === 'cost' ? 'dollars' : null;
