import { ServiceError } from '../errors/errors.ts';
import type { RunRef } from '../projects/runs.ts';
import { eraseTraces } from '../records/delete.ts';
import { errorOf } from '../records/failed.ts';
import { logTraces } from '../records/ingest.ts';
import type { Records } from '../records/openRecords.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { KeepUnlessDeleted } from './keepUnlessDeleted.ts';
import type { RowLog } from './rowLog.ts';
import type { RunLedger } from './runLedger.ts';
import { type DeletedRowDeps, withoutDeletedRows } from './withoutDeletedRows.ts';

export interface LoggedRowDeps {
  ledger: Pick<RunLedger, 'goesOn'>;
  records: Pick<Records, 'writer' | 'deletion'>;
  recorded: RowLog['recorded'];
  deleted: DeletedRowDeps['deleted'];
  keep: KeepUnlessDeleted;
  telemetry: Pick<Telemetry, 'add'>;
}

/** The log of rows over the records: nothing is recorded once the run has ended, and nothing stays of what was deleted. */
export function loggedRows({ ledger, records, recorded, deleted, keep, telemetry }: LoggedRowDeps): RowLog {
  const refOf = (run: { projectId: string; experimentId: string }): RunRef => ({
    projectId: run.projectId,
    runId: run.experimentId,
  });
  return withoutDeletedRows(
    {
      recorded,
      write: (run, traces, attempt) =>
        keep(run, async () => {
          // Somebody may have terminated the workflow.
          if (!(await ledger.goesOn(run.experimentId, run.workflowNumber)))
            throw new ServiceError('Conflict', `the run of experiment ${run.experimentId} has ended`);
          await logTraces(records.writer, refOf(run), traces, { attempt });
          for (const trace of traces)
            telemetry.add('assay_rows_total', 1, {
              runner: run.runner.kind,
              outcome: errorOf(trace) === undefined ? 'succeeded' : 'failed',
            });
        }),
    },
    { deleted, erase: (run, traceIds) => eraseTraces(records.deletion, refOf(run), traceIds) },
  );
}
