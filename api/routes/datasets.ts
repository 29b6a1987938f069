import { z } from 'zod';
import { type AssetAction, type Caller, mayOnAsset, type ProjectRole } from '../../shared/accounts/permissions.ts';
import { type AssetAccess, homeProject } from '../../shared/assets/assetAccess.ts';
import { mustNameOne } from '../../shared/assets/onlyOne.ts';
import { columnKey } from '../../shared/datasets/columnKey.ts';
import { mappedColumnNames, rowMapping } from '../../shared/datasets/columnMapping.ts';
import {
  cellsByName,
  createDataset,
  type DatasetDeps,
  datasetName,
  foundDataset,
  foundVersion,
  freeDatasetName,
} from '../../shared/datasets/createDataset.ts';
import type { Column, Dataset, DatasetVersion, KeyRange, StoredRow } from '../../shared/datasets/dataset.ts';
import { editContent, mapColumns, type ReadRecords, replaceContent, rollBack } from '../../shared/datasets/editContent.ts';
import { inputJsonFields, pagesOf, ROWS_PER_PAGE, rowPages } from '../../shared/datasets/rowStore.ts';
import { writeRows } from '../../shared/datasets/writeRows.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { AnyJson, PageQuery, type PageRequest, pageFields, Uuid } from '../../shared/wire/common.ts';
import {
  ActionsQuery,
  BulkDeleteDatasetsRequest,
  BulkDeleteDatasetsResponse,
  type ColumnMapping,
  CreateDatasetForm,
  CreateDatasetQuery,
  DatasetContent,
  DatasetInputJsonField,
  DatasetResponse,
  DatasetVersionResponse,
  DownloadDatasetQuery,
  everyDatasetAction,
  ListDatasetParams,
  ListDatasetProjectsResponse,
  ListDatasetResponse,
  ListDatasetVersionParams,
  ListDatasetVersionResponse,
  PreviewDatasetRequest,
  QueryDatasetParams,
  ReplaceContentRequest,
  UpdateDatasetContentRequest,
  UpdateDatasetRequest,
  UpdateDatasetVersionRequest,
  type UserInfo,
} from '../../shared/wire/datasets.ts';
import { type Endpoint, endpoint, type Gate, Reply } from '../route.ts';

export interface DatasetRouteDeps extends DatasetDeps {
  gate: Pick<Gate, 'authorize'>;
  assets: AssetAccess;
  /** Input, output and metadata of traces and spans, for copying them into rows. */
  readRecords: ReadRecords;
}

const tag = 'Datasets';
const list = { organization: 'read_assets' } as const;
const write = { organization: 'write_assets' } as const;
const needs = (action: AssetAction) => ({ asset: 'dataset', action }) as const;
const OneDataset = z.object({ dataset_id: Uuid });
const OneVersion = z.object({ dataset_id: Uuid, version_index: z.coerce.number().int() });
const ListQuery = PageQuery.extend({ actions: ActionsQuery });

// 100,000 rows of about 1 KB. Neither the body nor its rows are in memory as a whole.
const UPLOAD_LIMIT = 128 * 1024 * 1024;
const EDIT_LIMIT = 64 * 1024 * 1024;

