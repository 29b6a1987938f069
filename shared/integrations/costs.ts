import { RequestInvalid } from '../errors/errors.ts';
import type { CostInterval, IntegrationCostsResponse } from '../wire/integrationCosts.ts';

/** Times from the first to before the last, cut into intervals. */
export interface CostRange {
  /** Canonical time. */
  from: string;
  to: string;
  interval: CostInterval;
}

/** The cost of the calls of a project in one interval. */
export interface CostCell {
  projectId: string;
  /** Where the interval starts. */
  at: Date;
  usd: number;
}

/** Runs whose model calls the service makes, through integrations. */
export interface RunsWithCalls {
  experiments: string[];
  playground: string[];
}

export interface CostSources {
  runsWithCalls(projectIds: readonly string[]): Promise<RunsWithCalls>;
  /** The known costs of the model calls that are recorded in runs. Cells are in the order of time. */
  ofRuns(projectIds: readonly string[], runIds: readonly string[], range: CostRange): Promise<CostCell[]>;
  /** The known costs of the judges of scores, each by its newest result. Cells are in the order of time. */
  ofJudges(projectIds: readonly string[], range: CostRange): Promise<CostCell[]>;
}

/**
 * Sums up the cost of calls through integrations by purpose, by project and over time. The figures come from records and scores. Deleted ones, and calls
 * without a known price, are left out.
 * @param projects those whose costs the caller may see
 * @throws RequestInvalid for a range that ends before it begins
 */
export async function integrationCosts(
  sources: CostSources,
  projects: readonly { id: string; name: string }[],
  range: CostRange,
): Promise<IntegrationCostsResponse> {
  if (range.from >= range.to)
    throw new RequestInvalid([{ loc: ['query', 'end_time'], msg: 'end_time must come after start_time', type: 'value_error' }]);
  const ids = projects.map(({ id }) => id);
  const runs = await sources.runsWithCalls(ids);
  const [experiments, playground, metrics] = await Promise.all([
    sources.ofRuns(ids, runs.experiments, range),
    sources.ofRuns(ids, runs.playground, range),
    sources.ofJudges(ids, range),
  ]);
  const features = { experiments, playground, metrics };
  return {
    features: Object.entries(features).flatMap(([feature_name, cells]) => {
      const ofProjects = Map.groupBy(cells, ({ projectId }) => projectId);
      const shown = projects.flatMap(({ id, name }) => {
        const ofProject = ofProjects.get(id);
        if (!ofProject) return [];
        const data_points = ofProject.map(({ at, usd }) => ({ timestamp: at.toISOString(), cost: usd }));
        return [{ project_id: id, project_name: name, total_cost: sumOf(ofProject), data_points }];
      });
      return shown.length > 0 ? [{ feature_name, total_cost: sumOf(cells), projects: shown }] : [];
    }),
  };
}

const sumOf = (cells: readonly CostCell[]): number => cells.reduce((sum, { usd }) => sum + usd, 0);
