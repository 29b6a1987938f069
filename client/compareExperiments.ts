import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import type { ExperimentComparison } from './experimentRunResults.ts';

export interface CompareExperimentsOptions extends OperationOptions {
  baselineId: string;
  experimentIds: readonly string[];
  /** Names of metrics; absent: all, with duration, tokens and cost. */
  metrics?: readonly string[] | undefined;
  /** Columns by whose values rows are compared apart as well, such as `dataset_metadata/topic`. */
  slices?: readonly string[] | undefined;
  /** How to count a failed row without a value: not at all, or as the worst value of a metric. Absent: as each experiment says. */
  failedRows?: 'omit' | 'worst' | undefined;
  /** The seed of the random numbers: the same seed gives the same figures. */
  seed?: number | undefined;
  /** The level of the intervals, and 1 less the level of the tests. Default 0.95. */
  level?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Compares experiments with a baseline, by each metric: the difference with its interval, the test, and one sentence in words.
 * @throws NotFoundError for an experiment that is not in the project; HttpStatusError for what cannot be compared, with the reason.
 */
export async function compareExperiments(options: CompareExperimentsOptions): Promise<ExperimentComparison> {
  const client = clientOf(options);
  const projectId = await resolveProject(client, options, { signal: options.signal });
  return client.send(`/projects/${projectId}/experiments/compare`, {
    body: {
      baseline_id: options.baselineId,
      experiment_ids: options.experimentIds,
      metrics: options.metrics,
      slices: options.slices,
      failed_rows: options.failedRows,
      seed: options.seed,
      level: options.level,
    },
    repeatable: true,
    signal: options.signal,
  });
}
