import type { MarkStore, ScoredRun, ScoringStore } from './scoring.ts';

export interface SettleScoringsDeps {
  store: Pick<ScoringStore, 'marked' | 'setDone' | 'end'>;
  marks: Pick<MarkStore, 'countMarked'>;
  /** Sums up the values of an experiment anew. */
  aggregate(run: ScoredRun): Promise<void>;
}

/** Notes how far each request of the run is, and ends those of which nothing is left to compute: an experiment's aggregates come first. */
export async function settleScorings({ store, marks, aggregate }: SettleScoringsDeps, run: ScoredRun): Promise<void> {
  const ended: string[] = [];
  for (const { id, scorerIds, markedTo, total } of await store.marked(run.runId)) {
    const left = await marks.countMarked(run, scorerIds, markedTo);
    if (left === 0) ended.push(id);
    else await store.setDone(id, Math.max(0, total - left));
  }
  if (ended.length === 0) return;
  if (run.kind === 'experiment') await aggregate(run);
  for (const id of ended) await store.end(id, 'completed', null);
}
