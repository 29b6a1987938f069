import { resolveProject, type ServiceClient, ValueError } from '../client/index.ts';
import { notFound } from './commandError.ts';
import type { ProjectOptions } from './findExperiment.ts';

/** The id of the project. One that does not exist is made only where that is asked for: a slip of the pen is no project. */
export async function ensureProject(
  client: ServiceClient,
  { project, projectId }: ProjectOptions,
  create: boolean,
): Promise<string> {
  try {
    return await resolveProject(client, { projectName: project, projectId });
  } catch (err) {
    if (!(err instanceof ValueError) || !err.message.startsWith('there is no project called')) throw err;
    if (!create) throw notFound(`${err.message}: check the name, or add --create-project to make it`);
    const name = JSON.parse(err.message.slice('there is no project called '.length)) as string;
    return (await client.send<{ id: string }>('/projects', { body: { name } })).id;
  }
}
