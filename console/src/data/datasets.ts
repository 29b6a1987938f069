import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { DatasetResponse } from '../../../shared/wire/datasets.ts';
import { filterOf, runSelector, type Selection } from './selection.ts';
import { send } from './service.ts';

type Dataset = z.output<typeof DatasetResponse>;

export const datasetsQuery = (name: string) =>
  queryOptions({
    queryKey: ['datasets', name],
    queryFn: async ({ signal }) => {
      const filters = name === '' ? [] : [{ name: 'name', operator: 'contains', value: name, case_sensitive: false }];
      const body = { filters, sort: { name: 'created_at', ascending: false } };
      return (await send<{ datasets: Dataset[] }>('/datasets/query', { body, signal, repeatable: true })).datasets;
    },
  });

export async function createDataset(name: string, projectId: string): Promise<string> {
  const form = new FormData();
  form.set('name', name);
  form.set('project_id', projectId);
  return (await send<Dataset>('/datasets', { method: 'POST', form, repeatable: false })).id;
}

/** Ids that one edit of a dataset takes. */
const PIECE = 1_000;
/** Ids that one search answers. */
const MOST = 10_000;

/** Makes a row of each record, in one version of the dataset. @returns how many rows @throws Error for more than a search answers */
export async function copyToDataset(datasetId: string, selection: Selection): Promise<number> {
  const ids = await idsOf(selection);
  const { projectId } = selection.run;
  const edits = Array.from({ length: Math.ceil(ids.length / PIECE) }, (_, at) => ({
    ...{ edit_type: 'copy_record_data', project_id: projectId, prepend: false },
    ids: ids.slice(at * PIECE, (at + 1) * PIECE),
  }));
  // A repeat could append the same rows again.
  await send(`/datasets/${datasetId}/content`, { method: 'PATCH', body: { edits }, repeatable: false });
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
