import { readEnvironment } from './environment.ts';
import { HttpStatusError, noneOf, ValueError } from './errors.ts';
import { type Call, type ClientOptions, ServiceClient } from './http.ts';

/** The project that an operation works in: exactly one of name and id. A parameter wins over SERVICE_PROJECT and SERVICE_PROJECT_ID. */
export interface ProjectChoice {
  projectName?: string | undefined;
  projectId?: string | undefined;
}

/** Options of every operation, beside its own parameters. */
export interface CallOptions {
  /** How to reach the service; a client made once can be shared. */
  client?: ServiceClient | ClientOptions | undefined;
  /** Ends the requests of the operation, and its pauses: it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Options of operations in a project. */
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
  const chosenOne = chooseProject(choice);
  const id = await findProject(client, chosenOne, call);
  if (id === undefined) throw new ValueError(`there is no project called ${JSON.stringify(chosenOne.projectName)}`);
  return id;
}

/**
 * The id of the chosen project, which is made where it is named and not there yet.
 * @throws ValueError when the choice is missing or double, there is no project of the id, or none may be made.
 */
export async function resolveProjectForLogs(client: ServiceClient, choice: ProjectChoice, call: Call = {}): Promise<string> {
  const chosenOne = chooseProject(choice);
  const name = chosenOne.projectName;
  const find = () => findProject(client, chosenOne, call);
  const found = await find();
  if (found !== undefined) return found;
  const made = await makeForLog(client, '/projects', { name, type: 'gen_ai' }, find, call).catch(mayNotBeMade('project', name));
  if (made.isNew) client.logger.warn(`made the project ${JSON.stringify(name)}, since it was not there${made.hint}`);
  return made.id;
}

/** Throws on what refuses the making of something that a log names. @param what the kind of it */
export const mayNotBeMade =
  (what: string, name: string | undefined) =>
  (cause: unknown): never => {
    if (!(cause instanceof HttpStatusError) || cause.status !== 403) throw cause;
    const reason = `there is no ${what} called ${JSON.stringify(name)}, and logs of this key may not make it (${cause.message})`;
    throw new ValueError(`${reason}: name one that is there, or have it created first`, { cause });
  };

/** The id; undefined where no project has the name. @throws ValueError where none has the id. */
async function findProject(client: ServiceClient, { projectName, projectId }: ProjectChoice, call: Call) {
  if (projectId !== undefined) {
    const found = await client.send<{ id: string }>(`/projects/${encodeURIComponent(projectId)}`, call).catch(noneOf);
    if (!found) throw new ValueError(`there is no project with the id ${projectId}`);
    return found.id;
  }
  const query = { project_name: projectName, type: 'gen_ai' };
  const [project] = await client.send<{ id: string }[]>('/projects', { ...call, query });
  return project?.id;
}

/**
 * Makes what a log names. Another process may make it at the same time: `find` then gives its id.
 * @param body of the request that creates it
 * @returns `hint`: text to end a message with, empty unless a name that was there before is a character or two off
 */
export async function makeForLog(
  client: ServiceClient,
  path: string,
  body: object,
  find: () => Promise<string | undefined>,
  call: Call,
): Promise<{ id: string; isNew: boolean; hint: string }> {
  let hint = '';
  const onHeaders = (headers: Headers) => {
    const [made] = JSON.parse(headers.get('x-service-made') ?? '[]') as { closest?: string }[];
    if (made?.closest !== undefined) hint = `; the closest name that was there is ${JSON.stringify(made.closest)}`;
  };
  try {
    // A repeat whose first attempt succeeded is answered 409.
    const { id } = await client.send<{ id: string }>(path, {
      ...call,
      body: { ...body, for_log: true },
      repeatable: true,
      onHeaders,
    });
    return { id, isNew: true, hint };
  } catch (err) {
    const id = err instanceof HttpStatusError && err.status === 409 ? await find() : undefined;
    if (id === undefined) throw err;
    return { id, isNew: false, hint };
  }
}

function chooseProject({ projectName, projectId }: ProjectChoice): ProjectChoice {
  if (projectName && projectId) throw new ValueError('give the project by name or by id, not both');
  if (projectName || projectId) return projectName ? { projectName } : { projectId };
  const environment = readEnvironment();
  if (environment.project && environment.projectId)
    throw new ValueError('SERVICE_PROJECT and SERVICE_PROJECT_ID are both set: unset one');
  if (!environment.project && !environment.projectId)
    throw new ValueError('name the project: projectName or projectId, SERVICE_PROJECT or SERVICE_PROJECT_ID');
  return environment.project ? { projectName: environment.project } : { projectId: environment.projectId };
}
