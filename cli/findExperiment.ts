import { type ExperimentResponse, getExperiment, NotFoundError, resolveProject, type ServiceClient } from '../client/index.ts';
import { notFound } from './commandError.ts';

export interface ProjectOptions {
  project?: string | undefined;
  projectId?: string | undefined;
}

const uuid = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i;
const link = new RegExp(`/projects?/(${uuid.source})/experiments/(${uuid.source})`, 'i');

/** The experiment with this id, link or whole name; of the name of a series its newest run. */
export async function findExperiment(client: ServiceClient, words: string, project: ProjectOptions): Promise<ExperimentResponse> {
  const [, linkedProject, linkedId] = link.exec(words) ?? [];
  const projectId =
    linkedProject ?? (await resolveProject(client, { projectName: project.project, projectId: project.projectId }));
  const id = linkedId ?? (uuid.exec(words)?.[0] === words ? words : undefined);
  const found = id ? await byId(client, projectId, id) : await getExperiment({ client, projectId, experimentName: words });
  if (found) return found;
  throw notFound(
    `there is no experiment ${JSON.stringify(words)} in this project: check its name, or name another project with --project`,
  );
}

const byId = async (client: ServiceClient, projectId: string, id: string): Promise<ExperimentResponse | undefined> =>
  client.send<ExperimentResponse>(`/projects/${projectId}/experiments/${id}`).catch((err: unknown) => {
    if (err instanceof NotFoundError) return undefined;
    throw err;
  });
