import type { ExperimentProgress, ExperimentResponse, ServiceClient } from '../../client/index.ts';
import { errorOf, failedFilter } from '../../shared/records/failed.ts';
import { recordPages } from '../records/recordPages.ts';
import { type FailedRow, type FailureReason, failureReasons } from './failureReasons.ts';

/** More rows are counted, and no longer read: what they failed for is among the others. */
const MAX_READ = 10_000;

/** Why rows of an experiment failed. */
export interface Failures {
  reasons: FailureReason[];
  /** How many of the rows were read. */
  read: number;
  failed: number;
}

/** Undefined where none has failed. Messages are of at most 1,000 characters. */
export async function readFailures(
  client: ServiceClient,
  { id, project_id }: Pick<ExperimentResponse, 'id' | 'project_id'>,
  { rows_failed: failed }: Pick<ExperimentProgress, 'rows_failed'>,
  signal: AbortSignal,
): Promise<Failures | undefined> {
  if (failed === 0) return undefined;
  const run = { path: `/projects/${project_id}`, projectId: project_id, selector: { experiment_id: id } };
  const query = {
    ...({ kind: 'trace', limit: MAX_READ, isShort: true } as const),
    filters: [{ or: failedFilter.or.map(({ filter }) => ({ ...filter })) }],
    columns: ['error_message', 'status_code', 'dataset_row_ordinal', 'trial'],
    sort: { column_id: 'dataset_row_ordinal', ascending: true },
  };
  const rows: FailedRow[] = [];
  for await (const records of recordPages(client, run, query, signal))
    for (const record of records)
      rows.push({
        row: numberOf(record.dataset_row_ordinal),
        trial: numberOf(record.trial),
        trace_id: record.id,
        message: errorOf(record as { error_message?: string; status_code?: number }) ?? '',
      });
  // The examples are of different rows, where there are such.
  rows.sort((a, b) => (a.trial ?? 0) - (b.trial ?? 0));
  return rows.length === 0 ? undefined : { reasons: failureReasons(rows), read: rows.length, failed };
}

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);
