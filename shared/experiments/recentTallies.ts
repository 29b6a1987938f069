import { BriefCache } from '../concurrency/briefCache.ts';
import type { ExperimentRun } from './experiment.ts';
import type { RunTally } from './progress.ts';

/** Milliseconds for which a run's count of rows is good enough to show. */
const TALLY_GOOD_MS = 250;

type CountedRun = Pick<ExperimentRun, 'projectId' | 'experimentId'> & Partial<Pick<ExperimentRun, 'state'>>;

/**
 * Counts of runs, remembered for a moment: clients and pages ask for the same one at the same time. A run that has just ended or come to rest is
 * counted anew, because nothing follows that would correct an older count.
 */
export function recentTallies(count: (run: CountedRun, metrics: string[]) => Promise<RunTally>) {
  const tallies = new BriefCache<RunTally>({ ttlMs: TALLY_GOOD_MS, maxEntries: 1_000 });
  return async (run: CountedRun, metrics: string[], isAtRest = false): Promise<RunTally> =>
    (await tallies.get(`${run.experimentId}/${run.state ?? ''}/${isAtRest}/${metrics.join('/')}`, () =>
      count(run, metrics),
    )) as RunTally;
}
