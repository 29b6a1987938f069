import { z } from 'zod';
import { type AssetAction, type Caller, mayOnAsset, type ProjectRole } from '../../shared/accounts/permissions.ts';
import { type AssetAccess, homeProject } from '../../shared/assets/assetAccess.ts';
import { mustNameOne } from '../../shared/assets/onlyOne.ts';
import type { CsvSummary } from '../../shared/csv/readCsv.ts';
import {
  createDataset,
  type DatasetDeps,
  datasetName,
  foundDataset,
  foundVersion,
  freeDatasetName,
} from '../../shared/datasets/createDataset.ts';
import type { Dataset } from '../../shared/datasets/dataset.ts';
import { mapColumns } from '../../shared/datasets/replaceContent.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { PageQuery, pageFields, Uuid } from '../../shared/wire/common.ts';
import {
  ActionsQuery,
  BulkDeleteDatasetsRequest,
  BulkDeleteDatasetsResponse,
  CreateDatasetForm,
  CreateDatasetQuery,
  CreatedDatasetResponse,
  DatasetResponse,
  everyDatasetAction,
  ListDatasetParams,
  ListDatasetProjectsResponse,
  ListDatasetResponse,
  UpdateDatasetRequest,
} from '../../shared/wire/datasets.ts';
import { type Endpoint, endpoint, type Gate } from '../http/route.ts';

export interface DatasetRouteDeps extends DatasetDeps {
  gate: Pick<Gate, 'authorize'>;
  assets: AssetAccess;
}

const tag = 'Datasets';
const list = { organization: 'read_assets' } as const;
const write = { organization: 'write_assets' } as const;
const needs = (action: AssetAction) => ({ asset: 'dataset', action }) as const;
const OneDataset = z.object({ dataset_id: Uuid });
const ListQuery = PageQuery.extend({ actions: ActionsQuery });

// 100,000 rows of about 1 KB. Neither the body nor its rows are in memory as a whole.
const UPLOAD_LIMIT = 128 * 1024 * 1024;

/** Datasets as a whole: their names, columns and projects. */
export function datasetRoutes(deps: DatasetRouteDeps): Endpoint[] {
  const { datasets, assets } = deps;

  const find = async (caller: Caller, params: z.output<typeof ListDatasetParams>, query: z.output<typeof ListQuery>) => {
    const viewer = await assets.viewer(caller, query.actions);
    const found = await datasets.query({ ...params, viewer, page: query });
    await mustNameOne('dataset', params.filters, { ...query, ...found }, async () => {
      const page = { starting_token: 0, limit: await datasets.count({ ...params, viewer }) };
      return (await datasets.query({ ...params, viewer, page })).items;
    });
    const roles = await assets.roles(
      caller,
      'dataset',
      found.items.map(({ id }) => id),
    );
    return {
      ...pageFields(query, found.items.length, found.hasMore),
      datasets: found.items.map((dataset) => toResponse(dataset, roles.get(dataset.id))),
    };
  };

  const described = async (caller: Caller, dataset: Dataset) =>
    toResponse(dataset, (await assets.roles(caller, 'dataset', [dataset.id])).get(dataset.id));

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
      response: CreatedDatasetResponse,
      handle: async ({ query, body, caller }) => {
        const projectId = homeProject(caller, body.project_id ?? undefined);
        if (projectId !== undefined) await deps.gate.authorize(caller, { project: 'update' }, projectId);
        if (body.copy_from_dataset_id) await assets.require(caller, 'dataset', body.copy_from_dataset_id, 'read');
        const copyOf = body.copy_from_dataset_id
          ? await foundVersion(datasets, body.copy_from_dataset_id, body.copy_from_dataset_version_index ?? undefined)
          : undefined;
        let csv: CsvSummary | undefined;
        const dataset = await createDataset(deps, {
          name: datasetName(body.name ?? undefined, body.file ?? undefined),
          appendSuffix: body.append_suffix_if_duplicate ?? false,
          content: body.file
            ? { file: body.file, format: query.format, csv: { delimiter: query.delimiter, onEnd: (summary) => (csv = summary) } }
            : copyOf && { copyOf },
          columnMapping: body.column_mapping ?? undefined,
          projectId,
          hidden: query.hidden || (body.hidden ?? false),
          draft: body.draft ?? false,
          userId: caller.userId,
          viewer: await assets.viewer(caller),
        });
        return {
          ...(await described(caller, dataset)),
          ...(csv && { csv: { delimiter: csv.delimiter, empty_rows_skipped: csv.emptyRowsSkipped } }),
        };
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
            if (role && !mayOnAsset(role, 'delete'))
              return { id, name: (await datasets.find({ id }))?.name, reason: 'you may not delete this dataset' };
            return { id, reason: role && (await datasets.remove(id)) ? undefined : 'there is no such dataset' };
          }),
        );
        const failed = outcomes.flatMap(({ id, name = '', reason }) =>
          reason ? [{ dataset_id: id, dataset_name: name, reason }] : [],
        );
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
      handle: async ({ body, caller }) => datasets.count({ ...body, viewer: await assets.viewer(caller) }),
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
          ...pageFields(query, page.length, query.starting_token + page.length < visible.length),
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
