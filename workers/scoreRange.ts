import type { ExperimentRun } from '../shared/experiments/experiment.ts';
import type { RunRowReader } from '../shared/experiments/rowLog.ts';
import type { Chunk, ChunkOutcome } from '../shared/experiments/workflow.ts';
import { judgedExperiment } from '../shared/scoring/judgedRun.ts';
import type { ScoredRunMetrics } from '../shared/scoring/runMetrics.ts';
import { scoreValues } from '../shared/scoring/scoreValues.ts';
import type { MarkedValue } from '../shared/scoring/scoring.ts';
import { type ValueScoringDeps, valueScoring } from './valueScoring.ts';

export interface ScoreRangeDeps extends ValueScoringDeps {
  rows: RunRowReader;
  metrics: Pick<ScoredRunMetrics, 'frozen'>;
}

/** Rows of a range that are looked at together. */
const RANGE_ROWS = 1_000;
/** Milliseconds after which a range gives way, long before its activity's own limit. */
const RANGE_MS = 10 * 60_000;

/**
 * Computes what a range of an experiment's rows lacks, without marking it: what workflows ask for that began before experiments had marks.
 * @param ending aborts when the worker ends
 * @param onProgress gets how many rows of the range are scored
 */
export async function scoreRange(
  deps: ScoreRangeDeps,
  run: ExperimentRun,
  chunk: Chunk,
  ending: AbortSignal,
  onProgress: (rows: number) => void,
): Promise<ChunkOutcome> {
  const { values, inLanes, lacking } = valueScoring(deps, ending);
  const frozen = await deps.metrics.frozen(run);
  const byName = new Map(frozen.metrics.map((metric) => [metric.name, metric]));
  const given = {
    ...values(judgedExperiment(run)),
    metricOf: ({ metric }: MarkedValue) => byName.get(metric) ?? { problem: `the run has no metric ${metric}` },
    onProgress: () => undefined,
  };
  const judged = frozen.metrics.some(({ needs }) => needs === 'judge');
  const until = performance.now() + RANGE_MS;
  return inLanes(chunk.lanes, run, async (options) => {
    let recorded = 0;
    for (let from = chunk.from; from < chunk.to; from += RANGE_ROWS) {
      if (options.stopping.aborted) return { takenTo: from, recorded };
      const to = Math.min(from + RANGE_ROWS, chunk.to);
      const traceIds = await deps.rows.traceIds(run, from, to);
      const found = lacking(run, frozen, { traceIds });
      const where = { projectId: run.projectId, runId: run.experimentId };
      const { scored, more } = await scoreValues(given, where, found, { ...options, until, judged, showsComputing: false });
      recorded += scored;
      if (more) return { takenTo: from, recorded };
      onProgress(to - chunk.from);
    }
    return { takenTo: chunk.to, recorded };
  });
}
