import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import { taskQueues } from '../shared/config/taskQueues.ts';
import type { Chunk, ChunkOutcome, RunPlan, RunSummary } from '../shared/experiments/workflow.ts';
import type { Prepared, ScoredOutcome } from '../shared/scoring/workflow.ts';
import type { Activities } from '../workers/activities.ts';
import type { ScoringActivities } from '../workers/scoringActivities.ts';

// Ours to heal (a store, the network, a worker's death): no limit on attempts. Only errors marked permanent end a run.
const retry = { initialInterval: '500 ms', maximumInterval: '30 seconds' } as const;

// Every activity heartbeats: a dead worker is noticed in this time, whatever it was at.
const heartbeatTimeout = '10 seconds';

// A cancelled activity is waited for: it still records what was paid for.
const cancellationType = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;

const control = proxyActivities<Activities>({ startToCloseTimeout: '1 hour', heartbeatTimeout, retry });

const rows = proxyActivities<Activities>({
  taskQueue: taskQueues.rows,
  // A chunk takes no new row after its time box (10 minutes); the rest is the slowest row's own time limit.
  startToCloseTimeout: '25 hours',
  heartbeatTimeout,
  retry,
  cancellationType,
  // Eager ones all go to the worker that decided on them; chunks are to spread over the workers.
  allowEagerDispatch: false,
});

const scoring = proxyActivities<ScoringActivities>({
  // Not where log streams are scored: however many of them are busy, they do not hold up an experiment.
  taskQueue: taskQueues.rows,
  // A pass gives way after seconds; the rest is a judge that answers slowly, and the marking of many records.
  startToCloseTimeout: '25 hours',
  heartbeatTimeout,
  retry,
  cancellationType,
});

export interface ExperimentRef {
  experimentId: string;
  projectId: string;
  number: number;
}

const rowsText = ({ from, to }: Pick<Chunk, 'from' | 'to'>) => `rows ${from + 1} to ${to}`;

/** The activities of one run, each with the line that Temporal's own pages show beside it. */
export function activitiesOf(ref: ExperimentRef) {
  const { experimentId: runId, projectId, number } = ref;
  return {
    plan: (): Promise<RunPlan> => control.planExperiment.executeWithOptions({ summary: 'plan' }, [ref]),
    runRows: (chunk: Omit<Chunk, keyof ExperimentRef>): Promise<ChunkOutcome> =>
      rows.runRows.executeWithOptions({ summary: `${rowsText(chunk)}, up to ${chunk.lanes} in flight in the run` }, [
        { ...ref, ...chunk },
      ]),
    /** @param allRecorded whether no row is to be recorded any more */
    prepareScoring: (allRecorded: boolean): Promise<Prepared | null> =>
      scoring.prepareScoring.executeWithOptions(
        { summary: allRecorded ? 'find what is to be scored' : 'find what is to be scored so far' },
        [{ projectId, runId, number, ended: allRecorded }],
      ),
    score: (): Promise<ScoredOutcome> =>
      scoring.scoreMarked.executeWithOptions({ summary: 'score' }, [{ projectId, runId, number }]),
    markPaused: (paused: boolean, reason: string | null): Promise<void> =>
      control.markPaused.executeWithOptions({ summary: paused ? 'note the pause' : 'note the end of the pause' }, [
        ref,
        paused,
        reason,
      ]),
    finish: (): Promise<RunSummary | undefined> =>
      control.finishExperiment.executeWithOptions({ summary: 'aggregate and complete' }, [ref]),
    end: (state: 'failed' | 'cancelled', reason: string | null): Promise<RunSummary | undefined> =>
      control.endExperiment.executeWithOptions({ summary: `aggregate and end as ${state}` }, [ref, state, reason]),
  };
}
