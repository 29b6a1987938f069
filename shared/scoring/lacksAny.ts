import type { ExperimentRun, ValueState } from '../experiments/experiment.ts';
import { lackingValues, type MarkDeps } from './markRecords.ts';
import type { ScoredRunMetrics } from './runMetrics.ts';
import { versionNow } from './scoring.ts';

export interface LacksDeps {
  marks: MarkDeps['marks'];
  metrics: Pick<ScoredRunMetrics, 'now'>;
}

/** Returns whether a value of the metric is in one of the states, as a run that begins now would find it; true of what is logged with the rows, which it cannot know. */
export async function lacksAny(
  { marks, metrics }: LacksDeps,
  run: ExperimentRun,
  { metric, states }: { metric: string; states: readonly ValueState[] },
): Promise<boolean> {
  const wanted = (await metrics.now(run)).filter(({ name }) => name === metric);
  if (wanted.length === 0) return true;
  const asked = { metrics: wanted, frozenAt: versionNow() };
  const ofRun = { projectId: run.projectId, runId: run.experimentId };
  for await (const _value of lackingValues({ marks }, ofRun, asked, { states, unknownCounts: false })) return true;
  return false;
}
