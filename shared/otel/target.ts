import { LRUCache } from 'lru-cache';
import type { Caller, ProjectAction } from '../accounts/permissions.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import type { ProjectAccess } from '../projects/access.ts';
import type { FirstLog, Made } from '../projects/firstLog.ts';
import type { LogStreamStore, ProjectStore } from '../projects/projectStore.ts';
import { viewerOf } from '../projects/projects.ts';
import { namedRun, type RunLookup, type RunLookups, type RunRef } from '../projects/runs.ts';
import { Uuid } from '../wire/common.ts';
import { LogStreamCreate, ProjectCreate } from '../wire/projects.ts';
import type { Attributes } from './attributes.ts';

/** Where spans go, as the sender names it: by id or by name. What is not named is the default's. */
export interface NamedTarget {
  project: string | undefined;
  /** The sender calls the project by what it says is an id, in whatever form: no project is made of it. */
  isProjectId: boolean;
  /** Where the request names the project, for errors. */
  projectAt: readonly string[];
  logStream: string | undefined;
  experiment: string | undefined;
  /** Where the request names the run, for errors. */
  runAt: readonly string[];
}

export interface TargetDeps {
  projects: Pick<ProjectStore, 'find'>;
  logStreams: Pick<LogStreamStore, 'find'>;
  findRun: RunLookup;
  nameOf: RunLookups['nameOf'];
  visible: ProjectAccess['visible'];
  firstLog: FirstLog;
  /** @throws ServiceError `Forbidden`, or `NotFound` for a project that is unknown or not visible to the caller. */
  authorizeProject(caller: Caller, action: ProjectAction, projectId: string): Promise<unknown>;
}

/** The project and the log stream of those who name none. */
const DEFAULT_NAME = 'default';

const ENDING_OF_PROJECT = '.project.name';
const ENDING_OF_PROJECT_ID = '.project.id';
const endingsOfLogStream = ['.logstream.name', '.log_stream.name', '.logstream.id', '.log_stream.id'];
const ENDING_OF_EXPERIMENT = '.experiment.id';
const namesOfPlaces = ['assay.project', 'assay.log_stream', 'assay.experiment_id'];
const endingsOfPlaces = [ENDING_OF_PROJECT, ENDING_OF_PROJECT_ID, ...endingsOfLogStream, ENDING_OF_EXPERIMENT];

/** Returns whether an attribute of a resource says where its spans go. */
export const namesPlace = (attribute: string): boolean =>
  namesOfPlaces.includes(attribute) || endingsOfPlaces.some((ending) => attribute.endsWith(ending));

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Returns what the headers name, for every span of the request. */
export const targetOfHeaders = (headers: Headers): NamedTarget => ({
  project: headerText(headers.project),
  isProjectId: false,
  projectAt: ['header', 'project'],
  logStream: headerText(headers.logstream),
  experiment: headerText(headers.experimentid),
  runAt: ['header', 'logstream'],
});

/**
 * Returns what a resource names, where the headers leave it open: SDKs write the place under prefixes of their own. A log stream and an experiment exclude
 * each other, so a header of one hides both.
 */
export function targetOfResource(resource: Attributes, headers: NamedTarget): NamedTarget {
  const hasRun = headers.logStream !== undefined || headers.experiment !== undefined;
  const project =
    headers.project ?? trimmed(resource.text('assay.project')) ?? trimmed(resource.textEndingWith(ENDING_OF_PROJECT));
  return {
    project: project ?? trimmed(resource.textEndingWith(ENDING_OF_PROJECT_ID)),
    isProjectId: project === undefined,
    projectAt: headers.project === undefined ? ['body', 'resourceSpans'] : headers.projectAt,
    logStream: hasRun
      ? headers.logStream
      : trimmed(resource.text('assay.log_stream') ?? resource.textEndingWith(...endingsOfLogStream)),
    experiment: hasRun
      ? headers.experiment
      : (resource.text('assay.experiment_id') ?? resource.textEndingWith(ENDING_OF_EXPERIMENT)),
    runAt: hasRun ? headers.runAt : ['body', 'resourceSpans'],
  };
}

