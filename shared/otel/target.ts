import type { Caller, ProjectAction } from '../accounts/permissions.ts';
import { BriefCache } from '../concurrency/briefCache.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import type { LogStreamStore, ProjectStore } from '../projects/projectStore.ts';
import { viewerOf } from '../projects/projects.ts';
import type { RunLookup, RunRef } from '../projects/runs.ts';
import { Uuid } from '../wire/common.ts';
import { LogStreamNameRequest } from '../wire/projects.ts';
import type { Attributes } from './attributes.ts';

/** Where spans go, as the sender names it: by id or by name. What is not named is the default's. */
export interface NamedTarget {
  project: string | undefined;
  logStream: string | undefined;
  experiment: string | undefined;
  /** Where the request names the run, for errors. */
  runAt: readonly string[];
}

export interface TargetDeps {
  projects: Pick<ProjectStore, 'find'>;
  logStreams: Pick<LogStreamStore, 'find' | 'insert'>;
  findRun: RunLookup;
  newId: () => string;
  /** @throws ServiceError `Forbidden`, or `NotFound` for a project that is unknown or not visible to the caller. */
  authorizeProject(caller: Caller, action: ProjectAction, projectId: string): Promise<unknown>;
}

/** The project and the log stream of those who name none. */
const DEFAULT_NAME = 'default';

const endingsOfProject = ['.project.name', '.project.id'];
const endingsOfLogStream = ['.logstream.name', '.log_stream.name', '.logstream.id', '.log_stream.id'];
const ENDING_OF_EXPERIMENT = '.experiment.id';
const namesOfPlaces = ['assay.project', 'assay.log_stream', 'assay.experiment_id'];
const endingsOfPlaces = [...endingsOfProject, ...endingsOfLogStream, ENDING_OF_EXPERIMENT];

/** Whether an attribute of a resource says where its spans go. */
export const namesPlace = (attribute: string): boolean =>
  namesOfPlaces.includes(attribute) || endingsOfPlaces.some((ending) => attribute.endsWith(ending));

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** What the headers name, for every span of the request. */
export const targetOfHeaders = (headers: Headers): NamedTarget => ({
  project: headerText(headers.project),
  logStream: headerText(headers.logstream),
  experiment: headerText(headers.experimentid),
  runAt: ['header', 'logstream'],
});

/**
 * What a resource names, where the headers leave it open: SDKs write the place under prefixes of their own. A log stream and an experiment exclude
 * each other, so a header of one hides both.
 */
export function targetOfResource(resource: Attributes, headers: NamedTarget): NamedTarget {
  const hasRun = headers.logStream !== undefined || headers.experiment !== undefined;
  return {
    project: headers.project ?? resource.text('assay.project') ?? resource.textEndingWith(...endingsOfProject),
    logStream: hasRun ? headers.logStream : (resource.text('assay.log_stream') ?? resource.textEndingWith(...endingsOfLogStream)),
    experiment: hasRun
      ? headers.experiment
      : (resource.text('assay.experiment_id') ?? resource.textEndingWith(ENDING_OF_EXPERIMENT)),
    runAt: hasRun ? headers.runAt : ['body', 'resourceSpans'],
  };
}

/** Node reads header bytes as Latin-1; names in UTF-8 are put right. */
function headerText(value: string | string[] | undefined): string | undefined {
  const text = (Array.isArray(value) ? value[0] : value)?.trim();
  if (!text) return undefined;
  const utf8 = Buffer.from(text, 'latin1').toString('utf8');
  return utf8.includes('\uFFFD') ? text : utf8;
}

export type FindTarget = (caller: Caller, target: NamedTarget) => Promise<RunRef>;
/**
 * The id of the project that the headers of a request name, before its spans are read; undefined where it is left to their resources.
 * @throws ServiceError `Forbidden` or `NotFound`, as for the spans
 */
type AdmitTarget = (caller: Caller, target: NamedTarget) => Promise<string | undefined>;

/**
 * Finds the run that spans go to, and opens a log stream that is named and not there yet. The project must exist and the caller must be allowed to
 * log there. Names are remembered for a second: every export asks.
 */
