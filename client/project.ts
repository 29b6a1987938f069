import { readEnvironment } from './environment.ts';
import { noneOf, ValueError } from './errors.ts';
import { type Call, type ClientOptions, ServiceClient } from './http.ts';

/** Which project an operation works in: exactly one of name and id. A parameter wins over SERVICE_PROJECT and SERVICE_PROJECT_ID. */
export interface ProjectChoice {
  projectName?: string | undefined;
  projectId?: string | undefined;
}

/** What every operation takes beside its own parameters. */
export interface CallOptions {
  /** How to reach the service; a client made once can be shared. */
  client?: ServiceClient | ClientOptions | undefined;
  /** Ends the requests of the operation, and its pauses: it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** What operations in a project take. */
export interface OperationOptions extends ProjectChoice, CallOptions {}

export function clientOf({ client: given, signal }: CallOptions): ServiceClient {
  // By its form: it may be of another copy of this module.
  const client = given && 'send' in given ? given : new ServiceClient(given);
  if (!signal) return client;
  const ending = (call: Call = {}): Call => ({ ...call, signal: call.signal ? AbortSignal.any([call.signal, signal]) : signal });
  const bound = Object.create(client) as ServiceClient;
  bound.send = (path, call) => client.send(path, ending(call));
  bound.download = (path, call) => client.download(path, ending(call));
  return bound;
}

/**
 * The id of the chosen project.
 * @throws ValueError when the choice is missing or double, or there is no such project.
 */
export async function resolveProject(client: ServiceClient, choice: ProjectChoice, call: Call = {}): Promise<string> {
  const { projectName, projectId } = chosen(choice);
  if (projectId !== undefined) {
    const found = await client.send<{ id: string }>(`/projects/${encodeURIComponent(projectId)}`, call).catch(noneOf);
    if (!found) throw new ValueError(`there is no project with the id ${projectId}`);
    return found.id;
  }
  const query = { project_name: projectName, type: 'gen_ai' };
  const [project] = await client.send<{ id: string }[]>('/projects', { ...call, query });
  if (!project) throw new ValueError(`there is no project called ${JSON.stringify(projectName)}`);
  return project.id;
}

function chosen({ projectName, projectId }: ProjectChoice): ProjectChoice {
  if (projectName && projectId) throw new ValueError('give the project by name or by id, not both');
  if (projectName || projectId) return projectName ? { projectName } : { projectId };
  const environment = readEnvironment();
  if (environment.project && environment.projectId)
    throw new ValueError('SERVICE_PROJECT and SERVICE_PROJECT_ID are both set: unset one');
  if (!environment.project && !environment.projectId)
    throw new ValueError('name the project: projectName or projectId, SERVICE_PROJECT or SERVICE_PROJECT_ID');
  return environment.project ? { projectName: environment.project } : { projectId: environment.projectId };
}
