import { RequestInvalid } from '../errors/errors.ts';
import { asksJudges, type EnabledMetric } from '../scorers/resolveMetrics.ts';
import { type ScoreValuesDeps, type ScoreValuesOptions, scoreValues } from './scoreValues.ts';
import type { MarkedMetric, MarkStore, ScoredRun } from './scoring.ts';
import type { ScoredOutcome } from './workflow.ts';

export interface ScoreMarkedDeps extends Omit<ScoreValuesDeps, 'metricOf'> {
  marks: Pick<MarkStore, 'marked' | 'markedMetrics'>;
  /** The metric that a mark names. @throws RequestInvalid when it cannot be computed any more. */
  metricOf(run: ScoredRun, marked: MarkedMetric): Promise<EnabledMetric>;
}

/** Milliseconds after which a pass gives way, so that newer records come first again. */
const PASS_MS = 20_000;

/**
 * Computes what is marked in a run, newest records first, and stores each value in the place of its mark. Metrics that are plain code come before
 * judges. A failing metric fails only its own value. Killed anywhere, the next one goes on with the marks that are left.
 */
export async function scoreMarked(
  deps: ScoreMarkedDeps,
  run: ScoredRun,
  from: string | undefined,
  options: Pick<ScoreValuesOptions, 'lanes' | 'stopping' | 'givenUp' | 'confirm' | 'maxProviderFailures'>,
): Promise<ScoredOutcome> {
  const until = performance.now() + PASS_MS;
  const marked = await deps.untilStored(() => deps.marks.markedMetrics(run, from), options.stopping);
  const metrics = new Map<string, EnabledMetric | { problem: string }>();
  for (const one of marked) metrics.set(keyOf(one), await deps.metricOf(run, one).catch(problemOf));
  const isJudged = (one: MarkedMetric) => {
    const metric = metrics.get(keyOf(one));
    return metric !== undefined && 'needs' in metric && asksJudges(metric);
  };
  let scored = 0;
  let more = false;
  for (const judged of [false, true]) {
    const some = marked.filter((one) => isJudged(one) === judged);
    if (some.length === 0) continue;
    const outcome = await scoreValues(
      {
        ...deps,
        metricOf: (value) => metrics.get(keyOf(value)) ?? { problem: 'the metric is not known' },
        onProgress: (count) => deps.onProgress(scored + count),
      },
      run,
      deps.marks.marked(run, from, some),
      { ...options, judged, until, showsComputing: true },
    );
    scored += outcome.scored;
    more ||= outcome.more;
    if (outcome.failing !== undefined) return { scored, more, failing: outcome.failing };
  }
  return { scored, more };
}

const keyOf = ({ scorerId, scorerVersion }: MarkedMetric): string => `${scorerId}/${scorerVersion}`;

function problemOf(err: unknown): { problem: string } {
  if (err instanceof RequestInvalid) return { problem: err.items.map(({ msg }) => msg).join('; ') };
  throw err;
}