export function datasetRoutes(deps: DatasetRouteDeps): Endpoint[] {
  const { datasets, rows, assets } = deps;

  const find = async (caller: Caller, params: z.output<typeof ListDatasetParams>, query: z.output<typeof ListQuery>) => {
    const viewer = await assets.viewer(caller, query.actions);
    const found = await datasets.query({ ...params, viewer, page: query });
    await mustNameOne('dataset', params.filters, found.total, async () => {
      const page = { starting_token: 0, limit: found.total };
      return (await datasets.query({ ...params, viewer, page })).datasets;
    });
    const roles = await assets.roles(
      caller,
      'dataset',
      found.datasets.map(({ id }) => id),
    );
    return {
      ...pageFields(query, found.datasets.length, found.total),
      datasets: found.datasets.map((dataset) => toResponse(dataset, roles.get(dataset.id))),
    };
  };

  const described = async (caller: Caller, dataset: Dataset) =>
    toResponse(dataset, (await assets.roles(caller, 'dataset', [dataset.id])).get(dataset.id));

  const content = async (datasetId: string, versionIndex: number | undefined, page: PageRequest, mapping?: ColumnMapping) => {
    const version = await foundVersion(datasets, datasetId, versionIndex);
    const count = Math.max(0, Math.min(page.limit, version.numRows - page.starting_token));
    const pages = rowPages(rows, version, page.starting_token, page.starting_token + page.limit);
    const located = locate(pages, page.starting_token);
    return contentReply(version, { page, count, total: version.numRows }, located, mapping);
  };

  /** A page of rows, written while it is read: 100,000 rows are never in memory together. */
  const contentReply = (
    version: DatasetVersion,
    { page, count, total }: { page: PageRequest; count: number; total: number },
    pages: AsyncIterable<LocatedRow[]>,
    mapping?: ColumnMapping,
  ) => {
    const columnNames = mappedColumnNames(
      mapping,
      version.columns.map(({ name }) => name),
    );
    const mapRow = rowMapping(mapping);
    const head = { ...pageFields(page, count, total), column_names: columnNames, warning_message: null };
    const text = async function* () {
      // It goes out with the first row: where no row can be read, that is an error and not a page that breaks off.
      let before = `${JSON.stringify(head).slice(0, -1)},"rows":[`;
      for await (const located of pages) {
        const users = await datasets.users([...new Set(located.flatMap(({ row }) => [row.createdBy, row.updatedBy]))]);
        for (const one of located) {
          yield before + JSON.stringify(toRowResponse(one, version.columns, columnNames, mapRow, users));
          before = ',';
        }
      }
      yield before === ',' ? ']}' : `${before}]}`;
    };
    return new Reply({
      stream: text(),
      headers: { 'Content-Type': 'application/json; charset=utf-8', ETag: etagOf(version) },
    });
  };

  return [
    endpoint({
      method: 'post',
      path: '/datasets',
      errors: ['NotFound', 'Conflict'],
      summary: 'Create a dataset from a file, as a copy, or empty',
      tag,
      access: write,
      query: CreateDatasetQuery,
      body: CreateDatasetForm,
      bodyKind: 'multipart',
      bodyLimit: UPLOAD_LIMIT,
      response: DatasetResponse,
      handle: async ({ query, body, caller }) => {
        const projectId = homeProject(caller, body.project_id ?? undefined);
        if (projectId !== undefined) await deps.gate.authorize(caller, { project: 'update' }, projectId);
        if (body.copy_from_dataset_id) await assets.require(caller, 'dataset', body.copy_from_dataset_id, 'read');
        const copyOf = body.copy_from_dataset_id
          ? await foundVersion(datasets, body.copy_from_dataset_id, body.copy_from_dataset_version_index ?? undefined)
          : undefined;
        const dataset = await createDataset(deps, {
          name: datasetName(body.name ?? undefined, body.file ?? undefined),
          appendSuffix: body.append_suffix_if_duplicate ?? false,
          content: body.file ? { file: body.file, format: query.format } : copyOf && { copyOf },
          columnMapping: body.column_mapping ?? undefined,
          projectId,
          hidden: query.hidden || (body.hidden ?? false),
          draft: body.draft ?? false,
          userId: caller.userId,
          viewer: await assets.viewer(caller),
        });
        return described(caller, dataset);
      },
    }),
    endpoint({
      method: 'get',
      path: '/datasets',
      summary: 'List datasets, last changed first',
      tag,
      access: list,
      query: ListQuery,
      response: ListDatasetResponse,
      handle: ({ query, caller }) => find(caller, { filters: [], sort: null }, query),
    }),
    endpoint({
      method: 'delete',
      path: '/datasets/bulk_delete',
      summary: 'Delete several datasets',
      tag,
      access: write,
      body: BulkDeleteDatasetsRequest,
      response: BulkDeleteDatasetsResponse,
      handle: async ({ body, caller }) => {
        const ids = [...new Set(body.dataset_ids)];
        const roles = await assets.roles(caller, 'dataset', ids);
        const outcomes = await Promise.all(
          ids.map(async (id) => {
            const role = roles.get(id);
            if (role && !mayOnAsset(role, 'delete')) return { id, reason: 'you may not delete this dataset' };
            return { id, reason: role && (await datasets.remove(id)) ? undefined : 'there is no such dataset' };
          }),
        );
        const failed = outcomes.flatMap(({ id, reason }) => (reason ? [{ dataset_id: id, dataset_name: '', reason }] : []));
        const deleted = ids.length - failed.length;
        return {
          deleted_count: deleted,
          failed_deletions: failed,
          message: `${deleted} of ${ids.length} datasets deleted`,
        };
      },
    }),
    endpoint({
      method: 'post',
      path: '/datasets/query',
      errors: ['Conflict'],
      summary: 'Find datasets',
      tag,
      access: list,
      query: ListQuery,
      body: ListDatasetParams,
      response: ListDatasetResponse,
      handle: ({ query, body, caller }) => find(caller, body, query),
    }),
    endpoint({
      method: 'post',
      path: '/datasets/query/count',
      summary: 'Count datasets',
      tag,
      access: list,
      body: ListDatasetParams,
      response: z.number().int(),
      handle: async ({ body, caller }) =>
        (await datasets.query({ ...body, viewer: await assets.viewer(caller), page: { starting_token: 0, limit: 1 } })).total,
    }),
    endpoint({
      method: 'get',
      path: '/datasets/{dataset_id}',
      summary: 'Get a dataset',
      tag,
      access: needs('read'),
      params: OneDataset,
      response: DatasetResponse,
      handle: async ({ params, caller }) => described(caller, await foundDataset(datasets, params.dataset_id)),
    }),
    endpoint({
      method: 'patch',
      path: '/datasets/{dataset_id}',
      errors: ['Conflict'],
      summary: 'Rename a dataset, publish a draft, or map its columns',
      tag,
      access: needs('rename'),
      params: OneDataset,
      body: UpdateDatasetRequest,
      response: DatasetResponse,
      handle: async ({ params, body, caller }) => {
        const dataset = await foundDataset(datasets, params.dataset_id);
        const name = body.name
          ? await freeDatasetName(datasets, await assets.viewer(caller), body.name.value, body.name.appendSuffix, dataset.name)
          : undefined;
        if (body.column_mapping) await mapColumns(deps, dataset.id, body.column_mapping, caller.userId);
        await datasets.update(dataset.id, {
          name,
          draft: body.draft ?? undefined,
          columnMapping: body.column_mapping ?? undefined,
        });
        return described(caller, await foundDataset(datasets, dataset.id));
      },
    }),
    endpoint({
      method: 'delete',
      path: '/datasets/{dataset_id}',
      summary: 'Delete a dataset',
      description: 'Its rows stay readable for the experiments that use it, until the last of them is deleted.',
      tag,
      access: needs('delete'),
      params: OneDataset,
      response: z.null(),
      handle: async ({ params }) => {
        if (await datasets.remove(params.dataset_id)) return null;
        throw new ServiceError('NotFound', `there is no dataset ${params.dataset_id}`);
      },
    }),
    endpoint({
      method: 'get',
      path: '/datasets/{dataset_id}/content',
      summary: 'Read rows of the current version',
      tag,
      access: needs('read'),
      params: OneDataset,
      query: PageQuery,
      response: DatasetContent,
      handle: ({ params, query }) => content(params.dataset_id, undefined, query),
    }),
    endpoint({
      method: 'patch',
      path: '/datasets/{dataset_id}/content',
      errors: ['Conflict', 'PreconditionFailed'],
      summary: 'Edit rows and columns: one call makes one version',
      tag,
      access: needs('update'),
      params: OneDataset,
      body: UpdateDatasetContentRequest,
      bodyLimit: EDIT_LIMIT,
      status: 204,
      handle: async ({ params, body, caller, request }) => {
        const versionIndex = await editContent(deps, {
          datasetId: params.dataset_id,
          edits: body.edits,
          userId: caller.userId,
          readRecords: async (projectId, ids) => {
            await deps.gate.authorize(caller, { project: 'read' }, projectId);
            return deps.readRecords(projectId, ids);
          },
          isExpected: (version) => matchesEtag(request.headers['if-match'], version),
        });
        return new Reply({ headers: { ETag: etagOf({ datasetId: params.dataset_id, versionIndex }) } });
      },
    }),
    endpoint({
      method: 'put',
      path: '/datasets/{dataset_id}/content',
      errors: ['Conflict'],
      summary: "Return to an older version, or take another dataset's content",
      tag,
      access: needs('update'),
      params: OneDataset,
      body: ReplaceContentRequest,
      status: 204,
      handle: async ({ params, body, caller }) => {
        await foundDataset(datasets, params.dataset_id);
        if ('rollback_version' in body) await rollBack(deps, params.dataset_id, body.rollback_version, caller.userId);
        else {
          await assets.require(caller, 'dataset', body.dataset_id, 'read');
          const source = await foundVersion(datasets, body.dataset_id, body.version_index ?? undefined);
          await replaceContent(deps, params.dataset_id, source, caller.userId);
        }
        const version = await foundVersion(datasets, params.dataset_id);
        return new Reply({ headers: { ETag: etagOf(version) } });
      },
    }),
    endpoint({
      method: 'get',
      path: '/datasets/{dataset_id}/download',
      summary: 'Download the current version as a file',
      tag,
      access: needs('export'),
      params: OneDataset,
      query: DownloadDatasetQuery,
      waits: true,
      produces: ['text/csv', 'application/x-ndjson'],
      response: AnyJson,
      handle: async ({ params, query }) => {
        const dataset = await foundDataset(datasets, params.dataset_id);
        const version = await foundVersion(datasets, dataset.id);
        const cells = async function* () {
          for await (const page of rowPages(rows, version))
            yield page.map((row) => cellsByName(row, version.columns).map(([, cell]) => cell));
        };
        const names = version.columns.map(({ name }) => name);
        return new Reply({
          stream: writeRows(query.format, names, cells(), query.spreadsheet_safe),
          headers: {
            'Content-Type': query.format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson; charset=utf-8',
            'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(`${dataset.name}.${query.format}`).replaceAll(/['()*]/g, '_')}`,
          },
        });
      },
    }),
    endpoint({
      method: 'post',
      path: '/datasets/{dataset_id}/preview',
      summary: 'See rows as a column mapping would make them',
      tag,
      access: needs('read'),
      params: OneDataset,
      query: PageQuery,
      body: PreviewDatasetRequest,
      response: DatasetContent,
      handle: ({ params, query, body }) => content(params.dataset_id, undefined, query, body.columnMapping),
    }),
    endpoint({
      method: 'post',
      path: '/datasets/{dataset_id}/content/query',
      summary: 'Find and sort rows of the current version',
      tag,
      access: needs('read'),
      params: OneDataset,
      query: PageQuery,
      body: QueryDatasetParams,
      response: DatasetContent,
      handle: async ({ params, query, body }) => {
        const version = await foundVersion(datasets, params.dataset_id);
        const filters = body.filters.map(({ column_name, operator, value }, index) => ({
          columnKey: columnKey(version.columns, column_name, ['body', 'filters', index, 'column_name']),
          operator,
          value,
        }));
        const sort = body.sort && {
          columnKey: columnKey(version.columns, body.sort.column_name, ['body', 'sort', 'column_name']),
          ascending: body.sort.ascending,
        };
        const page = { from: query.starting_token, limit: query.limit };
        const { found, total } = await rows.find(version.datasetId, version.contentId, { filters, sort }, page);
        const pages = async function* () {
          for (let start = 0; start < found.length; start += ROWS_PER_PAGE) {
            const some = found.slice(start, start + ROWS_PER_PAGE);
            const ranges = some.map(({ rowKey }): KeyRange => ({ rowKey, count: 1 }));
            for await (const stored of pagesOf(rows, version.datasetId, ranges)) {
              const located = some.splice(0, stored.length);
              yield stored.map((row, index) => ({ row, index: located[index]?.ordinal ?? 0 }));
            }
          }
        };
        return contentReply(version, { page: query, count: found.length, total }, pages());
      },
    }),
    endpoint({
      method: 'get',
      path: '/datasets/{dataset_id}/variable_preview',
      summary: 'Keys of the JSON objects in the input column, with sample values',
      tag,
      access: needs('read'),
      params: OneDataset,
      response: z.array(DatasetInputJsonField),
      handle: async ({ params }) => inputJsonFields(rows, await foundVersion(datasets, params.dataset_id), 10),
    }),
    endpoint({
      method: 'post',
      path: '/datasets/{dataset_id}/versions/query',
      summary: 'List versions, newest first',
      tag,
      access: needs('read'),
      params: OneDataset,
      query: PageQuery,
      body: ListDatasetVersionParams,
      response: ListDatasetVersionResponse,
      handle: async ({ params, query, body }) => {
        await foundDataset(datasets, params.dataset_id);
        const { versions, total } = await datasets.versions(params.dataset_id, body.ascending, query);
        return { ...pageFields(query, versions.length, total), versions: versions.map(toVersionResponse) };
      },
    }),
    endpoint({
      method: 'get',
      path: '/datasets/{dataset_id}/versions/{version_index}/content',
      summary: 'Read rows of one version',
      tag,
      access: needs('read'),
      params: OneVersion,
      query: PageQuery,
      response: DatasetContent,
      handle: ({ params, query }) => content(params.dataset_id, params.version_index, query),
    }),
    endpoint({
      method: 'patch',
      path: '/datasets/{dataset_id}/versions/{version_index}',
      summary: 'Name a version',
      tag,
      access: needs('update'),
      params: OneVersion,
      body: UpdateDatasetVersionRequest,
      response: DatasetVersionResponse,
      handle: async ({ params, body }) => {
        await foundVersion(datasets, params.dataset_id, params.version_index);
        await datasets.nameVersion(params.dataset_id, params.version_index, body.name ?? null);
        return toVersionResponse(await foundVersion(datasets, params.dataset_id, params.version_index));
      },
    }),
    endpoint({
      method: 'get',
      path: '/datasets/{dataset_id}/projects',
      summary: 'Projects that use a dataset, last use first',
      tag,
      access: needs('read'),
      params: OneDataset,
      query: PageQuery,
      response: ListDatasetProjectsResponse,
      handle: async ({ params, query, caller }) => {
        await foundDataset(datasets, params.dataset_id);
        const all = await datasets.projectsOf(params.dataset_id);
        const seen = await Promise.all(all.map(({ id }) => isSeen(deps.gate, caller, id)));
        const visible = all.filter((_, index) => seen[index]);
        const page = visible.slice(query.starting_token, query.starting_token + query.limit);
        return {
          ...pageFields(query, page.length, visible.length),
          projects: page.map((project) => ({
            id: project.id,
            name: project.name,
            created_at: project.createdAt,
            updated_at: project.updatedAt,
            created_by_user: project.createdBy,
          })),
        };
      },
    }),
  ];
}

async function isSeen(gate: Pick<Gate, 'authorize'>, caller: Caller, projectId: string): Promise<boolean> {
  try {
    await gate.authorize(caller, { project: 'read' }, projectId);
    return true;
  } catch (err) {
    if (err instanceof ServiceError && err.status < 500) return false;
    throw err;
  }
}

function toResponse(dataset: Dataset, role: ProjectRole | undefined): z.output<typeof DatasetResponse> {
  return {
    id: dataset.id,
    permissions: everyDatasetAction.map((action) => ({
      action,
      allowed: role !== undefined && mayOnAsset(role, action),
      message: null,
    })),
    name: dataset.name,
    created_at: dataset.createdAt,
    updated_at: dataset.updatedAt,
    project_count: dataset.projectCount,
    num_rows: dataset.numRows,
    column_names: dataset.columns.map(({ name }) => name),
    created_by_user: dataset.createdBy,
    current_version_index: dataset.currentVersionIndex,
    draft: dataset.draft,
  };
}

const toVersionResponse = (version: DatasetVersion) => ({
  version_index: version.versionIndex,
  name: version.name,
  created_at: version.createdAt,
  created_by_user: version.createdBy,
  num_rows: version.numRows,
  column_names: version.columns.map(({ name }) => name),
  rows_added: version.rowsAdded,
  rows_removed: version.rowsRemoved,
  rows_edited: version.rowsEdited,
  columns_added: version.columnsAdded,
  columns_removed: version.columnsRemoved,
  columns_renamed: version.columnsRenamed,
});

interface LocatedRow {
  row: StoredRow;
  index: number;
}

async function* locate(pages: AsyncIterable<StoredRow[]>, from: number): AsyncGenerator<LocatedRow[], void> {
  let index = from;
  for await (const page of pages) {
    yield page.map((row, step) => ({ row, index: index + step }));
    index += page.length;
  }
}

function toRowResponse(
  { row, index }: LocatedRow,
  columns: readonly Column[],
  columnNames: readonly string[],
  mapRow: ReturnType<typeof rowMapping>,
  users: ReadonlyMap<string, UserInfo>,
) {
  const cells = new Map(mapRow(cellsByName(row, columns)));
  const values = columnNames.map((name) => cells.get(name) ?? null);
  return {
    row_id: row.rowId,
    index,
    values,
    values_dict: Object.fromEntries(columnNames.map((name, at) => [name, values[at]])),
    metadata: {
      created_in_version: row.createdInVersion,
      created_at: row.createdAt,
      created_by_user: users.get(row.createdBy) ?? null,
      updated_in_version: row.updatedInVersion,
      updated_at: row.updatedAt,
      updated_by_user: users.get(row.updatedBy) ?? null,
    },
  };
}

const etagOf = ({ datasetId, versionIndex }: Pick<DatasetVersion, 'datasetId' | 'versionIndex'>) =>
  `"${datasetId}.${versionIndex}"`;

/** RFC 9110 section 13.1.1, with or without quotes: clients send back what they were given, one of them unquoted. */
function matchesEtag(ifMatch: string | undefined, version: DatasetVersion): boolean {
  if (ifMatch === undefined || ifMatch.trim() === '' || ifMatch.trim() === '*') return true;
  const tags = ifMatch.split(',').map((text) => text.trim().replace(/^W\//, '').replaceAll('"', ''));
  return tags.includes(etagOf(version).replaceAll('"', ''));
}