/** As a header's, without the blanks around it. */
const trimmed = (text: string | undefined): string | undefined => text?.trim() || undefined;

/** Node reads header bytes as Latin-1; names in UTF-8 are put right. */
function headerText(value: string | string[] | undefined): string | undefined {
  const text = trimmed(Array.isArray(value) ? value[0] : value);
  if (text === undefined) return undefined;
  const utf8 = Buffer.from(text, 'latin1').toString('utf8');
  return utf8.includes('\uFFFD') ? text : utf8;
}

/** @param made takes what is made because spans name it */
export type FindTarget = (caller: Caller, target: NamedTarget, made: Made[]) => Promise<RunRef>;
/**
 * The id of the project that the headers of a request name, before its spans are read; undefined where it is left to their resources, or is not there
 * yet and may be made.
 * @throws ServiceError `Forbidden` or `NotFound`, as for the spans
 */
type AdmitTarget = (caller: Caller, target: NamedTarget) => Promise<string | undefined>;

/** A name's meaning is remembered for ten minutes, and counts while the project or log stream has it. */
const REMEMBERED = { max: 10_000, ttl: 600_000 };
/** The one of its name that counts. */
const FIRST = { offset: 0, limit: 1 };

/**
 * Finds the run that spans go to, and makes the project and the log stream that are named and not there yet, where logs of the caller may. The caller
 * must be allowed to log there.
 */
