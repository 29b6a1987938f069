import type { DatasetResponse } from './createDataset.ts';
import { noneOf, ValueError } from './errors.ts';
import { type CallOptions, clientOf } from './project.ts';

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
