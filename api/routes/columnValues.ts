import { type ColumnValueReads, columnValues, metadataKeys } from '../../shared/records/columnValues.ts';
import {
  ColumnValuesRequest,
  ColumnValuesResponse,
  MetadataKeysRequest,
  MetadataKeysResponse,
} from '../../shared/wire/columnValues.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { type RecordSearchDeps, recordQuery, searched } from '../records/recordQuery.ts';

export interface ColumnValueDeps extends RecordSearchDeps {
  columnValues: ColumnValueReads;
}

const route = { method: 'post', tag: 'Records', access: { project: 'read' }, params: ProjectParams } as const;
const description =
  'Under the filter of a search. In a large run the newest 100,000 records that match are counted: `num_records_counted` of `num_records`.';

/** Values of the columns of traces, spans and sessions. */
export const columnValueRoutes = (deps: ColumnValueDeps): Endpoint[] =>
  searched.flatMap(({ name, kinds }) => [
    endpoint({
      ...route,
      path: `/projects/{project_id}/${name}/column_values`,
      summary: `The most frequent values of a column of ${name}`,
      description,
      body: ColumnValuesRequest,
      response: ColumnValuesResponse,
      handle: async ({ params, body }) =>
        columnValues(deps, await recordQuery(deps, params.project_id, kinds, body, [body.column_id]), {
          columnId: body.column_id,
          contains: body.contains || undefined,
          limit: body.limit,
        }),
    }),
    endpoint({
      ...route,
      path: `/projects/{project_id}/${name}/metadata_keys`,
      summary: `The keys in the metadata of ${name}`,
      description,
      body: MetadataKeysRequest,
      response: MetadataKeysResponse,
      handle: async ({ params, body }) => metadataKeys(deps, await recordQuery(deps, params.project_id, kinds, body), body.limit),
    }),
  ]);
