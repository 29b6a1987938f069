import { listProjects, resolveProject, type ServiceClient, ValueError } from '../../client/index.ts';
import { notFound } from '../terminal/commandError.ts';
import { closestHint } from './closest.ts';
import { isUuid } from './isUuid.ts';

export interface ProjectOptions {
  project?: string | undefined;
  projectId?: string | undefined;
}

const NO_PROJECT = 'there is no project called ';

/** The name that no project has, as the client's error says it. @throws the error itself where it is another one */
export function missingProject(err: unknown): string {
  if (err instanceof ValueError && err.message.startsWith(NO_PROJECT))
    return JSON.parse(err.message.slice(NO_PROJECT.length)) as string;
  throw err;
}

/**
 * The id of the project that is named on the command line, by its name or its id, else in the environment.
 * @param advice what the message about an unknown name ends with
 * @throws CommandError naming the closest one
 */
export async function findProject(client: ServiceClient, { project, projectId }: ProjectOptions, advice = ''): Promise<string> {
  try {
    return await resolveProject(client, { projectName: project, projectId });
  } catch (err) {
    const name = missingProject(err);
    if (isUuid(name)) return resolveProject(client, { projectId: name });
    const names = (await listProjects({ client }).all()).map((one) => one.name);
    throw notFound(`there is no project called ${JSON.stringify(name)}${closestHint(name, names)}${advice}`);
  }
}
