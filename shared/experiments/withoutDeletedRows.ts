import type { ExperimentRun } from './experiment.ts';
import { firstAttemptOf, type RowLog } from './rowLog.ts';

export interface DeletedRowDeps {
  /** Returns the traces among these that were deleted while this workflow of the experiment ran. */
  deleted(run: Pick<ExperimentRun, 'experimentId' | 'workflowNumber'>, traceIds: readonly string[]): Promise<string[]>;
  erase(run: ExperimentRun, traceIds: readonly string[]): Promise<void>;
}

/**
 * The log of a run's rows, in which a deleted row counts as recorded: a retry of its chunk does not run it again. A worker that was taken for dead may
 * still record one; what it wrote goes again.
 */
export const withoutDeletedRows = (log: RowLog, { deleted, erase }: DeletedRowDeps): RowLog => ({
  async recorded(run, traceIds) {
    const [recorded, gone] = await Promise.all([log.recorded(run, traceIds), deleted(run, traceIds)]);
    const asRecorded = { error: undefined, attempt: firstAttemptOf(run.workflowNumber), attempts: null };
    return new Map([...gone.map((id) => [id, asRecorded] as const), ...recorded]);
  },
  async write(run, traces, attempt) {
    await log.write(run, traces, attempt);
    const gone = await deleted(
      run,
      traces.flatMap(({ id }) => id ?? []),
    );
    if (gone.length > 0) await erase(run, gone);
  },
});
