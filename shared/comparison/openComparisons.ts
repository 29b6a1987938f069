import { LRUCache } from 'lru-cache';
import { type ComparedRowPage, type ComparedRowsRequest, comparedRows, type RowsDeps } from './comparedRows.ts';
import { type CompareDeps, compareExperiments } from './compareExperiments.ts';
import type { ComparisonAnswer, ComparisonRequest } from './comparison.ts';
import { statisticsThread } from './statisticsThread.ts';

export interface Comparisons {
  /** Starts what the first comparison would have to wait for. */
  prepare(): void;
  compare(projectId: string, request: ComparisonRequest, signal?: AbortSignal): Promise<ComparisonAnswer>;
  rows(projectId: string, request: ComparedRowsRequest): Promise<ComparedRowPage>;
  stop(): Promise<void>;
}

/** Comparisons that are kept until either side changes. */
const KEPT = 100;

/** Comparisons of experiments. One that is asked for again is computed again only where a side has changed. */
export function openComparisons(given: Omit<CompareDeps, 'statistics'> & RowsDeps): Comparisons {
  const statistics = statisticsThread();
  const deps = { ...given, statistics };
  const kept = new LRUCache<string, ComparisonAnswer>({ max: KEPT });

  /** Returns what the answer follows from. */
  const keyOf = async (projectId: string, request: ComparisonRequest): Promise<string> => {
    const ids = [request.baselineId, ...request.experimentIds];
    const experiments = await Promise.all(ids.map((id) => given.find(projectId, id)));
    const [metrics, runs] = await Promise.all([
      Promise.all(ids.map((experimentId) => given.metricsOf({ projectId, experimentId }))),
      Promise.all(ids.map((runId) => given.unexpired({ projectId, runId }))),
    ]);
    const known = metrics.flat().map(({ name, alias, direction, range }) => [name, alias, direction, range]);
    return JSON.stringify([projectId, request, experiments, known, await given.reads.version(runs)]);
  };

  return {
    prepare: () => statistics.prepare(),
    async compare(projectId, request, signal) {
      const key = await keyOf(projectId, request);
      const known = kept.get(key);
      if (known) return known;
      const answer = await compareExperiments(deps, projectId, request, signal);
      kept.set(key, answer);
      return answer;
    },
    rows: (projectId, request) => comparedRows(given, projectId, request),
    stop: () => statistics.stop(),
  };
}
