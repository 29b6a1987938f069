import { type QueuedRun, queuedRuns, queueQueries } from '../../shared/annotations/queueRecords.ts';
import type { QueueDeps } from '../../shared/annotations/queues.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import { findColumnFor } from '../../shared/records/columnCatalog.ts';
import { columnFinder, type FindColumn } from '../../shared/records/findColumn.ts';
import type { RecordQuery } from '../../shared/records/searchRecords.ts';
import type { RecordSelector } from '../../shared/wire/annotations.ts';
import type { Filter } from '../../shared/wire/filters.ts';
import type { ExportSearchDeps } from './exportColumns.ts';

/** Reads the records of a queue. */
export interface QueueRecordDeps extends QueueDeps, ExportSearchDeps {
  /** The run without what has expired in it. */
  unexpired(run: RunRef): Promise<RunRef>;
}

/** Columns of several runs: a metric that one of them knows is a column. */
export async function columnsOfRuns(
  deps: QueueRecordDeps,
  runs: readonly RunRef[],
  filter: Filter,
  alsoNamed: readonly string[],
): Promise<FindColumn> {
  const finders: FindColumn[] = [];
  for (const run of runs) finders.push(await findColumnFor(deps.records, deps.metrics, run, { filter, alsoNamed }));
  finders.push(columnFinder(deps.metrics.builtIn));
  return (id) => {
    for (const find of finders.slice(0, -1)) {
      try {
        return find(id);
      } catch (err) {
        if (!(err instanceof ServiceError) || err.code !== 'ColumnUnknown') throw err;
      }
    }
    return (finders.at(-1) as FindColumn)(id);
  };
}

/** A query for each run, of its queued records that the filter keeps. */
export async function filtered(
  deps: QueueRecordDeps,
  runs: readonly QueuedRun[],
  filter?: Filter | null,
  alsoNamed: readonly string[] = [],
): Promise<{ queries: RecordQuery[]; findColumn: FindColumn }> {
  const refs = runs.map(({ run }) => run);
  const findColumn = await columnsOfRuns(deps, refs, filter ?? { and: [] }, alsoNamed);
  return { queries: await queueQueries(deps.records, runs, filter, findColumn), findColumn };
}

/** The records of a queue, by run, but for what has expired. */
export async function queued(deps: QueueRecordDeps, queueId: string, recordIds?: readonly string[]): Promise<QueuedRun[]> {
  const runs = await queuedRuns(deps.annotations, queueId, recordIds);
  return Promise.all(runs.map(async ({ run, ...of }) => ({ ...of, run: await deps.unexpired(run) })));
}

/** Finds the records of a queue that match a selector. */
export async function selected(
  deps: QueueRecordDeps,
  queueId: string,
  selector: RecordSelector,
  alsoNamed: readonly string[] = [],
) {
  const ids = selector.type === 'record_ids' ? selector.record_ids : undefined;
  const runs = await queued(deps, queueId, ids);
  return filtered(deps, runs, selector.type === 'filter_tree' ? selector.filter_tree : null, alsoNamed);
}

export const notInQueue = (what: string): ServiceError =>
  new ServiceError('NotFound', `no such ${what} in this annotation queue`);