export function openTargets(deps: TargetDeps): { find: FindTarget; admit: AdmitTarget } {
  const { firstLog } = deps;
  const projectIds = new LRUCache<string, string>(REMEMBERED);
  const streamIds = new LRUCache<string, string>(REMEMBERED);

  async function projectNamed(caller: Caller, name: string): Promise<string | undefined> {
    return (await deps.projects.find(viewerOf(caller), { filters: [isCalled(name)] }, FIRST)).items[0]?.id;
  }

  async function streamNamed(projectId: string, name: string): Promise<string | undefined> {
    return (await deps.logStreams.find(projectId, { filters: [isCalled(name)] }, FIRST)).items[0]?.id;
  }

  async function knownProject(caller: Caller, named: string | undefined): Promise<string | undefined> {
    if (named === undefined && caller.projectKey) return caller.projectKey.projectId;
    if (named !== undefined && isId(named)) return named.toLowerCase();
    const name = named ?? DEFAULT_NAME;
    const key = `${caller.userId}/${caller.projectKey?.projectId ?? ''}/${name}`;
    const remembered = projectIds.get(key);
    if (remembered !== undefined && (await deps.visible(caller, remembered))?.name === name) return remembered;
    const id = await projectNamed(caller, name);
    if (id !== undefined) projectIds.set(key, id);
    return id;
  }

  /** The project where the caller may log; undefined where there is none of the name. */
  async function allowedProject(caller: Caller, named: string | undefined): Promise<string | undefined> {
    const id = await knownProject(caller, named);
    if (id !== undefined) await deps.authorizeProject(caller, 'log_data', id);
    return id;
  }

  /** The name of the project to make. @throws ServiceError `NotFound` where it is not made, which says what to do; RequestInvalid for what is no name. */
  function nameToMake(caller: Caller, target: NamedTarget): string {
    const { project: name, experiment, logStream, runAt } = target;
    if (name === undefined)
      throw new ServiceError(
        'NotFound',
        `name the project in the header "project" or the resource attribute "assay.project"; there is none named "${DEFAULT_NAME}"`,
      );
    const refusal = firstLog.refusal(caller, 'project');
    if (refusal !== undefined) throw new ServiceError('NotFound', `no project of this name that you can see; ${refusal}`);
    if (target.isProjectId) throw new ServiceError('NotFound', `no project ${JSON.stringify(name)}: none is made of an id`);
    if (experiment !== undefined || (logStream !== undefined && isId(logStream)))
      throw new ServiceError(
        'NotFound',
        'no project of this name that you can see; none is made for a run that is named by an id',
      );
    if (!ProjectCreate.shape.name.safeParse(name).success)
      throw new RequestInvalid([{ loc: [...target.projectAt], msg: 'not a name for a project', type: 'name_invalid' }]);
    if (logStream !== undefined) mustBeStreamName(logStream, runAt);
    return name;
  }

  async function makeProject(caller: Caller, name: string, made: Made[]): Promise<string> {
    const id = await unlessThere(
      async () => (await firstLog.makeProject(caller, { name, type: 'gen_ai' })).made,
      () => projectNamed(caller, name),
      made,
    );
    if (id === undefined) throw new ServiceError('NotFound', 'the project was deleted at this moment');
    await deps.authorizeProject(caller, 'log_data', id);
    return id;
  }

  async function streamIdOf(caller: Caller, projectId: string, name: string, made: Made[]): Promise<string> {
    const key = `${projectId}/${name}`;
    const remembered = streamIds.get(key);
    if (remembered !== undefined && (await deps.nameOf({ projectId, runId: remembered, kind: 'log_stream' })) === name)
      return remembered;
    const id = (await streamNamed(projectId, name)) ?? (await makeStream(caller, projectId, name, made));
    streamIds.set(key, id);
    return id;
  }

  async function makeStream(caller: Caller, projectId: string, name: string, made: Made[]): Promise<string> {
    const refusal = firstLog.refusal(caller, 'log_stream');
    if (refusal !== undefined)
      throw new ServiceError('RunNotFound', `no log stream named ${JSON.stringify(name)} in this project; ${refusal}`);
    const id = await unlessThere(
      async () => (await firstLog.makeLogStream(caller, projectId, name)).made,
      () => streamNamed(projectId, name),
      made,
    );
    if (id === undefined) throw new ServiceError('RunNotFound', 'the log stream was deleted at this moment');
    return id;
  }

  const admit: AdmitTarget = async (caller, target) => {
    if (target.project === undefined && !caller.projectKey) return undefined;
    const id = await allowedProject(caller, target.project);
    if (id === undefined) nameToMake(caller, target);
    return id;
  };

  const find: FindTarget = async (caller, target, made) => {
    const { experiment, logStream, runAt } = target;
    const projectId =
      (await allowedProject(caller, target.project)) ?? (await makeProject(caller, nameToMake(caller, target), made));
    if (experiment !== undefined) return deps.findRun(projectId, { experiment_id: experiment });
    if (logStream !== undefined && isId(logStream)) return deps.findRun(projectId, { log_stream_id: logStream });
    const name = logStream ?? DEFAULT_NAME;
    mustBeStreamName(name, runAt);
    return namedRun(projectId, { log_stream_id: await streamIdOf(caller, projectId, name, made) });
  };
  return { find, admit };
}

const isCalled = (name: string) => ({ name: 'name', operator: 'eq', value: name, case_sensitive: true }) as const;
const isId = (text: string): boolean => Uuid.safeParse(text).success;

function mustBeStreamName(name: string, loc: readonly string[]): void {
  if (!LogStreamCreate.safeParse({ name }).success)
    throw new RequestInvalid([{ loc: [...loc], msg: 'not a name for a log stream', type: 'name_invalid' }]);
}

/** The id of what is made, or of what another log made at the same time. */
async function unlessThere(
  make: () => Promise<Made>,
  find: () => Promise<string | undefined>,
  made: Made[],
): Promise<string | undefined> {
  try {
    const one = await make();
    made.push(one);
    return one.id;
  } catch (err) {
    if (err instanceof ServiceError && err.code === 'Conflict') return find();
    throw err;
  }
}
