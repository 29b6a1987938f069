import { type DatasetResponse, getDataset, type ServiceClient } from '../client/index.ts';
import { notFound } from './commandError.ts';

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The dataset of this name or id; undefined where there is none, or none that you may see. */
export const datasetByNameOrId = (client: ServiceClient, words: string): Promise<DatasetResponse | undefined> =>
  getDataset({ client, ...(uuid.test(words) ? { id: words } : { name: words }) });

export async function findDataset(client: ServiceClient, words: string): Promise<DatasetResponse> {
  const found = await datasetByNameOrId(client, words);
  if (found) return found;
  throw notFound(`there is no dataset ${JSON.stringify(words)}: check its name with assay datasets list`);
}
