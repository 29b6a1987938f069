import { readEnvironment } from './environment.ts';
import { NotFoundError, ValueError } from './errors.ts';
import { type ClientOptions, ServiceClient } from './http.ts';

/** Which project an operation works in: exactly one of name and id. A parameter wins over SERVICE_PROJECT and SERVICE_PROJECT_ID. */
export interface ProjectChoice {
  projectName?: string | undefined;
  projectId?: string | undefined;
}

/** What every operation takes beside its own parameters. */
export interface OperationOptions extends ProjectChoice {
  /** How to reach the service; a client made once can be shared. */
  client?: ServiceClient | ClientOptions | undefined;
}

export const clientOf = (options: Pick<OperationOptions, 'client'>): ServiceClient =>
  options.client instanceof ServiceClient ? options.client : new ServiceClient(options.client);

/**
 * The id of the chosen project.
 * @throws ValueError when the choice is missing or double, or there is no project of that name.
 */
export async function resolveProject(client: ServiceClient, choice: ProjectChoice): Promise<string> {
  const { projectName, projectId } = chosen(choice);
  if (projectId !== undefined) {
    const found = await client.send<{ id: string }>(`/projects/${encodeURIComponent(projectId)}`).catch((err: unknown) => {
      if (err instanceof NotFoundError) throw new ValueError(`no project with the id ${projectId}`, { cause: err });
      throw err;
    });
    return found.id;
  }
  const [project] = await client.send<{ id: string }[]>('/projects', { query: { project_name: projectName, type: 'gen_ai' } });
  if (!project) throw new ValueError(`no project called "${projectName}"`);
  return project.id;
}

function chosen(choice: ProjectChoice): ProjectChoice {
  if (choice.projectName !== undefined && choice.projectId !== undefined) throw new ValueError('give the project by name or by id, not both');
  if (choice.projectName !== undefined || choice.projectId !== undefined) return choice;
  const { project, projectId } = readEnvironment();
  if (project !== undefined && projectId !== undefined) throw new ValueError('SERVICE_PROJECT and SERVICE_PROJECT_ID are both set: unset one');
  if (project === undefined && projectId === undefined) throw new ValueError('name the project: projectName or projectId, SERVICE_PROJECT or SERVICE_PROJECT_ID');
  return { projectName: project, projectId };
}
