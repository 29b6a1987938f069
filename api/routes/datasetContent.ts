import { z } from 'zod';
import type { AssetAction } from '../../shared/accounts/permissions.ts';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import { columnKey } from '../../shared/datasets/columnKey.ts';
import { cellsByName, type DatasetDeps, foundDataset, foundVersion } from '../../shared/datasets/createDataset.ts';
import type { DatasetVersion, KeyRange } from '../../shared/datasets/dataset.ts';
import { editContent } from '../../shared/datasets/editContent.ts';
import type { ReadRecords } from '../../shared/datasets/editedTable.ts';
import { replaceContent, rollBack } from '../../shared/datasets/replaceContent.ts';
import { inputJsonFields, pagesOf, ROWS_PER_PAGE, rowPages } from '../../shared/datasets/rowStore.ts';
import { writeRows } from '../../shared/datasets/writeRows.ts';
import { AnyJson, PageQuery, type PageRequest, pageFields, Uuid } from '../../shared/wire/common.ts';
import {
  type ColumnMapping,
  DatasetChangesQuery,
  DatasetChangesResponse,
  DatasetContent,
  DatasetInputJsonField,
  DatasetVersionResponse,
  DownloadDatasetQuery,
  ListDatasetVersionParams,
  ListDatasetVersionResponse,
  PreviewDatasetRequest,
  QueryDatasetParams,
  ReplaceContentRequest,
  UpdateDatasetContentRequest,
  UpdateDatasetVersionRequest,
} from '../../shared/wire/datasets.ts';
import { type Endpoint, endpoint, type Gate, Reply } from '../http/route.ts';
import { attachment, csvForm, formats } from '../records/exportFile.ts';
import { datasetChanges } from '../views/datasetChanges.ts';
import { datasetPage, etagOf, locate } from '../views/datasetPage.ts';

export interface DatasetContentDeps extends DatasetDeps {
  gate: Pick<Gate, 'authorize'>;
  assets: Pick<AssetAccess, 'require'>;
  /** Input, output and metadata of traces and spans, for copying them into rows. */
  readRecords: ReadRecords;
}

const tag = 'Datasets';
const needs = (action: AssetAction) => ({ asset: 'dataset', action }) as const;
const OneDataset = z.object({ dataset_id: Uuid });
const OneVersion = z.object({ dataset_id: Uuid, version_index: z.coerce.number().int() });

const EDIT_LIMIT = 64 * 1024 * 1024;

/** Rows of datasets and their versions. */
export function datasetContentRoutes(deps: DatasetContentDeps): Endpoint[] {
  const { datasets, rows, assets } = deps;

  const content = async (datasetId: string, versionIndex: number | undefined, page: PageRequest, mapping?: ColumnMapping) => {
    const version = await foundVersion(datasets, datasetId, versionIndex);
    const count = Math.max(0, Math.min(page.limit, version.numRows - page.starting_token));
    const pages = rowPages(rows, version, page.starting_token, page.starting_token + page.limit);
    const located = locate(pages, page.starting_token);
    return datasetPage(datasets, version, { page, count, total: version.numRows }, located, mapping);
  };

  return [
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
          stream: writeRows(query.format, names, cells(), csvForm(query)),
          headers: attachment(formats[query.format].contentType, `${dataset.name}.${query.format}`),
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
        return datasetPage(datasets, version, { page: query, count: found.length, total }, pages());
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
        const { items: versions, hasMore } = await datasets.versions(params.dataset_id, body.ascending, query);
        return { ...pageFields(query, versions.length, hasMore), versions: versions.map(toVersionResponse) };
      },
    }),
    endpoint({
      method: 'get',
      path: '/datasets/{dataset_id}/versions/{version_index}',
      summary: 'Get a version: its columns, and what it changed',
      tag,
      access: needs('read'),
      params: OneVersion,
      response: DatasetVersionResponse,
      handle: async ({ params }) => toVersionResponse(await foundVersion(datasets, params.dataset_id, params.version_index)),
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
      method: 'get',
      path: '/datasets/{dataset_id}/versions/{version_index}/changes',
      summary: 'Read what differs from another version, row by row',
      tag,
      access: needs('read'),
      params: OneVersion,
      query: DatasetChangesQuery,
      response: DatasetChangesResponse,
      handle: async ({ params, query }) => {
        const after = await foundVersion(datasets, params.dataset_id, params.version_index);
        const from = query.from_version ?? after.versionIndex - 1;
        const before =
          query.from_version === undefined && from < 1 ? undefined : await foundVersion(datasets, params.dataset_id, from);
        return datasetChanges(deps, before, after, query);
      },
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
  ];
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

/** RFC 9110 section 13.1.1, with or without quotes: clients send back what they were given, one of them unquoted. */
function matchesEtag(ifMatch: string | undefined, version: DatasetVersion): boolean {
  if (ifMatch === undefined || ifMatch.trim() === '' || ifMatch.trim() === '*') return true;
  const tags = ifMatch.split(',').map((text) => text.trim().replace(/^W\//, '').replaceAll('"', ''));
  return tags.includes(etagOf(version).replaceAll('"', ''));
}
