import { noRecords, type RunCount, type RunCounts } from '../projects/runs.ts';
import type { RatingAggregates } from '../wire/annotationRatings.ts';
import type { Experiment } from './experimentStore.ts';
import { type FindScorers, type MetricName, metricNames } from './metricNames.ts';

/**
 * How far the runs of these experiments are, by id: fractions in [0, 1], 1 only when the run has ended and its aggregates are stored. One that is
 * absent has no progress yet.
 */
export type ProgressOf = (experiments: readonly Experiment[]) => Promise<ReadonlyMap<string, number>>;

export interface ViewDeps {
  progressOf: ProgressOf;
  countRecords: RunCounts;
  /** Returns what people say of the records of these experiments; those without a rating are absent. */
  ratingsOfRuns(projectId: string, experimentIds: readonly string[]): Promise<ReadonlyMap<string, RatingAggregates>>;
  findScorers: FindScorers;
}

/** An experiment with what is found outside the metadata store. */
export interface ExperimentView extends Experiment {
  /** 0 to 1. */
  progress: number;
  /** Null where counts were not asked for. */
  counts: RunCount | null;
  ratings: RatingAggregates;
  metricNames: MetricName[];
}

/** Views of experiments of one project, in their order. */
export async function experimentViews(
  deps: ViewDeps,
  projectId: string,
  experiments: readonly Experiment[],
  withCounts: boolean,
): Promise<ExperimentView[]> {
  if (experiments.length === 0) return [];
  const ids = experiments.map((experiment) => experiment.id);
  const [progress, counts, ratings, names] = await Promise.all([
    deps.progressOf(experiments),
    withCounts ? deps.countRecords(projectId, ids) : undefined,
    deps.ratingsOfRuns(projectId, ids),
    metricNames(deps.findScorers, experiments),
  ]);
  return experiments.map((experiment, index) => ({
    ...experiment,
    progress: progress.get(experiment.id) ?? 0,
    counts: counts ? (counts.get(experiment.id) ?? noRecords) : null,
    ratings: ratings.get(experiment.id) ?? {},
    metricNames: names[index] ?? [],
  }));
}
