import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { DatasetProjectResponse, DatasetResponse } from '../../../shared/wire/datasets.ts';
import { type AssetsQuestion, assetsBody } from './assets.ts';
import { saveFile } from './exports.ts';
import { filterOf, runSelector, type Selection } from './selection.ts';
import { download, queryClient, send } from './service.ts';

export type Dataset = z.output<typeof DatasetResponse>;

/** Datasets whose name contains `name`, the last made first. */
export const datasetsQuery = (name: string) =>
  queryOptions({
    queryKey: ['datasets', name],
    queryFn: async ({ signal }) => {
      const filters = name === '' ? [] : [{ name: 'name', operator: 'contains', value: name, case_sensitive: false }];
      const body = { filters, sort: { name: 'created_at', ascending: false } };
      return (await send<{ datasets: Dataset[] }>('/datasets/query', { body, signal, repeatable: true })).datasets;
    },
  });

export const datasetListQuery = (question: AssetsQuestion) =>
  queryOptions({
    queryKey: ['datasets', 'list', question],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const page = await send<{ datasets: Dataset[]; paginated: boolean }>('/datasets/query', {
        ...{ signal, repeatable: true, body: assetsBody(question), query: { limit: question.limit } },
      });
      return { items: page.datasets, hasMore: page.paginated };
    },
  });

/** A dataset as it is now: other people change it, so it is asked for again while a page shows it. */
export const datasetQuery = (id: string) =>
  queryOptions({
    queryKey: ['dataset', id],
    refetchInterval: 20_000,
    refetchOnWindowFocus: true,
    queryFn: ({ signal }) => send<Dataset>(`/datasets/${id}`, { signal }),
  });

/** Projects that use a dataset, last use first. */
export const datasetProjectsQuery = (id: string) =>
  queryOptions({
    queryKey: ['dataset', id, 'projects'],
    queryFn: async ({ signal }) => {
      type Page = { projects: z.output<typeof DatasetProjectResponse>[] };
      return (await send<Page>(`/datasets/${id}/projects`, { signal, query: { limit: 100 } })).projects;
    },
  });

/** @param rows a file of JSON lines; absent: it is empty @returns its id */
export async function createDataset(name: string, projectId: string, rows?: Blob): Promise<string> {
  const form = new FormData();
  form.set('name', name);
  form.set('project_id', projectId);
  if (rows) form.set('file', rows, name);
  const { id } = await send<Dataset>('/datasets', { method: 'POST', form, query: { format: 'jsonl' }, repeatable: false });
  await queryClient.invalidateQueries({ queryKey: ['datasets'] });
  return id;
}

export async function renameDataset(id: string, name: string): Promise<void> {
  await send(`/datasets/${id}`, { method: 'PATCH', body: { name } });
  await changed(id);
}

/** Saves the current rows as a file of the browser. */
export async function saveDataset({ id, name }: Dataset, format: 'csv' | 'jsonl'): Promise<void> {
  const query = { format, ...(format === 'csv' ? { byte_order_mark: true } : {}) };
  saveFile([await new Response(await download(`/datasets/${id}/download`, { query })).blob()], `${name}.${format}`);
}

/** Asks again for everything that pages show of a dataset. */
export const changed = async (id: string): Promise<void> => {
  await Promise.all(
    ['datasets', 'dataset'].map((key) => queryClient.invalidateQueries({ queryKey: key === 'dataset' ? [key, id] : [key] })),
  );
};

/** Ids that one edit of a dataset takes. */
const PIECE = 1_000;
/** Ids that one search answers. */
const MOST = 10_000;

/** The column of a dataset that the output of a record goes to: the reference, or an answer that experiments score. */
export type OutputColumn = 'output' | 'generated_output';

/** Makes a row of each record, in one version of the dataset. @returns how many rows @throws Error for more than a search answers */
export async function copyToDataset(datasetId: string, selection: Selection, output: OutputColumn): Promise<number> {
  const ids = await idsOf(selection);
  const { projectId } = selection.run;
  const edits = Array.from({ length: Math.ceil(ids.length / PIECE) }, (_, at) => ({
    ...{ edit_type: 'copy_record_data', project_id: projectId, prepend: false },
    use_generated_output_column: output === 'generated_output',
    ids: ids.slice(at * PIECE, (at + 1) * PIECE),
  }));
  // A repeat could append the same rows again.
  await send(`/datasets/${datasetId}/content`, { method: 'PATCH', body: { edits }, repeatable: false });
  await changed(datasetId);
  return ids.length;
}

async function idsOf(selection: Selection): Promise<readonly string[]> {
  const { run, kind, records, count } = selection;
  if ('ids' in records) return records.ids;
  if (count > MOST) throw new Error(`At most ${MOST.toLocaleString('en-US')} records become rows at a time: narrow the filter.`);
  const filter = filterOf(selection);
  const page = await send<{ records: { id: string }[] }>(`/projects/${run.projectId}/${kind}/partial_search`, {
    body: {
      ...runSelector(run),
      ...(filter ? { filter_tree: filter } : {}),
      limit: MOST,
      select_columns: { column_ids: ['id'], include_all_metrics: false, include_all_feedback: false },
    },
    repeatable: true,
  });
  return page.records.map(({ id }) => id);
}
