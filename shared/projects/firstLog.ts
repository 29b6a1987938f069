import type { Logger } from 'pino';
import { type Caller, mayInOrganization } from '../accounts/permissions.ts';
import type { Config } from '../config/config.ts';
import { meantName } from '../identifiers/closestNames.ts';
import type { LogStream, LogStreamStore, Project, ProjectStore, ProjectType } from './projectStore.ts';
import { createProject, viewerOf } from './projects.ts';

/** A thing that a log made, since it named something absent. */
export interface Made {
  kind: 'project' | 'log_stream';
  id: string;
  name: string;
  /** A name that was there before and is a character or two off. */
  closest?: string;
}

export interface FirstLog {
  /** Why logs of the caller make no such thing, and what to do; undefined where they make it. The project of a log stream is one where they may log. */
  refusal(caller: Caller, kind: Made['kind']): string | undefined;
  /** @throws ServiceError `Conflict` when a project that the caller sees has the name. */
  makeProject(caller: Caller, input: { name: string; type: ProjectType }): Promise<{ project: Project; made: Made }>;
  /** @throws ServiceError `Conflict` when the project has a log stream of this name. */
  makeLogStream(caller: Caller, projectId: string, name: string): Promise<{ logStream: LogStream; made: Made }>;
}

interface FirstLogDeps {
  projects: ProjectStore;
  logStreams: LogStreamStore;
  newId: () => string;
  makes: Config['FIRST_LOG_MAKES'];
  log: Pick<Logger, 'info'>;
}

/** The newest names that a new one is compared with. */
const NAMES_COMPARED = 1_000;

/** Projects and log streams that are made because a log names them. */
export function openFirstLog({ projects, logStreams, newId, makes, log }: FirstLogDeps): FirstLog {
  const madeOf = (kind: Made['kind'], { id, name }: { id: string; name: string }, others: readonly { name: string }[]): Made => {
    const closest = meantName(
      name,
      others.map((other) => other.name),
    );
    const made: Made = { kind, id, name, ...(closest === undefined ? {} : { closest }) };
    log.info(made, `made the ${inWords[kind]}: a log named it, and there was none`);
    return made;
  };
  const page = { offset: 0, limit: NAMES_COMPARED };
  return {
    refusal(caller, kind) {
      if (makes === 'nothing' || (makes === 'log_streams' && kind === 'project'))
        return `logs make no ${inWords[kind]} here (FIRST_LOG_MAKES is ${makes}): create it first, or name one that is there`;
      if (kind === 'log_stream' || mayInOrganization(caller, 'create_project')) return undefined;
      return caller.projectKey
        ? 'this key belongs to one project: name that one or none, or use a key that may create projects'
        : `${caller.role} lacks create_project: name one that is there, or ask an administrator to create it`;
    },
    async makeProject(caller, input) {
      const { items } = await projects.find(viewerOf(caller), { filters: [] }, page);
      const project = await createProject({ projects, newId }, caller, input);
      return { project, made: madeOf('project', project, items) };
    },
    async makeLogStream(caller, projectId, name) {
      const { items } = await logStreams.find(projectId, { filters: [] }, page);
      const logStream = await logStreams.insert({ id: newId(), projectId, name, createdBy: caller.userId });
      return { logStream, made: madeOf('log_stream', logStream, items) };
    },
  };
}

const inWords = { project: 'project', log_stream: 'log stream' } as const;

/** Warns of a thing whose name may be typed wrong; undefined for others. */
export const warningOf = ({ kind, name, closest }: Made): string | undefined =>
  closest === undefined
    ? undefined
    : `made the ${inWords[kind]} ${JSON.stringify(name)}; the closest name that was there is ${JSON.stringify(closest)}`;
