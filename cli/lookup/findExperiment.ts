import { type ExperimentResponse, getExperiment, NotFoundError, type ServiceClient } from '../../client/index.ts';
import { notFound } from '../terminal/commandError.ts';
import { closestHint } from './closest.ts';
import { experimentPages } from './experimentPages.ts';
import { findProject, type ProjectOptions } from './findProject.ts';

const uuid = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i;
const link = new RegExp(`/(?:p|projects?)/(${uuid.source})/experiments/(${uuid.source})`, 'i');
/** The newest ones, whose names an unknown one is compared with. */
const MAX_COMPARED = 1_000;

/**
 * The experiment with this id, link or whole name; of the name of a series its newest run.
 * @param alternatives words that are no experiment and may have been meant
 * @throws CommandError naming the closest where there is none
 */
export async function findExperiment(
  client: ServiceClient,
  words: string,
  project: ProjectOptions,
  alternatives: readonly string[] = [],
): Promise<ExperimentResponse> {
  const [, linkedProject, linkedId] = link.exec(words) ?? [];
  const projectId = linkedProject ?? (await findProject(client, project));
  const id = linkedId ?? (uuid.exec(words)?.[0] === words ? words : undefined);
  const byName = () => getExperiment({ client, projectId, experimentName: words });
  const found = id ? ((await byId(client, projectId, id)) ?? (await byName())) : await byName();
  if (found) return found;
  const names: string[] = [...alternatives];
  for await (const { name, series } of experimentPages(client, projectId, MAX_COMPARED)) names.push(series, name);
  throw notFound(
    `there is no experiment ${JSON.stringify(words)} in this project${closestHint(words, names)}: check its name, or name another project with --project`,
  );
}

const byId = async (client: ServiceClient, projectId: string, id: string): Promise<ExperimentResponse | undefined> =>
  client.send<ExperimentResponse>(`/projects/${projectId}/experiments/${id}`).catch((err: unknown) => {
    if (err instanceof NotFoundError) return undefined;
    throw err;
  });
