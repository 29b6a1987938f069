import type { z } from 'zod';
import { withAnnotatedIds } from '../../shared/annotations/fullyAnnotated.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import type { RunLookup } from '../../shared/projects/runs.ts';
import { findColumnFor, type MetricDefinitions } from '../../shared/records/columnCatalog.ts';
import type { RecordQuery, RecordReads, RecordRun } from '../../shared/records/searchRecords.ts';
import type { ColumnFilter } from '../../shared/wire/filters.ts';
import { type RecordKind, spanKinds } from '../../shared/wire/recordKinds.ts';
import type { LogRecordsQueryCountRequest } from '../../shared/wire/recordSearch.ts';

export interface RecordSearchDeps {
  records: RecordReads;
  findRun: RunLookup;
  metrics: MetricDefinitions;
}

/** Kinds of records that routes ask for, by the name in their paths. */
export const searched: readonly { name: 'traces' | 'spans' | 'sessions'; kinds: readonly RecordKind[] }[] = [
  { name: 'traces', kinds: ['trace'] },
  { name: 'spans', kinds: spanKinds },
  { name: 'sessions', kinds: ['session'] },
];

/** Builds the catalog of a run's columns. */
export interface RecordColumnDeps {
  records: Pick<RecordReads, 'metricsWithValues' | 'booleanMetrics' | 'annotationTemplates'>;
  findRun: RunLookup;
  metrics: MetricDefinitions;
}

type FilteredBody = z.output<typeof LogRecordsQueryCountRequest>;

/** Turns a request's body into a query over the records of a run. @throws ServiceError `RunNotFound`, `ColumnUnknown` */
export async function recordQuery(
  deps: RecordSearchDeps,
  projectId: string,
  kinds: readonly RecordKind[],
  body: FilteredBody,
  /** Columns named outside the filter. */
  alsoNamed: readonly string[] = [],
): Promise<RecordQuery> {
  const run = await deps.findRun(projectId, body);
  const filter = await storedFilter(deps.records, run, body);
  const named = { filter, alsoNamed, takesUnvalued: testsMetrics(body) };
  return { run, kinds, filter, findColumn: await findColumnFor(deps.records, deps.metrics, run, named) };
}

/** The catalog of such a run lists metrics by what is said of the one under test, before there is a value. */
export const testsMetrics = (body: Pick<FilteredBody, 'metrics_testing_id'>): boolean =>
  typeof body.metrics_testing_id === 'string';

/** The filter of a request, in the form that the record store answers: the list and the tree are joined by AND. */
export const storedFilter = (
  reads: RecordReads,
  run: RecordRun,
  body: Pick<FilteredBody, 'filters' | 'filter_tree'>,
): Promise<ColumnFilter> =>
  withAnnotatedIds(reads, run, { and: [...(body.filters ?? []), ...(body.filter_tree ? [body.filter_tree] : [])] });

export function sortableColumn({ findColumn }: Pick<RecordQuery, 'findColumn'>, id: string) {
  const column = findColumn(id);
  if (!column.sortable)
    throw new ServiceError('ColumnNotSortable', `the column ${id} cannot be sorted by`, {
      named: { texts: [id], below: 'sort' },
    });
  return column;
}
