import type { z } from 'zod';
import type {
  CreatedDatasetResponse as CreatedSchema,
  DatasetChangeResponse,
  DatasetRowResponse,
  DatasetResponse as DatasetSchema,
  DatasetVersionResponse,
  DatasetEdit as EditSchema,
} from '../shared/wire/datasets.ts';
import { jsonWithBigInts } from '../shared/wire/longNumbers.ts';
import { type CallOptions, clientOf, type ProjectChoice } from './callOptions.ts';
import { noneOf, ValueError } from './errors.ts';
import { type Pages, pagesOf } from './pages.ts';

export type DatasetResponse = z.output<typeof DatasetSchema>;

/** `csv` says how a CSV was read. */
export type CreatedDataset = z.output<typeof CreatedSchema>;

export interface CreateDatasetOptions extends CallOptions, Pick<ProjectChoice, 'projectId'> {
  name: string;
  /** Rows. `input`, `output` (the reference answer), `generated_output` and `metadata` have a meaning to experiments; any other column may be there. */
  content?: Record<string, unknown>[];
  /** A file's content instead of rows. */
  file?: Blob;
  format?: 'csv' | 'json' | 'jsonl';
  /** The separator of the fields of a CSV. Absent: detected. */
  delimiter?: ',' | ';' | '\t' | '|';
}

/**
 * Creates a dataset, empty when there are neither rows nor a file. With `projectId` it is listed under that project.
 * @throws ValueError without a name or with rows and a file; HttpStatusError 409 when the name is taken, 422 naming the line that cannot be read.
 */
export async function createDataset(options: CreateDatasetOptions): Promise<CreatedDataset> {
  const { name, content, file, projectId, delimiter } = options;
  if (!name) throw new ValueError('a dataset needs a name');
  if (content && file) throw new ValueError('give the rows of a dataset or a file, not both');
  const form = new FormData();
  form.set('name', name);
  if (projectId) form.set('project_id', projectId);
  if (content) form.set('file', new Blob([content.map((row) => jsonWithBigInts(row)).join('\n')]), name);
  if (file) form.set('file', file, name);
  const format = content ? 'jsonl' : (options.format ?? 'csv');
  return clientOf(options).send('/datasets', { method: 'POST', form, query: { format, delimiter } });
}

/**
 * The dataset of a name or id; undefined when there is none.
 * @throws ValueError unless exactly one of them is given.
 */
export async function getDataset(
  options: CallOptions & { name?: string | undefined; id?: string | undefined },
): Promise<DatasetResponse | undefined> {
  const { name, id } = options;
  if (!name === !id) throw new ValueError('name the dataset: by its name or by its id');
  const client = clientOf(options);
  if (id) return client.send<DatasetResponse>(`/datasets/${encodeURIComponent(id)}`).catch(noneOf);
  const found = await client.send<{ datasets: DatasetResponse[] }>('/datasets/query', {
    body: { filters: [{ name: 'name', operator: 'eq', value: name, case_sensitive: true }] },
    query: { limit: 1 },
    repeatable: true,
  });
  return found.datasets[0];
}

/** The datasets that the caller can read; with `projectId`, those that this project uses. */
export const listDatasets = (options: CallOptions & Pick<ProjectChoice, 'projectId'> = {}): Pages<DatasetResponse> =>
  pagesOf(clientOf(options), '/datasets/query', 'datasets', {
    filters: options.projectId ? [{ name: 'used_in_project', value: options.projectId }] : [],
    sort: { name: 'created_at', ascending: false },
  });

export type DatasetRow = z.output<typeof DatasetRowResponse>;

/** The rows of a dataset in their order, cells by column name in `values_dict`. Absent `versionIndex`: as each page finds the dataset now. */
export function datasetRows(options: CallOptions & { id: string; versionIndex?: number | undefined }): Pages<DatasetRow> {
  const { id, versionIndex } = options;
  const version = versionIndex === undefined ? '' : `/versions/${versionIndex}`;
  return pagesOf(clientOf(options), `/datasets/${encodeURIComponent(id)}${version}/content`, 'rows');
}

export type DatasetVersion = z.output<typeof DatasetVersionResponse>;

/** The versions of a dataset, newest first, and what each of them changed. */
export const datasetVersions = (options: CallOptions & { id: string }): Pages<DatasetVersion> =>
  pagesOf(clientOf(options), `/datasets/${encodeURIComponent(options.id)}/versions/query`, 'versions', {});

export type DatasetChange = z.output<typeof DatasetChangeResponse>;

/** The rows that a version added, removed or edited, as they were and as they are. Absent `fromVersion`: compared with the version before. */
export function datasetChanges(
  options: CallOptions & { id: string; versionIndex: number; fromVersion?: number | undefined },
): Pages<DatasetChange> {
  const { id, versionIndex, fromVersion } = options;
  const query: Record<string, string> = fromVersion === undefined ? {} : { from_version: String(fromVersion) };
  const path = `/datasets/${encodeURIComponent(id)}/versions/${versionIndex}/changes`;
  return pagesOf(clientOf(options), path, 'changes', undefined, query);
}

export type DatasetEdit = z.input<typeof EditSchema>;

export interface EditDatasetOptions extends CallOptions {
  id: string;
  /** In their order; together they make one version. */
  edits: DatasetEdit[];
  /** The version that the edits were made for. Absent: they are made on whatever is there. */
  ifVersion?: number | undefined;
}

/**
 * Edits rows and columns.
 * @throws HttpStatusError 412 when `ifVersion` is no longer the current version, 409 when too many change the dataset at once, 422 for an edit that cannot
 * be made
 */
export async function editDataset({ id, edits, ifVersion, ...options }: EditDatasetOptions): Promise<void> {
  // A repeat could append the same rows again.
  await clientOf(options).send(`/datasets/${encodeURIComponent(id)}/content`, {
    method: 'PATCH',
    body: { edits },
    ...(ifVersion === undefined ? {} : { headers: { 'If-Match': `"${id}.${ifVersion}"` } }),
    repeatable: false,
  });
}

/** Deletes a dataset. Experiments keep the rows that they ran. @throws NotFoundError when there is none. */
export async function deleteDataset(options: CallOptions & { id: string }): Promise<void> {
  await clientOf(options).send(`/datasets/${encodeURIComponent(options.id)}`, { method: 'DELETE' });
}
