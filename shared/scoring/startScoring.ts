import type { RunRef } from '../projects/runs.ts';
import type { MarkStore, ScoringStore, ScoringWorkflows } from './scoring.ts';

export interface StartScoringDeps {
  scorings: Pick<ScoringStore, 'findRun' | 'noteWritten' | 'waiting' | 'scoredStreams'>;
  workflows: ScoringWorkflows;
  marks: Pick<MarkStore, 'newestVersions'>;
  /** Gets what went wrong with a run; it is tried again. */
  onError(runId: string, err: unknown): void;
}

export interface ScoringStarter {
  /** Has a run's wishes done. Fails never: `reconcile` starts what is stored. */
  start(runId: string): Promise<void>;
  /** Remembers that records of the run were written, until the next `startWritten`. */
  written(run: RunRef): void;
  /** Has the new records of log streams scored, where metrics are switched on. */
  startWritten(): Promise<void>;
  /** Starts what is stored as to be done. Safe at any time: a workflow that has nothing to do waits. */
  reconcile(): Promise<void>;
  /** Finds log streams with records that nobody looked at, because the process that wrote them died before it could say so. */
  findUnseen(): Promise<void>;
}

/** Runs started at a time: a workflow service that does not answer takes seconds for each. */
const STARTED_AT_ONCE = 20;

export function createScoringStarter({ scorings, workflows, marks, onError }: StartScoringDeps): ScoringStarter {
  let written = new Set<string>();
  const start = async (runId: string): Promise<void> => {
    try {
      const run = await scorings.findRun(runId);
      if (run) await workflows.score(run);
    } catch (err) {
      onError(runId, err);
    }
  };
  const startAll = async (runIds: readonly string[]): Promise<void> => {
    const queue = runIds.values();
    const lane = async () => {
      for (const runId of queue) await start(runId);
    };
    await Promise.all(Array.from({ length: STARTED_AT_ONCE }, lane));
  };
  const note = async (runIds: readonly string[]) => {
    if (runIds.length > 0) await startAll(await scorings.noteWritten(runIds));
  };
  return {
    start,
    written: ({ runId }) => void written.add(runId),
    async startWritten() {
      const runs = written;
      written = new Set();
      try {
        await note([...runs]);
      } catch (err) {
        for (const runId of runs) written.add(runId);
        throw err;
      }
    },
    reconcile: async () => startAll(await scorings.waiting()),
    async findUnseen() {
      const streams = await scorings.scoredStreams();
      const newest = await marks.newestVersions(streams.map(({ run }) => run));
      await note(streams.flatMap(({ run, lookedAt }) => ((newest.get(run.runId) ?? 0) > lookedAt ? [run.runId] : [])));
    },
  };
}
