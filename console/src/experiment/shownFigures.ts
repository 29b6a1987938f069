import type { LiveProgress } from '../data/experiment.ts';
import type { Experiment, ExperimentColumn, MetricFigures } from '../data/experiments.ts';
import { type FigureColumn, figureColumn } from '../figures/metricFigure.ts';
import { isUnderWay } from './runState.ts';

export interface ShownFigure {
  column: FigureColumn;
  figures: MetricFigures;
  /** Values that the figure is made of so far; undefined at rest. */
  soFar: number | undefined;
  /** A figure that every experiment has: latency, tokens, cost. */
  isOfSystem: boolean;
}

/** The metrics of an experiment with their figures; while its run goes on, as they are now. */
export function shownFigures(
  experiment: Experiment,
  progress: LiveProgress | undefined,
  columns: readonly ExperimentColumn[],
): ShownFigure[] {
  const columnOf = (metric: string) => {
    const scorerId = experiment.metric_scorer_ids[metric];
    return columns.find(({ id }) => id === `metrics/${metric}` || (scorerId !== undefined && id === `metrics/${scorerId}`));
  };
  const shown = (metric: string, figures: MetricFigures, soFar?: number): ShownFigure => {
    const column = columnOf(metric);
    return {
      column: column ? { ...figureColumn(column), metric } : { metric, label: metric, unit: null, direction: null, range: null },
      ...{ figures, soFar },
      isOfSystem: /system/i.test(column?.group_label ?? ''),
    };
  };
  if (progress && isUnderWay(progress.state))
    return (progress.figures ?? []).map(({ metric, figure, values }) =>
      shown(metric, { figure, figures: null, interval: null, counts: null }, values),
    );
  return Object.entries(experiment.aggregates).map(([metric, figures]) => shown(metric, figures));
}
