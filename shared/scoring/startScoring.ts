import type { RunRef } from '../projects/runs.ts';
import type { MarkStore, ScoringStore, ScoringWorkflows } from './scoring.ts';

export interface StartScoringDeps {
  scorings: Pick<ScoringStore, 'findRun' | 'noteWritten' | 'waiting' | 'liveRuns'>;
  workflows: ScoringWorkflows;
  marks: Pick<MarkStore, 'newestVersions'>;
  /** Gets what went wrong with a run, or with all that were written; it is tried again. */
  onError(runId: string | undefined, err: unknown): void;
}

export interface ScoringStarter {
  /** Has a run's requests done. Fails never: `reconcile` starts what is stored. */
  start(runId: string): Promise<void>;
  /** Records of the run were written: where metrics are switched on for what is logged there, they are scored a second later. */
  written(run: RunRef): void;
  /** Starts what is stored as to be done. Safe at any time: a workflow that has nothing to do waits. */
  reconcile(): Promise<void>;
  /** Finds runs with records that were not looked at, because the process that wrote them died before it could say so. */
  findUnseen(): Promise<void>;
  /** Starts nothing more by itself. Resolves when what is under way has ended. */
  stop(): Promise<void>;
}

/** Milliseconds after which records that were written are scored: those of a second start one workflow. */
const GATHER_MS = 1_000;
/** Runs started at a time: a workflow service that does not answer takes seconds for each. */
const STARTED_AT_ONCE = 20;

export function createScoringStarter({ scorings, workflows, marks, onError }: StartScoringDeps): ScoringStarter {
  const written = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let starting: Promise<void> | undefined;
  let isStopped = false;
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
  const startWritten = async (): Promise<void> => {
    const runs = [...written];
    written.clear();
    try {
      await note(runs);
    } catch (err) {
      for (const runId of runs) written.add(runId);
      onError(undefined, err);
    }
  };
  const startSoon = (): void => {
    if (isStopped || timer || starting || written.size === 0) return;
    timer = setTimeout(() => {
      timer = undefined;
      starting = startWritten().finally(() => {
        starting = undefined;
        startSoon();
      });
    }, GATHER_MS);
  };
  return {
    start,
    written({ runId }) {
      written.add(runId);
      startSoon();
    },
    reconcile: async () => startAll(await scorings.waiting()),
    async findUnseen() {
      const runs = await scorings.liveRuns();
      const newest = await marks.newestVersions(runs.map(({ run }) => run));
      await note(runs.flatMap(({ run, lookedAt }) => ((newest.get(run.runId) ?? 0) > lookedAt ? [run.runId] : [])));
    },
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await starting;
    },
  };
}
