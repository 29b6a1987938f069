import { queryOptions } from '@tanstack/react-query';
import type { FilterTree } from '../../../shared/filterText/parseFilterText.ts';
import type { ColumnValues, MetadataKeys } from '../../../shared/wire/columnValues.ts';
import type { RecordKind, RunOf } from './records.ts';
import { runSelector } from './selection.ts';
import { search } from './service.ts';

export type { ColumnValues };

export interface ValuesQuestion {
  run: RunOf;
  kind: RecordKind;
  /** The records that are counted. */
  filter: FilterTree | undefined;
  columnId: string;
  /** Only values with this text in them. */
  contains: string;
}

/** The most frequent values of a column, with how many records have each. */
export const columnValuesQuery = ({ run, kind, filter, columnId, contains }: ValuesQuestion) =>
  queryOptions({
    queryKey: ['column values', run, kind, filter ?? null, columnId, contains],
    queryFn: ({ signal }) =>
      search<ColumnValues>(
        `/projects/${run.projectId}/${kind}/column_values`,
        {
          ...runSelector(run),
          ...(filter ? { filter_tree: filter } : {}),
          column_id: columnId,
          ...(contains === '' ? {} : { contains }),
        },
        signal,
      ),
    staleTime: 60_000,
  });

/** Keys of the metadata of a run's records, as ids of columns, the most frequent first. */
export const metadataKeysQuery = (run: RunOf, kind: RecordKind) =>
  queryOptions({
    queryKey: ['metadata keys', run, kind],
    queryFn: async ({ signal }) =>
      (await search<MetadataKeys>(`/projects/${run.projectId}/${kind}/metadata_keys`, runSelector(run), signal)).keys,
    staleTime: 60_000,
  });