export function openTargets(deps: TargetDeps): { find: FindTarget; admit: AdmitTarget } {
  const projectIds = new BriefCache<string>({ ttlMs: 1_000, maxEntries: 10_000 });
  const streamIds = new BriefCache<string>({ ttlMs: 1_000, maxEntries: 10_000 });

  async function projectIdOf(caller: Caller, named: string | undefined): Promise<string> {
    if (named === undefined && caller.projectKey) return caller.projectKey.projectId;
    if (named !== undefined && Uuid.safeParse(named).success) return named.toLowerCase();
    const name = named ?? DEFAULT_NAME;
    const id = await projectIds.get(`${caller.userId}/${caller.projectKey?.projectId ?? ''}/${name}`, async () => {
      const filter = { name: 'name', operator: 'eq', value: name, case_sensitive: true } as const;
      const { items } = await deps.projects.find(viewerOf(caller), { filters: [filter] }, { offset: 0, limit: 1 });
      return items[0]?.id;
    });
    if (id === undefined)
      throw new ServiceError(
        'NotFound',
        named === undefined
          ? `name the project in the header "project" or the resource attribute "assay.project"; there is none named "${DEFAULT_NAME}"`
          : 'no project of this name that you can see',
      );
    return id;
  }

  async function streamIdOf(caller: Caller, projectId: string, name: string, loc: readonly string[]): Promise<string> {
    if (!LogStreamNameRequest.safeParse({ name }).success)
      throw new RequestInvalid([{ loc: [...loc], msg: 'not a name for a log stream', type: 'name_invalid' }]);
    const find = async () => {
      const filter = { name: 'name', operator: 'eq', value: name, case_sensitive: true } as const;
      return (await deps.logStreams.find(projectId, { filters: [filter] }, { offset: 0, limit: 1 })).items[0]?.id;
    };
    const id = await streamIds.get(`${projectId}/${name}`, async () => {
      const known = await find();
      if (known !== undefined) return known;
      try {
        return (await deps.logStreams.insert({ id: deps.newId(), projectId, name, createdBy: caller.userId })).id;
      } catch (err) {
        // Another export opened it at the same time.
        if (err instanceof ServiceError && err.code === 'Conflict') return find();
        throw err;
      }
    });
    if (id === undefined) throw new ServiceError('RunNotFound', 'the log stream was deleted at this moment');
    return id;
  }

  const projectOf = async (caller: Caller, named: string | undefined): Promise<string> => {
    const id = await projectIdOf(caller, named);
    await deps.authorizeProject(caller, 'log_data', id);
    return id;
  };

  const openProject = (caller: Caller, project: string | undefined): Promise<string> =>
    projectOf(caller, project).catch((err) => {
      if (!(err instanceof ServiceError) || err.code !== 'NotFound') throw err;
      // Deleted since its id was remembered, and maybe made anew.
      projectIds.clear();
      return projectOf(caller, project);
    });

  const admit: AdmitTarget = async (caller, { project }) =>
    project === undefined && !caller.projectKey ? undefined : openProject(caller, project);
  const find: FindTarget = async (caller, { project, logStream, experiment, runAt }) => {
    const projectId = await openProject(caller, project);
    if (experiment !== undefined) return deps.findRun(projectId, { experiment_id: experiment });
    if (logStream !== undefined && Uuid.safeParse(logStream).success)
      return deps.findRun(projectId, { log_stream_id: logStream });
    const name = logStream ?? DEFAULT_NAME;
    try {
      return await deps.findRun(projectId, { log_stream_id: await streamIdOf(caller, projectId, name, runAt) });
    } catch (err) {
      if (!(err instanceof ServiceError) || err.code !== 'RunNotFound') throw err;
      // Deleted since its id was remembered: a stream of this name is opened anew.
      streamIds.clear();
      return deps.findRun(projectId, { log_stream_id: await streamIdOf(caller, projectId, name, runAt) });
    }
  };
  return { find, admit };
}
