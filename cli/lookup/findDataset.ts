import { type DatasetResponse, getDataset, listDatasets, type ServiceClient } from '../../client/index.ts';
import { notFound } from '../terminal/commandError.ts';
import { closestHint } from './closest.ts';
import { isUuid } from './isUuid.ts';

/** The dataset of this name or id; undefined where there is none, or none that you may see. */
export const datasetByNameOrId = async (client: ServiceClient, words: string): Promise<DatasetResponse | undefined> =>
  (isUuid(words) ? await getDataset({ client, id: words }) : undefined) ?? getDataset({ client, name: words });

/**
 * @param advice what the message about an unknown name ends with
 * @throws CommandError naming the closest one
 */
export async function findDataset(
  client: ServiceClient,
  words: string,
  advice = 'check its name with assay datasets list',
): Promise<DatasetResponse> {
  const found = await datasetByNameOrId(client, words);
  if (found) return found;
  const names = (await listDatasets({ client }).all()).map(({ name }) => name);
  throw notFound(`there is no dataset ${JSON.stringify(words)}${closestHint(words, names)}: ${advice}`);
}
